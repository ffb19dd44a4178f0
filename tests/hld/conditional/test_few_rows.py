"""Batches of few rows given covariates: ranks among reference rows, and rows beyond all of these."""

import math
from dataclasses import replace

import binomial_bounds
import numpy as np
import pytest
from rare_rows import GIVEN, inner_of, rare

from hld.testing.conditional.conditional_test import conditional_test
from hld.testing.conditional.few_rows import (
    MOST_JUDGED,
    farthest_rows,
    odd_rows,
    rank_of_single,
    single_pvalues,
    together,
    with_odd_rows,
)


def rarer(n, rng):
    """Rows of which two of a hundred have a one in each column."""
    return rare(n, rng, share=0.02)


def bursts(n, rng):
    """The same covariate, and five columns that are mostly one together, in a tenth of the rows."""
    share = np.where(rng.random((n, 1)) < 0.1, 0.4, 0.01)
    return np.concatenate([rng.random((n, 1)) < 0.5, rng.random((n, 5)) < share], axis=1).astype(
        int
    )


def by_law(test):
    """The test without ranks of few rows."""
    return replace(test, singles=np.zeros(0), num_ranked=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "k", "T", "alpha"),
    [(rarer, 100, 2, 0.1), (bursts, 12, 3, 0.02), (bursts, 12, 4, 0.02)],
)
def test_few_rows_keep_the_level_where_residuals_are_large_in_few_rows(
    rows, k, T, alpha, monkeypatch
):
    """Each reference judges one batch: trials are independent.  The law alone rejects two to six times as many."""
    monkeypatch.setattr("hld.testing.conditional.conditional_test.MOST_TOGETHER", 3)
    inner, rng, trials = inner_of(rows), np.random.default_rng(1), 600
    found = {True: [], False: []}
    for _ in range(trials):
        test, batch = conditional_test(inner, rows(k, rng), GIVEN, seed=0), rows(T, rng)
        for is_old, one in ((True, by_law(test)), (False, test)):
            object.__setattr__(
                one, "covariate_pvalue", lambda batch: 1.0
            )  # which costs most of the time
            found[is_old].append(one(batch).pvalue)
    assert sum(p <= alpha for p in found[False]) <= binomial_bounds.at_most(trials, alpha)
    assert sum(p <= alpha for p in found[True]) > binomial_bounds.at_most(trials, alpha)


def test_rows_that_are_all_odd_are_found():
    test = conditional_test(inner_of(rarer), rarer(100, np.random.default_rng(2)), GIVEN, seed=0)
    for T in (2, 5, 8):
        batch = np.ones((T, 6), dtype=int)
        assert test(batch).pvalue <= 0.01
        batch[1:, 1:] = 0  # one such row is in the batch with probability T / (k + T)
        assert test(batch).pvalue >= max(T / (100 + T), by_law(test)(batch).pvalue)


@pytest.mark.parametrize(("k", "T"), [(20, 5), (100, 2), (1000, 5)])
def test_ranks_of_exchangeable_rows_are_combined_into_a_p_value(k, T):
    """Rows with continuous numbers, ranked among the same k others."""
    rng, trials = np.random.default_rng(k), 4000
    known, own = np.sort(rng.random((trials, k))), rng.random((trials, T))
    ranks = (1 + (known[:, None] <= own[:, :, None]).sum(axis=2)) / (1 + k)
    found = np.array([together(one, k) for one in ranks])
    for alpha in (0.2, 0.05, 0.01):
        assert (found <= alpha).sum() <= binomial_bounds.at_most(trials, alpha)
    assert together(ranks[0, :1], k) == pytest.approx(ranks[0, 0])
    assert together(np.full(T, 1 / (1 + k)), k) == pytest.approx(T / math.comb(k + T, T))


def test_rows_beyond_all_of_the_reference():
    inner = inner_of(rarer)
    metrics, rng = inner.calibration.metrics, np.random.default_rng(0)
    found, leverage = rng.random((5, len(inner.nodes))), np.array([0.0, 0.5, 0.0, 0.0, 1.0])
    k, farthest = farthest_rows(metrics, found, leverage)
    squares = (metrics[0].apply(found) ** 2).sum(axis=1)
    assert k == 4
    assert farthest == pytest.approx(max(squares[0], 2 * squares[1], squares[2], squares[3]))
    assert odd_rows(metrics, found[:1], np.zeros(1), squares[:1] * 1.001).tolist() == [[False]]
    assert odd_rows(metrics, found[:1], np.ones(1), squares[:1] * 0.501).tolist() == [[False]]
    assert odd_rows(metrics, found[:1], np.ones(1), squares[:1] * 0.499).tolist() == [[True]]
    odd, small = np.array([[True, True, False]]), np.array([0.001])
    assert with_odd_rows(small, odd, 7, lambda rows: [0.9]) == pytest.approx(3 / 10 * 2 / 9)
    assert with_odd_rows(small, odd, 7, lambda rows: [0.01]) == 0.01
    assert with_odd_rows(np.array([0.5]), odd, 7, lambda rows: [0.9]) == 0.5
    assert with_odd_rows(small, odd[:, :2], 7, None) == pytest.approx(2 / 9 * 1 / 8)
    assert with_odd_rows(small, ~odd[:, :2], 7, None) == small


@pytest.fixture(scope="module")
def inner():
    return inner_of(rare)


