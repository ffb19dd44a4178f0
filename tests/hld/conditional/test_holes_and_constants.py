"""Given covariates: missing cells are no shift, however wrong the circuit is, nor are residuals that are rounding."""

import binomial_bounds
import numpy as np
import pytest

import hld
import pcircuit
from hld.conditional.conditional_test import _regression
from hld.conditional.residuals import shown_residuals, without_rounding

SMALL = {"num_latents": 2, "num_epochs": 3, "num_resamples": 99}


def visits(n, rng, missing):
    """Two columns that three covariates determine jointly, which a tree of few states does not learn."""
    given = rng.integers(0, 3, (n, 3))
    first = (given[:, 0] + given[:, 1] > 2) ^ (given[:, 2] == 1) ^ (rng.random(n) < 0.1)
    second = (given[:, 0] * given[:, 2] > 1) ^ (rng.random(n) < 0.1)
    rows = np.column_stack([given, first, second]).astype(float)
    rows[:, 3:][rng.random((n, 2)) < missing] = np.nan
    return rows


@pytest.mark.thorough
@pytest.mark.parametrize("trained", [0.0, 0.3])
def test_missing_cells_keep_the_level(trained):
    """With what the circuit gets wrong taken off rows that do not show it, all but one in twelve were rejected."""
    pvalues = []
    for seed in range(12):
        rng = np.random.default_rng([8, seed])
        detector = hld.HLDDetector(covariates=[0, 1, 2], **SMALL).fit(visits(2000, rng, trained))
        pvalues.append([detector.test(visits(1000, rng, missing)).pvalue for missing in (0.7, 1.0)])
    assert ((np.array(pvalues) <= 0.05).sum(axis=0) <= binomial_bounds.at_most(12, 0.05)).all()
    shifted = visits(1000, rng, 0.5)
    shifted[:, 4] = 1 - shifted[:, 4]
    found = detector.test(shifted)
    assert found.reject
    assert [one.name for one in found.columns if one.adjusted <= 0.05] == ["x4"]


@pytest.mark.parametrize(
    ("target", "others"),
    [(lambda a: 0 * a + 1, False), (lambda a: a % 2, False), (lambda a: 0 * a + 1, True)],
)
def test_what_the_covariates_determine_does_not_move(target, others):
    """Residuals of 1e-17 had been compared with one another: p = 1e-25 and an effect size of 6."""
    rng = np.random.default_rng(0)

    def table(n):
        a = rng.integers(0, 3, n)
        return {"a": a, "t": target(a), **({"b": rng.normal(a)} if others else {})}

    detector = hld.HLDDetector(covariates=["a"], **SMALL).fit(table(600))
    for T in (1, 2, 60, 500):
        result = detector.test(table(T))
        assert result.pvalue == 1.0 or others
        assert all(one.pvalue == 1.0 for one in result.columns if one.name == "t")
    moved = table(60)
    moved["t"] = moved["t"] + 1
    result = detector.test(moved)
    assert result.reject
    assert 0 < result.effect < 100


def test_a_node_is_shown_by_rows_with_all_of_its_other_variables():
    circuit = pcircuit.rat_spn([2] * 4, num_units=2, depth=2, rng=0)
    rows = np.array([[0, 1, 0, 1], [-1, 1, 0, 1], [0, -1, -1, 1], [0, 1, -1, -1]])
    given = np.array([True, False, False, False])
    nodes = np.arange(circuit.num_nodes)
    scopes = [
        set(np.atleast_1d(circuit.vtree.scope(r)).tolist())
        for r in circuit.nodes.region[nodes].tolist()
    ]
    expected = [
        [not any(row[v] < 0 and not given[v] for v in scope) for scope in scopes]
        for row in rows.tolist()
    ]
    assert shown_residuals(circuit, nodes, rows, given).tolist() == expected


def test_each_node_is_regressed_on_the_rows_that_show_it():
    rng = np.random.default_rng(1)
    functions, found = (
        np.column_stack([np.ones(80), rng.normal(size=(80, 2))]),
        rng.normal(size=(80, 5)),
    )
    shown = rng.random((80, 5)) < 0.6
    shown[:, 1] = shown[:, 0]
    beta = _regression(functions, found, np.linalg.pinv(functions.T @ functions), shown)
    for m in range(5):
        own = shown[:, m]
        assert np.allclose(
            beta[:, m], np.linalg.lstsq(functions[own], found[own, m], rcond=None)[0]
        )


def test_rounding_is_measured_by_the_mean_of_its_node():
    circuit = pcircuit.rat_spn([2] * 4, num_units=2, depth=2, rng=0)
    nodes = np.arange(circuit.num_nodes)
    means = pcircuit.unit_means(circuit)[nodes]
    values = np.stack([1e-12 * means, 1e-6 * means])
    assert without_rounding(values.copy(), circuit, nodes).tolist() == [
        [0.0] * len(nodes),
        values[1].tolist(),
    ]
