"""What is computed for a request: tables tested or encoded, and reports written.  Knows no HTTP.

Every function takes a model that has a `detector` (`serve.models.LoadedModel`, or `Stored` in another process) and
plain values, and keeps nothing: so a thread of this process or any other process computes the same.
"""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hld.answers.for_programs import plain_json
from hld.answers.reports import batch_report
from hld.apps.serve.limits import Limits, check_time
from hld.apps.serve.models import LoadedModel, Stored, trial_table
from hld.apps.serve.tables import read_columns, read_summary
from hld.detector.detector import judge_chunks

PIECE = 8192  # rows between two looks at the deadline


class Batch(NamedTuple):
    """A body, what it is, and the level at which it is tested."""

    body: bytes
    form: str
    alpha: float


@dataclass(frozen=True)
class Verdict:
    """The JSON of an answer, and the numbers in it that a service counts."""

    content: bytes
    pvalue: float
    reject: bool
    num_rows: int
    effect: float


def judge(
    model: LoadedModel | Stored, batch: Batch, is_full: bool, own: dict[str, str], limits: Limits
) -> Verdict:
    """The verdict on a batch, as `HLDResult.to_dict` has it, in words, and with fields of the service's own."""
    result = result_of(model, batch, limits)
    check_time()
    # columns are costly
    shown = result if is_full else replace(result, evidence=None, data_quality=None)
    answer = own | {"summary": str(result) if is_full else repr(result)} | shown.to_dict()
    # the effect is that of all tests, also where they are not shown
    answer |= {"effect": result.effect, "effect_interval": result.effect_interval}
    return Verdict(
        json_bytes(answer),
        result.pvalue,
        result.reject,
        result.num_samples,
        result.effect,
    )


def result_of(model: LoadedModel | Stored, batch: Batch, limits: Limits) -> Any:
    """The test of a table, or of a summary."""
    detector = model.detector
    if batch.form == "summary":
        return detector.test(read_summary(batch.body), batch.alpha)
    table = read_columns(batch.body, batch.form, detector.encoder_, limits)
    num_rows = len(next(iter(table.values())))
    if num_rows <= PIECE:  # in one piece, without sums of parts
        return detector.test(table, batch.alpha)
    return judge_chunks(detector, pieces_of(table, num_rows), batch.alpha)


def pieces_of(table: dict[str, Any], num_rows: int) -> Iterator[dict[str, Any]]:
    """The rows of a table some at a time, as long as the request has time."""
    for start in range(0, num_rows, PIECE):
        check_time()
        yield {name: cells[start : start + PIECE] for name, cells in table.items()}


def report(model: LoadedModel | Stored, batch: Batch, limits: Limits) -> str:
    """The page about a batch, which is tested once more."""
    return batch_report(
        model.detector,
        result_of(model, batch, limits),
        batch_name="the batch",
        model_name=model.name,
        digest=model.digest,
    )


def encode_table(
    model: LoadedModel | Stored, body: bytes, form: str, limits: Limits
) -> tuple[np.ndarray, np.ndarray, dict[str, list[str]]]:
    """The codes and marks (n, V) of a table, and how its columns differ from those of training."""
    encoder = model.detector.encoder_
    table = read_columns(body, form, encoder, limits)
    marks = np.zeros((len(next(iter(table.values()))), len(encoder.columns)), np.uint8)
    codes, _, absent, extra = encoder.encode_counting(table, marks)
    return codes, marks, {"absent": absent, "extra": extra}


def warm_up(model: LoadedModel | Stored, limits: Limits) -> None:
    """Test a table and write its report, so that no request need import or compile anything."""
    table, text = trial_table(model.detector), io.StringIO()
    csv.writer(text).writerows([list(table), *zip(*table.values(), strict=True)])
    batch = Batch(text.getvalue().encode(), "csv", 0.05)
    judge(model, batch, True, {}, limits)
    report(model, batch, limits)


def json_bytes(value: Any) -> bytes:
    """A value as JSON in ASCII: names of columns may hold halves of characters, which UTF-8 has not."""
    how: dict[str, Any] = {"allow_nan": False, "separators": (",", ":")}
    try:
        return json.dumps(value, default=plain_json, **how).encode()
    except ValueError:  # not a number, or infinite
        return json.dumps(plain_json(value), **how).encode()
