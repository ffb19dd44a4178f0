"""Bodies of requests as tables, CSV and JSON, by Python's own parsers; and as summaries of batches.

A body comes from a stranger, so no parser of another language looks at it.  Its bytes, its lists and objects, its rows
and its cells are bounded, which bounds memory and time; a deadline is looked at between two columns.  Cells of columns
that the model does not know are not looked at.

JSON is {"columns": {name: [cell, ...]}} or {"rows": [{name: cell, ...}, ...]}, with plain cells or null.
"""

import contextlib
import io
import itertools
import json
import re
from functools import partial
from typing import Any

import numpy as np

from hld.apps.serve.limits import SPARE_COLUMNS, Limits, Refusal, check_time
from hld.tables.factored import Factored, object_cells, whole_cells
from hld.tables.files.dialect import NA_VALUES, SEPARATORS, SNIFFED, ReadOptions, find_dialect
from hld.tables.files.files import fitted_columns
from hld.tables.files.text_cells import as_fitted, text_rows
from hld.tables.times import TIMES, as_seconds
from hld.testing.summaries.summary import BatchSummary
from pcircuit.io.archive import distinct_names

MOST_SUMMARIES, MOST_NUMBERS = 10_000, 1_000_000  # in a body
SPARE_BRACKETS = 2**16  # lists and objects, and commas in texts, that any body may have
FIRST_LINE = re.compile(r"[\r\n]*([^\r\n]*)")
# only Python reads 1_000 and digits of other scripts as numbers
PLAIN_LINES = re.compile(r"[\n!-^`-~]+")
READ, MISSING = ReadOptions(), frozenset(NA_VALUES)
OPTIONS = re.compile(
    r" \([^()]*--[a-z][^()]*\)"
)  # of the command line, which a client does not have


def read_columns(body: bytes, form: str, encoder: Any, limits: Limits) -> dict[str, Any]:
    """The table of a body as columns (n,) by name, not larger than the limits allow."""
    if not body:
        raise ValueError("the body is empty: expected a table")
    check_time()
    most = 2 * len(encoder.columns) + SPARE_COLUMNS
    read, columns = (_csv_columns if form == "csv" else _json_columns)(body, encoder, limits, most)
    fitted = fitted_columns(encoder, tuple(columns))
    known = {*encoder.table_names, *fitted} if encoder.by_name else {*columns}
    table = {}
    for name, cells in columns.items():
        check_time()
        if name in known:
            table[name] = read(name, cells, fitted.get(name))
            _check_readable(name, table[name], fitted.get(name))
        else:
            table[name] = np.full(len(cells), None)
    return table


def _bounded(num_rows: int, num_columns: int, limits: Limits, most: int) -> None:
    """Refuse a table of more rows, columns or cells than are allowed, or of none."""
    for what, found, allowed in (
        ("columns", num_columns, most),
        ("rows", num_rows, limits.max_rows),
        ("cells", num_rows * num_columns, limits.most_cells),
    ):
        if found > allowed:
            raise _too_many(what, f"more than {allowed}", allowed)
    if num_rows == 0:
        raise ValueError("the table has 0 rows: expected at least one")


