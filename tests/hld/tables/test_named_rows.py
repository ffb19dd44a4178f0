"""Rows that name their cells are matched by name, whatever made them."""
import dataclasses
import sqlite3
from typing import NamedTuple

import numpy as np
import pandas
import pytest

import hld
from hld.tables.cells import read_table
from hld.tables.named_rows import named_rows


class Visit(NamedTuple):
    """A row of two columns."""

    page: str
    seconds: float


@dataclasses.dataclass
class Order:
    """The same columns in the other order."""

    seconds: float
    page: str


def queried(columns):
    """Two rows of a database, and which columns in which order."""
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    connection.execute("create table visits (page, seconds)")
    connection.executemany("insert into visits values (?, ?)", [("a", 1.5), ("b", None)])
    return connection.execute(f"select {columns} from visits").fetchall()


@pytest.mark.parametrize("rows", [
    [Visit("a", 1.5), Visit("b", None)],
    [Order(1.5, "a"), Order(None, "b")],
    (Visit("a", 1.5), Order(None, "b")),
    [{"seconds": 1.5, "page": "a"}, Visit("b", None)],
    queried("page, seconds"),
    queried("seconds, page"),
    [row for _, row in pandas.DataFrame({"seconds": [1.5, None], "page": ["a", "b"]}).iterrows()],
    list(pandas.DataFrame({"seconds": [1.5, None], "page": ["a", "b"]}).itertuples(index=False)),
], ids=lambda rows: type(rows[0]).__name__)
def test_cells_are_found_by_name(rows):
    columns = read_table(rows)
    cells = dict(zip(columns.names, columns.arrays, strict=True))
    assert sorted(cells) == ["page", "seconds"]
    assert cells["page"].tolist() == ["a", "b"]
    assert cells["seconds"][0] == 1.5
    assert cells["seconds"][1] is None or np.isnan(cells["seconds"][1])


def test_rows_of_attrs():
    attrs = pytest.importorskip("attrs")
    Row = attrs.make_class("Row", ["seconds", "page"])
    assert named_rows([Row(1.5, "a")]) == [{"seconds": 1.5, "page": "a"}]


@pytest.mark.parametrize("rows", [
    [(1, 2), (3, 4)],
    [[1, 2], Visit("a", 1.5)],
    [Visit, Visit],
    list(pandas.DataFrame({"page": [1], "not a name": [2]}).itertuples(index=False)),
], ids=["tuples", "a list among them", "classes", "itertuples with _1"])
def test_rows_without_names_are_matched_by_place(rows):
    assert named_rows(rows) is None


def test_a_name_that_occurs_twice_is_refused():
    with pytest.raises(ValueError, match="more than one column named 'page'"):
        read_table(queried("page, page"))


def test_a_batch_in_another_order_is_no_shift():
    rng = np.random.default_rng(0)
    rows = [Visit("ab"[code], float(seconds)) for code, seconds in zip(rng.integers(2, size=200), rng.normal(size=200),
                                                                      strict=True)]
    detector = hld.HLDDetector().fit(rows[:150])
    batch = [Order(row.seconds, row.page) for row in rows[150:]]
    assert detector.test(batch).pvalue == detector.test(rows[150:]).pvalue > 0.05
    assert detector.feature_names_in_.tolist() == ["page", "seconds"]


def test_a_class_in_place_of_a_table_is_named():
    with pytest.raises(TypeError, match="`batch` is the class DataFrame, expected rows: give an object of it"):
        hld.HLDDetector().fit([[0, 1], [1, 0]] * 20).test(pandas.DataFrame)
