"""Cells of a table: missing values, equality by value, unseen levels."""

import datetime
import enum
import math
import pathlib
import re
import uuid
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from tables import codes_of, column

import hld
from hld.tables.cells import not_a_number, plain_value, reads_as_number
from hld.tables.schemas.encoder import EncodingReport
from hld.tables.schemas.learn_schema import fit_encoder
from hld.tables.times import is_empty, is_missing

# Missing and unseen values, equality by value


@pytest.mark.parametrize(
    "missing",
    [
        None,
        math.nan,
        np.nan,
        np.float32("nan"),
        pd.NA,
        pd.NaT,
        Decimal("nan"),
        np.datetime64("NaT", "ns"),
        np.timedelta64("NaT", "ns"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("cells", [("a", "b"), (0, 1), (True, False), (0.5, 1.5)], ids=repr)
def test_missing_values_are_minus_one(missing, cells):
    encoder = fit_encoder(column(*cells, missing))
    assert encoder == fit_encoder(column(*cells))
    codes, report = encoder.encode(column(missing, cells[0], missing))
    assert codes[[0, 2], 0].tolist() == [-1, -1]
    assert codes[1, 0] >= 0
    assert report.num_missing.tolist() == [2]


@pytest.mark.parametrize(
    ("fitted", "table", "codes"),
    [
        (
            np.array([[0], [1]]),
            np.array([[1.0], [np.nan], [0.0], [0.5], [np.inf]]),
            [1, -1, 0, 2, 2],
        ),
        (np.array([[3], [7]]), np.array([[7], [3], [5], [-1], [2**62]]), [1, 0, 2, 2, 2]),
        (
            np.array([[3], [7]]),
            column(7, 3.0, np.int16(7), Decimal(3), None, 10**30),
            [1, 0, 1, 0, -1, 2],
        ),
        (np.array([[1.0], [np.nan]]), np.array([[1], [2]], dtype=np.uint8), [0, 1]),
        (np.array([[True], [False]]), np.array([[1], [0], [2]]), [1, 0, 2]),
        (np.array([[True], [False]]), np.array([[1.0], [np.nan]]), [1, -1]),
        (np.array([[0], [1]]), np.array([[True], [False]]), [1, 0]),
        (
            np.array([["a"], ["b"]]),
            column("b", b"a", np.str_("a"), 1, "c", np.nan),
            [1, 0, 0, 2, 2, -1],
        ),
        (np.array([["a"], ["b"]]), np.array([[1.5], [np.nan]]), [2, -1]),
        (np.array([["1"], ["2"]]), np.array([[1], [2]]), [2, 2]),
        (column("x", 1.5, 2, True), np.array([[1.5], [2.0], [1.0], [3.0]]), [1, 2, 0, 4]),
        (column(2**53, 2**53 + 1), column(2**53 + 1, 2**53, 2**53 + 2), [1, 0, 2]),
        (np.array([[2**53], [2**53 + 1]]), np.array([[2**53 + 1], [2**53]]), [1, 0]),
        (np.array([[2**53 - 1], [5]]), np.array([[2**53], [2**53 + 1], [2**53 - 1]]), [2, 2, 1]),
        (
            np.array([["2020-01-01"], ["2021-01-01"]], dtype="datetime64[D]"),
            column(
                datetime.datetime(2021, 1, 1),
                np.datetime64("2020-01-01", "ns"),
                pd.Timestamp("2020-01-01"),
                datetime.date(2020, 12, 31),
            ),
            [1, 0, 0, 0],
        ),
    ],
)
def test_equality_is_by_value(fitted, table, codes):
    assert codes_of(fit_encoder(fitted), table) == codes


def test_a_column_is_learned_as_if_empty_texts_were_missing():
    """Numbers, whole numbers, flags and dates with empty texts between them, as JSON may have them."""
    columns = {
        "number": [0.5, 1.25, 2.5],
        "whole": [3, 1, 2],
        "flag": [True, False, True],
        "text of dates": ["2024-01-01", "2024-02-01", "2024-03-01"],
        "date": [datetime.date(2024, month, 1) for month in (1, 2, 3)],
    }
    tables = [
        [
            dict(zip(columns, row, strict=True))
            for row in [*zip(*columns.values(), strict=True), [hole] * 5]
        ]
        for hole in ("", None)
    ]
    schemas = [hld.learn_schema(table * 10) for table in tables]
    assert schemas[0] == schemas[1]
    assert [column.kind for column in schemas[0].columns] == [
        "continuous",
        "integer",
        "boolean",
        "date",
        "date",
    ]
    assert [column.num_missing for column in schemas[0].columns] == [10] * 5


# Every form of a table


@pytest.mark.parametrize(
    "dtype", ["i1", "u8", ">i4", "f2", ">f8", "g", "?", "O", "U3", "S3", "M8[ns]", "m8[s]"]
)
def test_masked_cells_of_every_type_are_missing(dtype):
    values = (
        np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
        .astype("i8" if dtype[0] in "Mm" else dtype)
        .astype(dtype)
    )
    mask = np.array([[0, 0], [0, 1], [1, 0], [0, 0]], dtype=bool)
    masked = np.ma.array(values, mask=mask)
    encoder = fit_encoder(values)
    expected = np.where(mask, -1, encoder.encode(values)[0].astype(int))
    for form in (masked, masked.harden_mask(), list(masked)):
        np.testing.assert_array_equal(encoder.encode(form)[0], expected)
    if dtype[0] not in "Mm":  # times are cut, levels are listed
        assert fit_encoder(np.ma.array(values, mask=values == values[0, 0])).columns[0].levels == (
            encoder.columns[0].levels[0],
        )


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        ([[1, 2], [3]], ValueError, "`table` has rows of different lengths"),
        (
            [[1, [2]], [2, [3, 4]]],
            TypeError,
            r"`table` column 'x1' holds a list \(\[2\]\), expected text, numbers",
        ),
        ([[1, 2], [2, np.array([3, 4])]], TypeError, "`table` column 'x1' holds a ndarray"),
        (
            [np.zeros(2), np.zeros((2, 2))],
            ValueError,
            "`table` has lists among its cells, expected one value in each cell",
        ),
        ([1, 2], ValueError, r"`table` has 1 dimension\(s\)"),
        (3, ValueError, r"`table` has 0 dimension\(s\)"),
        (None, ValueError, r"`table` has 0 dimension\(s\)"),
        ("abc", ValueError, r"`table` has 0 dimension\(s\)"),
        (np.ma.masked, ValueError, r"`table` has 0 dimension\(s\)"),
        ([[1j]], TypeError, "holds a complex"),
        (np.array([[1j]]), ValueError, "`table` has dtype complex128"),
        (np.zeros((2, 2), dtype="V4"), TypeError, "`table` has dtype .V4"),
        (np.zeros((2, 2), dtype=[("a", "i4")]), TypeError, "expected numbers"),
        ([[{}]], TypeError, "holds a dict"),
        ([[object()]], TypeError, "holds a object"),
        ([[np.array([1])]], (TypeError, ValueError), "`table`"),
        ([], ValueError, "`table` has 1 dimension"),
        ([[]], ValueError, r"`table` has 0 feature\(s\)"),
        (np.empty((0, 3)), ValueError, "`table` has 0 rows"),
        (pd.DataFrame(), ValueError, r"`table` has 0 feature\(s\)"),
        (pd.DataFrame({"a": []}), ValueError, "`table` has 0 rows"),
        (np.array([[np.inf], [-np.inf]]), ValueError, "'x0' holds no finite number"),
    ],
)
def test_tables_that_cannot_be_read(table, error, message):
    with pytest.raises(error, match=message):
        fit_encoder(table)


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 2 on")
@pytest.mark.parametrize("hole", [None, math.nan, ""], ids=repr)
def test_texts_of_any_length_are_those_of_other_arrays(hole):
    dtype = np.dtypes.StringDType() if hole == "" else np.dtypes.StringDType(na_object=hole)
    train = {"hue": ["red", "tan", "red"], "day": ["2026-01-31", "2026-02-01", "2026-02-02"]}
    batch = {"hue": ["red", hole, "new"], "day": ["31.01.2026", hole, "2026-02-02"]}
    in_arrays = {name: np.array(cells, dtype=dtype) for name, cells in batch.items()}
    encoder = fit_encoder({name: np.array(cells, dtype=dtype) for name, cells in train.items()})
    assert encoder == fit_encoder(train)
    assert [fitted.kind for fitted in encoder.columns] == ["categorical", "date"]
    assert (
        encoder.encode(in_arrays)[0].tolist()
        == encoder.encode(batch)[0].tolist()
        == [[0, 0], [-1, -1], [2, 2]]
    )
    whole = np.array([["red"], [hole], ["new"]], dtype=dtype)
    assert fit_encoder([["red"], ["tan"]]).encode(whole)[0].tolist() == [[0], [-1], [2]]


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
    assert is_empty(cell) == (isinstance(cell, (str, bytes)) and len(cell) == 0)


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
    [10**400, Fraction(-(10**400))],
    ids=repr,
)
def test_numbers_beyond_double_precision_are_refused_and_never_infinite(cell):
    said = "`table` column 'x' holds a number beyond the range of double precision"
    with pytest.raises(ValueError, match=said):
        plain_value(cell, "x")
    for roles in ({"categorical": [0]}, {"continuous": [0]}):
        with pytest.raises(ValueError, match=said):
            fit_encoder(column(1.5, cell, 2.5), names=["x"], **roles)


