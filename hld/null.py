"""Null distributions of the statistic: how large is d when nothing has shifted?

Let Z be the mean of T hierarchical likelihood vectors minus its expectation mu under the circuit, S their
covariance, d = ||Z||_2 (node weights are part of Z and S).  If the rows follow the circuit, E[T d^2] = tr(S)
exactly, and as T grows

    T d^2  ->  Q = sum_j lambda_j chi2_1,        lambda_1 >= lambda_2 >= ... the eigenvalues of S.

* `ExactNull` is the law of Q itself (a generalised chi-square, see `hld.gchi2`).
* `NormalNull` is the paper's closed form, Q ~ Normal(tr S, 2 tr S^2).  It is anti-conservative, the more the fewer
  eigenvalues dominate: with two equal eigenvalues its true level at a nominal 5 % is
  P(chi2_2 > 2 + 1.645 * 2) = 7.1 %, with one at a nominal 1 % it is P(chi2_1 > 1 + 2.326 * sqrt(2)) = 3.8 %.
* `MonteCarloNull` draws batches of T rows from the circuit.  With B of them, p = (1 + #{d_b >= d}) / (1 + B) is
  valid at every T, also at T = 1, where the limit law is not.

If the circuit was itself estimated from n rows, its error adds to that of the batch.  For a well-specified model the
covariance of Z is then at most S (1/T + 1/n), so scaling Q by the inflation 1 + T/n covers it.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

import pcircuit

from . import gchi2

MAX_FULL_SPECTRUM = 1500  # nodes up to which all eigenvalues are computed
QUANTILE_TOLERANCE = 1e-3  # relative error of the quantiles up to which leading eigenvalues are added
LEADING = (32, 64, 128, 256)
CHECKED_LEVELS = (0.1, 0.05, 0.01, 0.001)
BLOCK_ROWS = 200_000  # rows drawn at a time by the Monte Carlo null


@dataclass(frozen=True, eq=False)
class ExactNull:
    """The generalised chi-square law of T d^2.

    Attributes
    ----------
    eigenvalues, multiplicities : (k,) float arrays
        Eigenvalues of S, the smallest ones possibly as one gamma term that matches their first two moments.
    quantile_error : float
        Largest relative error of the quantiles at levels 0.1 to 0.001 that this replacement can cause; 0 where all
        eigenvalues were computed.
    num_eigenvalues : int
        Eigenvalues computed.
    """

    eigenvalues: np.ndarray
    multiplicities: np.ndarray
    quantile_error: float
    num_eigenvalues: int
    _quantiles: dict = field(default_factory=dict, repr=False)

    def describe(self) -> str:
        """One line."""
        exactness = (f"relative error of quantiles at most {self.quantile_error:.1g}" if self.quantile_error
                     else "all there are")
        return f"generalised chi-square, {self.num_eigenvalues} eigenvalues ({exactness})"

    @cached_property
    def spectrum(self):
        """The eigenvalues, prepared for `hld.gchi2`."""
        return gchi2.prepare(self.eigenvalues, self.multiplicities)

    def tail(self, squared, T, inflation):
        """p-value of a squared statistic, and the estimated error of it."""
        pvalue, error = gchi2.sf_with_error(squared * T / inflation, self.spectrum)
        pvalue = float(pvalue)
        return pvalue, float(error) * pvalue + self.quantile_error * pvalue * max(1.0, -np.log(max(pvalue, 1e-300)))

    def threshold(self, alpha, T, inflation):
        """Statistic that is exceeded with probability alpha."""
        if alpha not in self._quantiles:  # depends on the circuit only
            self._quantiles[alpha] = float(gchi2.isf(alpha, self.spectrum))
        return float(np.sqrt(self._quantiles[alpha] * inflation / T))


@dataclass(frozen=True)
class NormalNull:
    """The paper's approximation of T d^2 by a normal law with the same mean and variance."""

    trace: float
    trace_sq: float

    def describe(self) -> str:
        """One line."""
        return f"normal approximation, tr(S) = {self.trace:.6g}, tr(S^2) = {self.trace_sq:.6g} (anti-conservative)"

    def tail(self, squared, T, inflation):
        """p-value of a squared statistic; the error of the approximation is not estimated (None)."""
        from scipy.special import ndtr
        spread = np.sqrt(2 * self.trace_sq)
        excess = squared * T / inflation - self.trace
        return float(ndtr(-excess / spread)) if spread > 0 else float(excess <= 0), None

    def threshold(self, alpha, T, inflation):
        """sqrt(tr(S)/T + z_{1-alpha}/T sqrt(2 tr(S^2))), the closed form of the paper."""
        from scipy.special import ndtri
        squared = inflation * (self.trace - ndtri(alpha) * np.sqrt(2 * self.trace_sq)) / T
        return float(np.sqrt(max(squared, 0.0)))


