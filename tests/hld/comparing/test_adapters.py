"""Tables of all kinds as rows to be taken from."""

import collections

import numpy as np
import pytest

from hld.detector.audit import column_of, take
from hld.tables.cells import read_table

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
    taken = take(table, np.array([4, 0, 0]))
    assert type(taken) is type(table)
    if name == "array":  # of arrays the audit asks by position
        assert taken[:, column].tolist() == ["e", "a", "a"]
    assert column_of(read_table(taken), column).tolist() == ["e", "a", "a"]


def test_cells_of_mappings_stay_what_they_are():
    """A list with a text had become texts throughout, and a mask had been lost."""
    masked = np.ma.array([1, 2, 3], mask=[False, True, False])
    taken = take(
        {"mixed": [1, "a", 2.5], "masked": masked, "flags": (True, None, 3)}, np.array([2, 1, 0])
    )
    assert list(map(repr, taken["mixed"])) == ["2.5", "'a'", "1"]
    assert taken["masked"].tolist() == [3, None, 1]
    assert list(taken["flags"]) == [3, None, True]
    assert column_of(read_table(taken), "mixed").tolist() == [2.5, "a", 1]


def test_rows_that_name_their_cells_have_columns_with_these_names():
    Named = collections.namedtuple("Named", "n w")
    for kind in (Named, lambda n, w: {"n": n, "w": w}):
        assert column_of(read_table([kind(1, "a"), kind(2, "b")]), "w").tolist() == ["a", "b"]
    assert column_of(read_table([{"n": 1}, {"n": 2, "w": "b"}]), "w").tolist() == [None, "b"]
    assert column_of(read_table([{"w": "a"}, {"n": 2}]), "w").tolist() == ["a", None]
