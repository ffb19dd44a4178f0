"""The option dtype="float32" against float64: on every kind of circuit, far from 1, and where float32 cannot follow."""

import numpy as np
import pytest
import zoo
from kernel_circuits import MIXING, ONE_HOT, chain, hub, rows

from pcircuit import (
    Circuit,
    InnerRegion,
    InputRegion,
    Mixture,
    VTree,
    expected_flows,
    fit_em,
    log_likelihood,
    node_likelihoods,
)
from pcircuit.inference.likelihood import upward
from pcircuit.kernels.packing import packed_as
from pcircuit.kernels.rescaling import LAST_HERE, LIFT_HERE, RESCALE_HERE

CIRCUITS = {
    **zoo.all_circuits(),
    "chain": chain(9, 1e-12),
    "chain, zero weights": chain(9, 1e-12, zeros=True),
    "chain, risky": chain(6, 1e-29),
    "chain, sparse": chain(9, 1e-12, zeros=True, sparse=True),
    "hub": hub(9, 1e-12, weights=MIXING),
    "hub, zero weights": hub(9, 1e-12, weights=ONE_HOT),
    "hub, risky": hub(6, 1e-29, weights=MIXING),
    "beyond float32": chain(6, 1e-60),
}


def assert_logs_agree(circuit, data, atol=1e-5):
    """The error that is promised is absolute: it is the relative one of a likelihood."""
    exact, found = log_likelihood(circuit, data), log_likelihood(circuit, data, dtype="float32")
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, exact, rtol=0, atol=atol)


def assert_flows_agree(circuit, data, weights=None, rtol=1e-5):
    """Errors relative to the flow, and to the weight of the rows, which flows through every region."""
    exact = expected_flows(circuit, data, weights=weights)
    found = expected_flows(circuit, data, weights=weights, dtype="float32")
    atol = 1e-7 * exact.total_weight
    np.testing.assert_allclose(found.edges, exact.edges, rtol=rtol, atol=atol)
    np.testing.assert_allclose(found.inputs, exact.inputs, rtol=rtol, atol=atol)
    assert found.log_likelihood == pytest.approx(exact.log_likelihood, rel=1e-6, abs=1e-5)


@pytest.mark.parametrize("name", CIRCUITS)
def test_every_kind_of_circuit_agrees_with_float64(name, engine, rng):
    """With holes, zero probabilities and impossible rows, and whatever is rescaled."""
    circuit = CIRCUITS[name]
    data = rows(circuit, rng)
    assert_logs_agree(circuit, data, 2e-6)
    exact, found = node_likelihoods(circuit, data), node_likelihoods(circuit, data, dtype="float32")
    assert found.dtype == np.float32
    of_products, regions = circuit.nodes.kind == "product", circuit.nodes.region
    for r in np.unique(regions):  # products far behind the best one of their region may be 0
        of_region = regions == r
        best = exact[:, of_region & of_products].max(axis=1, initial=0.0)[:, None]
        atol = np.maximum(2.0**-50 * best * of_products[of_region], 1e-37)
        errors = np.abs(found - exact)[:, of_region]
        assert (errors <= 2e-6 * exact[:, of_region] + atol).all()
    assert_flows_agree(circuit, data)
    assert_flows_agree(circuit, data, weights=rng.uniform(0, 1e90, len(data)))


def test_all_kinds_of_rescale_points_occur():
    kinds = {name: {*packed_as(CIRCUITS[name], "float32").rescale.tolist()} for name in CIRCUITS}
    assert LAST_HERE in kinds["chain"] | kinds["hub"]
    assert LIFT_HERE in kinds["hub"]
    assert RESCALE_HERE in kinds["chain, zero weights"] & kinds["hub, zero weights"]
    assert packed_as(CIRCUITS["beyond float32"], "float32").weights.dtype == np.float64


