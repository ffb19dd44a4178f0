"""Averages of trees: what is tried, what a mixture of them is, and that cuts are found where they are true."""

import numpy as np
import pytest
from epoch_work import epoch_work, work_done
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import logsumexp

from pcircuit import LearnSearch, Mixture, learn, log_likelihood
from pcircuit.learning.choosing.averages import Average, Way, best_weights, chosen_weights
from pcircuit.learning.choosing.fits import Size


def switched(rng, N):
    """Rows whose first column turns the dependences: pairs (1, 2), (3, 4) if it is 0, (1, 3), (2, 4) if it is 1."""
    switch, a, b = rng.integers(2, size=(3, N))
    noise = (rng.random((N, 4)) < 0.05).astype(int)
    other = np.where(switch == 0, a, b)
    return np.column_stack([switch, a, other, a + b - other, b]) ^ np.column_stack(
        [np.zeros(N, dtype=int), noise]
    )


def test_cuts_are_taken_where_the_dependences_turn(rng):
    rows, held = switched(rng, 1200), switched(rng, 600)
    shared = {
        "num_latents": [2],
        "pseudocounts": [0.1],
        "num_trees": 8,
        "num_epochs": 60,
        "joint": False,
        "num_points": 0,
        "bandwidths": (),
    }
    cut, uncut = (
        learn(rows, held, search=LearnSearch(num_parts=parts, **shared)) for parts in ((4,), ())
    )
    assert cut.validation_log_likelihood > uncut.validation_log_likelihood + 0.02
    assert any(trial.name == "up to 4 parts, 3" for trial in cut.trials)
    assert isinstance(cut.model, Mixture)
    assert cut.model.weights.sum() == pytest.approx(1, abs=1e-12)
    assert log_likelihood(cut.model, held).mean() == cut.validation_log_likelihood


def test_words_have_a_continuous_mixture_though_all_its_epochs_cost_too_much(rng):
    """Rows of one continuous taste: trees have taken most of the work, so that a few epochs are left for one member."""
    rows = (rng.random((700, 12)) < 1 / (1 + np.exp(-1.5 * rng.normal(size=(700, 1))))).astype(
        np.int8
    )
    search = {
        "num_latents": [2],
        "pseudocounts": [0.1],
        "num_trees": 4,
        "num_epochs": 40,
        "num_parts": (),
    }
    free = learn(rows[:500], rows[500:], search=LearnSearch(**search, max_work=1e300)).trials
    own = 40 * epoch_work(rows[:500], 2)  # at most, of the first tree
    cost = next(
        epoch_work(rows[:500], trial.num_latents) for trial in free if trial.name == "continuous, 1"
    )
    few = learn(
        rows[:500], rows[500:], search=LearnSearch(**search, max_work=3 * own + 24 * cost)
    ).trials
    found = [trial for trial in few if trial.name.startswith("continuous")]
    assert [trial.name for trial in found] == ["continuous, 1"]
    assert 8 <= found[0].epochs[-1] < 20


def test_cuts_have_fewer_states_where_the_search_affords_no_more_and_one_tree_still_gained():
    rng = np.random.default_rng(0)
    rows, held = switched(rng, 1200), switched(rng, 600)
    search = {
        "num_latents": [8],
        "pseudocounts": [0.1],
        "num_trees": 3,
        "num_parts": (4,),
        "num_points": 0,
        "joint": False,
        "bandwidths": (),
    }
    epoch = epoch_work(rows, 8)

    def states(num_epochs, most):
        trials = learn(
            rows, held, search=LearnSearch(**search, num_epochs=num_epochs, max_work=most)
        ).trials
        return [trial.num_latents for trial in trials if trial.name == "up to 4 parts, 1"]

    assert states(20, 1e300) == [8]
    assert states(20, epoch * 20 * 3.5) == [4]  # one tree gained .02 by the last ten epochs
    assert states(40, epoch * 40 * 3.5) == []  # and nothing by the ten after thirty


def test_what_more_members_promise(rng):
    """Members whose likelihoods are independent factors around a common one: nothing for as many as there are, and near
    the truth for more."""
    common, spread = -np.abs(rng.normal(size=4000)), 0.3
    logs = common + np.log(rng.gamma(1 / spread**2, spread**2, size=(40, 4000)))

    def average(M):
        return Average(
            Way(1, Size(4, 0.1)),
            (None,) * M,
            tuple(logs[:M].mean(axis=1)),
            np.logaddexp.reduce(logs[:M], axis=0),
            16.0 * M,
        )

    mean = {M: average(M).logs.mean() for M in (1, 2, 40)}
    assert average(2).promise(2) == average(3).promise(2) == average(1).promise(40) == 0
    assert average(2).promise(40) == pytest.approx(
        mean[40] - mean[2], abs=0.2 * (mean[40] - mean[1])
    )


def test_members_keep_to_all_limits(rng):
    """So many of one way, so much work, so many parameters; without a limit that binds there are more of them."""
    rows, held = switched(rng, 1200), switched(rng, 600)
    fixed = {
        "num_latents": [2],
        "pseudocounts": [0.1],
        "num_epochs": 20,
        "tolerance": 1e-9,
        "joint": False,
        "num_points": 0,
        "num_parts": [4],
        "bandwidths": (),
    }
    free = learn(rows, held, search=LearnSearch(num_trees=12, **fixed))
    done = work_done(free.trials, rows)
    for limits in (
        {"num_trees": 3},
        {"max_work": 0.7 * done},
        {"max_parameters": free.mixture.num_parameters // 2},
    ):
        learned = learn(rows, held, search=LearnSearch(**{"num_trees": 12, **limits, **fixed}))
        assert 2 < len(learned.trials) < len(free.trials)
        assert largest_number(learned) <= limits.get("num_trees", 12)
        assert work_done(learned.trials, rows) <= limits.get("max_work", done)
        assert learned.mixture.num_parameters <= limits.get("max_parameters", np.inf)
    assert largest_number(free) == 12


def largest_number(learned):
    """The most members of one way."""
    return max(
        int(trial.name.rsplit(maxsplit=1)[1]) for trial in learned.trials if trial.name != "size"
    )


def test_ways_that_get_no_weight_get_no_more_members():
    """One continuous taste moves all columns, and behind cuts there are few rows for each tree."""
    rng = np.random.default_rng(0)
    rows = (rng.random((700, 16)) < 1 / (1 + np.exp(-2 * rng.normal(size=(700, 1))))).astype(
        np.int8
    )
    search = LearnSearch(
        num_latents=[1, 2, 4],
        pseudocounts=[0.1],
        num_trees=6,
        num_parts=[4, 16],
        num_epochs=40,
        tolerance=1e-4,
        joint=False,
    )
    names = [trial.name for trial in learn(rows[:300], rows[300:], search=search).trials]
    assert "continuous, 6" in names
    assert "up to 4 parts, 2" in names
    assert "up to 4 parts, 3" not in names


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
