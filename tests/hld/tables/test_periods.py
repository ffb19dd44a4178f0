"""The period of a date in every form that a table may have it in; what is no date, or too little of one, is named."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from hld.tables.periods import PERIODS, period_of

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
        ("0000-01-01", "year"),
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


@pytest.mark.parametrize(
    "clock", ["24", "24:00", "24:00:00", "24:00:00.000", "24:00Z", "24:00:00+01:00"]
)
def test_midnight_at_the_end_of_a_day_begins_the_next(clock):
    for every, label in (("day", "2028-02-29"), ("hour", "2028-02-29 00"), ("month", "2028-02")):
        assert period_of(f"2028-02-28T{clock}", every, "when") == label
    assert period_of(f"2027-12-31 {clock}", "year", "when") == "2028"
    with pytest.raises(ValueError, match="`every` needs dates"):
        period_of(f"9999-12-31 {clock}", "day", "when")
