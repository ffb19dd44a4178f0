"""Small matrix products over the rows of a tile, for all remainders of four."""

import numpy as np
import pytest
from engines import door

from pcircuit.kernels.tile import STRIDE

SIZES = [1, 3, 4, 5, 8]


def tile(rng, units):
    """(units, STRIDE) values, flat as the kernels have them."""
    return rng.uniform(0.5, 2.0, (units, STRIDE))


@pytest.mark.parametrize("K", SIZES)
@pytest.mark.parametrize("P", SIZES)
def test_mixing_is_a_matrix_product(K, P, rng):
    from pcircuit.kernels.mix import mix

    rows, first, out, start = 5, 2, P + 3, 3
    values = tile(rng, P + K + 4)
    before = values.copy()
    weights = rng.uniform(size=start + K * P + 2)
    door(mix)(weights, start, P, 1, K, P, values.ravel(), first, values.ravel(), out, rows)
    matrix = weights[start : start + K * P].reshape(K, P)
    np.testing.assert_allclose(
        values[out : out + K, :rows], matrix @ before[first : first + P, :rows], rtol=1e-14
    )
    untouched = np.ones(len(values), dtype=bool)
    untouched[out : out + K] = False
    np.testing.assert_array_equal(values[untouched], before[untouched])
    np.testing.assert_array_equal(values[:, rows:], before[:, rows:])
    target = np.zeros((P + 1) * STRIDE)  # the transpose, into another array
    door(mix)(
        weights, start, 1, P, P, K, before.ravel(), first if K <= P + 1 else 0, target, 1, rows
    )
    source = before[first if K <= P + 1 else 0 :][:K, :rows]
    np.testing.assert_allclose(target.reshape(-1, STRIDE)[1:, :rows], matrix.T @ source, rtol=1e-14)


@pytest.mark.parametrize("K", SIZES)
@pytest.mark.parametrize("P", SIZES)
def test_dots_are_added_to_what_is_there(K, P, rng):
    from pcircuit.kernels.mix import dot

    rows, start = 6, 2
    left, right = tile(rng, K + 1), tile(rng, P + 2)
    result = rng.uniform(size=start + K * P + 1)
    before = result.copy()
    door(dot)(K, P, left.ravel(), 1, right.ravel(), 2, rows, result, start)
    expected = before.copy()
    expected[start : start + K * P] += (left[1 : 1 + K, :rows] @ right[2 : 2 + P, :rows].T).ravel()
    np.testing.assert_allclose(result, expected, rtol=1e-14)
