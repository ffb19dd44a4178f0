"""Metrics: how the differences of node means become one number.

With Z the difference of the mean hierarchical likelihood vectors of batch and reference, every metric is a norm,

    d^2 = b |w Z|^2 + sum_k g_k (v_k . w Z)^2 + |A Z|^2,

with node weights w, orthonormal directions v_k, gains g_k that may be negative as long as b + g_k is not, and a sparse
matrix A.

* "euclidean"      w = 1: the paper's.  The nodes with the largest likelihoods, mostly inputs, decide.
* "standardized"   w_j = 1 / sigma_j: every node counts alike, however small its likelihoods are.
* "marginals"      the distances between the marginal distributions of all variables, from the input units alone
                   (`hld.metrics.marginals`): what single variables tell, none of them favoured.
* "whitened"       d^2 = Z^t (S + c I)^-1 Z with c = RIDGE * lambda_1: every direction counts alike in which the null
                   varies by more than the ridge.  A shift that changes how variables go together moves directions of
                   little variance, which the plain norm drowns in the noise of the others.
* node weights     any positive w.

If S = sum_k lambda_k v_k v_k^t, then under H0 T d^2 tends to sum_k (b + g_k) lambda_k chi2_1.  A whitened metric keeps
the directions with variances above a hundredth of the ridge (with many nodes, the leading ones); the others share the
gain b = 1 / c, which is nearly theirs anyway, and the null accounts for exactly the form that is used.
"""
from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import pcircuit

NAMES = ("euclidean", "standardized", "marginals", "whitened")
RIDGE = 0.003  # of the largest eigenvalue; chosen by the power and the false alarms in `benchmarks/options.py`
MAX_FULL_SPECTRUM = 1500  # nodes up to which all eigenvalues are computed
LEADING_DIRECTIONS = 128  # directions of a whitened metric beyond that
NEGLIGIBLE = 0.01  # of the ridge: directions of less variance get the gain 1 / c, which is theirs to 1 %


@dataclass(frozen=True, eq=False)
class Metric:
    """A norm for differences of node means.

    Attributes
    ----------
    name : str
    node_weights : (m,) float array
    base : float
        b.
    vectors : (m, k) float array
        Orthonormal columns; k may be 0.
    gains : (k,) float array
    index, coefficients : (l, w) int and float arrays
        Row i of A holds coefficients[i] at the places index[i]; l may be 0.
    """

    name: str
    node_weights: np.ndarray
    base: float
    vectors: np.ndarray
    gains: np.ndarray
    index: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.int32))
    coefficients: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    def squared(self, deltas):
        """d^2 of differences (m,), or of each row of (n, m)."""
        result = (self.mapped(deltas) ** 2).sum(axis=-1) if len(self.index) else 0.0
        if self.base == 0.0 and not len(self.gains):
            return result
        weighted = deltas * self.node_weights
        result = result + self.base * (weighted ** 2).sum(axis=-1)
        return result + ((weighted @ self.vectors) ** 2) @ self.gains if len(self.gains) else result

    def mapped(self, deltas) -> np.ndarray:
        """A Z of differences (m,), or of each row of (n, m)."""
        result = np.zeros((*deltas.shape[:-1], len(self.index)))
        for places, coefficients in zip(self.index.T, self.coefficients.T, strict=True):
            result += deltas[..., places] * coefficients
        return result

    def round_off(self, mean) -> float:
        """A distance that rounding in the means (m,) alone can cause: their norm, most magnified, times 8 epsilons."""
        size = float(np.linalg.norm(mean * self.node_weights))
        most = max(self.base, float((self.base + self.gains).max(initial=0.0)),
                   float((self.coefficients ** 2).sum(axis=1).max(initial=0.0)))
        return 8 * np.finfo(float).eps * max(size * np.sqrt(most), np.sqrt(np.finfo(float).tiny))

    def transform(self, rows):
        """Rows (n, m) mapped so that their plain squared norms are d^2: by A, or w x by the root of the form."""
        if len(self.index):
            return self.mapped(rows)
        weighted = rows * self.node_weights
        root = np.sqrt(self.base)
        stretched = (weighted @ self.vectors) * (np.sqrt(np.maximum(self.base + self.gains, 0.0)) - root)
        return root * weighted + stretched @ self.vectors.T


