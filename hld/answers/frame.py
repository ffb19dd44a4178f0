"""The columns of a result as a pandas data frame, for those who have pandas."""
from __future__ import annotations

from typing import Any


def columns_frame(columns: Any) -> Any:
    """One row per column: its p-values (NaN where it has none), how much it moved, where to, and in words.

    Parameters
    ----------
    columns : tuple of ColumnShift

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    ImportError
        If pandas is missing.
    """
    try:
        import pandas
    except ImportError:
        raise ImportError("a data frame needs pandas, which is not installed: pip install 'hld[cli]'") from None
    rows = [{"column": one.name, "kind": one.kind, "pvalue": one.pvalue, "adjusted_pvalue": one.adjusted,
             "difference": one.difference, "direction": one.direction, "description": one.describe()}
            for one in columns]
    return pandas.DataFrame(rows, columns=["column", "kind", "pvalue", "adjusted_pvalue", "difference", "direction",
                                           "description"])
