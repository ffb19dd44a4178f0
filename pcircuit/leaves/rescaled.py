r"""Units of another family with respect to another measure: densities in other units of length.

With the measure e^f times as large, densities are e^-f times as large, and they are distributions as before:

    p'(x) = e^-f p(x),    M2' = e^-f M2,    M3' = e^-2f M3.

With f = max_k ln of the largest density of unit k all densities are at most 1, as probabilities are.  Such numbers do
not depend on the unit of a column: x -> c x divides p by c, and e^f as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pcircuit.arguments import Floats, Ints
from pcircuit.regions import LeafFamily


@dataclass(frozen=True, eq=False, repr=False)
class Rescaled(LeafFamily):
    """Units of a family with respect to a measure e^f times as large.

    Parameters
    ----------
    base : LeafFamily
        The K units.
    log_factor : float
        f.

    Examples
    --------
    >>> from pcircuit.leaves import Gaussian
    >>> narrow = Gaussian([0.0], [0.001])
    >>> Rescaled(narrow, narrow.log_bound().max()).log_density(np.array([0.0]))
    array([[0.]])
    """

    base: LeafFamily
    log_factor: Any
    shared: ClassVar[tuple[str, ...]] = ("log_factor",)
    states: ClassVar[tuple[str, ...]] = ("log_factor",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "log_factor", float(self.log_factor))

    def log_density(self, x: Any) -> Floats:
        """(N, K) ln of the densities; 0 where x is NaN; shapes x (N,) -> (N, K)."""
        missing = np.isnan(x)[:, None]
        return self.base.log_density(x) - np.where(missing, 0.0, self.log_factor)

    def log_bound(self) -> Floats:
        """(K,) ln of the largest densities."""
        return self.base.log_bound() - self.log_factor

    def overlap2(self, other: Rescaled) -> Floats:
        """(K, K') integrals of products of two."""
        return self.base.overlap2(other.base) * np.exp(-self.log_factor)

    def overlap3(self) -> Floats:
        """(K, K, K) integrals of products of three."""
        return self.base.overlap3() * np.exp(-2 * self.log_factor)

    def sample(self, units: Ints, rng: np.random.Generator) -> Floats:
        """(N,) draws."""
        return self.base.sample(units, rng)

    def scores(self, x: Any) -> Floats:
        """(N, K, S) gradients in the parameters, which the measure does not change; shapes x (N,)."""
        return self.base.scores(x)
