"""Which column is meant: names given by the user, columns singled out, columns of a later table.

Names are text. A column with another kind of name (a number, a date) is known by the text of that name;
where the user specifies columns, text is a name and a whole number is a position.

Functions: `column_names`, `column_roles` (at fitting), `arrange`, `matched`, `own_names` (at encoding),
`table_called` (in errors).
"""

from __future__ import annotations

import contextlib
import operator
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
    if not all(isinstance(name, str) for name in names):
        raise TypeError(
            f"`names` holds {next(n for n in names if not isinstance(n, str))!r}, expected text"
        )
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
    if isinstance(entry, (bool, np.bool_)):
        raise TypeError(
            f"`{role}` holds booleans, expected names or positions: turn a mask into positions "
            f"with np.flatnonzero"
        )
    try:
        position = operator.index(entry)
    except TypeError:
        raise TypeError(
            f"`{role}` holds {entry!r}, expected column names (text) or positions (whole numbers)"
        ) from None
    if not 0 <= position < len(names):
        raise ValueError(
            f"`{role}` holds position {position}, expected 0..{len(names) - 1}: whole numbers "
            f"are positions, names are given as text"
        )
    return names[position]


def arrange(
    fitted_names: tuple[str, ...],
    all_names: tuple[str, ...],
    by_name: bool,
    parts: Columns,
    ignore_extra: bool = False,
) -> list[Any]:
    """The arrays of a table in the order of the fitted columns; ValueError for missing or extra ones."""
    found, absent, extra = matched(fitted_names, all_names, by_name, parts)
    if absent:
        raise ValueError(
            f"`table` has no column {listed(absent)}, expected every fitted "
            f"column: add it, filled with None where nothing is known"
        )
    if extra and not ignore_extra:
        raise ValueError(
            f"`table` has the column(s) {listed(extra)} that were not fitted, "
            f"expected only the fitted ones: drop them"
        )
    return found


def matched(
    fitted_names: tuple[str, ...], all_names: tuple[str, ...], by_name: bool, parts: Columns
) -> tuple[Any, ...]:
    """The arrays of a table in the order of the fitted columns, None for one that is not there; and what is odd."""
    if not by_name or parts.names is None:
        if len(parts.arrays) != len(all_names):
            raise ValueError(
                f"`table` has {len(parts.arrays)} columns, expected {len(all_names)} in the fitted "
                f"order ({listed(all_names, is_quoted=False)})"
            )
        arrays = dict(zip(all_names, parts.arrays, strict=True))
        return [arrays[name] for name in fitted_names], [], []
    arrays = dict(zip(parts.names, parts.arrays, strict=True))
    found = [arrays.get(name) for name in fitted_names]
    absent = [name for name, array in zip(fitted_names, found, strict=True) if array is None]
    return found, absent, sorted(set(parts.names) - set(all_names))


def own_names(columns: Columns, encoder: Any = None) -> list[Any]:
    """What an encoder calls each column of a table, None for one that it does not read.

    In tables that are matched by position, those that are left out have their places, and so names, too.
    """
    names, width = columns.names, len(columns.arrays)
    if encoder is None:
        return [None] * width
    if names is not None and (encoder.by_name or {*names} == {*encoder.table_names}):
        known = {*encoder.names, *(one.source for one in encoder.derived)}
        return [name if name in known else None for name in names]
    return list(encoder.table_names) if width == len(encoder.table_names) else [None] * width


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
