r"""Metrics that weigh nodes: the paper's, the standardised one, and any positive weights.

**Score.** The metric "score": how far the parameters that fit a batch best are from those of the circuit, by its
gradient.

With z the features of the score of `hld.features.score_features`, every parameter in units of its standard deviation,

.. math:: d^2 = \| \bar z - \bar z_0 \|^2 .

The gradient of the log-likelihood shows for every parameter whether the rows use it as often as they should.  Where the
likelihoods of large scopes are tiny, so that a norm of their mean hardly sees rows that are less likely than they
should be, the score of the few edges that carry a dependence is as large as that of any other parameter.  Its mean over
rows is zero at the parameters that fit them best, whatever the circuit cannot represent; here it is compared with
that of reference rows, which holds wherever the parameters are.

A statistic of Rao's type would weigh by the inverse of the Fisher information; for as many parameters as a circuit has
this is not known well enough, and units of standard deviation, with a floor, found as much (`benchmarks/power`).

The distance between the marginal distributions of single variables, as a metric on input units.

The mean likelihoods of the K input units of a variable, rows p_k of a table P (K, C), are linear in the frequencies f
of its C categories: mean l = P f.  So a difference of means is P (f - f_0), and

.. math:: d^2 = \sum_v \| P_v^+ Z_v \|^2 = \sum_v \| \Pi_v (f_v - f_{0v}) \|^2,

with Z_v the differences of the variable's input units and Pi_v the projection on the span of the rows of P_v, which is
the whole space for a variable with at most as many categories as linearly independent units.  The plain metric weighs a
variable by how much its input units differ from each other; this one weighs all variables alike, like the first-order
term of a kernel on the number of equal entries.

With P = U s V^t, d^2 is the sum of the squares of U^t Z / s: one row of at most K numbers for every singular value.

The distance between cumulative distributions of single variables, for columns whose categories have an order.

The bins of a numeric column are ordered.  A drift moves many bins a little, each by less than its noise, but all in
one direction: in the cumulative frequencies G_c = P(X_v <= c) it adds up.  With G the batch's, G_0 the circuit's, and
the weights of Anderson and Darling, under which every cut between two bins counts alike,

.. math:: d^2 = \sum_v \sum_{c < C_v} \frac{(\hat G_{vc} - G_{0vc})^2}{G_{0vc} (1 - G_{0vc}) + f}, \qquad f = 0.01.

The mean likelihoods of the K input units of a variable are l = P f in the frequencies f of its categories, so
frequencies are recovered as P^+ l: with L the cumulative sums and W the weights,
F = W L P^+ is linear, and null, covariance and holes are treated as for any other metric.  What the units cannot
distinguish is not seen.  F has C - 1 rows for each variable, but no more than K directions that matter: its singular
value decomposition F = A s B^t has the norm of s B^t, of at most K rows.

Reference: T. W. Anderson and D. A. Darling (1952), Asymptotic theory of certain goodness of fit criteria, Annals of
Mathematical Statistics 23.

The whitened metric: d^2 = Z^t (S + c I)^-1 Z with c = ridge * lambda_1.

All directions in which the reference varies by more than the ridge count alike.  A change of dependence moves
directions of little variance, which the plain norm drowns in the noise of the others.

If S = sum_k lambda_k v_k v_k^t, the map is F = sum_k (lambda_k + c)^(-1/2) v_k v_k^t.  It keeps the directions with
variances above a hundredth of the ridge (with many nodes, the leading ones); the others share the factor c^(-1/2),
which is nearly theirs anyway, and the null accounts for exactly the map that is used.

The best ridge depends on the shift: a broken dependence moves directions with tiny variances, which a large ridge
mutes; other shifts move many directions a little, and those with tiny variances bring in noise.  Tests by a
regularised kernel have the minimax rate for the right ridge, and a union over a logarithmic grid of ridges has it up
to logarithms without knowing which that is (Hagrass, Sriperumbudur and Li 2024).  "whitened_fine" is the next point of
the grid, a ridge thirty times smaller; further ones changed nothing (`benchmarks/power`).  Both are maps of the same
Gaussian vector, so the joint null of several metrics (`hld.laws.joint`) is that of the union.

S is always the circuit's.  The covariance of reference rows is too small in some directions by chance, which the map
would then magnify; and a map made from the rows that a batch is compared with would favour them over the batch.

References: O. Hagrass, B. Sriperumbudur and B. Li (2024), Spectral regularized kernel two-sample tests, Annals of
Statistics 52; arXiv 2308.04561 for goodness of fit.
"""

