"""The law of the statistic in the limit of large batches: a generalised chi-square.

Let delta be the difference of the mean likelihood vectors of a batch of T rows and of the reference.  A metric is a
matrix F (`hld.features.linear_maps`); d = |F delta|, and S is the covariance of F L(x) for one row.  If the rows follow
the reference, E[T d^2] = sum_j lambda_j exactly, and as T grows

    T d^2  ->  Q = sum_j lambda_j Z_j^2,        lambda_1 >= lambda_2 >= ...  the eigenvalues of S,

with Z_j independent standard normal numbers: the mean vector becomes normal by the central limit theorem, and in the
directions of the eigenvectors its coordinates are independent.

`LimitLaw` is the law of Q (`hld.gchi2`).  Its variance is 2 sum lambda^2, while that of T d^2 is 2 sum lambda^2 (1 +
excess / T), with excess = Var(d^2 of one row) / (2 sum lambda^2) - 1.  When corrected for a finite T, it scales all
weights by v = 1 + excess / T and their multiplicities (degrees of freedom) by 1 / v, which keeps the mean and gives the
right variance.

The paper's closed form: T d^2 as if it were Normal(sum lambda, 2 sum lambda^2).

With lambda the eigenvalues of the covariance S of a row's likelihood vector (as F shows it), sum lambda =
tr(S) and sum lambda^2 = tr(S^2), so that S need not be formed (`hld.testing.plain` is the whole test).  It rejects too
often, and most so when few eigenvalues dominate: with two equal ones the true level at a nominal 5 % is
P(chi2_2 > 2 + 1.645 * 2) = 7.1 %, with a single one at a nominal 1 % it is P(chi2_1 > 1 + 2.326 * sqrt(2)) = 3.8 %.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

import hld.gchi2 as gchi2
from hld.gchi2.three_moments import ThreeMoments, three_moments
from hld.laws.joint import combined
from hld.laws.null import Null, NullOptions, PValue
from hld.references.reference import Reference
from pcircuit.io.archive import finite_array, saved_count, saved_number
from pcircuit.moments.rounding import without_rounding

if TYPE_CHECKING:
    from hld.gchi2.spectrum import Spectrum


QUANTILE_TOLERANCE = (
    1e-3  # relative error of the quantiles up to which leading eigenvalues are added
)
LEADING = (32, 64, 128, 256)
LEAST_STRETCH = 0.1
CHECKED_LEVELS = (0.1, 0.05, 0.01, 0.001)
MOST_KEPT = 64  # thresholds
MOST_SCALED = 1e5  # of weights at finite T, for each degree of freedom: fewer than 1e-5 of these are numerically none


@dataclass(frozen=True, eq=False)
class LimitLaw(Null):
    """The generalised chi-square law of T d^2; shapes eigenvalues, multiplicities (k,)."""

    eigenvalues: np.ndarray
    multiplicities: np.ndarray
    quantile_error: float
    num_eigenvalues: int
    excess: float = 0.0
    kind = "limit"

    @property
    def mean(self) -> float:
        """E[T d^2]."""
        return float(self.eigenvalues @ self.multiplicities)

    @cached_property
    def spectrum(self) -> Spectrum:
        """The limit law, prepared for `hld.gchi2`."""
        return gchi2.prepare(self.eigenvalues, self.multiplicities)

    @cached_property
    def moments(self) -> ThreeMoments:
        """The limit law by three of its moments."""
        return three_moments(self.eigenvalues, self.multiplicities)

    def stretch(self, T: int) -> float:
        """The factor v on the variance of T d^2, kept away from zero."""
        return max(1.0 + self.excess / T, LEAST_STRETCH)

    def score(self, squared: np.ndarray, T: int) -> np.ndarray:
        """P-values of squared distances (n,) by three moments, at any T: a scale for them."""
        return self.moments.tail(squared * T, self.stretch(T))

    def squared(self, score: float, T: int) -> float:
        """The squared distance that has a score."""
        return float(self.moments.quantile(score, self.stretch(T))) / T

    def at(self, T: int) -> Spectrum:
        """The law at batch size T, prepared for `hld.gchi2`."""
        positive = self.eigenvalues > 0
        if not self.excess or not positive.any():
            return self.spectrum
        values, counts = self.eigenvalues[positive], self.multiplicities[positive]
        v = min(self.stretch(T), MOST_SCALED * counts.sum())
        return gchi2.prepare(values * v, counts / v)

    def pvalue(self, squared: Any, T: Any) -> PValue:
        """P(d^2 >= squared), and the estimated error of it."""
        pvalue, error = gchi2.sf_with_error(squared[0] * T, self.at(T))
        doubt = self.quantile_error * max(1.0, -np.log(max(pvalue, 1e-300)))
        value = float(pvalue)
        return PValue(value, (value,), float(error) + value * doubt, "exact")

    def threshold(self, alpha: float, T: int, draws: int = 0) -> float:
        """The value of d^2 that is exceeded with probability alpha."""
        return _quantile(self, alpha, T if self.excess else 0) / T

    def with_excess(self, variance: float) -> LimitLaw:
        """The law that is corrected for a finite T, from the variance of d^2 of single rows."""
        limit = self.spectrum.variance
        return replace(self, excess=variance / limit - 1 if limit > 0 else 0.0)

    def describe(self, names: tuple[str]) -> list[Any]:
        """One line."""
        error = f"relative error of quantiles at most {self.quantile_error:.1g}"
        exactness = error if self.quantile_error else "all there are"
        return [
            f"  {names[0]}: generalised chi-square, {self.num_eigenvalues} eigenvalues ({exactness})"
        ]

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Eigenvalues and multiplicities, and three numbers."""
        return (
            {
                "kind": self.kind,
                "quantile_error": self.quantile_error,
                "num_eigenvalues": self.num_eigenvalues,
                "excess": self.excess,
            },
            {"eigenvalues": self.eigenvalues, "multiplicities": self.multiplicities},
        )

    @classmethod
    def from_parts(
        cls, scalars: dict[str, float | str], arrays: dict[str, np.ndarray], context: Any
    ) -> LimitLaw:
        """A law that `to_parts` wrote."""
        values = finite_array(arrays, "eigenvalues", (None,))
        counts = finite_array(arrays, "multiplicities", values.shape)
        k = saved_count(scalars, "num_eigenvalues")
        if len(values) not in (k, k + 1) or (counts[:k] != 1).any() or (counts <= 0).any():
            raise ValueError(
                f"a law of the test has {k} eigenvalues, and {len(values)} with multiplicities"
            )
        if (values < 0).any() or (np.diff(values[:k]) > 0).any():
            raise ValueError("the eigenvalues of a law of the test must descend and be at least 0")
        most = 1e-12 if len(values) == k else sys.float_info.max  # all are known
        error = saved_number(scalars, "quantile_error", most=most)
        law = cls(values, counts, error, k, saved_number(scalars, "excess", -1.0))
        context.check_mean(law.mean)
        _ = law.spectrum  # refuses what is not a spectrum
        return law


