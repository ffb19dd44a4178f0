"""Learning in one call: what it chooses, that it is repeatable, and mixtures over several v-trees."""

import warnings

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mixtures import groups, mixed

from pcircuit import (
    LearnSearch,
    Mixture,
    chow_liu_circuit,
    exact_moments,
    fit_em,
    fit_mixture,
    hclt,
    learn,
    log_likelihood,
)
from pcircuit.learning.choosing.learn import grown
from pcircuit.learning.em import row_shares

SMALL = LearnSearch(num_latents=[1, 2, 4], pseudocounts=[0.1], num_trees=3, num_epochs=40)


def test_an_epoch_of_a_mixture_is_its_enumerated_step(rng):
    mixture, rows = mixed(rng)
    weights = rng.random(len(rows))
    fitted, history = fit_mixture(mixture, rows, num_epochs=1, pseudocount=0.2, weights=weights)
    values = np.stack(
        [
            w * naive.likelihood(c, rows)
            for c, w in zip(mixture.circuits, mixture.weights, strict=True)
        ]
    )
    shares = weights * values / values.sum(axis=0)
    np.testing.assert_allclose(row_shares(mixture, rows, weights)[0], shares, rtol=1e-12)
    np.testing.assert_allclose(fitted.weights, shares.sum(axis=1) / weights.sum(), rtol=1e-12)
    assert history[0] == pytest.approx(
        np.log(values.sum(axis=0)) @ weights / weights.sum(), rel=1e-12
    )
    for old, new, share in zip(mixture.circuits, fitted.circuits, shares, strict=True):
        alone, _ = fit_em(old, rows, num_epochs=1, pseudocount=0.2, weights=share)
        np.testing.assert_allclose(naive.values(new), naive.values(alone), rtol=1e-12)


def test_em_of_a_mixture_never_loses(rng):
    mixture, rows = mixed(rng)
    _, history = fit_mixture(mixture, rows, num_epochs=15, pseudocount=0)
    assert (np.diff(history) > -1e-12).all()
    assert history[-1] > history[0]


def test_learning_finds_the_hidden_group(rng):
    """Chow-Liu trees, K = 1 with the tree of independent columns, are worse than two states by far."""
    rows, held = groups(rng, 1500), groups(rng, 500)
    learned = learn(rows, held, search=SMALL)
    truth = np.log([np.mean([np.prod(np.where(x == z, 0.9, 0.1)) for z in (0, 1)]) for x in held])
    assert abs(learned.validation_log_likelihood - truth.mean()) < 5 * learned.standard_error
    assert max(trial.num_latents for trial in learned.trials) > 1
    sizes = {trial.num_latents: trial.best for trial in learned.trials if trial.name == "size"}
    assert sizes[2] > sizes[1] + 0.1
    assert learned.validation_log_likelihood == log_likelihood(learned.model, held).mean()
    assert exact_moments(learned.circuit).mean.shape[0] > 0
    assert str(learned).count("\n") == len(learned.trials) + 1


def test_learning_repeats_to_the_last_bit_with_any_threads(rng):
    rows = groups(rng, 300)
    first, second = (learn(rows, search=SMALL, rng=5, n_jobs=jobs) for jobs in (1, 2))
    assert np.array_equal(log_likelihood(first.model, rows), log_likelihood(second.model, rows))
    assert [trial.best for trial in first.trials] == [trial.best for trial in second.trials]


def share_of_ones(circuit, column):
    """What the circuit says about one column."""
    evidence = np.full((1, circuit.num_variables), -1)
    evidence[0, column] = 1
    return np.exp(log_likelihood(circuit, evidence)[0])


def test_the_smoothing_that_validation_rows_choose_does_not_bias_the_circuit():
    """With independent columns, few rows and many states, more smoothing is best for single rows, but it makes what
    never occurs as frequent as 8 / 2 rows of 108: the last step has at most the first pseudocount."""
    rng, shares = np.random.default_rng(2), [0.2, 0.4, 0.6, 0.8, 0]
    rows, held = ((rng.random((N, 5)) < shares).astype(int) for N in (100, 2000))
    search = LearnSearch(num_latents=[8], pseudocounts=[0.1, 1.0], num_trees=1, num_epochs=100)
    found = learn(rows, held, num_categories=2, search=search)
    best = max(found.trials, key=lambda trial: trial.best)
    smooth, _ = fit_em(hclt(rows, 8, 2, rng=0), rows, num_epochs=100, pseudocount=1)
    assert best.pseudocount == 1
    assert share_of_ones(smooth, 4) > 0.03
    assert share_of_ones(found.circuit, 4) < 8 * 0.1 / 100
    assert found.validation_log_likelihood == log_likelihood(found.circuit, held).mean() > best.best


def test_the_rows_that_chose_are_learned_from_at_last(rng):
    """Shares of a column are those of all rows, not of nine tenths of them."""
    rows = (rng.random((300, 5)) < [0.2, 0.4, 0.6, 0.8, 0]).astype(int)
    search = LearnSearch(num_latents=[2], pseudocounts=[1e-3], num_trees=1, num_epochs=10)
    found = learn(rows, num_categories=2, search=search)
    for column in range(5):
        assert share_of_ones(found.circuit, column) == pytest.approx(
            rows[:, column].mean(), abs=1e-3
        )


