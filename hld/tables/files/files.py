"""Files as tables, in chunks: CSV, Parquet and JSON lines, compressed or not, from a file or from standard input.

Arrow reads them, JSON apart: text files cell by cell, Parquet and JSON with their types.

**A table to learn from** (`read_training`): each column gets a type that all its cells fit: numbers, booleans, ISO 8601
dates, or text; empty cells (or NA, NaN, null, ...) are missing.  From a file with more than `max_rows`
rows a uniform sample is read: each row has a random number, and those with the smallest are kept, so that memory is
needed for the sample only.

**A batch** (`read_chunks`) must not be read that way.  If the training column held "1", "2" and "x", it is text; a
batch that happens to hold only "1" and "2" would become numbers, none of which is a level of the column: the reading
would have changed, not the data.  So each column becomes the type that it had when the detector was fitted:
numbers where its levels or bins are numbers, text otherwise.  A cell that does not fit stays text, and is counted.
Likewise NA is the text that it is in a column that was fitted with it as a level, from a file that tells the two apart,
and missing in every other.

A chunk is an Arrow table, of JSON a data frame that keeps each cell as it is.

A quote ends at the next one, so a file whose last quote has no end is refused: the rows behind it would be one cell.

JSON holds rows or columns in one value, or lines with one object each.

    [{"name": cell, ...}, ...]      one object for each row; a name that a row lacks is a missing cell
    {"name": [cell, ...], ...}      columns as lists of one length

One value is read as a whole, because nothing in it is complete before its last byte; lines are read in blocks.  Python
parses both: no input can end the process, whatever its depth, its names or its numbers.
"""

import importlib
import json
import reprlib
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from hld.tables.derived import PARTS
from hld.tables.factored import object_cells
from hld.tables.files.byte_files import called, form_of, opened, with_head
from hld.tables.files.dialect import Dialect, ReadOptions, find_dialect, not_text
from hld.tables.files.text_cells import as_fitted, typed_columns
from hld.tables.schemas.columns import BinColumn, LevelColumn
from hld.tables.schemas.encoder import TableEncoder
from pcircuit.io.archive import distinct_names

DEFAULT = ReadOptions()
MOST_ROWS, LEAST_ROWS = 200_000, 20_000  # of a sample to learn from, by the number of columns
MOST_CELLS = 50_000_000  # in it: from 250 columns on fewer rows, so that time and memory do not grow any more
ROWS, CELLS = 2**17, 2**24  # of a chunk at most
BLOCK = 2**22  # bytes of a file of text or of JSON lines that are parsed at a time
ROOM = 1_000_000  # cells that a table in JSON may have beside 64 for each that is written
DECODER = json.JSONDecoder(object_pairs_hook=distinct_names)


def read_training(
    path: str,
    options: ReadOptions = DEFAULT,
    *,
    max_rows: int | None = None,
    seed: int = 0,
    is_series: bool = False,
) -> tuple[Any, int]:
    """A file as a table to learn from, and how many rows it has in all."""
    if form_of(path, options) != "csv":
        return sampled(
            typed_chunks(path, options), max_rows, seed, called(path), is_series=is_series
        )
    with opened(path) as raw:
        head, file = with_head(raw)
        dialect = find_dialect(head, options, called(path))
        chunks = text_chunks(file, dialect, options, called(path))
        text, total = sampled(chunks, max_rows, seed, called(path), is_series=is_series)
    return typed_columns(text, dialect, options), total


def read_chunks(path: str, encoder: TableEncoder, options: ReadOptions = DEFAULT) -> Iterator[Any]:
    """A file as chunks of a batch."""
    if form_of(path, options) != "csv":
        yield from typed_chunks(path, options)
        return
    with opened(path) as raw:
        head, file = with_head(raw)
        dialect = find_dialect(head, options, called(path), partial(fitted_columns, encoder))
        fitted = fitted_columns(encoder, dialect.names)
        for chunk in text_chunks(file, dialect, options, called(path)):
            yield {
                name: as_fitted(
                    cells,
                    fitted.get(name),
                    dialect.decimal,
                    options.missing_texts,
                    options.na_values,
                )
                for name, cells in zip(chunk.column_names, chunk.columns, strict=True)
            }


