"""Given covariates: the level under moved covariates, power against what moves given them, the words, the file."""

from types import SimpleNamespace

import binomial_bounds
import numpy as np
import pytest
from scipy.stats import binom

import hld
import pcircuit
from hld.conditional.conditional_test import ConditionalTest, conditional_test
from hld.conditional.residuals import residuals

CIRCUIT = pcircuit.rat_spn([3] * 5, num_units=3, depth=2, rng=3)
GIVEN = np.arange(5) < 2


@pytest.fixture(scope="module")
def test_given():
    rows = pcircuit.sample(
        CIRCUIT, 20_000, rng=1
    )  # so many that their errors, the same in every trial, are small
    inner = hld.HLDTest(
        CIRCUIT,
        metric=("euclidean", "standardized"),
        null="exact",
        reference="training",
        training_data=rows,
        rng=0,
    )
    return conditional_test(inner, rows, GIVEN, seed=0)


def moved(T, rng, changed=False):
    """T rows with other covariates; changed given them, if that is asked for."""
    rows = pcircuit.sample(CIRCUIT, 8 * T, rng=rng)
    weights = np.exp(1.2 * (rows[:, 0] == 0) + 0.8 * (rows[:, 1] == 1))
    rows = rows[rng.choice(len(rows), T, replace=False, p=weights / weights.sum())]
    if changed:
        rows[rng.random(T) < 0.7, 3] = 0
    return rows


@pytest.mark.thorough
@pytest.mark.parametrize("T", [8, 60, 400])
def test_moved_covariates_keep_the_level(test_given, T):
    rng, trials = np.random.default_rng(T), 100
    found = [_pvalue(test_given, moved(T, rng)) for _ in range(trials)]
    assert sum(p <= 0.05 for p in found) <= binomial_bounds.at_most(trials, 0.05)
    assert sum(p <= 0.3 for p in found) >= binomial_bounds.at_least(
        trials, 0.05
    )  # nor is it no test


def _pvalue(test, rows):
    """The conditional p-value without that of the covariates, which costs most of the time."""
    quick = ConditionalTest(**vars(test))
    object.__setattr__(quick, "covariate_pvalue", lambda batch: 1.0)
    return quick(rows).pvalue


@pytest.mark.parametrize(("T", "k"), [(1, 4), (3, 2), (5, 5)])
def test_what_is_left_of_the_excess_of_a_row_in_a_difference_of_averages(T, k):
    """For rows that are 1 with probability 0.2, by enumeration of how many are."""
    p, batch, reference = (
        0.2,
        binom(T, 0.2).pmf(np.arange(T + 1)),
        binom(k, 0.2).pmf(np.arange(k + 1)),
    )
    values, chances = (
        np.arange(T + 1)[:, None] / T - np.arange(k + 1) / k,
        np.outer(batch, reference),
    )
    variance = (chances * values**2).sum()
    excess = (chances * values**4).sum() / variance**2 - 3
    of_a_row = (1 - 6 * p * (1 - p)) / (p * (1 - p))
    _, share, left = ConditionalTest._spread(
        SimpleNamespace(num_rows=k), np.zeros((T, 1)), np.zeros(1), T, 1 / T + 1 / k
    )
    assert left == pytest.approx(excess / of_a_row, rel=1e-9)
    assert (share == 0) == (T == 1)


def test_what_moved_is_said(test_given):
    rng = np.random.default_rng(0)
    calm, covariates = pcircuit.sample(CIRCUIT, 300, rng=5), moved(300, rng)
    both = moved(300, rng, changed=True)
    rest = calm.copy()
    rest[rng.random(300) < 0.5, 3] = 0
    for rows, said, words in (
        (calm, "nothing", "neither the covariates nor the rest"),
        (covariates, "covariates", "(covariate shift)"),
        (rest, "conditional", "(concept drift)"),
        (both, "both", "the covariates moved, and the rest given them changed"),
    ):
        found = test_given(rows)
        assert f'"{found.null}" where it was judged given covariates' in hld.HLDResult.__doc__
        assert found.context.moved == said
        assert words in str(found)
        assert found.reject == (said in ("conditional", "both"))
        assert found.to_dict()["context"]["moved"] == said
    assert test_given.inner(covariates).reject


