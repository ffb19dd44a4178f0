"""Likelihoods against enumeration, between engines, against closed forms at extreme sizes, and under misuse."""

import threading

import naive
import numpy as np
import pytest
import scipy.sparse
import zoo
from hypothesis import given
from hypothesis import strategies as st

from pcircuit import (
    Circuit,
    InnerRegion,
    InputRegion,
    VTree,
    expected_flows,
    log_likelihood,
    node_likelihoods,
    overlap,
)
from pcircuit.inference.likelihood import cut_rows, upward
from pcircuit.kernels.operations import TILE_ROWS
from pcircuit.moments.rounding import rounding_errors

EPS = np.finfo(float).eps
ZOO = {**zoo.circuits(), **{f"unnormalized_{k}": c for k, c in zoo.unnormalized_circuits().items()}}


@pytest.mark.parametrize("name", ZOO)
def test_all_states_and_holes_equal_enumeration(name, engine, rng):
    circuit = ZOO[name]
    for data in (naive.states(circuit), zoo.rows_with_holes(circuit, rng)):
        np.testing.assert_allclose(
            log_likelihood(circuit, data),
            naive.log_likelihood(circuit, data),
            rtol=1e-12,
            atol=1e-12,
        )
        np.testing.assert_allclose(
            node_likelihoods(circuit, data), naive.node_values(circuit, data), rtol=1e-12, atol=0
        )


