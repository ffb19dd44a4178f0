"""Bayesian networks."""

import naive
import numpy as np
import pytest
from format_files import read_text

import pcircuit


@pytest.mark.parametrize("seed", range(5))
def test_a_tree_of_conditional_tables_is_its_joint_distribution(seed, tmp_path):
    rng = np.random.default_rng(seed)
    categories, parents = rng.integers(1, 4, 5), [-1, 0, 0, -1, 3]
    tables = [
        rng.dirichlet(np.ones(categories[v]), 1 if p < 0 else categories[p])
        for v, p in enumerate(parents)
    ]
    words = ["BAYES", 5, *categories, 5]
    for v, p in enumerate(parents):
        words += [1, v] if p < 0 else [2, p, v]
    for table in tables:
        words += [table.size, *(repr(float(x)) for x in table.ravel())]
    circuit = read_text(tmp_path, " ".join(map(str, words)), pcircuit.read_uai)
    rows = naive.states(circuit)
    expected = [
        np.prod([tables[v][0 if p < 0 else x[p], x[v]] for v, p in enumerate(parents)])
        for x in rows
    ]
    np.testing.assert_allclose(np.exp(pcircuit.log_likelihood(circuit, rows)), expected, rtol=1e-13)
