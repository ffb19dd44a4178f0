"""Whether one circuit is positive wherever another is: against all states, and where only whole numbers can tell."""

import naive
import numpy as np
import pytest
import zoo

from pcircuit import Circuit, InnerRegion, InputRegion, VTree, multiply, sum_indicator
from pcircuit.operations import supports
from pcircuit.operations.properties import shared_terms

ZOO = zoo.circuits()


def with_zeros(circuit, rng, share):
    """The same circuit with some parameters replaced by zero."""

    def thinned(table):
        return table * (rng.random(table.shape) >= share)

    return Circuit(
        circuit.vtree,
        [
            InputRegion(region.variable, thinned(region.probs))
            if isinstance(region, InputRegion)
            else InnerRegion(region.products, thinned(region.dense_weights()))
            for region in circuit.regions
        ],
    )


def plainly(q, p):
    return not ((naive.values(p) > 0) & (naive.values(q) == 0)).any()


def product_of_coins(V, levels):
    """All of `levels` equally likely, V times."""
    table = np.isin(range(2), levels) / len(levels)
    return Circuit(
        VTree.balanced(V),
        [
            InputRegion(v, [table]) if v >= 0 else InnerRegion([[0, 0]], [[1.0]])
            for v in VTree.balanced(V).variables.tolist()
        ],
    )


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("seed", range(6))
def test_circuits_of_one_structure(seed, share):
    rng = np.random.default_rng(seed)
    q = with_zeros(zoo.learned_tree(seed), rng, share)
    for p in (
        q,
        with_zeros(q, rng, 0.1),
        with_zeros(zoo.learned_tree(seed), rng, share),
        zoo.learned_tree(seed),
    ):
        assert supports.covers(q, p) == plainly(q, p)


@pytest.mark.parametrize("name", [name for name in ZOO if ZOO[name].num_variables > 1])
def test_circuits_of_other_structures(name):
    """Circuits that count are deterministic on any v-tree; a product with one of them is zero wherever it is."""
    circuit, rng, found = ZOO[name], np.random.default_rng(9), set()
    g = [rng.integers(0, 3, C) for C in circuit.num_categories]
    least, most = (sum(int(op(table)) for table in g) for op in (np.min, np.max))
    for values in ([most], range(least, most), range(least + 1, most + 1), range(least, most + 1)):
        q = sum_indicator(circuit.vtree, g, values)
        largest = sum_indicator(circuit.vtree, g, [most])
        for p in (circuit, with_zeros(circuit, rng, 0.2), multiply(circuit, q), largest):
            assert supports.covers(q, p) == plainly(q, p)
            found.add(supports.covers(q, p))
    assert found == {True, False}


def test_one_state_of_three_hundred_coins_decides():
    """A share of 2**-300, far below the rounding of any double near one."""
    fair, tails = product_of_coins(300, [0, 1]), product_of_coins(300, [1])
    everything, all_but_one = (
        sum_indicator(fair.vtree, [[0, 1]] * 300, range(least, 301)) for least in (0, 1)
    )
    assert supports.covers(everything, fair)
    assert not supports.covers(all_but_one, fair)
    assert supports.covers(all_but_one, tails)
    assert supports.covers(all_but_one, all_but_one)


def test_a_sum_of_parts_covers_what_no_part_does():
    split = Circuit(
        VTree.from_nested([0, 1]),
        [
            InputRegion(0, np.eye(2)),
            InputRegion(1, [[0.9, 0.1], [1e-200, 1]]),
            InnerRegion([[0, 0], [1, 1]], [[0.3, 0.7]]),
        ],
    )
    assert shared_terms(split) is None
    assert supports.covers(split, product_of_coins(2, [0, 1]))
    regions = [split.regions[0], InputRegion(1, [[0.9, 0.1], [0.0, 1]]), split.regions[2]]
    assert not supports.covers(Circuit(split.vtree, regions), product_of_coins(2, [0, 1]))


def test_the_arithmetic_is_that_of_whole_numbers(rng):
    left, right = (
        rng.integers(0, supports.PRIME, (3, 500)),
        rng.integers(0, supports.PRIME, (500, 4)),
    )
    left[0], right[:, 0] = supports.PRIME - 1, supports.PRIME - 1
    exact = left.astype(object) @ right.astype(object) % supports.PRIME
    np.testing.assert_array_equal(supports._product(left, right), exact.astype(np.int64))
    used = rng.random((2, 500)) < 0.5
    exact = left.astype(object) @ used.T % supports.PRIME
    np.testing.assert_array_equal(supports._sums(left, used), exact.astype(np.int64))
