"""The compiled M-step against its definition: each parameter is its share of the flow of its unit."""

import numpy as np
import pytest
import zoo
from engines import needs_numba

from pcircuit.kernels.em_steps import share, slices_of
from pcircuit.kernels.engine import kernel
from pcircuit.kernels.packing import pack

SMALL = {name: circuit for name, circuit in zoo.circuits().items() if len(circuit.regions) > 1}


def shares(old, flow, pseudocount):
    """Parameters of one unit."""
    total = flow.sum() + pseudocount
    return (flow + pseudocount / len(flow)) / total if total > 0 else old


@needs_numba
@pytest.mark.parametrize("pseudocount", [0.0, 0.7])
@pytest.mark.parametrize("name", SMALL)
def test_parameters_are_shares_of_flows(name, pseudocount, rng):
    circuit, packed = SMALL[name], pack(SMALL[name])
    edges = rng.random(len(packed.weights)) * (rng.random(len(packed.weights)) < 0.7)
    flows = [
        rng.random(region.probs.shape) for region in circuit.regions if hasattr(region, "probs")
    ]
    by_variable = [
        flows[i]
        for i in np.argsort(
            [region.variable for region in circuit.regions if hasattr(region, "probs")]
        )
    ]
    weights, tables = np.empty_like(packed.weights), np.ones_like(packed.tables)
    inputs = np.concatenate([flow.ravel() for flow in by_variable])
    jobs = (inputs, packed.tables, tables), (edges, packed.weights, weights)
    for (slices, between), (flow, old, new) in zip(slices_of(packed), jobs, strict=True):
        arrays = flow, old, slices, between, new, np.zeros(1, dtype=np.uint64)
        kernel(share, arrays, len(slices) // 3)(pseudocount)
    at = 0
    for v, (flow, C) in enumerate(zip(by_variable, packed.categories, strict=True)):
        for k, start in enumerate(
            range(packed.table_start[v], packed.table_start[v] + len(flow) * (C + 1), C + 1)
        ):
            expected = shares(packed.tables[start : start + C], flow[k], pseudocount)
            np.testing.assert_allclose(tables[start : start + C], expected, rtol=1e-13)
            assert tables[start + C] == 1.0
    for region in circuit.regions:
        if hasattr(region, "weights"):
            sizes = (
                np.diff(region.weights.indptr)
                if region.is_sparse
                else [region.num_products] * region.num_units
            )
            for size in sizes:
                expected = shares(
                    packed.weights[at : at + size], edges[at : at + size], pseudocount
                )
                np.testing.assert_allclose(weights[at : at + size], expected, rtol=1e-13)
                at += size
    assert at == len(weights)