def tree(V, K, C, rng):
    """A Hidden Chow-Liu tree circuit with random parameters."""
    parents = [-1, *(int(rng.integers(max(0, v - 5), v)) for v in range(1, V))]
    vtree = VTree.from_tree(parents)
    regions = []
    for r, v in enumerate(vtree.variables.tolist()):
        if v >= 0:
            regions.append(InputRegion(v, rng.dirichlet(np.full(C, 0.3), size=K)))
        else:
            products = np.repeat(np.arange(K)[:, None], len(vtree.children(r)), axis=1)
            units = 1 if r == vtree.root else K
            regions.append(InnerRegion(products, rng.dirichlet(np.full(K, 0.3), size=units)))
    return Circuit(vtree, regions)


@pytest.mark.parametrize(("K", "C"), [(4, 2), (16, 2), (5, 20)])
def test_784_columns_agree_with_float64(K, C, engine, rng):
    circuit = tree(784, K, C, rng)
    data = zoo.rows_with_holes(circuit, rng, 300)
    assert packed_as(circuit, "float32").weights.dtype == np.float32
    assert not upward(circuit, data, packed_as(circuit, "float32"))[3].all()
    assert_logs_agree(circuit, data)
    assert_flows_agree(circuit, data, rtol=1e-4)


def test_random_circuits_without_structure_agree_with_float64(engine, rng):
    for sparse in (False, True):
        circuit = zoo.random_circuit(
            rng, num_variables=60, max_units=6, sparse=sparse, zeros=sparse, nary=True
        )
        data = zoo.rows_with_holes(circuit, rng, 700)
        assert_logs_agree(circuit, data)
        assert_flows_agree(circuit, data)


@pytest.mark.parametrize("step", [2.0**-3, 2.0**-11])
def test_products_that_fall_behind_and_come_back_are_not_lost(step, engine):
    """By 2**-90 or more, and back again, a little with each variable."""
    low = [0.5 * step, 1 - 0.5 * step]
    regions = [
        InputRegion(v, [[0.5, 0.5], low] if v < 30 else [low, [0.5, 0.5]]) for v in range(90)
    ]
    root = InnerRegion(np.repeat([[0], [1]], 90, axis=1), [[0.5, 0.5]])
    assert_logs_agree(Circuit(VTree.from_nested(list(range(90))), [*regions, root]), [[0] * 90])


def test_em_in_float32_climbs_as_far(engine, rng):
    """Without a pseudocount it never falls by more than float32's error, and ends where float64 does."""
    start, data = tree(40, 4, 3, rng), rng.integers(-1, 3, (600, 40))
    for options in ({"pseudocount": 0}, {"batch_size": 150, "rng": 0}):
        _, history = fit_em(start, data, num_epochs=12, **options)
        found, other = fit_em(start, data, num_epochs=12, dtype="float32", **options)
        np.testing.assert_allclose(other, history, rtol=0, atol=1e-4)
        assert found.log_likelihood(data).mean() == pytest.approx(other[-1], abs=1e-5)
        if options == {"pseudocount": 0}:
            assert np.diff(other).min() > -1e-5


def test_threads_and_mixtures(rng):
    circuit = tree(30, 5, 3, rng)
    data = zoo.rows_with_holes(circuit, rng, 9000)
    one = log_likelihood(circuit, data, n_jobs=1, dtype="float32")
    np.testing.assert_array_equal(one, log_likelihood(circuit, data, n_jobs=3, dtype="float32"))
    mixture = Mixture([circuit, tree(30, 5, 3, rng)])
    assert_logs_agree(mixture, data[:100])


@pytest.mark.parametrize("function", [log_likelihood, node_likelihoods, expected_flows, fit_em])
@pytest.mark.parametrize("dtype", ["float16", np.float32, None])
def test_other_types_are_refused(function, dtype):
    with pytest.raises(
        (TypeError, ValueError), match="`dtype` must be one of 'float64', 'float32'"
    ):
        function(CIRCUITS["two_coins"], [[0, 0]], dtype=dtype)
