"""Tables and models on the command line: files in, as the options say, and CSV rows out."""

import argparse
import codecs
import csv
import datetime
import io
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from hld.apps.command.arguments import OF_TEXT
from hld.apps.command.output import check_output, naming_output, on_screen, step
from hld.detector.chunks import judge_chunks
from hld.detector.detector import HLDDetector, load
from hld.tables.factored import whole_cells
from hld.tables.files import files
from hld.tables.files.byte_files import called, form_of
from hld.tables.files.dialect import ReadOptions
from hld.tables.files.files import together
from hld.tables.schemas.encoder import TableEncoder
from hld.tables.shown_names import listed
from hld.witnesses.result import HLDResult
from pcircuit.io.whole_file import replace_file

MIDNIGHT = datetime.time(0)
NEAREST = 3  # names in an error


def reading_options(args: argparse.Namespace, encoder: TableEncoder | None = None) -> ReadOptions:
    """The `ReadOptions` of parsed arguments."""
    if args.columns == []:
        raise ValueError(
            "--columns is empty, expected names of columns to read: leave it out to read all of them"
        )
    found = ReadOptions(
        args.sep,
        not args.no_header,
        args.decimal,
        args.encoding,
        tuple(args.na_values),
        None if args.columns is None else tuple(args.columns),
        tuple(args.drop),
        args.format,
    )
    table = getattr(args, "table", None)
    if table is not None and (form := form_of(table, found)) != "csv":
        refuse_options(args, OF_TEXT, f"is for CSV, and {table!r} is read as {form}")
    if encoder is not None:
        _warn_of_unread(found, encoder)
    return found


def _warn_of_unread(options: ReadOptions, encoder: TableEncoder) -> None:
    """Warn of columns of a model that are not read of a batch: whoever leaves one out wants it not to be tested."""
    parts = {one.name: one.source for one in encoder.derived}
    used = dict.fromkeys(parts.get(name, name) for name in encoder.names)
    unread = [
        name
        for name in used
        if name in options.drop or (options.columns is not None and name not in options.columns)
    ]
    if unread and (encoder.by_name or parts):
        warnings.warn(
            f"columns of the model that are not read count as missing in all rows: {listed(unread)}; to test "
            "the others alone, fit a model without them",
            UserWarning,
            stacklevel=4,
        )


def load_model(path: str) -> HLDDetector:
    """The detector of a model file; ValueError where the file is a table, of which one is made first."""
    try:
        with step(f"reading {path}"):
            return load(path)
    except ValueError as error:
        if "not a zip archive" not in str(error):
            raise
        raise ValueError(
            f"{called(path)} is not a model file, or a damaged one, expected a model first: make one of a "
            "table with hld fit TABLE -o MODEL"
        ) from None


def check_edits(edits: list[str] | None, detector: HLDDetector) -> list[str]:
    """The texts of --edit, if any; ValueError, with the nearest names first, where one is of no column of the model."""
    names = [*detector.encoder_.names]
    for edit in edits or ():
        column = edit.partition("=")[0]
        if "=" in edit and column not in names:
            raise ValueError(
                f"--edit names the column {column!r}, which the model does not have, expected one such as "
                f"{listed(names, NEAREST, near=column)}: see hld info"
            )
    return edits or []


def refuse_options(args: argparse.Namespace, options: tuple[str, ...], why: str) -> None:
    """Raise where one of some options was given."""
    for name in options:
        if getattr(args, name) != args.parser.get_default(name):
            raise ValueError(f"--{name.replace('_', '-')} {why}: leave it out")


def read_batch(path: str, encoder: TableEncoder, options: ReadOptions | None = None) -> Any:
    """A whole file as a table whose columns have the types that the encoder was fitted to."""
    import pandas

    chunks = list(_with_rows(path, files.read_chunks(path, encoder, options or ReadOptions())))
    if not isinstance(chunks[0], dict):
        return together(chunks)
    return pandas.DataFrame(
        {name: np.concatenate([whole_cells(chunk[name]) for chunk in chunks]) for name in chunks[0]}
    )


def judge_file(
    detector: Any, path: str, alpha: float, options: ReadOptions | None = None
) -> HLDResult:
    """The test of a file that is read in chunks, whatever its size."""
    chunks = files.read_chunks(path, detector.encoder_, options or ReadOptions())
    return judge_chunks(detector, _with_rows(path, chunks), alpha)


def _with_rows(path: str, chunks: Iterator[Any]) -> Iterator[Any]:
    """The chunks of a file; ValueError at the end where they have no rows."""
    num_rows = 0
    for chunk in chunks:
        num_rows += len(next(iter(chunk.values()))) if isinstance(chunk, dict) else len(chunk)
        yield chunk
    if not num_rows:
        raise ValueError(
            f"{called(path)} has no rows, expected at least one: check the program that wrote it"
        )


def write_rows(names: Any, rows: Any, path: str | None = None) -> None:
    """Write rows as CSV with a header; shapes rows (N, V)."""
    rows = [names, *_with_days(rows).tolist()]
    if path is not None:
        with replace_file(check_output(path)) as binary:
            _write(rows, codecs.getwriter("utf-8")(binary))
    elif sys.stdout is None:
        raise ValueError(
            "standard output is closed, expected somewhere to write the rows: give a file (-o)"
        )
    else:
        if sys.stdout.isatty():
            rows = [[on_screen(c) if isinstance(c, str) else c for c in row] for row in rows]
        elif isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")
        with naming_output():
            _write(rows, sys.stdout)


def _with_days(rows: Any) -> np.ndarray:
    """Rows (N, V) whose columns of midnights alone are days without a time, as data frames write them."""
    rows = np.array(rows, dtype=object)
    for cells in rows.T:
        known = [cell for cell in cells.tolist() if cell is not None]
        if known and all(
            isinstance(cell, datetime.datetime) and cell.time() == MIDNIGHT for cell in known
        ):
            cells[:] = [None if cell is None else cell.date() for cell in cells]
    return rows


def _write(rows: Any, file: Any) -> None:
    """Header and rows to an open text file."""
    csv.writer(file, lineterminator="\n").writerows(rows)
