"""Chunks of rows as Arrow reads them: text files cell by cell, Parquet and JSON with their types.

A chunk is an Arrow table, of JSON a data frame that keeps each cell as it is.

A quote ends at the next one, so a file whose last quote has no end is refused: the rows behind it would be one cell.
"""

import importlib
import io
import reprlib
from collections.abc import Iterator
from typing import Any

from hld.tables.files.byte_files import called, form_of, opened
from hld.tables.files.dialect import Dialect, ReadOptions, not_text
from hld.tables.files.json_files import json_line_chunks, read_json

ROWS, CELLS = 2**17, 2**24  # of a chunk at most
BLOCK = 2**22  # bytes of a text file that are parsed at a time


def need_pyarrow() -> Any:
    """The module pyarrow; ImportError, with what to do, where it is not installed."""
    try:
        return importlib.import_module("pyarrow.csv") and importlib.import_module("pyarrow")
    except ModuleNotFoundError:
        raise ImportError(
            "reading tables in files needs pyarrow, which is not installed: pip install 'hld[cli]'"
        ) from None


def text_chunks(file: Any, dialect: Dialect, options: ReadOptions, name: str) -> Iterator[Any]:
    """Chunks of a text file (of `byte_files.with_head`), all of it as text."""
    if not dialect.has_rows:
        return
    pyarrow = need_pyarrow()
    convert = pyarrow.csv.ConvertOptions(
        column_types=dict.fromkeys(dialect.names, pyarrow.string()),
        include_columns=options.chosen(dialect.names, name),
        null_values=[],
        strings_can_be_null=False,
    )
    alone = len(dialect.names) == 1  # an empty line is a missing cell then
    read = pyarrow.csv.ReadOptions(
        block_size=BLOCK,
        encoding=dialect.encoding,
        skip_rows_after_names=int(options.has_header),
        column_names=list(dialect.names),
    )
    parse = pyarrow.csv.ParseOptions(
        delimiter=dialect.separator, newlines_in_values=True, ignore_empty_lines=not alone
    )
    table = None  # the last one with rows
    try:
        with pyarrow.csv.open_csv(file, read, parse, convert) as reader:
            for batch in reader:
                chunk = pyarrow.Table.from_batches([batch])
                table = chunk if batch.num_rows else table
                yield _trimmed(chunk) if dialect.has_blanks else chunk
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
    _check_end(table, dialect.names[-1], file.raw.tail, name)


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
    form, name, pyarrow = form_of(path, options), called(path), need_pyarrow()
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


def smaller(chunk: Any, rows: Any) -> Any:
    """The rows at some positions; shapes rows (n,)."""
    return chunk.take(rows) if hasattr(chunk, "column_names") else chunk.iloc[rows]


def together(chunks: list[Any]) -> Any:
    """Chunks of one file one below the other: what one of them lacks is missing."""
    import pandas
    import pyarrow

    if hasattr(chunks[0], "iloc"):
        return pandas.concat(chunks, ignore_index=True)
    return pyarrow.concat_tables(chunks).combine_chunks()


def _trimmed(table: Any) -> Any:
    """A table of texts without the blanks in front of them."""
    import pyarrow
    import pyarrow.compute

    columns = map(pyarrow.compute.utf8_ltrim_whitespace, table.columns)
    return pyarrow.table([*columns], names=table.column_names)


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
        yield table[options.chosen(tuple(table), name)]


def _no_table(name: str, dialect: Dialect, said: str) -> ValueError:
    """The error for a text file whose lines have different numbers of fields."""
    hint, first = "", dialect.names[0]
    if len(dialect.names) == 1 or first.lstrip().startswith(("#", "//", "%")):
        line = reprlib.repr(dialect.separator.join(dialect.names))
        hint = f" (its first line is {line}: remove lines that precede the names)"
    return ValueError(f"{name} is not a table separated by {dialect.separator!r}: {said}{hint}")
