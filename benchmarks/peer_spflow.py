"""The same circuit, with the same parameters, in SPFlow: leaves are normal, products take unit p of every child.

It computes by logarithms in single precision.
"""

from __future__ import annotations

import numpy as np
import torch
from spflow.modules.leaves import Normal
from spflow.modules.products import Product
from spflow.modules.sums import Sum

LOWEST = -np.inf  # natural log of the least value that it represents


def as_input(rows):
    """Rows as SPFlow takes them."""
    return torch.from_numpy(rows.astype(np.float32))


def evaluator(circuit):
    """A function of the input that returns the log-likelihoods of its rows."""
    torch.set_num_threads(1)
    shown = []
    for r, region in enumerate(circuit.regions):
        if region.is_input:
            mean, std = (
                _tensor(values[None, :, None]) for values in (region.leaves.mean, region.leaves.std)
            )
            shown.append(Normal(scope=region.variable, loc=mean, scale=std))
        else:
            product = Product([shown[c] for c in circuit.vtree.children(r).tolist()])
            shown.append(Sum(product, weights=_tensor(region.weights.T)))

    def evaluate(rows):
        with torch.no_grad():
            return shown[-1].log_likelihood(rows).flatten().numpy()

    return evaluate


def _tensor(values):
    """In single precision."""
    return torch.from_numpy(np.array(values, dtype=np.float32, order="C"))
