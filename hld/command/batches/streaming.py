r"""``hld monitor``: rows on standard input, a line of JSON for every n rows and at the alarm.

The header comes first, then rows as they arrive.  After every n of them the monitor (`hld.Monitor`) is updated and
a line is written:

    {"event": "rows", "num_rows": 300, "alarm": false, "pvalue": 0.41, "e_value": 1.8, ...}
    {"event": "alarm", "num_rows": 400, "alarm": true, "alarm_row": 365, ...}
    {"event": "end", ...}

The probability that an unshifted stream ever causes an alarm is at most alpha, however long it runs.  With --reference,
a table that the model did not learn from, "unshifted" means that rows are like those of the reference
(`hld.StreamMonitor`).  Without it, "unshifted" means that rows follow the circuit up to the circuit's own error: by
default the margin is the distance between its means and those of the held-out rows, sampling error included.
"""
from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hld.monitoring.monitor import MonitorResult
    from hld.schemas.encoder import TableEncoder

ALARM = 1


def monitor(args: argparse.Namespace) -> int:
    """Watch standard input."""
    from hld.command.console.steps import step
    from hld.model_files import load
    from hld.monitoring.of_test import monitor_of
    if args.reference is None and args.state is not None:
        raise ValueError("--state is for --reference: without it there is no state to keep")
    with step(f"reading {args.model}"):
        detector = load(args.model)
        encoder = detector.encoder_
    if args.reference is None:
        watch = monitor_of(detector.test_, args.alpha, args.margin)
        update = watch.update
    else:
        watch = _among_rows(detector, args)
        update = watch.update_codes
    was_alarm, result = False, None
    for text in _blocks(sys.stdin, args.every, args.sep):
        codes, *_ = encoder.encode_counting(_cells(text, encoder, args.sep))
        result = update(codes)
        is_new, was_alarm = result.alarm and not was_alarm, result.alarm
        if is_new or not args.alarm_only:
            _print_line("alarm" if is_new else "rows", result)
        if is_new and args.stop:
            break
    if result is None:
        raise ValueError("standard input has no rows, expected a header and rows")
    _print_line("end", result)
    if args.state is not None:
        watch.save(args.state)
    return ALARM if result.alarm else 0


def _among_rows(detector: Any, args: Any) -> Any:
    """The monitor that compares with rows of a file, or the one that was saved."""
    import os

    from hld.command.console.csv_files import read_batch
    from hld.command.console.steps import step
    from hld.streams.stream_monitor import StreamMonitor
    from hld.table_files.dialect import ReadOptions
    if args.margin is not None:
        raise ValueError("--margin is for the model as reference: leave it out with --reference")
    if args.state is not None and os.path.exists(args.state):
        return StreamMonitor.load(args.state, detector)
    with step(f"reading {args.reference}"):
        rows = read_batch(args.reference, detector.encoder_, ReadOptions())
    return StreamMonitor(detector, rows, args.alpha)


def _blocks(lines: Any, size: int, separator: str) -> Iterator[str]:
    """Texts of CSV, each the header and `size` rows or fewer at the end."""
    reader = csv.reader(lines, delimiter=separator)
    header, rows = next(reader, None), []
    if header is None:
        raise ValueError("standard input is empty, expected a header and rows")
    for row in reader:
        if not row:
            continue
        rows.append(row)
        if len(rows) == size:
            yield _text([header, *rows], separator)
            rows = []
    if rows:
        yield _text([header, *rows], separator)


def _cells(text: str, encoder: TableEncoder, separator: str) -> dict[str, Any]:
    """Columns of cells, each of the type that its column was fitted to."""
    from hld.table_files.text_cells import as_fitted, pandas_for_csv
    pandas = pandas_for_csv()
    try:
        frame = pandas.read_csv(io.StringIO(text), sep=separator, dtype=str, index_col=False)
    except pandas.errors.ParserError as error:
        raise ValueError(f"standard input is not a table separated by {separator!r}: {error}") from None
    fitted = {column.name: column for column in encoder.columns}
    return {name: as_fitted(frame[name], fitted.get(name), ".") for name in frame.columns}


def _text(rows: list[list[str]], separator: str) -> str:
    """Rows as CSV."""
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _print_line(event: str, result: MonitorResult) -> None:
    """One line of JSON, at once."""
    from hld.answers.plain_json import plain_json
    print(json.dumps({"event": event, **plain_json(result.to_dict())}, allow_nan=False), flush=True)
