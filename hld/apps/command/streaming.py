r"""``hld monitor``: rows on standard input, a line of JSON for every n rows and at the alarm.

The header comes first, then rows as they arrive; how they are written (separator, decimal mark) is found from the
first n of them, as for files, or stated by options.  After every n of them the monitor (`hld.Monitor`) is updated and
a line is written:

    {"event": "rows", "num_rows": 300, "alarm": false, "pvalue": 0.41, "e_value": 1.8, ...}
    {"event": "alarm", "num_rows": 400, "alarm": true, "alarm_row": 365, ...}
    {"event": "end", ...}

The probability that an unshifted stream ever causes an alarm is at most alpha, however long it runs.  "Unshifted" means
that rows are like the held-out rows, of which the model keeps counts, or like those of --reference.

With --groups, a column, successive rows with one value of it are one batch, which is compared with the groups of the
reference when the next one begins, or the input ends; lines count batches, and a state has whole ones.

With --state, the rows of a line are in the file before the line is written, so that a stream that ends by a signal, as
``tail -f`` does, goes on where its last line was.  An alarm that it has raised has been told: a warning names its row,
and there is no second line of it.
"""

import argparse
import itertools
import json
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hld.answers.for_programs import plain_json
from hld.apps.command.output import send, step
from hld.apps.command.reading import load_model, read_batch, reading_options
from hld.tables.factored import Factored
from hld.tables.files.byte_files import MARKS
from hld.tables.files.dialect import (
    Dialect,
    ReadOptions,
    encoding_of,
    find_dialect,
    mark_of_rows,
)
from hld.tables.files.files import fitted_columns
from hld.tables.files.text_cells import as_fitted, text_rows
from hld.tables.schemas.encoder import TableEncoder
from hld.tables.schemas.quality import column_lines
from hld.testing.sequential import Monitor, MonitorResult

ALARM = 1
NAME = "standard input"
MANY = 100  # rows by which it is found how a stream is written, and from one line to the next
MOST_NAMED = 8  # columns in an error


def monitor(args: argparse.Namespace) -> int:
    """Watch standard input."""
    if args.reference is None and args.format not in (None, "csv"):
        raise ValueError(f"--format is {args.format}, expected csv, in which rows come one by one")
    if args.reference is None and args.groups is not None:
        raise ValueError(
            "--groups is for --reference, whose groups those of the stream are compared with: give both"
        )
    detector = load_model(args.model)
    encoder = detector.encoder_
    state, watch = _written(args.state), _monitor(detector, args)
    was_alarm, result, differs = watch.alarm_row is not None, None, dict[str, Any]()
    options = reading_options(args, encoder)
    for number, (dialect, rows) in enumerate(_batches(args, encoder, options), 1):
        codes, marks, absent, extra = watch.encode(_cells(rows, dialect, encoder, options))
        if not differs:  # all rows have the columns of the header
            differs = {"absent": absent, "extra": [name for name in extra if name != args.groups]}
            for line in column_lines(absent, differs["extra"]) if absent else ():
                warnings.warn(f"{NAME}: {line}", UserWarning, stacklevel=2)
        result = watch.update_codes(codes, marks)
        if args.state is not None:
            if _written(args.state) != state:
                raise ValueError(
                    f"--state {args.state} was written or removed by another program since this one read it: "
                    "it is that of one stream, so give each a --state of its own"
                )
            watch.save(args.state)  # before the line is told: a stream mostly ends by a signal
            state = _written(args.state)
        is_new, was_alarm = result.alarm and not was_alarm, result.alarm
        if is_new or not (
            args.alarm_only or (args.groups is not None and number % (args.every or 1))
        ):
            _print_line("alarm" if is_new else "rows", result, differs)
        if was_alarm and args.stop:
            break
    if result is None:
        raise ValueError("standard input has no rows, expected a header and rows")
    _print_line("end", result, differs)
    return ALARM if result.alarm else 0


def _written(state: str | None) -> tuple[int, int] | None:
    """Which file a monitor is kept in, and when it was written; None where there is none."""
    if state is None or not os.path.exists(state):
        return None
    found = os.stat(state)
    return found.st_ino, found.st_mtime_ns


def _monitor(detector: Any, args: Any) -> Any:
    """A new monitor, or the one that was saved if it has the same reference and level."""
    rows = None
    if args.reference is not None:
        with step(f"reading {args.reference}"):
            rows = read_batch(args.reference, detector.encoder_, reading_options(args))
    fresh = Monitor(detector, args.alpha, reference=rows, groups=args.groups)
    if args.state is None or not os.path.exists(args.state):
        return fresh
    kept = Monitor.load(args.state, detector)
    if kept.alpha != fresh.alpha:
        raise ValueError(
            f"--alpha is {fresh.alpha:g}, but the stream in {args.state} was begun with {kept.alpha:g}: "
            f"give --alpha {kept.alpha:g}, or another --state for a new stream"
        )
    if not kept.has_reference_of(fresh):
        raise ValueError(
            f"the stream in {args.state} was begun with other rows or groups as --reference: give that "
            "file, or another --state for a new stream"
        )
    if kept.alarm_row is not None:  # it may have ended before it could tell
        warnings.warn(
            f"the stream in {args.state} has raised the alarm at row {kept.alarm_row}: for a new stream give "
            "another --state, or remove the file",
            UserWarning,
            stacklevel=3,
        )
    return kept


