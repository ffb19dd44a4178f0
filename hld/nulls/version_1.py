"""Nulls of model files of version 1: old files give the same p-values as before; no such null is made any more.

B batches of T rows are drawn, and each gives its squared distances, one per metric.  With several metrics,
each batch gets for every metric its rank among the B + 1, and the harmonic mean of its ranks is its combined statistic:
ranks of exchangeable batches are exchangeable, so the Monte Carlo p-value (`hld.nulls.ranks.monte_carlo`) serves for
all metrics together.  `DrawnNull` draws from the circuit at each T that occurs; `TabulatedNull` holds distances of
batches of training rows at a grid of sizes, between which p-values are interpolated; `SwitchedNull` has one of them
below a batch size, and the law from there on.  `hld.nulls.auto` says what is done today.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from hld.nulls.joint import harmonic_mean
from hld.nulls.null import Null, PValue
from hld.nulls.ranks.monte_carlo import TIE, monte_carlo_error, rejection_threshold
from hld.nulls.staged import MOST_RESAMPLES
from hld.vectors.squared_distances import squared_distances
from pcircuit.arguments import check_whole_number
from pcircuit.files.contents import finite_array, saved_count, under_prefix, with_prefix


@dataclass(frozen=True, eq=False)
class DrawnBatches:
    """Squared distances of drawn batches of one size.

    Shapes: squared (B, q).
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
        return len(self.squared) - np.stack(
            [np.searchsorted(ordered, column) for column, ordered in columns], axis=1
        )

    def pvalues(self, squared: Any) -> tuple[np.ndarray, float]:
        """Monte Carlo p-values of squared distances (q,): one by one, and of the harmonic mean of ranks."""
        observed = np.asarray(squared) * (1 - TIE)
        B = len(self.squared)
        each = np.array(
            [
                1 + B - np.searchsorted(column, one)
                for column, one in zip(self.ordered, observed, strict=True)
            ]
        ) / (1 + B)
        if len(each) == 1:
            return each, float(each[0])
        means = harmonic_mean((self.at_least + (observed >= self.squared)) / (1 + B))
        return each, float(1 + (means <= harmonic_mean(each) * (1 + 1e-12)).sum()) / (1 + B)


class _Drawn:
    """P-values and thresholds from `at`, which gives [(share, batches, factor)] for batches of T rows.

    The p-value is the average by shares, after squared distances have been multiplied by the factors.
    """

    def at(self, T: int) -> list[Any]:
        raise NotImplementedError

    def pvalue(self, squared: Any, T: Any) -> PValue:
        """Monte Carlo p-values and their standard error."""
        each: Any = 0.0
        value = 0.0
        for share, batches, factor in self.at(T):
            single, together = batches.pvalues(np.asarray(squared) * factor)
            each, value, B = each + share * single, value + share * together, len(batches.squared)
        return PValue(value, tuple(map(float, each)), monte_carlo_error(value, B), "monte-carlo")

    def least(self, T: Any) -> float:
        """1 / (1 + B)."""
        return 1.0 / (1.0 + len(self.at(T)[0][1].squared))

    def threshold(self, alpha: float, T: Any, draws: Any = 0) -> float:
        """Largest squared distance that is not rejected; infinite where B is too small to reject."""
        parts = [
            share * max(rejection_threshold(batches.ordered[0], alpha), 0.0) / factor
            for share, batches, factor in self.at(T)
        ]
        return float(sum(parts))


@dataclass(frozen=True, eq=False)
class DrawnNull(_Drawn):
    """Batches of a reference that is there when batches are tested; drawn once for each T and kept."""

    reference: Any
    metrics: tuple[Any, ...]
    num_resamples: int
    seed: int
    _drawn: dict[Any, Any] = field(default_factory=dict, repr=False)

    def at(self, T: int) -> list[Any]:
        """The batches of T rows."""
        if T not in self._drawn:
            means = self.reference.batch_means(
                T, self.num_resamples, np.random.default_rng([self.seed, T])
            )
            self._drawn[T] = DrawnBatches(squared_distances(self.metrics, means))
        return [(1.0, self._drawn[T], 1.0)]

    def describe(self, names: Any) -> list[Any]:
        """One line."""
        return [f"  {self.num_resamples} batches drawn from the circuit"]

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """B: the rest is in the test."""
        return {"kind": "drawn", "num_resamples": self.num_resamples}, {}

    @classmethod
    def from_parts(cls, scalars: Any, arrays: Any, context: Any) -> DrawnNull:
        """A null that `to_parts` wrote."""
        num_resamples = saved_count(scalars, "num_resamples", 1, MOST_RESAMPLES)
        return cls(context.reference, context.metrics, num_resamples, context.seed)


