"""The paper's closed form: T d^2 as if it were Normal(sum lambda, 2 sum lambda^2).

With lambda the eigenvalues of the covariance S of a row's likelihood vector (as the metric shows it), sum lambda =
tr(S) and sum lambda^2 = tr(S^2), so that S need not be formed (`hld.testing.plain` is the whole test).  It rejects too
often, and most so when few eigenvalues dominate: with two equal ones the true level at a nominal 5 % is
P(chi2_2 > 2 + 1.645 * 2) = 7.1 %, with a single one at a nominal 1 % it is P(chi2_1 > 1 + 2.326 * sqrt(2)) = 3.8 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hld.nulls.null import Null, NullOptions, PValue
from hld.references.reference import Reference
from pcircuit.io.archive import saved_number


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
