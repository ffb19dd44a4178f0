"""Tables of all kinds as rows to be taken from."""

import collections

import numpy as np
import pytest

from hld.detector.audit import column_of, num_rows, pvalue_function, take

NUMBERS, WORDS = np.array([3, 1, 4, 1, 5]), np.array(["a", "b", "c", "d", "e"], dtype=object)


def tables():
    """The same two columns in every form: name, table, its cells of the second column once taken."""
    rows = [[int(n), word] for n, word in zip(NUMBERS, WORDS, strict=True)]
    yield "rows", rows, 1
    yield "array", np.array(rows, dtype=object), 1
    yield "mapping", {"n": NUMBERS, "w": list(WORDS)}, "w"
    for module, make in (
        ("pandas", lambda pandas: pandas.DataFrame({"n": NUMBERS, "w": WORDS})),
        ("polars", lambda polars: polars.DataFrame({"n": NUMBERS, "w": list(WORDS)})),
        ("pyarrow", lambda arrow: arrow.table({"n": NUMBERS, "w": list(WORDS)})),
    ):
        yield module, make, "w"


@pytest.mark.parametrize(
    ("name", "table", "column"), list(tables()), ids=[name for name, *_ in tables()]
)
def test_rows_are_taken_from_tables_of_every_kind(name, table, column):
    if callable(table):
        table = table(pytest.importorskip(name))
    assert num_rows(table) == 5
    taken = take(table, np.array([4, 0, 0]))
    assert type(taken) is type(table)
    assert num_rows(taken) == 3
    if name == "array":  # of arrays the audit asks by position
        assert taken[:, column].tolist() == ["e", "a", "a"]
    assert column_of(taken, column).tolist() == ["e", "a", "a"]


def test_an_empty_mapping_has_no_rows():
    assert num_rows({}) == 0


@pytest.mark.parametrize("table", ["text", b"bytes", 3, None])
def test_what_is_no_table_is_refused(table):
    with pytest.raises(
        TypeError, match=f"`held_out` must be a table, found {type(table).__name__}"
    ):
        num_rows(table)


def test_what_is_no_detector_is_refused():
    with pytest.raises(
        TypeError,
        match="`detectors` must be a function of a batch or have a method `test`, found int",
    ):
        pvalue_function(3)


def test_cells_of_mappings_stay_what_they_are():
    """A list with a text had become texts throughout, and a mask had been lost."""
    masked = np.ma.array([1, 2, 3], mask=[False, True, False])
    taken = take(
        {"mixed": [1, "a", 2.5], "masked": masked, "flags": (True, None, 3)}, np.array([2, 1, 0])
    )
    assert list(map(repr, taken["mixed"])) == ["2.5", "'a'", "1"]
    assert taken["masked"].tolist() == [3, None, 1]
    assert list(taken["flags"]) == [3, None, True]
    assert column_of(taken, "mixed").tolist() == [2.5, "a", 1]


def test_rows_that_name_their_cells_have_columns_with_these_names():
    Named = collections.namedtuple("Named", "n w")
    for kind in (Named, lambda n, w: {"n": n, "w": w}):
        assert column_of([kind(1, "a"), kind(2, "b")], "w").tolist() == ["a", "b"]
    assert column_of([{"n": 1}, {"n": 2, "w": "b"}], "w").tolist() == [None, "b"]
    assert column_of([{"w": "a"}, {"n": 2}], "w").tolist() == ["a", None]


def test_names_that_are_no_text_are_found_by_their_text():
    table = {7: [1, 2], 1: ["a", "b"]}
    assert column_of(table, "7").tolist() == column_of(table, 7).tolist() == [1, 2]
    with pytest.raises(
        ValueError, match="`edits` names the column '0', expected one of '7', '1', or a position"
    ):
        column_of(table, "0")
