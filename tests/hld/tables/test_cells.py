"""Cells of a table: missing values, equality by value, unseen levels."""

import datetime
import math
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import representations
from tables import codes_of, column

import hld
from hld.schemas.encoder import fit_encoder

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


def test_masked_arrays():
    whole = np.ma.MaskedArray([[1, 7], [0, 8], [1, 8]], mask=[[0, 1], [0, 0], [1, 0]])
    encoder = fit_encoder(whole)
    assert [fitted.levels for fitted in encoder.columns] == [(0, 1), (8,)]
    assert encoder.encode(whole)[0].tolist() == [[1, -1], [0, 0], [-1, 0]]
    real = np.ma.MaskedArray([[0.5], [1.5], [99.0]], mask=[[0], [0], [1]])
    assert fit_encoder(real).columns[0].high == 1.5
    assert codes_of(fit_encoder(real), real) == [0, 1, -1]


def test_empty_text_is_a_level():
    assert codes_of(fit_encoder(column("", "a")), column("", None)) == [0, -1]


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


def test_levels_of_mixed_types_are_compared_as_numbers():
    encoder = fit_encoder(column(1.5, 0, True), categorical=[0])
    assert encoder.columns[0].levels == (True, 1.5, 0)
    assert codes_of(encoder, np.array([[0.0], [1.0], [1.5], [2.0]])) == [2, 0, 1, 3]


def test_unseen_levels_are_counted():
    encoder = fit_encoder([[0, "a", True], [1, "b", True]])
    codes, report = encoder.encode([[7, "a", False], [0, "c", True], [-1, "d", None]])
    assert codes.tolist() == [[2, 0, 1], [0, 2, 0], [2, 2, -1]]
    assert report.num_unseen.tolist() == [2, 2, 1]
    assert encoder.num_categories == (3, 3, 2)


def test_an_empty_text_is_missing_unless_it_was_a_level():
    """As in files of text, which cannot tell the two apart; whole numbers, numbers, text and dates alike."""
    days = [datetime.date(2024, 1, day) for day in (1, 2)]
    encoder = fit_encoder([[0, 0.5, "a", "", days[0]], [1, 0.7, "b", "b", days[1]]], continuous=[1])
    codes, report = encoder.encode([["", "", "", "", ""]])
    assert codes.tolist() == [[-1, -1, -1, 0, -1]]
    assert report.num_unseen.tolist() == [0] * 5
    assert report.num_missing.tolist() == [1, 1, 1, 0, 1]


@pytest.mark.parametrize(
    "form",
    [
        np.array,
        lambda x: np.array(x, dtype="S1"),
        lambda x: np.array(x, dtype=object),
        pd.DataFrame,
        lambda x: pd.DataFrame(x, dtype="category"),
        list,
    ],
)
def test_empty_texts_have_a_code_of_their_own_in_every_form(form):
    """Codes of text alone are unsigned, where -1 would be a category."""
    encoder = fit_encoder(np.array([["a", "x"], ["b", "y"]]))
    codes, report = encoder.encode(form([["a", "x"], ["", "y"]]))
    assert codes.tolist() == [[0, 0], [-1, 1]]
    assert report.num_missing.tolist() == [1, 0]


def test_texts_among_numbers_have_no_category():
    """So it is where a column comes as an array of texts."""
    encoder = fit_encoder({"a": np.linspace(0, 1, 50), "b": np.arange(50) % 3})
    codes, report = encoder.encode_counting({"a": np.array(["soon", ""]), "b": np.array([1, 2])})[
        :2
    ]
    assert codes.tolist() == [[-1, 1], [-1, 2]]
    assert report.num_odd.tolist() == [1, 0]


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
    schemas = [hld.HLDDetector(num_epochs=1).fit(table * 10).schema_ for table in tables]
    assert schemas[0] == schemas[1]
    assert [column.kind for column in schemas[0].columns] == [
        "continuous",
        "integer",
        "boolean",
        "date",
        "date",
    ]
    assert [column.num_missing for column in schemas[0].columns] == [10] * 5


def test_constant_columns_have_an_unseen_category():
    encoder = fit_encoder(np.array([[0.5, 4], [0.5, 4]]))
    assert encoder.num_categories == (2, 2)
    codes, report = encoder.encode(np.array([[0.5, 4], [0.7, 5], [np.nan, 4.5]]))
    assert codes.tolist() == [[0, 0], [1, 1], [-1, 1]]
    assert report.num_unseen.tolist() == [1, 2]


def test_a_column_without_values_has_only_unseen_levels():
    encoder = fit_encoder(np.array([[np.nan, 1], [np.nan, 2]]))
    assert encoder.num_categories == (1, 3)
    assert codes_of(encoder, np.array([[3.0, 1], [np.nan, 1]])) == [0, -1]
    assert "0 levels: no value was present" in encoder.describe()


# Every form of a table


