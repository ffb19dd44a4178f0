"""Single cells: what is missing, the plain value of any object, numbers as people write them, and errors."""

import datetime
import decimal
import enum
import math
import pathlib
import uuid
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from tables import column

from hld.schemas.encoder import fit_encoder
from hld.tables.single_cells import (
    as_keys,
    first_unhashable,
    is_blank,
    is_missing,
    not_a_level,
    not_a_number,
    plain_value,
    reads_as_number,
)


class Colour(str, enum.Enum):
    """A text that calls itself another way."""

    RED = "red"


MISSING = [
    None,
    math.nan,
    np.float32("nan"),
    pd.NA,
    pd.NaT,
    Decimal("nan"),
    Decimal("sNaN"),
    np.datetime64("NaT", "ns"),
    np.timedelta64("NaT", "s"),
    complex("nan"),
]


@pytest.mark.parametrize("cell", MISSING, ids=repr)
def test_every_kind_of_hole_is_missing(cell):
    assert is_missing(cell) is True


@pytest.mark.parametrize(
    "cell",
    [0, "", "nan", False, math.inf, b"", [], np.array([1, 2]), Decimal("inf"), "NA"],
    ids=repr,
)
def test_a_value_is_not_missing_whatever_it_looks_like(cell):
    assert is_missing(cell) is False
    assert is_blank(cell) == (isinstance(cell, (str, bytes)) and len(cell) == 0)


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("a", "a"),
        (np.str_("a"), "a"),
        (b"caf\xc3\xa9", "caf\u00e9"),
        (b"\xff", "\\xff"),
        (True, True),
        (np.bool_(False), False),
        (Colour.RED, "red"),
        (3, 3),
        (np.uint8(3), 3),
        (2**70, 2**70),
        (-0.0, 0.0),
        (np.float32(0.1), float(np.float32(0.1))),
        (Decimal("0.1"), 0.1),
        (Fraction(1, 4), 0.25),
        (Decimal(2**53 + 1), 2**53 + 1),
        (Fraction(2**60 + 1), 2**60 + 1),
        (Decimal("Infinity"), math.inf),
        (np.longdouble("-inf"), -math.inf),
        (2.0**60, 2.0**60),
        (Decimal(3), 3.0),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (pathlib.PurePosixPath("a/b"), "a/b"),
        (datetime.date(2026, 1, 31), "2026-01-31"),
        (np.datetime64("2026-01-31", "ns"), "2026-01-31"),
        (pd.Timestamp("2026-01-31"), "2026-01-31"),
    ],
    ids=repr,
)
def test_the_plain_value_of_a_cell_and_its_type(cell, value):
    found = plain_value(cell, "x")
    assert (found, type(found)) == (value, type(value))
    assert math.copysign(1, found) == math.copysign(1, value) if isinstance(value, float) else True


@pytest.mark.parametrize(
    "cell",
    [10**400, Fraction(-(10**400)), Decimal("1e400"), Decimal("-1e309"), np.longdouble("1e4000")],
    ids=repr,
)
def test_numbers_beyond_double_precision_are_refused_and_never_infinite(cell):
    if isinstance(cell, np.longdouble) and np.isinf(cell):
        pytest.skip("no extended precision here")
    said = "`table` column 'x' holds a number beyond the range of double precision"
    with pytest.raises(ValueError, match=said):
        plain_value(cell, "x")
    for roles in ({"categorical": [0]}, {"continuous": [0]}):
        with pytest.raises(ValueError, match=said):
            fit_encoder(column(1.5, cell, 2.5), names=["x"], **roles)
        with pytest.raises(ValueError, match=said):
            fit_encoder(column(1.5, Decimal(2), 2.5), names=["x"], **roles).encode(
                column(Decimal("sNaN"), cell)
            )


@pytest.mark.parametrize(
    "cell",
    [[1], (1, 2), {1}, {"a": 1}, 1j, np.array([1]), object(), np.timedelta64(3)],
    ids=lambda cell: type(cell).__name__,
)
@pytest.mark.filterwarnings("ignore:The 'generic' unit:DeprecationWarning")  # NumPy 2.5 on
def test_what_no_text_tells_from_another_is_no_level(cell):
    said = f"^`table` column 'x' holds a {type(cell).__name__} .*, expected text, numbers, booleans or dates"
    with pytest.raises(TypeError, match=said):
        plain_value(cell, "x")
    with pytest.raises(TypeError, match=said):
        raise not_a_level(cell, "x")


def test_cells_that_cannot_be_looked_up_are_found_or_replaced():
    signal = Decimal("sNaN")
    assert first_unhashable([1, "a", None, (1, 2)]) is None
    assert first_unhashable([1, [2], {3}]) == [2]
    assert as_keys([signal, Decimal("nan"), 1, None])[::2] == [None, 1]
    with pytest.raises((TypeError, ValueError, decimal.InvalidOperation)):
        hash(signal)


@pytest.mark.parametrize(
    ("cell", "what", "then"),
    [
        ("1,234", "text", "write it as a plain number first"),
        ("12", "text", r"convert it first, .*astype\(float\)"),
        ("soon", "text", "correct it, or make it a missing value"),
        (b"a", "text", "convert it first"),
        (datetime.date(2026, 1, 1), "a date", "convert it first"),
    ],
)
def test_a_value_among_numbers_is_told_with_what_to_do(cell, what, then):
    assert isinstance(not_a_number(cell, "x"), TypeError)
    with pytest.raises(
        TypeError, match=rf"^`table` column 'x' holds {what} \(.*\), expected numbers, .*: {then}"
    ):
        raise not_a_number(cell, "x")


@pytest.mark.parametrize(
    "text",
    [
        " " * 200_000 + "x",
        "1" * 200_000 + "%",
        "1 " * 100_000,
        "$" + " " * 200_000 + "1",
        "1" + " " * 200_000 + "%",
        "1e" + "1" * 200_000 + "x",
    ],
)
def test_long_texts_are_read_once(text):
    """A pattern that goes back and forth over them would take hours: a file may hold such a cell to that end."""
    assert reads_as_number(text) == (text == "1" * 200_000 + "%")
    assert "expected numbers" in str(not_a_number(text, "x"))


def test_numbers_as_people_write_them():
    written = [
        "1,234.50",
        "1.234,50",
        "$3",
        "3 $",
        "12 %",
        "-1e5",
        "  7  ",
        "1 000 000",
        ".5",
        "5.",
    ]
    assert [text for text in written if reads_as_number(text)] == written
    assert not any(
        map(
            reads_as_number,
            ["", " ", "-", "Total", "3 of 4", "1,23,45", "$", "%", "1e", "nan", "0x10"],
        )
    )
