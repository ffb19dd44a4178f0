"""Flows row by row, in NumPy: the downward pass of `pcircuit.inference.flows` before its sums over rows.

Rows times parameters are many numbers, so they come region by region, from the root down, and the caller keeps what he
needs of each.  Rows that are suspect in the linear domain, and all of a circuit that may overflow, are done again one
by one with a logarithm per unit.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pcircuit.array_types import Evidence, Floats
from pcircuit.circuit import Circuit, InputRegion
from pcircuit.inference.likelihood import upward
from pcircuit.inference.log_domain import log_flows
from pcircuit.inference.ranges import may_overflow


def flows_of_rows(circuit: Circuit, rows: Evidence) -> Iterator[tuple[int, Floats]]:
    """Expected uses of the parameters of each region by each row.

    Parameters
    ----------
    circuit : Circuit
    rows : (N, V) integer array
        Checked evidence.

    Yields
    ------
    int, (N, parameters of the region) float array
        Regions in descending order; parameters as `Flows.by_region` has them, flat.  Rows of likelihood 0 have none.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.25, 0.75]])])
    >>> list(flows_of_rows(coin, np.array([[1], [-1]])))
    [(0, array([[0.  , 1.  ],
           [0.25, 0.75]]))]
    """
    if may_overflow(circuit):
        suspect, found = np.ones(len(rows), dtype=bool), None
    else:
        shown, products, _, suspect = upward(circuit, rows)
        found = _downward(circuit, rows, np.where(suspect, 0.0, 1.0), shown, products)
    again = [(n, log_flows(circuit, rows[n:n + 1], np.ones(1))[0]) for n in np.flatnonzero(suspect).tolist()]
    for r in range(circuit.num_regions - 1, -1, -1):
        flows = np.zeros((len(rows), _size(circuit.regions[r]))) if found is None else next(found)
        for n, counts in again:
            flows[n] = _kept(circuit.regions[r], counts[r][None])
        yield r, flows


def region_slices(circuit: Circuit) -> list[slice]:
    """Where the parameters of each region are among those of all: edges, then inputs, as in `Flows`."""
    parts: list[Any] = [None] * circuit.num_regions
    end = 0
    for r, region in enumerate(circuit.regions):
        if not isinstance(region, InputRegion):
            parts[r], end = slice(end, end + _size(region)), end + _size(region)
    for r in circuit.vtree.leaf_of().tolist():
        parts[r], end = slice(end, end + _size(circuit.regions[r])), end + _size(circuit.regions[r])
    return parts


def _size(region: Any) -> int:
    """Parameters of a region."""
    return int(region.probs.size) if isinstance(region, InputRegion) else int(region.num_weights)


def _downward(circuit: Circuit, rows: Evidence, weights: Floats, shown: list[Floats],
              products: list[Any]) -> Iterator[Floats]:
    """(N, parameters) flows of the regions, from the root down, after an upward pass."""
    flow: list[Any] = [None] * circuit.num_regions
    flow[-1] = np.where(shown[-1] > 0, weights, 0.0)
    for r in range(circuit.num_regions - 1, -1, -1):
        region = circuit.regions[r]
        if isinstance(region, InputRegion):
            yield _input_flows(region, rows[:, region.variable].astype(np.int64), flow[r])
            continue
        ratio = np.divide(flow[r], shown[r], out=np.zeros_like(flow[r]), where=shown[r] > 0)
        yield _edge_flows(region, ratio, products[r])
        through = (region.weights.T @ ratio) * products[r]
        for a, c in enumerate(circuit.vtree.children(r).tolist()):
            flow[c] = np.zeros(shown[c].shape)
            np.add.at(flow[c], region.products[:, a], through)


def _edge_flows(region: Any, ratio: Floats, products: Floats) -> Floats:
    """(N, edges) ratio_k w_kp product_p, without those that a sparse region has not."""
    if region.is_sparse:
        unit = np.repeat(np.arange(region.num_units), np.diff(region.weights.indptr))
        sparse: Floats = (ratio[unit] * products[region.weights.indices]).T * region.weights.data
        return sparse
    dense: Floats = ratio.T[:, :, None] * products.T[:, None, :] * region.weights
    return dense.reshape(ratio.shape[1], -1)


def _input_flows(region: InputRegion, values: Any, flow: Floats) -> Floats:
    """(N, K C) flow of each unit at the category of the row, or spread where it is missing."""
    N, (K, C) = len(values), region.probs.shape
    result = np.zeros((N, K, C))
    seen = np.flatnonzero(values >= 0)
    result[seen, :, values[seen]] = flow.T[seen]
    holes = np.flatnonzero(values < 0)
    total = region.probs.sum(axis=1, keepdims=True)
    share = np.divide(region.probs, total, out=np.zeros_like(region.probs), where=total > 0)
    result[holes] = flow.T[holes][:, :, None] * share
    return result.reshape(N, K * C)


def _kept(region: Any, counts: Floats) -> Floats:
    """(N, parameters) of dense flows (N, K, P or C)."""
    if not isinstance(region, InputRegion) and region.is_sparse:
        unit = np.repeat(np.arange(region.num_units), np.diff(region.weights.indptr))
        kept: Floats = counts[:, unit, region.weights.indices]
        return kept
    return counts.reshape(len(counts), -1)
