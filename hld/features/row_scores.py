r"""What a stream is watched by: F numbers of a row, each ranked among the same number of the reference rows.

A martingale of ranks keeps its level whatever the numbers are, if they were chosen without the reference rows
(`hld.testing.sequential`).  So they are chosen to see every kind of shift, from the rows that the circuit learned from:

* columns       the category of each column, also missing, and below or above all that learning showed: in their order
                where they ascend, else the frequent ones first, so that rare ones are together at one end
* pairs         how typical the two values of a pair are, for the edges of the tree and the pairs two edges apart,

.. math:: a_{uv} = \ln \frac{p_{uv}}{p_u p_v},

                each column divided into at most six cells
* information   the sum of a over the pairs of each column, and over all pairs
* units         log-likelihoods of up to 128 units of the circuit
* directions    the leading principal directions of these units' likelihoods
* odd rows      how far out the row's most extreme number lies, how unlikely it is, and the like
                (`hld.features.odd_rows`)

The reference is then no more than a table of counts: the numbers are cut into at most `BINS` bins, at quantiles of the
rows learned from, with a bin at either end for what is beyond all of these.  Counts are what a model file keeps.
The last of these numbers are counted in batches, too (`hld.witnesses.row_ranks`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

import pcircuit
from hld.features.odd_rows import ODDNESS, array_of_names, names_of_array, odd_edges
from hld.tables.schemas.columns import NEW
from pcircuit.io.archive import check_names, finite_array

BINS = 66
CELLS = 6  # of a column, for pairs: five of values, one of missing cells
MOST_UNITS, MOST_DIRECTIONS = 128, 24
MOST_EXAMPLES = 1000  # rows that edges and directions are made of
BLOCK, ODD_CELLS = (
    2048,
    2**22,
)  # rows at a time; cells, where one number of a row is all that is held
NEVER = -1e30  # in place of the logarithm of 0
FARTHEST, NEAREST = 1e6, 1e-6  # in standard deviations
MOST_INFORMATION = 2000.0  # logarithms of ratios of doubles are smaller
SHARES = {
    "column": 0.35,
    "pair": 0.20,
    "information": 0.12,
    "unit": 0.13,
    "direction": 0.12,
}
OF_ODD = 3.0  # times the share of `ODDNESS` beside these: evidence of few odd rows grows slowly


class Kind(NamedTuple):
    """One number: its kind, and the variables that it speaks of, none where it speaks of all."""

    name: str
    variables: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class RowScores:
    """The F numbers of a row, the last of them those of `ODDNESS` with some names.

    Shapes: places, cells (sum of C_v + 3,), pairs (P, 2), information (P, CELLS^2), units (U,), scale (2, U),
    directions (D, U), edges (F, BINS - 1).
    """

    circuit: pcircuit.Circuit
    places: np.ndarray
    cells: np.ndarray
    pairs: np.ndarray
    information: np.ndarray
    units: np.ndarray
    scale: np.ndarray
    directions: np.ndarray
    edges: np.ndarray
    odd: tuple[str, ...] = field(default_factory=lambda: tuple(ODDNESS))

    @property
    def kinds(self) -> list[Kind]:
        """What each of the F numbers is."""
        V, edges = self.circuit.num_variables, [tuple(pair) for pair in self.pairs.tolist()]
        found = [Kind("column", (v,)) for v in range(V)] + [Kind("pair", pair) for pair in edges]
        if edges:
            found += [*(Kind("information", (v,)) for v in range(V)), Kind("information", ())]
        scopes = [tuple(self.circuit.scope(unit)) for unit in self.units.tolist()]
        found += [Kind("unit", () if len(scope) == V else scope) for scope in scopes]
        found += [Kind("direction", ())] * len(self.directions)
        return found + [Kind(name, ()) for name in self.odd]

    def log_weights(self) -> np.ndarray:
        """(F,) natural logarithms of the weights of the races, which sum to one."""
        names = [kind.name for kind in self.kinds]
        of_kinds = SHARES | {name: OF_ODD * ODDNESS[name].share for name in self.odd}
        shares = np.array([of_kinds[name] / names.count(name) for name in names])
        return np.log(shares / shares.sum())

    def bins(self, codes: np.ndarray, marks: np.ndarray | None = None) -> np.ndarray:
        """(N, F) bins of the numbers of rows."""
        return binned(self.values(codes, marks), self.edges)

    def values(self, codes: np.ndarray, marks: np.ndarray | None = None) -> np.ndarray:
        """(N, F) float32 numbers of rows: rounded, so that round-off decides no rank; shapes codes, marks (N, V)."""
        blocks = [self._values(*some) for some in _blocks(codes, marks, BLOCK)]
        return np.concatenate(blocks) if blocks else np.zeros((0, len(self.edges)), np.float32)

    def odd_counts(self, codes: np.ndarray, marks: np.ndarray | None = None) -> np.ndarray:
        """(S, BINS) how many rows are in each bin of the numbers of `odd`, the last bin those that do not show it."""
        return counted(self.odd_bins(codes, marks))

    def odd_bins(self, codes: np.ndarray, marks: np.ndarray | None = None) -> np.ndarray:
        """(n, S) the bin of each number of `odd`."""
        step = max(BLOCK, ODD_CELLS // codes.shape[1])  # long blocks, which are for the kernels
        values = [self.odd_values(*some) for some in _blocks(codes, marks, step)]
        values.append(np.zeros((0, len(self.odd)), np.float32))
        return binned(np.concatenate(values), self.edges[len(self.edges) - len(self.odd) :])

    def odd_values(self, codes: np.ndarray, marks: np.ndarray | None = None) -> np.ndarray:
        """(n, S) float32 numbers of `odd`."""
        each = [ODDNESS[name].values(self.circuit, codes, marks) for name in self.odd]
        return np.stack([*each, np.zeros(len(codes))], axis=1)[:, :-1].astype(np.float32)

    def _values(self, codes: np.ndarray, marks: np.ndarray | None) -> np.ndarray:
        """`values` of a block of rows."""
        sizes = np.array(self.circuit.num_categories) + 3
        where = entries(codes, marks, sizes)
        flat = where + (np.cumsum(sizes) - sizes)
        found = [self.places[flat]]
        if len(self.pairs):
            cells = self.cells[flat].astype(np.int64)
            u, v = self.pairs.T
            typical = self.information[
                np.arange(len(self.pairs)), cells[:, u] * CELLS + cells[:, v]
            ]
            sums = np.zeros((len(codes), len(sizes) + 1))
            for p in range(len(self.pairs)):  # in an order that does not depend on the rows
                for column in (u[p], v[p], -1):
                    sums[:, column] += typical[:, p]
            found += [typical, sums]
        likelihoods = pcircuit.node_likelihoods(self.circuit, codes, nodes=self.units)
        with np.errstate(over="ignore"):  # units that hardly vary among the rows learned from
            standard = (likelihoods - self.scale[0]) * self.scale[1]
        directed = np.clip(standard, -FARTHEST, FARTHEST) @ self.directions.T
        directed[np.abs(directed) < NEAREST] = 0.0  # what is left of terms that cancel
        found += [log_or_never(likelihoods), directed, self.odd_values(codes, marks)]
        return np.concatenate(found, axis=1, dtype=np.float32, casting="same_kind")

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Arrays for a model file: all but the circuit; edges that are infinite are written as NEVER."""
        arrays = {name: getattr(self, name) for name in ARRAYS}
        arrays["odd"] = array_of_names(self.odd)
        return arrays | {"edges": np.where(np.isfinite(self.edges), self.edges, NEVER)}

    @classmethod
    def from_arrays(cls, circuit: pcircuit.Circuit, arrays: dict[str, Any]) -> RowScores:
        """What `to_arrays` wrote, for this circuit; ValueError where it does not fit."""
        check_names(arrays, {*ARRAYS, "odd"}, "what streams are watched by")
        odd = names_of_array(arrays)
        sizes = np.array(circuit.num_categories) + 3
        V, total = circuit.num_variables, int(sizes.sum())
        places = finite_array(arrays, "places", (total,), np.int32)
        cells = finite_array(arrays, "cells", (total,), np.uint8)
        pairs = finite_array(arrays, "pairs", (None, 2), np.int64)
        information = finite_array(arrays, "information", (len(pairs), CELLS**2))
        units = finite_array(arrays, "units", (None,), np.int64)
        scale = finite_array(arrays, "scale", (2, len(units)))
        directions = finite_array(arrays, "directions", (None, len(units)))
        of_pairs = len(pairs) + V + 1 if len(pairs) else 0
        F = V + of_pairs + len(units) + len(directions) + len(odd)
        edges = finite_array(arrays, "edges", (F, BINS - 1), np.float32)
        edges = np.where(edges > NEVER, edges, np.float32(np.inf))
        ends = np.cumsum(sizes)[:-1]
        whole = (
            np.array_equal(np.sort(one), np.arange(len(one))) for one in np.split(places, ends)
        )
        fits = [
            *whole,
            cells.max(initial=0) < CELLS,
            (pairs >= 0).all() and (pairs < V).all(),
            (units >= 0).all() and (units < circuit.num_units).all(),
            (np.abs(directions) <= 1 + 1e-6).all(),
            (np.abs(information) <= MOST_INFORMATION).all(),
            (edges[:, 1:] >= edges[:, :-1]).all(),
        ]
        if not all(fits):
            raise ValueError("what streams are watched by does not fit the circuit")
        return cls(circuit, places, cells, pairs, information, units, scale, directions, edges, odd)


