"""Cells of a text file as values: of the first type that all of them have in training, of the fitted type in a batch.

Arrow reads whole columns of plain numbers and ISO dates; of all others the distinct texts are read one by one
(`read_texts`), by the same rules in training and in batches.

Rows of text one after the other, by Python's own parser: of a stream, and of a body from a stranger.

A quote without an end would make one cell of all that follows, up to the next quote: text behind a closing quote is
refused, as mostly that quote was to open a cell, and so is a cell of more than `csv.field_size_limit()` characters.
"""

import contextlib
import csv
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import numpy as np

from hld.tables.cells import arrow_column
from hld.tables.factored import Factored, object_cells
from hld.tables.files.dialect import Dialect, ReadOptions
from hld.tables.schemas.columns import BINNED
from hld.tables.times import TIMES, text_kind, times_of_texts

# in the digits 0 to 9; longer whole numbers are identifiers, or infinite as doubles
WHOLE = re.compile(r"[+-]?[0-9]{1,20}")
NUMBER = r"[+-]?(([0-9]+{mark}?[0-9]*|{mark}[0-9]+)([eE][+-]?[0-9]+)?|inf|Infinity)"
WORDS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
FLAGS = {**WORDS, "1": True, "0": False}


def typed_columns(table: Any, dialect: Dialect, options: ReadOptions) -> dict[str, Any]:
    """The columns of an Arrow table of texts, of types that all cells of a column can be."""
    return {
        name: _typed(_without(cells, options.missing_texts), dialect.decimal)
        for name, cells in zip(table.column_names, table.columns, strict=True)
    }


def _typed(cells: Any, decimal: str) -> Any:
    """An Arrow column of texts (N,) as whole numbers, doubles, truth values, times or text."""
    import pyarrow
    import pyarrow.compute

    trimmed = pyarrow.compute.utf8_trim_whitespace(cells)
    are_whole = pyarrow.compute.match_substring_regex(trimmed, "^-?[0-9]+$")
    if pyarrow.compute.all(are_whole, min_count=0).as_py():
        with contextlib.suppress(pyarrow.ArrowInvalid):
            return arrow_column(trimmed.cast(pyarrow.int64()))
        return arrow_column(cells)  # beyond 64 bits: identifiers
    for kind in ("continuous", "date"):
        if (parsed := _parsed(cells, kind, decimal)) is not None:
            return parsed
    found = arrow_column(cells)
    texts = found.levels.tolist()
    kind = "boolean" if WORDS.keys() >= {*texts} else text_kind(texts) or ""
    return Factored(found.codes, read_texts(texts, kind, decimal)) if kind else found


def _parsed(cells: Any, kind: str, decimal: str) -> Any:
    """An Arrow column of texts as doubles (N,), or dates without a zone, where Arrow reads all cells so; else None."""
    import pyarrow
    import pyarrow.compute

    if kind == "continuous":
        cells = pyarrow.compute.utf8_trim_whitespace(cells)
        if decimal != ".":
            if pyarrow.compute.any(pyarrow.compute.match_substring(cells, ".")).as_py():
                return None
            cells = pyarrow.compute.replace_substring(cells, decimal, ".")
    with contextlib.suppress(pyarrow.ArrowInvalid):
        return arrow_column(cells.cast("float64" if kind == "continuous" else "timestamp[us]"))
    return None


def read_texts(texts: list[str], kind: str, decimal: str) -> np.ndarray:
    """Texts (n,) as cells of a kind of column, as they are where they are none."""
    if kind in TIMES:
        return times_of_texts(texts, kind)
    flags = FLAGS if kind == "boolean" else {}
    number = re.compile(NUMBER.format(mark=re.escape(decimal)))
    return object_cells(
        [flags[text] if text in flags else _number(text, number, decimal) for text in texts]
    )


def _number(cell: str, number: re.Pattern[str], decimal: str) -> Any:
    """The number that a text stands for, the text if it stands for none."""
    text = cell.strip()
    if WHOLE.fullmatch(text):
        return int(text)
    return float(text.replace(decimal, ".")) if number.fullmatch(text) else cell


def as_fitted(
    column: Any,
    fitted: Any,
    decimal: str,
    missing: Collection[str] = (),
    stated: Collection[str] = (),
) -> Any:
    """Text cells (N,), by number or of Arrow, as what their column was fitted to; None for a column that was not."""
    kind = getattr(fitted, "kind", "")
    if not isinstance(column, Factored):
        if kind in ("continuous", "date"):
            parsed = _parsed(_without(column, missing), kind, decimal)
            if parsed is not None:
                return parsed
        column = arrow_column(column)
    texts, levels, holes = column.levels.tolist(), getattr(fitted, "levels", ()), {*missing}
    if kind and kind not in BINNED:  # rare ones are levels, too
        holes = {text for text in holes if text not in levels and not fitted.is_rare(text)}
    holes |= {*stated}
    codes = column.without(np.array([text in holes for text in texts], dtype=bool)).codes
    if not kind:
        return Factored(codes, column.levels)
    if kind == "categorical" and not (levels and all(not isinstance(x, str) for x in levels)):
        known = {str(level): level for level in levels}
        return Factored(codes, object_cells([known.get(text, text) for text in texts]))
    return Factored(codes, read_texts(texts, kind, decimal))


def _without(cells: Any, texts: Collection[str]) -> Any:
    """An Arrow column of texts of which some are missing."""
    import pyarrow
    import pyarrow.compute

    held = [text.encode() for text in texts]  # as memory: Arrow imports pandas to look at objects
    ends = np.cumsum([0, *map(len, held)], dtype=np.int32)
    buffers = map(pyarrow.py_buffer, (ends, b"".join(held)))
    is_hole = pyarrow.compute.is_in(cells, pyarrow.StringArray.from_buffers(len(held), *buffers))
    return pyarrow.compute.if_else(is_hole, pyarrow.nulls(1, pyarrow.string())[0], cells)


def text_rows(
    lines: Iterable[str], dialect: Dialect, called: str, *, has_header: bool = True
) -> Iterator[list[str]]:
    """The rows of a text, empty ones aside."""
    width, number = len(dialect.names), 0
    style: dict[str, Any] = {"delimiter": dialect.separator, "skipinitialspace": dialect.has_blanks}
    reader = csv.reader(lines, strict=True, **style)
    try:
        for row in reader:
            cells = row or [""] * (width == 1 and number > 0)  # an empty line, or a missing cell
            if len(cells) not in (0, width):
                raise ValueError(
                    f"{called} is not a table separated by {dialect.separator!r}: the row that ends in line "
                    f"{reader.line_num} has {len(cells)} cells, expected {width} as in the first"
                )
            if cells and (number or not has_header):
                yield cells
            number += bool(cells)
    except csv.Error as error:
        raise ValueError(
            f"{called} is not a table in CSV: line {reader.line_num}: {error}: check its quotes"
        ) from None
