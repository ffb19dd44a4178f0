"""Random cuts: every row in one part, no part too small, cut where the columns allow it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcircuit.learning.choosing.random_cuts import random_parts


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 80), st.integers(1, 6), st.integers(1, 40))
def test_parts_divide_the_rows_and_none_is_too_small(seed, N, V, num_parts):
    rng = np.random.default_rng(seed)
    table = rng.integers(-1, 4, size=(N, V))
    parts = random_parts(table, num_parts, rng)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(N))
    assert all((np.diff(part) > 0).all() for part in parts)
    assert len(parts) <= num_parts
    assert min(map(len, parts)) >= N / num_parts


@pytest.mark.parametrize("num_parts", [2, 4, 16])
def test_columns_that_allow_it_are_cut_to_the_end(num_parts):
    """Four balanced columns in every combination: sixteen equal rows of each, cut into as many parts as asked for."""
    table = np.repeat(np.array([[i >> k & 1 for k in range(4)] for i in range(16)]), 16, axis=0)
    parts = random_parts(table, num_parts, np.random.default_rng(3))
    assert [len(part) for part in parts] == [256 // num_parts] * num_parts
    for part in parts:
        assert (np.ptp(table[part], axis=0) == 0).sum() == np.log2(
            num_parts
        )  # what was asked has one answer


def test_columns_without_a_cut_are_passed_over():
    """Constant, nearly constant and empty columns cannot divide the rows; one that can is found behind them."""
    table = np.column_stack(
        [np.zeros(20), np.arange(20) == 0, np.full(20, -1), np.arange(20) % 2]
    ).astype(int)
    for seed in range(10):
        parts = random_parts(table, 2, np.random.default_rng(seed))
        assert sorted(tuple(np.unique(table[part, 3])) for part in parts) == [(0,), (1,)]
    assert len(random_parts(table[:, :3], 4, np.random.default_rng(0))) == 1


def test_rows_without_the_value_go_with_the_larger_side():
    table = np.array([[0]] * 6 + [[1]] * 4 + [[-1]] * 3)
    parts = random_parts(table, 4, np.random.default_rng(0))
    assert sorted(map(len, parts)) == [4, 9]
