"""Expected flows against enumeration, between engines, and as additive statistics."""

import naive
import numpy as np
import pytest
import zoo
from hypothesis import given
from hypothesis import strategies as st

from pcircuit import Circuit, InnerRegion, InputRegion, VTree, expected_flows
from pcircuit.inference.flows import downward
from pcircuit.inference.likelihood import upward
from pcircuit.kernels import programs
from pcircuit.kernels.packing import pack


def assert_equals_naive(circuit, data, weights=None):
    expected = naive.flows(circuit, data, weights)
    flows = expected_flows(circuit, data, weights=weights)
    for region, actual, wanted in zip(
        circuit.regions, flows.by_region(circuit), expected, strict=True
    ):
        if not isinstance(region, InputRegion) and region.is_sparse:
            rows = np.repeat(np.arange(region.num_units), np.diff(region.weights.indptr))
            wanted = wanted[rows, region.weights.indices]
        np.testing.assert_allclose(actual, wanted, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", zoo.circuits())
def test_zoo_equals_enumeration(name, engine, rng):
    circuit = zoo.circuits()[name]
    data = zoo.rows_with_holes(circuit, rng, 15)
    assert_equals_naive(circuit, data)
    weights = rng.random(len(data))
    weights[[1, 4]] = 0.0  # rows that must not count
    assert_equals_naive(circuit, data, weights)


@pytest.mark.parametrize("name", zoo.unnormalized_circuits())
def test_circuits_that_are_not_normalised_equal_enumeration(name, engine, rng):
    """Where a unit gives no category any mass, and where no row is possible, flows are zero and never NaN."""
    circuit = zoo.unnormalized_circuits()[name]
    assert_equals_naive(circuit, zoo.rows_with_holes(circuit, rng, 15))


def test_large_circuits_give_the_same_in_one_block_and_in_many(monkeypatch, rng):
    circuit = zoo.random_circuit(
        rng, num_variables=400, max_units=5, nary=True
    )  # with rescale points
    assert pack(circuit).rescale.any()
    data = zoo.rows_with_holes(circuit, rng, 700)
    results = []
    for most_kept in (10**9, -1):
        monkeypatch.setattr(programs, "MOST_KEPT", most_kept)
        results.append(expected_flows(Circuit(circuit.vtree, circuit.regions), data))
    np.testing.assert_allclose(results[0].edges, results[1].edges, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(results[0].inputs, results[1].inputs, rtol=1e-11, atol=1e-13)


@given(zoo.circuit_strategy(max_variables=4), st.integers(0, 2**32))
def test_random_circuits_equal_enumeration(circuit, seed):
    assert_equals_naive(circuit, zoo.rows_with_holes(circuit, np.random.default_rng(seed), 6))


def test_engines_agree_over_many_tiles(monkeypatch, rng):
    circuit = zoo.random_circuit(rng, num_variables=30, max_units=6, max_categories=4, nary=True)
    data = zoo.rows_with_holes(circuit, rng, 3000)
    compiled = expected_flows(circuit, data)
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    plain = expected_flows(circuit, data)
    np.testing.assert_allclose(compiled.edges, plain.edges, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(compiled.inputs, plain.inputs, rtol=1e-10, atol=1e-10)
    assert compiled.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-12)


def test_flows_of_parts_add_up_and_threads_do_not_matter(rng, monkeypatch):
    monkeypatch.setattr("pcircuit.inference.flows.LEAST_WORK", 0)  # else one thread would do it
    circuit = zoo.random_circuit(rng, num_variables=10, max_units=4)
    data = zoo.rows_with_holes(circuit, rng, 2000)
    whole = expected_flows(circuit, data, n_jobs=1)
    threaded = expected_flows(circuit, data, n_jobs=4)
    np.testing.assert_array_equal(whole.edges, threaded.edges)
    np.testing.assert_array_equal(whole.inputs, threaded.inputs)
    assert whole.log_likelihood == threaded.log_likelihood
    parts = expected_flows(circuit, data[:700]) + expected_flows(circuit, data[700:])
    np.testing.assert_allclose(parts.edges, whole.edges, rtol=1e-11, atol=1e-12)
    assert parts.total_weight == whole.total_weight == 2000


@pytest.mark.parametrize("chunk_work", [1, 10**9])  # eight units at the least, and two
@pytest.mark.parametrize("N", [1, 255, 300, 512, 700, 1500, 2100, 5000, 8193, 16_385])
def test_units_of_work_do_not_depend_on_threads(N, chunk_work, rng, monkeypatch):
    """Whether one thread does all, or several do them; and where there is not enough to do for several."""
    monkeypatch.setattr("pcircuit.inference.threads.UNIT_WORK", chunk_work)
    circuit = zoo.random_circuit(rng, num_variables=9, max_units=16)
    data = zoo.rows_with_holes(circuit, rng, N)
    for least in (0, 10**9):
        monkeypatch.setattr("pcircuit.inference.flows.LEAST_WORK", least)
        alone = expected_flows(circuit, data, n_jobs=1)
        several = expected_flows(circuit, data, n_jobs=3)
        np.testing.assert_array_equal(several.edges, alone.edges)
        np.testing.assert_array_equal(several.inputs, alone.inputs)
        assert several.log_likelihood == alone.log_likelihood


@pytest.mark.parametrize("N", [128, 300, 900])
def test_units_of_wide_tables_are_shorter_than_a_tile(N, rng, monkeypatch):
    """With more than 390 columns a group has one tile: a second unit must not read the rows of the first."""
    circuit = zoo.mixture_of_two(rng.dirichlet([50, 50], 400), rng.dirichlet([50, 50], 400))
    data = zoo.rows_with_holes(circuit, rng, N)
    monkeypatch.setattr("pcircuit.inference.flows.LEAST_WORK", 0)
    alone = expected_flows(circuit, data, n_jobs=1)
    several = expected_flows(circuit, data, n_jobs=2)
    np.testing.assert_array_equal(several.inputs, alone.inputs)
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    plain = expected_flows(circuit, data)
    np.testing.assert_allclose(alone.inputs, plain.inputs, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(alone.edges, plain.edges, rtol=1e-9, atol=1e-10)


def test_suspect_rows_take_the_logarithmic_route(engine):
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
    circuit = zoo.mixture_of_two(first, second)
    flows = expected_flows(circuit, np.zeros((1, V), dtype=np.int64))
    np.testing.assert_allclose(flows.by_region(circuit)[-1], [[share, 1 - share]], rtol=1e-9)


def test_impossible_rows_add_nothing(engine):
    circuit = zoo.circuits()["deterministic"]
    data = naive.states(circuit)
    impossible = data[naive.likelihood(circuit, data) == 0]
    flows = expected_flows(circuit, impossible)
    assert not flows.edges.any()
    assert not flows.inputs.any()
    assert flows.log_likelihood == -np.inf
    assert expected_flows(circuit, data[:0]).total_weight == 0


def test_heavy_rows_that_are_improbable_have_finite_flows(engine):
    """1e90 over a sum of 1e-228 is beyond the doubles, though the flow is 1e90: other products of the sum were NaN."""
    rare, weight = 1e-57, 1e-114
    circuit = Circuit(
        VTree.from_nested([0, 1]),
        [
            InputRegion(0, [[1 - rare, rare], [1.0, 0.0]]),
            InputRegion(1, [[1 - rare, rare], [0.5, 0.5]]),
            InnerRegion([[0, 0], [1, 1]], [[weight, 1 - weight]]),
        ],
    )
    flows = expected_flows(circuit, [[1, 1], [0, -1]], weights=[1e90, 1e90])
    np.testing.assert_allclose(flows.edges, [1e90, 1e90], rtol=1e-12)
    np.testing.assert_allclose(
        flows.inputs, np.multiply([0, 1, 1, 0, 0, 1, 0.5, 0.5], 1e90), rtol=1e-12, atol=1
    )
    assert flows.log_likelihood == pytest.approx(1e90 * np.log(rare * rare * weight), rel=1e-14)


def test_products_that_dwarf_the_sum_which_leaves_them_out_have_no_flow(engine):
    """1e250 over 1e-100 is beyond the doubles, and times a weight of zero was NaN."""
    circuit = Circuit(
        VTree.from_nested([0, 1]),
        [
            InputRegion(0, [[1e250, 1.0], [1e-100, 1.0]]),
            InputRegion(1, [[1.0, 1.0], [1.0, 1.0]]),
            InnerRegion([[0, 0], [1, 1]], [[0.0, 1.0]]),
        ],
    )
    flows = expected_flows(circuit, [[0, 0], [1, -1]])
    np.testing.assert_allclose(flows.edges, [0, 2], rtol=1e-14)
    np.testing.assert_allclose(flows.inputs, [0, 0, 1, 1, 0, 0, 1.5, 0.5], rtol=1e-14)


def test_impossible_rows_that_count_for_nothing_leave_no_trace_in_a_moving_average():
    coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.0, 1.0]])])
    old, new = expected_flows(coin, [[0]]), expected_flows(coin, [[1], [1]])
    assert old.log_likelihood == -np.inf
    for average in (0 * old + 1.0 * new, 0.0 * old + new, new + old * np.float64(0)):
        assert (average.log_likelihood, average.total_weight) == (0.0, 2.0)
    assert (0.5 * old + 0.5 * new).log_likelihood == -np.inf


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, np.nan], [[1.0, 1.0]]])
def test_bad_weights(weights):
    with pytest.raises(ValueError, match="`weights` must be 2 numbers from 0 to"):
        expected_flows(zoo.circuits()["two_coins"], [[0, 0], [1, 1]], weights=weights)