def test_every_form_of_a_table_is_encoded_alike(tmp_path):
    table = np.random.default_rng(5).integers(0, 5, size=(40, 4))
    encoder = fit_encoder(table)
    plain = encoder.encode(table)[0]
    for name, form in representations.complete(table, tmp_path).items():
        written = repr(form)
        np.testing.assert_array_equal(
            encoder.encode(form)[0]
            if not hasattr(form, "columns")
            else fit_encoder(form).encode(form)[0],
            plain,
            err_msg=name,
        )
        np.testing.assert_array_equal(
            fit_encoder(form).encode(table)[0] if not hasattr(form, "columns") else plain,
            plain,
            err_msg=f"fitted to {name}",
        )
        assert repr(form) == written, f"{name} was modified"


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


def test_masked_constants_in_lists_are_missing():
    encoder = fit_encoder([["a", 1], ["b", 2]])
    assert encoder.encode([["a", np.ma.masked], [np.ma.masked, 2]])[0].tolist() == [
        [0, -1],
        [-1, 1],
    ]
    assert encoder.encode([[np.ma.masked, np.ma.masked], ("b", 1)])[0].tolist() == [
        [-1, -1],
        [1, 0],
    ]


@pytest.mark.parametrize(
    "table",
    [
        {"a": [1, np.ma.masked, 2]},
        {"a": list(np.ma.array([1, 9, 2], mask=[0, 1, 0]))},
        [{"a": 1}, {"a": np.ma.masked}, {"a": 2}],
    ],
    ids=["column", "array", "rows"],
)
def test_masked_constants_in_columns_and_named_rows_are_missing(table):
    assert fit_encoder({"a": [1, None, 2]}).encode(table)[0].tolist() == [[0], [-1], [1]]


def test_extended_precision_is_rounded_to_doubles_and_never_to_infinity():
    table = np.array([[0.1], [0.1]], dtype=np.longdouble) + np.longdouble(2) ** -60
    encoder = fit_encoder(table)
    assert codes_of(encoder, table) == codes_of(encoder, table.astype(float)) == [0, 0]
    if np.finfo(np.longdouble).max > np.finfo(float).max:
        for use in (fit_encoder, fit_encoder([[0.5], [0.25]]).encode):
            with pytest.raises(
                ValueError, match="`table` column 'x0' holds a number beyond the range of double"
            ):
                use(np.array([["1e4000"], ["0"]], dtype=np.longdouble))


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
        ([[]], ValueError, "`table` has 1 rows and 0 columns"),
        (np.empty((0, 3)), ValueError, "`table` has 0 rows and 3"),
        (pd.DataFrame(), ValueError, "`table` has 0 rows and 0 columns"),
        (pd.DataFrame({"a": []}), ValueError, "`table` has 0 rows and 1 columns"),
    ],
)
def test_tables_that_cannot_be_read(table, error, message):
    with pytest.raises(error, match=message):
        fit_encoder(table)


def test_sparse_tables_are_refused():
    import scipy.sparse

    with pytest.raises(
        TypeError, match=r"`table` is a sparse csr_array, expected a 2-D array or a data frame"
    ):
        fit_encoder(scipy.sparse.csr_array([[0, 1]]))


@pytest.mark.parametrize("roles", [{}, {"categorical": [0]}, {"continuous": [0]}])
def test_decimals_that_signal_that_they_are_none_are_missing(roles):
    cells = column(Decimal("sNaN"), Decimal("0.5"), Decimal("2.5"), Decimal("sNaN"))
    encoder = fit_encoder(cells, **roles)
    assert encoder == fit_encoder(column(None, Decimal("0.5"), Decimal("2.5"), None), **roles)
    assert encoder.encode(cells)[0].ravel().tolist() == [-1, 0, 1, -1]
    assert hld.learn_schema(cells, **roles).columns[0].num_missing == 2


@pytest.mark.filterwarnings("ignore:The 'generic' unit:DeprecationWarning")  # NumPy 2.5 on
def test_durations_without_a_unit_are_refused():
    for cells in (np.array([[1], [2]], "m8"), column(np.timedelta64(1), np.timedelta64(2))):
        for roles in ({}, {"categorical": [0]}):
            with pytest.raises(TypeError, match=r"^`table` .*expected"):
                fit_encoder(cells, **roles)
    encoder = fit_encoder(np.array([[1], [2]], "m8[s]"))
    assert encoder.encode(np.array([["NaT"]], "m8"))[0].tolist() == [[-1]]


def test_bytes_beside_texts_are_never_compared_with_these():
    program = """
import hld
table = {"s": [b"a", "a", None, "", b"", "c"] * 20, "n": [1, None, "", b"", 2.5, 3] * 20}
detector = hld.HLDDetector(num_latents=2, num_epochs=2).fit(table)
print(detector.test(table).pvalue == detector.test({**table, "s": ["a", "a", None, "", "", "c"] * 20}).pvalue)
"""
    run = subprocess.run(
        [sys.executable, "-bb", "-c", program], capture_output=True, text=True, check=False
    )
    assert (run.stdout, run.stderr) == ("True\n", "")


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
