"""Single columns of few rows given covariates: ranks among reference rows, where no law of means holds."""

from itertools import combinations

import binomial_bounds
import numpy as np
import pytest
from rare_rows import GIVEN, inner_of, rare

from hld.conditional import few_rows, single_rows
from hld.conditional.column_ranks import MOST_RANKED, column_scores, least_pvalues
from hld.conditional.conditional_test import ConditionalTest, conditional_test

ONE = [np.array([0])]


@pytest.fixture(scope="module")
def inner():
    return inner_of(rare)


@pytest.mark.parametrize("T", [1, 2, 10])
def test_some_column_of_five_is_called_moved_no_more_often_than_the_level(inner, T, monkeypatch):
    """Each reference judges one batch: trials are independent.  By the law alone up to a quarter were."""
    monkeypatch.setattr(few_rows, "NUM_GROUPS", 0)  # of the test of all columns
    monkeypatch.setattr(single_rows, "MOST_ROWS", 1)
    rng, trials = np.random.default_rng(1), 250
    found = []
    for _ in range(trials):
        test = conditional_test(inner, rare(30, rng), GIVEN, seed=0)
        object.__setattr__(test, "covariate_pvalue", lambda batch: 1.0)
        found.append(np.nanmin(test(rare(T, rng)).column_pvalues[1]))
    for alpha in (0.1, 0.05, 0.01):
        assert sum(p <= alpha for p in found) <= binomial_bounds.at_most(trials, alpha, 1e-4)


def test_a_column_that_moves_in_all_rows_is_found(inner):
    rng = np.random.default_rng(2)
    test, batch = conditional_test(inner, rare(300, rng), GIVEN, seed=0), rare(5, rng)
    batch[:, 3] = 1
    result = test(batch)
    assert np.nanargmin(result.column_pvalues[1]) == 3
    assert result.column_pvalues[1, 3] <= 0.01


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


def test_distances_are_those_of_rows_that_are_left_out():
    found, leverage = np.arange(1.0, 6.0)[:, None], np.array([0.5, 0.0, 0.0, 0.0, 1.0])
    assert column_scores(found, leverage, [np.array([0]), np.zeros(0, int)]).tolist() == [
        [2, 4, 9, 16],
        [0] * 4,
    ]
    assert least_pvalues(np.array([[1.0, 4.0]]), np.array([[2.0]]), np.array([0.001]), ONE) == [
        2 / 3
    ]
    assert column_scores(np.ones((500, 1)), np.zeros(500), ONE).shape == (1, MOST_RANKED)


def test_files_hold_the_distances_and_older_ones_do_not(inner):
    test = conditional_test(inner, rare(30, np.random.default_rng(4)), GIVEN, seed=0)
    arrays, batch = test.to_arrays(), np.array([[1, 1, 0, 0, 0, 0]])
    columns = arrays.pop("columns")
    again, older = (
        ConditionalTest.from_arrays(inner, one) for one in (arrays | {"columns": columns}, arrays)
    )
    np.testing.assert_array_equal(again(batch).column_pvalues, test(batch).column_pvalues)
    assert older(batch).column_pvalues[0, 1] < 1 / 31 <= test(batch).column_pvalues[0, 1]
    for bad in (columns[:, ::-1] + np.arange(30)[::-1], columns - 1):
        with pytest.raises(
            ValueError, match="distances of rows in single columns must ascend from 0"
        ):
            ConditionalTest.from_arrays(inner, arrays | {"columns": bad.astype(np.float32)})
