"""Tables of other libraries taken apart, and nothing rounded on the way.

Data frames, Arrow tables and record batches, structured arrays, mappings, named rows.

Nothing is imported to recognise a table: Arrow's have ``schema`` and ``column``, mappings are mappings, frames of
pandas have ``iloc``, and whatever else offers the Arrow stream interface (``__arrow_c_stream__``: frames of polars,
query results of DuckDB, and others) is read through pyarrow, which is then needed.

A column of a frame can hold more than the array it converts to.  Whole numbers with one missing value become
floats, in which neighbours beyond 2^53 coincide; nested values become a second dimension.  Such columns are taken as
Python objects instead; what is nested is refused where the column is looked at, as a batch may have columns that the
model does not know.  Times of day are Python's, cut to microseconds, as those of Arrow are: with nanoseconds they
would be times in one row and text in another.
"""

import collections
import collections.abc
import os
import re
import reprlib
import sys
from collections.abc import Callable, Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hld.tables.factored import Factored, object_cells
from hld.tables.shown_names import listed

_ROW_INDEX = re.compile(r"__index_level_\d+__")
TEXT = ("string", "large_string", "string_view")
EXACT = 2.0**53  # below this magnitude every whole number is a double


def is_arrow(table: Any) -> bool:
    """Whether a table is a table or a record batch of pyarrow."""
    return hasattr(table, "num_columns") and hasattr(table, "column") and hasattr(table, "schema")


def is_stream(table: ArrayLike) -> bool:
    """Whether a table is not known otherwise and offers the Arrow stream interface."""
    # columns of Arrow and polars offer it, too, and are arrays; so are tables of ibis, which have columns
    return hasattr(table, "__arrow_c_stream__") and not (
        hasattr(table, "__array__") and not hasattr(table, "columns")
    )


