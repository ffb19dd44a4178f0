"""Tables in JSON: rows or columns in one value, or lines with one object each.

    [{"name": cell, ...}, ...]      one object for each row; a name that a row lacks is a missing cell
    {"name": [cell, ...], ...}      columns as lists of one length

One value is read as a whole, because nothing in it is complete before its last byte; lines are read in blocks.  Python
parses both: no input can end the process, whatever its depth, its names or its numbers.  Each cell stays as it is.
"""

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

from hld.tables.factored import object_cells
from hld.tables.files.dialect import ReadOptions
from pcircuit.io.archive import distinct_names

BLOCK = 2**22  # bytes that are parsed at a time
ROOM = 1_000_000  # cells that a table may have beside 64 for each that is written
DECODER = json.JSONDecoder(object_pairs_hook=distinct_names)


def json_line_chunks(file: Any, name: str, options: ReadOptions) -> Iterator[Any]:
    """Chunks of an open file of JSON lines, only the columns that are asked for."""
    seen: dict[str, None] = {}
    is_empty = True
    while lines := file.readlines(BLOCK):
        block = b"".join(lines)
        if not block.strip():
            continue
        rows = _values(block, name)
        if not all(isinstance(row, dict) for row in rows):
            hint = ": read it as one JSON value (--format json)" * block.lstrip().startswith(b"[")
            raise ValueError(
                f"{name} has a line that is no object, expected one object on each line{hint}"
            )
        columns, is_empty = _columns_of_rows(rows, name), False
        seen |= dict.fromkeys(columns)
        wanted = dict.fromkeys([*options.kept(seen), *(options.columns or ())])
        absent = [None] * len(rows)
        yield _table(
            {one: columns.get(one, absent) for one in wanted or options.chosen(tuple(seen), name)}
        )
    if is_empty:
        raise ValueError(
            f"{name} has no rows, expected one object on each line: check the program that wrote it"
        )
    options.chosen(tuple(seen), name)


def read_json(data: bytes, name: str) -> Any:
    """A JSON value as a table; None where there are several values, one after the other, as in JSON lines."""
    values = _values(data, name)
    if len(values) > 1:
        return None
    (value,) = values
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        return _table(_columns_of_rows(value, name))
    if isinstance(value, dict) and value:
        lengths = {len(cells) if isinstance(cells, list) else -1 for cells in value.values()}
        if len(lengths) == 1 and -1 not in lengths:
            return _table(value)
    raise ValueError(
        f"{name} must hold rows, [{{name: cell, ...}}, ...], or columns of one length, "
        "{name: [cell, ...], ...}: write a data frame with to_json(orient='records')"
    )


def _values(data: bytes, name: str) -> list[Any]:
    """The JSON values of a text, one after the other."""
    found, at = [], 0
    try:
        text = data.decode(json.detect_encoding(data)).removeprefix("\ufeff").strip()
        while at < len(text):
            value, at = DECODER.raw_decode(text, at)
            found.append(value)
            while text[at : at + 1].isspace():
                at += 1
    except UnicodeDecodeError:
        raise ValueError(f"{name} is not text in UTF-8, expected JSON") from None
    except RecursionError:
        raise ValueError(
            f"{name} is nested too deeply: expected rows or columns of plain cells"
        ) from None
    except ValueError as error:
        raise ValueError(f"{name} is not JSON: {error}") from None
    if not found:
        raise ValueError(f"{name} is empty, expected JSON")
    return found


def _columns_of_rows(rows: list[Any], name: str) -> dict[str, list[Any]]:
    """Columns from one object for each row."""
    names = dict.fromkeys(chain.from_iterable(rows))
    if len(names) * len(rows) > 64 * (sum(map(len, rows)) + ROOM):
        raise ValueError(
            f"{name} has {len(rows)} rows with {len(names)} names in all, of which each has but a few: "
            "expected rows with the same columns"
        )
    return {one: [row.get(one) for row in rows] for one in names}


def _table(columns: dict[str, list[Any]]) -> Any:
    """Columns as a data frame that keeps each cell as it is."""
    import pandas

    cells = {name: object_cells(column) for name, column in columns.items()}
    return pandas.DataFrame(cells, dtype=object)
