"""Bodies that are summaries of batches: one as bytes, one or many as JSON; many are added up."""

from __future__ import annotations

import json

from hld.serve.refusals import Refusal
from hld.serve.request.json_tables import ESCAPES, check_marks, check_text
from hld.summaries.summary import BatchSummary
from hld.tables.column_names import distinct_names

FORMS = {"application/json": "json", "application/octet-stream": "bytes"}
MOST = 10_000  # summaries in a body
MOST_BRACKETS, MOST_NUMBERS = (
    1_000_000,
    1_000_000,
)  # of a body in JSON: lists and objects, and numbers of a list


def summary_form(content_type: str) -> str:
    """Which form of summary a media type is: "json" or "bytes"."""
    form = FORMS.get(content_type.partition(";")[0].strip().lower())
    if form is None:
        raise Refusal(
            415,
            "content-type",
            f"the body is {content_type[:80] or 'of no type'}, expected one of {', '.join(FORMS)}",
        )
    return form


def read_summary(body: bytes, form: str) -> BatchSummary:
    """The summary in a body, or the sum of those in a JSON array; `Refusal` if it is none."""
    try:
        if form == "bytes":
            return BatchSummary.from_bytes(body)
        check_marks(body, MOST_BRACKETS, MOST_NUMBERS)
        text = _text(body)
        value = json.loads(text, object_pairs_hook=distinct_names)
        if any(mark in body for mark in ESCAPES):
            check_text(value)
        if not isinstance(value, list):
            return BatchSummary.from_json(text)
        if not 1 <= len(value) <= MOST:
            raise ValueError(f"the array has {len(value)} summaries, expected 1 to {MOST}")
        first, *others = (BatchSummary.from_json(json.dumps(one)) for one in value)
        return sum(others, start=first)
    except (ValueError, TypeError, RecursionError) as error:
        text = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Refusal(
            400, "body", f"the body is not a summary of a batch, or a JSON array of them: {text}"
        ) from None


def _text(body: bytes) -> str:
    """The text of a body in JSON."""
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not text in UTF-8") from None