@given(zoo.circuit_strategy(max_variables=6), st.integers(0, 2**32))
def test_random_circuits_equal_enumeration(circuit, seed):
    data = zoo.rows_with_holes(circuit, np.random.default_rng(seed), 12)
    np.testing.assert_allclose(
        log_likelihood(circuit, data), naive.log_likelihood(circuit, data), rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(
        node_likelihoods(circuit, data), naive.node_values(circuit, data), rtol=1e-12, atol=0
    )


def test_kernel_and_numpy_agree_where_rows_fill_several_tiles_and_chunks(monkeypatch, rng):
    circuit = zoo.random_circuit(rng, num_variables=40, max_units=6, max_categories=5, nary=True)
    data = zoo.rows_with_holes(circuit, rng, 5000)
    compiled = log_likelihood(circuit, data), node_likelihoods(circuit, data[:700])
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    # a relative error of the likelihood is an absolute one of its logarithm; two are compared
    bounds = 2 * rounding_errors(circuit)
    np.testing.assert_allclose(
        compiled[0], log_likelihood(circuit, data), rtol=4 * EPS, atol=bounds[-1]
    )
    reference = node_likelihoods(circuit, data[:700])
    assert (np.abs(compiled[1] - reference) <= bounds * reference).all()


def test_result_does_not_depend_on_threads_or_on_the_other_rows(rng):
    circuit = zoo.random_circuit(rng, num_variables=20, max_units=5)
    data = zoo.rows_with_holes(circuit, rng, 9000)
    one = log_likelihood(circuit, data, n_jobs=1)
    np.testing.assert_array_equal(one, log_likelihood(circuit, data, n_jobs=3))
    np.testing.assert_array_equal(
        node_likelihoods(circuit, data[:3000], n_jobs=1),
        node_likelihoods(circuit, data[:3000], n_jobs=3),
    )
    np.testing.assert_allclose(one[4321:4322], log_likelihood(circuit, data[4321:4322]), rtol=1e-14)


def test_many_threads_share_a_circuit(rng):
    circuit = zoo.random_circuit(rng, num_variables=15, max_units=4)
    data = zoo.rows_with_holes(circuit, rng, 500)
    expected = log_likelihood(circuit, data)
    fresh = Circuit(
        circuit.vtree, circuit.regions
    )  # nothing cached yet: the threads race to fill it
    results = [None] * 8

    def work(i):
        results[i] = log_likelihood(fresh, data)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        np.testing.assert_array_equal(result, expected)


# -- extremes --------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_ten_thousand_variables_equal_the_sum_of_logarithms(engine, rng):
    V = 10_000
    probs = rng.dirichlet([1, 1, 1], size=V)
    data = rng.integers(0, 3, size=(3, V))
    data[2, ::2] = -1
    logs = np.log(np.concatenate([probs, np.ones((V, 1))], axis=1))
    expected = logs[np.arange(V), data].sum(axis=1)
    np.testing.assert_allclose(log_likelihood(zoo.independent(probs), data), expected, rtol=1e-13)


def test_five_hundred_children_with_tiny_probabilities(engine):
    V = 500
    vtree = VTree.from_nested(list(range(V)))
    tiny = 1e-300
    regions = [InputRegion(v, [[tiny, 1 - tiny], [0.5, 0.5]]) for v in range(V)]
    circuit = Circuit(
        vtree, [*regions, InnerRegion(np.repeat([[0], [1]], V, axis=1), [[0.5, 0.5]])]
    )
    data = np.zeros((2, V), dtype=np.int64)
    data[1, 1:] = 1
    expected = [
        np.log(0.5) + V * np.log(0.5),
        np.logaddexp(np.log(0.5) + np.log(tiny), np.log(0.5) + V * np.log(0.5)),
    ]
    np.testing.assert_allclose(log_likelihood(circuit, data), expected, rtol=1e-13)


@pytest.mark.parametrize("V", [60, 600, 3000])
def test_a_component_that_falls_far_behind_and_recovers_is_not_lost(engine, V):
    """In the first half the first component wins by 1e-6 a variable, in the second the other one by as much."""
    eps = 1e-6
    low, high = [eps, 1 - eps], [1 - eps, eps]
    half = V // 2
    first = np.array([high] * half + [low] * (V - half))
    second = np.array([low] * half + [high] * (V - half))
    first[0], second[0] = [0.5, 0.5], [0.9, 0.1]
    data = np.zeros((1, V), dtype=np.int64)
    logs = [np.log(table[np.arange(V), 0]).sum() + np.log(0.5) for table in (first, second)]
    np.testing.assert_allclose(
        log_likelihood(zoo.mixture_of_two(first, second), data), np.logaddexp(*logs), rtol=1e-13
    )


def test_weights_that_underflow_are_found(engine):
    """0.5 (1e-320 a) + 0.5 b with b impossible: only the tiny weight carries mass."""
    vtree = VTree.from_nested([[0, 1], 2])
    inner = InnerRegion([[0, 0], [1, 1]], [[1e-308, 1 - 1e-308]])
    circuit = Circuit(
        vtree,
        [
            InputRegion(0, [[1e-200, 1 - 1e-200], [0, 1]]),
            InputRegion(1, [[1e-200, 1 - 1e-200], [0, 1]]),
            inner,
            InputRegion(2, [[0.25, 0.75]]),
            InnerRegion([[0, 0]], [[1.0]]),
        ],
    )
    expected = np.log(1e-308) + 2 * np.log(1e-200) + np.log(0.25)
    np.testing.assert_allclose(log_likelihood(circuit, [[0, 0, 0]]), expected, rtol=1e-13)


def with_regions_that_store_nothing(empty):
    """Two regions of two variables each below a third; CSR weights without entries in those that are named."""
    table, rare, regions = [[0.5, 0.5], [0.1, 0.9]], [[1e-250, 1 - 1e-250], [0.1, 0.9]], []
    vtree = VTree.from_nested([[0, 1], [2, 3]])
    for r, v in enumerate(vtree.variables.tolist()):
        weights = np.eye(2) * [1e-200, 0.5] if r < vtree.root else np.array([[0.25, 0.75]])
        weights = scipy.sparse.csr_array(weights.shape) if r in empty else weights
        regions.append(
            InputRegion(v, rare if r == 0 else table)
            if v >= 0
            else InnerRegion([[0, 0], [1, 1]], weights)
        )
    return Circuit(vtree, regions)


@pytest.mark.parametrize("empty", [[2], [5], [6], [2, 5], [5, 6], [2, 5, 6]])
def test_regions_that_store_no_weight_are_zero(engine, empty):
    circuit = with_regions_that_store_nothing(empty)
    data = np.concatenate([naive.states(circuit), np.full((1, 4), -1)])
    np.testing.assert_allclose(
        node_likelihoods(circuit, data), naive.node_values(circuit, data), rtol=1e-12, atol=0
    )
    np.testing.assert_array_equal(log_likelihood(circuit, data), -np.inf)
    assert not any(flow.any() for flow in expected_flows(circuit, data).by_region(circuit))
    assert overlap(circuit, circuit) == 0.0


# -- input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", [np.uint8, np.int8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
)
def test_any_integer_dtype_and_order_gives_the_same(engine, dtype, rng):
    circuit = zoo.circuits()["mixed_categories"]
    data = rng.integers(0, circuit.num_categories, size=(50, circuit.num_variables))
    expected = naive.log_likelihood(circuit, data)
    for array in (
        data.astype(dtype),
        np.asfortranarray(data.astype(dtype)),
        data.astype(dtype)[::-1][::-1],
    ):
        before = array.copy()
        np.testing.assert_allclose(log_likelihood(circuit, array), expected, rtol=1e-12)
        np.testing.assert_array_equal(array, before)