def from_stream(table: Any) -> Any:
    """A table that offers the Arrow stream interface, as a table of pyarrow."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            f"reading a {type(table).__name__} needs pyarrow, which is not installed: pip install "
            "'hld[cli]'"
        ) from None
    return pyarrow.table(table)


def arrow_parts(table: Any) -> tuple[tuple[Any, ...], list[Any], list[Any]]:
    """Names, columns (N,) and flags "declared as categories" of an Arrow table or record batch."""
    names = tuple(str(field.name) for field in table.schema)
    refuse_repeated(names)
    kept = [j for j, name in enumerate(names) if not is_row_index(name)]
    fields = [table.schema.field(j) for j in kept]
    columns = [arrow_column(table.column(j)) for j in kept]
    declared = [
        str(field.type).startswith("dictionary") and isinstance(column, Factored)
        for field, column in zip(fields, columns, strict=True)
    ]
    return tuple(names[j] for j in kept), columns, declared


def is_row_index(name: str) -> bool:
    """Whether a column without a name of its own is the row labels that pandas wrote beside the table."""
    return bool(_ROW_INDEX.fullmatch(name))


def arrow_column(column: Any) -> Any:
    """An Arrow column as an array where that holds it exactly, else as objects; text by number.

    Categories that are no text are taken as what they are, since Parquet keeps no more of them.

    Returns (N,).
    """
    import pyarrow

    kind = str(column.type)
    if isinstance(column.type, pyarrow.BaseExtensionType):  # as it is stored
        return arrow_column(column.cast(column.type.storage_type))
    if kind.startswith("dictionary") and str(column.type.value_type) not in TEXT:
        return arrow_column(_decoded(column))
    if kind.startswith("dictionary") or kind in TEXT:
        return _factored(column)
    if kind == "null":
        return np.full(len(column), None, dtype=object)
    if kind.startswith("time"):  # timestamps, and times of the day in microseconds at most
        return _time_column(column, kind)
    if column.null_count and pyarrow.types.is_integer(column.type):
        numbers = np.asarray(
            column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
        )
        return _objects(column) if (np.abs(numbers) >= EXACT).any() else numbers
    if kind.startswith("date"):
        return _dates(column)
    is_exact = pyarrow.types.is_primitive(column.type) and not kind.startswith("month")
    has_holes = column.null_count and pyarrow.types.is_boolean(column.type)
    return _plain(column) if is_exact and not has_holes else _objects(column)


def mapping_parts(
    table: Any, exact: Callable[[Any], Any] | None = None
) -> tuple[tuple[Any, ...], list[Any]]:
    """Names and arrays (N,) of a mapping from names to columns of one length."""
    names = tuple(str(name) for name in table)
    refuse_repeated(names)
    arrays = []
    for name, column in zip(names, table.values(), strict=True):
        values = column if exact is None else exact(column)
        array = values if isinstance(values, (np.ma.MaskedArray, Factored)) else _column(values)
        if not isinstance(array, Factored) and array.ndim != 1:
            raise ValueError(
                f"`table` column {name!r} has {array.ndim} dimensions, expected one value in each cell"
            )
        arrays.append(array)
    lengths = {len(array): name for name, array in zip(names, arrays, strict=True)}
    if len(lengths) > 1:
        some = ", ".join(
            f"{count:,} in {listed([name])}" for count, name in sorted(lengths.items())[:2]
        )
        raise ValueError(
            f"`table` has columns of different lengths ({some}), expected as many cells in each"
        )
    return names, arrays


def records_parts(records: Any) -> tuple[tuple[Any, ...], list[Any]]:
    """Names and arrays (N,) of a list of mappings, one a row: names in the order in which they appear."""
    names = list(dict.fromkeys(name for record in records for name in record))
    return mapping_parts({name: [record.get(name) for record in records] for name in names})


def named_rows(rows: Any) -> list[Any] | None:
    """Rows that name their cells (mappings, rows of databases, named tuples) as mappings; None if one has no names.

    Cells are found by name since two queries may give the same columns in another order.
    """
    if all(hasattr(row, "keys") and not hasattr(row, "columns") for row in rows):
        refuse_repeated(rows[0].keys())
        return [dict(row) for row in rows]
    has_names = all(isinstance(row, tuple) and hasattr(row, "_asdict") for row in rows)
    return [row._asdict() for row in rows] if has_names else None


def refuse_repeated(names: Any) -> None:
    """Raise if a name occurs twice."""
    repeated = sorted(
        (name for name, count in collections.Counter(names).items() if count > 1), key=str
    )
    if repeated:
        raise ValueError(
            f"`table` has more than one column named {listed(repeated)}, expected "
            f"distinct names (a name that is not text counts as its text): rename them"
        )


def _column(values: np.ndarray) -> np.ndarray:
    """A sequence as an array; lists as objects, so that one text among them does not make all of them text.

    Masked cells become None.
    """
    if hasattr(values, "__array__"):
        return np.asarray(values)
    if not hasattr(values, "__iter__") or isinstance(values, (str, bytes, Mapping, Set)):
        raise ValueError(
            f"`table` is a mapping whose columns must be sequences, found {reprlib.repr(values)}"
        )
    return object_cells([None if cell is np.ma.masked else cell for cell in values])


def numbers_of(column: Any, missing: float = np.nan) -> np.ndarray:
    """Numbers of an Arrow column (N,) from its memory: its to_numpy imports pandas, which takes longer than a test."""
    column = column.combine_chunks() if hasattr(column, "chunks") else column
    kind = str(column.type).replace("double", "float64")
    if not len(column):
        return np.zeros(0, kind)
    flags, values = column.buffers()
    place = slice(column.offset, column.offset + len(column))
    numbers = np.frombuffer(values, kind)[place]
    if not column.null_count:
        return numbers
    shown = np.unpackbits(np.frombuffer(flags, np.uint8), bitorder="little")[place]
    return np.where(shown, numbers, numbers.dtype.type(missing))


def _plain(column: Any) -> np.ndarray:
    """An Arrow column as NumPy has it."""
    column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    return column.to_numpy(zero_copy_only=False)


def _decoded(column: Any) -> Any:
    """A column by number as the column that it stands for."""
    import pyarrow

    if not isinstance(column, pyarrow.ChunkedArray):
        return column.dictionary.take(column.indices)
    return pyarrow.chunked_array(
        [chunk.dictionary.take(chunk.indices) for chunk in column.chunks], column.type.value_type
    )


def _objects(column: Any) -> np.ndarray:
    """An Arrow column as Python objects."""
    return object_cells(column.to_pylist())


def _dates(column: Any) -> np.ndarray:
    """Days as NumPy's dates."""
    import pyarrow

    return _plain(column.cast(pyarrow.timestamp("s"), safe=False))


def _time_column(column: Any, kind: Any) -> np.ndarray:
    """Time stamps as NumPy's dates in UTC; times of the day as Python's."""
    import pyarrow

    if not kind.startswith("timestamp"):
        return _objects(column.cast(pyarrow.time64("us"), safe=False))
    return _plain(column.cast(pyarrow.timestamp(column.type.unit)) if column.type.tz else column)


def _factored(column: Any) -> Factored:
    """Text by number."""
    import pyarrow

    if not str(column.type).startswith("dictionary"):
        column = column.dictionary_encode()
    if hasattr(column, "combine_chunks"):
        column = column.unify_dictionaries() if hasattr(column, "unify_dictionaries") else column
        column = column.combine_chunks()
    if isinstance(column, pyarrow.ChunkedArray):  # without a chunk
        return Factored(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=object))
    indices = (
        column.indices
        if pyarrow.types.is_signed_integer(column.indices.type)
        else column.indices.cast("int64")
    )
    codes = numbers_of(indices, -1)
    levels = _objects(column.dictionary)
    if column.dictionary.null_count:  # a hole may also be an entry of the dictionary
        codes = np.where(
            np.append(column.dictionary.is_null().to_numpy(zero_copy_only=False), True)[codes],
            -1,
            codes,
        ).astype(codes.dtype)
    return Factored(codes, levels)


