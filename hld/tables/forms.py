"""Tables of other libraries taken apart, and nothing rounded on the way.

Data frames, Arrow tables and record batches, structured arrays, mappings, named rows.

Nothing is imported to recognise a table: mappings are mappings, frames of pandas have ``iloc``, and whatever else
offers the Arrow stream interface (``__arrow_c_stream__``: frames of polars, query results of DuckDB, and others) is
read through pyarrow, which is then needed.

A column of a frame can hold more than the array it converts to.  Whole numbers with one missing value become
floats, in which neighbours beyond 2^53 coincide; nested values become a second dimension.  Such columns are taken as
Python objects instead; what is nested is refused where the column is looked at, as a batch may have columns that the
model does not know.  Times of day are Python's, to the microsecond.
"""

import collections
import collections.abc
import os
import re
import reprlib
import sys
from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from hld.tables.factored import Factored, object_cells
from hld.tables.shown_names import listed

_ROW_INDEX = re.compile(r"__index_level_\d+__")
EXACT = 2.0**53  # below this magnitude every whole number is a double
NAT = np.iinfo(np.int64).min  # the count that NumPy takes for a missing time


def named_parts(table: Any) -> tuple[tuple[Any, ...], list[Any], list[Any]] | None:
    """Names, columns (N,) and flags "declared as categories" of a table whose columns have names; None for others."""
    if hint := _not_yet(table):
        raise TypeError(f"`table` is a {type(table).__name__}, expected its rows: {hint}")
    if hasattr(table, "iloc") and hasattr(table, "columns"):
        return _frame_parts(table)
    if isinstance(table, Mapping):
        names, arrays = mapping_parts(table)
    elif isinstance(table, np.ndarray) and table.dtype.names is not None and table.ndim == 1:
        names = table.dtype.names
        arrays = [table[name] for name in names]
    elif isinstance(table, (list, tuple)) and table and (records := named_rows(table)) is not None:
        names = tuple(dict.fromkeys(name for record in records for name in record))
        names, arrays = mapping_parts({name: [row.get(name) for row in records] for name in names})
    else:
        return _arrow_parts(table) if _is_arrow(table) else None
    return names, arrays, [False] * len(names)


def _not_yet(table: Any) -> str:
    """What to do first with something that has no rows to read, empty for others."""
    if isinstance(table, type):
        return "give an object of this class"
    if hasattr(table, "tocsr"):
        return "a sparse one is read as `.toarray()` of it"
    # asked of the type: to answer for itself, a frame that is not computed yet would have to look at its files
    if hasattr(table, "__dask_graph__"):
        return "use hld.dask.fit and hld.dask.judge, or `.compute()` it first"
    if hasattr(type(table), "collect") and not hasattr(type(table), "get_column"):
        return "collect it first, `table.collect()`"
    return ""


def _is_arrow(table: Any) -> bool:
    """Whether a table is one of Arrow, or offers the Arrow stream interface."""
    # columns of Arrow and polars offer it, too, and are arrays; so are tables of ibis, which have columns
    is_array = hasattr(table, "__array__") and not hasattr(table, "columns")
    return hasattr(table, "__arrow_c_stream__") and not is_array


