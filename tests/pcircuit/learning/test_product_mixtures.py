"""Mixtures of products of columns: against the sum over products, with weights of their own."""

import numpy as np
import pytest

from pcircuit import LearnSearch, Mixture, learn, log_likelihood
from pcircuit.learning.product_mixtures import product_mixture, row_kernels


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


def by_sum(rows, counts, categories, h, x):
    """The module's formula, entry by entry."""
    total = 0.0
    for row, count in zip(rows, counts, strict=True):
        product = count / counts.sum()
        for v, C in enumerate(categories):
            n = [counts[rows[:, v] == c].sum() + 1 / C for c in range(C)]
            if x[v] >= 0:
                m = n[x[v]] / sum(n)
                product *= m if row[v] < 0 else (1 - h) * (x[v] == row[v]) + h * m
        total += product
    return np.log(total)


@pytest.mark.parametrize("V", [1, 3])
@pytest.mark.parametrize("h", [0.05, 1.0])
def test_kernels_are_the_sum_over_rows(rng, V, h):
    categories = np.array([2, 3, 1])[:V]
    rows = np.unique(rng.integers(-1, categories, size=(12, V)), axis=0)
    counts = rng.integers(1, 4, size=len(rows)).astype(float)
    batch = rng.integers(-1, categories, size=(20, V))
    found = log_likelihood(row_kernels(rows, counts, categories, h), batch)
    np.testing.assert_allclose(
        found, [by_sum(rows, counts, categories, h, x) for x in batch], rtol=1e-12, atol=1e-14
    )


def nearly_copies(rng, originals, N):
    """Rows of thirty fair coins, each a row of the originals with one coin in fifty thrown again."""
    rows = originals[rng.integers(len(originals), size=N)]
    return np.where(rng.random(rows.shape) < 0.02, rng.integers(2, size=rows.shape), rows)


def test_learning_finds_rows_that_are_nearly_copies_of_others(rng):
    """A tenth of rows: of what the true density has over fair coins, kernels find more than half and trees next to
    nothing."""
    originals, coins = rng.integers(2, size=(60, 30)), 30 * np.log(0.5)

    def table(N):
        return np.concatenate(
            [nearly_copies(rng, originals, N // 10), rng.integers(2, size=(N - N // 10, 30))]
        )

    train, held, test = table(1000), table(500), table(1000)
    differ = (test[:, None] != originals).sum(axis=2)
    copies = (0.01**differ * 0.99 ** (30 - differ)).mean(axis=1)
    gain = np.log(0.9 * np.exp(coins) + 0.1 * copies).mean() - coins
    search = {
        "num_latents": [2],
        "pseudocounts": [0.1],
        "num_trees": 2,
        "num_parts": (),
        "num_points": 0,
        "num_epochs": 20,
    }
    found = []
    for bandwidths in ((), (0.03, 0.1)):
        learned = learn(train, held, search=LearnSearch(**search, bandwidths=bandwidths))
        assert [trial.pseudocount for trial in learned.trials if trial.name == "kernels"] == list(
            bandwidths
        )
        found.append((log_likelihood(learned.model, test).mean() - coins) / gain)
    assert isinstance(learned.mixture, Mixture)
    assert found[0] < 0.1
    assert 0.5 < found[1] <= 1
