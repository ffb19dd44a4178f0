"""Answers for programs: what JSON can hold of any value, and data frames of columns."""

import datetime
import json
import math
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from hld.answers.column_shifts import ColumnShift
from hld.answers.for_programs import columns_frame, data_frame, plain_json


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (2**70, 2**70),
        (0.5, 0.5),
        ("é", "é"),
        (math.nan, None),
        (-math.inf, None),
        (np.float32(0.5), 0.5),
        (np.int8(3), 3),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.float64("inf"), None),
        (np.array([[1.0, np.nan]]), [[1.0, None]]),
        (np.zeros((0, 2)), []),
        (np.ma.array([1, 2], mask=[0, 1]), [1, None]),
        ((1, [2, (3,)]), [1, [2, [3]]]),
        ({1: {None: np.arange(2)}}, {"1": {"None": [0, 1]}}),
        (Fraction(1, 4), 0.25),
        (pd.NA, "<NA>"),
        (Decimal("0.5"), "0.5"),
        (b"a", "b'a'"),
        (1j, "1j"),
        (datetime.date(2026, 1, 31), "2026-01-31"),
        (np.datetime64("2026-01-31"), "2026-01-31"),
        (np.datetime64("2026-01-31T12:30", "ns"), "2026-01-31 12:30:00"),
        (np.datetime64("NaT"), None),
        (np.array(["2026-01-31", "NaT"], dtype="M8[ns]"), ["2026-01-31 00:00:00", None]),
        (np.timedelta64(90, "s").astype("m8[ns]"), "0:01:30"),
        (np.longdouble("0.5"), 0.5),
        (np.longdouble("nan"), None),
        (np.array([0.5, np.inf], dtype=np.longdouble), [0.5, None]),
    ],
    ids=repr,
)
def test_every_value_has_a_form_that_json_can_hold(value, plain):
    found = plain_json(value)
    assert (found, type(found)) == (plain, type(plain))
    assert json.loads(json.dumps(found, allow_nan=False)) == plain


def test_numbers_of_extended_precision_are_texts_where_they_are_complex():
    assert plain_json(np.clongdouble(1)) == str(np.clongdouble(1))


def shift(name, above):
    """A column that moved from its first to its second level."""
    return ColumnShift(
        name,
        "integer",
        ("1", "2", "(missing)"),
        np.array([0.5, 0.5, 0.0]),
        np.array([0.25, 0.75, 0.0]),
        0.01,
        0.02,
        above,
    )


def test_a_frame_has_a_row_for_each_column_and_the_same_names_without_any():
    frame, none = columns_frame((shift("a", 0.7), shift("b", None))), columns_frame(())
    assert list(frame.columns) == list(none.columns)
    assert (len(frame), len(none)) == (2, 0)
    assert frame["name"].tolist() == ["a", "b"]
    assert frame["direction"].tolist() == ["higher", ""]
    numbers = frame[["kind", "pvalue", "adjusted_pvalue", "difference"]].to_numpy().tolist()
    assert numbers == [["integer", 0.01, 0.02, 0.25]] * 2
    assert frame["description"].tolist() == [
        shift("a", 0.7).describe(),
        shift("b", None).describe(),
    ]


def test_a_missing_pandas_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for call in (lambda: columns_frame(()), lambda: data_frame({})):
        with pytest.raises(
            ImportError, match=r"a data frame needs pandas, .*: pip install 'hld\[cli\]'"
        ):
            call()
