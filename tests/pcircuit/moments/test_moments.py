"""Exact moments: enumeration = dense recursion = linear-time recursion = operator, on both engines."""
import copy
import itertools
import pickle
import threading

import naive
import numpy as np
import pytest
import zoo
from engines import ENGINES, needs_numba
from hypothesis import given
from hypothesis import strategies as st

import pcircuit.moments.moments
from hld import exact_moments, select_nodes
from pcircuit import Circuit, InputRegion, StructureError, VTree, hclt, rat_spn
from pcircuit.moments.routes import MOMENTS

ALL_KINDS = [kinds for size in (1, 2, 3) for kinds in itertools.combinations(("input", "product", "sum"), size)]
CASES = [(name, kinds) for name, circuit in zoo.circuits().items() for kinds in ALL_KINDS
         if set(kinds) & set(circuit.nodes.kind)]
EXACT = 1e-12  # relative to the largest entry


def assert_same(actual, expected, scale=None):
    """Equal up to EXACT times the largest entry; exactly zero where all is zero."""
    scale = np.abs(expected).max() if scale is None else scale
    np.testing.assert_allclose(actual, expected, rtol=0, atol=EXACT * scale)


def assert_all_agree(circuit, nodes, weights=None, enumerated=None):
    """Compare everything a Moments object offers with enumeration."""
    moments = exact_moments(circuit, nodes, node_weights=weights)
    w = np.ones(len(nodes)) if weights is None else weights
    mean, covariance = naive.hlv_moments(circuit, nodes) if enumerated is None else enumerated
    mean, covariance = w * mean, w[:, None] * covariance * w
    assert_same(moments.mean, mean)
    # a likelihood that is constant has variance zero up to the rounding of its square
    scale = max(np.abs(covariance).max(), 1e-4 * np.max(mean) ** 2)
    assert_same(moments.covariance(), covariance, scale)
    assert_same(moments.diagonal(), np.diag(covariance), scale)
    assert moments.trace == pytest.approx(np.trace(covariance), rel=EXACT, abs=EXACT * scale)
    assert moments.trace_sq == pytest.approx(np.sum(covariance ** 2), rel=EXACT, abs=(EXACT * scale) ** 2)
    assert_same(moments.operator() @ np.eye(len(nodes)), covariance, scale)
    assert_same(moments.eigenvalues(), np.linalg.eigvalsh(covariance)[::-1], len(nodes) * scale)


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "kinds"), CASES)
def test_zoo_against_enumeration(name, kinds, engine):
    circuit = zoo.circuits()[name]
    assert_all_agree(circuit, select_nodes(circuit, [kind for kind in kinds if kind in circuit.nodes.kind]))


@pytest.mark.thorough
@pytest.mark.parametrize("name", zoo.circuits())
def test_every_single_node(name, engine):
    circuit = zoo.circuits()[name]
    mean, covariance = naive.hlv_moments(circuit, np.arange(circuit.num_nodes))
    for node in range(circuit.num_nodes):
        assert_all_agree(circuit, [node], enumerated=(mean[[node]], covariance[node:node + 1, node:node + 1]))


@pytest.mark.parametrize("num_variables", [5, 7])
def test_learned_structures(num_variables, engine):
    """RAT-SPNs (with v-tree nodes of one child) and Hidden Chow-Liu trees as the library builds them."""
    circuit = rat_spn([2] * num_variables, num_units=3, depth=2, rng=1)
    assert_all_agree(circuit, np.arange(circuit.num_nodes))
    data = np.random.default_rng(0).integers(0, 3, (50, num_variables))
    circuit = hclt(data, 3, rng=1)
    assert_all_agree(circuit, np.arange(circuit.num_nodes))


