"""Laws of the statistic when nothing has shifted.

Let Z be the difference of the mean hierarchical likelihood vectors of a batch of T rows and of the reference, S the
covariance of one row, and d a norm of Z (`hld.metrics.metric`).  If the rows follow the reference, E[T d^2] = sum_j
lambda_j exactly, and as T grows

    T d^2  ->  Q = sum_j lambda_j chi2_1,        lambda_1 >= lambda_2 >= ...  (the eigenvalues of S for the plain norm).

* `ExactLaw` is the law of Q itself, a generalised chi-square (`hld.gchi2`).  Its variance is 2 sum lambda^2, while that
  of T d^2 is 2 sum lambda^2 (1 + excess / T), with excess = Var(d^2 of one row) / (2 sum lambda^2) - 1.  Asked to
  correct for a finite T, it scales all weights by v = 1 + excess / T and their multiplicities by 1 / v, which keeps the
  mean and gives the right variance.
* `NormalLaw` is the paper's closed form, Q ~ Normal(sum lambda, 2 sum lambda^2).  It is anti-conservative, the more the
  fewer eigenvalues dominate: with two equal ones its true level at a nominal 5 % is P(chi2_2 > 2 + 1.645 * 2) = 7.1 %,
  with one at a nominal 1 % it is P(chi2_1 > 1 + 2.326 * sqrt(2)) = 3.8 %.

Both are laws of the squared statistic times T; `hld.nulls.drawn` has the ones that are drawn instead.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hld import gchi2

QUANTILE_TOLERANCE = 1e-3  # relative error of the quantiles up to which leading eigenvalues are added
LEADING = (32, 64, 128, 256)
CHECKED_LEVELS = (0.1, 0.05, 0.01, 0.001)
MOST_PREPARED = 64  # finite-T laws that are kept


@dataclass(frozen=True, eq=False)
class ExactLaw:
    """The generalised chi-square law of T d^2.

    Attributes
    ----------
    eigenvalues, multiplicities : (k,) float arrays
        The lambda_j, the smallest ones possibly as one gamma term that matches their first two moments.
    quantile_error : float
        Largest relative error of the quantiles at levels 0.1 to 0.001 that this replacement can cause; 0 where all
        eigenvalues were computed.
    num_eigenvalues : int
        Eigenvalues computed.
    excess : float
        Of the variance at finite T, see the module; 0 for the limit law.
    """

    eigenvalues: np.ndarray
    multiplicities: np.ndarray
    quantile_error: float
    num_eigenvalues: int
    excess: float = 0.0
    _prepared: dict = field(default_factory=dict, repr=False)

    def describe(self) -> str:
        """One line."""
        exactness = (f"relative error of quantiles at most {self.quantile_error:.1g}" if self.quantile_error
                     else "all there are")
        return f"generalised chi-square, {self.num_eigenvalues} eigenvalues ({exactness})"

    @cached_property
    def spectrum(self):
        """The limit law, prepared for `hld.gchi2`."""
        return gchi2.prepare(self.eigenvalues, self.multiplicities)

    def at(self, T: int):
        """The law at batch size T, prepared for `hld.gchi2`."""
        if not self.excess or not self.spectrum.scale:
            return self.spectrum
        law = self._prepared.get(T)
        if law is None:
            v = max(1.0 + self.excess / T, 0.1)
            positive = self.eigenvalues > 0
            law = gchi2.prepare(self.eigenvalues[positive] * v, self.multiplicities[positive] / v)
            if len(self._prepared) < MOST_PREPARED:
                self._prepared[T] = law
        return law

    def tail(self, scaled: float, T: int):
        """P(T d^2 >= scaled), and the estimated error of it."""
        pvalue, error = gchi2.sf_with_error(scaled, self.at(T))
        doubt = self.quantile_error * max(1.0, -np.log(max(pvalue, 1e-300)))
        return float(pvalue), float(error) + pvalue * doubt

    def quantile(self, alpha: float, T: int) -> float:
        """The value of T d^2 that is exceeded with probability alpha."""
        key = (alpha, T if self.excess else 0)
        value = self._prepared.get(key)
        if value is None:
            value = float(gchi2.isf(alpha, self.at(T)))
            if len(self._prepared) < MOST_PREPARED:
                self._prepared[key] = value
        return value


@dataclass(frozen=True)
class NormalLaw:
    """The paper's approximation of T d^2 by a normal law with the same mean and variance."""

    trace: float
    trace_sq: float

    def describe(self) -> str:
        """One line."""
        return f"normal approximation, tr(S) = {self.trace:.6g}, tr(S^2) = {self.trace_sq:.6g} (anti-conservative)"

    def tail(self, scaled: float, T: int):
        """P(T d^2 >= scaled); the error of the approximation is not estimated (None)."""
        from scipy.special import ndtr
        spread = np.sqrt(2 * self.trace_sq)
        return float(ndtr((self.trace - scaled) / spread)) if spread > 0 else float(scaled <= self.trace), None

    def quantile(self, alpha: float, T: int) -> float:
        """tr(S) + z_{1-alpha} sqrt(2 tr(S^2)); over T this is the squared closed-form threshold of the paper."""
        from scipy.special import ndtri
        return max(float(self.trace - ndtri(alpha) * np.sqrt(2 * self.trace_sq)), 0.0)


