"""Answers in the forms that programs take: pandas data frames, and what JSON can hold.

JSON has no NaN, no infinities and no NumPy arrays.
"""

import math
from numbers import Integral, Real
from typing import Any

NANOSECONDS = ("datetime64[ns]", "timedelta64[ns]")


COLUMNS = ["name", "kind", "pvalue", "adjusted_pvalue", "difference", "direction", "description"]


def columns_frame(columns: Any) -> Any:
    """One row per column: its p-values (NaN where it has none), how much it moved, where to, and in words."""
    return data_frame([one.to_dict() | {"description": one.describe()} for one in columns], COLUMNS)


def data_frame(values: Any, names: list[str] | None = None) -> Any:
    """A pandas data frame; ImportError says how to install pandas."""
    try:
        import pandas
    except ImportError:
        raise ImportError(
            "a data frame needs pandas, which is not installed: pip install 'hld[cli]'"
        ) from None
    return pandas.DataFrame(values, columns=names)


def plain_json(value: Any) -> Any:
    """A value in a form that JSON can hold: arrays become lists, NaN and infinities null, other objects their text."""
    if isinstance(value, dict):
        return {str(key): plain_json(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_json(entry) for entry in value]
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        if str(getattr(value, "dtype", "")) in NANOSECONDS:  # which NumPy gives as bare integers
            from hld.tables.times import times_as_objects  # imports NumPy, which help needs not

            return plain_json(times_as_objects(value).tolist())
        plain = value.tolist()
        if type(plain) is not type(value):
            return plain_json(plain)
    if isinstance(value, Real) and not isinstance(value, Integral):
        value = float(value)  # also of extended precision, whose plain value is itself
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
