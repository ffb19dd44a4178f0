"""Sums over the products that take the same unit: a product with a matrix of zeros and ones."""

import numpy as np
import pytest

from pcircuit.inference.unit_sums import by_unit


@pytest.mark.parametrize(
    ("units", "num_units"),
    [
        ([2, 0, 2, 1], 4),
        ([0, 0, 0], 1),
        ([1, 0], 2),
        ([0, 1], 3),
        ([1, 2], 3),
        ([0, 1, 2, 2], 3),
        ([0, 1, 2], 3),
    ],
)
@pytest.mark.parametrize("N", [0, 1, 5])
def test_values_are_summed_by_the_unit_that_each_takes(units, num_units, N, rng):
    values = rng.integers(1, 9, (len(units), N)).astype(float)
    before = values.copy()
    takes = np.arange(num_units)[:, None] == units  # (units, P)
    np.testing.assert_array_equal(by_unit(values, np.array(units), num_units), takes @ before)
    np.testing.assert_array_equal(values, before)


def test_a_unit_to_each_product_in_order_copies_nothing():
    values = np.ones((3, 2))
    assert by_unit(values, np.arange(3), 3) is values
    assert by_unit(values, np.array([0, 2, 1]), 3) is not values