def law_of_moments(moments) -> ExactLaw:
    """The law of T |Z|^2 for moments of many nodes, from leading eigenvalues and traces.

    The k leading eigenvalues are computed; the rest, of which the traces give the sum and the sum of squares, is
    replaced (`law_of_values`), and k doubles until that replacement no longer matters.
    """
    for k in LEADING:
        leading = np.sort(np.maximum(moments.eigenvalues(k), 0.0))[::-1]
        c1 = max(moments.trace - leading.sum(), 0.0)
        c2 = max(moments.trace_sq - (leading ** 2).sum(), 0.0)
        law = law_of_values(leading, c1, c2, leading[-1])
        if law.quantile_error <= QUANTILE_TOLERANCE:
            break
    return law


def law_of_values(leading, c1=0.0, c2=0.0, bound=0.0) -> ExactLaw:
    """The law of sum_j lambda_j chi2_1 with some lambda known and of the rest their sum c1 and sum of squares c2.

    The rest becomes one gamma term with these moments: the value c2 / c1 with multiplicity c1^2 / c2, which has the
    least skewness possible.  The most skewed rest has as many values as possible at its upper bound, and the remaining
    mass spread infinitely thin.  The quantiles under the two enclose the truth up to higher moments.

    Parameters
    ----------
    leading : (k,) float array
        Known values, at least one.
    c1, c2 : float
        Sum and sum of squares of the others.
    bound : float
        Upper bound on each of the others.

    Returns
    -------
    ExactLaw

    Examples
    --------
    >>> law = law_of_values(np.array([3.0, 1.0]))
    >>> round(law.tail(7.0, 1)[0], 4), law.num_eigenvalues
    (0.1714, 2)
    """
    total, k = leading.sum() + c1, len(leading)
    if c1 <= 1e-12 * total or c2 <= 0:
        return ExactLaw(leading, np.ones(k), 1e-12 if c1 > 0 else 0.0, k)
    smooth = _with_rest(leading, [(c2 / c1, c1 ** 2 / c2)])
    at_bound = c2 / bound ** 2
    thin = c1 - at_bound * bound
    skewed = _with_rest(leading, [(bound, at_bound)] + ([(1e-9 * thin, 1e9)] if thin > 0 else []))
    quantiles = [[gchi2.isf(level, gchi2.prepare(*law)) for level in CHECKED_LEVELS] for law in (smooth, skewed)]
    return ExactLaw(*smooth, float(np.max(np.abs(np.divide(*quantiles) - 1))), k)


def law_in_metric(metric, covariance) -> ExactLaw:
    """The law of T d^2 for a covariance of the node likelihoods that is not the one the metric was made from.

    Parameters
    ----------
    metric : Metric
    covariance : (m, m) float array

    Returns
    -------
    ExactLaw
        Of the eigenvalues of F^t S F, where d = |F^t Z|.

    Examples
    --------
    >>> from hld.metrics.metric import Metric
    >>> plain = Metric("euclidean", np.ones(2), 1.0, np.zeros((2, 0)), np.zeros(0))
    >>> law_in_metric(plain, np.diag([3.0, 1.0])).eigenvalues
    array([3., 1.])
    """
    values = np.linalg.eigvalsh(metric.transform(metric.transform(covariance).T))[::-1]
    return law_of_values(np.maximum(values, 0.0))


def _with_rest(leading, rest):
    """Eigenvalues and multiplicities: the leading ones, and (eigenvalue, multiplicity) pairs for the rest."""
    values = np.concatenate([leading, [value for value, _ in rest]])
    return values, np.concatenate([np.ones(len(leading)), [count for _, count in rest]])
