"""Work of a search: what a fit takes, that a limit ends the search, and that it ends it at the same place."""

import numpy as np
import pytest
from epoch_work import epoch_work, work_done

from pcircuit import LearnSearch, learn
from pcircuit.learning.choosing.averages import (
    Making,
    continuous_ways,
    point_epochs,
    states_of_work,
    still_gained,
    work_of_epoch,
)
from pcircuit.learning.choosing.fits import Rows
from pcircuit.learning.choosing.search import Trial

CHAIN = np.array([-1, 0, 1])
SEARCH = {
    "num_latents": [1, 2, 4],
    "pseudocounts": [0.1, 1.0],
    "num_trees": 4,
    "num_epochs": 20,
    "num_parts": (),
    "tolerance": 1e-9,
}


@pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 0.9])
def test_nothing_is_begun_beyond_the_limit(rng, share):
    group = rng.integers(3, size=(300, 1))
    rows = (rng.random((300, 6)) < np.array([0.1, 0.5, 0.9])[group]).astype(int)
    free = learn(rows, rows[:100], search=LearnSearch(**SEARCH, max_work=1e300)).trials
    most = share * work_done(free, rows)
    bound = learn(rows, rows[:100], search=LearnSearch(**SEARCH, max_work=most)).trials
    assert (bound[0].num_latents, bound[0].best) == (
        free[0].num_latents,
        free[0].best,
    )  # the first size always
    spent = work_done(bound, rows)
    assert spent < work_done(free, rows)  # some fits are left out, or end earlier
    assert len(bound) == 1 or spent <= most


