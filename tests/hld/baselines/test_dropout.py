"""Tractable dropout against all masks, against simulated masks, and against the recursion as it was published."""

import itertools

import hypothesis.strategies as st
import naive
import numpy as np
import pytest
import zoo
from hypothesis import given

import pcircuit
from hld import baselines
from hld.baselines.dropout import dropout_moments
from pcircuit import Circuit, InnerRegion, InputRegion, VTree

CIRCUITS = zoo.circuits()


def rows_of(circuit, count=5, rng=0):
    """Some complete rows that are possible, and one with a missing entry."""
    rows = pcircuit.sample(circuit, count, rng=rng).astype(np.int64)
    rows[-1, 0] = -1
    return rows


def masked_values(circuit, row, masks):
    """(B,) root values of a row under B masks; masks[r] is (B, K, P), divided by q already, None at the root."""
    values = []
    B = next(len(mask) for mask in masks if mask is not None)
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InputRegion):
            x = row[region.variable]
            values.append(
                np.tile(np.ones(region.num_units) if x < 0 else region.probs[:, x], (B, 1))
            )
            continue
        products = np.ones((B, len(region.products)))
        for a, c in enumerate(circuit.vtree.children(r).tolist()):
            products = products * values[c][:, region.products[:, a]]
        weights = np.broadcast_to(region.dense_weights(), (B, *region.weights.shape))
        values.append(
            np.einsum("bkp,bp->bk", weights if masks[r] is None else weights * masks[r], products)
        )
    return values[-1][:, 0]


def edges_below_root(circuit):
    """Shapes (K, P) of the masked regions, None for the others."""
    return [
        None
        if isinstance(region, InputRegion) or r == len(circuit.regions) - 1
        else region.weights.shape
        for r, region in enumerate(circuit.regions)
    ]


def small_tree():
    """A circuit in which every unit has one parent, as weights of zero are no edges."""
    rng = np.random.default_rng(4)

    def inputs(v, K):
        return InputRegion(v, rng.dirichlet(np.ones(3), K))

    return Circuit(
        VTree.from_nested([[0, 1], 2]),
        [
            inputs(0, 4),
            inputs(1, 4),
            InnerRegion([[i, i] for i in range(4)], [[0.3, 0.7, 0, 0], [0, 0, 0.6, 0.4]]),
            inputs(2, 2),
            InnerRegion([[0, 0], [1, 1]], [[0.45, 0.55]]),
        ],
    )


def shared(rng=5, K=2):
    """A small circuit with shared units: two masked regions of K x K edges."""
    rng = np.random.default_rng(rng)
    pairs = [[i, i] for i in range(K)]
    return Circuit(
        VTree.from_nested([[[0, 1], 2], 3]),
        [
            InputRegion(0, rng.dirichlet(np.ones(3), K)),
            InputRegion(1, rng.dirichlet(np.ones(3), K)),
            InnerRegion(pairs, rng.dirichlet(np.ones(K), K)),
            InputRegion(2, rng.dirichlet(np.ones(3), K)),
            InnerRegion(pairs, rng.dirichlet(np.ones(K), K)),
            InputRegion(3, rng.dirichlet(np.ones(3), K)),
            InnerRegion(pairs, rng.dirichlet(np.ones(K), 1)),
        ],
    )


def all_mask_moments(circuit, row, rate):
    """E S and Var S by summing over every mask."""
    shapes = edges_below_root(circuit)
    bits = [np.prod(shape) if shape else 0 for shape in shapes]
    kept = np.array(list(itertools.product([0, 1], repeat=int(sum(bits)))), float)
    probability = np.prod(np.where(kept == 1, 1 - rate, rate), axis=1)
    ends = np.cumsum(bits)
    masks = [
        kept[:, end - size : end].reshape(-1, *shape) / (1 - rate) if shape else None
        for shape, size, end in zip(shapes, bits, ends, strict=True)
    ]
    values = masked_values(circuit, row, masks)
    mean = probability @ values
    return mean, probability @ (values - mean) ** 2


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.5])
def test_dropout_of_trees_is_the_sum_over_all_masks(rate):
    circuit = small_tree()
    rows = rows_of(circuit)
    log_mean, log_spread = dropout_moments(circuit, rows, rate=rate)
    for row, one_mean, one_spread in zip(rows, log_mean, log_spread, strict=True):
        mean, variance = all_mask_moments(circuit, row, rate)
        assert np.exp(one_mean) == pytest.approx(mean, rel=1e-12)
        assert np.expm1(one_spread) == pytest.approx(variance / mean**2, rel=1e-11)


def test_dropout_of_shared_units_has_the_mean_and_not_all_of_the_variance():
    """Units with common parts covary positively, which the published method leaves out."""
    circuit = shared()
    rows = rows_of(circuit)
    log_mean, log_spread = dropout_moments(circuit, rows, rate=0.3)
    for row, one_mean, one_spread in zip(rows, log_mean, log_spread, strict=True):
        mean, variance = all_mask_moments(circuit, row, 0.3)
        assert np.exp(one_mean) == pytest.approx(mean, rel=1e-12)
        assert 0.3 * variance < np.expm1(one_spread) * mean**2 < variance


