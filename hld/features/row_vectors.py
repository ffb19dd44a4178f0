"""What a test looks at in a row: the likelihoods of some nodes and, if it is asked to, features of the row's score.

Both are plain numbers of a row, whose means over a batch and over reference rows can be compared.  They form one
vector, the m likelihoods first, so that one table of reference rows, and one set of drawn batches, gives their joint
distribution.

In files no average is larger than the numbers that it is an average of can be.  Likelihoods are at most 1, and
features of the score at most the sum of their factors (`RowVectors.bounds`), so what is larger was written by nobody,
and would leave the range of doubles where its square, or the square of that, is taken.

Missing values of a batch are drawn from the circuit, given the rest of their row.  If a row follows the circuit and
its holes do not depend on the values in them, the row with its holes filled by draws from the circuit's conditional
distribution follows the circuit as well.  So a test of completed rows keeps its level exactly, whatever the pattern of
the holes; it loses power, since drawn values cannot show a shift.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import pcircuit
from hld.features.score_features import ScoreFeatures
from pcircuit.evidence import checked, is_missing
from pcircuit.inference.densities import log_bounds
from pcircuit.inference.scores import score_of_flows
from pcircuit.io.archive import finite_array
from pcircuit.moments.rounding import rounding_errors

BLOCK_ROWS = 8_192  # whose likelihoods and features are held beside their vectors
AVERAGING_SLACK = 1e-3  # roundings of any kind


@dataclass(frozen=True, eq=False)
class RowVectors:
    """The vectors of rows; shapes nodes (m,)."""

    circuit: pcircuit.Circuit
    nodes: np.ndarray
    features: ScoreFeatures | None = None

    @property
    def size(self) -> int:
        """Numbers of a vector: m, and those of the features."""
        return len(self.nodes) + (0 if self.features is None else self.features.num_features)

    @property
    def bounds(self) -> np.ndarray:
        """(size,) what no number of a row exceeds in absolute value: likelihoods, and scores times factors."""
        return self._with(np.ones(len(self.nodes)), lambda features: features.bounds)

    def _with(
        self, likelihoods: np.ndarray, more: Callable[[ScoreFeatures], np.ndarray]
    ) -> np.ndarray:
        """(size,) numbers of the nodes, and those of the features if there are any."""
        if self.features is None:
            return likelihoods
        return np.append(likelihoods, more(self.features))

    @cached_property
    def ranges(self) -> np.ndarray:
        """(size,) by how much, at most, each number of two rows differs: all others of a row are at their largest."""
        largest = np.exp(log_bounds(self.circuit))
        for r, region in enumerate(self.circuit.regions):
            if region.is_input and region.num_categories:
                largest[self.circuit.nodes.region == r] = np.ptp(region.probs, axis=1)
        return self._with(largest[self.nodes], lambda features: 2 * features.bounds)

    def rows(self, data: np.ndarray) -> np.ndarray:
        """(n, size) vectors of rows (n, V)."""
        if self.features is None:
            return pcircuit.node_likelihoods(self.circuit, data, nodes=self.nodes)
        vectors, m = np.empty((len(data), self.size)), len(self.nodes)
        for start in range(
            0, len(data), BLOCK_ROWS
        ):  # so that no second table is held beside the first
            rows, some = data[start : start + BLOCK_ROWS], vectors[start : start + BLOCK_ROWS]
            some[:, :m] = pcircuit.node_likelihoods(self.circuit, rows, nodes=self.nodes)
            some[:, m:] = self.features.of_rows(self.circuit, rows)
        return vectors

    def mean(self, data: np.ndarray) -> np.ndarray:
        """(size,) their mean over the rows, in two passes."""
        likelihoods = pcircuit.mean_node_likelihoods(self.circuit, data, nodes=self.nodes)
        return self._with(
            likelihoods,
            lambda features: features.of_scores(pcircuit.mean_score(self.circuit, data)),
        )

    def sums(self, data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(size,) sums of each number over the rows (n, V) that show it, -1 for a hole, and how many rows these are.

        A missing cell is one more category, whose likelihood is 0 for every unit: so are those of all nodes that the
        row does not show, and no row has to be looked at by itself.
        """
        if not self.circuit.is_categorical or not len(data):
            sums, counts = np.zeros(self.size), np.zeros(self.size, dtype=np.int64)
            for start in range(0, len(data), BLOCK_ROWS):
                rows = data[start : start + BLOCK_ROWS]
                shown = self.seen(rows)
                sums += np.where(shown, self.rows(rows), 0.0).sum(axis=0)
                counts += shown.sum(axis=0)
            return sums, counts
        whole = np.logical_and.reduce([column >= 0 for column in data.T])
        missing = np.array(self._closed.num_categories) - 1
        dtype = np.promote_types(data.dtype, np.min_scalar_type(-1 - missing.max()))
        filled = np.where(data < 0, missing.astype(dtype), data)
        sums = pcircuit.mean_node_likelihoods(self._closed, filled, nodes=self.nodes) * len(data)
        seen = self.seen_regions(data[~whole])
        counts = np.array([np.count_nonzero(one) for one in seen]) + np.count_nonzero(whole)
        flows = partial(pcircuit.expected_flows, self.circuit, data[whole])
        sums = self._with(
            sums, lambda features: features.of_scores(score_of_flows(self.circuit, flows()))
        )
        return sums, counts[self.regions]

    @cached_property
    def _closed(self) -> pcircuit.Circuit:
        """The circuit with one more category of each variable, which no unit expects."""
        return pcircuit.Circuit(
            self.circuit.vtree,
            [
                pcircuit.InputRegion(region.variable, np.pad(region.probs, ((0, 0), (0, 1))))
                if region.is_input
                else region
                for region in self.circuit.regions
            ],
        )

    @cached_property
    def regions(self) -> np.ndarray:
        """(size,) the region whose scope a number is about: the root's for features."""
        own = self.circuit.nodes.region[self.nodes]
        return np.append(own, np.full(self.size - len(own), self.circuit.num_regions - 1))

    def seen(self, data: Any) -> np.ndarray:
        """(n, size) bool whether a row shows what a number is about: a node's scope, for features all of the row."""
        return self.seen_regions(data)[self.regions].T

    def seen_regions(self, data: Any) -> np.ndarray:
        """(regions, n) bool whether a row shows the scope of a region, from the leaves of the v-tree up."""
        circuit = self.circuit
        seen = np.empty((circuit.vtree.num_nodes, len(data)), dtype=bool)
        for r, region in enumerate(circuit.regions):
            if region.is_input:
                seen[r] = ~is_missing(data[:, region.variable])
            else:
                seen[r] = seen[circuit.vtree.children(r)].all(axis=0)
        return seen

    def rounding(self, mean: np.ndarray, num_rows: int) -> np.ndarray:
        """(size,) errors that rounding can make in differences from a mean over so many rows."""
        eps, m = float(np.finfo(np.float64).eps), len(self.nodes)
        errors = (rounding_errors(self.circuit, self.nodes) + num_rows * eps) * mean[:m]
        depth = circuit_depth(self.circuit) + num_rows
        return self._with(errors, lambda features: depth * eps * largest_factors(features))

    def magnitudes(self, mean: np.ndarray) -> np.ndarray:
        """(size,) numbers whose roundings are those of means: a feature is a difference of flows times a factor."""
        depth = circuit_depth(self.circuit)
        return self._with(
            mean[: len(self.nodes)], lambda features: depth * largest_factors(features)
        )


