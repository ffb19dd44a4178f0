"""JSON lines in blocks, each with the types of its own cells: whole numbers, then 1.5, then a text, or a new name.

Arrow takes the types of a file from its first block and refuses what comes later.  So every block is read on its own;
one in which a column has both numbers and texts, or whole numbers beyond 64 bits, which Arrow would round to doubles,
is read by Python, which keeps each cell as it is.  Texts stay texts, even where all of a block are dates: the next one
may have "n/a".
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import Any

from hld.table_files.arrow_limits import is_beyond_arrow
from hld.table_files.dialect import ReadOptions
from hld.table_files.json_lists import columns_of_rows, frame_of_objects
from hld.tables.column_names import distinct_names

BLOCK = 2**22  # bytes that are parsed at a time
MOST_LINE = 2**28  # of a line
WIDE = re.compile(
    rb"(?<![0-9.eE+-])-?([0-9]{20,}|9[2-9][0-9]{17})(?![0-9.eE])"
)  # may need more than 64 bits
# what Arrow says of cells of several types, of 1e400, and of half a character: Python reads these
FOR_PYTHON = (
    "changed from",
    "too big to be stored in double",
    "surrogate pair in string is invalid",
)


def json_line_chunks(file: Any, name: str, options: ReadOptions) -> Iterator[Any]:
    r"""Chunks of an open file of JSON lines, only the columns that are asked for."""
    seen: dict[str, None] = {}
    texts: set[str] = set()
    table = None
    for block in _blocks(file, name):
        table = _table(block, texts, name)
        seen |= dict.fromkeys(table.columns if hasattr(table, "iloc") else table.column_names)
        wanted = dict.fromkeys([*options.kept(seen), *(options.columns or ())])
        yield _with_columns(table, list(wanted) or options.chosen(tuple(seen), name))
    if table is None:
        raise ValueError(
            f"{name} has no rows, expected one object on each line: check the program that wrote it"
        )
    if seen:
        options.chosen(tuple(seen), name)


def _blocks(file: Any, name: str) -> Iterator[bytes]:
    """Whole lines, about `BLOCK` bytes at a time."""
    rest = b""
    while data := file.read(BLOCK):
        rest += data
        cut = rest.rfind(b"\n") + 1
        if rest[:cut].strip():
            yield rest[:cut]
        elif len(rest) > MOST_LINE:
            raise ValueError(
                f"{name} has a line of more than {MOST_LINE} bytes, expected one object on each line"
            )
        rest = rest[cut:]
    if rest.strip():
        yield rest


def _table(block: bytes, texts: set[str], name: str) -> Any:
    """The rows of a block; names whose texts would be taken for dates are added to `texts`."""
    import pyarrow
    import pyarrow.json

    try:
        block.decode()
    except UnicodeDecodeError:
        raise ValueError(f"{name} is not text in UTF-8, expected JSON") from None
    if is_beyond_arrow(block):
        return _by_python(block, name)
    read = pyarrow.json.ReadOptions(block_size=len(block) + 1)
    names: dict[str, None] = {}  # in the order of the file, not of the schema
    try:
        while True:
            known = pyarrow.schema([(one, pyarrow.string()) for one in sorted(texts)])
            table = pyarrow.json.read_json(
                io.BytesIO(block), read, pyarrow.json.ParseOptions(explicit_schema=known)
            )
            dates = {field.name for field in table.schema if pyarrow.types.is_timestamp(field.type)}
            names = names or dict.fromkeys(table.column_names)
            if not dates:
                return (
                    _by_python(block, name)
                    if _is_rounded(table, block)
                    else table.select(list(names))
                )
            texts |= dates
    except pyarrow.ArrowInvalid as error:
        if "Column() changed" in str(error):
            hint = ": read it as one JSON value (--format json)" * block.lstrip().startswith(b"[")
            raise ValueError(
                f"{name} has a line that is no object, expected one object on each line{hint}"
            ) from None
        if not any(part in str(error) for part in FOR_PYTHON):
            raise
    return _by_python(block, name)


def _is_rounded(table: Any, block: bytes) -> bool:
    """Whether whole numbers of a block may have become doubles because they are beyond 64 bits."""
    import pyarrow

    return (
        any(map(pyarrow.types.is_floating, table.schema.types)) and WIDE.search(block) is not None
    )


def _by_python(block: bytes, name: str) -> Any:
    """The rows of a block as a data frame of objects."""
    decoder, text = json.JSONDecoder(object_pairs_hook=distinct_names), block.decode("utf-8-sig")
    rows, at = [], 0
    try:
        while text[at : at + 1]:
            if text[at].isspace():
                at += 1
                continue
            row, at = decoder.raw_decode(text, at)
            rows.append(row)
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply: expected rows of plain cells") from None
    except ValueError as error:
        raise ValueError(f"{name} is not a table in JSON lines: {error}") from None
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"{name} has a line that is no object, expected one object on each line")
    return frame_of_objects(columns_of_rows(rows, name))


def _with_columns(table: Any, names: list[str]) -> Any:
    """The columns with these names, missing throughout where there is none."""
    if hasattr(table, "iloc"):
        return table.reindex(columns=names)
    import pyarrow

    known = set(table.column_names)
    return pyarrow.table(
        {one: table.column(one) if one in known else pyarrow.nulls(len(table)) for one in names}
    )