def _batches(
    args: Any, encoder: TableEncoder, options: ReadOptions
) -> Iterator[tuple[Dialect, list[list[str]]]]:
    """How standard input is written, and its rows for each update: `--every` of them, or those of one group."""
    every, lines = args.every or MANY, _lines(options.encoding)
    if args.groups is None:
        yield from _blocks(lines, every, every, encoder, options)
        return
    single = ((dialect, row) for dialect, (row,) in _blocks(lines, MANY, 1, encoder, options))
    for _, batch in itertools.groupby(
        single, lambda one: _group(one[0], one[1], args.groups, options)
    ):
        dialects, rows = zip(*batch, strict=True)
        yield dialects[-1], list(rows)


def _group(dialect: Dialect, row: list[str], name: str, options: ReadOptions) -> str:
    """The group of a row; ValueError if there is no such column, or the row has none."""
    if name not in dialect.names:
        raise ValueError(
            f"--groups names the column {name!r}, which {NAME} does not have, expected one of "
            f"{', '.join(map(repr, dialect.names[:MOST_NAMED]))}"
        )
    cell = row[dialect.names.index(name)]
    if cell in options.missing_texts:
        raise ValueError(
            f"{NAME} has a row without a group in {name!r} ({dialect.separator.join(row)[:60]!r}): leave "
            "it out, or give it one"
        )
    return cell


def _blocks(
    lines: Iterator[str], head: int, size: int, encoder: TableEncoder, options: ReadOptions
) -> Iterator[tuple[Dialect, list[list[str]]]]:
    """How standard input is written, by `head` lines, and `size` rows of it at a time, fewer at the end."""
    first = list(itertools.islice(lines, head + 1))
    dialect = find_dialect("".join(first).encode(), replace(options, encoding="utf-8"), NAME)
    fitted = fitted_columns(encoder, dialect.names)
    every = itertools.chain(first, lines)
    rows = text_rows(every, dialect, NAME, has_header=options.has_header)
    dialect = replace(dialect, decimal=options.decimal or ".")
    while block := list(itertools.islice(rows, size)):
        is_open = options.decimal is None and dialect.separator != "," and dialect.decimal == "."
        if is_open and mark_of_rows(block, dialect.names, fitted, options) == ",":
            dialect = replace(dialect, decimal=",")
        yield dialect, block


def _cells(
    rows: list[list[str]], dialect: Dialect, encoder: TableEncoder, options: ReadOptions
) -> dict[str, Any]:
    """Columns of cells, each of the type that its column was fitted to."""
    names, missing, stated = dialect.names, options.missing_texts, options.na_values
    fitted = fitted_columns(encoder, names)
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    return {
        name: as_fitted(
            Factored.of(columns[name]), fitted.get(name), dialect.decimal, missing, stated
        )
        for name in options.chosen(names, NAME)
    }


def _lines(encoding: str) -> Iterator[str]:
    """Lines of standard input, without the mark that some programs put before the first."""
    if sys.stdin is None:
        raise ValueError(f"{NAME} is closed, expected a header and rows")
    try:
        if hasattr(sys.stdin, "reconfigure"):
            sys.stdin.reconfigure(encoding=_encoding(sys.stdin.buffer, encoding), errors="strict")
        for number, line in enumerate(sys.stdin):
            yield line if number else line.removeprefix("\ufeff")
    except (UnicodeDecodeError, LookupError):
        raise ValueError(
            f"{NAME} cannot be read as text in {encoding!r}, expected CSV, or another encoding "
            "(--encoding latin-1, for example)"
        ) from None


def _encoding(stream: Any, encoding: str) -> str:
    """That of the bytes of a stream: UTF-16 where the first say so, else as given; ValueError for compressed ones."""
    head = stream.peek(8) if hasattr(stream, "peek") else b""
    ending = next((ending for mark, ending in MARKS.items() if head.startswith(mark)), None)
    if ending is not None:
        raise ValueError(
            f"{NAME} is compressed ({ending}), expected text: give it decompressed, as zcat does for .gz"
        )
    return encoding_of(head, encoding)


def _print_line(event: str, result: MonitorResult, differs: dict[str, Any]) -> None:
    """One line of JSON, at once."""
    send(
        json.dumps({"event": event, **plain_json(result.to_dict() | differs)}, allow_nan=False)
        + "\n",
        flush=True,
    )
