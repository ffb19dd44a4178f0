"""Chunks of rows as read by pyarrow or pandas: text files cell by cell, Parquet and JSON with their types.

Chunks are Arrow tables where pyarrow is installed, otherwise pandas frames; the few operations on them are here.
"""

from __future__ import annotations

import contextlib
import io
import reprlib
import warnings
from collections.abc import Iterator
from typing import Any

from hld.table_files.byte_files import called, form_of, is_read_once, opened
from hld.table_files.dialect import Dialect, ReadOptions, not_text
from hld.table_files.json_lines import json_line_chunks
from hld.table_files.json_lists import read_json
from hld.table_files.quotes import check_end, warn_of_rows_in_cells
from hld.table_files.repeated_headers import Headers

ROWS, CELLS = 2**17, 2**24  # of a chunk at most
BLOCK = 2**22  # bytes of a text file that are parsed at a time
NEEDED = "pip install 'hld[cli]'"


class OddCells(ValueError):
    """A cell is not of its column's type: the file has to be read as text."""


def text_chunks(
    file: Any, dialect: Dialect, options: ReadOptions, name: str, typed: dict[str, Any] | None
) -> Iterator[Any]:
    """Chunks of a text file."""
    if not dialect.has_rows:
        return
    try:
        import pyarrow.csv
    except ImportError:
        yield from _by_pandas(file, dialect, options, name)
        return
    convert = pyarrow.csv.ConvertOptions(
        column_types=_types(dialect, typed),
        include_columns=options.chosen(dialect.names, name),
        null_values=[] if typed is None else options.missing_texts,
        strings_can_be_null=False,
        decimal_point=dialect.decimal,
        timestamp_parsers=[pyarrow.csv.ISO8601],
    )
    alone = len(dialect.names) == 1  # an empty line is a missing cell then
    named = not options.has_header or dialect.has_blanks or alone  # else the file names its columns
    above = 1 + dialect.num_before * alone
    read = pyarrow.csv.ReadOptions(
        block_size=BLOCK,
        encoding=dialect.encoding,
        use_threads=True,
        skip_rows_after_names=above if named and options.has_header else 0,
        column_names=list(dialect.names) if named else None,
    )
    parse = pyarrow.csv.ParseOptions(
        delimiter=dialect.separator, newlines_in_values=True, ignore_empty_lines=not alone
    )
    seen, headers, told = _Tail(file), Headers(name), False
    table = None  # the last one with rows
    try:
        for batch in pyarrow.csv.open_csv(seen, read, parse, convert):
            chunk = pyarrow.Table.from_batches([batch])
            table = chunk if batch.num_rows else table
            told = told or warn_of_rows_in_cells(
                columns_of(chunk), dialect.separator, len(dialect.names), name
            )
            chunk = _trimmed(chunk) if dialect.has_blanks else chunk
            yield chunk if typed or not options.has_header else _without_headers(chunk, headers)
    except UnicodeDecodeError:
        raise not_text(name, dialect.encoding) from None
    except pyarrow.ArrowInvalid as error:
        if "invalid UTF8" in str(error):
            raise not_text(name, dialect.encoding) from None
        if "conversion error" in str(error):
            raise OddCells(str(error)) from None
        if "straddl" in str(error):  # in Arrow's words of its blocks
            raise ValueError(
                f"{name} has a row of more than {BLOCK >> 20} MiB, expected shorter ones: check its "
                "quotes, as all that follows one without an end is one cell"
            ) from None
        raise _no_table(name, dialect, str(error)) from None
    check_end(table, dialect.names[-1], seen.last, name)


def _without_headers(chunk: Any, headers: Headers) -> Any:
    """A chunk of texts without the rows that are its header again."""
    rows = headers.rows(columns_of(chunk), len(chunk))
    return chunk if rows is None else smaller(chunk, (~rows).nonzero()[0])


def typed_chunks(path: str, options: ReadOptions) -> Iterator[Any]:
    """Chunks of a Parquet file, of JSON lines or of one JSON value, only the columns that are asked for."""
    form, name = form_of(path, options), called(path)
    try:
        import pyarrow

        readers = {"parquet": _parquet, "jsonl": _json_lines, "json": _json_value}
        yield from readers[form](path, name, options)
    except ImportError as error:
        needed = "pandas" if error.name == "pandas" else "pyarrow"
        raise ImportError(
            f"reading {form} files needs {needed}, which is not installed: {NEEDED}"
        ) from None
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{name} is not a table in {form}: {error}") from None
    except pyarrow.ArrowNotImplementedError as error:
        raise ValueError(
            f"{name} has a column of a type that pyarrow does not read ({error}): write whole numbers of "
            "at most 64 bits, doubles or text"
        ) from None


def columns_of(chunk: Any) -> Iterator[Any]:
    """(name, column) of a chunk: an Arrow column or a pandas one."""
    if hasattr(chunk, "column_names"):
        yield from ((name, chunk.column(j)) for j, name in enumerate(chunk.column_names))
    else:
        yield from ((name, chunk[name]) for name in chunk.columns)


def smaller(chunk: Any, rows: Any) -> Any:
    """The rows at some positions.

    Shapes: rows (n,).
    """
    return chunk.take(rows) if hasattr(chunk, "column_names") else chunk.iloc[rows]