@lru_cache(MOST_KEPT)
def _quantile(law: LimitLaw, alpha: float, T: int) -> float:
    """The value of T d^2 that is exceeded with probability alpha, by the law at T; T = 0 for any."""
    return float(gchi2.isf(alpha, law.at(T)))


def limit_null(reference: Reference, metrics: tuple[Any, ...], options: NullOptions) -> Any:
    """The limit law of each metric, and where there are several, of their combination."""
    return combined(limit_laws(reference, metrics), reference, metrics, options.rng)


def limit_laws(reference: Reference, metrics: tuple[Any, ...]) -> tuple[Any, ...]:
    """The limit law of each metric under a reference."""
    return tuple(limit_law(reference.under(metric)) for metric in metrics)


def limit_law(seen: Any) -> LimitLaw:
    """The law of T |Z|^2 for vectors of some covariance."""
    is_small = getattr(seen, "is_small", False)
    return law_of_values(seen.eigenvalues()) if is_small else law_of_leading(seen)


def law_of_leading(seen: Any) -> LimitLaw:
    """The law of T |Z|^2 for a covariance with many eigenvalues, from leading ones and traces.

    The k leading eigenvalues are computed; the rest, of which the traces give the sum and the sum of squares, is
    replaced (`law_of_values`), and k grows until that replacement no longer matters.
    """
    for k in LEADING:
        leading = without_rounding(np.sort(seen.eigenvalues(k))[::-1])
        c1 = max(seen.trace - leading.sum(), 0.0)
        c2 = max(seen.trace_sq - (leading**2).sum(), 0.0)
        law = law_of_values(leading, c1, c2, leading[-1])
        if law.quantile_error <= QUANTILE_TOLERANCE:
            break
    return law


