"""Which of the numbers of a likelihood vector look at one column alone: those of its input units."""

from __future__ import annotations

import numpy as np

import pcircuit


def column_units(circuit: pcircuit.Circuit, nodes: np.ndarray) -> list[np.ndarray]:
    """Positions among the nodes of the input units of each variable.

    Parameters
    ----------
    circuit : pcircuit.Circuit
    nodes : (m,) int array
        Ids of the nodes that are looked at.

    Returns
    -------
    list of V int arrays
        Empty where no input unit of the variable is among them.

    Examples
    --------
    >>> circuit = pcircuit.rat_spn([2] * 2, num_units=2, depth=1, rng=0)
    >>> [one.tolist() for one in column_units(circuit, np.arange(circuit.num_units))]
    [[0, 1], [6, 7]]
    """
    regions = circuit.nodes.region[nodes]
    found = [np.zeros(0, dtype=np.int64) for _ in range(circuit.num_variables)]
    for r, region in enumerate(circuit.regions):
        if isinstance(region, pcircuit.InputRegion):
            found[region.variable] = np.flatnonzero(regions == r)
    return found
