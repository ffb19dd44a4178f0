"""Weights of models in a mixture: the maximum by another route, and models that are not needed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import logsumexp

from pcircuit.learning.choosing.stacking import best_weights, chosen_weights


def by_optimiser(logs):
    """The largest mean by a general optimiser, over weights that are a softmax."""

    def loss(free):
        weights = free - logsumexp(free)
        return -logsumexp(logs + weights[:, None], axis=0).mean()

    starts = np.zeros(len(logs)), np.eye(len(logs))[0] * 3
    options = {"xatol": 1e-8, "fatol": 1e-12, "maxiter": 20_000}
    return -min(
        minimize(loss, start, method="Nelder-Mead", options=options).fun for start in starts
    )


@pytest.mark.parametrize("num_models", [2, 3])
def test_the_weights_are_the_best(rng, num_models):
    logs = rng.normal(size=(num_models, 50)) - 0.3 * np.arange(num_models)[:, None]
    weights, mean = best_weights(logs, 1e-5)
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert mean == pytest.approx(
        logsumexp(logs + np.log(weights)[:, None], axis=0).mean(), abs=1e-12
    )
    assert by_optimiser(logs) - 1e-5 <= mean <= by_optimiser(logs) + 1e-9


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 4), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_no_single_model_and_no_equal_weights_are_better(num_models, num_rows, seed):
    logs = np.random.default_rng(seed).normal(scale=3, size=(num_models, num_rows))
    _, mean = best_weights(logs, 1e-3)
    equal = (logsumexp(logs, axis=0) - np.log(num_models)).mean()
    assert mean >= max(logs.mean(axis=1).max(), equal) - 1e-3
    weights, chosen = chosen_weights(logs, 1e-3)
    assert chosen <= mean + 1e-3
    assert chosen == pytest.approx(logsumexp(logs, b=weights[:, None], axis=0).mean(), abs=1e-9)
    assert weights.sum() == pytest.approx(1, abs=1e-9)
    assert ((weights == 0) | (weights >= 0.1 / num_models)).all()


def test_equal_models_keep_equal_weights(rng):
    logs = rng.normal(scale=1e-3, size=(4, 200))
    assert chosen_weights(logs, 1e-3)[0].tolist() == [0.25] * 4


def test_models_that_add_nothing_have_no_weight(rng):
    good = rng.normal(size=400)
    other = np.where(rng.random(400) < 0.5, good + 2, good - 2)  # better for half of the rows
    weights, mean = chosen_weights(np.array([good, good - 0.5, other, good - 5]), 1e-3)
    assert weights[[1, 3]].tolist() == [0, 0]
    assert (weights[[0, 2]] > 0.1).all()
    assert mean > max(good.mean(), other.mean()) + 0.1


def test_impossible_rows():
    """A row that no model can have leaves no finite mean; one that some can have gives these their weight."""
    some = np.array([[0.0, -np.inf], [-1.0, -1.0]])
    weights, mean = chosen_weights(some, 1e-3)
    assert np.isfinite(mean)
    assert weights[1] > 0
    assert chosen_weights(np.array([[0.0, -np.inf], [0.0, -np.inf]]), 1e-3)[1] == -np.inf


def test_a_model_stays_if_a_row_is_possible_under_it_alone():
    """One row in a thousand: a weight of .001, below a tenth of an equal share, .01; without it the mean was -inf.

    Best weights: .999 for those that allow the other 999 rows, and .001 = 1/n for the one that all rows need.
    """
    common = np.concatenate([[-np.inf], np.full(999, -5.0)])
    logs = np.array([common - 3] + [common] * 8 + [np.full(1000, -20.0)])
    weights, mean = chosen_weights(logs, 1e-6)
    assert weights == pytest.approx([0] + [0.999 / 8] * 8 + [0.001], abs=1e-5)
    assert mean == pytest.approx((np.log(0.001) - 20 + 999 * (np.log(0.999) - 5)) / 1000, abs=1e-5)
