"""Rows as reference: one that includes what the circuit misses.

The circuit's own moments are right for draws from the circuit.  Real rows follow the circuit only approximately, and a
large enough batch of them shows the difference.  Mean and covariance of the vectors L(x_1)..L(x_n) of reference rows,

    mean = (1/n) sum_i L(x_i)        S = (1/(n-1)) sum_i (L(x_i) - mean)(L(x_i) - mean)^t,

do not have this bias.  They are estimates, so the difference to a batch of T fresh rows has covariance S (1/T + 1/n).
If the circuit has not learned from these rows, they and the rows of an unshifted batch are exchangeable: that is what
p-values rest on.  A test keeps such averages, and eigenvalues and quantiles made from them, but no row
(`hld.references.kept_rows`).

Rows may have holes.  Then each node has the average over the rows that show it (`hld.references.available`); in the
table unknown differences are zero, and the others are stretched by sqrt(n / n_j) to the right variance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

import pcircuit
from hld.features.linear_maps import MAPPED, squared_distances
from hld.features.row_vectors import RowVectors
from hld.references.available import shown
from hld.references.circuit import CircuitReference
from hld.references.covariances import MOST_FORMED, DenseCovariance, RowCovariance, through
from hld.references.reference import MAX_FULL_SPECTRUM
from pcircuit.evidence import is_missing

if TYPE_CHECKING:
    from hld.features.linear_maps import LinearMap

SPARSE = 10  # multiplications of dense matrices in the time of one with a sparse matrix
DENSE = 20  # rows to each one drawn, up to which dense weights take less time than sparse ones
MULTIPLY = 0.1  # of a multiplication in a matrix product, in additions to a mean
BLOCK_VALUES = 2**22  # numbers of means, or weights of rows, that are held at a time
MANY_ROWS, MANY_BYTES, MOST_BYTES = (
    20_000,
    2**27,
    2**29,
)  # of the table while a test is built: see `table_rows`


@dataclass(frozen=True, eq=False)
class RowReference(RowCovariance):
    """Likelihood vectors of given rows, each as likely as the others; S is their sample covariance.

    Shapes: table (n, size), mean (size,).
    """

    vectors: RowVectors
    mean: np.ndarray
    num_rows: int | None = None
    holes: object = None
    known: dict[Any, Any] = field(default_factory=dict, repr=False)
    at_deployment = None  # rows are not kept

    @property
    def circuit(self) -> pcircuit.Circuit:
        """The circuit of the vectors."""
        return self.vectors.circuit

    @property
    def nodes(self) -> np.ndarray:
        """(m,) their nodes."""
        return self.vectors.nodes

    @cached_property
    def model(self) -> CircuitReference:
        """The circuit's own reference for these nodes."""
        return CircuitReference(self.circuit, self.nodes)

    @cached_property
    def _formed(self) -> np.ndarray:
        return super().covariance()

    def covariance(self) -> np.ndarray:
        """(m, m) S, kept."""
        return self._formed

    def rows(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """(n, m) of the centred vectors, without replacement; where there are no more, the table itself."""
        return (
            self.table if n >= len(self.table) else self.table[rng.permutation(len(self.table))[:n]]
        )

    def squared(self, metrics: tuple[Any, ...]) -> np.ndarray:
        """(n, q) squared lengths of the centred vectors under some metrics, kept."""
        if metrics not in self.known:
            self.known[metrics] = squared_distances(metrics, self.table)
        return self.known[metrics]

    def batch_means(self, T: Any, B: Any, rng: np.random.Generator) -> np.ndarray:
        """(B, m) means of T vectors that are drawn with replacement, with covariance S / T."""
        means: np.ndarray = resampled_weights(len(self.table), T, B, rng) @ self.table
        return means

    def under(self, metric: LinearMap) -> Any:
        """F S F^T: formed for few nodes; of fewer rows than nodes by their products, else by its mapped rows."""
        n, m = self.table.shape
        if n < m and n <= MOST_FORMED:
            return DenseCovariance(row_products(metric, self.table, self.known) / (n - 1))
        if m <= min(MAX_FULL_SPECTRUM, n):
            return through(metric.alone, self.covariance()[metric.seen, metric.seen])
        return RowCovariance(metric.apply(self.table))


def row_products(metric: LinearMap, rows: np.ndarray, known: dict[Any, Any]) -> np.ndarray:
    """(n, n) scalar products of rows as a metric sees them, kept: G_ij = (F z_i)^t (F z_j)."""
    if metric not in known:
        mapped = metric.apply(rows)
        known[metric] = mapped @ mapped.T
    return known[metric]


def distances_of_sums(
    metrics: tuple[LinearMap, ...], rows: np.ndarray, weights: Any, known: dict[Any, Any]
) -> np.ndarray:
    """(b, q) squared distances |F sum_i w_i z_i|^2 of sums of rows z (n, m), for weights (b, n), dense or sparse.

    Either w^t G w, with the scalar products G of the rows as a metric sees them, or sums that are mapped: the shorter.
    """
    is_dense = isinstance(weights, np.ndarray)
    drawn = len(rows) if is_dense else SPARSE * weights.nnz / weights.shape[0]
    by_products, by_sums = costs_of_sums(metrics, rows.shape, drawn)
    if by_sums <= by_products:
        return squared_distances(metrics, weights @ rows)
    dense = weights if is_dense else weights.toarray()
    products = [weights @ row_products(metric, rows, known) for metric in metrics]
    return np.maximum(np.stack([(one * dense).sum(axis=1) for one in products], axis=1), 0.0)


def costs_of_sums(
    metrics: tuple[LinearMap, ...], shape: tuple[int, ...], drawn: float
) -> tuple[float, float]:
    """Multiplications for one sum of `drawn` of n rows, by products of rows and by sums that are mapped."""
    n, m = shape
    by_products = len(metrics) * n * (drawn + MAPPED) if n < m else np.inf
    return by_products, m * drawn + sum(metric.num_multiplications for metric in metrics)


def drawn_distances(
    metrics: tuple[LinearMap, ...],
    rows: np.ndarray,
    T: int,
    B: int,
    rng: np.random.Generator,
    known: dict[Any, Any],
) -> np.ndarray:
    """(B, q) squared distances of the means of B batches of T rows that are drawn from some rows (n, m)."""
    step = max(1, BLOCK_VALUES // max(rows.shape))
    blocks = []
    for start in range(0, B, step):
        weights = resampled_weights(len(rows), T, min(step, B - start), rng)
        blocks.append(distances_of_sums(metrics, rows, weights, known))
    return np.concatenate(blocks)


def draw_cost(metrics: tuple[LinearMap, ...], rows: np.ndarray, T: int) -> float:
    """About what one of these batches costs, in additions."""
    n = len(rows)
    drawn = SPARSE * T if n > DENSE * T else n
    return MULTIPLY * min(costs_of_sums(metrics, rows.shape, drawn))


def resampled_weights(n: int, T: int, B: int, rng: np.random.Generator) -> Any:
    """(B, n) array, sparse where that pays: what each of n rows counts in B means of T rows drawn with replacement.

    How often it is drawn, divided by T and times sqrt(n / (n - 1)), so that variances are not too small.

    Returns (B, n).
    """
    from scipy.sparse import csr_array

    weight = np.sqrt(n / max(n - 1, 1)) / T
    if 8 * n < T:
        return rng.multinomial(T, np.full(n, 1 / n), size=B) * weight
    picked = rng.integers(0, n, size=B * T, dtype=np.int32)
    if n > DENSE * T:
        return csr_array((np.full(B * T, weight), picked, np.arange(0, B * T + 1, T)), shape=(B, n))
    return (
        np.bincount(picked + np.repeat(np.arange(B) * n, T), minlength=B * n).reshape(B, n) * weight
    )


def row_reference(
    circuit: pcircuit.Circuit, nodes: np.ndarray, data: np.ndarray, features: Any = None
) -> RowReference:
    """The reference of the rows of a table; shapes nodes (m,), data (n, V)."""
    if len(data) < 2:
        raise ValueError(f"`training_data` has {len(data)} rows: a covariance needs at least two")
    vectors = RowVectors(circuit, nodes, features)
    holes = shown(vectors, data) if is_missing(data).any() else None
    mean = vectors.mean(data) if holes is None else holes.means
    most = table_rows(len(mean))
    kept = data if len(data) <= most else data[np.arange(most) * len(data) // most]
    table = vectors.rows(kept)
    table -= mean
    if holes is not None:
        table *= np.sqrt(len(data) / np.maximum(holes.counts, 1)) * vectors.seen(kept)
    constant = np.sqrt(np.einsum("ij,ij->j", table, table) / len(table)) <= vectors.rounding(
        mean, len(data)
    )
    table[:, constant] = 0.0  # what varies is rounding
    return RowReference(table, vectors, mean, len(data), holes)


def table_rows(size: int) -> int:
    """The most rows of a table of vectors with so many numbers.

    As many as 128 MiB hold.  Where these are fewer than 20,000, from which spectra are known well and single rows can
    have a p-value of 5e-5, then 20,000; but no more than 512 MiB hold.
    """
    return max(min(MOST_BYTES, max(MANY_BYTES, 8 * size * MANY_ROWS)) // (8 * size), 2)


# name -> function of circuit, nodes, training rows (None where there are none), and features of the score, if any:
# `reference=` takes the names
REFERENCES: dict[str, Callable[..., Any]] = {
    "circuit": lambda circuit, nodes, *_, **features: CircuitReference(circuit, nodes),
    "training": row_reference,
}
FROM_ROWS = ("training",)  # those that need rows