@pytest.mark.thorough
def test_suspect_rows_among_others_count_once_for_any_number_of_threads(rng, monkeypatch):
    monkeypatch.setattr("pcircuit.inference.flows.LEAST_WORK", 0)
    V, eps = 600, 1e-6
    first, second = np.full((V, 2), [eps, 1 - eps]), np.full((V, 2), [1 - eps, eps])
    first[V // 2 :], second[V // 2 :] = second[V // 2 :].copy(), first[V // 2 :].copy()
    circuit = zoo.mixture_of_two(first, second)
    data = np.zeros((1200, V), dtype=np.uint8)
    data[::3, : V // 2] = (
        1  # surely from the first component; the rest are the suspect ones, from either
    )
    whole = expected_flows(circuit, data, n_jobs=1)
    threaded = expected_flows(circuit, data, n_jobs=3)
    np.testing.assert_array_equal(whole.edges, threaded.edges)
    np.testing.assert_array_equal(whole.inputs, threaded.inputs)
    np.testing.assert_allclose(whole.by_region(circuit)[-1], [[400 + 400, 400]], rtol=1e-9)
    parts = expected_flows(circuit, data[:500]) + expected_flows(circuit, data[500:])
    np.testing.assert_allclose(whole.inputs, parts.inputs, rtol=1e-11, atol=1e-12)
    assert whole.log_likelihood == pytest.approx(parts.log_likelihood, rel=1e-12)


ZOO = zoo.all_circuits()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64])
def test_missing_values_have_a_column_of_their_own_and_impossible_ones_do_not_count(dtype):
    probs = np.zeros((1, 200))  # more categories than int8 counts to
    probs[0, :2] = 0.25, 0.75
    coin = Circuit(VTree([-1], [0]), [InputRegion(0, probs)])
    data = np.array([[1], [0], [1], [100]], dtype=dtype)
    expected = {0: 2.0, 1: 5.0}
    if dtype != np.uint8:
        data[1], expected = -1, {1: 5.0, 200: 2.0}
    (flow,) = downward(coin, data, np.array([1.0, 2.0, 4.0, 8.0]), *upward(coin, data)[:2])
    assert flow.shape == (1, 201)
    assert {c: flow[0, c] for c in np.flatnonzero(flow[0])} == expected
