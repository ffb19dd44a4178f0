"""Top-down masses: how often a sample drawn from the root passes through each unit.

A sample starts at the root and chooses one product of each region that it enters, so it passes through exactly one
unit of every region.  The probabilities follow from the root downwards,

    q_root = 1        qp = weights^t q        q_child[u] = sum of qp[p] over the products p with u(p, child) = u,

and both q and qp sum to one in every region of a normalised circuit.
"""

from typing import Any

import numpy as np

from pcircuit.arguments import Floats
from pcircuit.circuit import Circuit, InnerRegion, check_circuit, child_units


def unit_masses(circuit: Circuit) -> list[tuple[Floats, Floats | None]]:
    """Probability with which a sample passes through each unit, region by region.

    Parameters
    ----------
    circuit : pcircuit.Circuit
        Normalised; otherwise the numbers are sums of weights along paths, not probabilities, and inf where they are too
        large for doubles.

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
    masses: list[Any] = [(np.ones(1), None)] * circuit.num_regions  # of the root; the others follow
    for r in range(circuit.num_regions - 1, -1, -1):
        region, (q, _) = circuit.regions[r], masses[r]
        if region.is_input:
            continue
        if circuit.is_normalized:
            qp = region.weights.T @ q
            qp = qp / qp.sum()  # no rounding errors of the regions above
        else:
            qp = _unnormalized(region, q)
        masses[r] = q, qp
        for c, units in child_units(circuit, r):
            masses[c] = np.bincount(units, weights=qp, minlength=circuit.regions[c].num_units), None
    return masses


def _unnormalized(region: InnerRegion, q: Floats) -> Floats:
    """(P,) masses of products: weights^t q, where no weight of zero takes anything from a mass that is infinite."""
    infinite = np.isinf(q)
    with np.errstate(over="ignore"):
        qp: Floats = region.weights.T @ np.where(infinite, 0.0, q)
        if infinite.any():
            qp[region.weights[infinite].sum(axis=0) > 0] = np.inf
    return qp