def how_to_read(table: Any) -> str:
    """What to do with something that is no table of rows and columns, as the end of an error message."""
    if hasattr(table, "to_frame"):
        return "give `.to_frame()` of it, or `.to_frame().T` if it is a row"
    if isinstance(table, (str, bytes, os.PathLike)):
        return "read the file first, or name it to `hld fit` and `hld test` on the command line"
    if isinstance(table, collections.abc.Iterator):
        return "give all rows at once, such as list(table), or tables one after the other to hld.judge_chunks"
    if isinstance(table, (list, tuple)) or getattr(table, "ndim", None):
        return "Reshape your data, one row as table[None, :], one column as table[:, None]"
    return "give an array, a list of rows or a data frame"


def is_frame(table: Any) -> bool:
    """Whether a table is a data frame."""
    # asked of the type first: to answer for itself, a frame that is not computed yet would have to look at its files
    return (hasattr(type(table), "columns") or hasattr(table, "columns")) and not isinstance(
        table, np.ndarray
    )


def frame_parts(frame: Any) -> tuple[tuple[Any, ...], list[Any], list[Any]]:
    """Names as text, arrays (N,), and flags "declared as categories" of the columns of a data frame."""
    if hasattr(frame, "collect") and not hasattr(frame, "get_column"):
        raise TypeError(
            f"`table` is a {type(frame).__name__} that is not computed yet, expected its rows: collect it "
            "first, `table.collect()`"
        )
    if hasattr(frame, "__dask_graph__"):
        raise TypeError(
            f"`table` is a {type(frame).__name__} of Dask, expected its rows: use hld.dask.fit and "
            "hld.dask.judge, or `.compute()` it first"
        )
    names = tuple(str(name) for name in frame.columns)
    refuse_repeated(names)
    if not hasattr(frame, "iloc"):
        raise TypeError(
            f"`table` is a {type(frame).__name__} without `iloc` and `__arrow_c_stream__`, expected "
            f"a 2-D array or a pandas or polars frame: convert it first"
        )
    series = [frame.iloc[:, j] for j in range(len(names))]
    arrays = [_exact_array(one) for one in series]
    declared = [
        str(one.dtype).startswith(("category", "dictionary")) and isinstance(array, Factored)
        for one, array in zip(series, arrays, strict=True)
    ]
    return names, arrays, declared


def exact_column(values: Any) -> Any:
    """A column of Arrow, pandas or polars that stands in a mapping as it would be in a table; others as they are.

    As plain arrays, whole numbers beside a missing one would be rounded.

    Returns (N,).
    """
    values = values.to_arrow() if hasattr(values, "to_arrow") else values
    if hasattr(values, "null_count") and hasattr(values, "to_pylist"):
        return arrow_column(values)
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(
        values, (pandas.Series, pandas.Index, pandas.api.extensions.ExtensionArray)
    ):
        return values
    return _exact_array(pandas.Series(values))


def _exact_array(series: Any) -> Any:
    """The cells of a pandas column (N,), as an array of its type where that holds them exactly, else as objects."""
    if hasattr(series.dtype, "pyarrow_dtype"):  # pandas cannot take all of Arrow's types apart
        return arrow_column(series.array.__arrow_array__())
    kind = str(series.dtype)
    if kind == "category" and not _is_text(series.cat.categories):  # taken as what they are
        import pandas

        categories = pandas.array(series.cat.categories)
        cells = categories.take(series.cat.codes.to_numpy(), allow_fill=True)
        return _exact_array(pandas.Series(cells))
    if kind.startswith("period"):  # days, months, quarters: as the moment they begin
        return series.dt.to_timestamp().to_numpy()
    if kind in ("str", "string", "category") or (kind == "object" and _is_text(series)):
        codes, levels = series.factorize()
        return Factored(codes, object_cells(np.asarray(levels, dtype=object).tolist()))
    array = series.to_numpy()
    is_rounded = array.dtype.kind == "f" and not any(
        word in kind.lower() for word in ("float", "double")
    )
    if is_rounded and (np.abs(array) >= EXACT).any():  # false for NaN
        return object_cells(series.astype(object).to_numpy(dtype=object))
    return array


def _is_text(cells: Any) -> bool:
    """Whether the cells of a pandas column, or its categories, are text or missing."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and pandas.api.types.infer_dtype(cells, skipna=True) == "string"
