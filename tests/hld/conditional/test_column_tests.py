"""Columns given the covariates: their level under moved covariates, what is found, and what results say."""

import json
import math
from itertools import combinations

import binomial_bounds
import numpy as np
import pytest
from moved_covariates import CIRCUIT, GIVEN, moved
from rare_rows import GIVEN as RARE_GIVEN
from rare_rows import inner_of, rare

import hld
import pcircuit
from hld.answers.reports import batch_report
from hld.testing.conditional import few_rows
from hld.testing.conditional.conditional_test import ConditionalTest, conditional_test
from hld.testing.conditional.few_rows import least_pvalues


@pytest.fixture(scope="module")
def test_given():
    rows = pcircuit.sample(
        CIRCUIT, 8_000, rng=1
    )  # so many that their errors, the same in every trial, are small
    inner = hld.HLDTest(
        CIRCUIT, metric="euclidean", null="exact", reference="training", training_data=rows, rng=0
    )
    quick = ConditionalTest(**vars(conditional_test(inner, rows, GIVEN, seed=0)))
    object.__setattr__(quick, "covariate_pvalue", lambda batch: 1.0)  # costs most of the time
    return quick


@pytest.mark.parametrize("T", [8, 60, 400])
def test_columns_keep_the_level_when_covariates_move_and_when_another_column_does(test_given, T):
    rng, trials = np.random.default_rng(T), {8: 150, 60: 120, 400: 60}[T]
    calm = np.array([test_given(moved(T, rng)).column_pvalues for _ in range(trials)])
    odd = np.array(
        [test_given(moved(T, rng, changed=True)).column_pvalues for _ in range(trials // 3)]
    )
    assert np.isnan(calm[:, :, :2]).all()
    assert (calm[:, 1, 2:].min(axis=1) <= 0.05).sum() <= binomial_bounds.at_most(trials, 0.05)
    assert (calm[:, 0, 2:].min(axis=1) <= 0.5).sum() >= binomial_bounds.at_least(
        trials, 0.5
    )  # nor is it no test
    assert (odd[:, 1, [2, 4]].min(axis=1) <= 0.05).sum() <= binomial_bounds.at_most(len(odd), 0.05)
    assert (odd[:, 1, 3] <= 0.05).mean() >= {8: 0.0, 60: 0.9, 400: 1.0}[T]


def test_results_name_what_moved_and_not_what_may_move():
    rng = np.random.default_rng(0)

    def customers(n, young, loyal=0.7):
        age = np.where(rng.random(n) < young, "young", "old")
        return {
            "age": age,
            "x": rng.normal(size=n),
            "stays": rng.random(n) < np.where(age == "young", 0.3, loyal),
        }

    detector = hld.HLDDetector(num_epochs=3, num_latents=2, null="exact", covariates=["age"]).fit(
        customers(900, 0.3)
    )
    calm, changed = detector.test(customers(400, 0.8)), detector.test(customers(400, 0.3, 0.4))
    assert [one.adjusted > 0.05 for one in calm.columns] == [True, True, False]
    assert [one.name for one in changed.columns if one.adjusted <= 0.05] == ["stays"]
    assert changed.columns[2].name == "age"
    assert math.isnan(changed.columns[2].pvalue)
    assert changed.pairs == ()
    assert (
        "no column moved by itself at level 0.05 (p-values adjusted for 2 columns, given the covariates, Holm)\n"
        "age is a covariate and not tested: " in str(calm)
    )
    assert "1 of 2 columns moved (p-values adjusted, given the covariates, Holm; share" in str(
        changed
    )
    saved = json.loads(json.dumps(changed.to_dict(), allow_nan=False))["columns"]
    assert [one["adjusted_pvalue"] is None for one in saved] == [False, False, True]
    np.testing.assert_allclose(
        changed.columns[2].expected, detector.profile_.counts[0] / detector.profile_.num_rows
    )
    assert "covariates may move and are not tested" in batch_report(detector, changed)
    assert changed.to_frame()["pvalue"].isna().tolist() == [False, False, True]


ONE = [np.array([0])]


@pytest.fixture(scope="module")
def inner():
    return inner_of(rare)


@pytest.mark.parametrize("T", [1, 2, 10])
def test_some_column_of_five_is_called_moved_no_more_often_than_the_level(inner, T, monkeypatch):
    """Each reference judges one batch: trials are independent.  By the law alone up to a quarter were."""
    monkeypatch.setattr(few_rows, "MOST_JUDGED", 1)
    rng, trials = np.random.default_rng(1), 120
    found = []
    for _ in range(trials):
        test = conditional_test(inner, rare(30, rng), RARE_GIVEN, seed=0)
        object.__setattr__(test, "covariate_pvalue", lambda batch: 1.0)
        found.append(np.nanmin(test(rare(T, rng)).column_pvalues[1]))
    for alpha in (0.1, 0.05, 0.01):
        assert sum(p <= alpha for p in found) <= binomial_bounds.at_most(trials, alpha, 1e-4)


@pytest.mark.parametrize("T", [1, 2, 3])
def test_pvalues_are_those_of_all_ways_to_divide_the_rows(T):
    """Over all divisions of eleven rows P(p <= a) <= a, also with ties."""
    for values in (np.arange(11.0), np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 9.0])):
        found = []
        for batch in combinations(range(11), T):
            own = np.sqrt(values[list(batch)])[:, None]
            scores = np.sort(np.delete(values, batch))[None]
            found.append(least_pvalues(scores, own, np.zeros(T), ONE)[0])
        for a in found:
            assert np.mean(np.array(found) <= a + 1e-12) <= a + 1e-12


def test_longer_batches_are_ranked_where_tails_are_heavy():
    heavy, light = np.repeat([0.0, 1.0], [95, 5])[None], np.ones((1, 100))
    for T, ranked in (
        (5, (True, True)),
        (6, (True, False)),
        (20, (True, False)),
        (21, (False, False)),
    ):
        own = np.ones((T, 1))
        assert (
            tuple(least_pvalues(one, own, np.zeros(T), ONE)[0] > 0 for one in (heavy, light))
            == ranked
        )
