"""Null distributions that are drawn: valid at every batch size, also for a single row.

Batches of T rows are drawn as the reference has them, B of them, and each gives its squared distances, one per metric.
If a drawn batch is as good as the observed one, the Monte Carlo p-value (`hld.nulls.monte_carlo`) is valid whatever the
law is.  With several metrics, each batch gets for every metric its rank among the B + 1, and the harmonic mean of its
ranks is its combined statistic (`hld.nulls.joint`): ranks of exchangeable batches are exchangeable, so the same formula
gives one p-value for all metrics together.

A reference that is there when batches are tested (the circuit) is drawn from at each T that occurs: `DrawnNull`.  Of
one that is not (training rows), distances are drawn when the test is made, at a grid of sizes: `TabulatedNull`;
between the sizes p-values are interpolated.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hld.checks import finite_array, saved_count
from hld.nulls.joint import harmonic_mean
from hld.nulls.monte_carlo import TIE, monte_carlo_error, rejection_threshold
from hld.nulls.null import PValue

GRID = (1, 2, 3, 4, 5, 7, 10, 14, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 1000, 1500, 2000)
MOST_RESAMPLES = 10 ** 6


@dataclass(frozen=True, eq=False)
class DrawnBatches:
    """Squared distances of drawn batches of one size.

    Attributes
    ----------
    squared : (B, q) float array
        One column per metric.
    """

    squared: np.ndarray

    @cached_property
    def ordered(self) -> np.ndarray:
        """(q, B) the columns, each ascending."""
        return np.sort(self.squared.T, axis=1)

    @cached_property
    def at_least(self) -> np.ndarray:
        """(B, q) the number of drawn batches, itself included, that are at least as far as each, metric by metric."""
        columns = zip(self.squared.T, self.ordered, strict=True)
        return len(self.squared) - np.stack([np.searchsorted(ordered, column) for column, ordered in columns], axis=1)

    def pvalues(self, squared) -> tuple[np.ndarray, float]:
        """Monte Carlo p-values of squared distances (q,): one by one, and of the harmonic mean of ranks."""
        observed = np.asarray(squared) * (1 - TIE)
        B = len(self.squared)
        each = np.array([1 + B - np.searchsorted(column, one)
                         for column, one in zip(self.ordered, observed, strict=True)]) / (1 + B)
        if len(each) == 1:
            return each, float(each[0])
        means = harmonic_mean((self.at_least + (observed >= self.squared)) / (1 + B))
        return each, float(1 + (means <= harmonic_mean(each) * (1 + 1e-12)).sum()) / (1 + B)


class _Drawn:
    """P-values and thresholds from `at`, which gives [(share, batches, factor)] for batches of T rows.

    The p-value is the average by shares, after squared distances have been multiplied by the factors.
    """

    def at(self, T: int) -> list:
        raise NotImplementedError

    def pvalue(self, squared, T) -> PValue:
        """Monte Carlo p-values and their standard error."""
        each, value = 0.0, 0.0
        for share, batches, factor in self.at(T):
            single, together = batches.pvalues(np.asarray(squared) * factor)
            each, value, B = each + share * single, value + share * together, len(batches.squared)
        return PValue(value, tuple(map(float, each)), monte_carlo_error(value, B), "monte-carlo")

    def threshold(self, alpha, T) -> float:
        """Largest squared distance that is not rejected; infinite where B is too small to reject."""
        parts = [share * max(rejection_threshold(batches.ordered[0], alpha), 0.0) / factor
                 for share, batches, factor in self.at(T)]
        return float(sum(parts))


@dataclass(frozen=True, eq=False)
class DrawnNull(_Drawn):
    """Batches of a reference that is there when batches are tested; drawn once for each T and kept.

    Attributes
    ----------
    reference : Reference
    metrics : tuple of LinearMap
    num_resamples : int
        B.
    seed : int
        What is drawn is a function of seed and T.
    """

    reference: object
    metrics: tuple
    num_resamples: int
    seed: int
    _drawn: dict = field(default_factory=dict, repr=False)

    def at(self, T: int) -> list:
        """The batches of T rows."""
        if T not in self._drawn:
            means = self.reference.batch_means(T, self.num_resamples, np.random.default_rng([self.seed, T]))
            self._drawn[T] = DrawnBatches(squared_distances(self.metrics, means))
        return [(1.0, self._drawn[T], 1.0)]

    def describe(self, names) -> list:
        """One line."""
        return [f"  {self.num_resamples} batches drawn from the circuit"]

    def to_parts(self) -> tuple[dict, dict]:
        """B: the rest is in the test."""
        return {"kind": "drawn", "num_resamples": self.num_resamples}, {}

    @classmethod
    def from_parts(cls, scalars, arrays, context) -> DrawnNull:
        """A null that `to_parts` wrote."""
        return cls(context.reference, context.metrics, saved_count(scalars, "num_resamples", 1, MOST_RESAMPLES),
                   context.seed)


@dataclass(frozen=True, eq=False)
class TabulatedNull(_Drawn):
    """Squared distances of batches that were drawn when the test was made.

    Attributes
    ----------
    sizes : (g,) int array
        Batch sizes, ascending.
    squared : (g, B, q) float array
    """

    sizes: np.ndarray
    squared: np.ndarray

    @cached_property
    def batches(self) -> tuple:
        """DrawnBatches of each size."""
        return tuple(map(DrawnBatches, self.squared))

    def at(self, T: int) -> list:
        """The batches of T rows themselves, or those of the sizes around it, scaled to T."""
        i = int(np.searchsorted(self.sizes, T))
        if i == len(self.sizes) or self.sizes[i] == T or i == 0:
            i = min(i, len(self.sizes) - 1)
            return [(1.0, self.batches[i], T / self.sizes[i])]
        low, high = self.sizes[i - 1], self.sizes[i]
        share = (1 / T - 1 / high) / (1 / low - 1 / high)  # the law is nearly linear in 1 / T
        return [(share, self.batches[i - 1], T / low), (1 - share, self.batches[i], T / high)]

    def describe(self, names) -> list:
        """One line."""
        return [f"  {self.squared.shape[1]} batches of training rows, at {len(self.sizes)} sizes up to "
                f"{self.sizes[-1]}"]

    def to_parts(self) -> tuple[dict, dict]:
        """The two arrays."""
        return {"kind": "tabulated"}, {"sizes": self.sizes, "squared": self.squared}

    @classmethod
    def from_parts(cls, scalars, arrays, context) -> TabulatedNull:
        """A null that `to_parts` wrote."""
        sizes = finite_array(arrays, "sizes", (None,), np.int64)
        if not len(sizes) or sizes[0] < 1 or sizes[-1] > 2 ** 53 or (np.diff(sizes) <= 0).any():
            raise ValueError("the batch sizes of the test must be ascending whole numbers")
        squared = finite_array(arrays, "squared", (len(sizes), None, len(context.metrics)))
        if not squared.size or (squared < 0).any() or (squared > context.farthest).any():
            raise ValueError(f"the drawn statistics, of shape {squared.shape}, are not squared distances of this test")
        return cls(sizes, squared)


def drawn_null(reference, metrics, options):
    """Batches drawn on demand, at every size."""
    return DrawnNull(reference.at_deployment, metrics, options.num_resamples, options.seed)


def draw(reference, metrics, options, largest):
    """Drawn batches of up to `largest` rows: on demand where the reference stays, else made now."""
    if reference.at_deployment is not None:
        return drawn_null(reference, metrics, options)
    sizes = np.array([T for T in GRID if largest > T] + [int(largest)])
    squared = [squared_distances(metrics, reference.batch_means(T, options.num_resamples, options.rng))
               for T in sizes.tolist()]
    return TabulatedNull(sizes, np.stack(squared))


def squared_distances(metrics, means) -> np.ndarray:
    """(n, q) squared distances of differences of means (n, m)."""
    return np.stack([metric.squared(means) for metric in metrics], axis=1)
