"""Overlaps of inner regions: correlations of units that hardly vary in rational arithmetic."""

import numpy as np
import precise
import pytest

from pcircuit import Circuit, InnerRegion, InputRegion, VTree, exact_moments


def near_uniform(rng, K, C, step):
    """(K, C) rows, each within `step` / C of the uniform one."""
    rows = 1 + step * rng.uniform(-0.5, 0.5, (K, C))
    return rows / rows.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("step", [2.0**-10, 2.0**-26])
@pytest.mark.parametrize("which", ["likelihoods that hardly vary", "sums that hardly differ"])
def test_correlations_keep_their_digits(which, step):
    """One region with four children of three units: its products and sums are made with some sixteen roundings."""
    rng = np.random.default_rng(7)
    of_tables, of_weights = (step, 0.5) if which == "likelihoods that hardly vary" else (0.5, step)
    circuit = Circuit(
        VTree.from_nested([0, 1, 2, 3]),
        [
            *(InputRegion(v, near_uniform(rng, 3, 2, of_tables)) for v in range(4)),
            InnerRegion(
                np.repeat(np.arange(3)[:, None], 4, axis=1), near_uniform(rng, 1, 3, of_weights)
            ),
        ],
    )
    nodes = np.arange(circuit.num_nodes)[-6:]  # two inputs, the products, the root
    _, S, _ = precise.moments(circuit, nodes)
    found, stds = exact_moments(circuit, nodes).covariance(), precise.roots(np.diag(S))
    errors = precise.relative_errors(found, S, np.outer(stds, stds))
    assert (errors <= 16 * np.finfo(float).eps).all()
