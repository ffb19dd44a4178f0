"""Rows that name their cells: dictionaries, named tuples, rows of databases, data classes.

A list of them is a table whose columns have names, and is matched by these: two queries may give the same columns in
another order, and then cells matched by their places would be those of other columns.

* a named tuple, and the rows that SQLAlchemy and psycopg make like one, have ``_fields``;
* rows of ``sqlite3``, asyncpg and psycopg2 have ``keys()`` and give their cells in that order;
* data classes, and classes of attrs, declare their fields.

The tuples of pandas' ``itertuples`` have ``_1`` in place of a name that no Python variable can have: then all are
matched by their places.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from hld.tables.forms import refuse_repeated


def named_rows(rows: Any) -> list[Any] | None:
    """The rows as mappings from names to cells; None unless each of them has names.

    Parameters
    ----------
    rows : list or tuple
        At least one.

    Returns
    -------
    list of mapping, or None

    Raises
    ------
    ValueError
        If a name occurs twice in one row.

    Examples
    --------
    >>> import collections
    >>> Point = collections.namedtuple("Point", "x y")
    >>> named_rows([Point(1, 2), {"x": 3, "y": 4}])
    [{'x': 1, 'y': 2}, {'x': 3, 'y': 4}]
    >>> named_rows([(1, 2), (3, 4)]) is None
    True
    """
    readers = {kind: _reader(kind) for kind in set(map(type, rows))}
    if any(reader is None for reader in readers.values()):
        return None
    read = [readers[type(row)](row) for row in rows]  # type: ignore[misc]
    return None if any(row is None for row in read) else read


def _reader(kind: type) -> Callable[[Any], Any] | None:
    """A function that makes a mapping of a row of some type; None for types without names."""
    if issubclass(kind, Mapping):
        return lambda row: row
    if hasattr(kind, "_fields") and hasattr(kind, "__getitem__"):
        return lambda row: _mapping(row._fields, row)
    if dataclasses.is_dataclass(kind):
        return lambda row: {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}
    if hasattr(kind, "__attrs_attrs__"):
        return lambda row: {field.name: getattr(row, field.name) for field in kind.__attrs_attrs__}
    if hasattr(kind, "keys") and hasattr(kind, "__getitem__") and hasattr(kind, "__len__"):
        return lambda row: _mapping(tuple(row.keys()), tuple(row))
    return None


def _mapping(names: Any, cells: Any) -> dict[str, Any] | None:
    """Cells by name; None where a place stands for a name."""
    refuse_repeated(names)
    if any(name == f"_{place}" for place, name in enumerate(names)):
        return None
    return dict(zip(names, cells, strict=True))
