"""Edits as users write them, with the names of a column and a level, as variables and categories of a circuit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import pcircuit
from hld.answers.column_shifts import labels_of
from hld.answers.table_facts import as_table
from hld.planning.alternatives import Edit, share_after
from hld.tables.shown_names import listed


def coded_edit(detector: Any, edit: Edit) -> Edit:
    """An edit with a variable and a category in place of names."""
    place = _place(detector.encoder_, edit)
    p = float(pcircuit.marginal_tables(detector.circuit_)[place["column"]][place["level"]])
    if not 0 < p < 1 or share_after(p, edit.by) is None:
        raise ValueError(
            f"`by` of an edit is {edit.by:g}, but level {edit.level!r} of column {edit.column!r} has the "
            f"share {p:.4g}: expected a level that some rows have and some not, and a result from 0 to 1"
        )
    return replace(edit, **place)


def _place(encoder: Any, edit: Edit) -> dict[str, Any]:
    """Variable and category of an edit's column and level."""
    names = encoder.names
    is_number = isinstance(edit.column, (int, np.integer)) and not isinstance(edit.column, bool)
    is_place = is_number and 0 <= edit.column < len(encoder.table_names)  # type: ignore[operator]
    column = encoder.table_names[edit.column] if is_place else edit.column
    if column not in names:
        raise ValueError(
            f"`column` of an edit must be one of {listed(names, 8, near=edit.column)}, found {edit.column!r}"
        )
    v = names.index(column)
    labels = labels_of(encoder.columns[v])[:-1]  # missing cells are no level of the circuit
    for level in _readings(edit.level):
        cells = np.full((1, len(names)), None, dtype=object)
        cells[0, v] = level
        try:
            codes, report, _, _ = encoder.encode_counting(as_table(encoder, cells))
        except ValueError:
            if encoder.columns[v].unseen != "refuse":
                raise
            continue  # the schema refuses what is none of the levels, such as the text of a number
        if codes[0, v] >= 0 and not report.num_unseen[v]:
            return {"column": v, "level": int(codes[0, v])}
    if str(edit.level) in labels:
        return {"column": v, "level": labels.index(str(edit.level))}
    raise ValueError(
        f"`level` of an edit must be one of those of column {names[v]!r} ({', '.join(labels[:8])}), found "
        f"{edit.level!r}"
    )


def _readings(level: Any) -> list[Any]:
    """A level as it is, and a text as the number or the truth value that it may be."""
    if not isinstance(level, str):
        return [level]
    if level.lower() in ("true", "false"):  # as shells and files write them
        return [level, level.lower() == "true"]
    try:
        return [level, float(level)]
    except ValueError:
        return [level]
