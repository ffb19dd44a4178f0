"""Tables in JSON: {"columns": {name: [cell, ...]}} or {"rows": [{name: cell, ...}, ...]}, cells plain or null.

A few megabytes of JSON can stand for many millions of values, and a parser makes an object of each before anybody can
count them.  So the marks of the text are counted first, without parsing it: how many lists and objects begin, and how
many commas there are between two brackets, which is one less than the cells of a list.  Numbers of very many digits are
refused, too.  Then the table is parsed column by column or row by row, as the parser keeps the interpreter's lock until
it is done and others must be answered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from hld.serve.limits import Limits
from hld.serve.refusals import Refusal
from hld.serve.request.known_columns import is_needed
from hld.table_files.text_cells import as_fitted
from hld.tables.column_names import RepeatedName, distinct_names

STEP = 2**18  # bytes whose marks are counted at a time
SPARE_BRACKETS = 2**16  # lists and objects that any body may have
MOST_DIGITS = 1000  # of a number: reading one takes time that grows with their square
BLANKS = re.compile(r"[ \t\n\r]*")
COMMA, OPENING, CLOSING, DIGIT = 1, 2, 3, 4
KINDS = np.zeros(256, dtype=np.uint8)
KINDS[list(b",")], KINDS[list(b"[{")], KINDS[list(b"]}")], KINDS[list(b"0123456789")] = (
    COMMA,
    OPENING,
    CLOSING,
    DIGIT,
)
ESCAPES = b"\\ud", b"\\uD"  # begin half a character


def json_chunks(body: bytes, encoder: Any, limits: Limits) -> Iterator[Any]:
    """The table of a body in JSON, as one chunk of columns (N,) of objects by name."""
    most = limits.most_columns(len(encoder.columns))
    check_marks(body, limits.max_rows + most, max(limits.max_rows, most))
    try:
        columns = _table(_Reader(body.decode("utf-8-sig")), most, limits)
    except UnicodeDecodeError:
        raise Refusal(400, "body", "the body is not text in UTF-8: expected JSON") from None
    except RecursionError:
        raise Refusal(
            400, "body", "the body is nested too deeply: expected rows or columns of plain cells"
        ) from None
    except ValueError as error:
        raise Refusal(400, "body", f"the body is not JSON: {error}") from None
    if any(mark in body for mark in ESCAPES):
        check_text(columns)
    kinds = {column.name: column for column in encoder.columns}
    yield {
        name: _fitted_cells(name, cells, kinds.get(name), is_needed(encoder, name))
        for name, cells in columns.items()
    }


def check_marks(body: bytes, most_brackets: int, longest: int) -> None:
    """Refuse JSON with more values than it may have, by its brackets and commas alone."""
    brackets, items, digits = marks(body)
    if digits > MOST_DIGITS:
        raise Refusal(
            400, "body", f"the body has a number of {digits} digits, expected at most {MOST_DIGITS}"
        )
    if items > longest:
        raise Refusal(
            413,
            "body",
            f"the body has a list or object of {items} values, expected at most {longest}: send "
            "it in parts",
        )
    if brackets > most_brackets + SPARE_BRACKETS:
        raise Refusal(
            413,
            "body",
            f"the body has {brackets} lists and objects, expected at most "
            f"{most_brackets + SPARE_BRACKETS}: send it in parts, with plain cells",
        )


def marks(body: bytes) -> tuple[int, int, int]:
    """Lists and objects of a JSON text, items of its longest stretch without bracket, digits of its longest number."""
    if b"\\" in body:  # quotes that end no text
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    brackets, items, digits, in_text = 0, (0, 0), (0, 0), np.uint8(0)
    for start in range(0, len(body), STEP):
        part = np.frombuffer(body, np.uint8, min(STEP, len(body) - start), start)
        texts = np.bitwise_xor.accumulate(
            np.concatenate([[in_text], part == ord('"')]).astype(np.uint8)
        )
        in_text, kinds = texts[-1], KINDS[part[texts[1:] == 0]]
        brackets += int(np.count_nonzero(kinds == OPENING))
        items = _longest(kinds == COMMA, (kinds == OPENING) | (kinds == CLOSING), *items)
        digits = _longest(kinds == DIGIT, kinds != DIGIT, *digits)
    return brackets, max(items) + 1, max(digits)


def _longest(counted: np.ndarray, ends: np.ndarray, longest: int, begun: int) -> tuple[int, int]:
    """The most that is counted in a stretch between two ends, and the count in the last one, which has only begun."""
    total, at_ends = int(np.count_nonzero(counted)), np.cumsum(counted)[ends]
    if not len(at_ends):
        return longest, begun + total
    return max(longest, int(np.diff(at_ends, prepend=-begun).max())), total - int(at_ends[-1])


def check_text(value: Any) -> None:
    """Refuse halves of characters (surrogates), which JSON can write and no answer can hold."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, str) and not one.isascii():
            try:
                one.encode()
            except UnicodeEncodeError:
                raise Refusal(
                    400,
                    "body",
                    f"the body has the text {ascii(one)[:80]} with half a character (\\ud800 to "
                    "\\udfff alone), expected Unicode: write the character as a pair, or as it is",
                ) from None