@given(circuit=zoo.circuit_strategy(max_variables=6, max_units=4, max_categories=4), seed=st.integers(0, 2**32 - 1))
@pytest.mark.parametrize("name", ENGINES)
def test_random_circuits_subsets_orders_and_weights(circuit, seed, name):
    rng = np.random.default_rng(seed)
    nodes = rng.permutation(circuit.num_nodes)[:rng.integers(1, circuit.num_nodes + 1)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PCIRCUIT_ENGINE", name)
        assert_all_agree(circuit, nodes, rng.uniform(0.1, 3, len(nodes)))


@needs_numba
@given(circuit=zoo.circuit_strategy(min_variables=4, max_variables=9, max_units=5, max_categories=4))
def test_kernels_equal_numpy(circuit):
    results = []
    for name in ENGINES:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PCIRCUIT_ENGINE", name)
            moments = exact_moments(circuit, np.arange(circuit.num_nodes))
            results.append((moments.mean, moments.diagonal(), np.array([moments.trace_sq]), moments.covariance(),
                            moments.operator() @ np.ones((circuit.num_nodes, 2))))
    for left, right in zip(*results, strict=True):
        assert_same(left, right, max(np.abs(right).max(), 1e-4))


def many_units(rng, num_units=6):
    """A circuit whose regions have more selected units below them than pairs of units, some also above."""
    return zoo.random_circuit(rng, num_variables=9, max_units=num_units, max_categories=5, nary=True)


@pytest.mark.parametrize("seed", range(8))
def test_columns_and_gram_tensors_agree_with_the_dense_recursion(seed, engine):
    """Nine variables are too many to enumerate five categories each, but not for the dense recursion."""
    circuit = many_units(seed)
    for nodes in (np.arange(circuit.num_nodes), select_nodes(circuit)):
        moments = exact_moments(circuit, nodes)
        dense = moments.covariance()
        np.testing.assert_array_equal(dense, dense.T)
        assert moments.trace_sq == pytest.approx(np.sum(dense ** 2), rel=EXACT)
        assert moments.trace == pytest.approx(np.trace(dense), rel=EXACT)


@pytest.mark.parametrize(("seed", "sparse"), [(7, False), (11, True)])
def test_large_regions_are_computed_in_blocks(seed, sparse, engine):
    """More products and columns than fit one temporary array."""
    circuit = zoo.random_circuit(seed, num_variables=5, max_units=48, max_categories=6, sparse=sparse)
    assert max(region.num_products for region in circuit.regions if not isinstance(region, InputRegion)) > 40
    moments = exact_moments(circuit, np.arange(circuit.num_nodes))
    dense = moments.covariance()
    assert moments.trace_sq == pytest.approx(np.sum(dense ** 2), rel=EXACT)
    vector = np.cos(np.arange(len(dense)))
    assert_same(moments.operator() @ vector, dense @ vector, np.abs(dense).max())
    nodes = np.arange(0, circuit.num_nodes, 7)
    alone = exact_moments(circuit, nodes).covariance()
    assert_same(alone, dense[np.ix_(nodes, nodes)], np.abs(dense).max())


def test_blocks_of_any_size_give_the_same(monkeypatch):
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    circuit = many_units(1)
    expected = exact_moments(circuit).trace_sq
    for size in (1, 100):
        monkeypatch.setattr("pcircuit.moments.unit_pairs.BLOCK", size)
        monkeypatch.setattr("pcircuit.moments.inner_overlaps.BLOCK", size)
        assert exact_moments(circuit).trace_sq == pytest.approx(expected, rel=EXACT)


@needs_numba
def test_engines_chosen_without_the_variable(monkeypatch):
    monkeypatch.delenv("PCIRCUIT_ENGINE", raising=False)
    for name, value in (("is_ready", False), ("_cached", False), ("_spent", 0.0)):  # as in a new process
        monkeypatch.setattr(MOMENTS, name, value)
    assert exact_moments(zoo.hclt_like())._cache["arrays"] is None  # small: NumPy
    large = zoo.random_circuit(0, num_variables=60)
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numba")
    assert exact_moments(large)._cache["arrays"] is not None
    monkeypatch.setenv("PCIRCUIT_ENGINE", "fortran")
    with pytest.raises(ValueError, match="PCIRCUIT_ENGINE is 'fortran'"):
        exact_moments(large)


# -- the statistic these moments are for -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["two_coins", "rat_like", "deterministic", "zero_rows"])
def test_expectation_of_the_squared_statistic_is_the_trace(name):
    """E[T d^2] = tr(S) for batches of T = 1 and T = 2, over all batches."""
    circuit = zoo.circuits()[name]
    moments = exact_moments(circuit)
    x = naive.states(circuit)
    p = naive.likelihood(circuit, x)
    deviation = naive.node_values(circuit, x)[:, moments.nodes] - moments.mean
    assert p @ np.sum(deviation ** 2, axis=1) == pytest.approx(moments.trace, rel=EXACT)
    mean_of_two = (deviation[:, None] + deviation) / 2
    assert 2 * p @ np.sum(mean_of_two ** 2, axis=2) @ p == pytest.approx(moments.trace, rel=EXACT)


# -- the interface -----------------------------------------------------------------------------------------------------


def test_default_nodes_are_inputs_and_sums():
    circuit = zoo.two_coins()
    moments = exact_moments(circuit)
    np.testing.assert_array_equal(moments.nodes, select_nodes(circuit))
    assert repr(moments).startswith("Moments(5 nodes of Circuit(2 variables")


def test_blocks_of_the_covariance_in_any_order(engine, rng):
    circuit = zoo.nary()
    nodes = rng.permutation(circuit.num_nodes)
    weights = rng.uniform(0.5, 2, len(nodes))
    moments = exact_moments(circuit, nodes, node_weights=weights)
    dense = moments.covariance()
    for size in (1, 2, 11, len(nodes)):
        positions = rng.permutation(len(nodes))[:size]
        assert_same(moments.covariance(nodes[positions]), dense[np.ix_(positions, positions)], np.abs(dense).max())


def test_order_of_nodes_is_the_order_of_all_results(engine, rng):
    circuit = zoo.rat_like()
    ascending = exact_moments(circuit)
    order = rng.permutation(len(ascending.nodes))
    moments = exact_moments(circuit, ascending.nodes[order])
    np.testing.assert_array_equal(moments.mean, ascending.mean[order])
    np.testing.assert_array_equal(moments.diagonal(), ascending.diagonal()[order])
    np.testing.assert_array_equal(moments.covariance(), ascending.covariance()[np.ix_(order, order)])
    vector = rng.standard_normal(len(order))
    assert_same(moments.operator() @ vector[order], (ascending.operator() @ vector)[order])
    assert moments.trace_sq == ascending.trace_sq


def test_operator_is_a_symmetric_linear_operator(engine, rng):
    moments = exact_moments(zoo.irregular_csr())
    operator, m = moments.operator(), len(moments.nodes)
    dense = moments.covariance()
    vectors = rng.standard_normal((m, 4))
    assert operator.shape == (m, m)
    assert operator.dtype == np.float64
    assert_same(operator.matvec(vectors[:, 0]), dense @ vectors[:, 0])
    assert_same(operator.matmat(vectors[:, :1]), dense @ vectors[:, :1])
    assert_same(operator.matmat(vectors), dense @ vectors)
    assert_same(operator.rmatvec(vectors[:, 0]), dense @ vectors[:, 0])
    assert_same(operator.T @ vectors, dense @ vectors)
    assert_same(operator @ np.ones(m, dtype=int), dense @ np.ones(m))
    assert (operator @ np.zeros((m, 0))).shape == (m, 0)


def test_leading_eigenvalues_by_lanczos(engine):
    moments = exact_moments(zoo.hclt_like(), np.arange(34))
    all_of_them = moments.eigenvalues()
    assert len(all_of_them) == 34
    assert (np.diff(all_of_them) <= 0).all()
    assert (all_of_them >= 0).all()
    assert all_of_them.sum() == pytest.approx(moments.trace, rel=EXACT)
    for k in (1, 5, 16, 17, 34):
        fresh = exact_moments(zoo.hclt_like(), np.arange(34))
        assert_same(fresh.eigenvalues(k), all_of_them[:k], all_of_them[0])
        np.testing.assert_array_equal(fresh.eigenvalues(k), fresh.eigenvalues(k))


def test_eigenvalues_of_a_covariance_that_is_zero(engine):
    circuit = zoo.single_units()
    certain = Circuit(circuit.vtree, [InputRegion(region.variable, np.eye(region.num_categories)[:1])
                                      if isinstance(region, InputRegion) else region for region in circuit.regions])
    moments = exact_moments(certain, np.arange(certain.num_nodes))
    np.testing.assert_array_equal(moments.mean, 1.0)
    assert moments.trace == 0
    assert moments.trace_sq == 0
    np.testing.assert_array_equal(moments.eigenvalues(2), 0.0)


def test_results_are_read_only_and_kept():
    moments = exact_moments(zoo.rat_like())
    for array in (moments.mean, moments.nodes, moments.node_weights, moments.diagonal(), moments.eigenvalues(),
                  moments.eigenvalues(3)):
        assert not array.flags.writeable
    assert moments.eigenvalues(3) is moments.eigenvalues(3)
    assert moments.diagonal() is moments.diagonal()
    fresh = moments.covariance()
    fresh[:] = 0  # the caller's own array
    assert moments.covariance().any()


def test_arguments_are_not_changed_and_not_referenced():
    nodes, weights = np.array([3, 0, 2]), np.array([1.0, 2.0, 0.5])
    moments = exact_moments(zoo.two_coins(), nodes, node_weights=weights)
    before = moments.covariance()
    nodes[:], weights[:] = 1, 9.0
    np.testing.assert_array_equal(moments.covariance(), before)
    assert moments.nodes.tolist() == [3, 0, 2]
    assert moments.node_weights.tolist() == [1.0, 2.0, 0.5]


def test_lazy_results_are_computed_once_by_threads(engine, monkeypatch):
    circuit = zoo.random_circuit(0, num_variables=12, max_units=pcircuit.moments.moments.EAGER_UNITS + 1)
    assert max(region.num_units for region in circuit.regions) > pcircuit.moments.moments.EAGER_UNITS
    expected = exact_moments(circuit)
    calls = []
    for name in ("linear_moments", "all_parts"):
        original = getattr(pcircuit.moments.routes, name)

        def counted(*args, _name=name, _original=original, **options):
            calls.append(_name)
            return _original(*args, **options)

        monkeypatch.setattr(pcircuit.moments.routes, name, counted)
    moments = exact_moments(circuit)
    results, start = [], threading.Barrier(6)

    def work():
        start.wait()
        results.append((moments.trace_sq, moments.eigenvalues(3), moments.operator() @ np.ones(len(moments.nodes))))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(calls) == ["all_parts", "linear_moments", "linear_moments"]  # one for the mean, one for the squares
    for trace_sq, values, product in results:
        assert trace_sq == expected.trace_sq
        np.testing.assert_array_equal(values, expected.eigenvalues(3))
        np.testing.assert_array_equal(product, expected.operator() @ np.ones(len(moments.nodes)))


@needs_numba
def test_kernels_are_compiled_once_for_circuits_and_their_copies(monkeypatch):
    """A copy's arrays can be written to where those of the original cannot: to Numba, another type."""
    from pcircuit.moments.compiled import operator, traces
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numba")
    moments = exact_moments(zoo.hclt_like())
    for one in (moments, copy.deepcopy(moments), pickle.loads(pickle.dumps(moments))):
        assert one.trace_sq == moments.trace_sq
        np.testing.assert_array_equal(one.operator() @ np.ones(len(one.mean)),
                                      moments.operator() @ np.ones(len(one.mean)))
    assert len(traces.linear_moments.signatures) == len(operator.fill_parts.signatures) == 1


def test_copies_compute_for_themselves():
    moments = exact_moments(zoo.hclt_like())
    for other in (copy.copy(moments), copy.deepcopy(moments)):
        assert other.trace_sq == moments.trace_sq
        np.testing.assert_array_equal(other.covariance(), moments.covariance())


@pytest.mark.parametrize("name", zoo.unnormalized_circuits())
def test_circuits_that_are_not_distributions_are_refused(name):
    with pytest.raises(StructureError, match="not normalised"):
        exact_moments(zoo.unnormalized_circuits()[name])


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"nodes": [0, 7]}, ValueError, "`nodes` must be .* node id 0..6, found 7"),
    ({"nodes": [0, 0]}, ValueError, "more than once"),
    ({"node_weights": [1.0, 2.0]}, ValueError, "`node_weights` must be 5 finite positive numbers"),
    ({"node_weights": np.zeros(5)}, ValueError, "`node_weights`"),
    ({"node_weights": np.full(5, np.nan)}, ValueError, "`node_weights`"),
    ({"node_weights": np.full(5, np.inf)}, ValueError, "`node_weights`"),
    ({"node_weights": np.full(5, 1e200)}, ValueError, "`node_weights` up to 1e\\+200 make the moments overflow"),
    ({"node_weights": np.full(5, 1e100)}, ValueError, "`node_weights` up to 1e\\+100 make the moments overflow"),
    ({"node_weights": ["1"] * 5}, TypeError, "`node_weights` must be .* <U1 instead of numbers"),
    ({"node_weights": np.ma.array(np.ones(5), mask=[1, 0, 0, 0, 0])}, TypeError, "`node_weights` .* masked entries"),
])
def test_refused_arguments(options, error, message):
    with pytest.raises(error, match=message):
        exact_moments(zoo.two_coins(), **options)


