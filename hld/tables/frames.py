"""Data frames: each column as an array of its own, and nothing rounded on the way.

A column of a frame can hold more than the array it converts to.  Whole numbers with one missing value become
floats, in which neighbours beyond 2^53 coincide; nested values become a second dimension.  Such columns are taken as
Python objects instead.  Times of day are Python's, cut to microseconds, as those of Arrow are: with nanoseconds they
would be times in one row and text in another.

Frames are recognised by what they can do (``columns`` with ``iloc`` or ``get_column``), so that none of their
libraries is imported.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from hld.tables.factored import Factored, nested, object_cells
from hld.tables.forms import EXACT, arrow_column, refuse_repeated


def is_frame(table: Any) -> bool:
    """Whether a table is a data frame."""
    # asked of the type first: to answer for itself, a frame that is not computed yet would have to look at its files
    return (hasattr(type(table), "columns") or hasattr(table, "columns")) and not isinstance(
        table, np.ndarray
    )


def has_columns(frame: Any) -> bool:
    """Whether the columns of a frame can be had one by one, or it says itself why not."""
    return any(hasattr(frame, name) for name in ("iloc", "get_column", "collect"))


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
    if hasattr(frame, "iloc"):
        series = [frame.iloc[:, j] for j in range(len(names))]
    elif hasattr(frame, "get_column"):
        series = [frame.get_column(name) for name in frame.columns]
    else:
        raise TypeError(
            f"`table` is a {type(frame).__name__} with neither `iloc` nor `get_column`, expected "
            f"a 2-D array or a pandas or polars frame: convert it first"
        )
    arrays = [_exact_array(one, name) for one, name in zip(series, names, strict=True)]
    declared = [
        str(one.dtype).startswith(("category", "Categorical", "Enum", "dictionary"))
        and isinstance(array, Factored)
        for one, array in zip(series, arrays, strict=True)
    ]
    return names, arrays, declared


def exact_column(values: Any, name: str) -> Any:
    """A column of Arrow, pandas or polars that stands in a mapping as it would be in a table; others as they are.

    As plain arrays, whole numbers beside a missing one would be rounded.

    Returns (N,).
    """
    if hasattr(values, "null_count") and hasattr(values, "to_pylist"):
        return arrow_column(values, name)
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(
        values, (pandas.Index, pandas.api.extensions.ExtensionArray)
    ):
        values = pandas.Series(values)
    is_series = hasattr(values, "to_frame") and (
        hasattr(values, "iloc") or hasattr(values, "to_list")
    )
    return _exact_array(values, name) if is_series else values


def _exact_array(series: Any, name: str) -> Any:
    """The cells of a column (N,), as an array of its type where that holds them exactly, else as Python objects."""
    if hasattr(series.dtype, "pyarrow_dtype"):  # pandas cannot take all of Arrow's types apart
        return arrow_column(series.array.__arrow_array__(), name)
    kind = str(series.dtype)
    if kind.startswith("Extension("):  # of polars
        return arrow_column(series.to_arrow(), name)
    if kind == "category" and not _is_text(series.cat.categories):  # taken as what they are
        import pandas

        categories = pandas.array(series.cat.categories)
        cells = categories.take(series.cat.codes.to_numpy(), allow_fill=True)
        return _exact_array(pandas.Series(cells), name)
    if kind in ("Int128", "UInt128", "Time"):  # NumPy has no such integers, and no such times
        return object_cells(series.to_list())
    if kind.startswith("period") and hasattr(
        series, "dt"
    ):  # days, months, quarters: as the moment they begin
        return series.dt.to_timestamp().to_numpy()
    if hasattr(series, "factorize") and (
        kind in ("str", "string", "category") or (kind == "object" and _is_text(series))
    ):
        codes, levels = series.factorize()
        return Factored(codes, object_cells(np.asarray(levels, dtype=object).tolist()))
    array = series.to_numpy()
    if array.ndim != 1:
        return nested(len(array), name, kind)
    is_rounded = array.dtype.kind == "f" and not any(
        word in kind.lower() for word in ("float", "double")
    )
    if is_rounded and (np.abs(array) >= EXACT).any():  # false for NaN
        cells = (
            series.astype(object).to_numpy(dtype=object)
            if hasattr(series, "astype")
            else series.to_list()
        )
        return object_cells(cells)
    return array


def starts_of_periods(cells: np.ndarray) -> np.ndarray:
    """Objects (N,) that are pandas periods or missing as the moments they begin, as in a column of periods; else as is.

    Shapes: cells (N,) -> (N,).
    """
    pandas = sys.modules.get("pandas")
    if (
        pandas is None
        or cells.dtype != object
        or pandas.api.types.infer_dtype(cells, skipna=True) != "period"
    ):
        return cells
    try:
        return pandas.PeriodIndex(cells).to_timestamp().to_numpy()
    except ValueError:  # of several lengths
        return cells


def _is_text(cells: Any) -> bool:
    """Whether the cells of a pandas column, or its categories, are text or missing."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and pandas.api.types.infer_dtype(cells, skipna=True) == "string"