def test_rows_with_holes_and_other_categories(rng):
    rows = groups(rng, 200)
    rows[rng.random(rows.shape) < 0.2] = -1
    held = groups(rng, 50)
    held[0, 0] = 4
    learned = learn(rows, held, search=LearnSearch(num_latents=[2], num_trees=1, num_epochs=10))
    assert learned.circuit.num_categories[0] == 5
    assert np.isfinite(learned.validation_log_likelihood)


def test_the_last_step_does_not_make_impossible_what_smoothing_allowed():
    """The first pseudocount, 0, rules out the second held-out row, the other one does not: it is what was chosen."""
    rows = np.column_stack([np.arange(40) % 2, np.zeros(40, dtype=int)])
    search = LearnSearch(num_latents=[1], pseudocounts=[0, 1.0], num_trees=1, num_epochs=10)
    found = learn(rows, [[1, 0], [0, 1]], search=search)
    assert found.trials[-1].name == "smoothing"
    assert found.validation_log_likelihood == pytest.approx(found.trials[-1].best, abs=1e-9)
    assert np.isfinite(found.standard_error)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (
            lambda: learn([[0, 1], [1, 0]], [[0, 1, 1]]),
            ValueError,
            "`validation` must have the 2 columns",
        ),
        (
            lambda: learn([[0, 1], [1, 0]], [[0, 1, 1]], num_categories=[2, 2]),
            ValueError,
            "`validation` must have the 2 columns of `data`, found 3",
        ),
        (
            lambda: learn([[0, 1], [1, 0]], [[0, 2]], num_categories=[2, 2]),
            ValueError,
            "`validation` holds category 2 in column 1, but `num_categories` allows only 0..1",
        ),
        (lambda: learn([[0, 1], [1, 0]], search={}), TypeError, "`search` must be"),
        (
            lambda: exact_moments(Mixture([chow_liu_circuit([[0, 1]] * 2)])),
            TypeError,
            "Circuit, found Mixture",
        ),
        (
            lambda: fit_mixture(chow_liu_circuit([[0, 1]] * 2), [[0, 1]]),
            TypeError,
            "Mixture, found Circuit",
        ),
    ],
)
def test_bad_arguments(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_rows_that_no_model_allows_are_said_to_compare_nothing():
    rows, held = np.array([[0, 0], [0, 1]] * 10), [[1, 0], [1, 0], [0, 0]]
    without = LearnSearch(num_latents=[1, 2], pseudocounts=[0.0], num_trees=1, num_epochs=10)
    with pytest.warns(UserWarning, match="2 of 3 rows to choose by, of `validation`") as found:
        learned = learn(rows, held, search=without)  # the first column is never 1
    assert (len(found), found[0].filename) == (1, __file__)
    assert learned.validation_log_likelihood == -np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learn(rows, held, search=SMALL)
        learn(rows, rows, search=without)


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 4))
def test_without_noise_nothing_changes_but_the_number_of_states(seed, num_latents, num_variables):
    rng = np.random.default_rng(seed)
    categories = rng.integers(1, 4, num_variables)
    small = hclt(rng.integers(0, categories, (20, num_variables)), num_latents, categories, rng=rng)
    large = grown(small, 0.0, rng)
    states = naive.states(small)
    np.testing.assert_allclose(
        naive.likelihood(large, states), naive.likelihood(small, states), rtol=1e-12
    )
    for r, (old, new) in enumerate(zip(small.regions, large.regions, strict=True)):
        assert new.num_units == (1 if r == small.vtree.root else 2 * old.num_units)


def test_with_noise_the_copies_part_and_learn_more(rng):
    """Three hidden groups and two states: copies of them can tell the third one."""
    group = rng.integers(3, size=(600, 1))
    rows = (rng.random((600, 6)) < np.array([0.05, 0.5, 0.95])[group]).astype(int)
    small, _ = fit_em(hclt(rows, 2, 2, rng=0), rows, num_epochs=50)
    start = grown(small, 0.3, rng)
    assert np.exp(log_likelihood(start, naive.states(start))).sum() == pytest.approx(1, abs=1e-12)
    large, _ = fit_em(start, rows, num_epochs=50)
    assert log_likelihood(large, rows).mean() > log_likelihood(small, rows).mean() + 0.005


def test_growing_is_tried_unless_it_is_left_out(rng):
    rows = rng.integers(2, size=(200, 4))
    options = {
        "num_latents": [1, 2, 3],
        "pseudocounts": [0.1],
        "num_trees": 1,
        "num_epochs": 10,
        "tolerance": 0,
    }
    names = [
        [
            trial.name
            for trial in learn(rows, rows[:50], search=LearnSearch(grow=grow, **options)).trials
        ]
        for grow in (False, True)
    ]
    assert "size, grown" not in names[0]
    assert names[1][:3] == ["size", "size", "size, grown"]
