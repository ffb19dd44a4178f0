"""Mixtures of products of columns: against the sum over products, with weights of their own."""

import numpy as np
import pytest

from pcircuit import log_likelihood
from pcircuit.learning.products.product_mixture import product_mixture


@pytest.mark.parametrize(("S", "V"), [(1, 1), (300, 1), (5, 4), (600, 2)])
def test_the_mixture_is_the_weighted_sum_of_products(rng, S, V):
    columns = [rng.dirichlet(np.ones(C), size=S) for C in (2, 3, 4, 2)[:V]]
    weights = rng.random(S) + 0.01
    mixture = product_mixture(columns, weights)
    assert len(mixture.circuits) == -(-S // 256)
    rows = np.stack([rng.integers(column.shape[1], size=50) for column in columns], axis=1)
    products = np.prod([column[:, rows[:, v]] for v, column in enumerate(columns)], axis=0)
    np.testing.assert_allclose(
        np.exp(log_likelihood(mixture, rows)), weights @ products / weights.sum(), rtol=1e-12
    )