def test_a_fit_ends_where_nothing_is_left():
    """10 different rows of a chain of 3 columns and 2 states: 10 x 2 x (1 x 2 + 6 x 3) = 400 for each epoch."""
    table = np.array([[i % 2, i // 2 % 2, i // 4] for i in range(10)])
    rows = Rows(table, table, np.ones(10), table, np.full(3, 3), CHAIN, 1)
    trial = Trial("size", 2, 0.1, np.array([10]), np.zeros(1), np.zeros(1))  # 4,000
    for most, epochs, of_three in (
        (1.0, 1, 1),
        (4000 + 7 * 400, 7, 2),
        (4000 + 15.5 * 400, 15, 5),
        (1e300, 20, 20),
    ):
        search = LearnSearch(num_epochs=20, max_work=most)
        first = Making(rows, search, np.random.default_rng(0), [], lambda trial: trial.best)
        assert first.limited(2).num_epochs == 20
        later = first._replace(trials=[trial])
        assert (later.limited(2).num_epochs, later.limited(2, 3).num_epochs) == (epochs, of_three)
        assert later.affords(400) == (most >= 4000 + 1600)


@pytest.mark.parametrize(
    ("tree", "sums"), [([-1, 0, 0, 0], 0), ([-1, 0, 1, 2], 2), ([1, -1, 1, 2], 1), ([-1], 0)]
)
def test_states_of_a_work_are_the_fewest_that_take_it(tree, sums):
    table = np.zeros((7, len(tree)), dtype=np.int8)
    rows = Rows(table, table, np.ones(7), table, np.full(len(tree), 2), np.array(tree), 1)
    for K in (1, 2, 5, 64):
        work = work_of_epoch(K, rows)
        assert work == 7 * K * (sums * K + 6 * len(tree))
        assert [states_of_work(one, rows) for one in (work - 1, work, work + 1)] == [K, K, K + 1]


@pytest.mark.parametrize(
    ("last", "gained", "pays_for", "expected"),
    [
        (200, 0.01, 20, True),
        (200, 0.01, 19.9, False),
        (10, 0.01, 10, True),
        (10, 0.01, 9.9, False),
        (200, 0.0, 199, False),
        (200, 0.0, 200, True),
    ],
)
def test_a_size_is_begun_if_a_quarter_of_what_is_left_pays_for_some_epochs(
    last, gained, pays_for, expected
):
    """Twenty, or as many as the last size took; not twenty if that had gained no more."""
    table = np.arange(30).reshape(10, 3)
    rows = Rows(table, table, np.ones(10), table, np.full(3, 30), CHAIN, 1)
    trial = Trial(
        "size", 2, 0.1, np.array([last // 2, last]), np.zeros(2), np.array([-1.0, -1.0 + gained])
    )
    search = LearnSearch(max_work=last * 400 + 4 * pays_for * 880)  # 880: an epoch with 4 states
    making = Making(rows, search, np.random.default_rng(0), [trial], lambda trial: trial.best)
    assert making.begins(4, trial) == expected
    assert making.limited(4, share=1 / 4).num_epochs == int(pays_for)


def test_a_larger_size_is_tried_with_fewer_epochs_where_the_smaller_one_still_gained():
    rng = np.random.default_rng(2)  # a start from which two states gain for long
    state = np.cumsum(rng.random((4000, 30)) < 0.1, axis=1) % 4  # a chain of four states
    rows = (rng.random((4000, 30)) < np.array([0.05, 0.35, 0.65, 0.95])[state]).astype(int)
    most = 30 * epoch_work(rows[:3000], 2) + 4 * 25 * epoch_work(rows[:3000], 4)
    search = LearnSearch(
        num_latents=[2, 4, 8],
        pseudocounts=[0.1],
        num_trees=1,
        num_epochs=30,
        grow=False,
        tolerance=1e-9,
        max_work=most,
    )
    trials = learn(rows[:3000], rows[3000:], search=search).trials
    assert [(trial.num_latents, 20 <= trial.epochs[-1] < 30) for trial in trials] == [
        (2, False),
        (4, True),
    ]
    assert trials[1].best > trials[0].best
    ended = LearnSearch(
        num_latents=[2, 4, 8],
        pseudocounts=[0.1],
        num_trees=1,
        num_epochs=30,
        grow=False,
        tolerance=0.1,
        max_work=most,
    )  # the last gain does not count
    assert [
        trial.num_latents for trial in learn(rows[:3000], rows[3000:], search=ended).trials
    ] == [2]


def test_the_limit_is_that_of_the_table_not_of_the_machine(rng):
    rows = rng.integers(2, size=(200, 5))
    search = LearnSearch(**SEARCH, max_work=1e6)
    once, twice = (learn(rows, rows[:80], search=search, n_jobs=jobs).trials for jobs in (1, 2))
    assert [(trial.name, trial.best) for trial in once] == [
        (trial.name, trial.best) for trial in twice
    ]
    larger = learn(
        np.repeat(rows, 5, axis=0), rows[:80], search=search
    ).trials  # equal rows are merged
    assert len(larger) == len(once)


@pytest.mark.parametrize(
    ("means", "gained"),
    [
        ([-np.inf, -np.inf], False),
        ([-np.inf, -2.0], True),
        ([-2.0, -np.inf], False),
        ([-2.0, -1.9], True),
        ([-2.0, -1.9999], False),
        ([-np.inf], False),
    ],
)
def test_a_fit_under_which_a_row_stays_impossible_gains_nothing_and_warns_of_nothing(means, gained):
    """NumPy would warn of the difference of two infinities."""
    means = np.array(means)
    assert (
        still_gained(Trial("size", 2, 0.0, np.arange(1, len(means) + 1), means, means), 1e-3)
        is gained
    )


@pytest.mark.parametrize(
    ("most", "rows", "categories", "expected"),
    [
        (8192, 9000, [2] * 100, 8192),
        (9000, 9000, [2] * 100, 8192),
        (8192, 600, [2, 2], 512),
        (8192, 255, [2, 2], 0),
        (255, 9000, [2, 2], 0),
        (8192, 9000, [2], 0),
        (8192, 9000, [1, 1], 0),
        (8192, 900, [256] * 784, 0),
        (8192, 9000, [2] * 5000, 2048),
    ],
)
def test_points_of_continuous_mixtures_fit_rows_and_memory(most, rows, categories, expected):
    table = np.zeros((rows, len(categories)), dtype=np.int8)
    of_table = Rows(
        table,
        table,
        np.ones(rows),
        table[:10],
        np.array(categories),
        np.arange(-1, len(categories) - 1),
        None,
    )
    found = continuous_ways(of_table, LearnSearch(num_points=most))
    assert [way.num_points for way in found] == [expected] * (expected > 0)


@pytest.mark.parametrize(("most", "expected"), [(2 * 8192 * 61, 8192), (2 * 256 * 61 - 1, 0)])
def test_two_continuous_mixtures_have_no_more_parameters_than_there_may_be(most, expected):
    """Twenty columns of three categories: 60 probabilities and a weight for each point."""
    table = np.zeros((9000, 20), dtype=np.int8)
    rows = Rows(table, table, np.ones(9000), table[:10], np.full(20, 3), np.arange(-1, 19), None)
    found = continuous_ways(rows, LearnSearch(max_parameters=most))
    assert [way.num_points for way in found] == [expected] * (expected > 0)


@pytest.mark.parametrize(
    ("epochs_left", "expected"), [(160, 40), (159, 40), (79, 39), (16, 8), (15.9, 0)]
)
def test_a_continuous_mixture_takes_half_of_what_is_left_if_that_is_enough(epochs_left, expected):
    """50 rows of 2 columns at 3 states: 50 x 3 x 12 = 1,800 for each epoch, of which all 40 are a quarter of 160."""
    table = np.zeros((50, 2), dtype=np.int8)
    rows = Rows(table, table, np.ones(50), table[:10], np.array([2, 2]), np.array([-1, 0]), None)
    making = Making(
        rows, LearnSearch(max_work=1800 * epochs_left), np.random.default_rng(0), [], None
    )
    assert point_epochs(3, making) == expected
