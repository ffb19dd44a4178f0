"""Tables in one JSON value: a list of objects, one for each row, or an object of columns, as data frames write them.

    [{"name": cell, ...}, ...]                      one object for each row; a name that a row lacks is a missing cell
    {"name": [cell, ...], ...}                      columns as lists
    {"name": {"label": cell, ...}, ...}             columns by row labels: what pandas writes by default
    {"columns": {...}} or {"rows": [...]}           what the service takes
    {"columns": [...], "data": [[...], ...]}        names, and one list for each row: "split" of pandas
    {"schema": ..., "data": [{...}, ...]}           rows with a description: "table" of pandas, without its row numbers

A name of these with plain cells in place of a table is that of a column.
Such a file is read as a whole, because nothing in it is complete before its last byte; JSON lines are read in chunks.
Numbers with a text among them, or beyond what Arrow holds, stay what they are, as in JSON lines.
"""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

from hld.tables.column_names import distinct_names
from hld.tables.factored import object_cells

NESTED = (list, dict)


def read_json(data: bytes, name: str) -> Any:
    r"""A JSON value as an Arrow table; None where there are several values, one after the other, as in JSON lines."""
    import pyarrow

    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        value = json.loads(data, object_pairs_hook=distinct_names)
    except RecursionError:
        raise ValueError(
            f"{name} is nested too deeply: expected rows or columns of plain cells"
        ) from None
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and data.lstrip()[:1] == b"{":
            return None
        raise ValueError(f"{name} is not JSON: {error}") from None
    except ValueError as error:  # also bytes that are no text
        raise ValueError(f"{name} is not JSON: {error}") from None
    value = _unwrapped(value, name)
    columns = columns_of_rows(value, name) if isinstance(value, list) else _columns(value, name)
    try:
        return pyarrow.table({column: _array(cells) for column, cells in columns.items()})
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError, UnicodeEncodeError):
        return frame_of_objects(columns)


def _unwrapped(value: Any, name: str) -> Any:
    """The rows or columns themselves, without what programs write around them."""
    if not isinstance(value, dict):
        return value
    if set(value) in ({"rows"}, {"columns"}):
        inner = next(iter(value.values()))
        return value if _are_cells(inner) else inner
    data, names = value.get("data"), value.get("columns")
    if (
        set(value) == {"schema", "data"}
        and isinstance(value["schema"], dict)
        and isinstance(data, list)
    ):
        return _without_row_numbers(data, value["schema"].get("primaryKey"))
    is_split = set(value) <= {"columns", "index", "data"} and not _are_cells(data)
    if is_split and isinstance(names, list) and isinstance(data, list):
        if len(set(map(str, names))) < len(names):
            raise ValueError(f"{name} has two columns with the same name, expected different ones")
        if not all(isinstance(row, list) and len(row) == len(names) for row in data):
            raise ValueError(f"{name} has rows of other lengths than its {len(names)} columns")
        return {str(column): [row[j] for row in data] for j, column in enumerate(names)}
    return value


def _without_row_numbers(rows: list[Any], keys: Any) -> list[Any]:
    """Rows without what pandas numbers those of a frame by; an index with a name of its own is a column, as in Parquet.

    No column of such a frame has the name of its index, and these are the names of one without a name.
    """
    if not isinstance(keys, list) or not all(isinstance(row, dict) for row in rows):
        return rows
    unnamed = {"index"} if len(keys) == 1 else {f"level_{k}" for k in range(len(keys))}
    return [
        {name: cell for name, cell in row.items() if name not in unnamed or name not in keys}
        for row in rows
    ]


def _are_cells(value: Any) -> bool:
    """Whether a value is one column, of plain cells, rather than a table: one may be called "rows" or "columns"."""
    cells = list(value.values()) if isinstance(value, dict) else value
    return (
        isinstance(cells, list)
        and bool(cells)
        and not any(isinstance(cell, NESTED) for cell in cells)
    )


def columns_of_rows(rows: list[Any], name: str) -> dict[str, Any]:
    """Columns from one object for each row."""
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise ValueError(
            f"{name} must be a list of objects, one for each row, found "
            + ("an empty list" if not rows else "other values in the list")
        )
    names = dict.fromkeys(chain.from_iterable(rows))
    if len(names) * len(rows) > 64 * (
        sum(map(len, rows)) + 1_000_000
    ):  # rows of few cells, each in another column
        raise ValueError(
            f"{name} has {len(rows)} rows with {len(names)} names in all, of which each has but a few: "
            "expected rows with the same columns"
        )
    return {one: [row.get(one) for row in rows] for one in names}


def _columns(value: Any, name: str) -> dict[str, Any]:
    """Columns from an object of lists, or of objects with the same labels of rows."""
    if isinstance(value, dict) and value:
        columns = list(value.values())
        if all(isinstance(cells, list) and len(cells) == len(columns[0]) for cells in columns):
            return value
        if all(isinstance(cells, dict) and cells.keys() == columns[0].keys() for cells in columns):
            labels = list(columns[0])
            return {one: [cells[label] for label in labels] for one, cells in value.items()}
    raise ValueError(
        f"{name} must hold rows, [{{name: cell, ...}}, ...], or columns of one length, "
        "{name: [cell, ...], ...}"
    )


def _array(cells: list[Any]) -> Any:
    """An Arrow array of one type."""
    import pyarrow

    if any(
        isinstance(cell, NESTED) for cell in cells
    ):  # as the type says, which is refused where it is looked at
        return pyarrow.array([[]] * len(cells), pyarrow.list_(pyarrow.null()))
    if any(isinstance(cell, float) for cell in cells):
        cells = [float(cell) if type(cell) is int else cell for cell in cells]
    return pyarrow.array(cells)


def frame_of_objects(columns: dict[str, Any]) -> Any:
    """Columns as a data frame that keeps each cell as it is."""
    import pandas

    arrays = {name: object_cells(cells) for name, cells in columns.items()}
    try:
        return pandas.DataFrame(arrays, dtype=object)
    except UnicodeEncodeError:
        odd = next(name for name in arrays if not name.isprintable())
        raise ValueError(
            f"a column is named {odd!r}, of which a part is no character: rename it"
        ) from None
