r"""How far apart two models are: exactly, column by column and pair by pair, without any rows.

Two models of the same columns usually have different levels and different bins.  Both are mapped to common cells: all
levels that either knows, with one cell each for rare and for unseen ones; and all bin edges of either, where a bin that
is cut divides its probability as its values are divided (`hld.tables.values`).  The cell frequencies of a column
follow from the circuit's marginal table, those of a pair from its pair table, both exact, and

.. math:: d = \tfrac12 \sum_c |P_A(c) - P_B(c)|

is the share of rows that would have to change to turn one into the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import pcircuit
from hld.answers.column_shifts import DIGITS, RARE, UNSEEN, from_to, level_texts, percent
from hld.answers.dependences import cramers_v
from hld.tables.shown_names import in_one_line, visible
from hld.tables.values import Grid, grids, is_binned

MOST_PAIRS = 2_000
SHARED = {
    ("unseen",): UNSEEN,
    ("rare",): RARE,
}  # cells that no level is, also none of the same text


def compare_models(first: Any, second: Any) -> dict[str, Any]:
    """How far apart two detectors are, as plain values: columns, the farthest first, and pairs.

    One pass over each circuit for all columns, and one for all pairs.
    """
    sides = [_Side(model) for model in (first, second)]
    columns: list[dict[str, Any]] = []
    shared = {}
    for name in dict.fromkeys([*sides[0].at, *sides[1].at]):
        found: dict[str, Any] = {"name": name, "distance": None, "note": "", "cells": []}
        columns.append(found)
        found["note"] = _why_not(*(side.column(name) for side in sides))
        if found["note"]:
            continue
        labels, maps = _common(name, sides)
        shared[name] = maps
        a, b = (  # whose parts may add up to a little more
            np.minimum(side.marginals[side.at[name]] @ cells, 1.0)
            for side, cells in zip(sides, maps, strict=True)
        )
        found["distance"] = _distance(a, b)
        shares = zip(labels, a.tolist(), b.tolist(), strict=True)
        found["cells"] = [{"label": label, "first": x, "second": y} for label, x, y in shares]
    columns.sort(key=lambda one: (one["distance"] is None, -(one["distance"] or 0.0)))
    num_train = [first.num_train_, second.num_train_]
    return {"num_train": num_train, "columns": columns, "pairs": _pairs(sides, shared)}


def headline(found: dict[str, Any]) -> str:
    """The farthest column of `compare_models` in a line."""
    columns = [one for one in found["columns"] if one["distance"] is not None]
    if not columns:
        return "the models have no column in common that can be compared"
    farthest = "none differs"
    if columns[0]["distance"] > 0:
        share = percent(columns[0]["distance"])
        farthest = f"{in_one_line(columns[0]['name'])} differs most, in {share} of rows"
    rows = " and ".join(map(str, found["num_train"]))
    return (
        f"{len(columns)} column{'s' * (len(columns) > 1)} in common that can be compared; {farthest} "
        f"(models of {rows} rows)"
    )


def where_most(column: dict[str, Any]) -> str:
    """The cell of a column of `compare_models` that changed most, or why there is none, in words."""
    if column["distance"] is None:
        return str(column["note"])
    most = max(column["cells"], key=lambda cell: abs(cell["first"] - cell["second"]))
    return f"{visible(most['label'])} {from_to(most['first'], most['second'])}"


class _Side:
    """One of the two models: the places of its columns by name, marginals and values."""

    def __init__(self, model: Any) -> None:
        self.model, self.columns = model, model.encoder_.columns
        self.at = {column.name: v for v, column in enumerate(self.columns)}
        self.marginals = pcircuit.marginal_tables(model.circuit_)
        self.grids = grids(self.columns, model.values_)

    def column(self, name: str) -> Any:
        """A column of the model, None where it has none of this name."""
        return self.columns[self.at[name]] if name in self.at else None


def _why_not(first: Any, second: Any) -> str:
    """Why a column of both models cannot be compared, if that is so."""
    if first is None or second is None:
        return f"only in the {'second' if first is None else 'first'} model"
    binned = is_binned(first), is_binned(second)
    if not any(binned) or (all(binned) and first.kind == second.kind):
        return ""
    return f"{first.kind} in the first model, {second.kind} in the second"  # no common cells


def _common(name: str, sides: list[_Side]) -> tuple[tuple[str, ...], list[np.ndarray]]:
    """Labels of the common cells of a column, and for each side the (C, K) shares of its categories in them."""
    columns = [side.column(name) for side in sides]
    if is_binned(columns[0]):
        marks = sorted({*columns[0].edges, *columns[1].edges})
        maps = [
            _shares(column.edges, side.grids[side.at[name]], np.array(marks))
            for side, column in zip(sides, columns, strict=True)
        ]
        if not marks:
            return ("all",), maps
        texts = columns[0].texts(marks, DIGITS)
        inner = (f"{a} to {b}" for a, b in pairwise(texts))
        return (f"< {texts[0]}", *inner, f">= {texts[-1]}"), maps
    values = [column.values(*SHARED) for column in columns]
    cells = list(dict.fromkeys([*values[0], *values[1]]))
    maps = [np.eye(len(cells))[list(map(cells.index, own))] for own in values]
    levels = [cell for cell in cells if cell not in SHARED]
    texts = level_texts(levels, [SHARED[cell] for cell in cells if cell in SHARED])
    names = SHARED | dict(zip(levels, texts, strict=True))
    return tuple(names[cell] for cell in cells), maps


def _shares(edges: Sequence[float], grid: Grid, marks: np.ndarray) -> np.ndarray:
    """(C, K) shares that the bins of a column have in cells cut at marks."""
    shares = np.zeros((len(edges) + 1, len(marks) + 1))
    for k, (low, high) in enumerate(pairwise([-np.inf, *edges, np.inf])):
        inside = marks[(marks > low) & (marks < high)]
        parts = np.diff(grid.below(grid.starts([low, *inside, high])))
        if not parts.any():
            parts[0] = 1.0
        start = int(np.searchsorted(marks, low, side="right"))
        shares[k, start : start + len(parts)] = parts / parts.sum()
    return shares


def _pairs(sides: list[_Side], shared: Any) -> list[dict[str, Any]]:
    """Distances of pair tables along the edges of either tree, the largest first."""
    edges: dict[tuple[str, ...], None] = {}
    for side in sides:
        for edge in side.model.profile_.edges.tolist():
            names = tuple(sorted(side.columns[v].name for v in edge))
            if shared.keys() >= {*names}:
                edges[names] = None
    found: list[dict[str, Any]] = [{"columns": [*names]} for names in [*edges][:MOST_PAIRS]]
    tables = []
    for i, side in enumerate(sides):
        places = [(side.at[one["columns"][0]], side.at[one["columns"][1]]) for one in found]
        own = pcircuit.pairwise_tables(side.model.circuit_, places) if places else {}
        mapped = []
        for one, place in zip(found, places, strict=True):
            first, second = (shared[name][i] for name in one["columns"])
            mapped.append(first.T @ own[place] @ second)
        tables.append(mapped)
    for one, first, second in zip(found, *tables, strict=True):
        one["distance"] = _distance(first, second)
        one["first_association"], one["second_association"] = cramers_v(first), cramers_v(second)
    return sorted(found, key=lambda one: -one["distance"])


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    """Total variation distance of two tables of shares."""
    return float(min(np.abs(a - b).sum() / 2, 1.0))
