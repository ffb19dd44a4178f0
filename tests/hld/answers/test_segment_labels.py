"""Labels of segments: one for each value, in order; periods of dates."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from hld.answers.segments import PERIODS, numbered, period_of


@pytest.mark.parametrize(
    ("cells", "every", "labels"),
    [
        (["7.3.2026", "07.03.2026 12:30", "2026/3/9"], "month", ("2026-03",)),
        (["2026-03-07T12:30", "2026-03-07 12:45Z", "7.3.2026 12:50"], "hour", ("2026-03-07 12",)),
        (["2026-03-07", " ", None], "minute", ("2026-03-07", "(missing)")),
        (["2026-03", "2027-03-01"], "year", ("2026", "2027")),
        (
            ["2026-03-07 12:30:05,123", "2026-03-07 12:30:59.5 UTC", "2026-03-07T12:30+0100"],
            "minute",
            ("2026-03-07 12:30",),
        ),
        ([2026, 2027, np.nan], "year", ("2026", "2027", "(missing)")),
    ],
)
def test_texts_of_dates_in_all_forms_are_cut_to_periods(cells, every, labels):
    assert numbered(np.array(cells, dtype=object), every, "when")[1] == labels


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        ([1, "1", 2, 1], ("1", "2", "'1'")),
        (["1.5", 1.5], ("1.5", "'1.5'")),
        ([True, "True"], ("True", "'True'")),
        ([None, "(missing)", "a"], ("'(missing)'", "a", "(missing)")),
        (["a", "b"], ("a", "b")),
    ],
)
def test_no_two_segments_have_one_label(cells, labels):
    assert numbered(np.array(cells, dtype=object), None, "x")[1] == labels


def test_numbers_of_any_length_within_labels_are_in_order():
    long = [f"s{'1' * 5000}", f"s{'1' * 4999}2", "s2", "s10", "s010", "s1x2"]
    cells = np.array(long[::-1], dtype=object)
    assert numbered(cells, None, "x")[1] == ("s1x2", "s2", "s010", "s10", long[0], long[1])


def test_true_is_not_the_segment_of_one():
    """Python's true equals 1, and the rows of both had been one segment."""
    groups, labels = numbered(
        np.array([1, True, 1.0, "1", False, None], dtype=object), None, "shop"
    )
    assert labels == ("False", "True", "1", "'1'", "(missing)")
    assert groups.tolist() == [2, 1, 2, 3, 0, 4]


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        ([2.0, np.nan, 1.0], ("1", "2", "(missing)")),
        ([2.0, np.nan, 1.5], ("1.5", "2.0", "(missing)")),
        ([1e300, 1.0], ("1.0", "1e+300")),
        ([2, 1], ("1", "2")),
    ],
)
def test_whole_numbers_are_written_alike_with_and_without_missing_ones(cells, labels):
    """One missing cell in a data frame had made shop 1 shop 1.0."""
    assert numbered(np.array(cells), None, "shop")[1] == labels


DAYS = [datetime.timedelta(days) for days in (10, 0.125, 2, -1, 1, -2, 0.5)]


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (
            DAYS,
            (
                "-2 days, 0:00:00",
                "-1 day, 0:00:00",
                "3:00:00",
                "12:00:00",
                "1 day, 0:00:00",
                "2 days, 0:00:00",
                "10 days, 0:00:00",
            ),
        ),
        (
            ["2 days 01:00:00", "0 days 10:00:00", "-1 days +23:00:00", "36:30:00", None],
            ("-1 days +23:00:00", "0 days 10:00:00", "36:30:00", "2 days 01:00:00", "(missing)"),
        ),
        (["31.01.2026", "01.02.2026", "2.1.2026"], ("2.1.2026", "31.01.2026", "01.02.2026")),
        (["1 day, 0:00:00", "10:00:00", "none"], ("1 day, 0:00:00", "10:00:00", "none")),
    ],
)
def test_durations_and_dates_are_in_the_order_of_time(cells, labels):
    """A day was before ten hours, and minus one day behind both."""
    groups, found = numbered(np.array(cells, dtype=object), None, "x")
    assert found == labels
    assert sorted(groups.tolist()) == list(range(len(cells)))


MOMENT = datetime.datetime(2026, 1, 31, 12, 30, 5)
LABELS = {
    "year": "2026",
    "month": "2026-01",
    "day": "2026-01-31",
    "hour": "2026-01-31 12",
    "minute": "2026-01-31 12:30",
}


@pytest.mark.parametrize(
    "cell",
    [
        MOMENT,
        MOMENT.replace(tzinfo=datetime.timezone.utc),
        pd.Timestamp(MOMENT),
        np.datetime64(MOMENT, "ns"),
        "2026-01-31T12:30:05.123456789Z",
        "2026-01-31 12:30",
        " 2026-01-31 12:30:05+0100 ",
        "2026-01-31 12:30:05 CEST",
        "31.1.2026 12:30",
        "2026/1/31 12:30:05,5",
    ],
    ids=str,
)
def test_every_form_of_a_moment_has_the_same_periods(cell):
    assert {every: period_of(cell, every, "when") for every in PERIODS} == LABELS


def test_a_date_without_the_part_behind_is_enough():
    """Years as numbers, months, and days, at whose beginning their hours are."""
    for year in (2026, 2026.0, "2026", Decimal(2026), np.int16(2026)):
        assert period_of(year, "year", "when") == "2026"
    assert period_of("2026-01", "month", "when") == "2026-01"
    for every in ("day", "hour", "minute"):
        assert period_of(datetime.date(2026, 1, 31), every, "when") == "2026-01-31"
    assert period_of("2026-01-31 12", "hour", "when") == "2026-01-31 12"
    assert [period_of(empty, "day", "when") for empty in ("", "  ")] == [None, None]


@pytest.mark.parametrize(
    ("cell", "every"),
    [
        ("2026", "month"),
        (2026, "month"),
        ("2026-01", "day"),
        ("2026-01", "hour"),
        (2026.5, "year"),
        (True, "year"),
        (999, "year"),
        (10_000, "year"),
        ("20260131", "day"),
        ("03/07/2026", "month"),
        ("2026-13-01", "month"),
        ("2026-01-31 12:30 AM", "hour"),
        ("2026-01-31 25:00", "hour"),
        ("2026-01-31 12:60", "minute"),
        ("soon", "year"),
        ("\u0662\u0660\u0662\u0666", "year"),
        ("2026-02-29", "day"),
        ("2026-02-31 12:00", "month"),
        ("2026-01-31 24:30", "hour"),
        ("2026-01-31 24:00:01", "day"),
        ("2026-01-31 24:00:00.5", "day"),
    ],
)
def test_what_is_no_date_or_too_little_of_one_is_named(cell, every):
    with pytest.raises(
        ValueError,
        match=r"^`every` needs dates such as 2026-01-31 12:30, found .* in 'when': write",
    ):
        period_of(cell, every, "when")
