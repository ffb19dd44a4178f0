"""What moments are asked for and say: orders, operators, what is kept, threads, copies, refused arguments."""

import threading

import numpy as np
import pytest
import zoo

import pcircuit.moments.moments
from hld import exact_moments, select_nodes
from pcircuit import Circuit, InnerRegion, InputRegion, StructureError, VTree

EXACT = 1e-12  # relative to the largest entry


def assert_same(actual, expected, scale=None):
    """Equal up to EXACT times the largest entry; exactly zero where all is zero."""
    scale = np.abs(expected).max() if scale is None else scale
    np.testing.assert_allclose(actual, expected, rtol=0, atol=EXACT * scale)


def test_default_nodes_are_inputs_and_sums():
    circuit = zoo.two_coins()
    moments = exact_moments(circuit)
    np.testing.assert_array_equal(moments.nodes, select_nodes(circuit))
    assert repr(moments).startswith("Moments(5 nodes of Circuit(2 variables")


def test_blocks_of_the_covariance_in_any_order(rng):
    circuit = zoo.nary()
    nodes = rng.permutation(circuit.num_nodes)
    weights = rng.uniform(0.5, 2, len(nodes))
    moments = exact_moments(circuit, nodes, node_weights=weights)
    dense = moments.covariance()
    for size in (1, 2, 11, len(nodes)):
        positions = rng.permutation(len(nodes))[:size]
        assert_same(
            moments.covariance(nodes[positions]),
            dense[np.ix_(positions, positions)],
            np.abs(dense).max(),
        )


def test_order_of_nodes_is_the_order_of_all_results(rng):
    circuit = zoo.rat_like()
    ascending = exact_moments(circuit)
    order = rng.permutation(len(ascending.nodes))
    moments = exact_moments(circuit, ascending.nodes[order])
    np.testing.assert_array_equal(moments.mean, ascending.mean[order])
    np.testing.assert_array_equal(moments.diagonal(), ascending.diagonal()[order])
    np.testing.assert_array_equal(
        moments.covariance(), ascending.covariance()[np.ix_(order, order)]
    )
    vector = rng.standard_normal(len(order))
    assert_same(moments.operator() @ vector[order], (ascending.operator() @ vector)[order])
    assert moments.trace_sq == ascending.trace_sq


def test_operator_is_a_symmetric_linear_operator(rng):
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


def test_leading_eigenvalues_by_products():
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


def test_results_are_read_only_and_kept():
    moments = exact_moments(zoo.rat_like())
    for array in (
        moments.mean,
        moments.nodes,
        moments.node_weights,
        moments.diagonal(),
        moments.eigenvalues(),
        moments.eigenvalues(3),
    ):
        assert not array.flags.writeable
    assert moments.eigenvalues(3) is moments.eigenvalues(3)
    assert moments.diagonal() is moments.diagonal()
    fresh = moments.covariance()
    fresh[:] = 0  # the caller's own array
    assert moments.covariance().any()


def test_lazy_results_are_computed_once_by_threads(monkeypatch):
    circuit = zoo.random_circuit(0, num_variables=12, max_units=9)
    expected = exact_moments(circuit)
    calls = []
    for name in ("trace_of_square", "leading_eigenpairs"):
        original = getattr(pcircuit.moments.moments, name)

        def counted(*args, _name=name, _original=original, **options):
            calls.append(_name)
            return _original(*args, **options)

        monkeypatch.setattr(pcircuit.moments.moments, name, counted)
    moments = exact_moments(circuit)
    results, start = [], threading.Barrier(6)

    def work():
        start.wait()
        results.append(
            (
                moments.trace_sq,
                moments.eigenvalues(3),
                moments.operator() @ np.ones(len(moments.nodes)),
            )
        )

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(calls) == ["leading_eigenpairs", "trace_of_square"]
    for trace_sq, values, product in results:
        assert trace_sq == expected.trace_sq
        np.testing.assert_array_equal(values, expected.eigenvalues(3))
        np.testing.assert_array_equal(product, expected.operator() @ np.ones(len(moments.nodes)))


@pytest.mark.parametrize("name", zoo.unnormalized_circuits())
def test_circuits_that_are_not_distributions_are_refused(name):
    with pytest.raises(StructureError, match="not normalised"):
        exact_moments(zoo.unnormalized_circuits()[name])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"nodes": [0, 7]}, ValueError, "`nodes` must be .* node ids 0..6, found 7"),
        ({"nodes": [0, 0]}, ValueError, "more than once"),
        (
            {"node_weights": [1.0, 2.0]},
            ValueError,
            "`node_weights` must be 5 finite positive numbers",
        ),
        ({"node_weights": np.zeros(5)}, ValueError, "`node_weights`"),
        ({"node_weights": np.full(5, np.nan)}, ValueError, "`node_weights`"),
        ({"node_weights": np.full(5, np.inf)}, ValueError, "`node_weights`"),
        (
            {"node_weights": np.full(5, 1e200)},
            ValueError,
            "`node_weights` up to 1e\\+200 make the moments overflow",
        ),
        (
            {"node_weights": np.full(5, 1e100)},
            ValueError,
            "`node_weights` up to 1e\\+100 make the moments overflow",
        ),
        (
            {"node_weights": ["1"] * 5},
            TypeError,
            "`node_weights` must be .* <U1 instead of numbers",
        ),
        (
            {"node_weights": np.ma.array(np.ones(5), mask=[1, 0, 0, 0, 0])},
            TypeError,
            "`node_weights` .* None",
        ),
    ],
)
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
    with pytest.raises(
        ValueError, match=f"`max_bytes` is {size - 1}, and the covariance of .* takes {size}"
    ):
        moments.covariance(max_bytes=size - 1)
    with pytest.raises(ValueError, match="`max_bytes` is"):
        moments.eigenvalues(max_bytes=size - 1)
    assert moments.eigenvalues(2, max_bytes=0).shape == (2,)  # Lanczos needs no S
    assert moments.covariance(moments.nodes[:3], max_bytes=72).shape == (3, 3)


def test_the_largest_and_smallest_node_weights_leave_the_traces_numbers():
    plain = exact_moments(zoo.two_coins())
    for weight in (1e-75, 1e75):
        moments = exact_moments(zoo.two_coins(), node_weights=np.full(5, weight))
        assert moments.trace_sq / weight**4 == pytest.approx(plain.trace_sq, rel=1e-12)


def test_weights_whose_product_overflows_leave_variances_numbers():
    """1e160 squared is infinite, and times the variance of a constant, which is zero, it was NaN."""
    inputs = [InputRegion(v, [[0.5, 0.5], [0.2, 0.8]]) for v in (0, 1)]  # product 4 is constant
    circuit = Circuit(VTree.balanced(2), [*inputs, InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5]])])
    covariance = exact_moments(circuit, [4, 5], node_weights=[1e160, 1e60]).covariance()
    expected = [[0, 0], [0, 1e120 * exact_moments(circuit, [5]).trace]]
    np.testing.assert_allclose(covariance, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("k", "error"),
    [(0, ValueError), (6, ValueError), (-1, ValueError), (2.5, TypeError), (True, TypeError)],
)
def test_refused_numbers_of_eigenvalues(k, error):
    with pytest.raises(
        error,
        match="`k` must be a whole number of at least 1 and at most 5, or None for all, found",
    ):
        exact_moments(zoo.two_coins()).eigenvalues(k)
