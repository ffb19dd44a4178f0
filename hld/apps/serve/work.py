"""What the threads do for a request: tables tested or observed, and reports written.  Knows no HTTP."""

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hld.answers.for_programs import plain_json
from hld.answers.reports import batch_report
from hld.apps.serve.limits import Limits, Refusal
from hld.apps.serve.models import LoadedModel, trial_table
from hld.apps.serve.pool import check_time
from hld.apps.serve.tables import read_columns, read_summary
from hld.detector.chunks import judge_chunks

DETAILS = ("full", "verdict")
PIECE = 8192  # rows between two looks at the deadline


def judge_table(
    model: LoadedModel, body: bytes, form: str, alpha: float, detail: str, limits: Limits
) -> dict[str, Any]:
    """The verdict on a table, as `HLDResult.to_dict` has it, and in words."""
    detector = model.detector
    table = read_columns(body, form, detector.encoder_, limits)
    num_rows = len(next(iter(table.values())))
    if num_rows <= PIECE:  # in one piece, without sums of parts
        return answer_of(model, detector.test(table, alpha), detail)
    return answer_of(model, judge_chunks(detector, pieces_of(table, num_rows), alpha), detail)


def pieces_of(table: dict[str, Any], num_rows: int) -> Iterator[dict[str, Any]]:
    """The rows of a table some at a time, as long as the request has time."""
    for start in range(0, num_rows, PIECE):
        check_time()
        yield {name: cells[start : start + PIECE] for name, cells in table.items()}


def judge_summary(
    model: LoadedModel, body: bytes, form: str, alpha: float, detail: str, limits: Limits
) -> dict[str, Any]:
    """The verdict on a summary, or on the sum of several."""
    return answer_of(model, model.detector.test(read_summary(body), alpha), detail)


def answer_of(model: LoadedModel, result: Any, detail: str) -> dict[str, Any]:
    """A result as the answer to a request; it is kept for a report."""
    check_time()
    shown = (
        result if detail == "full" else replace(result, evidence=None, data_quality=None)
    )  # columns are costly
    own = {
        "model": model.name,
        "digest": model.digest,
        "id": model.results.keep(result),
        "summary": str(result) if detail == "full" else repr(result),
    }
    # the effect is that of all tests, also where they are not shown
    return own | plain_json(
        shown.to_dict() | {"effect": result.effect, "effect_interval": result.effect_interval}
    )


def encode_table(
    model: LoadedModel, body: bytes, form: str, limits: Limits
) -> tuple[tuple[Any, Any], dict[str, list[str]]]:
    """The codes and marks (n, V) of a table, and how its columns differ from those of training."""
    table = read_columns(body, form, model.detector.encoder_, limits)
    codes, marks, absent, extra = model.watch.monitor.encode(table)
    return (codes, marks), {"absent": absent, "extra": extra}


def observe_rows(
    model: LoadedModel, rows: tuple[Any, Any], differs: dict[str, list[str]], after: int | None
) -> dict[str, Any]:
    """State of the monitor after rows."""
    return state_of(model, model.watch.observe(*rows, after)) | plain_json(differs)


def reset_monitor(model: LoadedModel) -> dict[str, Any]:
    """State of the monitor when it has forgotten everything."""
    return state_of(model, model.watch.reset())


def state_of(model: LoadedModel, result: Any = None) -> dict[str, Any]:
    """Where a monitor stands."""
    result = model.watch.last if result is None else result
    return {
        "model": model.name,
        "digest": model.digest,
        **plain_json(result.to_dict()),
        "warning": model.watch.warning,
    }


def describe_model(model: LoadedModel, error: tuple[Any, ...] | None) -> dict[str, Any]:
    """What a model is, and what was wrong with its file when it was last read again."""
    detector = model.detector
    columns = [
        {"name": column.name, "kind": column.kind, "num_categories": column.num_categories}
        for column in detector.encoder_.columns
    ]
    return plain_json(
        {
            "name": model.name,
            "digest": model.digest,
            "loaded": model.loaded,
            "num_train": detector.num_train_,
            "columns": columns,
            "num_nodes": len(detector.test_.nodes),
            "reference": detector.test_.reference,
            "log_likelihood": detector.history_[-1],
            "heard": heard_by(model),
            "reload_error": None if error is None else error[1],
        }
    )


def heard_by(model: LoadedModel) -> dict[str, Any]:
    """The batches and rows that a model was asked about, the last of them, and when it last alarmed."""
    monitor, times = model.watch.last, model.watch.times
    return {
        **model.results.heard,
        "monitor_rows": monitor.num_rows,
        "monitor_last": times["rows"],
        "alarm_row": monitor.alarm_row,
        "last_alarm": times["alarm"],
    }


def report_page(model: LoadedModel, key: str | None) -> str:
    """The page about a result, the last one where none is named."""
    result = model.results.find(key)
    if result is None:
        raise Refusal(
            404,
            "id",
            "there is no result of this `id`: test a batch, its answer has one; the last "
            "32 are kept",
        )
    return batch_report(
        model.detector, result, batch_name="the batch", model_name=model.name, digest=model.digest
    )


def warm_up(models: Any, limits: Limits) -> None:
    """Test and observe a table and write its report, so that no request need import or compile anything."""
    for model in models:
        table, text = trial_table(model.detector), io.StringIO()
        csv.writer(text).writerows([list(table), *zip(*table.values(), strict=True)])
        again = read_columns(text.getvalue().encode(), "csv", model.detector.encoder_, limits)
        result = judge_chunks(model.detector, [again])
        plain_json(result.to_dict())
        batch_report(model.detector, result)
        model.watch.monitor.copy().update(table)