def _arrow_parts(table: Any) -> tuple[tuple[Any, ...], list[Any], list[Any]]:
    """Names, columns and flags of a table that Arrow takes."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            f"reading a {type(table).__name__} needs pyarrow, which is not installed: pip install "
            "'hld[cli]'"
        ) from None
    table = pyarrow.table(table)
    refuse_repeated(table.column_names)
    kept = [field for field in table.schema if not is_row_index(field.name)]
    columns = [arrow_column(table[field.name]) for field in kept]
    declared = [
        pyarrow.types.is_dictionary(field.type) and isinstance(column, Factored)
        for field, column in zip(kept, columns, strict=True)
    ]
    return tuple(field.name for field in kept), columns, declared


def is_row_index(name: str) -> bool:
    """Whether a column without a name of its own is the row labels that pandas wrote beside the table."""
    return bool(_ROW_INDEX.fullmatch(name))


def arrow_column(column: Any) -> Any:
    """An Arrow column (N,) as an array where that holds it exactly, else as objects; text by number.

    Categories that are no text are taken as what they are, since Parquet keeps no more of them.
    """
    import pyarrow
    from pyarrow import types

    kind = column.type
    if isinstance(kind, pyarrow.BaseExtensionType):
        return arrow_column(column.cast(kind.storage_type))
    if types.is_dictionary(kind) and not _is_text_type(kind.value_type):
        column = column.combine_chunks() if hasattr(column, "chunks") else column
        return arrow_column(column.dictionary.take(column.indices))
    if types.is_dictionary(kind) or _is_text_type(kind):
        return _factored(column)
    if types.is_timestamp(kind) or types.is_duration(kind):
        letter = "M" if types.is_timestamp(kind) else "m"
        return numbers_of(column.cast("int64"), NAT).view(f"{letter}8[{kind.unit}]")
    if types.is_date(kind):
        return arrow_column(column.cast(pyarrow.timestamp("ms"), safe=False))
    if types.is_time(kind):
        column = column.cast(pyarrow.time64("us"), safe=False)
    elif types.is_floating(kind) or (types.is_integer(kind) and not column.null_count):
        return numbers_of(column)
    elif types.is_integer(kind):
        numbers = numbers_of(column.cast("float64", safe=False))
        if not (np.abs(numbers) >= EXACT).any():
            return numbers
    elif types.is_boolean(kind) and not column.null_count:
        return numbers_of(column.cast("int8")).astype(bool)
    return object_cells(column.to_pylist())


def _is_text_type(kind: Any) -> bool:
    """Whether an Arrow type is text."""
    return str(kind) in ("string", "large_string", "string_view")


def numbers_of(column: Any, missing: float = np.nan) -> np.ndarray:
    """Numbers of an Arrow column (N,) from its memory: its to_numpy imports pandas, which takes longer than a test."""
    column = column.combine_chunks() if hasattr(column, "chunks") else column
    kind = column.type.to_pandas_dtype()
    if not len(column):
        return np.zeros(0, kind)
    flags, values = column.buffers()
    place = slice(column.offset, column.offset + len(column))
    numbers = np.frombuffer(values, kind)[place]
    if not column.null_count:
        return numbers
    shown = np.unpackbits(np.frombuffer(flags, np.uint8), bitorder="little")[place]
    return np.where(shown, numbers, numbers.dtype.type(missing))


def _factored(column: Any) -> Factored:
    """Text of Arrow by number."""
    import pyarrow

    if not pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries().combine_chunks() if hasattr(column, "chunks") else column
    levels = object_cells(column.dictionary.to_pylist())
    found = Factored(numbers_of(column.indices.cast("int64"), -1), levels)
    if column.dictionary.null_count:  # a hole may also be an entry of the dictionary
        return found.without(np.array([level is None for level in levels]))
    return found


def mapping_parts(table: Any) -> tuple[tuple[Any, ...], list[Any]]:
    """Names and arrays (N,) of a mapping from names to columns of one length."""
    names = tuple(str(name) for name in table)
    refuse_repeated(names)
    arrays = [_column(values) for values in table.values()]
    lengths = {len(array): name for name, array in zip(names, arrays, strict=True)}
    if len(lengths) > 1:
        some = ", ".join(
            f"{count:,} in {listed([name])}" for count, name in sorted(lengths.items())[:2]
        )
        raise ValueError(
            f"`table` has columns of different lengths ({some}), expected as many cells in each"
        )
    return names, arrays


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


def _column(values: Any) -> Any:
    """A sequence as a column (N,); lists as objects, so that one text among them does not make all of them text.

    Masked cells become None.
    """
    values = exact_column(values)
    if isinstance(values, (np.ma.MaskedArray, Factored)):
        return values
    if hasattr(values, "__array__"):
        array = np.asarray(values)
        if array.ndim != 1:
            raise ValueError(
                f"`table` has a column of {array.ndim} dimensions, expected one value in each cell"
            )
        return array
    if not hasattr(values, "__iter__") or isinstance(values, (str, bytes, Mapping, Set)):
        raise ValueError(
            f"`table` is a mapping whose columns must be sequences, found {reprlib.repr(values)}"
        )
    return object_cells([None if cell is np.ma.masked else cell for cell in values])


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


def _frame_parts(frame: Any) -> tuple[tuple[Any, ...], list[Any], list[Any]]:
    """Names as text, columns (N,) and flags of a data frame of pandas."""
    names = tuple(str(name) for name in frame.columns)
    refuse_repeated(names)
    series = [frame.iloc[:, j] for j in range(len(names))]
    arrays = [_series_cells(one) for one in series]
    declared = [
        str(one.dtype).startswith(("category", "dictionary")) and isinstance(array, Factored)
        for one, array in zip(series, arrays, strict=True)
    ]
    return names, arrays, declared


def exact_column(values: Any) -> Any:
    """A column of Arrow, pandas or polars that stands in a mapping as it would be in a table; others as they are.

    As plain arrays, whole numbers beside a missing one would be rounded.
    """
    values = values.to_arrow() if hasattr(values, "to_arrow") else values
    if hasattr(values, "null_count") and hasattr(values, "to_pylist"):
        return arrow_column(values)
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(
        values, (pandas.Series, pandas.Index, pandas.api.extensions.ExtensionArray)
    ):
        return values
    return _series_cells(pandas.Series(values))


def _series_cells(series: Any) -> Any:
    """The cells of a pandas column (N,), as an array of its type where that holds them exactly, else as objects."""
    from pandas.api.types import infer_dtype

    kind = str(series.dtype)
    if hasattr(series.dtype, "pyarrow_dtype"):  # pandas cannot take all of Arrow's types apart
        return arrow_column(series.array.__arrow_array__())
    if kind.startswith("period"):  # days, months, quarters: as the moment they begin
        return series.dt.to_timestamp().to_numpy()
    if kind in ("str", "string", "object", "category"):
        cells = series.cat.categories if kind == "category" else series
        if infer_dtype(cells, skipna=True) == "string":
            codes, levels = series.factorize()
            return Factored(codes, object_cells(np.asarray(levels, dtype=object)))
    array = series.to_numpy()
    is_whole = array.dtype.kind == "f" and kind.lower().lstrip("u").startswith("int")
    is_rounded = is_whole and (np.abs(array) >= EXACT).any()
    return object_cells(series.astype(object)) if is_rounded or kind == "category" else array
