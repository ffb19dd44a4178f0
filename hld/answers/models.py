r"""How far apart two models are: exactly, column by column and pair by pair, without any rows.

Two models of the same columns usually have different levels and different bins.  Both are mapped to common cells: all
levels that either knows, with one cell each for rare and for unseen ones; and all bin edges of either, where a bin that
is cut divides its probability as its values are divided (`hld.tables.values`).  The cell frequencies of a column
follow from the circuit's marginal table, those of a pair from its pair table, both exact, and

.. math:: d = \tfrac12 \sum_c |P_A(c) - P_B(c)|

is the share of rows that would have to change to turn one into the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

import pcircuit
from hld.answers.column_shifts import RARE, UNSEEN, edge_texts, from_to, level_texts, percent
from hld.answers.pair_shifts import cramers_v
from hld.tables.shown_names import in_one_line, visible
from hld.tables.values import grids, is_binned

if TYPE_CHECKING:
    from hld.tables.schemas.columns import LevelColumn
    from hld.tables.values import Grid

MOST_PAIRS = 2_000
ONLY_IN = "only in the"  # the note of a column that one model has
SHARED = {
    ("unseen",): UNSEEN,
    ("rare",): RARE,
}  # cells that no level is, also none of the same text


@dataclass(frozen=True)
class ColumnDistance:
    """How far apart two models are in one column."""

    name: str
    distance: float | None
    note: str = ""
    labels: tuple[Any, ...] = ()
    first: tuple[Any, ...] = ()
    second: tuple[Any, ...] = ()

    def describe(self) -> str:
        """The cell that changed most, in words."""
        if self.distance is None:
            return self.note
        k = int(np.argmax(np.abs(np.subtract(self.first, self.second))))
        return f"{visible(self.labels[k])} {from_to(self.first[k], self.second[k])}"

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain Python values."""
        cells = [
            {"label": label, "first": a, "second": b}
            for label, a, b in zip(self.labels, self.first, self.second, strict=True)
        ]
        return {"name": self.name, "distance": self.distance, "note": self.note, "cells": cells}


