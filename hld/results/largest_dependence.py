r"""One dependence among many: the largest change along an edge of the tree, by a bound that holds at every T.

The mean log-likelihood ratio of two columns against independence falls when their dependence is lost, however many
categories they have, and rises when it gets stronger.  The circuit knows the joint distribution p of the two columns of
every edge of its tree, so with

.. math:: a_{ij} = \ln \Bigl( (1 - \varepsilon) \frac{p_{ij}}{p_{i \cdot} \, p_{\cdot j}} + \varepsilon \Bigr),
          \qquad \varepsilon = 0.01,

the mean of a over a batch is one number for each edge, whose sign says which way the dependence went (the mixture with
independence keeps a above ln(0.01) where p is 0).  Held-out rows show the pairs of values r_ij times, a batch b_ij
times, and a comes from other rows: without a shift all N = n + T of them are exchangeable.  Given the pooled counts
m = r + b, the batch's sum of a is that of T of N known numbers, drawn without replacement, whatever the distribution
is, and its tail is enclosed by bounds that hold for a single row as for a million (`hld.results.tail_bounds`).  Twice
the bound is a p-value; the smallest, times the number of edges, is that of all (Bonferroni).  A column that moves by
itself can change the mean of a, too: that is a shift, but none of the dependence, and `hld.answers.pair_shifts` tells
the two apart where there are enough rows.

This test has a share of the level beside the distance, `SHARE`: hundreds of dependences that hold make the change of
one invisible in sums of squares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import pcircuit
from hld.answers.dependences import associations_in
from hld.results.tail_bounds import mean_tail_bound
from pcircuit.arrays import for_ranking

SHARE = 0.1  # of the level: `benchmarks.power.trials`
INDEPENDENT = 0.01  # epsilon
ENCLOSED = 16  # edges, those that changed most, whose tails are enclosed: those of others are hardly ever smaller


@dataclass(frozen=True)
class LargestDependence:
    """The largest change of a dependence."""

    pvalue: float
    share: float
    columns: tuple[int, int] | None = None
    is_weaker: bool = False
    least: float = field(default=0.0, repr=False, compare=False)

    def attained(self, level: Any) -> Any:
        """How often `pvalue` is at most a level without a shift: no more often than that, and never below `least`."""
        return np.where(level >= self.least, level, 0.0)

    def to_dict(self) -> dict[str, Any]:
        """All of it but `least` as plain Python values."""
        columns = None if self.columns is None else list(self.columns)
        return {
            "pvalue": self.pvalue,
            "share": self.share,
            "columns": columns,
            "is_weaker": self.is_weaker,
        }


def largest_dependence(kept: Any, batch: Any, tolerance: float = 0.0) -> LargestDependence:
    """Compare the mean associations of a batch with those of held-out rows.

    O(cells of all pair tables).
    """
    if kept.associations is None or not len(kept.edges):
        return LargestDependence(1.0, 0.0)
    found = associations_in(kept, batch)
    (n, T, difference, deviation), varies = found, found.varies
    if not varies.any():
        return LargestDependence(1.0, 0.0)
    E, moved = int(varies.sum()), np.maximum(np.abs(difference) - tolerance * deviation, 0)
    # the exponent of the tail of a normal variable, which none of the bounds is below where the tails are normal
    N, deviation = np.maximum(n + T, 1), np.where(varies, deviation, 1)
    exponents = np.where(varies, (moved / deviation) ** 2 * T * N / np.maximum(n, 1) / 2, -1.0)
    order = np.argsort(-for_ranking(exponents), kind="stable")[:ENCLOSED].tolist()
    best, where = 2.0, order[0]
    for e in order:
        if exponents[e] > math.log(2 * E):
            bound = mean_tail_bound(
                kept.associations[e], kept.pairs[e], batch.pairs[e], tolerance * deviation[e]
            )
            best, where = (2 * bound, e) if 2 * bound < best else (best, where)
    u, v = kept.edges[where].tolist()
    least = E * _least((n + T)[varies], T[varies])
    return LargestDependence(min(1.0, best * E), SHARE, (u, v), bool(difference[where] < 0), least)


def associations_of(circuit: pcircuit.Circuit, edges: np.ndarray) -> tuple[np.ndarray, ...]:
    """The associations of the values of pairs of columns under a circuit.

    Shapes: edges (E, 2).
    """
    tables = pcircuit.pairwise_tables(circuit, [(u, v) for u, v in edges.tolist()])
    return tuple(_association(table) for table in tables.values())


def with_associations(profile: Any, circuit: pcircuit.Circuit, kept: np.ndarray | None) -> Any:
    """A profile with the associations of the values along its edges, if it counts rows that were held out.

    Shapes: kept (k, V).
    """
    return (
        profile
        if kept is None
        else replace(profile, associations=associations_of(circuit, profile.edges))
    )


def _association(p: np.ndarray) -> np.ndarray:
    """a of one table p."""
    product = np.outer(p.sum(axis=1), p.sum(axis=0))
    ratio = np.divide(p, product, out=np.ones_like(p), where=product > 0)
    found = np.log((1 - INDEPENDENT) * ratio + INDEPENDENT)
    found.flags.writeable = False
    return found


def _least(N: np.ndarray, T: np.ndarray) -> float:
    """Twice the probability of the most improbable of all draws of T of N rows, over the edges."""
    rows, fewer = float(N.max()), float(np.minimum(T, N - T).max())
    return 2 * math.exp(
        math.lgamma(fewer + 1) + math.lgamma(rows - fewer + 1) - math.lgamma(rows + 1)
    )
