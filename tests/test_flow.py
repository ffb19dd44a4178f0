"""Expected flows against enumeration, between engines, and as additive statistics."""
import naive
import numpy as np
import pytest
import zoo
from hypothesis import given
from hypothesis import strategies as st
from test_likelihood import engine, mixture_of_two, rows_with_holes  # noqa: F401  (engine is a fixture)

from pcircuit import InputRegion, expected_flows, log_likelihood


def assert_equals_naive(circuit, data, weights=None):
    expected = naive.flows(circuit, data, weights)
    flows = expected_flows(circuit, data, weights=weights)
    for region, actual, wanted in zip(circuit.regions, flows.by_region(circuit), expected, strict=True):
        if not isinstance(region, InputRegion) and region.is_sparse:
            rows = np.repeat(np.arange(region.num_units), np.diff(region.weights.indptr))
            wanted = wanted[rows, region.weights.indices]
        np.testing.assert_allclose(actual, wanted, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", zoo.circuits())
def test_zoo_equals_enumeration(name, engine, rng):  # noqa: F811
    circuit = zoo.circuits()[name]
    data = rows_with_holes(circuit, rng, 15)
    assert_equals_naive(circuit, data)
    assert_equals_naive(circuit, data, rng.random(len(data)))


@given(zoo.circuit_strategy(max_variables=4), st.integers(0, 2 ** 32))
def test_random_circuits_equal_enumeration(circuit, seed):
    assert_equals_naive(circuit, rows_with_holes(circuit, np.random.default_rng(seed), 6))


def test_each_possible_row_uses_one_category_of_each_variable(engine, rng):  # noqa: F811
    circuit = zoo.random_circuit(rng, num_variables=12, max_units=4, nary=True)
    data = rows_with_holes(circuit, rng, 200)
    flows = expected_flows(circuit, data)
    for region, flow in zip(circuit.regions, flows.by_region(circuit), strict=True):
        if isinstance(region, InputRegion):
            assert flow.sum() == pytest.approx(200, rel=1e-11)
    assert flows.log_likelihood == pytest.approx(log_likelihood(circuit, data).sum(), rel=1e-12)


def test_engines_agree_over_many_tiles(monkeypatch, rng):
    circuit = zoo.random_circuit(rng, num_variables=30, max_units=6, max_categories=4, nary=True)
    data = rows_with_holes(circuit, rng, 3000)
    compiled = expected_flows(circuit, data)
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    plain = expected_flows(circuit, data)
    np.testing.assert_allclose(compiled.edges, plain.edges, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(compiled.inputs, plain.inputs, rtol=1e-10, atol=1e-10)
    assert compiled.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-12)


def test_flows_of_parts_add_up_and_threads_do_not_matter(rng):
    circuit = zoo.random_circuit(rng, num_variables=10, max_units=4)
    data = rows_with_holes(circuit, rng, 2000)
    whole = expected_flows(circuit, data, n_jobs=1)
    threaded = expected_flows(circuit, data, n_jobs=4)
    np.testing.assert_array_equal(whole.edges, threaded.edges)
    np.testing.assert_array_equal(whole.inputs, threaded.inputs)
    assert whole.log_likelihood == threaded.log_likelihood
    parts = expected_flows(circuit, data[:700]) + expected_flows(circuit, data[700:])
    np.testing.assert_allclose(parts.edges, whole.edges, rtol=1e-11, atol=1e-12)
    assert parts.total_weight == whole.total_weight == 2000


def test_suspect_rows_take_the_logarithmic_route(engine):  # noqa: F811
    """Two components that differ by 1e-1800 and back again: the posterior is 0.25 / 0.75, not 0 / 1."""
    V, eps = 600, 1e-6
    low, high = [eps, 1 - eps], [1 - eps, eps]
    first = np.array([high] * (V // 2) + [low] * (V // 2))
    second = np.array([low] * (V // 2) + [high] * (V // 2))
    first[0], second[0] = [0.1 / (1 - eps) * eps, 1 - 0.1 / (1 - eps) * eps], [0.3, 0.7]
    first[-1], second[-1] = [1 - eps, eps], [1 - eps, eps]
    # component values on the row of zeros: first 0.1 eps**(V/2) ..., second 0.3 eps**(V/2 - 1) ... after balancing
    logs = [np.log(table[:, 0]).sum() for table in (first, second)]
    share = 1 / (1 + np.exp(logs[1] - logs[0]))
    circuit = mixture_of_two(first, second)
    flows = expected_flows(circuit, np.zeros((1, V), dtype=np.int64))
    np.testing.assert_allclose(flows.by_region(circuit)[-1], [[share, 1 - share]], rtol=1e-9)


def test_impossible_rows_add_nothing(engine):  # noqa: F811
    circuit = zoo.circuits()["deterministic"]
    data = naive.states(circuit)
    impossible = data[naive.likelihood(circuit, data) == 0]
    flows = expected_flows(circuit, impossible)
    assert not flows.edges.any()
    assert not flows.inputs.any()
    assert flows.log_likelihood == -np.inf
    assert expected_flows(circuit, data[:0]).total_weight == 0


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, np.nan], [[1.0, 1.0]]])
def test_bad_weights(weights):
    with pytest.raises(ValueError, match="`weights` must be 2 finite non-negative numbers"):
        expected_flows(zoo.circuits()["two_coins"], [[0, 0], [1, 1]], weights=weights)
