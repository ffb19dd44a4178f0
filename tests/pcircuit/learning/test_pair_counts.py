"""Mutual information of pairs, against the textbook's formula and worked values."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_tables import naive_counts, naive_information, random_table, recoded

from pcircuit.learning import pair_counts as paircount
from pcircuit.learning.pair_counts import information_of_block, mutual_information

seeds = st.integers(0, 2**32 - 1)


def test_columns_never_present_together_share_nothing_and_the_pseudocount_does_not_change_that(
    engine,
):
    data, categories = np.array([[0, -1, -1], [1, -1, -1], [-1, 2, -1]]), np.array([2, 3, 1])
    for pseudocount in (0.0, 1.0):
        information = mutual_information(data, categories, pseudocount, None)
        np.testing.assert_allclose(information - np.diag(np.diag(information)), 0, atol=1e-14)


@pytest.mark.parametrize("pseudocount", [0.1, 1e-3, 1e-9])
def test_columns_never_present_together_share_nothing_beside_many_rows(rng, engine, pseudocount):
    """Steps are as large as all rows ask for: divided by a small pseudocount they came to as much as 4 nats."""
    data = rng.integers(5, size=(20_000, 3))
    data[:, 1], data[:, 2] = data[:, 0] > 1, -1
    information = mutual_information(data, np.array([5, 2, 5]), pseudocount, None)
    assert information[2].tolist() == information[:, 2].tolist() == [0, 0, 0]
    assert information[0, 1] > 0.6


def test_tables_of_two_groups_side_by_side_give_the_pairs_between_them(rng):
    data, categories = random_table(rng, num_rows=30, num_variables=5, missing=0.2)
    rows, columns = np.array([3, 0, 4]), np.array([2, 1])
    counts = np.block([[naive_counts(data, categories, i, j) for j in columns] for i in rows])
    found = information_of_block(counts, categories[rows], categories[columns], 0.5, 2.0**-45)
    expected = naive_information(data, categories, 0.5)
    np.testing.assert_allclose(found, expected[np.ix_(rows, columns)], atol=1e-12)


@given(seeds, st.sampled_from([0.0, 0.1, 4.0]), st.sampled_from([0.0, 0.4]), st.booleans())
def test_mutual_information_is_the_textbook_formula(seed, pseudocount, missing, weighted):
    rng = np.random.default_rng(seed)
    data, categories = random_table(rng, missing=missing)
    weights = rng.random(len(data)) + 0.01 if weighted else None
    checked = paircount.checked_weights(weights, len(data))
    information = mutual_information(data, categories, pseudocount, checked)
    np.fill_diagonal(information, 0)
    expected = naive_information(data, categories, pseudocount, weights)
    difference = np.abs(information - expected)
    assert (
        difference <= 1e-12 * np.abs(expected) + rounding(data, categories, pseudocount, weights)
    ).all()


def rounding(data, categories, pseudocount, weights):
    """(V, V) bounds of what rounding each f to half a step does; larger where few rows show both variables."""
    counted = np.ones(len(data)) if weights is None else weights
    total = counted.sum() + pseudocount
    step = np.spacing(total * (1 + abs(np.log(total)) + 2 * np.log(categories.max()))) * 4
    together = (data >= 0).T @ (counted[:, None] * (data >= 0)) + pseudocount
    cells = np.multiply.outer(categories, categories) + np.add.outer(categories, categories)
    return np.where(together > 0, cells * step / 2 / np.where(together > 0, together, 1), 0) + 1e-14


@given(seeds, st.sampled_from([0.0, 0.1]), st.sampled_from([0.0, 0.3]))
def test_information_does_not_depend_on_the_order_of_anything(seed, pseudocount, missing):
    rng = np.random.default_rng(seed)
    data, categories = random_table(rng, missing=missing)
    weights = paircount.checked_weights(rng.random(len(data)) + 0.01, len(data))
    information = mutual_information(data, categories, pseudocount, weights)
    rows, columns = rng.permutation(len(data)), rng.permutation(len(categories))
    moved = recoded(rng, data, categories)[np.ix_(rows, columns)]
    again = mutual_information(moved, categories[columns], pseudocount, weights[rows])
    assert np.array_equal(again, information[np.ix_(columns, columns)])  # to the last bit
    assert np.array_equal(information, information.T)


@pytest.mark.parametrize("most_cells", [0, 10**9], ids=["codes", "product"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("small_blocks", [False, True])
def test_counts_of_all_pairs_are_exact(
    monkeypatch, rng, most_cells, missing, weighted, small_blocks
):
    monkeypatch.setattr(paircount, "MAX_PRODUCT_CELLS", most_cells)
    if small_blocks:  # several groups of variables, several blocks of rows
        monkeypatch.setattr(paircount, "BLOCK_CATEGORIES", 6)
        monkeypatch.setattr(paircount, "BLOCK_ENTRIES", 1)
    for _ in range(3):
        data, categories = random_table(rng, num_rows=700, num_variables=6, missing=missing)
        weights = rng.integers(0, 9, len(data)) / 8 if weighted else None  # eighths add up exactly
        checked = paircount.checked_weights(weights, len(data))
        seen = set()
        groups, complete = paircount.variable_groups(categories), paircount.complete_variables(data)
        for rows, columns in (
            (groups[g], other) for g in range(len(groups)) for other in groups[g:]
        ):
            counts = paircount.block_counts(data, categories, complete, checked, rows, columns)
            placed_i = zip(paircount.starts(categories[rows]), rows, strict=True)
            placed_j = zip(paircount.starts(categories[columns]), columns, strict=True)
            for (a, i), (b, j) in itertools.product(placed_i, placed_j):
                table = counts[a : a + categories[i], b : b + categories[j]]
                assert np.array_equal(table, naive_counts(data, categories, i, j, weights))
                seen |= {(i, j), (j, i)}
        assert seen == set(itertools.product(range(6), repeat=2))