@dataclass(frozen=True, eq=False)
class TabulatedNull(_Drawn):
    """Squared distances of batches that were drawn when the test was made.

    Shapes: sizes (g,), squared (g, B, q).
    """

    sizes: np.ndarray
    squared: np.ndarray

    @cached_property
    def batches(self) -> tuple[Any, ...]:
        """DrawnBatches of each size."""
        return tuple(map(DrawnBatches, self.squared))

    def at(self, T: int) -> list[Any]:
        """The batches of T rows themselves, or those of the sizes around it, scaled to T."""
        i = int(np.searchsorted(self.sizes, T))
        if i == len(self.sizes) or self.sizes[i] == T or i == 0:
            i = min(i, len(self.sizes) - 1)
            return [(1.0, self.batches[i], T / self.sizes[i])]
        low, high = self.sizes[i - 1], self.sizes[i]
        share = (1 / T - 1 / high) / (1 / low - 1 / high)  # the law is nearly linear in 1 / T
        return [(share, self.batches[i - 1], T / low), (1 - share, self.batches[i], T / high)]

    def describe(self, names: Any) -> list[Any]:
        """One line."""
        return [
            f"  {self.squared.shape[1]} batches of training rows, at {len(self.sizes)} sizes up to "
            f"{self.sizes[-1]}"
        ]

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The two arrays."""
        return {"kind": "tabulated"}, {"sizes": self.sizes, "squared": self.squared}

    @classmethod
    def from_parts(cls, scalars: Any, arrays: Any, context: Any) -> TabulatedNull:
        """A null that `to_parts` wrote."""
        sizes = finite_array(arrays, "sizes", (None,), np.int64)
        if not len(sizes) or sizes[0] < 1 or sizes[-1] > 2**53 or (np.diff(sizes) <= 0).any():
            raise ValueError("the batch sizes of the test must be ascending whole numbers")
        squared = finite_array(arrays, "squared", (len(sizes), None, len(context.metrics)))
        if not squared.size or (squared < 0).any() or (squared > context.farthest).any():
            raise ValueError(
                f"the drawn statistics, of shape {squared.shape}, are not squared distances of this test"
            )
        return cls(sizes, squared)


@dataclass(frozen=True, eq=False)
class SwitchedNull:
    """One null below a batch size, and another from there on."""

    small: Any
    large: Null
    switch: int

    def null_for(self, T: int) -> Null:
        """The null of batches of T rows."""
        return self.small if self.drawn(T) else self.large

    def drawn(self, T: int) -> bool:
        """Whether drawn batches judge a batch of T rows."""
        return self.switch > T

    def pvalue(self, squared: Any, T: Any) -> PValue:
        """That of the null in charge."""
        return self.null_for(T).pvalue(squared, T)

    def least(self, T: Any) -> float:
        """That of the null in charge."""
        return self.null_for(T).least(T)

    def threshold(self, alpha: float, T: Any, draws: Any = 0) -> float:
        """That of the null in charge."""
        return self.null_for(T).threshold(alpha, T)

    def describe(self, names: Any) -> list[Any]:
        """A line about the small, and those of the large."""
        small = " ".join(line.strip() for line in self.small.describe(names))
        return [f"  T < {self.switch}: {small}; from there on:", *self.large.describe(names)]

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The parts of both."""
        (small, below), (large, above) = self.small.to_parts(), self.large.to_parts()
        return (
            {"kind": "switched", "switch": self.switch, "small": small, "large": large},
            with_prefix("small.", below) | with_prefix("large.", above),
        )

    @classmethod
    def from_parts(cls, scalars: Any, arrays: Any, context: Any) -> SwitchedNull:
        """A null that `to_parts` wrote."""
        return cls(
            context.read(scalars["small"], under_prefix("small.", arrays)),
            context.read(scalars["large"], under_prefix("large.", arrays)),
            check_whole_number(scalars["switch"], "switch", 1),
        )
