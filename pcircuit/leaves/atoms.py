r"""Point masses beside a continuous rest: columns with heaps, such as zeros, caps and rounded values.

.. math:: P_k(X = v_a) = \pi_{ka}, \qquad p_k(x) = \Bigl(1 - \sum_a \pi_{ka}\Bigr) r_k(x) \text{ elsewhere.}

The base measure gives each of the values v_a the weight u and is length elsewhere, so that the density at v_a is
pi_ka / u.  There the density of the rest does not count, and integrals of products are sums over the atoms plus those
of the rest.  Where a column is rounded, u is the unit of rounding, and the density that of a cell: it compares with
those of other families.  Else u = 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pcircuit.arguments import Floats, Ints, check_number, check_numbers
from pcircuit.leaves.columns import heaped_values, keep, rounding_unit
from pcircuit.leaves.tailed import Tailed
from pcircuit.regions import LeafFamily

TINY = 1e-300


@dataclass(frozen=True, eq=False, repr=False)
class Atoms(LeafFamily):
    """Point masses beside a continuous rest.

    Parameters
    ----------
    values : (A,) float array_like
        Where the atoms are; finite and ascending.
    probs : (K, A) float array_like
        Their probabilities under each unit; rows with sums of at most one.
    rest : LeafFamily
        The K units that the remaining probability belongs to.
    unit : float, optional
        Weight u of an atom in the base measure, above 0.  Default 1: the density of an atom is its probability.

    Examples
    --------
    >>> from pcircuit.leaves import Gaussian
    >>> leaves = Atoms([0.0], [[0.25], [1.0]], Gaussian([1.0, 1.0], [1.0, 1.0]))
    >>> np.exp(leaves.log_density(np.array([0.0, 1.0]))).round(4)
    array([[0.25  , 1.    ],
           [0.2992, 0.    ]])
    """

    values: Any
    probs: Any
    rest: LeafFamily
    unit: float = 1.0
    shared: ClassVar[tuple[str, ...]] = ("values", "unit")
    states: ClassVar[tuple[str, ...]] = ("values", "unit")

    def __post_init__(self) -> None:
        if not isinstance(self.rest, LeafFamily) or self.rest.num_categories:
            raise TypeError(f"`rest` must be a family of densities, found {self.rest!r}")
        values = np.array(check_numbers(self.values, "values", "finite numbers"), dtype=np.float64)
        if values.ndim != 1 or not len(values) or (np.diff(values) <= 0).any():
            raise ValueError(f"`values` must be ascending finite numbers, found {values}")
        expected = (
            f"({self.rest.num_units}, {len(values)}) probabilities, in rows with sums of at most 1"
        )
        shape = (self.rest.num_units, len(values))
        probs = np.array(check_numbers(self.probs, "probs", expected, shape, least=0), dtype=float)
        if (probs.sum(axis=1) > 1 + 1e-9).any():
            raise ValueError(f"`probs` must be {expected}, found {probs.sum(axis=1).max():.12g}")
        unit = check_number(float(self.unit), "unit", above=0)
        keep(self, values=values, probs=probs, unit=unit)

    @property
    def heights(self) -> Floats:
        """(K, A) densities at the atoms."""
        return self.probs / self.unit

    @property
    def share(self) -> Floats:
        """(K,) the probability of the rest."""
        return np.maximum(1.0 - self.probs.sum(axis=1), 0.0)

    def log_density(self, x: Any) -> Floats:
        """(N, K) ln of the probability of an atom, or of the density of the rest; 0 where x is NaN.

        Shapes: x (N,) -> (N, K).
        """
        place, is_atom = self._places(x)
        others = np.asarray(x, dtype=float)[~is_atom]
        with np.errstate(divide="ignore"):
            logs, log_share = np.log(self.heights)[:, place], np.log(self.share)
        of_rest = self.rest.log_density(others).T + np.where(
            np.isnan(others), 0.0, log_share[:, None]
        )
        logs[:, ~is_atom] = of_rest
        return logs.T

    def log_bound(self) -> Floats:
        """(K,) ln of the largest density."""
        return np.maximum(*self._tops())

    def statistics(self, x: Any, flows: Any) -> Floats:
        """(K, A + 1 + S) flow of each atom, of the rest, and the statistics of the rest.

        Shapes: x (N,), flows (N, K).
        """
        place, is_atom = self._places(x)
        of_atoms = flows[is_atom].T @ np.eye(len(self.values))[place[is_atom]]
        others, of_others = np.asarray(x, dtype=float)[~is_atom], flows[~is_atom]
        of_rest = of_others[~np.isnan(others)].sum(axis=0)[:, None]
        return np.concatenate([of_atoms, of_rest, self.rest.statistics(others, of_others)], axis=1)

    def maximize(self, statistics: Any, pseudocount: float) -> Atoms:
        """Shares of the flow, a pseudocount spread evenly over atoms and rest; and the M-step of the rest.

        Shapes: statistics (K, A + 1 + S).
        """
        A = len(self.values)
        counts = statistics[:, : A + 1] + pseudocount / (A + 1)
        sums = counts.sum(axis=1, keepdims=True)
        shares = counts[:, :A] / np.where(sums > 0, sums, 1.0)
        probs = np.where(sums > 0, shares, self.probs)
        rest = self.rest.maximize(statistics[:, A + 1 :], pseudocount)
        return Atoms(self.values, probs, rest, self.unit)

    def overlap2(self, other: Atoms) -> Floats:
        """(K, K') sums over the atoms plus integrals of the rest."""
        of_rest = self.rest.overlap2(other.rest) * np.outer(self.share, other.share)
        return self.probs @ other.heights.T + of_rest

    def overlap3(self) -> Floats:
        """(K, K, K) the same of three units."""
        atoms = np.einsum("ax,bx,cx->abc", self.probs, self.heights, self.heights)
        share = np.einsum("a,b,c->abc", *3 * [self.share])
        return atoms + share * self.rest.overlap3()

    def sample(self, units: Ints, rng: np.random.Generator) -> Floats:
        """(N,) draws."""
        u = rng.random(len(units))
        sums = np.cumsum(self.probs, axis=1)[units]
        place = (sums <= u[:, None]).sum(axis=1)
        of_rest = self.rest.sample(units, rng)
        return np.where(place < len(self.values), np.append(self.values, 0.0)[place], of_rest)

    def mode(self) -> Floats:
        """(K,) the atom, or the mode of the rest, with the larger probability or density."""
        atoms, rest = self._tops()
        return np.where(atoms >= rest, self.values[self.probs.argmax(axis=1)], self.rest.mode())

    def interval(self, low: Any, high: Any) -> Floats:
        """(K,) P(low < X <= high), or (N, K) for arrays (N,)."""
        low, high = np.asarray(low)[..., None], np.asarray(high)[..., None]
        inside = ((self.values > low) & (self.values <= high)).astype(float)
        rest = self.rest.interval(low[..., 0], high[..., 0])
        return inside @ self.probs.T + self.share * rest

    def condition(self, low: float, high: float) -> LeafFamily:
        """The units given low < X <= high: atoms outside vanish, and the rest is conditioned."""
        total = self.interval(low, high)
        inside = (self.values > low) & (self.values <= high)
        probs = np.where(inside, self.probs, 0.0) / np.maximum(total, TINY)[:, None]
        if not inside.any():
            return self.rest.condition(low, high)
        probs = np.minimum(probs, 1.0)
        rest = self.rest.condition(low, high)
        return Atoms(self.values[inside], probs[:, inside], rest, self.unit)

    def expectation(self, g: Callable[[Any], Any]) -> Floats:
        """(K,) E g(X)."""
        of_atoms = self.probs @ np.asarray(g(self.values), dtype=float)
        return of_atoms + self.share * self.rest.expectation(g)

    def cross_entropy(self, other: Atoms) -> Floats:
        """(K, K') -E_a ln p_b, infinite where b rules out what a does not."""
        own = np.column_stack([self.probs, self.share])
        its = np.column_stack([other.heights, other.share])
        logs = -np.log(np.where(its > 0, its, 1.0))
        outside = own @ (its == 0).T.astype(float) > 0
        inside = self.rest.cross_entropy(other.rest) * self.share[:, None]
        return np.where(outside, np.inf, own @ logs.T + inside)

    def scores(self, x: Any) -> Floats:
        """(N, K, A + 1 + S) gradients in the logits of atoms and rest, and in the parameters of the rest.

        Shapes: x (N,) -> (N, K, A + 1 + S).
        """
        place, is_atom = self._places(x)
        place = np.where(is_atom, place, len(self.values))
        one_hot = (place[:, None] == np.arange(len(self.values) + 1)).astype(float)
        own = one_hot[:, None, :] - np.column_stack([self.probs, self.share])
        own[np.isnan(x)] = 0.0
        return np.concatenate([own, self.rest.scores(np.where(is_atom, np.nan, x))], axis=2)

    def with_prior(self, x: Any) -> Atoms:
        """The units whose rest knows the column without its atoms; shapes x (N,)."""
        others = np.where(self._places(x)[1], np.nan, x)
        enough = np.count_nonzero(~np.isnan(others)) > 1
        rest = self.rest.with_prior(others if enough else x)
        return Atoms(self.values, self.probs, rest, self.unit)

    @classmethod
    def like(cls, x: Any, num_units: int) -> LeafFamily:
        """Equal units with atoms at the values that many rows have; without such a value, normal ones with a tail.

        Shapes: x (N,).
        """
        x = np.asarray(x, dtype=float)
        values, rest = heaped_values(x), Tailed.like(x, num_units)
        if not len(values):
            return rest
        unit = rounding_unit(x[~np.isnan(x)]) or 1.0
        return cls(values, np.zeros((num_units, len(values))), rest, unit).again(x, num_units)

    def again(self, x: Any, num_units: int) -> Atoms:
        """Equal units with these atoms; shapes x (N,)."""
        x = np.asarray(x, dtype=float)
        shares = (x[~np.isnan(x), None] == self.values).mean(axis=0)
        rest = Tailed.like(x, num_units, self.values)
        return Atoms(self.values, np.tile(shares, (num_units, 1)), rest, self.unit)

    def _tops(self) -> tuple[Floats, Floats]:
        """(K,) ln of the largest density of an atom, and of the rest."""
        with np.errstate(divide="ignore"):
            rest = np.log(self.share) + self.rest.log_bound()
            return np.log(self.heights.max(axis=1)), rest

    def _places(self, x: Any) -> tuple[Ints, np.ndarray]:
        """(N,) number of the atom that x may be, and whether it is."""
        place = np.minimum(np.searchsorted(self.values, x), len(self.values) - 1)
        return place, self.values[place] == x
