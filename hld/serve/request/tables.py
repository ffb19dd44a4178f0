"""Bodies of requests as tables: CSV, JSON, Parquet and Arrow, from bytes in memory.

A body comes from a stranger.  Its rows are counted while they are read, a compressed one is measured before it is
decompressed, and Arrow's own data are checked in full before anything looks into them.  Nothing in a body is ever taken
for the name of a file.
"""
from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from hld.serve.limits import Limits
from hld.serve.refusals import Refusal
from hld.serve.request.arrow_tables import arrow_chunks, parquet_chunks
from hld.table_files.dialect import SEPARATORS
from hld.table_files.files import read_text
from hld.table_files.row_chunks import OddCells
from hld.table_files.text_cells import as_fitted

BODY = "the body"
FORMS = {"text/csv": "csv", "application/json": "json", "application/vnd.apache.parquet": "parquet",
         "application/vnd.apache.arrow.stream": "arrow", "application/vnd.apache.arrow.file": "arrow"}
HEAD = 2 ** 22  # bytes in which the header of a CSV file must end


def form_of(content_type: str) -> str:
    """Which form of table a media type is: "csv", "json", "parquet" or "arrow".

    Examples
    --------
    >>> form_of("text/csv; charset=utf-8")
    'csv'
    """
    media, _, parameters = content_type.partition(";")
    form = FORMS.get(media.strip().lower())
    if form is None:
        raise Refusal(415, "content-type", f"the body is {media.strip()[:80] or 'of no type'}, expected one of "
                      f"{', '.join(FORMS)}")
    charset = parameters.strip().lower().partition("charset=")[2].strip('" ')
    if form in ("csv", "json") and charset not in ("", "utf-8", "utf8", "us-ascii"):
        raise Refusal(415, "content-type", f"the body is in {charset[:40]}, expected utf-8")
    return form


def read_tables(body: bytes, form: str, encoder: Any, limits: Limits) -> Iterator[Any]:
    """The table of a body in chunks that an encoder reads; none of them is larger than the limits allow.

    Parameters
    ----------
    body : bytes
    form : str
        See `form_of`.
    encoder : hld.TableEncoder
        Encoder of the model that the table is for.
    limits : Limits

    Raises
    ------
    Refusal, ValueError, TypeError
        If the body is not a table, or too large a one.
    """
    if not body:
        raise Refusal(400, "body", "the body is empty: expected a table")
    readers = {"csv": _csv_chunks, "json": _json_chunks, "parquet": parquet_chunks, "arrow": arrow_chunks}
    count = 0
    for chunk in readers[form](body, encoder, limits):
        count += num_rows(chunk)
        if count > limits.max_rows:
            raise Refusal(413, "body", f"the table has more than {limits.max_rows} rows, expected at most so many")
        yield chunk
    if count == 0:
        raise Refusal(400, "body", "the table has 0 rows: expected at least one")


def num_rows(chunk: Any) -> int:
    """Rows of a chunk."""
    if hasattr(chunk, "num_rows"):
        return chunk.num_rows
    return len(next(iter(chunk.values()))) if chunk else 0


def _csv_chunks(body: Any, encoder: Any, limits: Any) -> Iterator[Any]:
    """CSV, each column read as what it was fitted to, as text where some cell is not of that type."""
    _check_header(body, limits.most_columns(len(encoder.columns)))
    try:  # the whole of it, as a cell of another type may come last; in memory it is of the size of the body
        yield from list(read_text(io.BytesIO(body), BODY, encoder))
    except OddCells:
        yield from read_text(io.BytesIO(body), BODY, encoder, as_text=True)


def _check_header(body: Any, most: Any) -> None:
    """Refuse a header with too many columns before a reader makes an array for each of them."""
    text = body[:HEAD].decode("utf-8", "replace")
    lines = io.StringIO(text, newline="")
    try:
        next(csv.reader(lines), None)
    except csv.Error as error:
        raise Refusal(400, "body", f"the body is not a table in CSV: {error}") from None
    head = text[:lines.tell()]
    if max(head.count(separator) for separator in SEPARATORS) >= most:
        raise Refusal(413, "body", f"the header of the table is too long, expected at most {most} columns")


def _json_chunks(body: Any, encoder: Any, limits: Any) -> Iterator[Any]:
    """JSON: {"columns": {name: [cell, ...]}} or {"rows": [{name: cell, ...}, ...]}, cells plain or null."""
    try:
        value = json.loads(body, object_pairs_hook=_distinct, parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise Refusal(400, "body", "the body is not text in UTF-8: expected JSON") from None
    except RecursionError:
        raise Refusal(400, "body", "the body is nested too deeply: expected rows or columns of plain cells") from None
    except ValueError as error:
        raise Refusal(400, "body", f"the body is not JSON: {error}") from None
    if not isinstance(value, dict) or len(value) != 1 or not {"rows", "columns"} & set(value):
        raise Refusal(400, "body", 'the body must be a JSON object {"columns": {name: [cell, ...]}} or '
                      '{"rows": [{name: cell, ...}]}')
    columns = _columns(value["columns"]) if "columns" in value else _columns_of_rows(value["rows"], limits)
    if len(columns) > limits.most_columns(len(encoder.columns)):
        raise Refusal(413, "body", f"the table has {len(columns)} columns, expected at most "
                      f"{limits.most_columns(len(encoder.columns))}")
    kinds = {column.name: column for column in encoder.columns}
    yield {name: _fitted_cells(name, cells, kinds.get(name)) for name, cells in columns.items()}


def _columns(value: Any) -> dict[str, Any]:
    """Columns of the form {name: [cell, ...]}, checked."""
    if not isinstance(value, dict) or not value or not all(isinstance(cells, list) for cells in value.values()):
        raise Refusal(400, "columns", "`columns` must be an object of lists, one for each column of the table")
    if len({len(cells) for cells in value.values()}) > 1:
        raise Refusal(400, "columns", "`columns` has lists of different lengths, expected as many cells in each")
    return value


def _columns_of_rows(rows: Any, limits: Any) -> dict[str, Any]:
    """Columns of the form [{name: cell, ...}, ...]; a cell that a row does not name is missing."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise Refusal(400, "rows", "`rows` must be a list of objects, one for each row of the table")
    if len(rows) > limits.max_rows:
        raise Refusal(413, "body", f"the table has more than {limits.max_rows} rows, expected at most so many")
    names = dict.fromkeys(name for row in rows for name in row)
    if len(names) * len(rows) > limits.max_bytes:  # rows of few cells, each in a column of its own
        raise Refusal(413, "body", f"the table has {len(names)} columns and {len(rows)} rows, which are more cells "
                      "than the body has bytes: send rows with the same columns")
    return {name: [row.get(name) for row in rows] for name in names}


def _fitted_cells(name: Any, cells: Any, column: Any) -> np.ndarray:
    """A column of JSON cells (N,) as objects; texts of a column of dates as dates."""
    nested = next((cell for cell in cells if isinstance(cell, (list, dict))), None)
    if nested is not None:
        raise Refusal(400, "body", f"column {name!r} holds nested values, expected one value in each cell")
    if column is not None and column.kind == "date" and all(cell is None or isinstance(cell, str) for cell in cells):
        import pyarrow
        return as_fitted(pyarrow.array(cells, pyarrow.string()), column, ".")
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def _distinct(pairs: Any) -> dict[str, Any]:
    """An object of JSON whose names differ."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("an object has the same name twice")
    return value


def _refuse_constant(text: Any) -> None:
    """NaN and the infinities, which Python would read though JSON has none."""
    raise ValueError(f"{text} is no value of JSON; a missing cell is null")
