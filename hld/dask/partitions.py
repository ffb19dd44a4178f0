"""A table in partitions: Dask data frames or arrays, cut by rows, each partition a delayed piece."""

import functools
import operator
from typing import Any

import numpy as np

INSTALL = "tables on a cluster need Dask: pip install 'hld[dask]'"


def need_dask() -> Any:
    """The module `dask`."""
    try:
        import dask
    except ImportError as error:
        raise ImportError(INSTALL) from error
    return dask


def partitions_of(table: Any) -> list[Any]:
    """The pieces of a table, in the order of its rows."""
    need_dask()
    from dask.delayed import Delayed

    if isinstance(table, (list, tuple)) and all(isinstance(piece, Delayed) for piece in table):
        pieces = list(table)
    elif hasattr(table, "rechunk") and hasattr(table, "to_delayed"):
        if table.ndim != 2:
            raise ValueError(f"`table` must have two dimensions, found {table.ndim}")
        pieces = np.asarray(table.rechunk({1: -1}).to_delayed(), dtype=object).ravel().tolist()
    elif hasattr(table, "to_delayed"):
        pieces = list(table.to_delayed())
    else:
        raise TypeError(
            f"`table` must be a dask.dataframe, a dask.array or a list of dask.delayed pieces, found "
            f"{type(table).__name__}: a table in memory needs no cluster, give it to `HLDDetector.fit`"
        )
    if not pieces:
        raise ValueError("`table` has no partition")
    return pieces


def num_rows_of(pieces: list[Any]) -> np.ndarray:
    """(number of pieces,) rows of each, counted where they are."""
    dask = need_dask()
    sizes = dask.compute(*map(dask.delayed(_num_rows), pieces))
    return np.array(sizes, dtype=np.int64)


def computed_sum(parts: list[Any]) -> Any:
    """The sum of delayed parts in their order, eight neighbours at a time, so that no machine holds many."""
    dask = need_dask()
    added = dask.delayed(functools.partial(functools.reduce, operator.add))
    while len(parts) > 1:
        parts = [added(parts[i : i + 8]) for i in range(0, len(parts), 8)]
    return dask.compute(parts[0])[0]


def picked(piece: Any, rows: np.ndarray) -> Any:
    """Some rows of a piece."""
    return piece.iloc[rows] if hasattr(piece, "iloc") else piece[rows]


def joined(pieces: list[Any]) -> Any:
    """Pieces of one kind as one table in memory."""
    if hasattr(pieces[0], "iloc"):
        import pandas

        return pandas.concat(pieces)
    return np.concatenate(pieces)


def _num_rows(piece: Any) -> int:
    """Rows of a piece, on the worker that holds it."""
    if not any(hasattr(piece, name) for name in ("iloc", "dtype")):
        raise TypeError(
            f"`table` must have pieces that are data frames or arrays, found {type(piece).__name__}: "
            "convert them, as in dask.delayed(pandas.DataFrame)(piece)"
        )
    return len(piece)
