"""Chunks of rows as Arrow reads them: text files cell by cell, Parquet and JSON with their types.

A chunk is an Arrow table, or a data frame of objects where Arrow would change cells of JSON.

Two things of text files are looked at here.  Rows that are the header again, as in files that were joined, are left
out with a warning: as rows they would make text of every column of numbers.  And a quote ends at the next one, so one
without an end swallows the rows up to the next, which is warned of, or all up to the end of the file, which is refused.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import reprlib
import warnings
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from hld.tables.files.byte_files import called, form_of, opened
from hld.tables.files.dialect import MARK, Dialect, ReadOptions, not_text
from hld.tables.files.json_files import json_line_chunks, read_json

ROWS, CELLS = 2**17, 2**24  # of a chunk at most
BLOCK = 2**22  # bytes of a text file that are parsed at a time
LEAST_LINES = 3  # inside a cell: of fewer lines all may have as many separators as a row by chance


def need_pyarrow(*first: str) -> Any:
    """The module pyarrow, after others: it would import pandas later and lose a Ctrl-C; or how to install it."""
    try:
        for name in (*first, "pyarrow.csv"):
            importlib.import_module(name)
    except ModuleNotFoundError as error:
        needed = str(error.name).partition(".")[0]
        raise ImportError(
            f"reading tables in files needs {needed}, which is not installed: pip install 'hld[cli]'"
        ) from None
    return importlib.import_module("pyarrow")


def text_chunks(
    file: Any,
    dialect: Dialect,
    options: ReadOptions,
    name: str,
    plain: Collection[str] | None = None,
) -> Iterator[Any]:
    """Chunks of a text file, all of it as text; columns that are not plain (None: all are) by number."""
    if not dialect.has_rows:
        return
    pyarrow = need_pyarrow(*["pandas"] * (plain is None))  # batches of text do without
    text = pyarrow.string()
    coded = pyarrow.dictionary(pyarrow.int32(), text)
    convert = pyarrow.csv.ConvertOptions(
        column_types={
            one: text if plain is None or one in plain else coded for one in dialect.names
        },
        include_columns=options.chosen(dialect.names, name),
        null_values=[],
        strings_can_be_null=False,
    )
    alone = len(dialect.names) == 1  # an empty line is a missing cell then
    named = not options.has_header or dialect.has_blanks or alone  # else the file names its columns
    above = 1 + dialect.num_before * alone
    read = pyarrow.csv.ReadOptions(
        block_size=BLOCK,
        encoding=dialect.encoding,
        skip_rows_after_names=above if named and options.has_header else 0,
        column_names=list(dialect.names) if named else None,
    )
    parse = pyarrow.csv.ParseOptions(
        delimiter=dialect.separator, newlines_in_values=True, ignore_empty_lines=not alone
    )
    seen, is_told, is_joined = _Tail(file), False, False
    table = None  # the last one with rows
    try:
        with pyarrow.csv.open_csv(seen, read, parse, convert) as reader:
            for batch in reader:
                chunk = pyarrow.Table.from_batches([batch])
                table = chunk if batch.num_rows else table
                is_told = is_told or _warn_of_rows_in_cells(chunk, dialect, name)
                chunk = _trimmed(chunk) if dialect.has_blanks else chunk
                again = _headers_again(chunk) if options.has_header else None
                if again is not None:
                    chunk = chunk.filter(pyarrow.array(~again))
                    if not is_joined:
                        warn_of_headers(name)
                    is_joined = True
                yield chunk
    except UnicodeDecodeError:
        raise not_text(name, dialect.encoding) from None
    except pyarrow.ArrowInvalid as error:
        if "invalid UTF8" in str(error):
            raise not_text(name, dialect.encoding) from None
        if "straddl" in str(error):  # in Arrow's words of its blocks
            raise ValueError(
                f"{name} has a row of more than {BLOCK >> 20} MiB, expected shorter ones: check its "
                "quotes, as all that follows one without an end is one cell"
            ) from None
        raise _no_table(name, dialect, str(error)) from None
    _check_end(table, dialect.names[-1], seen.last, name)


def warn_of_headers(name: str) -> None:
    """Warn of rows that are left out, being the header of their file again."""
    warnings.warn(
        f"{name} has rows that are its header again, as files have that were joined: they are left out",
        UserWarning,
        stacklevel=3,
    )


def _headers_again(chunk: Any) -> np.ndarray | None:
    """(N,) whether rows of an Arrow table of texts are its header again; None where none is."""
    import pyarrow.compute

    names, found = chunk.column_names, np.ones(len(chunk), dtype=bool)
    if len(names) < 2:
        return None
    cells = chunk[names[0]].cast("string")
    begins = [pyarrow.compute.starts_with(cells, mark + names[0]) for mark in ("", MARK)]
    if not any(pyarrow.compute.any(one).as_py() for one in begins):
        return None  # Arrow takes the texts to compare with from Python by importing pandas
    for v, (name, cells) in enumerate(columns_of(chunk)):
        equal = np.asarray(pyarrow.compute.equal(cells, name))
        found &= equal if v else equal | np.asarray(pyarrow.compute.equal(cells, MARK + name))
        if not found.any():  # mostly after the first column
            return None
    return found


def _warn_of_rows_in_cells(chunk: Any, dialect: Dialect, name: str) -> bool:
    """Warn of a cell whose lines look like rows: each has as many separators as a row has."""
    import pyarrow.compute

    for column, cells in columns_of(chunk):
        texts = _distinct_texts(cells)
        texts = texts.filter(pyarrow.compute.match_substring(texts, "\n"))
        for cell in texts.to_pylist():
            inside = cell.splitlines()[1:-1]
            if len(inside) >= LEAST_LINES and all(
                line.count(dialect.separator) == len(dialect.names) - 1 > 0 for line in inside
            ):
                warnings.warn(
                    f"{name} has a cell of {len(inside) + 2} lines in column {column!r} that look like rows, "
                    f"{reprlib.repr(cell)}: check its quotes, as all that follows one without an end is one "
                    "cell up to the next",
                    UserWarning,
                    stacklevel=3,
                )
                return True
    return False


def _distinct_texts(cells: Any) -> Any:
    """The texts that are in an Arrow column: of coded ones each once."""
    import pyarrow

    if not pyarrow.types.is_dictionary(cells.type):
        return cells
    return pyarrow.chunked_array([one.dictionary for one in cells.chunks], pyarrow.string())


def _check_end(table: Any, column: str, tail: bytes, name: str) -> None:
    """Refuse a file that ends inside quotes, of which Arrow makes one cell of all lines behind them.

    Only in the last column: elsewhere a row lacks cells.  What lines a cell has, quotes have held, so they must be
    closed where the file ends.
    """
    if (
        table is None
        or column not in table.column_names
        or tail.rstrip(b"\r\n\t \0").endswith(b'"')
    ):
        return
    cell = table.column(column)[-1].as_py()
    if "\n" in cell:
        raise ValueError(
            f"{name} ends inside quotes, expected them to be closed: all lines from {reprlib.repr(cell)} "
            "on are one cell of its last row"
        )


def typed_chunks(path: str, options: ReadOptions) -> Iterator[Any]:
    """Chunks of a Parquet file, of JSON lines or of one JSON value, only the columns that are asked for."""
    form, name, pyarrow = form_of(path, options), called(path), need_pyarrow("pandas")
    readers = {"parquet": _parquet, "jsonl": json_line_chunks, "json": _json_value}
    try:
        with opened(path) as file:
            yield from readers[form](file, name, options)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{name} is not a table in {form}: {error}") from None
    except pyarrow.ArrowNotImplementedError as error:
        raise ValueError(
            f"{name} has a column of a type that pyarrow does not read ({error}): write whole numbers of "
            "at most 64 bits, doubles or text"
        ) from None


def columns_of(chunk: Any) -> Iterator[Any]:
    """(name, column) of a chunk: an Arrow column, or one of a data frame."""
    names = chunk.column_names if hasattr(chunk, "column_names") else chunk.columns
    for name in names:
        yield name, chunk[name]


def smaller(chunk: Any, rows: Any) -> Any:
    """The rows at some positions.

    Shapes: rows (n,).
    """
    return chunk.take(rows) if hasattr(chunk, "column_names") else chunk.iloc[rows]


def together(chunks: list[Any]) -> Any:
    """Chunks one below the other: what one of them lacks is missing, and cells of types that do not mix are objects."""
    import pandas
    import pyarrow

    if len(chunks) == 1:
        return chunks[0]
    if all(hasattr(chunk, "column_names") for chunk in chunks):
        with contextlib.suppress(
            pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, pyarrow.ArrowNotImplementedError
        ):
            return pyarrow.concat_tables(chunks, promote_options="permissive").combine_chunks()
    frames = [
        chunk if hasattr(chunk, "iloc") else pandas.DataFrame(chunk.to_pydict(), dtype=object)
        for chunk in chunks
    ]
    return pandas.concat(frames, ignore_index=True)


def _trimmed(table: Any) -> Any:
    """A table of texts without the blanks in front of them."""
    import pyarrow
    import pyarrow.compute

    return pyarrow.table(
        {
            name: pyarrow.compute.utf8_ltrim_whitespace(cells.cast(pyarrow.string()))
            for name, cells in columns_of(table)
        }
    )


def _parquet(file: Any, name: str, options: ReadOptions) -> Iterator[Any]:
    """Chunks of a Parquet file; from memory where it is a stream, as its end is read first."""
    import pyarrow.parquet

    source = file if file.seekable() else pyarrow.BufferReader(file.read())
    # buffers would keep all that was read of the file
    table = pyarrow.parquet.ParquetFile(source, pre_buffer=False)
    num_rows = max(min(CELLS // max(table.metadata.num_columns, 1), ROWS), 1)
    for batch in table.iter_batches(num_rows):
        chunk = pyarrow.Table.from_batches([batch])
        yield chunk.select(options.chosen(tuple(chunk.column_names), name))
    if not table.metadata.num_rows:  # the names, so that it is said what is wrong
        chunk = table.schema_arrow.empty_table()
        yield chunk.select(options.chosen(tuple(chunk.column_names), name))


def _json_value(file: Any, name: str, options: ReadOptions) -> Iterator[Any]:
    """One JSON value, or JSON lines in a file whose name does not say so."""
    data = file.read()
    table = read_json(data, name)
    if table is None:
        yield from json_line_chunks(io.BytesIO(data), name, options)
    else:
        names = options.chosen(tuple(one for one, _ in columns_of(table)), name)
        yield table.select(names) if hasattr(table, "select") else table[names]


def _no_table(name: str, dialect: Dialect, said: str) -> ValueError:
    """The error for a text file whose lines have different numbers of fields."""
    hint, first = "", dialect.names[0]
    if len(dialect.names) == 1 or first.lstrip().startswith(("#", "//", "%")):
        line = reprlib.repr(dialect.separator.join(dialect.names))
        hint = f" (its first line is {line}: remove lines that precede the names)"
    return ValueError(f"{name} is not a table separated by {dialect.separator!r}: {said}{hint}")


class _Tail:
    """A binary file whose last bytes are remembered."""

    closed = False  # which Arrow asks

    def __init__(self, file: Any) -> None:
        self._file, self.last = file, b""

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        found: bytes = self._file.read(size)
        self.last = (self.last + found[-64:])[-64:]
        return found

    def close(self) -> None:
        """Nothing: who opened the file closes it."""