def together(chunks: list[Any]) -> Any:
    """Chunks one below the other: what one of them lacks is missing, and cells of types that do not mix are objects."""
    if len(chunks) == 1:
        return chunks[0]
    if all(hasattr(chunk, "column_names") for chunk in chunks):
        import pyarrow

        with contextlib.suppress(
            pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, pyarrow.ArrowNotImplementedError
        ):
            return pyarrow.concat_tables(chunks, promote_options="permissive").combine_chunks()
    import pandas

    return pandas.concat([_frame_of_objects(chunk) for chunk in chunks], ignore_index=True)


def _frame_of_objects(chunk: Any) -> Any:
    """An Arrow table as a data frame that rounds nothing; a data frame as it is."""
    import pandas

    if hasattr(chunk, "iloc"):
        return chunk
    return pandas.DataFrame(
        {
            name: pandas.Series(column.to_pylist(), dtype=object)
            for name, column in columns_of(chunk)
        }
    )


def _trimmed(table: Any) -> Any:
    """A table whose texts lose the blank in front."""
    import pyarrow
    import pyarrow.compute

    for j, field in enumerate(table.schema):
        if pyarrow.types.is_dictionary(field.type) or pyarrow.types.is_string(field.type):
            cells = pyarrow.compute.utf8_ltrim_whitespace(table.column(j).cast(pyarrow.string()))
            table = table.set_column(j, field.name, cells)
    return table


def _types(dialect: Any, typed: Any) -> dict[str, Any]:
    """The Arrow types of the columns of a text file."""
    import pyarrow

    if typed is None:
        return dict.fromkeys(dialect.names, pyarrow.string())
    known = {"continuous": pyarrow.float64(), "date": pyarrow.timestamp("us")}
    coded = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    return {name: known.get(typed.get(name), coded) for name in dialect.names}


def _parquet(path: str, name: str, options: ReadOptions) -> Iterator[Any]:
    """Chunks of a Parquet file; from memory where it is a stream, as its end is read first."""
    import pyarrow.parquet

    with opened(path) as file:
        is_stream = is_read_once(path) or not file.seekable()  # as what zstd unpacks
        source = pyarrow.BufferReader(file.read()) if is_stream else file
        table = pyarrow.parquet.ParquetFile(
            source, pre_buffer=False
        )  # which would keep all that was read of the file
        for batch in table.iter_batches(_rows_of(table.metadata.num_columns)):
            chunk = pyarrow.Table.from_batches([batch])
            yield chunk.select(options.chosen(tuple(chunk.column_names), name))
        if not table.metadata.num_rows:  # the names, so that it is said what is wrong
            chunk = table.schema_arrow.empty_table()
            yield chunk.select(options.chosen(tuple(chunk.column_names), name))


def _rows_of(num_columns: int) -> int:
    """Rows of a chunk: fewer of wide tables, so that memory does not grow with the columns."""
    return max(min(CELLS // max(num_columns, 1), ROWS), 1)


def _json_lines(path: Any, name: str, options: ReadOptions) -> Iterator[Any]:
    """Chunks of JSON lines."""
    with opened(path) as file:
        yield from json_line_chunks(file, name, options)


def _json_value(path: Any, name: str, options: ReadOptions) -> Iterator[Any]:
    """Chunks of one JSON value, or of JSON lines in a file whose name does not say so."""
    with opened(path) as file:
        data = file.read()
    table = read_json(data, name)
    if table is None:
        yield from json_line_chunks(io.BytesIO(data), name, options)
    else:
        names = tuple(column for column, _ in columns_of(table))
        step, wanted = _rows_of(len(names)), list(options.chosen(names, name))
        is_arrow = hasattr(table, "column_names")
        table = table.select(wanted) if is_arrow else table[wanted]
        for start in range(0, len(table), step):
            yield table.slice(start, step) if is_arrow else table.iloc[start : start + step]


def _by_pandas(file: Any, dialect: Any, options: Any, name: Any) -> Iterator[Any]:
    """Chunks of a text file by pandas, which is slower: all of it as text."""
    try:
        import pandas
    except ImportError:
        raise ImportError(
            f"reading CSV files needs pyarrow or pandas, which are not installed: {NEEDED}"
        ) from None
    names, wanted = list(dialect.names), options.chosen(dialect.names, name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            above = dialect.num_before if len(names) == 1 else 0
            told, headers = False, Headers(name)
            for chunk in pandas.read_csv(
                file,
                sep=dialect.separator,
                index_col=False,
                dtype=str,
                chunksize=ROWS,
                header=above if options.has_header else None,
                names=names,
                skip_blank_lines=len(names) > 1,
                encoding=dialect.encoding,
                keep_default_na=False,
                skipinitialspace=dialect.has_blanks,
            ):
                told = told or warn_of_rows_in_cells(
                    columns_of(chunk), dialect.separator, len(names), name
                )
                yield (
                    _without_headers(chunk[wanted], headers)
                    if options.has_header
                    else chunk[wanted]
                )
    except UnicodeDecodeError:
        raise not_text(name, dialect.encoding) from None
    except (pandas.errors.ParserError, pandas.errors.ParserWarning) as error:
        raise _no_table(name, dialect, str(error).strip()) from None  # which ends with a line break


def _no_table(name: Any, dialect: Any, said: str) -> ValueError:
    """The error for a text file whose lines have different numbers of fields."""
    is_remark = len(dialect.names) == 1 or dialect.names[0].lstrip().startswith(("#", "//", "%"))
    first = dialect.separator.join(dialect.names) if is_remark else None
    hint = (
        ""
        if first is None
        else f" (its first line is {reprlib.repr(first)}: remove lines that precede the names)"
    )
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