@dataclass(frozen=True)
class ModelsDistance:
    """How far apart two models are."""

    columns: tuple[Any, ...]
    pairs: tuple[Any, ...]
    num_train: tuple[Any, ...]

    def headline(self) -> str:
        """The farthest column in a line."""
        found = [one for one in self.columns if one.distance is not None]
        others = sum(
            one.distance is None and not one.note.startswith(ONLY_IN) for one in self.columns
        )
        if not found:
            return (
                "the models have no column in common"
                if not others
                else (
                    f"{others} column{'s' * (others > 1)} in common, none that can be compared: of other kinds"
                )
            )
        farthest = (
            f"{in_one_line(found[0].name)} differs most, in {percent(found[0].distance)} of rows"
            if found[0].distance > 0
            else "none differs"
        )
        more = f" that can be compared, and {others} of other kinds" if others else ""
        return (
            f"{len(found)} column{'s' * (len(found) > 1)} in common{more}; {farthest} "
            f"(models of {self.num_train[0]} and {self.num_train[1]} rows)"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain Python values."""
        return {
            "num_train": list(self.num_train),
            "columns": [one.to_dict() for one in self.columns],
            "pairs": list(self.pairs),
        }


def compare_models(first: Any, second: Any) -> ModelsDistance:
    """Compare two detectors.

    One pass over each circuit for all columns, and one for all pairs.
    """
    sides = [_Side(model) for model in (first, second)]
    columns, shared = [], {}
    for name in dict.fromkeys([*sides[0].at, *sides[1].at]):
        absent = [k for k in range(2) if name not in sides[k].at]
        if absent:
            columns.append(
                ColumnDistance(name, None, f"{ONLY_IN} {('second', 'first')[absent[0]]} model")
            )
            continue
        kinds = [side.column(name).kind for side in sides]
        binned = [is_binned(side.column(name)) for side in sides]
        if any(binned) and (
            not all(binned) or kinds[0] != kinds[1]
        ):  # seconds and numbers have no common cells
            columns.append(
                ColumnDistance(
                    name, None, f"{kinds[0]} in the first model, {kinds[1]} in the second"
                )
            )
            continue
        labels, maps = _common(name, *sides)
        shared[name] = maps
        shares = [
            np.minimum(
                side.marginals[side.at[name]] @ m, 1.0
            )  # all parts may add up to a little more
            for side, m in zip(sides, maps, strict=True)
        ]
        columns.append(
            ColumnDistance(
                name, _distance(*shares), "", labels, *(tuple(one.tolist()) for one in shares)
            )
        )
    columns.sort(key=lambda one: (one.distance is None, -(one.distance or 0.0)))
    return ModelsDistance(
        tuple(columns), _pairs(sides, shared), (first.num_train_, second.num_train_)
    )


class _Side:
    """One of the two models: its columns by name, their marginals and their values."""

    def __init__(self, model: Any) -> None:
        self.circuit, self.columns = model.circuit_, model.encoder_.columns
        self.at = {column.name: v for v, column in enumerate(self.columns)}
        self.marginals = pcircuit.marginal_tables(model.circuit_)
        self.grids = grids(self.columns, model.values_)
        self.edges = [
            tuple(self.columns[v].name for v in edge) for edge in model.profile_.edges.tolist()
        ]

    def column(self, name: str) -> LevelColumn:
        """A column by name."""
        return self.columns[self.at[name]]

    def pair_tables(self, pairs: Any) -> list[Any]:
        """Pair tables of columns by name."""
        numbers = [(self.at[a], self.at[b]) for a, b in pairs]
        found = pcircuit.pairwise_tables(self.circuit, numbers) if numbers else {}
        return [found[pair] for pair in numbers]


def _common(name: str, first: _Side, second: _Side) -> tuple[Any, ...]:
    """Labels of the common cells of a column, and for each side the (C, K) shares of its categories in them."""
    columns = first.column(name), second.column(name)
    if not is_binned(columns[0]):
        values = [column.values(*SHARED) for column in columns]  # type: ignore[arg-type]
        labels = list(dict.fromkeys([*values[0], *values[1]]))
        maps = []
        for own in values:
            shares = np.zeros((len(own), len(labels)))
            shares[np.arange(len(own)), [labels.index(value) for value in own]] = 1
            maps.append(shares)
        own = [label for label in labels if label not in SHARED]
        shown = level_texts(own, [SHARED[label] for label in labels if label in SHARED])
        names = SHARED | dict(zip(own, shown, strict=True))
        return tuple(names[label] for label in labels), maps
    marks = sorted({*columns[0].edges, *columns[1].edges})  # type: ignore[attr-defined]
    texts = edge_texts(columns[0], marks)
    labels = (
        (
            f"< {texts[0]}",
            *(f"{a} to {b}" for a, b in pairwise(texts)),  # type: ignore[assignment]
            f">= {texts[-1]}",
        )
        if texts
        else ("all",)
    )
    return labels, [
        _shares(side.column(name), side.grids[side.at[name]], np.array(marks))
        for side in (first, second)
    ]


def _shares(column: Any, grid: Grid, marks: np.ndarray) -> np.ndarray:
    """(C, K) shares that the bins of a column have in cells cut at marks."""
    shares = np.zeros((len(column.edges) + 1, len(marks) + 1))
    ends = [-np.inf, *column.edges, np.inf]
    for k in range(len(ends) - 1):
        inside = marks[(marks > ends[k]) & (marks < ends[k + 1])]
        F = np.concatenate(
            [
                [0.0 if k == 0 else grid.below(grid.starts(ends[k]))],
                grid.below(grid.starts(inside)),
                [1.0 if k == len(ends) - 2 else grid.below(grid.starts(ends[k + 1]))],
            ]
        )
        parts = np.diff(F) / (F[-1] - F[0]) if F[-1] > F[0] else np.eye(1, len(F) - 1)[0]
        start = int(np.searchsorted(marks, ends[k], side="right"))
        shares[k, start : start + len(parts)] = parts
    return shares


def _pairs(sides: list[_Side], shared: Any) -> tuple[Any, ...]:
    """Distances of pair tables along the edges of either tree, the largest first."""
    edges = dict.fromkeys(tuple(sorted(edge)) for side in sides for edge in side.edges)
    edges = [edge for edge in edges if edge[0] in shared and edge[1] in shared][:MOST_PAIRS]  # type: ignore[assignment]
    found = []
    for edge, *tables in zip(edges, *(side.pair_tables(edges) for side in sides), strict=True):
        cells = [
            shared[edge[0]][k].T @ table @ shared[edge[1]][k] for k, table in enumerate(tables)
        ]
        found.append(
            {
                "columns": list(edge),
                "distance": _distance(*cells),
                "first_association": cramers_v(cells[0]),
                "second_association": cramers_v(cells[1]),
            }
        )
    return tuple(sorted(found, key=lambda one: -one["distance"]))


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    """Total variation distance of two tables of shares."""
    return float(min(np.abs(a - b).sum() / 2, 1.0))
