"""What a search may be told to try: numbers of any type, sequences of any kind, and one clear error for all else."""

import numpy as np
import pytest
import zoo

from pcircuit import LearnSearch
from pcircuit.learning.choosing.search import Learned, Trial


def test_the_choices_of_a_search_may_be_arrays():
    search = LearnSearch(
        num_latents=np.array([2, 4]), pseudocounts=np.array([0.5]), num_parts=np.array([], int)
    )
    assert search == LearnSearch(num_latents=(2, 4), pseudocounts=(0.5,), num_parts=())
    assert hash(search) == hash(
        LearnSearch(num_latents=range(2, 5, 2), pseudocounts=[0.5], num_parts=[])
    )


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("num_latents", [], TypeError),
        ("num_latents", 4, TypeError),
        ("num_latents", [0], ValueError),
        ("num_latents", np.array([[2, 4]]), TypeError),
        ("pseudocounts", (), TypeError),
        ("pseudocounts", [-0.1], ValueError),
        ("num_parts", (1,), ValueError),
        ("num_parts", "4", TypeError),
        ("num_parts", (2.5, 4), TypeError),
        ("bandwidths", (0.0,), ValueError),
        ("bandwidths", (1.5,), ValueError),
        ("bandwidths", ("a",), TypeError),
        ("bandwidths", 0.1, TypeError),
        ("num_trees", 0, ValueError),
        ("num_epochs", 0, ValueError),
        ("num_points", -1, ValueError),
        ("joint", 1, TypeError),
        ("grow", None, TypeError),
        ("tolerance", -1, ValueError),
        ("max_parameters", 0, ValueError),
        ("max_work", 0, ValueError),
        ("max_work", -1, ValueError),
        ("max_work", float("inf"), ValueError),
        ("max_work", "1", TypeError),
        ("max_work", True, TypeError),
    ],
)
def test_each_bad_choice_names_itself(name, value, error):
    with pytest.raises(error, match=rf"^`{name}(\[0\])?` must be"):
        LearnSearch(**{name: value})


def test_cuts_and_kernels_may_be_left_out_and_ends_of_ranges_are_allowed():
    search = LearnSearch(
        num_parts=(), bandwidths=(), num_points=0, pseudocounts=[0, 1e100], tolerance=0
    )
    assert (search.num_parts, search.bandwidths, search.pseudocounts) == ((), (), (0.0, 1e100))
    assert LearnSearch(num_parts=[2], bandwidths=[1]).bandwidths == (1.0,)


CIRCUIT = zoo.two_coins()
TRIALS = (
    Trial(
        "size",
        2,
        0.1,
        np.array([10, 20, 30]),
        np.array([-1.5, -1.25, -1.0]),
        np.array([-2.0, -1.75, -1.875]),
    ),
    Trial("size, grown", 4, 1.0, np.array([10]), np.array([-1.0]), np.array([-1.625])),
)


def learned(mixture=None):
    return Learned(CIRCUIT, mixture, -1.625, 0.125, TRIALS)


def test_the_best_of_a_trial_is_its_highest_validation_mean_and_impossible_rows_make_it_infinite():
    assert [trial.best for trial in TRIALS] == [-1.75, -1.625]
    assert Trial("size", 1, 0.0, np.array([10]), np.zeros(1), np.array([-np.inf])).best == -np.inf


def test_the_table_has_a_line_for_each_trial_as_it_was_at_its_best_look():
    head, first, second, last = str(learned()).splitlines()
    assert head.split() == ["tried", "states", "smoothing", "epochs", "training", "validation"]
    assert first.split() == ["size", "2", "0.1", "20", "-1.2500", "-1.7500"]
    assert second.split() == ["size,", "grown", "4", "1", "10", "-1.0000", "-1.6250"]
    assert last == f"{CIRCUIT}: validation -1.6250 +- 0.1250"
    assert len({len(head), len(first), len(second)}) == 1  # columns stand below one another


def test_the_picture_has_a_curve_for_each_trial():
    pytest.importorskip("matplotlib")
    axes = learned().plot()
    assert learned().plot(ax=axes) is axes
    lines = axes.get_lines()[:2]
    assert [line.get_label() for line in lines] == ["size, 2 states", "size, grown, 4 states"]
    for line, trial in zip(lines, TRIALS, strict=True):
        np.testing.assert_array_equal(
            line.get_xydata(), np.stack([trial.epochs, trial.validation], axis=1)
        )
