"""Tables and options that an encoder refuses, each in one sentence."""

import datetime

import numpy as np
import pandas as pd
import pytest
from tables import column

from hld.schemas.encoder import fit_encoder


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        (
            np.arange(3),
            ValueError,
            r"`table` has 1 dimension\(s\) \(ndarray\), expected 2 .*table\[None, :\]",
        ),
        (np.zeros((2, 2, 2)), ValueError, "3 dimension"),
        (5, ValueError, "0 dimension"),
        ({"a": 1}, ValueError, "mapping whose columns must be sequences, found 1"),
        (pd.Series([1, 2]), ValueError, r"1 dimension\(s\) \(Series\)"),
        ([[1, 2], [3]], ValueError, "rows of different lengths"),
        (np.empty((0, 3)), ValueError, "`table` has 0 rows and 3 columns, expected at least one"),
        (np.empty((3, 0)), ValueError, "3 rows and 0 columns"),
        (pd.DataFrame(), ValueError, "0 rows and 0 columns"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, "more than one column named 'a'"),
        (np.array([[1j]]), ValueError, "dtype complex128: Complex data not supported"),
        (np.zeros((2, 2), dtype="i4,f8"), TypeError, r"`table` has dtype .*expected numbers"),
        (column([1], [2]), TypeError, r"column 'x0' holds a list \(\[1\]\), expected text"),
        (column("a", {}), TypeError, r"holds a dict"),
        (column((1, 2)), TypeError, "holds a tuple"),
        (column(1j), TypeError, "holds a complex"),
        (column(object()), TypeError, "holds a object"),
        (column(10**400), ValueError, "beyond the range of double precision"),
        (np.array([[np.inf], [-np.inf]]), ValueError, "'x0' holds no finite number"),
        (np.array([[np.inf], [np.inf]]), ValueError, "'x0' holds no finite number"),
    ],
)
def test_tables_that_cannot_be_fitted(table, error, message):
    with pytest.raises(error, match=message):
        fit_encoder(table)


def test_a_frame_that_cannot_be_read():
    class Frame:
        columns = ("a",)

    with pytest.raises(TypeError, match="Frame with neither `iloc` nor `get_column`"):
        fit_encoder(Frame())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_bins": 1}, ValueError, "`num_bins` must be a whole number of at least 2 .* found 1"),
        ({"num_bins": 2.5}, TypeError, "`num_bins` must be a whole number .* found 2.5"),
        (
            {"max_categories": True},
            TypeError,
            "`max_categories` must be a whole number .* found True",
        ),
        ({"max_categories": 2**31}, ValueError, "and at most 2147483646, found 2147483648"),
        (
            {"categorical": ["z"]},
            ValueError,
            "`categorical` names the column 'z', expected one of 'a', 'b'",
        ),
        (
            {"categorical": "a"},
            TypeError,
            r"`categorical` is 'a', expected a sequence .*write \['a'\]",
        ),
        ({"continuous": 1}, TypeError, "`continuous` is 1"),
        ({"continuous": [1.0]}, TypeError, "`continuous` holds 1.0"),
        ({"continuous": [2]}, ValueError, r"position 2, expected 0..1"),
        ({"continuous": [-1]}, ValueError, "position -1"),
        ({"categorical": [True, False]}, TypeError, "np.flatnonzero"),
        (
            {"categorical": ["a"], "continuous": [0]},
            ValueError,
            "`categorical` and `continuous` both hold 'a'",
        ),
        (
            {"continuous": ["b"]},
            TypeError,
            r"column 'b' holds text \('x'\), expected numbers.*correct it, or",
        ),
        (
            {"names": ["a", "c"]},
            ValueError,
            r"`names` differs from the columns of `table` \(a, b\)",
        ),
        ({"names": "ab"}, TypeError, "`names` is 'ab'"),
        ({"names": 3}, TypeError, "`names` is 3"),
        ({"names": ["a", 2]}, TypeError, "`names` holds 2, expected text"),
        ({"names": ["a"]}, ValueError, "`names` has 1 entries"),
        ({"names": ["a", "a"]}, ValueError, "1 of them distinct"),
    ],
)
def test_options_that_cannot_be_used(options, error, message):
    with pytest.raises(error, match=message):
        fit_encoder(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), **options)


def test_a_continuous_column_needs_a_number():
    with pytest.raises(ValueError, match="'x0' holds no finite number"):
        fit_encoder(column(None, None), continuous=[0])


@pytest.mark.parametrize(
    "fitted", [[0.5, 1.5, 2.5], [1, 2, 3], [True, False, True], [0.5] * 3], ids=repr
)
@pytest.mark.parametrize(
    ("table", "what"),
    [
        (np.array([["1"], ["2"]]), r"text \('1'\)"),
        (np.array([[b"1"], [b"2"]]), r"text \(b'1'\)"),
        (column(1, None, "2"), r"text \('2'\)"),
        (column(datetime.date(2020, 1, 1)), "a date"),
        (column(1, [2]), "a list"),
        (column(1j), "a complex"),
    ],
)
def test_text_in_a_column_of_numbers_is_an_error(fitted, table, what):
    encoder = fit_encoder(np.array(fitted)[:, None], names=["size"])
    with pytest.raises(
        TypeError, match=rf"`table` column 'size' holds {what}.*, expected (text, )?numbers"
    ):
        encoder.encode(table)


def test_cells_that_cannot_be_levels_are_errors_at_encoding_too():
    encoder = fit_encoder(column("a", "b"))
    for cell in ([1], {"a": 1}, (1, 2), 1j, object()):
        with pytest.raises(TypeError, match=f"holds a {type(cell).__name__}"):
            encoder.encode(column("a", cell))


def test_numbers_beyond_double_precision():
    encoder = fit_encoder(np.array([[0.5], [1.5]]))
    with pytest.raises(
        ValueError, match="'x0' holds a number beyond the range of double precision"
    ):
        encoder.encode(column(0.5, 10**400))