def _table(reader: _Reader, most: int, limits: Limits) -> dict[str, Any]:
    """Cells by name."""
    wanted = Refusal(
        400,
        "body",
        'the body must be a JSON object {"columns": {name: [cell, ...]}} or '
        '{"rows": [{name: cell, ...}]}',
    )
    if reader.next() != "{":
        if reader.next() == "":
            reader.fail("Expecting value")
        raise wanted
    columns = None
    for _ in reader.items("{", "}"):
        key = reader.name()
        if columns is not None or key not in ("columns", "rows"):
            raise wanted
        columns = (
            _columns(reader, most, limits)
            if key == "columns"
            else _columns_of_rows(reader, most, limits)
        )
    if reader.next():
        reader.fail("Extra data")
    if columns is None:
        raise wanted
    return columns


def _columns(reader: _Reader, most: int, limits: Limits) -> dict[str, Any]:
    """Columns of the form {name: [cell, ...]}, checked."""
    wanted = Refusal(
        400, "columns", "`columns` must be an object of lists, one for each column of the table"
    )
    if reader.next() != "{":
        raise wanted
    columns: dict[str, Any] = {}
    for count, _ in enumerate(reader.items("{", "}")):
        name = reader.name()
        if reader.next() != "[":
            raise wanted
        columns[name] = reader.value()
        if len(columns) == count:
            raise RepeatedName(name)
        _check_size(len(columns[name]), len(columns), most, limits)
    if not columns:
        raise wanted
    if len({len(cells) for cells in columns.values()}) > 1:
        raise Refusal(
            400,
            "columns",
            "`columns` has lists of different lengths, expected as many cells in each",
        )
    return columns


def _columns_of_rows(reader: _Reader, most: int, limits: Limits) -> dict[str, Any]:
    """Columns of the form [{name: cell, ...}, ...]; a cell that a row does not name is missing."""
    wanted = Refusal(400, "rows", "`rows` must be a list of objects, one for each row of the table")
    if reader.next() != "[":
        raise wanted
    rows: list[dict[str, Any]] = []
    for _ in reader.items("[", "]"):
        if reader.next() != "{":
            raise wanted
        rows.append(reader.value())
    names = dict.fromkeys(name for row in rows for name in row)
    if not names:
        found = f"{len(rows)} rows without any cell" if rows else "0 rows"
        raise Refusal(
            400, "body", f"the table has {found}: expected at least one row, with cells by name"
        )
    _check_size(len(rows), len(names), most, limits)
    if len(names) * len(rows) > limits.max_bytes:  # rows of few cells, each in a column of its own
        raise Refusal(
            413,
            "body",
            f"the table has {len(names)} columns and {len(rows)} rows, which are more cells "
            "than the body has bytes: send rows with the same columns",
        )
    return {name: [row.get(name) for row in rows] for name in names}


def _check_size(num_rows: int, num_columns: int, most: int, limits: Limits) -> None:
    """Refuse too many rows or columns."""
    if num_rows > limits.max_rows:
        raise Refusal(
            413, "body", f"the table has {num_rows} rows, expected at most {limits.max_rows}"
        )
    if num_columns > most:
        raise Refusal(
            413, "body", f"the table has at least {num_columns} columns, expected at most {most}"
        )


def _fitted_cells(name: Any, cells: Any, column: Any, needed: bool) -> np.ndarray:
    """A column of JSON cells (N,) as objects; texts of a column of dates as dates."""
    nested = next((cell for cell in cells if isinstance(cell, (list, dict))), None)
    if nested is not None and not needed:
        return np.full(len(cells), None, dtype=object)
    if nested is not None:
        raise Refusal(
            400, "body", f"column {name!r} holds nested values, expected one value in each cell"
        )
    if (
        column is not None
        and column.kind == "date"
        and all(cell is None or isinstance(cell, str) for cell in cells)
    ):
        import pyarrow

        return as_fitted(pyarrow.array(cells, pyarrow.string()), column, ".")
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


class _Reader:
    """JSON that is parsed piece by piece."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self._parse = json.JSONDecoder(
            object_pairs_hook=distinct_names, parse_constant=_refuse_constant
        ).raw_decode

    def next(self) -> str:
        """The next character that is no blank, "" at the end."""
        if self.text[self.at : self.at + 1] in " \t\n\r":
            blanks = BLANKS.match(self.text, self.at)
            self.at = self.at if blanks is None else blanks.end()
        return self.text[self.at : self.at + 1]

    def value(self) -> Any:
        """The next value, whole."""
        self.next()
        value, self.at = self._parse(self.text, self.at)
        return value

    def name(self) -> str:
        """The next name of an object, and over the colon."""
        if self.next() != '"':
            self.fail("Expecting property name enclosed in double quotes")
        name: str = self.value()
        self._take(":")
        return name

    def items(self, opening: str, closing: str) -> Iterator[None]:
        """Before each item of a list or an object."""
        self._take(opening)
        if self.next() == closing:
            self.at += 1
            return
        while True:
            yield
            if self._take("," + closing) == closing:
                return

    def fail(self, what: str) -> None:
        """Raise what is wrong here."""
        raise json.JSONDecodeError(what, self.text, self.at)

    def _take(self, expected: str) -> str:
        """Over one of some characters."""
        found = self.next()
        if not found or found not in expected:
            self.fail(f"Expecting {' or '.join(map(repr, expected))}")
        self.at += 1
        return found


def _refuse_constant(text: Any) -> None:
    """NaN and the infinities, which Python would read though JSON has none."""
    raise ValueError(f"{text} is no value of JSON; a missing cell is null")
