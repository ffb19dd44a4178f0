"""The downward pass of expected flows over a block of rows, in NumPy: the twin of `pcircuit.compiled.downward`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pcircuit.array_types import Evidence, Floats
from pcircuit.circuit import Circuit, InputRegion
from pcircuit.compiled.packed import Packed, table_rows
from pcircuit.inference.unit_sums import by_unit


def downward(
    circuit: Circuit, data: Evidence, weights: Floats, shown: list[Floats], products: list[Any]
) -> list[Floats]:
    """The summed flows of a block of rows, after `pcircuit.inference.likelihood.upward`.

    Shapes: data (N, V), weights (N,).
    """
    flow: list[Any] = [None] * circuit.num_regions
    flow[-1] = np.where(shown[-1] > 0, weights, 0.0)
    counts: list[Any] = [None] * circuit.num_regions
    for r in range(circuit.num_regions - 1, -1, -1):
        region = circuit.regions[r]
        if isinstance(region, InputRegion):
            C = region.num_categories
            code = data[:, region.variable].astype(np.int64) % (C + 1)  # -1 becomes C
            counts[r] = np.stack(
                [np.bincount(code, weights=row, minlength=C + 1) for row in flow[r]]
            )
            continue
        ratio = np.divide(flow[r], shown[r], out=np.zeros_like(flow[r]), where=shown[r] > 0)
        counts[r] = (ratio @ products[r].T) * region.dense_weights()
        through = (region.weights.T @ ratio) * products[r]
        for a, c in enumerate(circuit.vtree.children(r).tolist()):
            flow[c] = by_unit(through, region.products[:, a], len(shown[c]))
    return counts


def spread_missing(packed: Packed, inputs: Floats) -> Floats:
    """Input flows without the missing column, whose flow goes to the categories by their probabilities.

    Returns (number of input probabilities,).
    """
    row, is_missing = table_rows(packed)
    total = packed.tables[is_missing]
    share = np.divide(inputs[is_missing], total, out=np.zeros_like(total), where=total > 0)
    spread = inputs + share[row] * packed.tables
    return spread[~is_missing]
