"""The range of values that the likelihood of a unit can take, whatever the row is.

Bottom-up: an input has the smallest and the largest of its probabilities, a product the products of its children's
bounds, a sum their averages.  The range is exact at inputs and products of inputs; a sum may stay inside, as its
products peak at different rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import pcircuit


def unit_ranges(circuit: pcircuit.Circuit) -> np.ndarray:
    """(num_nodes, 2) lower and upper bounds of the likelihoods of all units, in node-id order.

    O(number of parameters).
    """
    shown: list[Any] = []
    parts: list[Any] = []
    for r, region in enumerate(circuit.regions):
        if isinstance(region, pcircuit.InputRegion):
            shown.append(np.stack([region.probs.min(axis=1), region.probs.max(axis=1)], axis=1))
        else:
            products = np.ones((region.num_products, 2))
            for a, child in enumerate(circuit.vtree.children(r).tolist()):
                products = products * shown[child][region.products[:, a]]
            parts.append(products)
            shown.append(np.asarray(region.weights @ products))
        parts.append(shown[r])
    return np.concatenate(parts)
