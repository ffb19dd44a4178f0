"""Sums of functions of single variables: moments and distribution, against all states."""

import naive
import numpy as np
import pytest
import zoo

import pcircuit
from pcircuit import Circuit, InnerRegion, InputRegion, VTree

ZOO = zoo.circuits()


@pytest.mark.parametrize("name", ZOO)
def test_linear_functions_have_their_moments_and_distribution(name):
    circuit, rng = ZOO[name], np.random.default_rng(4)
    X, p = naive.states(circuit), naive.values(circuit)
    g = [rng.integers(-2, 4, C) for C in circuit.num_categories]
    total = sum(table[X[:, v]] for v, table in enumerate(g))
    mean, variance = pcircuit.linear_moments(circuit, g)
    assert mean == pytest.approx(p @ total, rel=1e-12, abs=1e-12)
    assert variance == pytest.approx(p @ (total - p @ total) ** 2, rel=1e-10, abs=1e-12)
    support, law = pcircuit.sum_distribution(circuit, g)
    expected = [p[total == s].sum() for s in support]
    np.testing.assert_allclose(law, expected, rtol=1e-11, atol=1e-300)
    assert support[0] == sum(table.min() for table in g)
    assert support[-1] == sum(table.max() for table in g)


def test_linear_functions_are_checked():
    circuit = ZOO["two_coins"]
    with pytest.raises(ValueError, match="one array for each of the 2 variables, found 1"):
        pcircuit.linear_moments(circuit, [[0, 1]])
    with pytest.raises(ValueError, match="must hold whole numbers"):
        pcircuit.sum_distribution(circuit, [[0, 0.5], [0, 1]])
    with pytest.raises(ValueError, match="2 finite numbers for variable 1"):
        pcircuit.linear_moments(circuit, [[0, 1], [0, np.nan]])
    with pytest.raises(ValueError, match="expected at most 1000000"):
        pcircuit.sum_distribution(circuit, [[0, 10**7], [0, 1]])
    for function in (pcircuit.linear_moments, pcircuit.sum_distribution):
        with pytest.raises(
            TypeError, match=r"`functions` must be a sequence of arrays, .* found array\(3\)"
        ):
            function(circuit, np.array(3))


def coins(V):
    return Circuit(
        VTree.from_nested(list(range(V))),
        [*[InputRegion(v, [[0.25, 0.75]]) for v in range(V)], InnerRegion([[0] * V], [[1.0]])],
    )


@pytest.mark.parametrize(
    "functions",
    [
        [[2**62, 2**62 + 1], [0, 0]],
        [[2**53, 2**53 + 1], [0, 1]],
        [[2**63, 2**63], [0, 1]],
        [[0, 0], [-(2**53), 0]],
        [[0, 0], [-(2**53) - 1, -(2**53)]],
        [[0.0, 1e300], [0, 1]],
        [[10**25, 0], [0, 1]],
    ],
)
def test_numbers_that_doubles_do_not_hold_are_refused(functions):
    with pytest.raises(
        ValueError, match=r"between -2\*\*53 and 2\*\*53, .*, found .* for variable [01]: subtract"
    ):
        pcircuit.sum_distribution(coins(2), functions)


def test_the_largest_numbers_are_exact():
    most = 2**53 - 1
    for functions in (
        [[most - 1, most], [0, 1]],
        [[-most, -most + 1], [most, most - 1]],
        [[-most, -most], [0, 1]],
    ):
        support, law = pcircuit.sum_distribution(coins(2), functions)
        expected = {}
        for i in range(2):
            for j in range(2):
                total = functions[0][i] + functions[1][j]
                expected[total] = expected.get(total, 0) + [0.25, 0.75][i] * [0.25, 0.75][j]
        assert dict(zip(support.tolist(), law.tolist(), strict=True)) == pytest.approx(
            expected, rel=1e-15
        )


def test_sums_beyond_64_bits_are_refused():
    most, V = 2**53 - 1, 600
    support, law = pcircuit.sum_distribution(
        coins(V), [[most, most - 1]] * 500 + [[0, 0]] * (V - 500)
    )
    assert (int(support[0]), int(support[-1])) == (500 * (most - 1), 500 * most)
    assert law.sum() == pytest.approx(1, rel=1e-12)
    for sign in (-1, 1):
        with pytest.raises(ValueError, match=r"must have sums between -2\*\*62 and 2\*\*62"):
            pcircuit.sum_distribution(coins(V), [[sign * most, sign * (most - 1)]] * V)


def test_moments_of_sums_beyond_doubles_are_refused_and_not_nan():
    """A constant of 3.4e308 had the mean inf and the variance nan."""
    for functions in ([[1.7e308, 1.7e308], [1.7e308, 1.7e308]], [[0, 1e308], [-1e308, 0]]):
        with pytest.raises(
            ValueError,
            match=r"`functions` must have sums below 2\*\*1023 in size, found numbers that",
        ):
            pcircuit.linear_moments(coins(2), functions)
    mean, variance = pcircuit.linear_moments(coins(2), [[4e307, 4e307], [0, 4e307]])
    assert mean == pytest.approx(7e307, rel=1e-15)
    assert variance == np.inf
    assert pcircuit.linear_moments(coins(2), [[4e307, 4e307], [4e307, 4e307]]) == (8e307, 0.0)


def test_what_never_happens_does_not_count_however_large_it_is():
    leaf = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.5, 0.5, 0.0]])])
    assert pcircuit.linear_moments(leaf, [[0, 2, 1e200]]) == (1.0, 1.0)
    pair = Circuit(
        VTree.from_nested([0, 1]),
        [
            InputRegion(0, [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]),
            InputRegion(1, [[1.0]]),
            InnerRegion([[0, 0], [1, 0]], [[1.0, 0.0]]),
        ],
    )
    assert pcircuit.linear_moments(pair, [[0, 2, 1e200], [0]]) == (1.0, 1.0)
