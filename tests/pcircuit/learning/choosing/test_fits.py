"""Fits that stop where rows that they do not see gain no more: the curve, the model of its best look, and the stop."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcircuit import LearnSearch, Mixture, fit_em, fit_mixture, hclt, log_likelihood
from pcircuit.learning.choosing import fits
from pcircuit.learning.choosing.fits import Rows, Size, random_parts
from pcircuit.learning.product_mixtures import row_kernels

CHAIN = np.array([-1, 0, 1, 2])
SIZE = Size(3, 0.01)


def hidden_groups(rng, N):
    """Columns that agree with a hidden bit nine times in ten."""
    return (rng.random((N, 4)) < 0.1 + 0.8 * rng.integers(2, size=(N, 1))).astype(np.int64)


@pytest.fixture
def seen(rng, monkeypatch):
    """Thirty rows to learn from and thirty that judge, in NumPy."""
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    table = hidden_groups(rng, 30)
    return Rows(table, *fits.merged(table), hidden_groups(rng, 30), np.full(4, 2), CHAIN, 1)


def judged(model, rows):
    return log_likelihood(model, rows.held).mean()


def test_the_curve_is_that_of_em_and_the_model_that_of_its_best_look(seen):
    start = hclt(seen.table, SIZE.num_latents, 2, rng=1, tree=CHAIN)
    model, trial = fits.fitted_from(
        seen, start, SIZE, LearnSearch(num_epochs=25, tolerance=0), "name"
    )
    assert (trial.name, trial.num_latents, trial.pseudocount) == ("name", *SIZE)
    assert trial.epochs.tolist() == [10, 20, 25][: len(trial.epochs)]
    for epochs, training, validation in zip(
        trial.epochs, trial.training, trial.validation, strict=True
    ):
        circuit, history = fit_em(
            start, seen.table, num_epochs=int(epochs), pseudocount=SIZE.pseudocount
        )
        assert training == pytest.approx(history[-1], rel=1e-9)
        assert validation == pytest.approx(judged(circuit, seen), rel=1e-9)
    assert judged(model, seen) == trial.best


def test_em_ends_after_two_looks_that_are_not_better_by_the_tolerance(seen):
    start = hclt(seen.table, SIZE.num_latents, 2, rng=1, tree=CHAIN)
    for tolerance in (0.0, 0.05):
        _, trial = fits.fitted_from(
            seen, start, SIZE, LearnSearch(num_epochs=2000, tolerance=tolerance), "name"
        )
        passed, misses = trial.validation[0], 0
        for mean in trial.validation[1:-1]:
            passed, misses = (mean, 0) if mean - passed > tolerance else (passed, misses + 1)
            assert misses < 2
        assert misses == 1
        assert trial.validation[-1] - passed <= tolerance
        assert len(trial.epochs) < 200


def test_rows_that_stay_impossible_end_a_fit_with_the_model_of_its_first_look(seen):
    rows = seen._replace(
        table=np.zeros((9, 4), dtype=int), rows=np.zeros((1, 4), dtype=int), counts=np.array([9.0])
    )
    start = hclt(rows.table, 1, 2, rng=1, tree=CHAIN)
    model, trial = fits.fitted_from(rows, start, Size(1, 0.0), LearnSearch(num_epochs=100), "name")
    assert trial.validation.tolist() == [-np.inf, -np.inf]
    assert log_likelihood(model, rows.rows)[0] == 0


def test_a_tree_for_each_part_which_counts_each_row_under_its_own_part_alone(seen):
    model, trial = fits.fitted_parts(
        seen, 3, SIZE, LearnSearch(num_epochs=10), np.random.default_rng(5), "parts"
    )
    parts = random_parts(seen.table, 3, np.random.default_rng(5))
    np.testing.assert_allclose(model.weights, [len(part) / 30 for part in parts], rtol=1e-12)
    own = [
        (log_likelihood(circuit, seen.table[part]) + np.log(weight)).sum()
        for circuit, weight, part in zip(model.circuits, model.weights, parts, strict=True)
    ]
    assert trial.training[0] == pytest.approx(sum(own) / 30, rel=1e-9)
    assert trial.training[0] < log_likelihood(model, seen.table).mean()
    assert judged(model, seen) == trial.best


def test_all_trees_learn_together_from_all_rows(seen):
    start = Mixture([hclt(seen.table, 2, 2, rng=seed, tree=CHAIN) for seed in (1, 2)], [0.25, 0.75])
    model, trial = fits.fitted_together(seen, start, SIZE, LearnSearch(num_epochs=5, tolerance=0))
    assert trial.epochs.tolist() == [2, 4, 5][: len(trial.epochs)]
    _, history = fit_mixture(start, seen.table, num_epochs=2, pseudocount=SIZE.pseudocount)
    assert trial.training[0] == pytest.approx(history[-1], rel=1e-9)
    assert judged(model, seen) == trial.best


def test_a_kernel_around_each_row_or_around_a_sample_of_them(seen):
    bandwidth = Size(7, 0.1)
    n = len(seen.rows)
    model, trial, logs = fits.fitted_kernels(seen, n, bandwidth, np.random.default_rng(0))
    expected = row_kernels(seen.rows, seen.counts, seen.categories, 0.1)
    np.testing.assert_array_equal(
        log_likelihood(model, seen.held), log_likelihood(expected, seen.held)
    )
    np.testing.assert_array_equal(logs, log_likelihood(model, seen.held))
    assert (trial.name, trial.num_latents, trial.pseudocount, trial.best) == (
        "kernels",
        7,
        0.1,
        logs.mean(),
    )
    assert trial.training[0] == log_likelihood(model, seen.rows).mean()
    some, _, _ = fits.fitted_kernels(seen, n - 2, bandwidth, np.random.default_rng(0))
    assert [circuit.regions[-1].num_products for circuit in some.circuits] == [n - 2]


def test_a_mixture_at_points_has_a_look_at_each_epoch(seen):
    model, trial = fits.fitted_points(
        seen, 8, SIZE, LearnSearch(num_epochs=2), np.random.default_rng(0), "points"
    )
    assert trial.epochs.tolist() == list(range(1, len(trial.validation) + 1))
    assert len(trial.training) == len(trial.validation) <= 2
    assert (trial.name, trial.num_latents, trial.pseudocount) == ("points", *SIZE)
    assert model.circuits[0].regions[-1].num_products == 8
    assert judged(model, seen) == pytest.approx(
        trial.best, rel=1e-6
    )  # points are learned in single precision


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
