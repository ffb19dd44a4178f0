"""Counts of a table, column by column and pair by pair: they describe a batch, and what it is compared with.

A p-value says that a batch departs; its counts say how.  For N rows of codes a profile holds

    counts[v][c]        rows with category c in column v, and after the categories the rows where v is missing
    pairs[e][i, j]      rows with categories i and j in the two columns of edge e

    odd[s][b]           rows with the number s in bin b (`hld.features.odd_rows`), in batches where it is known

for the edges of a tree over the columns, the Chow-Liu tree of the training rows: these pairs are the most strongly
dependent.  Profiles of parts of a table add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.io.archive import finite_array

MOST_ROWS = 2**53
LAWS = (2, 4)  # moments of the distances of counts: by columns, by pairs
MOST_ASSOCIATED = 2000.0  # logarithms of ratios of doubles are smaller
MOST_CELLS = 2_000_000  # of all pair tables together; pairs beyond are left out


@dataclass(frozen=True, eq=False)
class Profile:
    """Counts of a table; shapes edges (E, 2), laws (2, 4), odd (S, BINS)."""

    num_rows: int
    counts: tuple[Any, ...]
    edges: np.ndarray
    pairs: tuple[Any, ...]
    laws: np.ndarray | None = None
    associations: tuple[Any, ...] | None = None
    odd: np.ndarray | None = None

    def __add__(self, other: Profile) -> Profile:
        """The profile of both tables together."""
        return Profile(
            self.num_rows + other.num_rows,
            tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)),
            self.edges,
            tuple(a + b for a, b in zip(self.pairs, other.pairs, strict=True)),
            odd=None if self.odd is None or other.odd is None else self.odd + other.odd,
        )

    def to_arrays(self) -> dict[str, Any]:
        """Flat arrays for a file."""
        arrays = {
            "counts": np.concatenate(self.counts),
            "edges": self.edges,
            "pairs": _flat(self.pairs, np.int64),
        }
        if self.associations is not None:
            arrays["associations"] = _flat(self.associations, np.float64)
        return arrays if self.laws is None else arrays | {"laws": self.laws}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any], num_categories: tuple[int, ...]) -> Profile:
        """A profile that `to_arrays` wrote, for columns with so many categories; ValueError where it does not fit."""
        sizes, V = [C + 1 for C in num_categories], len(num_categories)
        edges = _array(arrays, "edges", (None, 2))
        if len(edges) >= max(V, 1) or (edges >= V).any() or (edges[:, 0] == edges[:, 1]).any():
            raise ValueError(
                f"the edges of a profile must be less than {V} pairs of different columns"
            )
        shapes = [(num_categories[u], num_categories[v]) for u, v in edges.tolist()]
        num_cells = sum(a * b for a, b in shapes)
        if num_cells > MOST_CELLS:
            raise ValueError(f"the pair tables of a profile must have at most {MOST_CELLS} cells")
        counts = np.split(_array(arrays, "counts", (sum(sizes),)), np.cumsum(sizes)[:-1])
        pairs = tables_of(_array(arrays, "pairs", (num_cells,)), shapes)
        totals = {sum(one.tolist()) for one in counts}  # which may be beyond 64 bits
        num_rows = totals.pop()
        most = max((sum(one.ravel().tolist()) for one in pairs), default=0)
        if totals or not max(most, 1) <= num_rows <= MOST_ROWS:
            raise ValueError("the counts of a profile must be of the same rows in every column")
        laws, associations = None, None
        if "laws" in arrays:
            laws = _array(arrays, "laws", LAWS, np.float64)
        if "associations" in arrays:
            most = MOST_ASSOCIATED
            found = _array(arrays, "associations", (num_cells,), np.float64, -most, most)
            associations = tables_of(found, shapes)
        return cls(num_rows, tuple(counts), edges, pairs, laws, associations)


@dataclass(frozen=True, eq=False)
class Held:
    """What the counts of a batch are compared with: those of other rows, and how the columns are counted.

    `missing` has a number of rows and (V,) missing cells, `new` the `KeptValues`, both None where they are not tested;
    `odd` names the numbers of rows that are counted.
    """

    columns: tuple[Any, ...]
    ordered: tuple[int, ...]
    counts: Profile
    odd: tuple[str, ...]
    missing: tuple[Any, Any] | None
    new: Any


def profile_of(codes: np.ndarray, num_categories: tuple[int, ...], edges: ArrayLike) -> Profile:
    """The profile of a table; shapes codes (N, V), edges (E, 2).

    O(N (V + E)); beside the codes and the counts memory for as many codes, and for the rows of a pair of columns.
    """
    edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    columns = np.ascontiguousarray(codes.T)
    counts = []
    for column, C in zip(columns, num_categories, strict=True):
        found = column.astype(np.int64)
        found[found < 0] = C  # missing cells are last
        counts.append(np.bincount(found, minlength=C + 1))
    pairs = []
    for u, v in edges.tolist():
        shape = num_categories[u], num_categories[v]
        first, second = columns[u].astype(np.int64), columns[v].astype(np.int64)
        flat = first * shape[1] + second
        is_whole = (first | second) >= 0
        if not is_whole.all():
            flat = flat[is_whole]
        pairs.append(np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape))
    return Profile(len(codes), tuple(counts), edges, tuple(pairs))


def tree_edges(tree: np.ndarray, num_categories: Sequence[int]) -> np.ndarray:
    """(E, 2) edges of a tree of columns, those of small tables first where not all can be held.

    Shapes: tree (V,) -> (E, 2).
    """
    edges = sorted((min(v, p), max(v, p)) for v, p in enumerate(tree.tolist()) if p >= 0)
    cells = np.array([num_categories[u] * num_categories[v] for u, v in edges], dtype=np.int64)
    order = np.argsort(cells, kind="stable")
    kept = np.sort(order[np.cumsum(cells[order]) <= MOST_CELLS])
    return np.array([edges[i] for i in kept.tolist()], dtype=np.int64).reshape(-1, 2)


def _flat(tables: tuple[np.ndarray, ...], dtype: Any) -> np.ndarray:
    """The cells of all tables."""
    return np.concatenate([np.zeros(0, dtype), *(table.ravel() for table in tables)])


def tables_of(cells: np.ndarray, shapes: list[tuple[int, int]]) -> tuple[np.ndarray, ...]:
    """Tables of given shapes, from all their cells."""
    ends = np.cumsum([a * b for a, b in shapes])
    return tuple(
        cells[end - a * b : end].reshape(a, b)
        for (a, b), end in zip(shapes, ends.tolist(), strict=True)
    )


def _array(
    arrays: dict[str, np.ndarray],
    name: str,
    shape: tuple[Any, ...],
    dtype: Any = np.int64,
    least: float = 0.0,
    most: float = np.inf,
) -> np.ndarray:
    """An array of a file, of numbers in a range."""
    found = finite_array(arrays, name, shape, dtype)
    if found.min(initial=0) < least or found.max(initial=0) > most:
        raise ValueError(f"array {name!r} must hold numbers from {least:g} to {most:g}")
    return found
