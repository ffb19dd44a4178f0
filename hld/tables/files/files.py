"""Files as tables, in chunks: CSV, Parquet and JSON lines, compressed or not, from a file or from standard input.

Arrow reads them (`files.row_chunks`), JSON apart.

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
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from hld.tables.calendar import PARTS
from hld.tables.factored import object_cells
from hld.tables.files.byte_files import called, form_of, opened, with_head
from hld.tables.files.dialect import ReadOptions, find_dialect
from hld.tables.files.row_chunks import smaller, text_chunks, together, typed_chunks
from hld.tables.files.text_cells import as_fitted, typed_columns
from hld.tables.schemas.columns import BinColumn, LevelColumn
from hld.tables.schemas.encoder import TableEncoder

DEFAULT = ReadOptions()
MOST_ROWS, LEAST_ROWS = 200_000, 20_000  # of a sample to learn from, by the number of columns
MOST_CELLS = 50_000_000  # in it: from 250 columns on fewer rows, so that time and memory do not grow any more


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
        fitted, is_empty = fitted_columns(encoder, dialect.names), True
        for chunk in text_chunks(file, dialect, options, called(path)):
            is_empty = False
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
    if is_empty:  # the names, so that it is said what is wrong
        yield {name: object_cells([]) for name in options.chosen(dialect.names, called(path))}


def fitted_columns(encoder: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """What the columns of a text file were fitted to, by names in the file; None for what training did not have."""
    fitted: dict[str, Any] = {column.name: column for column in encoder.columns}
    if (
        not encoder.by_name
        and len(names) == len(encoder.table_names)
        and set(names) != set(encoder.table_names)
    ):
        fitted = {
            given: fitted.get(known)
            for given, known in zip(names, encoder.table_names, strict=True)
        }
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
        new = (
            -np.arange(total, total + len(chunk), dtype=float)
            if is_series
            else rng.random(len(chunk))
        )
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
