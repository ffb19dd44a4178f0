"""Cells to categories by looking their values up: forms of one value, times, holes, and cells of another type."""

import datetime
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from hld.schemas.columns import LevelColumn
from hld.schemas.level_codes import are_doubles, level_lookup, look_up
from hld.schemas.rare_levels import digests_of


def found(column, *cells, **options):
    """Categories and positions of odd cells."""
    values = np.empty(len(cells), dtype=object)
    values[:] = cells
    codes, odd = look_up(column, level_lookup(column), values, **options)
    assert codes.dtype == np.int32
    return codes.tolist(), odd


WORDS = LevelColumn("word", "categorical", ("", "a", "b"), rare=digests_of(["c"]))
NUMBERS = LevelColumn("number", "integer", (0, 1, 5))


def test_one_value_in_several_forms_is_one_level():
    assert found(
        NUMBERS, 1, 1.0, True, np.int8(1), np.float32(1), Decimal(1), Fraction(1), 2, -1
    ) == ([1] * 7 + [3, 3], [])
    assert found(WORDS, "a", np.str_("a"), b"a", np.bytes_(b"b"), "c", b"c", "A", 1, "") == (
        [1, 1, 1, 2, 3, 3, 4, 4, 0],
        [],
    )
    mixed = LevelColumn("mixed", "categorical", (1, "1"))
    assert found(mixed, 1, "1", 1.0, b"1", True) == ([0, 1, 0, 1, 0], [])


def test_holes_of_every_kind_are_missing():
    holes = (
        None,
        math.nan,
        float("nan"),
        np.float32("nan"),
        pd.NA,
        pd.NaT,
        Decimal("nan"),
        np.datetime64("NaT"),
    )
    for column in (WORDS, NUMBERS):
        assert found(column, *holes) == ([-1] * len(holes), [])
    without_empty = LevelColumn("word", "categorical", ("a",))
    assert found(without_empty, "", b"", "a") == (
        [-1, -1, 0],
        [],
    )  # files of text cannot tell it from a hole
    assert found(LevelColumn("word", "categorical", ("a",), rare=digests_of([""])), "") == ([1], [])
    assert found(WORDS) == ([], [])


def test_texts_among_numbers_are_odd_or_refused():
    assert found(NUMBERS, 5, "5", "x", 5, "x", is_strict=False) == ([2, 3, 3, 2, 3], [1, 2, 4])
    with pytest.raises(
        TypeError, match=r"`table` column 'number' holds text \('x'\).*, expected numbers"
    ):
        found(NUMBERS, 5, "x")
    for cell in ([1], {"a": 1}, (1, 2)):
        for is_strict in (True, False):
            with pytest.raises(
                TypeError, match=f"`table` column 'word' holds a {type(cell).__name__}"
            ):
                found(WORDS, "a", cell, is_strict=is_strict)


def test_cells_that_stand_for_no_row_are_not_looked_at():
    """Categories of a frame that none of its rows has may be anything."""
    assert found(NUMBERS, "text", 5, "more", used=np.array([0, 3, 0]))[0][1] == 2
    with pytest.raises(TypeError, match="'number' holds text"):
        found(NUMBERS, "text", 5, used=np.array([1, 3]))


def test_levels_that_are_times_are_found_by_their_time():
    days = LevelColumn("day", "categorical", ("2026-01-31", "2026-02-01"))
    assert found(days, "31.01.2026", datetime.date(2026, 2, 1), "2026-01-31T00:00", "2026-01-30")[
        0
    ] == [0, 1, 0, 2]
    mixed = LevelColumn("odd", "categorical", ("01:30:00", "often"))
    assert found(mixed, "01:30:00", "1:30", "often")[0] == [0, 2, 1]
    assert found(LevelColumn("all", "categorical", ("01:30:00", "12:00:00")), "1:30")[0] == [0]


def test_numbers_of_four_bytes_and_large_decimals_are_the_levels_that_they_were():
    tenths = LevelColumn("tenth", "categorical", (0.1, 0.7))
    assert found(tenths, 0.1, float(np.float32(0.1)), np.float32(0.7), 0.1 * (1 + 2.0**-22))[0] == [
        0,
        0,
        1,
        2,
    ]
    rounded = LevelColumn("id", "categorical", (2**62,))
    assert found(rounded, Decimal(2**62 + 1), 2**62 + 1)[0] == [0, 1]
    exact = LevelColumn("id", "categorical", (2**62, 2**62 + 1))
    assert found(exact, Decimal(2**62 + 1), Decimal(2**62 + 2))[0] == [1, 2]


@pytest.mark.parametrize(
    ("levels", "answer"),
    [
        ((), True),
        (("a", 0.5, True, 2**53), True),
        ((2**53 + 1,), False),
        ((2**53 + 2,), True),
        ((-(2**60) - 1,), False),
        ((2**1024,), False),
        ((math.inf, 10**400), False),
    ],
)
def test_large_whole_numbers_are_doubles_or_not(levels, answer):
    assert are_doubles(levels) is answer