def test_the_regression_takes_off_what_single_covariates_explain(test_given):
    rows = pcircuit.sample(CIRCUIT, 20_000, rng=1)
    functions = test_given.functions(rows)
    assert functions.shape[1] == 1 + 4 + 4 + 16
    rank = np.linalg.matrix_rank(functions)
    assert rank == 9  # all that two covariates of three values can be
    left = residuals(CIRCUIT, test_given.inner.nodes, rows, GIVEN) - functions @ test_given.beta
    np.testing.assert_allclose(functions.T @ left, 0, atol=1e-9)
    found = left.std(axis=0) * np.sqrt(20_000 / (20_000 - rank))
    np.testing.assert_allclose(found, test_given.stds, rtol=1e-9, atol=1e-12)


def test_a_wrong_circuit_is_made_up_for():
    """Rows of another source: the circuit knows neither the covariates nor what depends on each of them."""
    rng = np.random.default_rng(6)

    def rows(n, p):
        x = (rng.random((n, 2)) < p).astype(int)
        y = (rng.random((n, 3)) < 0.2 + 0.5 * x[:, :1] + 0.2 * x[:, 1:]).astype(int)
        return np.concatenate([x, y], axis=1)

    old = rows(1500, 0.5)
    inner = hld.HLDTest(CIRCUIT, null="exact", reference="training", training_data=old, rng=0)
    test, trials = conditional_test(inner, old, GIVEN, seed=0), 100
    found = sum(_pvalue(test, rows(300, [0.2, 0.7])) <= 0.05 for _ in range(trials))
    assert found <= binomial_bounds.at_most(trials, 0.05)


# -- detectors ---------------------------------------------------------------------------------------------------


def table(n, seed, share=0.5, effect=0.6):
    rng = np.random.default_rng(seed)
    age = (rng.random(n) < share).astype(int)
    return {
        "age": age,
        "site": rng.integers(0, 3, n),
        "label": (rng.random(n) < 0.2 + effect * age).astype(int),
    }


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(
        num_latents=2, num_epochs=10, covariates=["age", "site"], null="exact"
    ).fit(table(3000, 0))


@pytest.mark.thorough
def test_a_detector_with_covariates(detector, tmp_path):
    shift, drift = detector.test(table(500, 1, share=0.8)), detector.test(table(500, 2, effect=0.3))
    assert (shift.reject, shift.context.moved) == (False, "covariates")
    assert (drift.reject, drift.context.moved) == (True, "conditional")
    assert "covariates: 2 of 3 columns, which may move" in detector.describe()
    detector.save(tmp_path / "model.hld")
    again = hld.load(tmp_path / "model.hld")
    assert again.test(table(500, 2)).to_dict() == detector.test(table(500, 2)).to_dict()
    assert list(again.covariates) == ["age", "site"]


@pytest.mark.parametrize(
    ("covariates", "options", "said"),
    [
        (["age", "site", "label"], {}, "names all 3 columns: leave out those that are tested"),
        (
            ["height"],
            {},
            "`covariates` names the column 'height', expected one of 'age', 'site', 'label'",
        ),
        ([], {}, "names no column"),
        (["age"], {"reference": "circuit"}, "use reference='held-out', found reference='circuit'"),
        (["age"], {"metric": "score"}, "has no conditional expectation"),
    ],
)
def test_bad_covariates_are_refused(covariates, options, said):
    with pytest.raises(ValueError, match=said):
        hld.HLDDetector(num_epochs=1, covariates=covariates, **options).fit(table(200, 3))


def test_groups_and_covariates_are_two_detectors():
    with pytest.raises(ValueError, match="fit one detector for each"):
        hld.HLDDetector(covariates=["age"]).fit(table(200, 3), groups="site")


@pytest.mark.parametrize("first", [0, 1])
def test_a_long_batch_in_which_two_sorts_of_rows_alternate_varies_as_both_do(first):
    own = np.random.default_rng(0).normal(size=(4_000, 3))
    own[first::2] = 0.0
    rows, _, _ = ConditionalTest._spread(
        SimpleNamespace(num_rows=100), own, own.mean(axis=0), len(own), 1.0
    )
    assert (rows**2).mean() == pytest.approx(own.var(axis=0).mean(), rel=0.15)
