"""Statistics without bound among groups and in order of time: what is found, how it is named, and what no door can."""

import numpy as np
import pytest
from binomial_bounds import at_most

import hld
from hld.references.group_statistics import Cells, group_statistics
from hld.testing.variation.group_test import Deviations

G, T = 40, 50


def days(G, seed, T=T):
    """A mood for each day, a column that follows it, another that follows that, heavy amounts, and text."""
    rng = np.random.default_rng(seed)
    visits = rng.normal(rng.normal(size=(G, 1)), size=(G, T))
    return {
        "visits": visits.ravel(),
        "sales": (visits + 0.5 * rng.normal(size=(G, T))).ravel(),
        "amount": np.exp(rng.normal(size=G * T)),
        "shop": rng.choice(list("abc"), size=G * T),
    }


BREAKAGES = {  # what is changed of a day, and what is named
    "+ 100": ("sales", lambda x: x + 100, "sales"),
    "x 1,000": ("amount", lambda x: x * 1000, "amount"),
    "permuted": ("sales", np.random.default_rng(1).permutation, ["visits", "sales"]),
    "new": ("shop", lambda x: np.where(np.arange(len(x)) < 20, "d", x), "shop"),
    "missing": ("amount", lambda x: np.where(np.arange(len(x)) < 25, np.nan, x), "amount"),
}
NAMED = {how: named for how, (_, _, named) in BREAKAGES.items()}


def moved(table, how):
    """One of the breakages of a day."""
    column, change, _ = BREAKAGES[how]
    return {**table, column: change(table[column])}


@pytest.fixture(scope="module")
def by_day():
    return hld.HLDDetector(num_latents=2, num_epochs=3).fit(
        days(G, 2), groups=np.repeat(np.arange(G), T)
    )


@pytest.mark.parametrize("how", NAMED)
def test_a_broken_day_is_found_among_twenty_and_what_moved_is_named_first(by_day, how):
    found = by_day.test(moved(days(1, 7), how))
    assert found.reject
    columns, pairs = found.columns, found.pairs
    if how == "permuted":
        assert sorted(pairs[0].names) == sorted(NAMED[how])
        assert pairs[0].adjusted <= 0.05 < columns[0].adjusted
    else:
        assert columns[0].name == NAMED[how]
        assert columns[0].adjusted < min(0.05, *(one.adjusted for one in columns[1:]))
        assert columns[0].adjusted <= pairs[0].adjusted


def test_what_is_far_beyond_the_ranks_is_said_to_be_so_by_a_law(by_day):
    found, calm = by_day.test(moved(days(1, 7), "+ 100")), by_day.test(days(1, 7))
    assert found.pvalue == found.context.beyond < 0.05 / 28
    assert "odder than all 20 groups; by a t law p = " in str(found)
    assert "outside the guarantee of ranks: they give p = 0.0476" in str(found)
    assert calm.pvalue > 0.05
    assert calm.context.beyond is None
    assert "odder than all" not in str(calm)
    assert "their shares are tested against those of groups" in by_day.describe()


@pytest.mark.parametrize("how", ["+ 100", "x 1,000"])
def test_one_broken_day_of_28_is_called_and_named(by_day, how):
    table = days(28, 3)
    broken = moved({name: cells[:T] for name, cells in table.items()}, how)
    table = {name: np.concatenate([broken[name], cells[T:]]) for name, cells in table.items()}
    found = by_day.test_by({**table, "day": np.repeat(np.arange(28), T)}, "day")
    assert found.can_call
    assert np.flatnonzero(found.reject).tolist() == [0]
    segment = found.to_dict()["segments"][0]
    assert segment["moved"][0]["columns"] == [NAMED[how]]
    assert NAMED[how] in str(found).splitlines()[2]


def test_where_no_odd_segment_can_be_called_it_is_said():
    table, labels = days(8, 0), np.repeat([f"day {g}" for g in range(8)], T)
    with pytest.warns(
        UserWarning, match="of several segments tested together one that is odd cannot be"
    ):
        detector = hld.HLDDetector(num_latents=2, num_epochs=1).fit(table, groups=labels)
    found = detector.test_by(table, labels)
    assert found.to_dict()["can_call"] is found.can_call is False
    assert "one odd segment among 8 cannot be called at level 0.05" in str(found)


