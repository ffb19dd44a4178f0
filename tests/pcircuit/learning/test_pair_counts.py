"""Counts of pairs, against loops."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_tables import naive_counts, random_table

from pcircuit.learning import pair_counts as paircount

seeds = st.integers(0, 2**32 - 1)


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


def test_counts_of_one_pair(rng):
    data, categories = random_table(rng, num_rows=50, num_variables=4, missing=0.2)
    for i, j in itertools.product(range(4), repeat=2):
        table = paircount.pair_counts(data, categories, i, j)
        assert np.array_equal(table, naive_counts(data, categories, i, j))


@given(seeds)
def test_sums_of_checked_weights_do_not_depend_on_their_order(seed):
    rng = np.random.default_rng(seed)
    weights = rng.random(int(rng.integers(1, 200))) * 10.0 ** rng.integers(-8, 8)
    checked = paircount.checked_weights(weights, len(weights))
    np.testing.assert_allclose(checked, weights, rtol=0, atol=2**-51 * weights.sum())
    assert len({checked[rng.permutation(len(checked))].sum() for _ in range(5)}) == 1
