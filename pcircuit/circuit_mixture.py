"""Mixtures of circuits on different v-trees: a weighted list of circuits, and what is still exact for it.

    p(x) = sum_m weights[m] p_m(x)

Where all circuits share one v-tree, their mixture is a circuit again (`pcircuit.mixture`), and everything that holds
for circuits holds for it.  Where the v-trees differ it is not: the product of two units with crossing scopes is not a
product along either tree.  So a `Mixture` is a type of its own.  What is linear in p is exact for it and costs a sum
over the circuits: likelihoods, evidence with missing entries, samples, also conditional ones.  What is quadratic in p
(overlaps, covariances of unit likelihoods and the test built on them) needs one v-tree: these functions take a
`Circuit` and refuse a `Mixture`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import is_listing, shown
from pcircuit.arrays import Floats, check_numbers
from pcircuit.circuit import Circuit, check_distribution
from pcircuit.immutable import Immutable

if TYPE_CHECKING:
    import pcircuit
else:
    from pcircuit.methods import functions as pcircuit
SUM_TOLERANCE = 1e-9  # how far the sum of the weights may be from one


@dataclass(frozen=True, eq=False)
class Mixture(Immutable):
    """A mixture of circuits over the same variables, each on a v-tree of its own.

    ``p(x) = sum_m weights[m] p_m(x)``

    Parameters
    ----------
    circuits : sequence of Circuit
        At least one; normalised, with the same numbers of categories.
    weights : (M,) float array_like, optional
        Not negative, with sum 1 up to 1e-9 (they are divided by their sum).  Default: 1/M each.

    Attributes
    ----------
    circuits : tuple of Circuit
        The M components, over the same variables.
    weights : (M,) float64 array, read-only
        Probability of each component; not negative, with sum 1.

    Raises
    ------
    TypeError
        If a circuit is not a `Circuit`.
    StructureError
        If a circuit is not normalised.
    ValueError
        If there is none, their variables or categories differ, or the weights are not a distribution.

    Notes
    -----
    `log_likelihood` and `sample` take a mixture wherever they take a circuit, missing entries included, and are methods
    of it, too; so is `save`, which is `pcircuit.save_mixture`.  There is no exact covariance of unit likelihoods over
    several v-trees, so no moments and no HLD test.

    Examples
    --------
    >>> from pcircuit import InputRegion, VTree, log_likelihood
    >>> coins = [Circuit(VTree([-1], [0]), [InputRegion(0, [[p, 1 - p]])]) for p in (0.2, 0.6)]
    >>> mixed = Mixture(coins, [0.5, 0.5])
    >>> mixed
    Mixture(2 circuits, 1 variables, 4 parameters)
    >>> np.exp(log_likelihood(mixed, [[0], [1], [-1]])).round(12)
    array([0.4, 0.6, 1. ])
    >>> np.exp(mixed.log_likelihood([[0]])).round(12)
    array([0.4])
    """

    circuits: tuple[Circuit, ...]
    weights: Floats

    log_likelihood = pcircuit.log_likelihood
    sample = pcircuit.sample
    save = pcircuit.save_mixture

    def __init__(self, circuits: Iterable[Circuit], weights: ArrayLike | None = None) -> None:
        if isinstance(circuits, Circuit) or not is_listing(circuits):
            raise TypeError(
                f"`circuits` must be a sequence of circuits, found {type(circuits).__name__}"
            )
        members = tuple(
            check_distribution(circuit, f"circuits[{m}]") for m, circuit in enumerate(circuits)
        )
        if not members:
            raise ValueError("`circuits` is empty: a mixture needs at least one")
        for m, circuit in enumerate(members):
            if not np.array_equal(circuit.num_categories, members[0].num_categories):
                raise ValueError(
                    "`circuits` must have the same variables and numbers of categories, found "
                    f"{shown(circuit.num_categories)} in number {m} and "
                    f"{shown(members[0].num_categories)} in number 0"
                )
        object.__setattr__(self, "circuits", members)
        object.__setattr__(self, "weights", _checked_weights(weights, len(members)))

    @property
    def num_variables(self) -> int:
        """V, the number of variables, the same in all circuits (int)."""
        return self.circuits[0].num_variables

    @property
    def num_categories(self) -> tuple[int, ...]:
        """Number of categories C_v of each variable, the same in all circuits: a tuple of V int."""
        return self.circuits[0].num_categories

    @property
    def num_parameters(self) -> int:
        """Parameters of all circuits together, see `Circuit.num_parameters`; the M weights are not counted (int)."""
        return sum(circuit.num_parameters for circuit in self.circuits)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mixture):
            return NotImplemented
        return self.circuits == other.circuits and np.array_equal(self.weights, other.weights)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        count = len(self.circuits)
        return (
            f"Mixture({count} circuit{'s' * (count != 1)}, {self.num_variables} variables, "
            f"{self.num_parameters} parameters)"
        )


def check_mixture(mixture: object) -> None:
    """Raise unless `mixture` is a Mixture."""
    if not isinstance(mixture, Mixture):
        raise TypeError(f"`mixture` must be a pcircuit.Mixture, found {type(mixture).__name__}")


def _checked_weights(weights: ArrayLike | None, count: int) -> Floats:
    """Read-only weights that sum to one."""
    if weights is None:
        shares = np.full(count, 1 / count)
    else:
        expected = f"{count} finite numbers of at least 0 with sum 1, one for each circuit"
        shares = np.array(
            check_numbers(weights, "weights", expected, (count,), least=0), dtype=np.float64
        )
        with np.errstate(over="ignore"):
            total = shares.sum()
        if abs(total - 1) > SUM_TOLERANCE:
            advice = ": divide them by it" if 0 < total < np.inf else ""
            raise ValueError(f"`weights` must be {expected}, found the sum {total:.12g}{advice}")
        if (
            abs(total - 1) > count * np.finfo(np.float64).eps
        ):  # weights that were divided once stay as they are
            shares /= total
    shares.setflags(write=False)
    return shares
