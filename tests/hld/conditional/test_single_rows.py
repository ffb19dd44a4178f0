"""Single rows given covariates: ranks among the rows of the reference, which keep the level whatever residuals are."""

from dataclasses import replace

import binomial_bounds
import numpy as np
import pytest
from rare_rows import GIVEN, inner_of, rare

from hld.conditional import few_rows, single_rows
from hld.conditional.conditional_test import ConditionalTest, conditional_test
from hld.conditional.single_rows import MOST_ROWS, by_rank, rank_of_single, single_pvalues


@pytest.fixture(scope="module")
def inner():
    return inner_of(rare)


@pytest.mark.thorough
def test_single_rows_keep_the_level_where_residuals_are_large_in_few_rows(inner, monkeypatch):
    """Each reference judges one row: trials are independent.  By the law alone a fifth of the rows were rejected."""
    monkeypatch.setattr(few_rows, "NUM_GROUPS", 0)  # of more rows, which are not tested here
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


def test_rows_are_judged_as_if_they_had_not_been_in_the_reference(inner, monkeypatch):
    """Against tests without the row, whose regression is another one; their covariance, too, so that ranks differ."""
    monkeypatch.setattr(few_rows, "NUM_GROUPS", 0)
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


def test_longer_batches_do_not_have_the_ranks_of_single_rows(inner):
    test = conditional_test(inner, rare(100, np.random.default_rng(4)), GIVEN, seed=0)
    batch = rare(2, np.random.default_rng(5))
    assert test(batch).pvalue == replace(test, singles=np.zeros(0))(batch).pvalue


def test_files_hold_the_ranks_and_older_ones_do_not(inner):
    test = conditional_test(inner, rare(100, np.random.default_rng(4)), GIVEN, seed=0)
    row = np.array([[1, 1, 1, 0, 0, 1]])
    arrays = test.to_arrays()
    again = ConditionalTest.from_arrays(inner, arrays)
    assert again(row).pvalue == test(row).pvalue == 1 / 101
    singles = arrays.pop("singles")
    assert ConditionalTest.from_arrays(inner, arrays)(row).pvalue < 1 / 101
    for bad in (singles[::-1], singles - 1, singles + 1):
        with pytest.raises(ValueError, match="the p-values of single rows must ascend from 0 to 1"):
            ConditionalTest.from_arrays(inner, arrays | {"singles": bad})


def test_rows_that_alone_decide_what_is_subtracted_are_left_out():
    n = MOST_ROWS + 500
    found, rows = single_pvalues(
        lambda rows, shown, leverage: rows.max(axis=(1, 2)),
        np.full((n, 1), 0.25),
        np.ones((n, 1), bool),
        np.where(np.arange(n) < 3, 1.0, 0.5),
    )
    assert found.tolist() == [0.5] * MOST_ROWS
    assert len(set(rows.tolist())) == MOST_ROWS
    assert rows.min() == 3
    assert by_rank(0.25, np.zeros(0)) == 0.25


@pytest.mark.parametrize("holes", [0.0, 0.3])
def test_many_groups_are_judged_as_one_by_one(inner, holes, monkeypatch):
    """By blocks of any size, and through the law of one batch, whose tails are other code."""
    rng = np.random.default_rng(6)
    reference = rare(100, rng)
    reference[rng.random(reference.shape) < holes] = -1
    test = conditional_test(inner, reference, GIVEN, seed=0)
    monkeypatch.setattr(single_rows, "BLOCK_VALUES", 1)
    alone = conditional_test(inner, reference, GIVEN, seed=0)
    for one, other in zip(
        (test.singles, *test.several), (alone.singles, *alone.several), strict=True
    ):
        assert len(one) > 80
        np.testing.assert_allclose(one, other, rtol=1e-9)
    rows = rng.normal(size=(7, 3, len(inner.nodes))) * test.stds
    shown, leverages = rng.random(rows.shape) > holes, rng.random(7)
    together = test._judged(rows, shown, leverages)[2]
    for each, batch, seen, leverage in zip(together, rows, shown, leverages, strict=True):
        np.testing.assert_allclose(each, test._judged(batch, seen, float(leverage))[2], rtol=1e-9)


def coins(n, rng):
    """(n, 6) a covariate and a column that are fair coins, and four columns that are one in two of a hundred rows."""
    return np.concatenate([rng.random((n, 2)) < 0.5, rng.random((n, 4)) < 0.02], axis=1).astype(int)


def test_rows_that_show_what_few_others_do_keep_the_level(monkeypatch):
    """A column is missing in 960 of 1,000 reference rows: beside these every complete row was odd."""
    monkeypatch.setattr(few_rows, "NUM_GROUPS", 0)
    inner, trials, found = inner_of(coins), 300, {True: [], False: []}
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        reference, row = coins(1000, rng), coins(1, rng)
        reference[40:, 1] = -1
        test = conditional_test(inner, reference, GIVEN, seed=0)
        for without in found:
            one = replace(test, bits=test.bits[:0]) if without else test
            object.__setattr__(
                one, "covariate_pvalue", lambda batch: 1.0
            )  # which costs most of the time
            found[without].append(one(row).pvalue)
    for alpha in (0.1, 0.3):
        assert sum(p <= alpha for p in found[False]) <= binomial_bounds.at_most(trials, alpha)
    assert sum(p <= 0.3 for p in found[True]) > binomial_bounds.at_most(trials, 0.3)
    assert sum(p <= 0.3 for p in found[False]) >= binomial_bounds.at_least(trials, 0.15)


def test_which_nodes_the_ranked_rows_show_is_in_files(inner):
    reference, rng = rare(100, np.random.default_rng(7)), np.random.default_rng(8)
    reference[rng.random(reference.shape) < 0.2] = -1
    test = conditional_test(inner, reference, GIVEN, seed=0)
    m, arrays = len(inner.nodes), test.to_arrays()
    assert test.bits.shape == (len(test.singles), (m + 7) // 8)
    again = ConditionalTest.from_arrays(inner, arrays)
    for row in rare(5, rng)[:, None]:
        assert again(row).pvalue == test(row).pvalue
    for bad in (test.bits[1:], test.bits[:, 1:]):
        with pytest.raises(ValueError, match="bits"):
            ConditionalTest.from_arrays(inner, arrays | {"bits": bad})
    whole = conditional_test(inner, rare(100, rng), GIVEN, seed=0)
    assert "bits" not in whole.to_arrays()


def test_a_row_that_shows_more_than_any_other_is_not_odd():
    singles, bits = np.array([0.01, 0.5]), np.packbits([[1, 0, 1], [0, 1, 1]], axis=1)
    assert rank_of_single(0.001, singles, bits, np.array([True, True, True])) == 1.0
    assert rank_of_single(0.1, singles, bits, np.array([True, False, True])) == 1.0
    assert rank_of_single(0.1, singles, bits, np.array([False, True, False])) == 0.5
    assert rank_of_single(0.1, singles, bits, np.zeros(3, bool)) == pytest.approx(2 / 3)
