"""The same circuit, with the same parameters, in libcirkit (Hadamard products, `lse-sum`, folded and optimised).

An epoch of EM is its own: one pass forward and backward over the rows and a step of its `EM` optimiser.  It computes
in single precision; all products must take unit p of every child.  It cuts values off at exp(-708.4)
(https://github.com/april-tools/cirkit/issues/416), so rows less likely than that are beyond it.
"""

import numpy as np
import torch
from cirkit.backend.torch.em_optimizer import EM
from cirkit.pipeline import PipelineContext
from cirkit.symbolic.circuit import Circuit as SymbolicCircuit
from cirkit.symbolic.initializers import ConstantTensorInitializer
from cirkit.symbolic.layers import CategoricalLayer, GaussianLayer, HadamardLayer, SumLayer
from cirkit.symbolic.parameters import Parameter, TensorParameter
from cirkit.utils.scope import Scope

from pcircuit import InputRegion

LOWEST = -708.39  # natural log of the least value that it represents


def as_input(rows):
    """Rows as libcirkit takes them: categories, or numbers in single precision."""
    return torch.from_numpy(rows.astype(np.float32 if rows.dtype.kind == "f" else np.int64))


def evaluator(circuit):
    """A function of the input that returns the log-likelihoods of its rows."""
    return _evaluation(_compiled(circuit, learnable=False))


def learner(circuit):
    """A function of the input that does an epoch of EM without pseudocount, and one that evaluates what it learned."""
    module = _compiled(circuit, learnable=True)
    optimizer = EM(module, lr=1.0, pseudocount=0.0)

    def epoch(rows):
        optimizer.zero_grad()
        module(rows).sum().backward()
        optimizer.step()

    return epoch, _evaluation(module)


def largest_batch(circuit) -> int:
    """Rows of an epoch whose gradients stay below 2 GB."""
    units = sum(region.num_units for region in circuit.regions)
    categories = sum(
        region.num_categories for region in circuit.regions if isinstance(region, InputRegion)
    )
    return int(2e9 / (40 * units + 20 * categories))


def _compiled(circuit, learnable):
    """The folded torch module."""
    torch.set_num_threads(1)
    layers, inputs, shown = [], {}, []
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InputRegion) and not region.num_categories:
            layer = GaussianLayer(
                Scope([region.variable]),
                region.num_units,
                mean=_parameter(region.leaves.mean, learnable),
                stddev=_parameter(region.leaves.std, learnable),
            )
            layers.append(layer)
        elif isinstance(region, InputRegion):
            layer = CategoricalLayer(
                Scope([region.variable]),
                region.num_units,
                num_categories=region.num_categories,
                probs=_parameter(region.probs, learnable),
            )
            layers.append(layer)
        else:
            children = [shown[c] for c in circuit.vtree.children(r).tolist()]
            product = HadamardLayer(region.num_products, arity=len(children))
            layer = SumLayer(
                region.num_products, region.num_units, weight=_parameter(region.weights, learnable)
            )
            inputs |= {product: children, layer: [product]}
            layers += [product, layer]
        shown.append(layer)
    return PipelineContext(backend="torch", semiring="lse-sum", fold=True, optimize=True).compile(
        SymbolicCircuit(layers, inputs, [shown[-1]])
    )


def _evaluation(module):
    """A function of the input that returns log-likelihoods."""

    def evaluate(rows):
        with torch.no_grad():
            return module(rows).flatten().numpy()

    return evaluate


def _parameter(values, learnable):
    """A symbolic parameter."""
    values = np.array(values, order="C")
    return Parameter.from_input(
        TensorParameter(
            *values.shape, initializer=ConstantTensorInitializer(values), learnable=learnable
        )
    )
