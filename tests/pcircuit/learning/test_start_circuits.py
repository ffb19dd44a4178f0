"""Random tensorised circuits: shapes, counts, start values."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structures import assert_elementwise, assert_sums_to_one, counts

import pcircuit
from pcircuit import InputRegion, VTree, chow_liu_tree, hclt, rat_spn

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


ROWS = np.random.default_rng(0).integers(0, 3, (50, 6))


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


def tree_data(rng, num_rows, parent, largest=3, missing=0.0):
    """Table drawn along a tree, parents before children: a column mostly copies its parent's value."""
    categories = rng.integers(2, largest + 1, len(parent))
    data = np.empty((num_rows, len(parent)), np.int64)
    for v, p in enumerate(parent):
        fresh = rng.integers(0, categories[v], num_rows)
        copied = fresh if p < 0 else data[:, p] % categories[v]
        data[:, v] = np.where(rng.random(num_rows) < 0.7, copied, fresh)
    data[rng.random(data.shape) < missing] = -1
    return data, categories


def random_parent(rng, V):
    """A random tree in which parents come first."""
    return np.array([-1] + [int(rng.integers(v)) for v in range(1, V)])


@given(seeds, st.integers(1, 4), st.sampled_from([0.0, 0.1]), st.sampled_from([0.0, 0.3]))
def test_hclt_is_the_tree_with_a_hidden_state_behind_each_inner_variable(
    seed, K, pseudocount, missing
):
    rng = np.random.default_rng(seed)
    V = int(rng.integers(1, 7))
    data, categories = tree_data(
        rng, int(rng.integers(1, 30)), random_parent(rng, V), missing=missing
    )
    options = {"num_categories": categories, "pseudocount": pseudocount}
    circuit = hclt(data, K, **options, rng=seed)
    parent = chow_liu_tree(data, **options)
    assert circuit.vtree == VTree.from_tree(parent)
    assert circuit.num_categories == tuple(categories)
    assert_elementwise(circuit, K)
    assert_sums_to_one(circuit)
    b = len(set(parent.tolist()) - {-1})
    if V > 1:
        assert counts(circuit) == (V * K, (b - 1) * K + 1, b * K)


def test_hclt_categories_default_to_the_largest_entry_but_at_least_two():
    data = [[0, 3, -1], [0, 1, -1]]
    assert hclt(data).num_categories == (2, 4, 2)
    assert hclt(data, num_categories=5).num_categories == (5, 5, 5)
    assert hclt(data, num_categories=[1, 4, 2]).num_categories == (1, 4, 2)


def test_hclt_start_values_stay_near_the_data(rng):
    """Input rows are smoothed frequencies times factors in [exp(-2), 1]; a hidden state mostly repeats."""
    data, categories = tree_data(rng, 200, random_parent(rng, 6), missing=0.1)
    circuit = hclt(data, 3, categories, pseudocount=0.5, rng=1)
    for region in circuit.regions:
        if isinstance(region, InputRegion):
            column, C = data[:, region.variable], region.num_categories
            ratio = region.probs / (np.bincount(column[column >= 0], minlength=C) + 0.5 / C)
            assert (ratio.max(axis=1) <= ratio.min(axis=1) * np.exp(2) * (1 + 1e-12)).all()
            assert len(np.unique(region.probs[:, 0])) == 3
        elif len(region.weights) > 1:
            assert np.diagonal(region.weights).min() > 0.9
            assert len(np.unique(region.weights)) == region.weights.size


def test_hclt_is_positive_where_nothing_was_seen():
    circuit = hclt([[0, 0, 0], [0, 0, 1]], 2, num_categories=3, pseudocount=0)
    assert naive.likelihood(circuit, naive.states(circuit)).min() > 0


@pytest.mark.parametrize(
    "build",
    [
        lambda rng: hclt([[0, 1], [1, 1], [0, 0]], 3, rng=rng),
        lambda rng: rat_spn([2, 3, 4], rng=rng),
    ],
    ids=["hclt", "rat_spn"],
)
def test_seed_decides_the_start_values(build):
    assert build(7) == build(7)
    assert build(7) == build(np.random.default_rng(7))
    assert build(7) != build(8)


def test_em_from_the_start_values_beats_the_chow_liu_tree(rng):
    """Four hidden states can express the tree of binary variables, so a good start leads EM past it."""
    parent = random_parent(rng, 8)
    data, categories = tree_data(rng, 500, parent, largest=2)
    plain = pcircuit.log_likelihood(
        pcircuit.chow_liu_circuit(data, num_categories=categories), data
    ).mean()
    for seed in range(3):
        _, history = pcircuit.fit_em(
            hclt(data, 4, categories, rng=seed), data, num_epochs=60, pseudocount=0
        )
        assert history[-1] > plain


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_categories": []}, ValueError, r"must be a whole number .* shape \(0,\)"),
        ({"num_categories": 14}, ValueError, r"\[2\] \* 14\), found shape \(\)"),
        ({"num_categories": [2, 0]}, ValueError, "at least 1 .* found 0 at position 1"),
        ({"num_categories": [2.0, 2.0]}, TypeError, "`num_categories` must be a whole number"),
        ({"num_units": 0}, ValueError, "`num_units` must be .* of at least 1, found 0"),
        ({"num_units": "4"}, TypeError, "`num_units` must be .* of at least 1, found '4'"),
        ({"depth": -1}, ValueError, "`depth` must be a whole number of at least 0, found -1"),
        ({"depth": 1.5}, TypeError, "`depth` must be a whole number of at least 0, found 1.5"),
        ({"num_latents": 0}, ValueError, "`num_latents` must be .* of at least 1, found 0"),
        ({"num_latents": 2.5}, TypeError, "`num_latents` must be .* of at least 1, found 2.5"),
        ({"pseudocount": -0.1}, ValueError, "`pseudocount` must be a finite number of at least 0"),
        ({"tree": [-1, 0]}, ValueError, r"the parent of each of the 3 columns .* \(2,\)"),
        ({"tree": [-1, -1, 0]}, ValueError, "`tree` is not a tree .* 2 roots"),
    ],
)
def test_bad_arguments(options, error, message):
    options = dict(options)
    function = hclt if {"num_latents", "pseudocount", "tree"} & set(options) else rat_spn
    first = [[0, 1, 1], [1, 1, 0]] if function is hclt else options.pop("num_categories", [2, 2])
    with pytest.raises(error, match=message):
        function(first, **options)