@pytest.mark.parametrize(
    "cell",
    [[1], (1, 2), {1}, {"a": 1}, 1j, np.array([1]), object()],
    ids=lambda cell: type(cell).__name__,
)
def test_what_no_text_tells_from_another_is_no_level(cell):
    said = f"^`table` column 'x' holds a {type(cell).__name__} .*, expected text, numbers, booleans or dates"
    with pytest.raises(TypeError, match=said):
        plain_value(cell, "x")


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


# Arrays and frames


def frame(**more):
    """Small frame of all kinds."""
    return pd.DataFrame(
        {
            "age": [31.5, 40.25, 22.0, np.nan],
            "job": ["a", "b", None, "a"],
            "won": [True, False, True, True],
            "size": [1, 2, 3, 3],
            **more,
        }
    )


def test_frames_with_missing_or_additional_columns():
    encoder = fit_encoder(frame())
    with pytest.raises(
        ValueError, match=r"`table` has no column 'job', 'won', expected every fitted column"
    ):
        encoder.encode(frame()[["age", "size"]])
    with pytest.raises(ValueError, match=r"column\(s\) 'id' that were not fitted.*drop them"):
        encoder.encode(frame(id=[1, 2, 3, 4]))
    with pytest.raises(
        ValueError, match=r"`table` has 3 columns, expected 4 in the fitted order \(age, job"
    ):
        encoder.encode(np.zeros((2, 3)))


