"""What every null can do, and what may become a verdict.

A null is the law of the squared distances d^2 = |F Z|^2 of a batch of T rows, one for each of q metrics, if the rows
follow the reference.  It is made before any batch is seen, by a function of the reference and the metrics, and keeps
neither afterwards, unless it draws batches on demand.  A new null is one more class with these methods, and a line or
two in `hld.laws.named`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np


class PValue(NamedTuple):
    """What a null says of one batch."""

    value: float
    each: tuple[Any, ...]
    error: float | None
    null: str
    draws: int = 0


def check_verdict(statistic: float, pvalue: float) -> None:
    """Raise unless a statistic is a number and its p-value a probability: nothing else may become a verdict.

    Infinity is a number here: the distance of a batch that is impossible under the circuit.
    """
    if math.isnan(statistic) or not 0.0 <= pvalue <= 1.0:
        raise ArithmeticError(
            f"the statistic is {statistic!r} with p = {pvalue!r}, which is no verdict: please report "
            "the circuit and the batch"
        )


class Null:
    """The law of the squared distances of a batch without a shift; what has a default here is that of a plain law.

    Beside these it has

    * ``pvalue(squared, T)``: the `PValue` of squared distances (q,) of a batch of T rows;
    * ``threshold(alpha, T, draws)``: for a single metric the largest squared distance that is not rejected;
    * ``describe(names)``: lines about it, for metrics of these names;
    * ``to_parts()``: scalars, with its "kind", and arrays;
    * ``from_parts(scalars, arrays, context)``: makes it again, and raises ValueError for bad ones.

    Each of `laws` has E[T d^2] as `mean`, by which the margins in a file are checked.
    """

    kind = ""  # what files call it

    @property
    def laws(self) -> tuple[Any, ...]:
        """The law of each metric at large batches."""
        return (self,)

    @property
    def limit(self) -> Any:
        """What judges large batches."""
        return self

    def drawn(self, T: int) -> bool:
        """Whether drawn batches judge a batch of T rows."""
        return False

    def of_pvalues(self, each: tuple[Any, ...], T: int) -> PValue:
        """The p-value of a batch of T rows whose metrics have these p-values under limit laws of its own."""
        return PValue(each[0], tuple(each), 0.0, "exact")

    def tails_of(self, means: np.ndarray) -> np.ndarray:
        """P-values of harmonic means (n,) of the p-values of all metrics at large batches."""
        return means

    def level(self, alpha: float, T: int, draws: int = 0) -> float:
        """The p-value of the laws from which on a batch is not rejected; 0 where none is rejected."""
        return alpha

    def least(self, T: int) -> float:
        """The smallest p-value that a batch of T rows can have, as far as this null is concerned."""
        return 0.0


@dataclass(frozen=True)
class NullOptions:
    """What a null is made with, beside reference and metrics."""

    num_resamples: int
    seed: int
    rng: np.random.Generator = field(repr=False)
