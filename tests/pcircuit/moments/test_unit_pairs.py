"""Columns of Gram matrices: as many as the rank, with the digits of small rows."""

import numpy as np
import pytest

from pcircuit.moments.unit_pairs import (
    gram_factor,
)


@pytest.mark.parametrize(("N", "rank"), [(5, 5), (40, 3), (4, 1), (3, 0)])
def test_columns_of_a_gram_matrix_are_as_many_as_its_rank(N, rank, rng):
    columns = rng.standard_normal((N, rank))
    factor = gram_factor(columns @ columns.T)
    assert factor.shape == (N, rank)
    np.testing.assert_allclose(factor @ factor.T, columns @ columns.T, atol=1e-13)


def test_small_rows_of_a_gram_matrix_are_as_precise_as_large_ones(rng):
    size = np.array([1.0, 1e-100, 1e-7, 0.0, 1e50])
    columns = size[:, None] * rng.standard_normal((5, 5))
    found = gram_factor(columns @ columns.T)
    scale = np.where(size > 0, size, 1.0)
    np.testing.assert_allclose(
        (found / scale[:, None]) @ (found / scale[:, None]).T,
        columns / scale[:, None] @ (columns / scale[:, None]).T,
        atol=1e-13,
    )
    assert not found[3].any()
    assert gram_factor(np.zeros((0, 0))).shape == (0, 0)
