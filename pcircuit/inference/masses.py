"""Top-down masses: how often a sample drawn from the root passes through each unit.

A sample starts at the root and chooses one product of each region that it enters, so it passes through exactly one
unit of every region.  The probabilities follow from the root downwards,

    q_root = 1        qp = weights^t q        q_child[u] = sum of qp[p] over the products p with u(p, child) = u,

and both q and qp sum to one in every region of a normalised circuit.
"""
from __future__ import annotations

import numpy as np

from pcircuit.circuit import Circuit, check_circuit


def unit_masses(circuit: Circuit) -> list:
    """Probability with which a sample passes through each unit, region by region.

    Parameters
    ----------
    circuit : pcircuit.Circuit
        Normalised, else the numbers are sums of weights along paths and no probabilities.

    Returns
    -------
    list of (q, qp)
        Per region the masses q (K,) of its inputs or sums, and qp (P,) of its products, None for input regions.

    Notes
    -----
    O(number of weights).

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, InputRegion, VTree
    >>> circuit = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[0.9, 0.1], [0.2, 0.8]]), InputRegion(1, [[0.7, 0.3]]),
    ...     InnerRegion([[0, 0], [1, 0]], [[0.25, 0.75]])])
    >>> [q.tolist() for q, _ in unit_masses(circuit)]
    [[0.25, 0.75], [1.0], [1.0]]
    """
    check_circuit(circuit)
    masses = [None] * len(circuit.regions)
    shown = [None] * len(circuit.regions)
    shown[-1] = np.ones(1)
    for r in range(len(circuit.regions) - 1, -1, -1):
        region = circuit.regions[r]
        children = circuit.vtree.children(r).tolist()
        products = region.weights.T @ shown[r] if children else None
        masses[r] = (shown[r], products)
        for position, c in enumerate(children):
            shown[c] = np.bincount(region.products[:, position], weights=products,
                                   minlength=circuit.regions[c].num_units)
    return masses
