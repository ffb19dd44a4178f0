"""How far results may be from the truth: the number of roundings on the way to them, counted circuit by circuit.

A product of n numbers that were rounded n_1, ..., n_k times has been rounded n_1 + ... + n_k + k - 1 times, a sum of
non-negative ones max(n_1, ..., n_k) + k - 1 times, in whatever order it is added and whether or not a product and a sum
are fused.  A number that was rounded n times has a relative error of at most n u / (1 - n u), u = 2**-53 (Higham 2002,
lemma 3.1).  Everything that circuits compute from non-negative parameters without subtraction is of this kind, and
powers of two that are taken out on the way are exact.

Covariances subtract.  Their tables are computed centred (`pcircuit.moments.overlaps`), where each term of a step is
at most E[l_i l_j] in size, and a step has three terms.  So their errors are bounded relative to
sqrt(E[l_i^2] E[l_j^2]), not relative to themselves.

Moments are those of the distribution whose rows sum to one, and a row of doubles may miss that by a few u: the excess
of each region (`drift`) counts as roundings of its parameters.

References: Higham (2002), Accuracy and Stability of Numerical Algorithms, second edition, chapters 3 and 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import precise

from pcircuit import InputRegion

UNIT = 2.0**-53
CENTRED = 8  # three terms to a step, each a product of numbers with errors of its own, and one more to choose between


@dataclass(frozen=True)
class Roundings:
    """Numbers of roundings on the longest way, per region where an array is given."""

    units: np.ndarray  # (R,) of the likelihoods of shown units
    products: np.ndarray  # (R,) of those of products, 0 at leaves
    masses: np.ndarray  # (R,) top-down masses
    flows: np.ndarray  # (R,) expected flows of the parameters, for one row
    pairs: np.ndarray  # (R,) sums over x of products of two units
    triples: np.ndarray  # (R,) of three
    drift: float  # sum over regions of the largest |row sum - 1| / u

    @property
    def mean(self) -> np.ndarray:
        """(R,) of means of likelihoods under the circuit's distribution."""
        return self.masses + self.pairs + self.drift * 2

    @property
    def covariance(self) -> float:
        """Of covariances, relative to sqrt(E[l_i^2] E[l_j^2])."""
        return CENTRED * float((self.masses + self.triples).max() + self.drift * 3)


def count(circuit) -> Roundings:
    """Count the roundings in the queries of a circuit."""
    R = len(circuit.regions)
    units, products, masses, flows, pairs, triples, to_units = (np.zeros(R) for _ in range(7))
    children = [circuit.vtree.children(r).tolist() for r in range(R)]
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InputRegion):
            C = region.num_categories
            units[r], pairs[r], triples[r] = (
                C,
                C + 1,
                C + 2,
            )  # the likelihood of a missing value is a sum
            continue
        P, times = region.num_products, len(children[r]) - 1
        products[r] = units[children[r]].sum() + times
        units[r] = products[r] + P
        pairs[r] = pairs[children[r]].sum() + times + 2 * P
        triples[r] = triples[children[r]].sum() + times + 3 * P
    for r in range(R - 1, -1, -1):
        region = circuit.regions[r]
        if isinstance(region, InputRegion):
            flows[r] = to_units[r] + units[r] + 2
            continue
        ratio = to_units[r] + units[r] + 1
        flows[r] = ratio + products[r] + 2
        for c in children[r]:
            masses[c] = masses[r] + region.num_units + region.num_products
            to_units[c] = ratio + region.num_units + 1 + products[r] + region.num_products
    return Roundings(units, products, masses + 1, flows, pairs, triples, _drift(circuit))


def bound(roundings):
    """Relative error after so many roundings."""
    return roundings * UNIT / (1 - roundings * UNIT)


def _drift(circuit) -> float:
    """Sum over regions of the largest |row sum - 1| / u."""
    off = precise.precisely(lambda table: table.sum(axis=1) - 1)
    return sum(np.abs(precise.doubles(off(t))).max() / UNIT for t in precise.tables_of(circuit))
