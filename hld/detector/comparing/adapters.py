"""Any detector as a function from a batch to a p-value, and any table as something that rows can be taken from.

A detector may be a function that returns a p-value, or an object with ``test`` or ``predict``.  The returned value may
be a number, an object with an attribute, or a mapping, nested or not, with a p-value under one of the usual names.
Several p-values, one for each column, are combined by Bonferroni's rule, as the detectors that return them do.  A
detector without p-values may say true or false, alarm or none, itself or under a usual name: p is then 0 or 1.
"""

import reprlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hld.tables.cells import objects_of, read_table
from hld.tables.column_names import table_called
from hld.tables.factored import object_cells
from hld.tables.shown_names import listed

NAMES = ("pvalue", "p_value", "p_val", "pval")
ALARMS = ("is_drift", "reject", "alarm", "drift")  # looked for only where no p-value is


def pvalue_function(detector: Any, name: str = "detectors") -> Callable[[Any], float]:
    """A function from a batch to a p-value."""
    for method in ("test", "predict"):
        if callable(getattr(detector, method, None)):
            run = getattr(detector, method)
            break
    else:
        if not callable(detector):
            raise TypeError(
                f"`{name}` must be a function of a batch or have a method `test`, found "
                f"{type(detector).__name__}"
            )
        run = detector
    return lambda batch: pvalue_of(run(_as_one_group(detector, batch)))


def pvalue_of(result: Any) -> float:
    """The p-value in what a detector returned; ValueError where there is neither one nor a verdict."""
    found = _find(result, NAMES, _is_number)
    if found is None:
        found = _find(result, ALARMS, _is_verdict)
        if found is not None and _is_verdict(found):
            return 0.0 if found else 1.0
        raise ValueError(
            f"the detector returned neither a p-value (a number, or one named {', '.join(NAMES)}) nor "
            f"true or false (or one named {', '.join(ALARMS)}), found {reprlib.repr(result)}"
        )
    values = np.asarray(found, dtype=np.float64).ravel()
    if not values.size or not ((values >= 0) & (values <= 1)).all():
        raise ValueError(
            f"the detector returned {reprlib.repr(found)}, expected p-values from 0 to 1"
        )
    return float(min(values.min() * values.size, 1.0))


def _as_one_group(detector: Any, batch: Any) -> Any:
    """A batch as it is, but for a detector of groups: it would warn of several, and random rows are of many."""
    unread = getattr(getattr(detector, "encoder_", None), "optional", ())
    if not unread or getattr(getattr(detector, "judge_", None), "kind", None) != "groups":
        return batch
    parts = read_table(batch)
    names = parts.names or ()
    return parts.keep([v for v, name in enumerate(names) if name not in unread]) if names else batch


def _find(result: Any, names: tuple[str, ...], is_one: Callable[[Any], bool]) -> Any:
    """What stands under one of the names, or the result itself if it is one of these."""
    if is_one(result):
        return result
    if isinstance(result, Mapping):
        for name in names:
            if name in result:
                return result[name]
        return next(
            (
                found
                for value in result.values()
                if isinstance(value, Mapping) and (found := _find(value, names, is_one)) is not None
            ),
            None,
        )
    return next((getattr(result, name) for name in names if hasattr(result, name)), None)


def _is_number(result: Any) -> bool:
    """Whether a result is a number, which true and false are not."""
    return isinstance(result, (int, float, np.number)) and not isinstance(result, bool)


def _is_verdict(result: Any) -> bool:
    """Whether a result is true or false, also as 0 or 1."""
    return isinstance(result, (bool, np.bool_)) or (_is_number(result) and result in (0, 1))


def num_rows(table: Any) -> int:
    """Rows of a table."""
    is_mapping = isinstance(table, Mapping)
    values = next(iter(table.values()), ()) if is_mapping else table
    if (
        not hasattr(values, "__len__")
        or isinstance(values, (str, bytes, type))
        or getattr(values, "ndim", 1) == 0
    ):
        found = "a mapping whose first column is of type " * is_mapping + type(values).__name__
        raise TypeError(f"`held_out` must be a table, found {found}")
    return len(values)


def take(table: Any, index: np.ndarray) -> Any:
    """The rows of a table at some positions, as a table of the same kind; shapes index (n,)."""
    if hasattr(table, "iloc"):
        return table.iloc[index]
    if isinstance(table, Mapping):
        return {name: _taken(column, index) for name, column in table.items()}
    if hasattr(table, "take") and hasattr(table, "schema"):
        return table.take(index)
    if hasattr(table, "columns") or isinstance(table, np.ndarray):
        return table[index]
    return [table[i] for i in index.tolist()]


def _taken(column: Any, index: np.ndarray) -> Any:
    """The cells of a column at some positions: masked ones stay masked, and numbers among texts in a list numbers."""
    if isinstance(column, np.ndarray):
        return column[index]
    if hasattr(column, "__array__"):
        return np.asarray(column)[index]
    cells = list(column)
    return [cells[i] for i in index.tolist()]


def column_of(table: Any, name: Any) -> np.ndarray:
    """(n,) the cells of a column, given by its name or position, as plain values."""
    with table_called("held_out"):
        columns = read_table(table)
    names = columns.names or tuple(f"x{v}" for v in range(len(columns.arrays)))
    at = names.index(str(name)) if str(name) in names else name
    if isinstance(at, bool) or not isinstance(at, (int, np.integer)) or not 0 <= at < len(names):
        raise ValueError(
            f"`edits` names the column {name!r}, expected one of {listed(names, near=name)}, or a "
            f"position from 0 to {len(names) - 1}"
        )
    return object_cells(objects_of(columns.arrays[at]).tolist())