def law_of_values(
    leading: np.ndarray, c1: float = 0.0, c2: float = 0.0, bound: float = 0.0
) -> LimitLaw:
    """The law of sum_j lambda_j chi2_1 with some lambda known and of the rest their sum c1 and sum of squares c2.

    The rest becomes one gamma term with these moments: the value c2 / c1 with multiplicity c1^2 / c2, which has the
    least skewness possible.  The most skewed rest has as many values as possible at its upper bound, and the remaining
    mass spread infinitely thin.  The quantiles under the two enclose the truth up to higher moments.

    Shapes: leading (k,).
    """
    total, k = leading.sum() + c1, len(leading)
    if c1 <= 1e-12 * total or c2 <= 0:
        return LimitLaw(leading, np.ones(k), 1e-12 if c1 > 0 else 0.0, k)
    values, counts = _with_rest(leading, [(c2 / c1, c1**2 / c2)])
    at_bound = c2 / bound**2
    thin = c1 - at_bound * bound
    skewed = _with_rest(leading, [(bound, at_bound)] + ([(1e-9 * thin, 1e9)] if thin > 0 else []))
    smooth_ones, skewed_ones = (
        np.array([gchi2.isf(level, law) for level in CHECKED_LEVELS])
        for law in (gchi2.prepare(values, counts), gchi2.prepare(*skewed))
    )
    return LimitLaw(values, counts, float(np.max(np.abs(smooth_ones / skewed_ones - 1))), k)


def _with_rest(leading: Any, rest: Any) -> Any:
    """Eigenvalues and multiplicities: the leading ones, and (eigenvalue, multiplicity) pairs for the rest."""
    values = np.concatenate([leading, [value for value, _ in rest]])
    return values, np.concatenate([np.ones(len(leading)), [count for _, count in rest]])


@dataclass(frozen=True)
class NormalLaw(Null):
    """The normal law of T d^2, for one metric."""

    trace: float
    trace_sq: float
    kind = "normal"

    @property
    def mean(self) -> float:
        """E[T d^2]."""
        return self.trace

    def pvalue(self, squared: Any, T: Any) -> PValue:
        """P(d^2 >= squared); the error of the approximation is not estimated."""
        from scipy.special import ndtr

        scaled, spread = float(squared[0]) * T, np.sqrt(2 * self.trace_sq)
        value = (
            float(ndtr((self.trace - scaled) / spread))
            if spread > 0
            else float(scaled <= self.trace)
        )
        return PValue(value, (value,), None, "normal")

    def threshold(self, alpha: float, T: Any, draws: Any = 0) -> float:
        """(tr(S) + z_{1-alpha} sqrt(2 tr(S^2))) / T: the squared closed-form threshold of the paper."""
        from scipy.special import ndtri

        return max(float(self.trace - ndtri(alpha) * np.sqrt(2 * self.trace_sq)), 0.0) / T

    def describe(self, names: Any) -> list[Any]:
        """One line."""
        return [
            f"  {names[0]}: normal approximation, tr(S) = {self.trace:.6g}, tr(S^2) = {self.trace_sq:.6g} "
            "(anti-conservative)"
        ]

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The two traces."""
        return {"kind": self.kind, "trace": self.trace, "trace_sq": self.trace_sq}, {}

    @classmethod
    def from_parts(cls, scalars: Any, arrays: Any, context: Any) -> NormalLaw:
        """A law that `to_parts` wrote."""
        law = cls(saved_number(scalars, "trace"), saved_number(scalars, "trace_sq"))
        context.check_mean(law.trace)
        if law.trace_sq > law.trace**2 * (
            1 + 1e-6
        ):  # the sum of squares of numbers that are not negative
            raise ValueError(f"'trace_sq' is {law.trace_sq}, but 'trace' {law.trace}")
        return law


def normal_null(reference: Reference, metrics: tuple[Any, ...], options: NullOptions) -> NormalLaw:
    """The normal law of one metric under a reference."""
    (metric,) = metrics
    seen = reference.under(metric)
    return NormalLaw(seen.trace, seen.trace_sq)