ARRAYS = ("places", "cells", "pairs", "information", "units", "scale", "directions", "edges")


@dataclass(frozen=True, eq=False)
class WatchedRows:
    """The reference of a stream: the numbers that are watched, and how often reference rows are in each bin.

    Shapes: counts (F, BINS).
    """

    scores: RowScores
    counts: np.ndarray

    @property
    def odd_counts(self) -> np.ndarray:
        """(S, BINS) those of the numbers of `scores.odd`."""
        return self.counts[len(self.counts) - len(self.scores.odd) :]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Arrays for a model file."""
        return self.scores.to_arrays() | {"counts": self.counts}

    @classmethod
    def from_arrays(cls, circuit: pcircuit.Circuit, arrays: dict[str, Any]) -> WatchedRows:
        """What `to_arrays` wrote, for this circuit; ValueError where it does not fit."""
        rest = {name: array for name, array in arrays.items() if name != "counts"}
        scores = RowScores.from_arrays(circuit, rest)
        counts = finite_array(arrays, "counts", (len(scores.edges), BINS), np.int64)
        rows = counts.sum(axis=1)
        if counts.min() < 0 or (rows != rows[0]).any():
            raise ValueError("the counts of the rows that streams are compared with do not agree")
        return cls(scores, counts)


def watched_rows(
    circuit: pcircuit.Circuit,
    tree: np.ndarray,
    learned: np.ndarray,
    kept: np.ndarray,
    *,
    marks: np.ndarray | None = None,
    ordered: tuple[int, ...] = (),
) -> WatchedRows:
    """Choose the numbers by rows that were learned from, and count those of rows that were not.

    `tree` has the parent of each variable, -1 at the root; `ordered` are the variables whose categories ascend.

    Shapes: tree (V,), learned (n, V), kept, marks (k, V).
    """
    sizes = np.array(circuit.num_categories) + 3
    where = entries(learned, None, sizes)
    places, cells = [], []
    for v, size in enumerate(sizes.tolist()):
        counts = np.bincount(where[:, v], minlength=size)
        ascends = v in ordered
        order = np.arange(size) if ascends else np.argsort(-counts, kind="stable")
        places.append(np.argsort(order))
        cells.append(_cells(counts, ascends))
    flat = np.concatenate(cells)[where + (np.cumsum(sizes) - sizes)].astype(np.int64)
    pairs = _pairs(tree)
    information = np.stack(
        [*map(_information, flat[:, pairs[:, 0]].T, flat[:, pairs[:, 1]].T)] or [np.zeros(CELLS**2)]
    )[: len(pairs)]
    units = pcircuit.select_nodes(circuit)
    units, examples = _spread(units, MOST_UNITS), _spread(learned, MOST_EXAMPLES)
    likelihoods = pcircuit.node_likelihoods(circuit, examples, nodes=units)
    mean, std = likelihoods.mean(axis=0), likelihoods.std(axis=0)
    scale = np.divide(1.0, std, out=np.zeros(len(std)), where=std > 1e-9 * mean)
    directions = np.linalg.svd((likelihoods - mean) * scale, full_matrices=False)[2]
    scores = RowScores(
        circuit,
        np.concatenate(places).astype(np.int32),
        np.concatenate(cells),
        pairs,
        information,
        units,
        np.stack([mean, scale]),
        directions[:MOST_DIRECTIONS],
        np.full((0, BINS - 1), np.inf, np.float32),
    )
    values = scores.values(examples)
    edges = [bin_edges(np.arange(size), values[:, v]) for v, size in enumerate(sizes)]
    first = values.shape[1] - len(scores.odd)
    edges += [bin_edges(one) for one in values[:, len(sizes) : first].T]
    edges += [odd_edges(one) for one in scores.odd_values(learned).T]
    scores = replace(scores, edges=padded(edges))
    return WatchedRows(scores, counted(scores.bins(kept, marks)))


def _blocks(codes: np.ndarray, marks: np.ndarray | None, size: int) -> Iterator[Any]:
    """So many rows of codes and marks at a time."""
    for start in range(0, len(codes), size):
        some = slice(start, start + size)
        yield codes[some], None if marks is None else marks[some]


def _spread(rows: np.ndarray, most: int) -> np.ndarray:
    """At most so many of some rows, at equal distances."""
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(int)]


def entries(codes: np.ndarray, marks: np.ndarray | None, sizes: np.ndarray) -> np.ndarray:
    """(N, V) what each cell shows: below all that was learned, category c as c + 1, above, missing last.

    Shapes: codes, marks (N, V), sizes (V,).
    """
    where = codes.astype(np.int64) + 1
    where = np.where(codes < 0, sizes - 1, where)
    if marks is None:
        return where
    beyond = np.where(where == 1, 0, np.where(where == sizes - 3, sizes - 2, where))
    return np.where(marks & NEW > 0, beyond, where)


def bin_edges(scores: np.ndarray, drawn: np.ndarray | None = None) -> np.ndarray:
    """At most BINS - 1 edges: between all scores where they are few, else at quantiles of what is `drawn`.

    The first and the last are beyond all scores, so that what none of these rows showed is in bins of its own.

    Shapes: scores (s,), drawn (n,).
    """
    values = np.unique(scores)
    if len(values) > BINS - 2:
        shares = np.linspace(0, 1, BINS - 2)
        source = scores if drawn is None else drawn
        values = np.unique(np.quantile(source, shares, method="inverted_cdf"))
    apart = 1e-5 * max(float(np.abs(values[values > NEVER]).max(initial=0.0)), 1e-30)
    middles = ((values[1:] + values[:-1]) / 2)[np.diff(values) > apart]
    return np.concatenate([values[:1] - apart, middles, values[-1:] + apart])


def padded(edges: list[np.ndarray]) -> np.ndarray:
    """(F, BINS - 1) edges, those that are fewer followed by infinity."""
    found = np.full((len(edges), BINS - 1), np.inf, np.float32)
    for row, one in zip(found, edges, strict=True):
        row[: len(one)] = one
    return found


def binned(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """(N, F) the bin of each number; shapes values (N, F), edges (F, BINS - 1)."""
    found = np.empty(values.shape, np.uint8)
    for k, row in enumerate(edges):
        found[:, k] = np.searchsorted(row, values[:, k], side="right")
    return found


def counted(bins: np.ndarray) -> np.ndarray:
    """(F, BINS) how many rows are in each bin; shapes bins (N, F)."""
    F = bins.shape[1]
    places = bins + BINS * np.arange(F)
    return np.bincount(places.ravel(), minlength=F * BINS).reshape(F, BINS)


def log_or_never(likelihoods: np.ndarray) -> np.ndarray:
    """Natural logarithms, NEVER for 0."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(likelihoods), NEVER)