from dataclasses import replace
from typing import Any

import numpy as np

import pcircuit
from hld.features.linear_maps import Scaled, SparseRows, Stretched
from hld.references.covariances import pivoted_factor
from hld.references.reference import MAX_FULL_SPECTRUM, Reference
from pcircuit.inference.densities import log_bounds
from pcircuit.moments.leading import COARSE, leading_eigenpairs

MOST_LOG_WEIGHT = 140.0  # of a node: where it counts, likelihoods underflow
LEAST = 1e-6  # share of the largest deviation below which none is taken


def euclidean(reference: Reference, **options: Any) -> Scaled:
    """The paper's metric: every node with weight 1, so that those with the largest likelihoods decide.

    Densities are divided by the largest value that they can have, so that they lie in [0, 1] like probabilities.
    """
    circuit = reference.vectors.circuit
    if circuit.is_categorical:
        return Scaled("euclidean", np.ones(len(reference.nodes)))
    bounds = log_bounds(circuit)[reference.nodes]
    return Scaled("euclidean", np.exp(np.minimum(-bounds, MOST_LOG_WEIGHT)))


def standardized(reference: Reference, **options: Any) -> Scaled:
    """Every node with weight 1 / sigma_j: the circuit's deviation, which is not small by chance as that of rows is."""
    stds = np.sqrt(np.maximum(reference.model.diagonal(), 0.0))
    largest = stds.max()
    return Scaled(
        "standardized",
        1.0 / np.maximum(stds, LEAST * largest) if largest > 0 else np.ones(len(stds)),
    )


def score(reference: Any, **options: Any) -> Scaled:
    """The metric "score" for a reference whose vectors hold features of the score."""
    vectors = reference.vectors
    if vectors.features is None:
        raise ValueError(
            "`metric` 'score' compares rows with rows: use reference='training' with `training_data`"
        )
    m = len(vectors.nodes)
    return Scaled("score", np.ones(vectors.size - m), before=m)


RANK = 1e-6  # singular values below this share of the largest count as zero


def marginals(reference: Reference, **options: Any) -> SparseRows:
    """The metric "marginals" for the input units among the nodes of a reference.

    O(K^2 C) per variable.
    """
    rows = [
        (places, row)
        for _, places, table in input_tables(reference, "marginals")
        for row in _rows_of(np.linalg.pinv(table, rcond=RANK))
    ]
    return sparse_rows("marginals", rows, len(reference.nodes))


def _rows_of(matrix: np.ndarray) -> np.ndarray:
    """As few rows (r, K) as have the norm of a matrix (l, K)."""
    _, values, directions = np.linalg.svd(matrix, full_matrices=False)
    kept = values > RANK * values.max(initial=0.0)
    return values[kept, None] * directions[kept]


def input_tables(reference: Reference, name: str) -> list:  # type: ignore[type-arg]
    """For each variable whose input units are among the nodes: itself, their places, and their table P (K, C)."""
    circuit, nodes = reference.circuit, reference.nodes
    regions, kinds = circuit.nodes.region[nodes], circuit.nodes.kind[nodes]
    first = np.unique(circuit.nodes.region, return_index=True)[1]
    found = []
    for r in np.unique(regions[kinds == "input"]).tolist():
        region, places = circuit.regions[r], np.flatnonzero(regions == r)
        if region.is_input:
            found.append((region.variable, places, region.probs[nodes[places] - first[r]]))
    if not found:
        raise ValueError(
            f"`metric` {name!r} compares input units, and there are none among `nodes`: select them, or "
            "leave the metric out"
        )
    return found


def sparse_rows(name: str, rows: list, m: int) -> SparseRows:  # type: ignore[type-arg]
    """A map of m nodes from its rows, pairs of places and coefficients."""
    width = max(len(places) for places, _ in rows)
    index, coefficients = np.zeros((len(rows), width), np.int32), np.zeros((len(rows), width))
    for i, (places, row) in enumerate(rows):
        index[i, : len(places)], coefficients[i, : len(places)] = places, row
    return SparseRows(name, index, coefficients, m)


