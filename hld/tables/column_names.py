"""Which column is meant: names given by the user, columns singled out, columns of a later table.

Names are text. A column with another kind of name (a number, a date) is known by the text of that name;
where the user specifies columns, text is a name and a whole number is a position.

Functions: `column_names`, `column_roles` (at fitting), `own_names` (at encoding), `table_called` (in errors).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from hld.tables.shown_names import listed

if TYPE_CHECKING:
    from hld.tables.cells import Columns


def column_names(names: Any, table_names: Any, num_columns: int) -> Any:
    """Names of the V columns: those given, else those of the frame, else x0, x1, ..."""
    if names is None:
        return table_names or tuple(f"x{v}" for v in range(num_columns))
    if not is_sequence(names) or isinstance(names, (set, frozenset)):  # which have no order
        raise TypeError(f"`names` is {names!r}, expected a sequence of {num_columns} names")
    names = tuple(names)
    if odd := [name for name in names if not isinstance(name, str)]:
        raise TypeError(f"`names` holds {odd[0]!r}, expected text")
    names = tuple(map(str, names))
    if len(names) != num_columns or len(set(names)) < num_columns:
        raise ValueError(
            f"`names` has {len(names)} entries, {len(set(names))} of them distinct, expected "
            f"{num_columns} distinct names, one for each column of `table`"
        )
    if table_names is not None and names != table_names:
        raise ValueError(
            f"`names` differs from the columns of `table` ({listed(table_names, is_quoted=False)}), "
            f"expected none for a data frame: leave `names` out, or rename the columns"
        )
    return names


def column_roles(names: Any, categorical: Any, continuous: Any) -> dict[str, Any]:
    """Dictionary from name to "categorical" or "continuous" for the columns that the user singled out."""
    roles: dict[Any, Any] = {}
    for role, chosen in (("categorical", categorical), ("continuous", continuous)):
        if chosen is not None and not is_sequence(chosen):
            raise TypeError(
                f"`{role}` is {chosen!r}, expected a sequence of column names or positions: "
                f"write [{chosen!r}]"
            )
        for entry in () if chosen is None else chosen:
            name = _column_name(entry, names, role)
            if roles.setdefault(name, role) != role:
                raise ValueError(
                    f"`categorical` and `continuous` both hold {name!r}, expected one of "
                    f"them to: remove it from the other"
                )
    return roles


def is_sequence(values: Any) -> bool:
    """Whether values can be taken one by one: neither text, nor bytes, nor an array without dimensions."""
    return (
        isinstance(values, Iterable)
        and not isinstance(values, (str, bytes))
        and getattr(values, "ndim", 1) > 0
    )


def _column_name(entry: Any, names: Any, role: Any) -> Any:
    """Name of the column that a name (text) or a position (whole number) points at."""
    if isinstance(entry, str):
        if entry not in names:
            raise ValueError(
                f"`{role}` names the column {entry!r}, expected one of {listed(names, near=entry)}"
            )
        return str(entry)
    if not isinstance(entry, (int, np.integer)) or isinstance(entry, bool):
        raise TypeError(
            f"`{role}` holds {entry!r}, expected column names (text) or positions (whole numbers; of a mask "
            "np.flatnonzero)"
        )
    if not 0 <= entry < len(names):
        raise ValueError(
            f"`{role}` holds position {entry}, expected 0..{len(names) - 1}: whole numbers "
            f"are positions, names are given as text"
        )
    return names[entry]


def own_names(columns: Columns, encoder: Any = None) -> list[Any]:
    """What an encoder calls each column of a table, None for one that it does not read.

    In tables that are matched by position, those that are left out have their places, and so names, too.
    """
    width = len(columns.arrays)
    if encoder is not None and encoder.goes_by_names(columns):
        known = {*encoder.names, *(one.source for one in encoder.derived)}
        return [name if name in known else None for name in columns.names or ()]
    if encoder is None or width != len(encoder.table_names):
        return [None] * width
    return list(encoder.table_names)


@contextlib.contextmanager
def table_called(name: str) -> Iterator[None]:
    """Errors about a `table` speak of the argument that it was given as."""
    try:
        yield
    except (TypeError, ValueError) as error:
        said = str(error)
        if type(error) not in (TypeError, ValueError) or not said.startswith("`table`"):
            raise
        raise type(error)(said.replace("`table`", f"`{name}`", 1)) from None
