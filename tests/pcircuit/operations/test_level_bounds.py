"""Bounds of levels, against an evaluation of the whole circuit for each of them."""

import numpy as np
import pytest
import zoo

import pcircuit
from pcircuit.operations.level_bounds import LevelBounds, log_sums
from pcircuit.operations.most_probable import _with_maximum

ZOO = zoo.circuits() | zoo.unnormalized_circuits()


@pytest.mark.parametrize("name", ZOO)
def test_bounds_of_levels_are_those_of_whole_evaluations(name):
    circuit, rng = ZOO[name], np.random.default_rng(3)
    extended, offset = _with_maximum(circuit)
    categories = np.array(circuit.num_categories)
    for _ in range(4):
        row = np.where(rng.random(len(categories)) < 0.3, rng.integers(categories), -1)
        bounds = LevelBounds(circuit, row)
        for v in rng.permutation(np.flatnonzero(row < 0)).tolist():
            rows = np.repeat(np.where(row < 0, categories, row)[None], categories[v], axis=0)
            rows[:, v] = np.arange(categories[v])
            direct = pcircuit.log_likelihood(extended, rows) + offset
            np.testing.assert_allclose(bounds.levels(v), direct, rtol=1e-11, atol=1e-11)
            row[v] = rng.integers(categories[v])  # not the best: impossible ones, too
            bounds.fix(v, row[v])


def test_sums_lose_nothing_to_underflow_or_overflow():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    weights = np.array(
        [
            [0.5, 0.5, 0.0],
            [0.0, 1.0, 0.0],
            [0.0, 0.25, 0.75],
            [0.0, 0.0, 0.0],
            [1e308, 1e308, 1e308],
        ]
    )
    logs = np.array([-5000.0, -7000.0, -7001.0])
    truth = [
        np.log(0.5) - 5000,
        -7000.0,
        -7000 + np.log(0.25 + 0.75 * np.exp(-1)),
        -np.inf,
        np.log(1e308) - 5000,
    ]
    for form in (weights, scipy_sparse.csr_array(weights)):
        np.testing.assert_allclose(log_sums(form, logs), truth, rtol=1e-15)
        np.testing.assert_array_equal(log_sums(form.T, np.full(5, -np.inf)), [-np.inf] * 3)
    np.testing.assert_allclose(
        log_sums(weights[4:], np.zeros(3)), [np.log(1e308) + np.log(3)], rtol=1e-15
    )
