"""Mean, variances and the trace of the square without the covariance, against enumeration and the dense recursion."""

import naive
import numpy as np
import pytest
import zoo
from hypothesis import given, settings
from hypothesis import strategies as st

from pcircuit import Circuit, InnerRegion, InputRegion, VTree
from pcircuit.moments.covariance import dense_covariance
from pcircuit.moments.covariance_parts import covariance_parts
from pcircuit.moments.plan import make_plan
from pcircuit.moments.traces import means_and_traces

CIRCUITS = zoo.circuits()


def assert_right(circuit, nodes, weights):
    mean, variances, trace_sq = means_and_traces(make_plan(circuit, nodes, weights), squares=True)
    expected_mean, covariance = naive.hlv_moments(circuit, nodes)
    covariance = weights[:, None] * covariance * weights
    scale = max(np.abs(covariance).max(), 1e-4 * (weights * expected_mean).max() ** 2)
    np.testing.assert_allclose(mean, weights * expected_mean, rtol=1e-12)
    np.testing.assert_allclose(variances, np.diag(covariance), rtol=0, atol=1e-12 * scale)
    assert trace_sq == pytest.approx(np.sum(covariance**2), rel=1e-12, abs=(1e-12 * scale) ** 2)


@pytest.mark.parametrize("name", CIRCUITS)
def test_all_units_of_every_kind_of_circuit(name):
    assert_right(
        CIRCUITS[name], np.arange(CIRCUITS[name].num_nodes), np.ones(CIRCUITS[name].num_nodes)
    )


@settings(max_examples=30)
@given(zoo.circuit_strategy(max_variables=4, max_units=4), st.integers(0, 2**32 - 1))
def test_selections_with_weights(circuit, seed):
    rng = np.random.default_rng(seed)
    nodes = np.sort(rng.permutation(circuit.num_nodes)[: rng.integers(1, circuit.num_nodes + 1)])
    assert_right(circuit, nodes, rng.uniform(0.1, 3.0, len(nodes)))


def test_without_squares_mean_and_variances_are_the_same_and_the_trace_is_none():
    circuit = CIRCUITS["nary"]
    plan = make_plan(circuit, np.arange(circuit.num_nodes), np.ones(circuit.num_nodes))
    mean, variances, nothing = means_and_traces(plan, squares=False)
    assert nothing is None
    for one, other in zip((mean, variances), means_and_traces(plan, squares=True)[:2], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "units", [[2, 2, 2, 2, 2, 2, 1], [4, 4, 2, 8, 1, 4, 1], [1, 4, 1, 1, 9, 9, 1]]
)
def test_regions_that_keep_columns_and_regions_that_keep_gram_tensors_go_together(units, rng):
    """Regions of one unit have fewer pairs than columns below them, regions of four mostly more."""
    vtree, regions, numbers = VTree.right_linear(len(units) + 1), [], iter(units)
    for r, variable in enumerate(vtree.variables.tolist()):
        if variable >= 0:
            regions.append(InputRegion(variable, rng.dirichlet(np.ones(3), size=2)))
            continue
        K = next(numbers)
        shown = [regions[c].num_units for c in vtree.children(r)]
        products = np.stack([np.arange(4) % shown[0], np.arange(4) // 2 % shown[1]], axis=1)
        regions.append(InnerRegion(products, rng.dirichlet(np.ones(4), size=K)))
    circuit = Circuit(vtree, regions)
    plan = make_plan(circuit, np.arange(circuit.num_nodes), np.ones(circuit.num_nodes))
    dense = dense_covariance(plan, covariance_parts(plan, compress=False))
    assert means_and_traces(plan, squares=True)[2] == pytest.approx(np.sum(dense**2), rel=1e-12)
