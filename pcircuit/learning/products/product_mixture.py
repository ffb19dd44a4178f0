r"""Mixtures of products of columns, as circuits that fit the cache.

.. math:: p(x) = \sum_s w_s \prod_v p_{sv}(x_v)

is one sum unit over S products of inputs.  With thousands of products its values for a few rows leave the cache, so
that it is cut into circuits of 256 products each, whose mixture it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pcircuit.array_types import Floats
from pcircuit.circuit import Circuit
from pcircuit.circuit_mixture import Mixture
from pcircuit.regions import InnerRegion, InputRegion
from pcircuit.vtree import VTree

CIRCUIT_PRODUCTS = 256


def product_mixture(columns: Sequence[Floats], weights: Floats) -> Mixture:
    """The mixture of S products.

    Shapes: weights (S,).
    O(S sum_v C_v) time and memory.
    """
    V = len(columns)
    tree = VTree.from_nested(list(range(V))) if V > 1 else VTree([-1], [0])
    parts = [
        slice(begin, begin + CIRCUIT_PRODUCTS) for begin in range(0, len(weights), CIRCUIT_PRODUCTS)
    ]
    shares = np.array([weights[part].sum() for part in parts]) / weights.sum()
    return Mixture(
        [_circuit(tree, [column[part] for column in columns], weights[part]) for part in parts],
        shares,
    )


def _circuit(tree: VTree, columns: list[Floats], weights: Floats) -> Circuit:
    """The circuit of some products."""
    weights = weights / weights.sum()
    if len(columns) == 1:
        return Circuit(tree, [InputRegion(0, (weights @ columns[0])[None])])
    products = np.repeat(np.arange(len(weights))[:, None], len(columns), axis=1)
    inputs = [InputRegion(v, probs) for v, probs in enumerate(columns)]
    return Circuit(tree, [*inputs, InnerRegion(products, weights[None])])