def _pairs(tree: np.ndarray) -> np.ndarray:
    """(P, 2) the edges of a tree, and the pairs of a variable and its parent's parent."""
    parents = np.asarray(tree)
    above = np.where(parents >= 0, parents[np.maximum(parents, 0)], -1)
    every = np.arange(len(parents))
    found = [np.stack([of[of >= 0], every[of >= 0]], axis=1) for of in (parents, above)]
    return np.concatenate(found).astype(np.int64)


def _cells(counts: np.ndarray, ascends: bool) -> np.ndarray:
    """(C + 3,) the cell of a pair table that each entry of a column is in: about equally frequent ones, or the
    most frequent by themselves; missing in the last.

    Shapes: counts (C + 3,).
    """
    shown, last = counts[:-1], CELLS - 2
    if ascends:
        middle = np.cumsum(shown) - shown / 2
        cells = np.minimum(middle / max(shown.sum(), 1) * (last + 1), last)
    else:
        cells = np.minimum(np.argsort(np.argsort(-shown, kind="stable")), last)
    return np.append(cells, CELLS - 1).astype(np.uint8)


def _information(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """(CELLS^2,) log p_uv / (p_u p_v) of the cells of two columns, shrunk by one row towards independence.

    Shapes: u, v (n,).
    """
    joint = np.bincount(u * CELLS + v, minlength=CELLS**2).reshape(CELLS, CELLS)
    one, other = ((joint.sum(axis=axis) + 0.5) / (len(u) + CELLS / 2) for axis in (1, 0))
    independent = np.multiply.outer(one, other)
    return np.log((joint + independent) / (len(u) + 1) / independent).ravel()
