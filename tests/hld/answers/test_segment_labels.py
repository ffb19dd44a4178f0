"""Labels of segments: one for each value, in order; periods of dates."""

import datetime

import numpy as np
import pandas as pd
import pytest

from hld.answers.segment_labels import numbered


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
    "cell",
    [
        "03/07/2026 12:30",
        "20260307",
        20260307,
        1.5,
        "yesterday",
        "12:30",
        "2026-03",
        pd.Timedelta("40 days"),
        True,
        "2026-03-07 01:30 PM",
        "2026-03-07 01:30:00PM",
        "2026-13-01",
        "2026-00-07",
        "2026-03-32",
        "2026-03-07 25:00",
        "٢٠٢٦-٠٣-٠٧",
    ],
)
def test_what_is_no_date_has_no_period(cell):
    """Its first characters would be a label, and 03/07/2026 in a month of its own."""
    with pytest.raises(ValueError, match="`every` needs dates such as"):
        numbered(np.array([cell], dtype=object), "day", "when")


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
        (["P2D", "PT3M", "PT10H"], ("PT3M", "PT10H", "P2D")),
        (["31.01.2026", "01.02.2026", "2.1.2026"], ("2.1.2026", "31.01.2026", "01.02.2026")),
        (["1 day, 0:00:00", "10:00:00", "none"], ("1 day, 0:00:00", "10:00:00", "none")),
    ],
)
def test_durations_and_dates_are_in_the_order_of_time(cells, labels):
    """A day was before ten hours, and minus one day behind both."""
    groups, found = numbered(np.array(cells, dtype=object), None, "x")
    assert found == labels
    assert sorted(groups.tolist()) == list(range(len(cells)))
