"""Flows row by row, in NumPy: the downward pass of `pcircuit.inference.flows` before its sums over rows.

Rows times parameters are many numbers, so they come region by region, from the root down, and the caller keeps what it
needs from each.  The rows of a parameter are contiguous, so that all steps run along them.  Rows that are suspect in
the linear domain, and all rows if the circuit may overflow, are done again one by one with a logarithm per unit.
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

    Shapes: rows (N, V).
    """
    if may_overflow(circuit):
        suspect, found = np.ones(len(rows), dtype=bool), None
    else:
        shown, products, _, suspect = upward(circuit, rows)
        found = _downward(circuit, rows, np.where(suspect, 0.0, 1.0), shown, products)
    again = [
        (n, log_flows(circuit, rows[n : n + 1], np.ones(1))[0])
        for n in np.flatnonzero(suspect).tolist()
    ]
    for r in range(circuit.num_regions - 1, -1, -1):
        flows = np.zeros((_size(circuit.regions[r]), len(rows))) if found is None else next(found)
        for n, counts in again:
            flows[:, n] = _kept(circuit.regions[r], counts[r])
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


def _downward(
    circuit: Circuit, rows: Evidence, weights: Floats, shown: list[Floats], products: list[Any]
) -> Iterator[Floats]:
    """(parameters, N) flows of the regions, from the root down, after an upward pass."""
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
            flow[c] = _handed_down(through, region.products[:, a], len(shown[c]))


def _handed_down(through: Floats, units: Any, num_units: int) -> Floats:
    """(K, N) flows of the units of a child, from those through the products that use them."""
    flow = np.zeros((num_units, through.shape[1]))
    if np.bincount(units, minlength=1).max() == 1:
        flow[units] = through
    else:
        np.add.at(flow, units, through)
    return flow


def _edge_flows(region: Any, ratio: Floats, products: Floats) -> Floats:
    """(edges, N) ratio_k w_kp product_p, without those that a sparse region has not."""
    if region.is_sparse:
        unit = np.repeat(np.arange(region.num_units), np.diff(region.weights.indptr))
        sparse: Floats = (
            ratio[unit] * products[region.weights.indices] * region.weights.data[:, None]
        )
        return sparse
    dense: Floats = ratio[:, None] * region.weights[:, :, None]
    dense *= products
    return dense.reshape(_size(region), ratio.shape[1])


def _input_flows(region: InputRegion, values: Any, flow: Floats) -> Floats:
    """(K C, N) flow of each unit at the category of the row, or spread where it is missing."""
    N, (K, C) = len(values), region.probs.shape
    result = np.zeros((K, C, N))
    seen = np.flatnonzero(values >= 0)
    result[:, values[seen], seen] = flow[:, seen]
    holes = np.flatnonzero(values < 0)
    if len(holes):
        total = region.probs.sum(axis=1, keepdims=True)
        share = np.divide(region.probs, total, out=np.zeros_like(region.probs), where=total > 0)
        result[:, :, holes] = flow[:, None, holes] * share[:, :, None]
    return result.reshape(K * C, N)


def _kept(region: Any, counts: Floats) -> Floats:
    """(parameters,) of dense flows (K, P or C) of a row."""
    if not isinstance(region, InputRegion) and region.is_sparse:
        unit = np.repeat(np.arange(region.num_units), np.diff(region.weights.indptr))
        kept: Floats = counts[unit, region.weights.indices]
        return kept
    return counts.ravel()