@pytest.mark.slow
@pytest.mark.thorough
def test_single_rows_keep_the_level_where_residuals_are_large_in_few_rows(inner):
    """Each reference judges one row: trials are independent.  By the law alone a fifth of the rows were rejected."""
    rng, trials = np.random.default_rng(1), 500
    found = {True: [], False: []}
    for _ in range(trials):
        test = conditional_test(inner, rare(100, rng), GIVEN, seed=0)
        row = rare(1, rng)
        for by_law in found:
            one = replace(test, singles=np.zeros(0)) if by_law else test
            object.__setattr__(
                one, "covariate_pvalue", lambda batch: 1.0
            )  # which costs most of the time
            found[by_law].append(one(row).pvalue)
    for alpha in (0.1, 0.05, 0.02):
        assert sum(p <= alpha for p in found[False]) <= binomial_bounds.at_most(trials, alpha)
    assert sum(p <= 0.1 for p in found[True]) > binomial_bounds.at_most(trials, 0.1)
    assert sum(p <= 0.3 for p in found[False]) >= binomial_bounds.at_least(
        trials, 0.1
    )  # nor is it no test


def test_rows_are_judged_as_if_they_had_not_been_in_the_reference(inner):
    """Against tests without the row, whose regression is another one; their covariance, too, so that ranks differ."""
    reference = rare(60, np.random.default_rng(3))
    test = conditional_test(inner, reference, GIVEN, seed=0)
    assert len(test.singles) == 60
    without = []
    for i in range(60):
        one = replace(
            conditional_test(inner, np.delete(reference, i, axis=0), GIVEN, seed=0),
            singles=np.zeros(0),
        )
        object.__setattr__(one, "covariate_pvalue", lambda batch: 1.0)
        without.append(one(reference[i : i + 1]).pvalue)
    np.testing.assert_allclose(test.singles, np.sort(without), atol=0.05)


def test_rows_that_alone_decide_what_is_subtracted_are_left_out():
    n = MOST_JUDGED + 500
    found, rows = single_pvalues(
        lambda rows, shown, leverage: rows.max(axis=(1, 2)),
        np.full((n, 1), 0.25),
        np.ones((n, 1), bool),
        np.where(np.arange(n) < 3, 1.0, 0.5),
    )
    assert found.tolist() == [0.5] * MOST_JUDGED
    assert len(set(rows.tolist())) == MOST_JUDGED
    assert rows.min() == 3


@pytest.mark.parametrize("holes", [0.0, 0.3])
def test_many_batches_are_judged_as_one_by_one(inner, holes):
    """Through the law of one batch, whose tails are other code."""
    rng = np.random.default_rng(6)
    reference = rare(100, rng)
    reference[rng.random(reference.shape) < holes] = -1
    test = conditional_test(inner, reference, GIVEN, seed=0)
    rows = rng.normal(size=(7, 3, len(inner.nodes))) * test.stds
    shown, leverages = rng.random(rows.shape) > holes, rng.random(7)
    together = test._judged(rows, shown, leverages)[2]
    for each, batch, seen, leverage in zip(together, rows, shown, leverages, strict=True):
        np.testing.assert_allclose(each, test._judged(batch, seen, float(leverage))[2], rtol=1e-9)


def coins(n, rng):
    """(n, 6) a covariate and a column that are fair coins, and four columns that are one in two of a hundred rows."""
    return np.concatenate([rng.random((n, 2)) < 0.5, rng.random((n, 4)) < 0.02], axis=1).astype(int)


@pytest.mark.slow
def test_rows_that_show_what_few_others_do_keep_the_level():
    """A column is missing in 960 of 1,000 reference rows: beside these every complete row was odd."""
    inner, trials, found = inner_of(coins), 240, {True: [], False: []}
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        reference, row = coins(1000, rng), coins(1, rng)
        reference[40:, 1] = -1
        test = conditional_test(inner, reference, GIVEN, seed=0)
        for without in found:
            one = replace(test, bits=np.full_like(test.bits, 255)) if without else test
            object.__setattr__(
                one, "covariate_pvalue", lambda batch: 1.0
            )  # which costs most of the time
            found[without].append(one(row).pvalue)
    for alpha in (0.1, 0.3):
        assert sum(p <= alpha for p in found[False]) <= binomial_bounds.at_most(trials, alpha)
    assert sum(p <= 0.3 for p in found[True]) > binomial_bounds.at_most(trials, 0.3)
    assert sum(p <= 0.3 for p in found[False]) >= binomial_bounds.at_least(trials, 0.15)


def test_a_row_that_shows_more_than_any_other_is_not_odd():
    singles, bits = np.array([0.01, 0.5]), np.packbits([[1, 0, 1], [0, 1, 1]], axis=1)
    assert rank_of_single(0.001, singles, bits, np.array([True, True, True])) == 1.0
    assert rank_of_single(0.1, singles, bits, np.array([True, False, True])) == 1.0
    assert rank_of_single(0.1, singles, bits, np.array([False, True, False])) == 0.5
    assert rank_of_single(0.1, singles, bits, np.zeros(3, bool)) == pytest.approx(2 / 3)


def test_p_values_that_differ_by_rounding_alone_are_ties():
    singles, bits, shown = np.array([0.01, 0.5]), np.full((2, 1), 255, np.uint8), np.ones(3, bool)
    near = (0.01 * (1 - 1e-12), 0.01 * (1 - 1e-5))
    found = [rank_of_single(p, singles, bits, shown) for p in near]
    assert found == pytest.approx([2 / 3, 1 / 3])
