"""Answers in the forms that programs take: pandas data frames, what JSON can hold, and a line of progress.

JSON has no NaN, no infinities and no NumPy arrays.
"""

import importlib.util
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def shown_steps(is_wanted: bool = True) -> Iterator[Callable[[str], None]]:
    """A function that shows a text beside a spinner on standard error until the next one; an empty text hides it.

    Nothing is shown where that is no terminal, or `rich` is not installed.
    """
    is_seen = sys.stderr is not None and sys.stderr.isatty()  # None in programs without a console
    if not (is_wanted and is_seen and importlib.util.find_spec("rich")):
        yield lambda text: None
        return
    from rich.console import Console
    from rich.text import Text

    status = Console(stderr=True).status("")

    def show(text: str) -> None:
        status.update(Text(text))
        (status.start if text else status.stop)()

    try:
        yield show
    finally:
        status.stop()