def largest_factors(features: ScoreFeatures) -> np.ndarray:
    """(r,) the largest factor in each feature."""
    largest = np.zeros(features.num_features)
    np.maximum.at(largest, features.places, np.abs(features.factors))
    return largest


def circuit_depth(circuit: pcircuit.Circuit) -> int:
    """A bound on the roundings on the way to a flow, which is at most 1: four for each region."""
    return 4 * circuit.num_regions


def some_rows(num_rows: int, most: int) -> np.ndarray | slice:
    """Which rows stand for all: of many one of each stretch, drawn, as like rows may come at regular distances.

    Returns (most,).
    """
    if num_rows <= most:
        return slice(None)
    places = np.arange(most) + np.random.default_rng(0).random(most)
    return (places * (num_rows / most)).astype(np.int64)


def bounded_array(
    arrays: Mapping[str, Any], name: str, shape: tuple[Any, ...], bounds: Any
) -> np.ndarray:
    """A float array of a file whose entries are averages of numbers with bounds."""
    array = finite_array(arrays, name, shape)
    beyond = np.abs(array) > bounds * (1 + AVERAGING_SLACK)
    if beyond.any():
        most = np.broadcast_to(bounds, array.shape)[beyond][0]
        raise ValueError(
            f"array {name!r} holds {array[beyond][0]:g}, more than the {most:g} that its numbers can be"
        )
    return array


def column_units(circuit: pcircuit.Circuit, nodes: np.ndarray) -> list[np.ndarray]:
    """Positions among the nodes of the input units of each variable; shapes nodes (m,)."""
    regions = circuit.nodes.region[nodes]
    return [np.flatnonzero(regions == r) for r in circuit.vtree.leaf_of().tolist()]


def complete(
    circuit: pcircuit.Circuit, rows: ArrayLike, seed: int, *, name: str = "batch"
) -> tuple[np.ndarray, int]:
    """Fill missing entries by draws from the circuit's conditional distribution.

    Shapes: rows (T, V) -> (T, V).
    A row whose observed part is impossible under the circuit has no conditional distribution; its holes are filled from
    an independent draw.
    """
    rows = check_rows(circuit, rows, name=name)
    missing = is_missing(rows)
    if not missing.any():
        return rows, 0
    rng = np.random.default_rng([seed, len(rows)])
    filled = pcircuit.sample(circuit, len(rows), rng=rng)
    holes = missing.any(axis=1)
    possible = holes.copy()
    possible[holes] = pcircuit.log_likelihood(circuit, rows[holes]) > -np.inf
    if possible.any():
        filled[possible] = pcircuit.sample(circuit, given=rows[possible], rng=rng)
    return np.where(missing, filled, rows), int(missing.sum())


def check_rows(circuit: pcircuit.Circuit, rows: ArrayLike, *, name: str = "batch") -> np.ndarray:
    """Evidence (T, V) for a circuit, with at least one row."""
    rows = checked(circuit, rows, name)
    if not len(rows):
        raise ValueError(f"`{name}` has no rows: at least one is needed")
    return rows