def parse_metric(metric, m: int) -> tuple:
    """Names and weight vectors that a `metric` argument asks for.

    Parameters
    ----------
    metric : str, (m,) array_like, or sequence of str
        One metric, node weights, or several metrics to combine.
    m : int
        Number of nodes.

    Returns
    -------
    tuple of str or (m,) float array

    Raises
    ------
    ValueError
        If a name is unknown or repeated, or the weights are not m positive numbers.

    Examples
    --------
    >>> parse_metric("whitened", 3), parse_metric(["euclidean", "whitened"], 3)
    (('whitened',), ('euclidean', 'whitened'))
    """
    if isinstance(metric, str):
        metric = (metric,)
    parts = list(metric) if isinstance(metric, (list, tuple)) else metric
    if not isinstance(parts, list) or not any(isinstance(part, str) for part in parts):
        try:
            return (pcircuit.check_node_weights(metric, m),)
        except (TypeError, ValueError) as error:
            raise ValueError(str(error).replace("node_weights", "metric")) from None
    for part in parts:
        if part not in NAMES or parts.count(part) > 1:
            raise ValueError(f"`metric` must be one of {', '.join(map(repr, NAMES))}, several different ones, or {m} "
                             f"positive node weights, found {metric!r}")
    return tuple(parts)


def build_metric(part, moments_of, ridge=RIDGE, whiten_by=None):
    """A metric, and what its null law needs: (leading values, sum and sum of squares of the rest, bound of the rest).

    Parameters
    ----------
    part : str or (m,) float array
        One entry of `parse_metric`.
    moments_of : callable
        Takes node weights (m,) or None, returns the moments of the weighted node likelihoods.
    ridge : float
        c / lambda_1 of the whitened metric.
    whiten_by : object with `nodes`, `covariance()` and `operator()`, optional
        Covariance to whiten by, if it is not that of the null: see `hld.references.rows.BlendedCovariance`.

    Returns
    -------
    Metric
    tuple
        Values f(lambda_k) (descending), c1 and c2 of the values not listed, and a bound on each of them; None for a
        node weighting of many nodes.  Of the null if `whiten_by` is not given.
    """
    moments = moments_of(None)
    m, name = len(moments.nodes), part if isinstance(part, str) else "weights"
    weights = np.ones(m)
    if name == "weights":
        weights = part
    elif name == "standardized":
        std = np.sqrt(np.maximum(moments.diagonal(), 0.0))
        weights = 1.0 / np.maximum(std, 1e-6 * std.max()) if std.max() > 0 else weights
    if name != "whitened":
        form = Metric(name, weights, 1.0, np.zeros((m, 0)), np.zeros(0))
        if whiten_by is not None or m > MAX_FULL_SPECTRUM:
            return form, None
        plain = moments if name == "euclidean" else moments_of(weights)
        return form, (_descending(plain.eigenvalues()), 0.0, 0.0, 0.0)
    values, vectors = _eigenpairs(whiten_by or moments)
    ridge = ridge * values[0] if values[0] > 0 else 1.0
    kept = values > NEGLIGIBLE * ridge
    form = Metric(name, weights, 1.0 / ridge, np.ascontiguousarray(vectors[:, kept]),
                  1.0 / (values[kept] + ridge) - 1.0 / ridge)
    known = np.where(kept, values / (values + ridge), values / ridge)
    if len(values) == m:
        return form, (known, 0.0, 0.0, 0.0)
    return form, (known, max(moments.trace - values.sum(), 0.0) / ridge,
                  max(moments.trace_sq - (values ** 2).sum(), 0.0) / ridge ** 2, values[-1] / ridge)


def _eigenpairs(moments):
    """Eigenvalues, descending, and eigenvectors of S: all, or the leading ones where there are many nodes."""
    m = len(moments.nodes)
    if m <= MAX_FULL_SPECTRUM:
        values, vectors = np.linalg.eigh(moments.covariance())
    else:
        from scipy.sparse.linalg import eigsh
        start = np.random.default_rng(0).normal(size=m)  # the same start gives the same vectors
        values, vectors = eigsh(moments.operator(), k=LEADING_DIRECTIONS, which="LA", v0=start, tol=1e-9)
    return _descending(values), np.ascontiguousarray(vectors[:, ::-1])


def _descending(values) -> np.ndarray:
    """Eigenvalues in descending order, round-off below zero removed."""
    return np.maximum(np.sort(values)[::-1], 0.0)
