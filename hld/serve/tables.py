"""Bodies of requests as tables, CSV and JSON, in pieces, by Python's own parsers; and as summaries of batches.

A body comes from a stranger, so no parser of another language looks at it.  Its bytes, its lists and objects, its rows
and its cells are bounded, which bounds memory and time; a deadline is looked at between two pieces.  Cells of columns
that the model does not know are not looked at.

JSON is {"columns": {name: [cell, ...]}} or {"rows": [{name: cell, ...}, ...]}, with plain cells or null.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from hld.serve.limits import Limits
from hld.serve.pool import check_time
from hld.serve.refusals import Refusal
from hld.summaries.summary import BatchSummary
from hld.tables.column_names import distinct_names
from hld.tables.factored import object_cells, whole_cells
from hld.tables.files.byte_files import with_head
from hld.tables.files.dialect import COMMA, NA_VALUES, POINT, SEPARATORS, ReadOptions, find_dialect
from hld.tables.files.files import fitted_columns
from hld.tables.files.text_cells import as_fitted, is_of_numbers
from hld.tables.times import TIMES, seconds_of_text

FORMS = {"text/csv": "csv", "application/json": "json"}
SUMMARY_FORMS = {"application/json": "json"}
MOST_SUMMARIES, MOST_NUMBERS = 10_000, 1_000_000  # in a body
PIECE = 2**16  # cells that are converted at a time
MOST_ROWS_OF_PIECE = 2**12
SPARE_BRACKETS = 2**16  # lists and objects, and commas in texts, that any body may have
FIRST_LINE = re.compile(r"[\r\n]*([^\r\n]*)")
READ, MISSING = ReadOptions(), frozenset(NA_VALUES)
OPTIONS = re.compile(
    r" \([^()]*--[a-z][^()]*\)"
)  # of the command line, which a client does not have
WORDS = {
    ", or another encoding": " in UTF-8",
    "say that it has no header, or give it one": "give it a header",
    "read it as such": "send CSV as text/csv, or rows or columns as application/json",
    "write it as Parquet": "send CSV as text/csv, or rows or columns as application/json",
}


class Read(NamedTuple):
    """A table that is read row by row: names, rows of cells, and what makes a column of its cells and their kind."""

    names: tuple[str, ...]
    rows: Iterator[Any]
    column: Callable[[str, Any, Any], Any]


def form_of(content_type: str, forms: Mapping[str, str] = FORMS) -> str:
    """Which of some forms a media type is; `Refusal` for another type or charset."""
    media, _, parameters = content_type.partition(";")
    form = forms.get(media.strip().lower())
    if form is None:
        raise Refusal(
            415,
            "content-type",
            f"the body is {media.strip()[:80] or 'of no type'}, expected {' or '.join(forms)}: send it as one of these",
        )
    pairs = (one.partition("=") for one in parameters.lower().split(";"))
    charset = next((value.strip('" ') for name, _, value in pairs if name.strip() == "charset"), "")
    if charset not in ("", "utf-8", "utf8", "us-ascii"):
        raise Refusal(415, "content-type", f"the body is in {charset[:40]}, expected utf-8")
    return form


def read_tables(body: bytes, form: str, encoder: Any, limits: Limits) -> Iterator[dict[str, Any]]:
    """The table of a body in chunks of columns (n,) by name, none larger than the limits allow."""
    if not body:
        raise Refusal(400, "body", "the body is empty: expected a table")
    most = limits.most_columns(len(encoder.columns))
    read = (_csv_table if form == "csv" else _json_table)(body, encoder, limits, most)
    if len(read.names) > most:
        raise _too_many("columns", len(read.names), most)
    fitted = fitted_columns(encoder, read.names)
    known = {*encoder.table_names, *fitted} if encoder.by_name else {*read.names}
    step = max(1, min(MOST_ROWS_OF_PIECE, PIECE // len(read.names)))
    count, unreadable = 0, {}  # type: ignore[var-annotated]
    unread = [name for name in read.names if fitted.get(name) is not None]
    while block := list(itertools.islice(read.rows, step)):
        check_time()
        count += len(block)
        if count > limits.max_rows:
            raise _too_many("rows", f"more than {limits.max_rows}", limits.max_rows)
        if count * len(read.names) > limits.most_cells:
            raise _too_many("cells", f"more than {limits.most_cells}", limits.most_cells)
        nothing = np.full(len(block), None)
        chunk = {
            name: read.column(name, cells, fitted.get(name)) if name in known else nothing
            for name, cells in zip(read.names, zip(*block, strict=True), strict=True)
        }
        unread = [
            name for name in unread if not _has_readable(chunk[name], fitted[name], unreadable)
        ]
        yield chunk
    if count == 0:
        raise Refusal(400, "body", "the table has 0 rows: expected at least one")
    for name in unread:
        if (cell := unreadable.get(fitted[name].name)) is not None:
            kind = fitted[name].kind if fitted[name].kind in (*TIMES, "boolean") else "number"
            raise Refusal(
                400,
                "body",
                f"column {name!r} must have some {kind}, as in training, found {cell!r:.80}: send it as "
                "the model learned it, or leave it out",
            )


def parsed_json(body: bytes, most_brackets: int, most_values: int) -> Any:
    """The value of a body in JSON whose names differ within each object; `Refusal` where it is none."""
    for what, found, most in (
        ("lists and objects", body.count(b"[") + body.count(b"{"), most_brackets),
        ("commas", body.count(b","), most_values),
    ):
        if found > most:
            raise _too_many(what, found, most)
    try:
        return json.loads(
            _text(body), object_pairs_hook=distinct_names, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise Refusal(
            400, "body", "the body is nested too deeply: expected rows or columns of plain cells"
        ) from None
    except ValueError as error:
        raise Refusal(400, "body", f"the body is not JSON: {error}") from None


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refusal(400, "body", "the body is not text in UTF-8, expected CSV or JSON") from None


def _refuse_constant(text: str) -> None:
    """NaN and the infinities, which Python would read though JSON has none."""
    raise ValueError(f"{text} is no value of JSON; a missing cell is null")


def _too_many(what: str, found: Any, most: int) -> Refusal:
    return Refusal(
        413, "body", f"the table has {found} {what}, expected at most {most}: send it in parts"
    )


def _csv_table(body: bytes, encoder: Any, limits: Limits, most: int) -> Read:
    """CSV, each column to be read as what it was fitted to."""
    header = FIRST_LINE.match(_text(body))[1]  # type: ignore[index]
    if max(map(header.count, SEPARATORS)) >= most:
        raise _too_many("columns", f"more than {most}", most)
    try:
        dialect = find_dialect(with_head(io.BytesIO(body), READ)[0], READ, "the body")
    except ValueError as error:
        message = OPTIONS.sub("", str(error))
        for words, own in WORDS.items():
            message = message.replace(words, own)
        raise Refusal(400, "body", message) from None
    names, decimal = dialect.names, dialect.decimal
    if dialect.separator != ",":  # the first number with a comma may come late
        fitted = fitted_columns(encoder, names)
        places = [v for v, name in enumerate(names) if is_of_numbers(fitted.get(name))]
        rows = itertools.islice(_csv_rows(body, dialect), limits.max_rows)
        decimal = _decimal_mark((row[v].strip() for row in rows for v in places), decimal)
    return Read(
        names,
        _csv_rows(body, dialect),
        lambda name, cells, fitted: _column_of_texts(cells, fitted, decimal),
    )


def _csv_rows(body: bytes, dialect: Any) -> Iterator[list[str]]:
    """The rows below the header, without repeated headers; an empty line is no row, or one of one cell."""
    width = len(dialect.names)
    reader = csv.reader(
        io.TextIOWrapper(io.BytesIO(body), "utf-8-sig", newline=""),
        delimiter=dialect.separator,
        skipinitialspace=dialect.has_blanks,
        strict=True,
    )
    try:
        header = next(filter(None, reader))
        for row in reader:
            cells = row or [""] * (width == 1)
            if len(cells) not in (0, width):
                raise Refusal(
                    400,
                    "body",
                    f"the body is not a table separated by {dialect.separator!r}: the row that ends in line "
                    f"{reader.line_num} has {len(cells)} cells, expected {width} as in the first",
                )
            if cells and cells != header:
                yield cells
    except csv.Error as error:
        raise Refusal(
            400, "body", f"the body is not a table in CSV: line {reader.line_num}: {error}"
        ) from None


def _decimal_mark(cells: Iterable[str], otherwise: str) -> str:
    """The decimal mark of text cells in columns of numbers: a point where one has it, else a comma where one has it."""
    mark = otherwise
    for cell in cells:
        if POINT.fullmatch(cell):
            return "."
        if COMMA.fullmatch(cell):
            mark = ","
    return mark


class _Texts:
    """Text cells (n,) that are numbered as those of a data frame are."""

    def __init__(self, cells: tuple[str, ...]) -> None:
        self.cells = cells

    def factorize(self) -> tuple[np.ndarray, list[str]]:
        """Numbers of the cells (n,), and the distinct cells."""
        known: dict[str, int] = {}
        codes = [known.setdefault(cell, len(known)) for cell in self.cells]
        return np.array(codes, dtype=np.int32), list(known)


def _column_of_texts(cells: tuple[str, ...], fitted: Any, decimal: str) -> Any:
    """Text cells (n,) as a column of what they were fitted to; dates stay texts, which the encoder reads."""
    if fitted is None or fitted.kind in TIMES:
        return object_cells([None if cell in MISSING else cell for cell in cells])
    return as_fitted(_Texts(cells), fitted, decimal, MISSING)


def _json_table(body: bytes, encoder: Any, limits: Limits, most: int) -> Read:
    """JSON by rows or by columns; a cell that a row does not name is missing."""
    value = parsed_json(
        body, limits.max_rows + most + SPARE_BRACKETS, limits.most_cells + SPARE_BRACKETS
    )
    key, table = "", None  # type: str, Any
    if isinstance(value, dict) and len(value) == 1:
        ((key, table),) = value.items()
    if key == "columns":
        lists = [*table.values()] if isinstance(table, dict) else []
        if not lists or not all(isinstance(cells, list) for cells in lists):
            raise Refusal(
                400, key, "`columns` must be an object of lists, one for each column of the table"
            )
        if len({*map(len, lists)}) > 1:
            raise Refusal(
                400, key, "`columns` has lists of different lengths, expected as many cells in each"
            )
        return Read(tuple(table), zip(*lists, strict=True), _column_of_json)
    if key != "rows":
        raise Refusal(
            400,
            "body",
            'the body must be a JSON object {"columns": {name: [cell, ...]}} or {"rows": [{name: cell, ...}]}',
        )
    if not isinstance(table, list) or not all(isinstance(row, dict) for row in table):
        raise Refusal(400, key, "`rows` must be a list of objects, one for each row of the table")
    names = tuple(dict.fromkeys(itertools.chain.from_iterable(table)))
    if not names:
        raise Refusal(
            400, "body", "the table has 0 cells: expected at least one row, with cells by name"
        )
    return Read(names, (tuple(map(row.get, names)) for row in table), _column_of_json)


def _column_of_json(name: str, cells: tuple[Any, ...], fitted: Any) -> np.ndarray:
    """Cells of JSON (n,) as a column of objects."""
    if any(isinstance(cell, (list, dict)) for cell in cells):
        raise Refusal(
            400, "body", f"column {name!r} holds nested values, expected one value in each cell"
        )
    return object_cells(cells)


def _has_readable(column: Any, fitted: Any, unreadable: dict[str, Any]) -> bool:
    """Whether some cell of a column (n,) is of the type of training; the first that is not is noted by the name."""
    for cell in whole_cells(column).tolist():
        if cell is None or cell == "" or cell != cell:
            continue
        if fitted.kind in TIMES:
            is_read = isinstance(cell, str) and seconds_of_text(cell, fitted.kind) is not None
        else:
            is_read = fitted.kind == "categorical" or not isinstance(cell, str)
        if is_read:
            return True
        unreadable.setdefault(fitted.name, cell)
    return False


def read_summary(body: bytes) -> BatchSummary:
    """The summary in a body, or the sum of those in a JSON array; `Refusal` if it is none."""
    try:
        found = parsed_json(body, SPARE_BRACKETS + MOST_SUMMARIES, MOST_NUMBERS)
        found = found[::-1] if isinstance(found, list) else [found]
        if not 1 <= len(found) <= MOST_SUMMARIES:
            raise ValueError(
                f"the array has {len(found)} summaries, expected 1 to {MOST_SUMMARIES}"
            )
        total: Any = 0
        while found:  # each is forgotten before the next is read
            check_time()
            total += BatchSummary.from_json(json.dumps(found.pop()))
        return total
    except (ValueError, TypeError) as error:
        raise Refusal(
            400, "body", f"the body is not a summary of a batch, or a JSON array of them: {error}"
        ) from None