def test_what_is_not_a_circuit_is_refused():
    with pytest.raises(TypeError, match=r"`circuit` must be a .*Circuit, found VTree"):
        exact_moments(VTree.balanced(3))


def test_dense_results_over_the_budget_are_refused():
    moments = exact_moments(zoo.rat_like())
    size = 8 * len(moments.nodes) ** 2
    assert moments.covariance(max_bytes=size).shape == (len(moments.nodes),) * 2
    with pytest.raises(ValueError, match=f"`max_bytes` is {size - 1}, and the covariance of .* takes {size}"):
        moments.covariance(max_bytes=size - 1)
    with pytest.raises(ValueError, match="`max_bytes` is"):
        moments.eigenvalues(max_bytes=size - 1)
    assert moments.eigenvalues(2, max_bytes=0).shape == (2,)  # Lanczos needs no S
    assert moments.covariance(moments.nodes[:3], max_bytes=72).shape == (3, 3)


def test_blocks_outside_the_selection_are_refused():
    moments = exact_moments(zoo.two_coins(), [0, 1, 6])
    with pytest.raises(ValueError, match="holds 2, which is not among the 3 nodes"):
        moments.covariance([2, 6])
    with pytest.raises(ValueError, match="more than once"):
        moments.covariance([6, 6])


def test_the_largest_and_smallest_node_weights_leave_the_traces_numbers():
    plain = exact_moments(zoo.two_coins())
    for weight in (1e-75, 1e75):
        moments = exact_moments(zoo.two_coins(), node_weights=np.full(5, weight))
        assert moments.trace_sq / weight ** 4 == pytest.approx(plain.trace_sq, rel=1e-12)


@pytest.mark.parametrize(("k", "error"), [(0, ValueError), (6, ValueError), (-1, ValueError), (2.5, TypeError),
                                          (True, TypeError)])
def test_refused_numbers_of_eigenvalues(k, error):
    with pytest.raises(error, match="`k` must be a whole number of at least 1 and at most 5, or None for all, found"):
        exact_moments(zoo.two_coins()).eigenvalues(k)
