"""Which of the numbers of a likelihood vector look at one column alone: those of its input units."""

from __future__ import annotations

import numpy as np

import pcircuit


def column_units(circuit: pcircuit.Circuit, nodes: np.ndarray) -> list[np.ndarray]:
    """Positions among the nodes of the input units of each variable.

    Shapes: nodes (m,).
    """
    regions = circuit.nodes.region[nodes]
    found = [np.zeros(0, dtype=np.int64) for _ in range(circuit.num_variables)]
    for r, region in enumerate(circuit.regions):
        if isinstance(region, pcircuit.InputRegion):
            found[region.variable] = np.flatnonzero(regions == r)
    return found
