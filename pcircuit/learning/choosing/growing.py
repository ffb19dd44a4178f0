r"""Growing a circuit: every state is split into two that begin almost alike.

EM from random start values has to find out everything about 2K states at once.  A circuit with K fitted states already
knows most of it; copies of a state, told apart by a little noise, are then free to specialise (Dang, Liu and Van den
Broeck 2022).  Unit i of a region becomes units 2i and 2i + 1, product p of units (i, j, ...) becomes the products of
(2i, 2j, ...) and of (2i + 1, 2j + 1, ...), and each takes half of the weight:

.. math:: w'_{2k+a, \, 2p+b} = \tfrac12 \, w_{kp}, \qquad a, b \in \{0, 1\} .

Without noise the distribution is the same, since both copies of a unit are equal.  With it, each number is multiplied
by exp(noise z), z standard normal, and rows are divided by their sums.
"""

from __future__ import annotations

import numpy as np

from pcircuit.array_types import Floats
from pcircuit.circuit import Circuit, InnerRegion, InputRegion


def grown(circuit: Circuit, noise: float, generator: np.random.Generator) -> Circuit:
    """A circuit with twice as many units in all regions but the root."""
    regions: list[InputRegion | InnerRegion] = []
    for r, region in enumerate(circuit.regions):
        copies = 1 if r == circuit.vtree.root else 2
        if isinstance(region, InputRegion):
            probs = np.repeat(region.probs, copies, axis=0)
            regions.append(InputRegion(region.variable, _apart(probs, noise, generator)))
            continue
        products = 2 * np.repeat(region.products, 2, axis=0)
        products[1::2] += 1
        weights = np.repeat(np.repeat(np.asarray(region.weights), 2, axis=1) / 2, copies, axis=0)
        regions.append(InnerRegion(products, _apart(weights, noise, generator)))
    return Circuit(circuit.vtree, regions)


def _apart(shares: Floats, noise: float, generator: np.random.Generator) -> Floats:
    """Rows with noise, which sum to one."""
    noisy = shares * np.exp(noise * generator.standard_normal(shares.shape))
    result: Floats = noisy / noisy.sum(axis=1, keepdims=True)
    return result
