"""What a user should know about the columns of a table before a circuit is learned from them."""
from __future__ import annotations

import re
import warnings
from typing import Any

MOST_NAMED = 8  # columns that a warning names
MOST_LEVELS = 11_000  # of a column
FEWEST_NUMBERS = 10  # levels of a text column that is reported to hold numbers
NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+|\d{1,3}([ ,.']\d{3})+([.,]\d+)?)([eE][+-]?\d+)?\s*%?\s*")


def examine_columns(schema: Any, given: Any, categorical: Any) -> None:
    """Warnings that name columns left out without having been asked for, and numbers that are text.

    Parameters
    ----------
    schema : TableSchema
        As learned.
    given : TableSchema or None
        As the user gave it.
    categorical : sequence of str or int, or None
        Columns that the user called categorical.

    Raises
    ------
    ValueError
        If a column has more levels than pairs of columns can be counted with.
    """
    for column in schema.columns:
        if len(column.levels or ()) > MOST_LEVELS:
            raise ValueError(f"`table` column {column.name!r} has {len(column.levels)} levels, expected at most "
                             f"{MOST_LEVELS}: lower `max_categories`, the rarest then share a category")
    asked = {column.name for column in given.left_out} if given is not None else set()
    known = {str(name) for name in (categorical if categorical is not None else ())}
    known |= {column.name for column in given.columns} if given is not None else set()
    numbers = [repr(column.name) for column in schema.columns if column.name not in known and _are_numbers(column)]
    if numbers:
        warnings.warn(f"`table` has columns of text most of which are numbers: {_some(numbers)}; each text is learned "
                      "as a level of its own: convert them to numbers, or name them in `categorical`",
                      UserWarning, stacklevel=4)
    found = [f"{column.name!r} ({column.note})" for column in schema.left_out if column.name not in asked]
    if found:
        warnings.warn(f"`table` has columns that only tell rows apart and are left out: "
                      f"{_some(found)}; name them in `categorical` or `continuous` to keep them",
                      UserWarning, stacklevel=4)


def _are_numbers(column: Any) -> bool:
    """Whether a column has many levels, and most are texts that a person would read as numbers."""
    texts = [level for level in column.levels or () if isinstance(level, str)] if column.kind == "categorical" else []
    return len(texts) >= FEWEST_NUMBERS and sum(bool(NUMBER.fullmatch(text)) for text in texts) > len(texts) / 2


def _some(names: list[str]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
