"""Upper bounds of all levels of one variable after the other, each in the light of those that are already fixed.

A row with some variables free is bounded by the value of the circuit with the largest entry of each table at the free
ones (`operations.most_probable`).  That value is linear in the units u_k of any one region,

    bound = sum_k d_k u_k        d_k = the derivative of the root by unit k, which does not depend on what is below,

so the derivatives at the leaf of variable v give the bounds of all its levels c at once,  sum_k d_k p_k(c).  They are
passed down from the root, by the product rule:

    d of product p = sum_k w_kp d_k        d of unit u of child a = sum over the products p with u of
                                           (d of product p) times the units of p in the other children.

Only the way from one leaf to the next is walked: above the lowest node that has both below it nothing has changed for
the next leaf, and elsewhere no unit has.  On the way up units are evaluated again, on the way down derivatives.
Variables in the order of the leaves take a few regions each, where an evaluation takes all of them.

Everything is a natural logarithm, so that nothing is lost however many variables there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pcircuit.array_types import Floats, Ints, Weights
from pcircuit.circuit import Circuit, InputRegion

SMALLEST = 1e-280  # of a sum in the linear domain, relative to its largest weight: what underflows is nothing beside it


class LevelBounds:
    """The bounds of a row of which one variable after the other is fixed.

    Shapes: row (V,).
    """

    def __init__(self, circuit: Circuit, row: Ints) -> None:
        self.circuit, self.leaf_of = circuit, circuit.vtree.leaf_of().tolist()
        self.first, self.parents = circuit.vtree.first.tolist(), circuit.vtree.parents.tolist()
        self.children = circuit.vtree.child_lists()
        sizes = [region.num_units for region in circuit.regions]
        self.starts = np.concatenate([[0], np.cumsum(sizes)])  # of each region among all units
        self.units = np.empty(
            self.starts[-1]
        )  # ln; those of regions from `self.here` to the root may be old
        for r, region in enumerate(circuit.regions):
            self._set(
                r,
                self._inputs(region, int(row[region.variable]))
                if isinstance(region, InputRegion)
                else self._sums(r),
            )
        self.here = circuit.num_regions - 1
        self.derivatives: Any = [None] * self.here + [
            np.zeros(1)
        ]  # per region (K,) ln, right from `here` to the root

    def levels(self, v: int) -> Floats:
        """(C,) natural logarithm of the bound of each level of variable v, which is free."""
        self._go_to(self.leaf_of[v])
        with np.errstate(divide="ignore"):
            region: Any = self.circuit.regions[self.here]
            terms = np.log(region.probs) + self.derivatives[self.here][:, None]
        bounds: Floats = np.logaddexp.reduce(terms, axis=0)
        return bounds

    def fix(self, v: int, level: int) -> None:
        """Give variable v, of which `levels` was asked last, a level."""
        self._set(self.here, self._inputs(self.circuit.regions[self.here], level))

    def _set(self, r: int, units: Floats) -> None:
        """Take over the units of a region."""
        self.units[self.starts[r] : self.starts[r + 1]] = units

    def _inputs(self, region: Any, level: int) -> Floats:
        """(K,) ln of the units of a leaf."""
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(
                region.probs[:, level] if level >= 0 else region.probs.max(axis=1)
            )
        return logs

    def _go_to(self, leaf: int) -> None:
        """Make the derivatives right from a leaf to the root, and the units everywhere else."""
        top = self.here
        while not self.first[top] <= leaf <= top:
            if self.children[top]:
                self._set(top, self._sums(top))
            top = self.parents[top]
        way, r = [], leaf
        while r != top:
            way.append(r)
            r = self.parents[r]
        for r in reversed(way):
            self.derivatives[r] = self._derivatives(r)
        self.here = leaf

    def _sums(self, r: int) -> Floats:
        """(K,) ln of the sums of an inner region, from the units of its children."""
        region: Any = self.circuit.regions[r]
        return log_sums(region.weights, self._factors(r).sum(axis=1))

    def _factors(self, r: int) -> Floats:
        """(P, A) ln of the factors of the products of region r."""
        region: Any = self.circuit.regions[r]
        factors: Floats = self.units[region.products + self.starts[self.children[r]]]
        return factors

    def _derivatives(self, child: int) -> Floats:
        """(K,) ln of the derivatives of the root by the units of a region, from those of its parent."""
        r = self.parents[child]
        region: Any = self.circuit.regions[r]
        a, others = self.children[r].index(child), self._factors(r)
        others[:, a] = 0.0
        through = log_sums(region.weights.T, self.derivatives[r]) + others.sum(axis=1)
        found = np.full(self.circuit.regions[child].num_units, -np.inf)
        np.logaddexp.at(found, region.products[:, a], through)
        return found


def log_sums(weights: Weights, logs: Floats) -> Floats:
    """ln of weights @ exp(logs), where nothing is lost to underflow.

    Shapes: weights (n, m), logs (m,) -> (n,).
    A matrix product; sums that come out so small, or so large, that terms may have left the range of doubles are taken
    again with one logarithm per term.
    """
    top = logs.max()
    if top == -np.inf:
        return np.full(weights.shape[0], -np.inf)
    with np.errstate(divide="ignore", over="ignore"):
        sums = weights @ np.exp(logs - top)
        result: Floats = np.log(sums) + top
        doubtful = np.flatnonzero(~((sums >= SMALLEST * max(1.0, weights.max())) & (sums < np.inf)))
        if len(doubtful):
            rows: Any = weights[doubtful]
            terms = np.log(rows.toarray() if hasattr(rows, "toarray") else rows) + logs
            result[doubtful] = np.logaddexp.reduce(terms, axis=1)
    return result
