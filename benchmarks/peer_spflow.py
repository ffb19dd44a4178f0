"""The same circuit, with the same parameters, in SPFlow 1.x (`Categorical`, `ElementwiseProduct`, `Sum`).

An epoch of EM is one step of its own `expectation_maximization` on all rows.  It computes in single precision and
forms a (rows, products, sums) tensor in every sum, which `largest_batch` limits; all products must take unit p of
every child.
"""

from __future__ import annotations

import numpy as np
import torch
from spflow.learn import expectation_maximization
from spflow.modules.leaves import Categorical
from spflow.modules.products import ElementwiseProduct
from spflow.modules.sums import Sum

from pcircuit import InputRegion

LOWEST = -np.inf  # natural log of the least value that it represents


def as_input(rows):
    """Rows as SPFlow takes them."""
    return torch.from_numpy(rows.astype(np.float32))


def evaluator(circuit):
    """A function of the input that returns the log-likelihoods of its rows."""
    return _evaluation(_module(circuit))


def learner(circuit):
    """A function of the input that does an epoch of EM, and one that evaluates what it learned."""
    module = _module(circuit)

    def epoch(rows):
        expectation_maximization(module, rows, max_steps=1)

    return epoch, _evaluation(module)


def largest_batch(circuit) -> int:
    """Rows of an epoch that stay below 2 GB: about nine single-precision numbers a row and weight."""
    weights = sum(
        region.weights.size for region in circuit.regions if not isinstance(region, InputRegion)
    )
    return int(2e9 / (36 * weights))


def _module(circuit):
    """The root module."""
    torch.set_num_threads(1)
    shown = []
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InputRegion):
            module = Categorical(
                region.variable, region.num_units, K=region.num_categories, validate_args=False
            )
            module.probs = torch.tensor(region.probs[None, :, None], dtype=torch.float32)
        else:
            product = ElementwiseProduct([shown[c] for c in circuit.vtree.children(r).tolist()])
            module = Sum(
                product,
                weights=torch.tensor(region.weights.T[None, :, :, None], dtype=torch.float32),
            )
        shown.append(module)
    return shown[-1]


def _evaluation(module):
    """A function of the input that returns log-likelihoods."""

    def evaluate(rows):
        with torch.no_grad():
            return module.log_likelihood(rows).flatten().numpy()

    return evaluate
