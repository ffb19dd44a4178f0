"""What is no table, though somebody gives it for one: what to do with it instead."""

from __future__ import annotations

import collections.abc
import os
from typing import Any


def how_to_read(table: Any) -> str:
    """What to do with something that is no table of rows and columns, as the end of an error message."""
    if hasattr(table, "to_frame"):
        return "give `.to_frame()` of it, or `.to_frame().T` if it is a row"
    if isinstance(table, (str, bytes, os.PathLike)):
        return "read the file first, or name it to `hld fit` and `hld test` on the command line"
    if hasattr(table, "read") and (hasattr(table, "readline") or hasattr(table, "schema_arrow")):
        return "read the file first, for example with pandas or pyarrow"
    if isinstance(table, collections.abc.Iterator):
        return "give all rows at once, such as list(table), or tables one after the other to hld.judge_chunks"
    if hasattr(table, "cursor") and hasattr(table, "execute"):
        return "give the rows of a query, or test in the database with hld.sql.test"
    if hasattr(table, "to_table") and hasattr(table, "to_batches"):
        return "give `.to_table()` of it, or `.to_batches()` to hld.judge_chunks"
    if is_grouped(table):
        return "give the frame before it is grouped, or each group by itself"
    if isinstance(table, (list, tuple)) or getattr(table, "ndim", None):
        return "Reshape your data, one row as table[None, :], one column as table[:, None]"
    return "give an array, a list of rows or a data frame"


def is_grouped(table: Any) -> bool:
    """Whether something is the groups of a data frame."""
    return "GroupBy" in type(table).__name__


def is_sparse(table: Any) -> bool:
    """Whether a table is a sparse matrix of SciPy, some of which are dictionaries as well."""
    return hasattr(table, "tocsr")