FLOOR = 0.01  # f, of variances: cuts that leave less than a hundredth on one side count less


def ordered(
    reference: Reference, *, ordered: tuple[Any, ...] | None = None, **options: Any
) -> SparseRows:
    """The metric "ordered" for the input units among the nodes of a reference.

    O(K C min(K, C)) per variable.
    """
    margins = pcircuit.marginal_tables(reference.circuit)
    rows = [
        (places, row)
        for v, places, table in input_tables(reference, "ordered")
        if ordered is None or v in ordered
        for row in _cumulative(table, margins[v])
    ]
    if not rows:
        raise ValueError(
            "`metric` 'ordered' compares variables whose categories ascend, and none of them has input "
            "units among `nodes`: leave the metric out"
        )
    return sparse_rows("ordered", rows, len(reference.nodes))


def _cumulative(table: np.ndarray, margin: np.ndarray) -> np.ndarray:
    """Rows (r, K) with the norm of W L P^+."""
    below = np.cumsum(margin)[:-1]
    weights = 1.0 / np.sqrt(np.maximum(below * (1 - below), 0.0) + FLOOR)
    return _rows_of(weights[:, None] * np.cumsum(np.linalg.pinv(table, rcond=RANK), axis=0)[:-1])


RIDGE = 0.003  # of the largest eigenvalue; chosen by power and false alarms on the data sets of `benchmarks/paper`
FINER = 30  # ratio of the two ridges of the grid
LEADING_DIRECTIONS = 128  # with more nodes than have a full spectrum
NEGLIGIBLE = 0.01  # of the ridge: directions of less variance get the factor of the others, which is theirs to 0.5 %
DISTINCT = 1e-8  # of the largest eigenvalue: smaller ones are rounding in products of a factor
RESIDUAL = 1e-6  # of the largest eigenvalue, a hundredth of the finer ridge: the null is that of the map that is used


def whitened(reference: Reference, *, ridge: float = RIDGE, **options: Any) -> Stretched:
    """The metric "whitened" for a reference, by the covariance of the circuit.

    O(m^3), or with more than 1500 nodes an iteration for 128 eigenvectors with residuals of 1e-6 lambda_1, or of a
    fifth of the smallest of the 128 eigenvalues where that is more; once for all ridges.
    """
    model, most = reference.model, min(ridge, RIDGE / FINER)
    key = "eigenpairs", most  # both ridges need the same
    if key not in model.kept:
        model.kept[key] = _eigenpairs(model, len(reference.nodes), NEGLIGIBLE * most)
    values, vectors = model.kept[key]
    ridge = ridge * values[0] if len(values) and values[0] > 0 else 1.0
    kept = values > NEGLIGIBLE * ridge
    return Stretched(
        "whitened",
        np.ascontiguousarray(vectors[:, kept]),
        1.0 / np.sqrt(values[kept] + ridge),
        float(1.0 / np.sqrt(ridge)),
    )


def whitened_fine(reference: Reference, *, ridge: float = RIDGE, **options: Any) -> Stretched:
    """The same with a ridge that is thirty times smaller."""
    return replace(whitened(reference, ridge=ridge / FINER), name="whitened_fine")


def _eigenpairs(covariance: Any, m: int, least: float) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, descending, and eigenvectors of S: those above a share of the first; of many nodes leading ones.

    With S = A^t A and A A^t = U diag(lambda) U^t they are A^t U / lambda^1/2, orthonormal but for rounding times
    lambda_1 / lambda: A has fewer rows than S wherever nodes depend on one another.
    """
    if m > MAX_FULL_SPECTRUM:
        return leading_eigenpairs(
            covariance.moments.operator(), m, LEADING_DIRECTIONS, RESIDUAL, coarse=COARSE
        )
    matrix = covariance.covariance()
    if least < DISTINCT:
        values, vectors = np.linalg.eigh(matrix)
        return np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    factor = pivoted_factor(matrix)
    values, rotation = np.linalg.eigh(factor @ factor.T)
    kept = np.flatnonzero(values > least * values[-1])[::-1] if len(values) else np.arange(0)
    return values[kept], factor.T @ (rotation[:, kept] / np.sqrt(values[kept]))
