"""Compiled tables over pairs of units, against the twin of whole arrays."""

import numpy as np
import pytest
import scipy.sparse
from engines import doors

from pcircuit.moments import unit_pairs as twin
from pcircuit.moments.kernels import unit_pairs

kernels = doors(unit_pairs)


def symmetric(rng, K, n):
    """(K, K, n) random tables."""
    tables = rng.standard_normal((K, K, n))
    return tables + tables.swapaxes(0, 1)


def as_csr(weights):
    """Pointer, column and value as the kernels take them."""
    stored = scipy.sparse.csr_array(weights)
    return stored.indptr.astype(np.int64), stored.indices.astype(np.int64), stored.data


def test_pairs_have_the_same_numbers():
    pairs = [(a, b) for a in range(5) for b in range(5)]
    assert [kernels.pair_number(a, b) for a, b in pairs] == [
        int(twin.pair_numbers(a, b)) for a, b in pairs
    ]


@pytest.mark.parametrize("stored", [0, 1, 3, 4, 5, 9])
def test_rows_are_combined_whatever_their_number_is_modulo_four(stored, rng):
    table, value, column = rng.random((9, 3)), rng.random(stored + 2), rng.permutation(9)
    column = np.concatenate([[7], column[:stored], [7]])
    out = np.full(3, np.nan)
    kernels.combine(1, 1 + stored, column, value, table, out)  # neither the first nor the last
    np.testing.assert_allclose(out, value[1:-1] @ table[column[1:-1]], rtol=1e-14)


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_mixed_tables_are_those_of_the_twin(share, rng):
    weights = rng.random((3, 6)) * (rng.random((3, 6)) < share)
    weights[1] = 0.0  # a sum without products
    tables = symmetric(rng, 6, 4)
    np.testing.assert_allclose(
        kernels.mix(tables, *as_csr(weights)), twin.mix(tables, weights), rtol=1e-13, atol=1e-15
    )


@pytest.mark.parametrize("n", [5, 1 + 2 * (twin.BLOCK // 36)])  # columns in one block, or in three
def test_lifted_tables_are_those_of_the_twin(n, rng):
    weights, units, factor = (
        rng.random((3, 6)),
        rng.integers(4, size=6),
        symmetric(rng, 6, 1)[:, :, 0],
    )
    columns = twin.as_pairs(symmetric(rng, 4, n))
    found = kernels.lift(columns, units, factor, *as_csr(weights))
    np.testing.assert_allclose(
        found, twin.lift(columns, units, factor, weights), rtol=1e-12, atol=1e-12
    )
    assert kernels.lift(columns[:, :0], units, factor, *as_csr(weights)).shape == (6, 0)


@pytest.mark.parametrize(("N", "rank"), [(5, 5), (40, 3), (3, 0)])
def test_factors_of_gram_matrices_are_those_of_the_twin(N, rank, rng):
    columns = rng.standard_normal((N, rank)) * 10.0 ** -rng.integers(0, 90, (N, 1))
    gram = columns @ columns.T
    found, expected = kernels.gram_factor(gram), twin.gram_factor(gram)
    assert found.shape == expected.shape == (N, rank)
    size = np.sqrt(np.diag(gram))[:, None]
    size[size == 0] = 1.0
    np.testing.assert_allclose(found / size, expected / size, atol=1e-12)
