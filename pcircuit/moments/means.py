"""The mean likelihood of every unit under the circuit's own distribution, without the rest of the moments.

    E[l_j] = sum_x p(x) l_j(x) = sum_a q_a M2[a, j],      M2[a, b] = sum_x p_a(x) p_b(x),

over the units a of the region of j, where q_a is the probability that a sample passes through a (`inference.masses`).
The table M2 of a region comes from those of its children,

    inputs      T T^t
    products    M2p[p, p'] = prod_c M2_c[u(p, c), u(p', c)]
    sums        W M2p W^t

so that the means of a circuit with R regions of K units cost O(R K^3); its variances cost O(R K^4), see
`moments.overlaps`.  All numbers are sums of products of numbers that are not negative: nothing cancels.
"""

from typing import Any

import numpy as np

from pcircuit.arguments import Floats
from pcircuit.circuit import Circuit, check_circuit
from pcircuit.inference.masses import unit_masses
from pcircuit.regions import InnerRegion

BLOCK = 2**22  # entries of M2p held at once


def unit_means(circuit: Circuit) -> np.ndarray:
    """Mean likelihood E[l_j(X)] of every unit, X drawn from the circuit.

    Parameters
    ----------
    circuit : pcircuit.Circuit
        Normalised; otherwise the numbers are overlaps weighted by masses, not expectations.

    Returns
    -------
    (num_nodes,) float64 array
        In node-id order; likelihoods of large scopes underflow to 0.

    Notes
    -----
    Costs O(R K^3) for R regions with K units.

    Examples
    --------
    >>> from pcircuit import InnerRegion, InputRegion, VTree
    >>> unit_means(Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[0.5, 0.5]]), InputRegion(1, [[0.2, 0.8]]), InnerRegion([[0, 0]], [[1.0]])]))
    array([0.5 , 0.68, 0.34, 0.34])
    """
    check_circuit(circuit)
    tables: list[Any] = [None] * circuit.num_regions
    masses: list[Any] = list(unit_masses(circuit))
    means: list[Floats] = []
    for r, (region, (q, qp)) in enumerate(zip(circuit.regions, masses, strict=True)):
        if region.is_input:
            tables[r] = region.leaves.overlap2(region.leaves)
        else:
            children = circuit.vtree.children(r).tolist()
            of_products, tables[r] = _inner_overlaps(region, [tables[c] for c in children], qp)
            means.append(of_products)
            for c in children:
                tables[c] = None
        means.append(q @ tables[r])
    return np.concatenate(means)


def _inner_overlaps(
    region: InnerRegion, children: list[Floats], qp: Floats
) -> tuple[Floats, Floats]:
    """E[l] of the products (P,), and the table M2 (K, K) of the sums, from the tables of the children."""
    P = region.num_products
    means, table, step = (
        np.zeros(P),
        np.zeros((region.num_units, region.num_units)),
        max(1, BLOCK // P),
    )
    for start in range(0, P, step):
        rows = slice(start, start + step)
        block = np.ones((min(step, P - start), P))
        for c, overlaps in enumerate(children):
            units = region.products[:, c]
            block *= overlaps[units[rows, None], units]
        means += qp[rows] @ block
        table += region.weights[:, rows] @ (region.weights @ block.T).T
    return means, table
