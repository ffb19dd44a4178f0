"""The table encoder: agreement of its ways, order of rows and columns, decoding, real data."""

import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tables import ROWS, column, form, objects

from hld.tables.schemas.learn_schema import calendar_columns, fit_encoder, learn_schema
from hld.tables.schemas.schema import TableSchema

# The ways to encode agree


def naive_codes(encoder, table, training):
    """Codes by comparing cell by cell with the training table, straight from the definition."""
    rows = []
    for row in table.tolist():
        codes = []
        for fitted, x, known in zip(encoder.columns, row, training.T.tolist(), strict=True):
            if x is None or x != x:
                codes.append(-1)
            elif fitted.kind == "continuous":
                codes.append(sum(edge <= x for edge in fitted.edges))
            elif x in fitted.levels:
                codes.append(fitted.levels.index(x))
            else:  # a rare level, or one that is new
                codes.append(len(fitted.levels) if x in known else fitted.num_categories - 1)
        rows.append(codes)
    return np.array(rows).reshape(table.shape)


def number_tables(shape):
    """Pairs of an integer and a float array (N, V) with few distinct values."""
    return st.tuples(
        arrays(np.int64, shape, elements=st.integers(-2, 4), fill=st.nothing()),
        arrays(np.float64, shape, elements=st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.5])),
    )


@settings(max_examples=60)
@given(st.tuples(st.integers(1, 12), st.integers(1, 4)).flatmap(number_tables), st.data())
def test_all_ways_agree_with_the_definition(tables, data):
    ints, floats = tables
    fitted = data.draw(st.sampled_from([ints, floats, np.abs(ints), ints > 0]))
    forced = data.draw(st.sampled_from([None, list(range(ints.shape[1]))]))
    encoder = fit_encoder(fitted, num_bins=3, max_categories=3, categorical=forced)
    holes = np.where(floats == 2.5, np.nan, floats)
    for table in (
        ints,
        floats,
        holes,
        ints > 0,
        ints.astype(np.float32),
        np.asfortranarray(ints),
        abs(ints),
    ):
        expected = naive_codes(encoder, table, fitted)
        codes, report = encoder.encode(table)
        assert np.array_equal(codes, expected)
        assert np.array_equal(encoder.encode(table.astype(object))[0], expected)
        assert np.array_equal(
            encoder.encode(pd.DataFrame(table, columns=encoder.names))[0], expected
        )
        assert report.num_missing.tolist() == np.isnan(table.astype(float)).sum(axis=0).tolist()


# The order of rows and columns


@given(ROWS, st.randoms(use_true_random=False))
@example([(True,), (1,), (1.0,), ("1",)], None)
@example([(-0.0,), (0.0,), ("a",)], None)
def test_the_order_of_the_rows_does_not_matter(rows, random):
    other = list(reversed(rows))
    if random is not None:
        random.shuffle(other)
    options = {"max_categories": 3, "num_bins": 3}
    assert form(fit_encoder(objects(rows), **options)) == form(
        fit_encoder(objects(other), **options)
    )


@pytest.mark.parametrize("names", [None, ["x0", "x1"]], ids=["by position", "by name"])
def test_tables_by_position_have_no_parts_of_dates_of_their_own(names):
    """A third column had been taken for the day of the week, and two were said to be expected as three."""
    days = np.arange("2026-01-05", "2026-02-16", dtype="M8[D]").astype(object)
    table = np.stack([days, np.arange(42) % 3], axis=1)
    given = TableSchema(calendar_columns("x0", ["weekday"]))
    encoder = learn_schema(table, names=names, given=given).encoder()
    np.testing.assert_array_equal(
        encoder.encode(table)[0], np.stack([np.arange(42) % 3, [1, 5, 6, 4, 0, 2, 3] * 6], 1)
    )
    for num_columns in (1, 3):
        batch = np.concatenate([table, table], axis=1)[:, :num_columns]
        said = f"has {num_columns} columns, expected 2 in the fitted order .x0, x1.$"
        for encode in (encoder.encode, encoder.encode_counting):
            with pytest.raises(ValueError, match=said):
                encode(batch)
    if names is None:
        with pytest.raises(ValueError, match="has 3 columns, expected 2 in the fitted order"):
            encoder.encode_counting(pd.DataFrame({"x0": days, "x1": 1, "more": 1}))


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
            r"column 'b' holds text \('x'\), expected numbers",
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
