"""Which nodes, and which variables, carry a shift.

The squared statistic is a sum over the selected nodes, d^2 = sum_j delta_j^2 with delta_j = w_j (mean_j - mu_j).
A node with a large delta_j names its scope as a place of the shift.  How surprising it is on its own is the z-score

    z_j = sqrt(T) delta_j / sigma_j,        sigma_j^2 the exact variance of w_j l_j(X) under the circuit,

standard normal without a shift as T grows.  How soon depends on the node: the likelihood of a rare level is the same
number in nearly all rows, and its z-score is 0 or far too large.  p-values are therefore those of a law that knows how
far one row can move a mean, and of the rows of the batch (`hld.results.node_tails`).  The m two-sided ones are adjusted
by Benjamini and Hochberg (1995), so that among the nodes called shifted at level a the expected share of false ones is
at most a (nodes overlap and are positively dependent more often than not, which the procedure tolerates).  Among groups
and stretches of time they are ranks, adjusted as those of columns are (`hld.nulls.ranked_parts`).

A shift in one variable moves every node above it.  What a node adds to the nodes below it is its *own* z-score: with
R the correlations under the circuit and c the next selected nodes below j,

    own z_j = (z_j - R_jc R_cc^-1 z_c) / sqrt(1 - R_jc R_cc^-1 R_cj),

again standard normal without a shift, provided that the circuit's correlations are those of the reference.  An input
has none below it and keeps its z; a sum with a large own z says that the dependence among the variables below it has
changed.  Where rows have holes, two nodes that are not always seen together go together less, and R allows for it
(`hld.testing.seen_together`).  Where R is not known, as in a summary of rows with holes or with noise, among groups or
stretches of time, and given covariates, nodes with others below them have no own z-score (NaN).

Variables get the shares of their nodes: the score of v is sum_j delta_j^2 / |S_j| over the nodes j with v in scope,
so the scores add up to d^2.  These are cues, not causes: scopes are nested, and a shift in one variable also moves
the nodes above it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import pcircuit
from hld.answers.adjust import benjamini_hochberg
from hld.answers.words import LEAST_SHOWN
from pcircuit.arguments import check_whole_number
from pcircuit.arrays import for_ranking

SINGULAR = 1e-9  # share of a variance below which it counts as none


@dataclass(frozen=True)
class NodeShift:
    """One node of a localisation."""

    node: int
    kind: str
    scope: tuple[Any, ...]
    delta: float
    zscore: float
    own_zscore: float
    pvalue: float


@dataclass(frozen=True, eq=False)
class Localization:
    """Where a batch departs from the circuit.

    Shapes: variable_scores (V,).
    """

    nodes: tuple[Any, ...]
    variable_scores: np.ndarray

    def __str__(self) -> str:
        lines = [
            f"{'node':>6} {'kind':<8} {'delta':>10} {'z':>8} {'own z':>8} {'p (adj.)':>9}  scope"
        ]
        for shift in self.nodes:
            scope = ",".join(map(str, shift.scope[:12])) + (",..." if len(shift.scope) > 12 else "")
            pvalue = f"{shift.pvalue:.2g}" if shift.pvalue > LEAST_SHOWN else f"< {LEAST_SHOWN:g}"
            lines.append(
                f"{shift.node:>6} {shift.kind:<8} {shift.delta:>10.3g} {shift.zscore:>8.2f} "
                f"{shift.own_zscore:>8.2f} {pvalue:>9}  {{{scope}}}"
            )
        return "\n".join(lines)


def localize(
    circuit: pcircuit.Circuit,
    nodes: np.ndarray,
    deltas: np.ndarray,
    stds: np.ndarray,
    num_samples: float,
    *,
    top: int | None = 10,
    covariance_of: Callable[..., Any] | None = None,
    pvalues: np.ndarray | None = None,
) -> Localization:
    """Rank nodes and score variables by their part in a shift.

    Shapes: nodes (m,), deltas (m,), stds (m,), pvalues (m,).
    """
    top = check_whole_number(top, "top", 1, none="all nodes")
    zscores = z_scores(deltas, stds, num_samples)
    pvalues = adjusted_pvalues(zscores) if pvalues is None else pvalues
    table = circuit.nodes[nodes]
    order = np.argsort(-for_ranking(np.abs(deltas)), kind="stable")[:top]
    own = own_zscores(circuit, nodes, zscores, order, covariance_of)
    shifts = tuple(
        NodeShift(
            int(nodes[j]),
            str(table.kind[j]),
            tuple(circuit.scope(int(nodes[j])).tolist()),
            float(deltas[j]),
            float(zscores[j]),
            float(z),
            float(pvalues[j]),
        )
        for j, z in zip(order, own, strict=True)
    )
    return Localization(shifts, variable_scores(circuit, table.region, deltas))


def z_scores(deltas: np.ndarray, stds: np.ndarray, num_samples: float) -> np.ndarray:
    """(m,) sqrt(T) delta / sigma; a node that cannot vary has z = 0, or +-inf where its mean moved all the same.

    Shapes: deltas (m,), stds (m,) -> (m,).
    """
    moved = np.sign(np.where(np.abs(deltas) > 1e-12, deltas, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            stds > 0,
            np.sqrt(num_samples) * deltas / np.where(stds > 0, stds, 1.0),
            np.where(moved != 0, moved * np.inf, 0.0),
        )


def own_zscores(
    circuit: pcircuit.Circuit,
    nodes: np.ndarray,
    zscores: np.ndarray,
    listed: np.ndarray,
    covariance_of: Callable[..., Any] | None = None,
) -> np.ndarray:
    """z-scores of the positions `listed` of (m,) `nodes`, less what the next selected nodes below them explain.

    Costs the covariance of the listed nodes and of those below them, and a small system of equations for each.

    Shapes: nodes (m,), zscores (m,), listed (k,) -> (k,).
    """
    below = [_next_below(circuit, nodes, j) for j in listed]
    own = zscores[listed].astype(np.float64)
    if not any(map(len, below)):
        return own
    involved = np.unique(np.concatenate([listed, *below]).astype(np.int64))
    covariance = (
        pcircuit.exact_moments(circuit, nodes[involved]).covariance()
        if covariance_of is None
        else covariance_of(involved)
    )
    if np.isnan(covariance).any():
        return np.where([len(parts) > 0 for parts in below], np.nan, own)
    scale = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    scale[scale == 0] = 1.0  # a node that cannot vary correlates with none
    correlations = covariance / np.outer(scale, scale)
    for i, (j, parts) in enumerate(zip(listed, below, strict=True)):
        if not len(parts) or not np.isfinite(zscores[parts]).all() or not np.isfinite(own[i]):
            continue
        row, columns = np.searchsorted(involved, j), np.searchsorted(involved, parts)
        values, vectors = np.linalg.eigh(correlations[np.ix_(columns, columns)])
        kept = values > SINGULAR * max(values[-1], SINGULAR)
        loadings = (vectors.T @ correlations[columns, row])[kept]
        left = correlations[row, row] - (loadings**2 / values[kept]).sum()
        explained = loadings / values[kept] @ (vectors.T @ zscores[parts])[kept]
        own[i] = (own[i] - explained) / np.sqrt(left) if left > SINGULAR else 0.0
    return own


def unknown_covariance(positions: np.ndarray) -> np.ndarray:
    """The covariance (n, n) of differences of nodes of which it is not known: NaN."""
    return np.full((len(positions),) * 2, np.nan)


def _next_below(circuit: Any, nodes: np.ndarray, j: Any) -> np.ndarray:
    """Positions in `nodes` of the nodes of the nearest regions below that of node j that have any."""
    regions = circuit.nodes.region[nodes]
    kinds = circuit.nodes.kind[nodes]
    if (
        kinds[j] == "sum"
        and (products := np.flatnonzero((regions == regions[j]) & (kinds == "product"))).size
    ):
        return products
    found, waiting = [], list(circuit.vtree.children(int(regions[j])))
    while waiting:
        region = waiting.pop()
        here = np.flatnonzero((regions == region) & (kinds != "product"))
        if not here.size:
            here = np.flatnonzero(regions == region)
        if here.size:
            found.append(here)
        else:
            waiting.extend(circuit.vtree.children(region))
    return np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)


def adjusted_pvalues(zscores: np.ndarray) -> np.ndarray:
    """(m,) two-sided normal p-values, adjusted by the step-up procedure of Benjamini and Hochberg."""
    from scipy.special import ndtr

    return benjamini_hochberg(2 * ndtr(-np.abs(zscores)))


def variable_scores(
    circuit: pcircuit.Circuit, regions: np.ndarray, deltas: np.ndarray
) -> np.ndarray:
    """(V,) sum of delta_j^2 / |S_j| over the nodes above each variable, handed down the v-tree.

    Shapes: regions (m,), deltas (m,) -> (V,).
    """
    vtree = circuit.vtree
    density = (
        np.bincount(regions, weights=deltas**2, minlength=vtree.num_nodes) / vtree.scope_sizes()
    )
    parents = vtree.parents.tolist()
    for r in range(vtree.num_nodes - 2, -1, -1):
        density[r] += density[parents[r]]
    return density[vtree.leaf_of()]