def test_encoders_of_arrays_take_frames_by_position_or_by_given_names():
    table = np.array([[0, 5], [1, 6]])
    reversed_frame = pd.DataFrame({"b": [5], "a": [1]})
    assert fit_encoder(table).names == ("x0", "x1")
    assert fit_encoder(table).encode(reversed_frame)[0].tolist() == [[2, 2]]
    named = fit_encoder(table, names=["a", "b"])
    assert named.encode(reversed_frame)[0].tolist() == [[1, 0]]
    assert named.encode(np.array([[1, 5]]))[0].tolist() == [[1, 0]]
    assert fit_encoder(table, names={"a": 0, "b": 0}.keys()) == named
    for names in ({"a", "b"}, frozenset("ab")):  # whose order is another in the next process
        with pytest.raises(TypeError, match=r"`names` is .*, expected a sequence of 2 names"):
            fit_encoder(table, names=names)


def test_zero_rows_encode_to_zero_rows():
    encoder = fit_encoder(frame())
    for empty in (frame()[:0], np.empty((0, 4)), np.empty((0, 4), dtype="U1")):
        codes, report = encoder.encode(empty)
        assert codes.shape == (0, 4)
        assert isinstance(report, EncodingReport)
        assert report.num_rows == 0
        assert report.num_missing.tolist() == [0] * 4


@pytest.mark.parametrize(
    ("num_levels", "table_dtype", "expected"),
    [
        (2**15 - 1, float, np.int16),
        (2**15, float, np.int32),
        (3, object, np.int8),
        (127, float, np.int8),
        (128, float, np.int16),
        (3, bool, np.int8),
    ],
)
def test_codes_have_the_smallest_dtype(num_levels, table_dtype, expected):
    encoder = fit_encoder(np.repeat(np.arange(num_levels), 4)[:, None], max_categories=2**17)
    codes, report = encoder.encode(np.array([[1], [0]]).astype(table_dtype))
    assert codes.dtype == expected
    assert codes[:, 0].tolist() == [1, 0]
    assert report.num_rows == 2


# Errors name the argument of the public function that was called

WHOLE = np.random.default_rng(0).integers(0, 3, size=(200, 2))
TABLE = pd.DataFrame(WHOLE, columns=["a", "b"])
ODD = TABLE.assign(a="text", b="text")


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=39).fit(TABLE)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("first", lambda detector, odd: hld.two_sample(detector, odd, TABLE)),
        ("second", lambda detector, odd: hld.two_sample(detector, TABLE, odd)),
        ("alternative", lambda detector, odd: detector.power(odd, 100)),
        ("alternative", lambda detector, odd: detector.sample_size(odd)),
        ("batch", lambda detector, odd: detector.test(odd)),
        ("reference", lambda detector, odd: hld.Monitor(detector, reference=odd)),
    ],
)
def test_a_table_is_called_what_the_argument_is_called(detector, name, call):
    for odd in (3, "file.csv", TABLE.rename(columns=str.upper)):
        with pytest.raises(ValueError, match="^" + re.escape(f"`{name}` ")):
            call(detector, odd)
