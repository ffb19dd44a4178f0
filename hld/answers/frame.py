"""Results as pandas data frames, for those who have pandas."""
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
    rows = [{"column": one.name, "kind": one.kind, "pvalue": one.pvalue, "adjusted_pvalue": one.adjusted,
             "difference": one.difference, "direction": one.direction, "description": one.describe()}
            for one in columns]
    return data_frame(rows, ["column", "kind", "pvalue", "adjusted_pvalue", "difference", "direction", "description"])


def data_frame(values: Any, names: list[str] | None = None) -> Any:
    """A pandas data frame; ImportError says how to install pandas.

    Parameters
    ----------
    values : list of dict, or dict of str to array
        Records or columns.
    names : list of str, optional
        Columns and their order, also where there are no records.

    Returns
    -------
    pandas.DataFrame
    """
    try:
        import pandas
    except ImportError:
        raise ImportError("a data frame needs pandas, which is not installed: pip install 'hld[cli]'") from None
    return pandas.DataFrame(values, columns=names)
