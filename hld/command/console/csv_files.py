"""Tables on the command line: files in, read by `hld.table_files.files`, and CSV rows out."""

from __future__ import annotations

import codecs
import csv
import datetime
import io
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hld.chunks import judge_chunks
from hld.command.console.output import check_output, naming_output, on_screen
from hld.table_files import files
from hld.table_files.byte_files import called
from hld.table_files.dialect import ReadOptions
from hld.table_files.row_chunks import together
from hld.tables.factored import whole_cells
from pcircuit.files.whole_file import replace_file

if TYPE_CHECKING:
    from hld.results.result import HLDResult
    from hld.schemas.encoder import TableEncoder

MIDNIGHT = datetime.time(0)


def read_training(
    path: str,
    options: ReadOptions | None = None,
    *,
    max_rows: int | None = None,
    seed: int = 0,
    is_series: bool = False,
    kinds: Mapping[str, str] | None = None,
) -> tuple[Any, int]:
    """A file as a table to learn from; of long ones a sample of the rows, or the last of them."""
    return files.read_training(
        path,
        options or ReadOptions(),
        max_rows=max_rows,
        seed=seed,
        is_series=is_series,
        kinds=kinds,
    )


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


def write_rows(names: Any, rows: Any, path: str | None = None, separator: str = ",") -> None:
    """Write rows as CSV with a header.

    Shapes: rows (N, V).
    """
    rows = _with_days(rows)
    if path is None and sys.stdout is None:
        raise ValueError(
            "standard output is closed, expected somewhere to write the rows: give a file (-o)"
        )
    if path is None and sys.stdout.isatty():
        names, rows = (
            map(on_screen, names),
            ([on_screen(c) if isinstance(c, str) else c for c in row] for row in rows),
        )
    if path is None:
        with naming_output():
            _write(names, rows, _standard_output(), separator)
        return
    with replace_file(check_output(path)) as binary:
        file = io.TextIOWrapper(binary, encoding="utf-8", newline="")
        _write(names, rows, file, separator)
        file.detach()  # which flushes, and leaves the file open


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


def _standard_output() -> Any:
    """Where rows are written: the bytes under standard output, where it has any and is not a terminal."""
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None or sys.stdout.isatty():
        return sys.stdout
    sys.stdout.flush()
    return codecs.getwriter("utf-8")(binary)


def _write(names: list[str] | tuple[str, ...], rows: Any, file: Any, separator: str) -> None:
    """Header and rows to an open text file."""
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
