r"""One p-value for several metrics, from their joint law.

Each metric has its p-value p_i.  Their harmonic mean

.. math:: h = q / \sum_i 1 / p_i

is the combined statistic (Wilson 2019).  Like the minimum it is small if one p-value is very small, and it is smaller
still if others are small too: with few rows, where no single metric has strong evidence, their agreement counts.

Under H0 the law F(x) = P(h <= x) depends on how the metrics depend on one another.  In the limit of large T the
difference Z is normal with covariance S / T, and all metrics are functions of the same Z.  So F is found by drawing: B
normal vectors with covariance S give B tuples of statistics, ranks turn them into p-values, and these into B values of
h.  Below the resolution of B draws F(x) / x is held at its last value: in truth it falls towards 1 as x does, since a
harmonic mean that small comes from a single p-value (its inverse is a sum of variables with tails 1/t).

Reference rows that are all alike, in a table of rare flags for example, have S = 0, and say nothing of how the metrics
depend on one another: every draw of h is 1.  The p-values come from the rows of the batch then, and h is taken as if
they were one p-value, F(x) = x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hld.laws.null import Null, PValue
from hld.references.reference import MAX_FULL_SPECTRUM, Reference
from hld.references.rows import distances_of_sums
from pcircuit.io.archive import finite_array, under_prefix, with_prefix

DRAWS = 8_000
RESOLVED = 100  # draws below which F is not trusted
BLOCK = 2_000
FACTOR_ROWS = 300  # whose sample covariance stands in for that of more nodes than these


@dataclass(frozen=True, eq=False)
class JointLaw:
    """Law of the harmonic mean of several p-values; shapes means (B,)."""

    means: np.ndarray

    def tail(self, x: Any) -> np.ndarray:
        """F(x) = P(harmonic mean <= x), of a number or of many."""
        x = np.asarray(x, dtype=np.float64)
        B = len(self.means)
        if self.means[0] == 1.0:  # of reference rows without variance
            return x
        below = np.searchsorted(self.means, x.astype(np.float32), side="right")
        if B <= RESOLVED:
            return (below + 1) / (B + 1)
        extrapolated = np.minimum(x / float(self.means[RESOLVED]), 1.0) * (RESOLVED + 1)
        return np.where(below >= RESOLVED, below + 1, extrapolated) / (B + 1)

    def error(self, tail: float) -> float:
        """Standard error of a value of `tail`."""
        return tail * float(np.sqrt((1 - tail) / max(len(self.means) * tail, RESOLVED)))


@dataclass(frozen=True, eq=False)
class JointNull(Null):
    """Several metrics, each with its own null, and the law of the harmonic mean of their p-values."""

    nulls: tuple[Any, ...]
    law: JointLaw
    kind = "joint"

    @property
    def laws(self) -> tuple[Any, ...]:
        """Those of the metrics."""
        return self.nulls

    def pvalue(self, squared: np.ndarray, T: int) -> PValue:
        """The combined p-value; its error is the largest relative error of the parts, and that of the law."""
        found = [null.pvalue(squared[i : i + 1], T) for i, null in enumerate(self.nulls)]
        together = self.of_pvalues(tuple(one.value for one in found), T)
        value = together.value
        error = max(
            (one.error or 0.0) * value / one.value if one.value > 0 else 0.0 for one in found
        )
        return together._replace(error=error + together.error, null=found[0].null)  # type: ignore[operator]

    def of_pvalues(self, each: Any, T: int) -> PValue:
        """The combined p-value of p-values one by one, with the error of the law."""
        value = float(self.law.tail(harmonic_mean(each)))
        return PValue(value, tuple(each), self.law.error(value), "exact")

    def tails_of(self, means: np.ndarray) -> np.ndarray:
        """By the joint law."""
        return self.law.tail(means)

    def threshold(self, alpha: float, T: Any, draws: Any = 0) -> float:
        """Refused: several distances have no common threshold."""
        raise ValueError(
            "several metrics have a p-value and no threshold of a distance: test with a single `metric`"
        )

    def describe(self, names: tuple[str, ...]) -> list[Any]:
        """A line for each metric."""
        return [
            line
            for null, name in zip(self.nulls, names, strict=True)
            for line in null.describe((name,))
        ]

    def to_parts(self) -> tuple[dict, dict[str, Any]]:  # type: ignore[type-arg]
        """The parts of the nulls, numbered, and the draws of the law."""
        parts = [null.to_parts() for null in self.nulls]
        arrays = {"means": self.law.means}
        for i, (_, own) in enumerate(parts):
            arrays |= with_prefix(f"{i}.", own)
        return {"kind": self.kind, "nulls": [scalars for scalars, _ in parts]}, arrays

    @classmethod
    def from_parts(
        cls, scalars: dict[str, Any], arrays: dict[str, np.ndarray], context: Any
    ) -> JointNull:
        """A null that `to_parts` wrote."""
        means = finite_array(arrays, "means", (None,), np.float32)
        if len(means) <= RESOLVED or means[0] <= 0 or means[-1] > 1 or (np.diff(means) < 0).any():
            raise ValueError(
                f"the joint law of the metrics must be over {RESOLVED} ascending numbers in (0, 1]"
            )
        parts = scalars.get("nulls")
        if not isinstance(parts, list) or not len(parts) == len(context.metrics) > 1:
            raise ValueError("metrics and laws of the test do not fit together")
        nulls = tuple(
            context.only(i).read(own, under_prefix(f"{i}.", arrays)) for i, own in enumerate(parts)
        )
        return cls(nulls, JointLaw(means))


def combined(
    nulls: tuple[Any, ...], reference: Reference, metrics: tuple[Any, ...], rng: np.random.Generator
) -> Any:
    """The null of all metrics together: the only one, or all and their joint law under the reference."""
    return (
        nulls[0]
        if len(nulls) == 1
        else JointNull(nulls, joint_law(factor_of(reference, rng), metrics, rng))
    )


def harmonic_mean(pvalues: np.ndarray) -> np.ndarray:
    """Harmonic means of p-values."""
    with np.errstate(divide="ignore", over="ignore"):
        return 1.0 / (1.0 / np.asarray(pvalues, dtype=np.float64)).mean(axis=-1)


def joint_law(
    factor: np.ndarray,
    metrics: tuple[Any, ...],
    rng: np.random.Generator,
    *,
    num_draws: int = DRAWS,
) -> JointLaw:
    """Joint law of the p-values of several metrics in the limit of large batches.

    Shapes: factor (n, m).
    n^2 m multiplications for the forms of the metrics in the n directions, and B n^2 for the draws of each.
    """
    known: dict[Any, Any] = {}
    blocks = []
    for start in range(0, num_draws, BLOCK):
        drawn = rng.standard_normal((min(BLOCK, num_draws - start), len(factor)))
        blocks.append(distances_of_sums(metrics, factor, drawn, known))
    squared = np.concatenate(blocks)
    ranks = np.stack(
        [
            len(column) - np.searchsorted(np.sort(column), column, side="left")
            for column in squared.T
        ],
        axis=1,
    )
    return JointLaw(np.sort(harmonic_mean(ranks / len(ranks))).astype(np.float32))


def factor_of(reference: Reference, rng: np.random.Generator) -> np.ndarray:
    """(n, m) A with A^t A = S: of the covariance, or with many nodes of rows that follow the reference.

    Only ranks of statistics are made from it, and whether several are small together hardly depends on how well single
    directions are known.

    Returns (n, size).
    """
    if len(reference.mean) <= min(FACTOR_ROWS, MAX_FULL_SPECTRUM):
        return covariance_factor(reference.covariance())
    return factor_of_rows(reference.rows(FACTOR_ROWS, rng))


def factor_of_rows(rows: np.ndarray) -> np.ndarray:
    """(n, m) A with A^t A = S: the covariance of centred rows (k, m) in any order, or of `FACTOR_ROWS` of wide ones."""
    if rows.shape[1] <= FACTOR_ROWS and rows.shape[1] < len(rows):
        return covariance_factor(rows.T @ rows / len(rows))
    some = rows[:FACTOR_ROWS]
    return some / np.sqrt(len(some))


def covariance_factor(covariance: np.ndarray) -> np.ndarray:
    """(rank, m) A with A^t A = S for a covariance S (m, m)."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > 1e-12 * max(values[-1], 0.0)
    return np.sqrt(values[kept])[:, None] * vectors[:, kept].T