def test_out_of_range_beyond_the_first_chunk_is_found():
    circuit = zoo.circuits()["two_coins"]
    data = np.zeros((7000, 2), dtype=np.uint8)
    data[6500, 1] = 9
    with pytest.raises(ValueError, match="holds 9 at row 6500, column 1"):
        log_likelihood(circuit, data)


@pytest.mark.parametrize(
    ("n_jobs", "error"),
    [(0, ValueError), (-1, ValueError), (1.5, TypeError), ("1", TypeError), (True, TypeError)],
)
def test_bad_n_jobs(engine, n_jobs, error):
    with pytest.raises(
        error, match="`n_jobs` must be a whole number of at least 1, or None for all CPUs, found"
    ):
        log_likelihood(zoo.circuits()["two_coins"], [[0, 0]], n_jobs=n_jobs)


def hub(first, second, weights):
    """Two mixtures, over one leaf child per variable: unit 0 has the rows of `first`, unit 1 those of `second`."""
    V = len(first)
    regions = [InputRegion(v, [first[v], second[v]]) for v in range(V)]
    inner = InnerRegion(np.repeat([[0], [1]], V, axis=1), weights)
    last = InputRegion(V, [[0.3, 0.7], [0.6, 0.4]])
    return Circuit(
        VTree.from_nested([list(range(V)), V]),
        [*regions, inner, last, InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5]])],
    )


@pytest.mark.parametrize("recovers", [False, True])
def test_a_product_far_behind_is_dropped_only_where_it_adds_nothing(engine, recovers):
    """A state that explains no row must not send every row to logarithms; one that comes back must not be lost."""
    V, weights = 600, np.array([[0.9, 0.1], [0.2, 0.8]])
    good, bad = np.array([0.999, 0.001]), np.array([0.01, 0.99])
    first = np.array([good] * V)
    second = np.array([bad] * (V // 2) + [good[::-1] if not recovers else good] * (V - V // 2))
    if recovers:  # in the second half the first unit falls behind as far
        first[V // 2 :] = bad
    circuit = hub(first, second, weights)
    data = np.zeros((2, V + 1), dtype=np.int64)
    data[1, -1] = 1
    logs = [np.log(table[:, 0]).sum() for table in (first, second)]
    inner = np.logaddexp(np.log(weights[:, 0]) + logs[0], np.log(weights[:, 1]) + logs[1])
    expected = np.logaddexp(
        np.log(0.5) + inner[0] + np.log([0.3, 0.7]), np.log(0.5) + inner[1] + np.log([0.6, 0.4])
    )
    np.testing.assert_allclose(log_likelihood(circuit, data), expected, rtol=1e-13)
    assert upward(circuit, data)[3].all() == recovers


def test_a_product_that_comes_back_little_by_little_is_not_lost(engine):
    """It falls behind by 2**-300 and gains 2**10 with each of 60 variables: between rescale points little each time."""
    rare, half, low = 2.0**-200, [0.5, 0.5 - 2.0**-200], [2.0**-11, 1 - 2.0**-11 - 2.0**-200]
    ahead, behind = [*half, rare], [*low, rare]
    regions = [InputRegion(v, [ahead, behind] if v < 30 else [behind, ahead]) for v in range(90)]
    root = InnerRegion(np.repeat([[0], [1]], 90, axis=1), [[0.5, 0.5]])
    circuit = Circuit(VTree.from_nested(list(range(90))), [*regions, root])
    log_2 = np.log(2.0)
    expected = np.logaddexp(-(1 + 30 + 60 * 11) * log_2, -(1 + 60 + 30 * 11) * log_2)
    found = log_likelihood(circuit, np.zeros((1, 90), dtype=np.int64))
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("num_rows", [0, 1, 10**6, 10**9])
def test_units_of_work_cover_all_rows_once_and_in_order(num_rows):
    for circuit in (zoo.circuits()["two_coins"], zoo.circuits()["rat_like"]):
        chunks = cut_rows(circuit, num_rows)
        assert [stop for _, stop in chunks[:-1]] == [start for start, _ in chunks[1:]]
        assert all(start < stop and start % TILE_ROWS == 0 for start, stop in chunks)
        assert (chunks[0][0], chunks[-1][1]) == (0, num_rows) if num_rows else not chunks