@pytest.mark.parametrize("name", ["hclt_like", "rat_like", "irregular_csr", "nary", "unary"])
def test_dropout_against_simulated_masks(name):
    """The mean of simulated dropout within five of its standard errors; its variance is that or more."""
    circuit, rate, B = CIRCUITS[name], 0.2, 20_000
    rng = np.random.default_rng(17)
    rows = rows_of(circuit, 3)
    log_mean, log_spread = dropout_moments(circuit, rows, rate=rate)
    for row, one_mean, one_spread in zip(rows, log_mean, log_spread, strict=True):
        masks = [
            None if shape is None else (rng.random((B, *shape)) >= rate) / (1 - rate)
            for shape in edges_below_root(circuit)
        ]
        values = masked_values(circuit, row, masks)
        centred = values - values.mean()
        error_of_variance = np.sqrt(max((centred**4).mean() - values.var() ** 2, 0.0) / B)
        assert abs(values.mean() - np.exp(one_mean)) <= 5 * values.std() / np.sqrt(B) + 1e-15
        variance = np.expm1(one_spread) * np.exp(2 * one_mean)
        assert values.var() >= variance - 5 * error_of_variance - 1e-15


@pytest.mark.parametrize("name", sorted(CIRCUITS))
def test_published_recursion_of_means_and_variances(name):
    """E and Var as printed, in the linear domain, unit by unit."""
    circuit, rate = CIRCUITS[name], 0.25
    q = 1 - rate
    rows = rows_of(circuit)
    log_mean, log_spread = dropout_moments(circuit, rows, rate=rate)
    for row, one_mean, one_spread in zip(rows, log_mean, log_spread, strict=True):
        means, variances = [], []
        for r, region in enumerate(circuit.regions):
            if isinstance(region, InputRegion):
                x = row[region.variable]
                means.append(np.ones(region.num_units) if x < 0 else region.probs[:, x])
                variances.append(np.zeros(region.num_units))
                continue
            mean, second = np.ones(len(region.products)), np.ones(len(region.products))
            for a, c in enumerate(circuit.vtree.children(r).tolist()):
                units = region.products[:, a]
                mean = mean * means[c][units]
                second = second * (variances[c][units] + means[c][units] ** 2)
            variance = second - mean**2
            w = region.dense_weights()
            means.append(w @ mean)
            is_root = r == len(circuit.regions) - 1
            variances.append(w**2 @ variance if is_root else w**2 @ (variance + rate * mean**2) / q)
        mean, variance = means[-1][0], variances[-1][0]
        assert np.exp(one_mean) == pytest.approx(mean, rel=1e-12)
        # the printed variance is a difference of squares: rounding of size eps for each region
        assert np.expm1(one_spread) == pytest.approx(variance / mean**2, rel=1e-10, abs=1e-13)


@given(zoo.circuit_strategy(), st.floats(0, 0.9))
def test_mean_under_dropout_is_the_likelihood(circuit, rate):
    rows = naive.states(circuit)[:20]
    log_mean, log_spread = dropout_moments(circuit, rows, rate=rate)
    np.testing.assert_allclose(np.exp(log_mean), naive.likelihood(circuit, rows), rtol=1e-12)
    assert (log_spread >= 0).all()
    assert np.isfinite(log_spread).all()
    if rate == 0:
        np.testing.assert_allclose(log_spread, 0, atol=1e-15)


@pytest.mark.thorough
def test_dropout_of_impossible_rows_and_of_large_circuits():
    circuit = CIRCUITS["deterministic"]
    rows = naive.states(circuit)
    impossible = naive.likelihood(circuit, rows) == 0
    assert impossible.any()
    log_mean, log_spread = dropout_moments(circuit, rows)
    np.testing.assert_array_equal(np.isneginf(log_mean), impossible)
    assert np.isfinite(log_spread).all()
    assert np.isposinf(baselines.dropout_scores(circuit, rows, score="variation")[impossible]).all()
    large = pcircuit.rat_spn(
        [2] * 2000, num_units=2, depth=20, rng=0
    )  # the spread is beyond the range of exp
    row = np.zeros((1, 2000), np.int64)
    log_mean, log_spread = dropout_moments(large, row, rate=0.7)
    assert log_mean == pytest.approx(pcircuit.log_likelihood(large, row), rel=1e-12)
    assert np.isfinite(log_spread).all()
    assert log_spread[0] > 710
    assert np.isfinite(baselines.dropout_scores(large, row, rate=0.7)).all()


def test_a_state_far_behind_the_others_counts_where_these_are_excluded():
    """600 nearly certain variables speak for the first state, the last variable for the second."""
    V, units = 600, [[0.999, 0.001], [0.001, 0.999]]
    circuit = pcircuit.Circuit(
        pcircuit.VTree.from_nested([list(range(V)), V]),
        [
            *(pcircuit.InputRegion(v, units) for v in range(V)),
            pcircuit.InnerRegion([[0] * V, [1] * V], np.eye(2)),
            pcircuit.InputRegion(V, np.eye(2)),
            pcircuit.InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5]]),
        ],
    )
    row = np.array([[0] * V + [1]])
    log_mean, _ = dropout_moments(circuit, row)
    assert log_mean[0] == pytest.approx(V * np.log(0.001) + np.log(0.5), rel=1e-12)
    assert log_mean[0] == pytest.approx(pcircuit.log_likelihood(circuit, row)[0], rel=1e-12)
