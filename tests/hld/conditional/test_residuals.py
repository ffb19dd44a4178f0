"""E[L(x, Y) | X = x] against enumeration over all completions, on every circuit of the zoo, with and without holes."""

import naive
import numpy as np
import pytest
import zoo
from binomial_bounds import SURE, at_most
from scipy.stats import chi2, norm

from hld import HLDTest
from hld.testing.conditional.conditional_test import ConditionalTest, conditional_test
from hld.testing.conditional.residuals import ShownShares, are_enough, residuals
from pcircuit import Circuit, InnerRegion, InputRegion, VTree, rat_spn, sample

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


CIRCUIT = rat_spn([2] * 4, num_units=2, depth=2, rng=0)
GIVEN = np.arange(4) == 0
INNER = HLDTest(CIRCUIT, metric="whitened")


def with_holes(n, rng, share):
    """Rows of the circuit, with holes at random but in the covariate."""
    rows = sample(CIRCUIT, n, rng=rng).astype(np.int64)
    rows[:, 1:][rng.random((n, 3)) < share] = -1
    return rows


def judged(before, now, T, trials, monkeypatch):
    """Results of unshifted batches, each with a reference of its own."""
    monkeypatch.setattr(ConditionalTest, "covariate_pvalue", lambda self, batch: 1.0)
    rngs = [np.random.default_rng([seed, 7]) for seed in range(trials)]
    return [
        conditional_test(INNER, with_holes(400, rng, before), GIVEN, seed=0)(
            with_holes(T, rng, now)
        )
        for rng in rngs
    ]


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (0.7, 0.0),
        (0.0, 0.5),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in ((0.5, 0.0), (0.5, 0.5))),
    ],
)
def test_holes_keep_the_level_whichever_side_has_them(before, now, monkeypatch):
    trials, T = 60, 300
    found = judged(before, now, T, trials, monkeypatch)
    for alpha in (0.01, 0.05, 0.2):
        assert sum(one.pvalue <= alpha for one in found) <= at_most(trials, alpha)
        for v in range(1, 4):
            assert sum(one.column_pvalues[0, v] <= alpha for one in found) <= at_most(trials, alpha)
    inputs = [
        j
        for j, node in enumerate(INNER.nodes)
        if len(CIRCUIT.scope(node)) == 1 and CIRCUIT.scope(node)[0] > 0
    ]
    z = np.array(
        [one.deltas[inputs] / one.stds[inputs] / np.sqrt(one.inflation / T) for one in found]
    )
    squares = (z**2).sum(axis=0)  # chi-square with `trials` degrees of freedom
    assert chi2.ppf(1e-7, trials) < squares.min()
    assert squares.max() < chi2.isf(1e-7, trials)


@pytest.mark.parametrize("T", [10, pytest.param(40, marks=pytest.mark.slow)])
def test_columns_keep_the_level_in_small_batches_without_holes(T, monkeypatch):
    trials = 60
    pvalues = np.array(
        [one.column_pvalues[0, 1:] for one in judged(0.8, 0.0, T, trials, monkeypatch)]
    )
    for alpha in (0.01, 0.05):
        assert ((pvalues <= alpha).sum(axis=0) <= at_most(trials, alpha)).all()


def test_squared_effects_are_those_of_the_distributions_whatever_is_shown():
    """Of normal differences, with the variances that the module gives them."""
    rng, draws, m = np.random.default_rng(1), 20_000, 5
    shares = ShownShares(
        np.array([1.0, 0.8, 0.5, 0.3, 0.9]), np.array([0.9, 1.0, 0.4, 0.5, 0.2]), 2000, 5000, 0.0004
    )
    S, delta = rng.uniform(0.5, 2, m), rng.uniform(0.1, 0.3, m)
    Z = shares.batch * delta + rng.standard_normal((draws, m)) * np.sqrt(
        shares.batch * S * shares.widths
    )
    squared = np.array([shares.effect(one, S) ** 2 for one in Z])
    expected = (delta**2).sum() / S.sum()
    assert squared.min() > 0  # none is cut off
    assert abs(squared.mean() - expected) < norm.isf(SURE) * squared.std() / np.sqrt(draws)
    alike = np.array([shares.standardised(one - shares.batch * delta) for one in Z])
    assert (alike**2).sum(axis=0) / (S * shares.width) == pytest.approx(
        np.full(m, draws), rel=(norm.isf(SURE) * np.sqrt(2 / draws))
    )


def test_nodes_that_too_few_rows_show_do_not_count():
    shares = ShownShares(np.array([1.0, 0.0, 0.05]), np.array([0.05, 1.0, 1.0]), 100, 400, 0.01)
    assert are_enough(shares.batch, 100).tolist() == [True, False, False]
    assert are_enough(shares.reference, 400).tolist() == [False, True, True]
    assert shares.effect(np.ones(3), np.ones(3)) == 0.0
    assert shares.standardised(np.ones(3))[1] == 0.0


@pytest.mark.parametrize("metric", ["standardized", ("euclidean", "standardized", "whitened")])
@pytest.mark.parametrize("count", [4, 8])
def test_a_column_that_few_reference_rows_show_is_compared_with_these(metric, count):
    """In 40 rows that show it the first column does not vary; in 100 of the batch, which all do, `count` are another.

    The 960 rows without it say nothing: the p-value is that of 40 rows.
    """
    leaves = [InputRegion(v, [[1 - p, p], [p, 1 - p]]) for v, p in enumerate((0.02, 0.5, 0.5))]
    circuit = Circuit(
        VTree([3, 3, 3, -1], [0, 1, 2, -1]), [*leaves, InnerRegion([[0, 0, 0]], [[1.0]])]
    )

    def pvalue(num_rows):
        rows = np.column_stack(
            [
                np.where(np.arange(num_rows) < 40, 0, -1),
                np.arange(num_rows) % 2,
                np.arange(num_rows) // 2 % 2,
            ]
        )
        batch = np.column_stack(
            [np.arange(100) < count, np.arange(100) % 2, np.arange(100) // 2 % 2]
        ).astype(int)
        inner = HLDTest(
            circuit,
            metric=metric,
            reference="training",
            null="auto",
            training_data=rows,
            num_resamples=9,
            rng=0,
        )
        return conditional_test(inner, rows, np.arange(3) == 2, seed=0)(batch).pvalue

    assert pvalue(1000) == pytest.approx(pvalue(40), rel=0.1)
    assert pvalue(1000) > 0.05
