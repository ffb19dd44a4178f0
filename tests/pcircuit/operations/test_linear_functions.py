"""Sums of functions of single variables: moments and distribution, against all states."""
import naive
import numpy as np
import pytest
import zoo

import pcircuit

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
