"""Random tensorised circuits: shapes, counts, start values."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structures import assert_elementwise, assert_sums_to_one

from pcircuit import InnerRegion, InputRegion, hclt, rat_spn
from pcircuit.learning import random_tensorized as start_values

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(1, 9), st.integers(1, 4), st.integers(0, 5))
def test_rat_spn_halves_a_random_order(seed, V, K, depth):
    rng = np.random.default_rng(seed)
    categories = rng.integers(1, 4, V) if V < 7 else rng.integers(1, 3, V)
    circuit = rat_spn(categories.tolist(), K, depth, rng=seed)
    assert circuit.num_categories == tuple(categories)
    assert_elementwise(circuit, K)
    assert_sums_to_one(circuit)
    vtree, sizes = circuit.vtree, circuit.vtree.scope_sizes()
    levels = {vtree.root: 0}
    for r in range(vtree.root, -1, -1):
        children = vtree.children(r).tolist()
        levels |= dict.fromkeys(children, levels[r] + 1)
        if levels[r] < depth and sizes[r] > 1:
            assert sizes[children].tolist() == [(sizes[r] + 1) // 2, sizes[r] // 2]
        elif children:  # at the bottom a product of single variables
            assert sizes[children].tolist() == [1] * sizes[r]


@pytest.mark.parametrize(
    ("depth", "K", "expected"), [(2, 4, 109), (2, 8, 217), (3, 4, 173), (3, 8, 345)]
)
def test_rat_spn_counts_of_the_paper(depth, K, expected):
    """K, S and Krishnan (2026), RAT-SPN sweep: V = 14, units of all kinds."""
    circuit = rat_spn([2] * 14, K, depth)
    assert circuit.num_nodes == expected
    assert rat_spn([2, 3, 4, 5, 6, 7, 8] * 2, K, depth).num_nodes == expected


def test_rat_spn_shuffles_the_variables():
    first_halves = {
        tuple(np.sort(rat_spn([2] * 6, 2, 1, rng=seed).vtree.scope(3))) for seed in range(40)
    }
    assert len(first_halves) > 10  # of 20 possible ones


def test_rat_spn_depth_0_is_a_mixture_of_independent_models(rng):
    circuit = rat_spn([2, 3, 2], 5, 0, rng=rng)
    assert len(circuit.regions) == 4
    tables = {region.variable: region.probs for region in circuit.regions[:3]}
    for x, p in zip(
        naive.states(circuit), naive.likelihood(circuit, naive.states(circuit)), strict=True
    ):
        expected = (
            np.prod([tables[v][:, x[v]] for v in range(3)], axis=0) @ circuit.regions[3].weights[0]
        )
        assert p == pytest.approx(expected, rel=1e-12)


def test_rat_spn_of_one_variable_is_one_distribution():
    circuit = rat_spn([3], 4, 2)
    assert len(circuit.regions) == 1
    assert circuit.regions[0].probs.shape == (1, 3)


def test_rat_spn_units_all_start_different(rng):
    for region in rat_spn([3] * 9, 4, 2, rng=rng).regions:
        table = region.weights if isinstance(region, InnerRegion) else region.probs
        assert len(np.unique(table, axis=0)) == len(table)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"num_categories": []},
            ValueError,
            r"`num_categories` must be a whole number .* shape \(0,\)",
        ),
        (
            {"num_categories": 14},
            ValueError,
            r"`num_categories` .* \[2\] \* 14\), found shape \(\)",
        ),
        (
            {"num_categories": [2, 0]},
            ValueError,
            "`num_categories` must be .* at least 1 .* found 0 at position 1",
        ),
        ({"num_categories": [2.0, 2.0]}, TypeError, "`num_categories` must be a whole number"),
        ({"num_units": 0}, ValueError, "`num_units` must be a whole number of at least 1, found 0"),
        (
            {"num_units": "4"},
            TypeError,
            "`num_units` must be a whole number of at least 1, found '4'",
        ),
        ({"depth": -1}, ValueError, "`depth` must be a whole number of at least 0, found -1"),
        ({"depth": 1.5}, TypeError, "`depth` must be a whole number of at least 0, found 1.5"),
    ],
)
def test_rat_spn_refuses(options, error, message):
    with pytest.raises(error, match=message):
        rat_spn(**{"num_categories": [2, 2]} | options)


ROWS = np.random.default_rng(0).integers(0, 3, (50, 6))


@pytest.mark.parametrize(
    "build",
    [
        lambda: rat_spn([2, 3, 4, 5, 2], num_units=3, depth=1),
        lambda: rat_spn([7]),
        lambda: rat_spn([2] * 5, num_units=2, depth=3),
        lambda: hclt(ROWS, num_latents=3),
        lambda: hclt(ROWS[:, :1], num_latents=3),
        lambda: hclt(ROWS, num_latents=1),
    ],
)
def test_the_size_asked_for_is_that_of_the_arrays(build, monkeypatch):
    asked = []
    monkeypatch.setattr(start_values, "check_memory", lambda what, size, advice: asked.append(size))
    regions = build().regions
    assert asked == [
        sum(
            region.probs.nbytes
            if isinstance(region, InputRegion)
            else region.products.nbytes + region.weights.nbytes
            for region in regions
        )
    ]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: rat_spn([10**12, 2]),
            "a circuit of 2 variables with `num_units` 4 takes 29.1 TiB, more than there is: "
            "give a smaller `num_units`, or variables of fewer categories",
        ),
        (
            lambda: rat_spn([2**62] * 3),
            "a circuit of 3 variables with `num_units` 4 takes 4.03e+08 TiB",
        ),
        (
            lambda: rat_spn([2, 2], num_units=10**10),
            "a circuit of 2 variables with `num_units` 10000000000 takes",
        ),
        (
            lambda: rat_spn([2, 2], num_units=10**30),
            "a circuit of 2 variables with `num_units` 10000000000000000000",
        ),
        (
            lambda: rat_spn([2, 2], num_units=10**5000),
            "a circuit of 2 variables with `num_units` a number of thousands",
        ),
        (
            lambda: hclt(ROWS, num_latents=10**30),
            "a circuit of 6 variables with `num_latents` 10000000000000000000",
        ),
    ],
)
def test_circuits_that_do_not_fit_into_memory(build, message):
    with pytest.raises(MemoryError) as caught:
        build()
    assert str(caught.value).startswith(message)


def test_one_variable_has_one_unit_whatever_is_asked_for():
    assert (
        rat_spn([3], num_units=10**30).num_units
        == hclt(ROWS[:, :1], num_latents=10**30).num_units
        == 1
    )