@dataclass(frozen=True, eq=False)
class MonteCarloNull:
    """Statistics of batches drawn from the circuit; drawn once for each T and kept."""

    circuit: pcircuit.Circuit
    nodes: np.ndarray
    node_weights: np.ndarray
    mean: np.ndarray
    num_resamples: int
    seed: int
    _drawn: dict = field(default_factory=dict, repr=False)

    def describe(self) -> str:
        """One line."""
        return f"{self.num_resamples} batches drawn from the circuit"

    def tail(self, squared, T, inflation):
        """(1 + #{d_b >= d}) / (1 + B), and its standard error."""
        null = self.drawn(T)
        # equal batches may differ in the last digits: they count as ties
        exceeding = len(null) - np.searchsorted(null, squared / inflation * (1 - 1e-9), side="left")
        pvalue = (1 + exceeding) / (1 + len(null))
        return float(pvalue), float(np.sqrt(pvalue * (1 - pvalue) / len(null)))

    def threshold(self, alpha, T, inflation):
        """Largest statistic that is not rejected; infinite where B is too small to reject at all."""
        null = self.drawn(T)
        allowed = int(np.floor(alpha * (1 + len(null)) + 1e-9)) - 1  # batches that may exceed it
        return float(np.sqrt(null[len(null) - 1 - allowed] * inflation)) if 0 <= allowed < len(null) else (
            float("inf") if allowed < 0 else 0.0)

    def drawn(self, T) -> np.ndarray:
        """(B,) sorted squared statistics of batches of T rows from the circuit."""
        if T not in self._drawn:
            rng = np.random.default_rng([self.seed, T])
            squared = []
            while len(squared) < self.num_resamples:
                batches = min(self.num_resamples - len(squared), max(1, BLOCK_ROWS // T))
                rows = pcircuit.sample(self.circuit, batches * T, rng=rng)
                squared += [squared_distance(self.circuit, rows[b * T:(b + 1) * T], self.nodes, self.node_weights,
                                             self.mean)[0] for b in range(batches)]
            self._drawn[T] = np.sort(squared)
        return self._drawn[T]


def squared_distance(circuit, rows, nodes, node_weights, mean):
    """d^2 of a batch and the weighted differences (m,) that make it up; `mean` is already weighted."""
    deltas = node_weights * pcircuit.mean_node_likelihoods(circuit, rows, nodes=nodes) - mean
    return float(deltas @ deltas), deltas


def exact_null(moments) -> ExactNull:
    """The law of T d^2 for moments of node likelihoods.

    Up to MAX_FULL_SPECTRUM nodes all eigenvalues are computed.  Beyond, the k leading ones are, and the rest, of which
    the traces give the sum c1 and the sum of squares c2, is replaced by one gamma term with these moments: the
    eigenvalue c2/c1 with multiplicity c1^2/c2, which has the least skewness possible.  The most skewed rest has as
    many eigenvalues as possible at its upper bound lambda_k, and the remaining mass spread infinitely thin.  The
    quantiles of the two enclose the truth up to higher moments; k doubles until they agree.
    """
    m = len(moments.nodes)
    if m <= MAX_FULL_SPECTRUM:
        return ExactNull(np.maximum(moments.eigenvalues(), 0.0), np.ones(m), 0.0, m)
    for k in LEADING:
        leading = np.sort(np.maximum(moments.eigenvalues(k), 0.0))[::-1]
        c1 = max(moments.trace - leading.sum(), 0.0)
        c2 = max(moments.trace_sq - (leading ** 2).sum(), 0.0)
        if c1 <= 1e-12 * moments.trace or c2 <= 1e-24 * moments.trace_sq:
            return ExactNull(leading, np.ones(k), 1e-12, k)
        smooth = _with_rest(leading, [(c2 / c1, c1 ** 2 / c2)])
        bound, at_bound = leading[-1], c2 / leading[-1] ** 2
        thin = c1 - at_bound * bound
        skewed = _with_rest(leading, [(bound, at_bound)] + ([(1e-9 * thin, 1e9)] if thin > 0 else []))
        quantiles = [[gchi2.isf(level, gchi2.prepare(*law)) for level in CHECKED_LEVELS] for law in (smooth, skewed)]
        error = float(np.max(np.abs(np.divide(*quantiles) - 1)))
        if error <= QUANTILE_TOLERANCE:
            break
    return ExactNull(*smooth, error, k)


def _with_rest(leading, rest):
    """Eigenvalues and multiplicities: the leading ones, and (eigenvalue, multiplicity) pairs for the rest."""
    values = np.concatenate([leading, [value for value, _ in rest]])
    return values, np.concatenate([np.ones(len(leading)), [count for _, count in rest]])