def _csv_columns(body: bytes, encoder: Any, limits: Limits, most: int) -> tuple[Any, ...]:
    """Columns of texts, and what makes of one what it was fitted to."""
    header = FIRST_LINE.match(_text(body))[1]  # type: ignore[index]
    _bounded(1, 1 + max(map(header.count, SEPARATORS)), limits, most)
    try:
        dialect = find_dialect(body[:SNIFFED], READ, "the body", partial(fitted_columns, encoder))
    except ValueError as error:
        text = OPTIONS.sub("", str(error))
        raise ValueError(
            f"{text}; send CSV with a header and in UTF-8, or JSON as application/json"
        ) from None
    names = dialect.names
    lines = io.TextIOWrapper(io.BytesIO(body), "utf-8-sig", newline="")
    most_rows = min(limits.max_rows, limits.most_cells // len(names))
    rows = list(itertools.islice(text_rows(lines, dialect, "the body"), most_rows + 1))
    _bounded(len(rows), len(names), limits, most)

    def read(name: str, cells: tuple[str, ...], fitted: Any) -> Any:
        lines = "\n".join(cells)
        is_plain = PLAIN_LINES.fullmatch(lines) and lines.count("\n") == len(cells) - 1
        if is_plain and fitted is not None and fitted.kind == "continuous":  # as most columns are
            with contextlib.suppress(ValueError):
                numbers = lines.replace(dialect.decimal, ".").split("\n")
                return np.array([float(one or "nan") for one in numbers])
        return as_fitted(Factored.of(cells), fitted, dialect.decimal, MISSING)

    return read, dict(zip(names, zip(*rows, strict=True), strict=True))


def _json_columns(body: bytes, encoder: Any, limits: Limits, most: int) -> tuple[Any, ...]:
    """Columns of JSON, given by rows or by columns; a cell that a row does not name is missing."""
    value = parsed_json(
        body, limits.max_rows + most + SPARE_BRACKETS, limits.most_cells + SPARE_BRACKETS
    )
    key, table = next(iter(value.items())) if isinstance(value, dict) and value else ("", None)
    if key not in ("columns", "rows") or len(value) > 1:
        raise ValueError(
            'the body must be a JSON object {"columns": {name: [cell, ...]}} or {"rows": [{name: cell, ...}]}'
        )
    if key == "columns":
        lists = [*table.values()] if isinstance(table, dict) else []
        lengths = {len(one) if isinstance(one, list) else -1 for one in lists}
        if len(lengths) != 1 or -1 in lengths:
            raise ValueError("`columns` must be an object of lists of one length, at least one")
        _bounded(len(lists[0]), len(lists), limits, most)
        return _column_of_json, table
    if not isinstance(table, list) or not all(isinstance(row, dict) for row in table):
        raise ValueError("`rows` must be a list of objects, one for each row of the table")
    names = tuple(dict.fromkeys(itertools.chain.from_iterable(table)))
    if not names:
        raise ValueError("the table has 0 cells: expected at least one row, with cells by name")
    _bounded(len(table), len(names), limits, most)
    return _column_of_json, {name: [row.get(name) for row in table] for name in names}


def _column_of_json(name: str, cells: list[Any], fitted: Any) -> np.ndarray:
    """Cells of JSON (n,) as a column of objects."""
    if any(isinstance(cell, (list, dict)) for cell in cells):
        raise ValueError(f"column {name!r} holds nested values, expected one value in each cell")
    is_of_numbers = fitted is not None and fitted.kind == "continuous"
    if is_of_numbers and {*map(type, cells)} <= {int, float, type(None)}:
        with contextlib.suppress(OverflowError):
            return np.array(cells, dtype=np.float64)
    return object_cells(cells)


def _check_readable(name: str, column: Any, fitted: Any) -> None:
    """Refuse a column (n,) with cells of which none is of the type of training: that is no shift."""
    is_of_numbers = getattr(column, "dtype", None) == np.float64
    if fitted is None or fitted.kind == "categorical" or is_of_numbers:
        return
    cells = [one for one in whole_cells(column).tolist() if one not in (None, "") and one == one]
    if fitted.kind in TIMES:
        is_read = ~as_seconds(Factored.of(cells), fitted.kind)[1]
    else:
        is_read = np.array([not isinstance(cell, str) for cell in cells], dtype=bool)
    if cells and not is_read.any():
        kind = fitted.kind if fitted.kind in (*TIMES, "boolean") else "number"
        raise ValueError(
            f"column {name!r} must have some {kind}, as in training, found {cells[0]!r:.80}: send it as "
            "the model learned it, or leave it out"
        )


def parsed_json(body: bytes, most_brackets: int, most_values: int) -> Any:
    """The value of a body in JSON whose names differ within each object; ValueError where it is none."""
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
        raise ValueError(
            "the body is nested too deeply: expected rows or columns of plain cells"
        ) from None
    except json.JSONDecodeError as error:
        raise ValueError(f"the body is not JSON: {error}") from None


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("the body is not text in UTF-8, expected CSV or JSON") from None


def _refuse_constant(text: str) -> None:
    """NaN and the infinities, which Python would read though JSON has none."""
    raise ValueError(f"{text} is no value of JSON; a missing cell is null")


def _too_many(what: str, found: Any, most: int) -> Refusal:
    return Refusal(
        413, "body", f"the table has {found} {what}, expected at most {most}: send it in parts"
    )


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