def test_a_column_beyond_its_range_is_found_in_order_of_time():
    rng = np.random.default_rng(4)
    walk = np.zeros((2500, 2))
    for t in range(1, 2500):
        walk[t] = 0.5 * walk[t - 1] + rng.normal(size=2)
    detector = hld.HLDDetector(num_latents=2, num_epochs=3).fit(walk[:2300], order="time")
    calm, odd = walk[2350:2450], walk[2350:2450].copy()
    odd[:, 1] *= 1000
    assert detector.test(calm).pvalue > 0.05
    found = detector.test(odd)
    assert found.pvalue < 0.05 / 28
    assert found.columns[0].name == "x1"
    assert "by a normal law and a t law p = " in str(found)


class Column:
    """As much of a column as is asked for."""

    def __init__(self, kind, num_categories):
        self.kind, self.num_categories = kind, num_categories


NONE = np.zeros((0, 2), dtype=np.int64)
ONE = (Column("continuous", 2),)


def drawn(G, T, draw, rng):
    """t of a batch and G groups of one column of drawn numbers, by the law."""
    values = draw(rng, (G + 1, T))
    codes, marks = np.zeros((T, 1), int), np.zeros((T, 1), np.uint8)
    look = group_statistics(ONE, np.zeros((999, 1), int), draw(rng, (999, 1)), (0,), NONE)
    means = [look.features(None, codes, Cells(own[:, None], marks)).mean(axis=0) for own in values]
    t = look.distances(np.array(means), np.full(G + 1, float(T)))
    return Deviations(t, look.parts, 1)


def test_t_is_that_of_a_group_among_the_others_and_of_its_own_rows():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(12, 30))
    look = group_statistics(ONE, np.zeros((999, 1), int), rng.normal(size=(999, 1)), (0,), NONE)
    codes, marks = np.zeros((30, 1), int), np.zeros((30, 1), np.uint8)
    features = np.array(
        [look.features(None, codes, Cells(own[:, None], marks)).mean(axis=0) for own in values]
    )
    x = 30 * np.arcsinh((values - look.scale[0]) / (30 * look.scale[1]))
    mean = x.mean(axis=1)
    t = look.distances(features, np.full(12, 30.0))
    for g in range(12):
        others = np.delete(mean, g)
        away = mean[g] - others.mean()
        own = (x[g].var() + away**2 / 31) / 30
        assert t[g, 0] == pytest.approx(abs(away) / np.sqrt(others.var(ddof=1) * 12 / 11 + own))
    order = rng.permutation(12)
    np.testing.assert_allclose(look.distances(features[order], np.full(12, 30.0)), t[order])


def test_however_far_rows_go_t_rows_count_as_t_and_a_half():
    far = drawn(20, 9, lambda rng, shape: rng.normal(size=shape), np.random.default_rng(1))
    assert far.t.max() < np.sqrt(9 * 10)
    rng = np.random.default_rng(2)

    def with_one_far(rng, shape):
        values = rng.normal(size=shape)
        values[0] = 1e300 if shape[0] < 999 else values[0]
        return values

    found = drawn(20, 9, with_one_far, rng)
    assert 9 < found.t[0].max() <= np.sqrt(9 * 10)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["normal", "lognormal", "t3"])
def test_the_law_keeps_its_level_where_days_have_moods(name):
    rng, trials = np.random.default_rng(3), 600

    def draw(rng, shape):
        mood = rng.normal(size=(shape[0], 1))
        noise = rng.normal(size=shape)
        if name == "lognormal":
            return np.exp(noise + mood / 2)
        return mood + (noise if name == "normal" else rng.standard_t(3, size=shape))

    found = np.array([drawn(20, 20, draw, rng).laws[1].min() for _ in range(trials)])
    for level in (0.002, 0.01, 0.05):
        assert (found <= level).sum() <= at_most(trials, level)
