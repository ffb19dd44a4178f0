"""Rows out of order and gaps in time: one sentence where a column of dates shows them, none where it does not."""

import warnings

import numpy as np
import pytest

import hld
from hld.tables.cells import read_table
from hld.testing.variation.dividing import warn_of_clock

HOURS = np.datetime64("2024-01-01T00", "h") + np.arange(400).astype("m8[h]")


def said(**columns):
    table = {"x": np.arange(400) % 3, **columns}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_clock(read_table(table))
    return [str(one.message) for one in caught]


def test_gaps_of_a_regular_clock_are_counted_and_the_longest_is_named():
    gapped = HOURS.copy()
    gapped[200:] += np.timedelta64(48, "h")
    gapped[300:] += np.timedelta64(5, "h")
    assert said(when=gapped) == [
        "`order`='time' takes the rows as without gaps, but column 'when' has 2, the longest of 2 days, 1:00:00 before "
        "row 200 where the usual step is 1:00:00: fit to the rows since the last, or to a stretch without"
    ]


@pytest.mark.parametrize(
    ("unit", "count", "gap", "step"),
    [
        ("us", 1, "0:00:00.000050", "0:00:00.000001"),
        ("us", 100, "0:00:00.005000", "0:00:00.000100"),
        ("ns", 1000, "0:00:00.000050", "0:00:00.000001"),
    ],
)
def test_gaps_of_clocks_of_microseconds_and_nanoseconds_are_seen(unit, count, gap, step):
    """Seconds since 1970 are doubles a quarter of a microsecond apart: such clocks had no usual step."""
    steps = np.where(np.arange(400) % 150 == 149, 50, 1) * count
    when = np.datetime64("2026-01-31T12", unit) + steps.cumsum().astype(f"m8[{unit}]")
    expected = (
        f"column 'when' has 2, the longest of {gap} before row 149 where the usual step is {step}: "
    )
    assert expected in said(when=when)[0]


def test_missing_cells_of_the_clock_are_gaps_where_no_row_fills_them():
    holed = HOURS.copy()
    holed[100:103] = np.datetime64("NaT", "h")
    assert "has 1, the longest of 4:00:00 before row 103" in said(when=holed)[0]


def test_a_clock_that_goes_back_is_named_with_the_first_row():
    unsorted = HOURS.copy()
    unsorted[[50, 51]] = unsorted[[51, 50]]
    assert said(when=unsorted) == [
        "`order`='time' takes the rows as they stand, but column 'when' goes back 1 times, first at row 51: sort the "
        "table by it if it is the time of the rows"
    ]


MONTHS = np.datetime64("1990-01", "M") + np.arange(400).astype("m8[M]")
EVENTS = np.datetime64("2024-01-01", "s") + np.random.default_rng(0).exponential(
    1000, 400
).cumsum().astype("m8[s]")


@pytest.mark.parametrize(
    "when",
    [
        HOURS,
        MONTHS,
        EVENTS,
        HOURS.repeat(4)[:400],
        np.full(400, HOURS[0]),
        np.full(400, np.datetime64("NaT", "s")),
    ],
    ids=["hours", "months", "events", "four rows an hour", "one day", "nothing known"],
)
def test_nothing_is_said_of_a_clock_without_gaps_or_without_a_usual_step(when):
    assert said(when=when) == []


def test_dates_that_are_no_clock_do_not_matter_beside_one():
    born = np.random.default_rng(1).permutation(HOURS)
    assert said(born=born, when=HOURS) == []
    assert "column 'born' goes back" in said(born=born)[0]
    assert said() == []


def test_a_detector_says_it_where_it_is_fitted():
    table = {"when": np.roll(HOURS, 100), "x": np.arange(400) % 3}
    with pytest.warns(
        UserWarning, match="column 'when' goes back 1 times, first at row 100: sort the table"
    ) as caught:
        hld.HLDDetector(num_epochs=1, null="exact", continuous=["when"]).fit(table, order="time")
    assert caught[0].filename == __file__


def test_a_column_of_nested_values_is_no_clock():
    """It may be left out of the model, and had been refused for all that."""
    pyarrow = pytest.importorskip("pyarrow")
    columns = read_table(
        pyarrow.table(
            {"place": [{"x": 1}] * 400, "when": pyarrow.array(HOURS[::-1].astype("M8[s]"))}
        )
    )
    with pytest.warns(UserWarning, match="column 'when' goes back 399 times, first at row 1"):
        warn_of_clock(columns)


def table(n, **more):
    return read_table({"x": np.arange(n) % 3, **more})


def rng():
    return np.random.default_rng(0)
