"""The same circuit, with the same parameters, in libcirkit (Hadamard products, `lse-sum`, folded and optimised)."""
from __future__ import annotations

import numpy as np
import torch
from cirkit.pipeline import PipelineContext
from cirkit.symbolic.circuit import Circuit as SymbolicCircuit
from cirkit.symbolic.initializers import ConstantTensorInitializer
from cirkit.symbolic.layers import CategoricalLayer, HadamardLayer, SumLayer
from cirkit.symbolic.parameters import Parameter, TensorParameter
from cirkit.utils.scope import Scope

from pcircuit import InputRegion


def compiled(circuit):
    """A function of the rows that returns their log-likelihoods; all products must take unit p of every child."""
    torch.set_num_threads(1)
    layers, inputs, shown = [], {}, []
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InputRegion):
            layer = CategoricalLayer(Scope([region.variable]), region.num_units, num_categories=region.num_categories,
                                     probs=_parameter(region.probs))
            layers.append(layer)
        else:
            children = [shown[c] for c in circuit.vtree.children(r).tolist()]
            product = HadamardLayer(region.num_products, arity=len(children))
            layer = SumLayer(region.num_products, region.num_units, weight=_parameter(region.weights))
            inputs |= {product: children, layer: [product]}
            layers += [product, layer]
        shown.append(layer)
    module = PipelineContext(backend="torch", semiring="lse-sum", fold=True, optimize=True).compile(
        SymbolicCircuit(layers, inputs, [shown[-1]]))

    def evaluate(rows, batch=1024):
        with torch.no_grad():
            return torch.cat([module(torch.from_numpy(rows[start:start + batch].astype(np.int64))).flatten()
                              for start in range(0, len(rows), batch)]).numpy()

    return evaluate


def _parameter(values):
    """A constant symbolic parameter."""
    values = np.ascontiguousarray(values)
    return Parameter.from_input(TensorParameter(*values.shape, initializer=ConstantTensorInitializer(values),
                                                learnable=False))
