"""E[L(x, Y) | X = x] against enumeration over all completions, on every circuit of the zoo, with and without holes."""

import naive
import numpy as np
import pytest
import zoo

from hld.conditional.residuals import residuals

CIRCUITS = zoo.circuits()


def masks(V):
    rng = np.random.default_rng(V)
    return [np.arange(V) < 1, rng.random(V) < 0.5, np.zeros(V, bool), np.ones(V, bool)]


@pytest.mark.parametrize("name", CIRCUITS)
def test_residuals_are_those_of_enumeration(name):
    circuit = CIRCUITS[name]
    states, nodes = naive.states(circuit), np.arange(circuit.num_nodes)
    values, p = naive.node_values(circuit, states), naive.likelihood(circuit, states)
    for given in masks(circuit.num_variables):
        found = residuals(circuit, nodes, states, given)
        for same in np.unique(states[:, given], axis=0):
            rows = (states[:, given] == same).all(axis=1)
            if p[rows].sum() == 0:
                assert (found[rows] == 0).all()
                continue
            expected = p[rows] @ values[rows] / p[rows].sum()
            np.testing.assert_allclose(found[rows], values[rows] - expected, atol=1e-13)


@pytest.mark.parametrize("name", ["hclt_like", "nary", "mixed_categories", "irregular_csr"])
def test_holes_are_summed_out_on_both_sides(name):
    circuit, rng = CIRCUITS[name], np.random.default_rng(3)
    states, nodes = naive.states(circuit), np.arange(circuit.num_nodes)
    p = naive.likelihood(circuit, states)
    rows = states[rng.integers(0, len(states), 12)]
    rows[rng.random(rows.shape) < 0.3] = -1
    for given in masks(circuit.num_variables):
        found = residuals(circuit, nodes, rows, given)
        for row, own in zip(rows, found, strict=True):
            known = given & (row >= 0)
            agree = (states[:, known] == row[known]).all(axis=1)
            if p[agree].sum() == 0:
                continue
            holed = np.where(row >= 0, states[agree], -1)  # the same holes in every completion
            expected = p[agree] @ naive.node_values(circuit, holed) / p[agree].sum()
            np.testing.assert_allclose(
                own, naive.node_values(circuit, row[None])[0] - expected, atol=1e-13
            )


def test_nodes_over_covariates_have_no_residual_and_rows_do_not_depend_on_each_other():
    circuit, rng = CIRCUITS["hclt_like"], np.random.default_rng(4)
    rows, nodes = naive.states(circuit)[rng.integers(0, 64, 40)], np.arange(circuit.num_nodes)
    given = np.arange(circuit.num_variables) < 3
    found = residuals(circuit, nodes, rows, given)
    within = [given[circuit.scope(int(j))].all() for j in nodes]
    assert (found[:, within] == 0).all()
    assert np.abs(found[:, ~np.array(within)]).max() > 0.01
    np.testing.assert_allclose(
        np.concatenate(
            [residuals(circuit, nodes, rows[i : i + 7], given) for i in range(0, 40, 7)]
        ),
        found,
        atol=1e-15,
    )
