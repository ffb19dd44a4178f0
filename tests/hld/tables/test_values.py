"""Values inside bins: units, atoms, types and shares."""

import binomial_bounds
import numpy as np
import pytest
from scipy.stats import ks_2samp

import hld
from hld.tables.schemas.columns import BinColumn
from hld.tables.values import Grid, ValueTables, value_tables


def grid(numbers, edges):
    numbers = np.asarray(numbers, dtype=float)
    column = BinColumn("x", tuple(edges), float(numbers.min()), float(numbers.max()))
    tables = value_tables([column], [numbers])
    return Grid(tables.quantiles[0], float(tables.units[0]))


@pytest.mark.parametrize(
    ("numbers", "unit"),
    [
        ([1, 2, 40], 1),
        ([0.1, 0.2, 0.7], 0.1),
        ([0.25, 1.5], 0.01),
        ([1 / 3, 2 / 3], 0),
        ([1e15, 2.0], 1),
        ([1e-6, 3.0], 1e-6),
    ],
)
def test_units_are_found(numbers, unit):
    assert grid(numbers, [max(numbers) * 0.9]).unit == unit


def test_values_have_the_law_of_the_rows():
    rng = np.random.default_rng(0)
    rows = np.where(rng.random(5000) < 0.7, 0.0, rng.exponential(2.0, 5000) + 1)
    found = grid(rows, [2.0])
    low, high = np.where(rng.random(5000) < (rows < 2).mean(), 0.0, 2.0), None
    high = np.where(low == 0, 2.0, np.nextafter(rows.max(), np.inf))
    drawn = found.draw(low, high, rng.random(5000))
    assert ((drawn >= low) & (drawn < high)).all()
    assert abs((drawn == 0).mean() - 0.7) < 0.03  # 64 quantiles know it to 1 / 64
    assert ks_2samp(drawn, rows).statistic < 0.06


def test_shares_are_those_of_the_rows():
    rows = np.arange(1001.0)
    found = grid(rows, [500.0])
    np.testing.assert_allclose(found.shares([0.0, 100.0, 400.0, 500.0]), [0.2, 0.6, 0.2], atol=0.01)
    assert found.below(-1) == 0
    assert found.below(2000) == 1


def test_cuts_are_the_next_value_that_can_be_drawn():
    whole, tenths, free = (
        grid([1, 2, 9], [2.0]),
        grid([0.1, 0.3, 0.9], [0.3]),
        grid([1 / 3, 2 / 3], [0.6]),
    )
    assert (
        whole.cut(4, False),
        whole.cut(4, True),
        whole.cut(4.5, False),
        whole.cut(4.5, True),
    ) == (4, 5, 5, 5)
    assert (tenths.cut(0.3, False), tenths.cut(0.3, True), tenths.cut(0.35, True)) == (
        0.3,
        0.4,
        0.4,
    )
    assert free.cut(0.5, False) == 0.5 < free.cut(0.5, True)


@pytest.mark.parametrize(
    "values",
    [
        (0, 1, 2.5),
        (0.1, 0.2, 0.4),
        (-1.5, 0, 7.25),
        (-0.5, -0.3, 0.0),
        tuple(np.datetime64("2024-01-01") + np.array([0, 9, 30])),
    ],
)
def test_the_smallest_and_the_largest_value_are_drawn_as_often_as_rows_have_them(values):
    """In a column with units the largest had been drawn one unit too low."""
    rng, n = np.random.default_rng(0), 3000
    table = {"value": np.array(values)[rng.integers(3, size=n)], "other": rng.normal(size=n)}
    detector = hld.HLDDetector(num_latents=2, num_epochs=3).fit(table)
    drawn = detector.sample(n, rng=1).iloc[:, 0].tolist()
    for value in values:
        text = f"'{value}'" if isinstance(value, np.datetime64) else value
        found = sum(
            str(one)[:10] == str(value) if isinstance(value, np.datetime64) else one == value
            for one in drawn
        )
        rate = detector.probability(f"value == {text}")
        assert rate > 0.25
        assert binomial_bounds.at_least(n, rate) <= found <= binomial_bounds.at_most(n, rate)
    assert not any(isinstance(one, float) and one == 0 and np.signbit(one) for one in drawn)


def test_rows_drawn_without_a_condition_have_the_probability_of_each_value():
    """The first value of a bin had been drawn half as often as its probability said, the last half as often again."""
    rng, n = np.random.default_rng(3), 40_000
    table = {"value": rng.integers(0, 40, size=4000), "other": rng.normal(size=4000)}
    detector = hld.HLDDetector(num_latents=2, num_epochs=3, continuous=["value"]).fit(table)
    counts = np.bincount(detector.sample(n, rng=4).iloc[:, 0].astype(int), minlength=40)
    for value, count in enumerate(counts.tolist()):
        rate = detector.probability(f"value == {value}")
        assert binomial_bounds.at_least(n, rate) <= count <= binomial_bounds.at_most(n, rate)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("quantiles", lambda a: a[:, ::-1]),
        ("quantiles", lambda a: a[:, :-1]),
        ("quantiles", lambda a: a * np.nan),
        ("units", lambda a: a + 0.5),
        ("units", lambda a: a[:0]),
        ("units", lambda a: a.astype(int)),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, change):
    arrays = value_tables(
        [BinColumn("x", (2.0,), 1.0, 3.0)], [np.array([1.0, 2.0, 3.0])]
    ).to_arrays()
    assert ValueTables.from_arrays(arrays, 1).units.tolist() == [1.0]
    with pytest.raises(ValueError, match=r"quantiles|array 'units'"):
        ValueTables.from_arrays(arrays | {name: change(arrays[name])}, 1)


def test_large_whole_numbers_stay_whole():
    stamps = np.arange(1.7e12, 1.7e12 + 200)
    found = grid(stamps, [float(stamps[100])])
    drawn = found.draw(np.full(50, stamps[100]), np.full(50, stamps[150]), np.linspace(0, 0.99, 50))
    assert found.unit == 1 == grid([2.0**60, 2.0**62], [2.0**61]).unit
    assert grid([1e300, 3e300], [2e300]).unit == 0
    assert (drawn == np.round(drawn)).all()
    assert drawn.min() >= stamps[100] > found.cut(stamps[99], True) > stamps[99]
