"""Bodies of requests as tables: CSV, JSON, Parquet and Arrow, from bytes in memory.

A body comes from a stranger.  Its rows are counted while they are read, a compressed one is measured before it is
decompressed, and Arrow's own data are checked in full before anything looks into them.  Nothing in a body is ever taken
for the name of a file.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

from hld.serve.limits import Limits
from hld.serve.refusals import Refusal
from hld.serve.request.arrow_tables import arrow_chunks, parquet_chunks
from hld.serve.request.json_tables import json_chunks
from hld.table_files.dialect import OTHER, SEPARATORS
from hld.table_files.files import read_text

BODY = "the body"
FORMS = {
    "text/csv": "csv",
    "application/json": "json",
    "application/vnd.apache.parquet": "parquet",
    "application/vnd.apache.arrow.stream": "arrow",
    "application/vnd.apache.arrow.file": "arrow",
}
HEAD = 2**22  # bytes in which the header of a CSV file must end
OPTIONS = re.compile(r" \([^()]*--[a-z][^()]*\)")
WORDS = {
    f", {OTHER}": " in UTF-8",
    "say that it has no header (--no-header), or give it one": "give it a header",
    "read it as such (--format parquet)": "send it as application/vnd.apache.parquet",
    "read it as such (--format json, or jsonl with one object on each line)": "send it as application/json",
    "an Arrow file: write it as Parquet": "an Arrow file: send it as application/vnd.apache.arrow.file",
}


def form_of(content_type: str) -> str:
    """Which form of table a media type is: "csv", "json", "parquet" or "arrow"."""
    media, _, parameters = content_type.partition(";")
    form = FORMS.get(media.strip().lower())
    if form is None:
        raise Refusal(
            415,
            "content-type",
            f"the body is {media.strip()[:80] or 'of no type'}, expected one of {', '.join(FORMS)}",
        )
    pairs = (one.partition("=") for one in parameters.lower().split(";"))
    charset = next((value.strip('" ') for name, _, value in pairs if name.strip() == "charset"), "")
    if form in ("csv", "json") and charset not in ("", "utf-8", "utf8", "us-ascii"):
        raise Refusal(415, "content-type", f"the body is in {charset[:40]}, expected utf-8")
    return form


def read_tables(body: bytes, form: str, encoder: Any, limits: Limits) -> Iterator[Any]:
    """The table of a body in chunks that an encoder reads; none of them is larger than the limits allow."""
    if not body:
        raise Refusal(400, "body", "the body is empty: expected a table")
    readers = {
        "csv": _csv_chunks,
        "json": json_chunks,
        "parquet": parquet_chunks,
        "arrow": arrow_chunks,
    }
    count = 0
    for chunk in readers[form](body, encoder, limits):
        count += num_rows(chunk)
        if count > limits.max_rows:
            raise Refusal(
                413,
                "body",
                f"the table has more than {limits.max_rows} rows, expected at most so many",
            )
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
    try:
        yield from read_text(io.BytesIO(body), BODY, encoder)
    except ValueError as error:
        raise ValueError(_for_clients(str(error))) from None


def _for_clients(message: str) -> str:
    """A message about a file in the words of HTTP: a client has no options of the command line."""
    for words, own in WORDS.items():
        message = message.replace(words, own)
    return OPTIONS.sub("", message)


def _check_header(body: Any, most: Any) -> None:
    """Refuse a header with too many columns before a reader makes an array for each of them."""
    text = body[:HEAD].decode("utf-8", "replace")
    lines = io.StringIO(text, newline="")
    try:
        next(csv.reader(lines), None)
    except csv.Error as error:
        raise Refusal(400, "body", f"the body is not a table in CSV: {error}") from None
    head = text[: lines.tell()]
    if max(head.count(separator) for separator in SEPARATORS) >= most:
        raise Refusal(
            413, "body", f"the header of the table is too long, expected at most {most} columns"
        )