def fitted_columns(encoder: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """What the columns of a text file were fitted to, by names in the file; None for what training did not have."""
    fitted: dict[str, Any] = {column.name: column for column in encoder.columns}
    known = encoder.table_names
    if not encoder.by_name and len(names) == len(known) and {*names} != {*known}:
        fitted = {given: fitted.get(name) for given, name in zip(names, known, strict=True)}
    for one in encoder.derived:
        if one.part in PARTS:
            fitted.setdefault(one.source, BinColumn(one.source, (), 0.0, 0.0, "date"))
        else:  # an amount is text as long as it is read
            fitted[one.source] = LevelColumn(one.source, "categorical", (), rare=bytes(8))
    return fitted


def sampled(
    chunks: Iterator[Any],
    max_rows: int | None,
    seed: int,
    name: str = "the table",
    *,
    is_series: bool = False,
) -> tuple[Any, ...]:
    """A uniform sample of the rows of chunks, in their order, and how many there are."""
    rng = np.random.default_rng([seed, 3])
    held: list[Any] = []
    numbers, total = np.zeros(0), 0
    for chunk in chunks:
        if max_rows is None:
            max_rows = min(max(MOST_CELLS // max(chunk.shape[1], 1), LEAST_ROWS), MOST_ROWS)
        new = rng.random(len(chunk))
        if is_series:  # the last rows
            new = -np.arange(total, total + len(chunk), dtype=float)
        total += len(chunk)
        if len(numbers) >= max_rows:
            below = np.flatnonzero(new < numbers.max())
            chunk, new = smaller(chunk, below), new[below]
        held, numbers = [*held, chunk], np.concatenate([numbers, new])
        if len(numbers) > 1.5 * max_rows:  # not for every row that comes in
            held, numbers = _smallest(held, numbers, max_rows)
    if max_rows is None or not total:
        raise ValueError(
            f"{name} has no rows, expected some to learn from: check the program that wrote it"
        )
    return together(_smallest(held, numbers, max_rows)[0]), total


def _smallest(held: list[Any], numbers: np.ndarray, max_rows: int) -> tuple[Any, ...]:
    """Those rows of the chunks that have the smallest numbers."""
    if len(numbers) <= max_rows:
        return held, numbers
    kept = np.sort(np.argpartition(numbers, max_rows)[:max_rows])
    return [smaller(together(held), kept)], numbers[kept]


# -- chunks ------------------------------------------------------------------------------------------------------------


def need_pyarrow() -> Any:
    """The module pyarrow; ImportError, with what to do, where it is not installed."""
    try:
        for module in ("pyarrow.csv", "pyarrow.compute"):
            importlib.import_module(module)
        return importlib.import_module("pyarrow")
    except ModuleNotFoundError:
        raise ImportError(
            "reading tables in files needs pyarrow, which is not installed: pip install 'hld[cli]'"
        ) from None


def text_chunks(file: Any, dialect: Dialect, options: ReadOptions, name: str) -> Iterator[Any]:
    """Chunks of a text file (of `byte_files.with_head`), all of it as text."""
    pyarrow = need_pyarrow()
    chosen = options.chosen(dialect.names, name)
    if not dialect.has_rows:  # the names, so that it is said what is wrong
        yield pyarrow.schema([(one, pyarrow.string()) for one in chosen]).empty_table()
        return
    convert = pyarrow.csv.ConvertOptions(
        column_types=dict.fromkeys(dialect.names, pyarrow.string()),
        include_columns=chosen,
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
                if dialect.has_blanks:  # in front of texts
                    trimmed = [*map(pyarrow.compute.utf8_ltrim_whitespace, chunk.columns)]
                    chunk = pyarrow.table(trimmed, names=chunk.column_names)
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


def _parquet(file: Any, name: str, options: ReadOptions) -> Iterator[Any]:
    """Chunks of a Parquet file; from memory where it is a stream, as its end is read first."""
    import pyarrow.parquet

    source = file if file.seekable() else pyarrow.BufferReader(file.read())
    # buffers would keep all that was read of the file
    table = pyarrow.parquet.ParquetFile(source, pre_buffer=False)
    num_rows = max(min(CELLS // max(table.metadata.num_columns, 1), ROWS), 1)
    chosen = options.chosen(tuple(table.schema_arrow.names), name)
    for batch in table.iter_batches(num_rows):
        yield pyarrow.Table.from_batches([batch]).select(chosen)
    if not table.metadata.num_rows:  # the names, so that it is said what is wrong
        yield table.schema_arrow.empty_table().select(chosen)


def _no_table(name: str, dialect: Dialect, said: str) -> ValueError:
    """The error for a text file whose lines have different numbers of fields."""
    hint, first = "", dialect.names[0]
    if len(dialect.names) == 1 or first.lstrip().startswith(("#", "//", "%")):
        line = reprlib.repr(dialect.separator.join(dialect.names))
        hint = f" (its first line is {line}: remove lines that precede the names)"
    return ValueError(f"{name} is not a table separated by {dialect.separator!r}: {said}{hint}")


# -- JSON --------------------------------------------------------------------------------------------------------------


def json_line_chunks(file: Any, name: str, options: ReadOptions) -> Iterator[Any]:
    """Chunks of an open file of JSON lines, only the columns that are asked for."""
    seen: dict[str, None] = {}
    while lines := file.readlines(BLOCK):
        block = b"".join(lines)
        if not block.strip():
            continue
        rows = _values(block, name)
        if not all(isinstance(row, dict) for row in rows):
            hint = ": read it as one JSON value (--format json)" * block.lstrip().startswith(b"[")
            raise ValueError(
                f"{name} has a line that is no object, expected one object on each line{hint}"
            )
        columns = _columns_of_rows(rows, name)
        seen |= dict.fromkeys(columns)
        wanted = dict.fromkeys([*options.kept(seen), *(options.columns or ())])
        absent = [None] * len(rows)
        yield _table(
            {one: columns.get(one, absent) for one in wanted or options.chosen(tuple(seen), name)}
        )
    if not seen:
        raise ValueError(
            f"{name} has no rows, expected one object on each line: check the program that wrote it"
        )
    options.chosen(tuple(seen), name)


def _json_value(file: Any, name: str, options: ReadOptions) -> Iterator[Any]:
    """One JSON value, or JSON lines in a file whose name does not say so."""
    table = read_json(file.read(), name)
    yield table[options.chosen(tuple(table), name)]


def read_json(data: bytes, name: str) -> Any:
    """A JSON value as a table, or several values, one after the other, as its rows."""
    values = _values(data, name)
    value = values[0] if len(values) == 1 else values
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        return _table(_columns_of_rows(value, name))
    if isinstance(value, dict) and value:
        lengths = {len(cells) if isinstance(cells, list) else -1 for cells in value.values()}
        if len(lengths) == 1 and -1 not in lengths:
            return _table(value)
    raise ValueError(
        f"{name} must hold rows, [{{name: cell, ...}}, ...], or columns of one length, "
        "{name: [cell, ...], ...}: write a data frame with to_json(orient='records')"
    )


def _values(data: bytes, name: str) -> list[Any]:
    """The JSON values of a text, one after the other."""
    found, at = [], 0
    try:
        text = data.decode(json.detect_encoding(data)).removeprefix("\ufeff").strip()
        while at < len(text):
            value, at = DECODER.raw_decode(text, at)
            found.append(value)
            while text[at : at + 1].isspace():
                at += 1
    except (ValueError, RecursionError) as error:
        said = {
            UnicodeDecodeError: "is not text in UTF-8, expected JSON",
            RecursionError: "is nested too deeply: expected rows or columns of plain cells",
        }
        raise ValueError(f"{name} {said.get(type(error), f'is not JSON: {error}')}") from None
    if not found:
        raise ValueError(f"{name} is empty, expected JSON")
    return found


def _columns_of_rows(rows: list[Any], name: str) -> dict[str, list[Any]]:
    """Columns from one object for each row."""
    names = dict.fromkeys(chain.from_iterable(rows))
    if len(names) * len(rows) > 64 * (sum(map(len, rows)) + ROOM):
        raise ValueError(
            f"{name} has {len(rows)} rows with {len(names)} names in all, of which each has but a few: "
            "expected rows with the same columns"
        )
    return {one: [row.get(one) for row in rows] for one in names}


def _table(columns: dict[str, list[Any]]) -> Any:
    """Columns as a data frame that keeps each cell as it is."""
    import pandas

    cells = {name: object_cells(column) for name, column in columns.items()}
    return pandas.DataFrame(cells, dtype=object)
