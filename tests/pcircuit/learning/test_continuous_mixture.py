"""Mixtures over a continuous variable: a distribution, the one that was fitted, and better where there is a degree."""

import naive
import numpy as np
import pytest

from pcircuit import LearnSearch, Mixture, learn, log_likelihood, sample
from pcircuit.learning.continuous_mixture import (
    Decoder,
    coded,
    continuous_mixture,
    decoded,
    gradient,
    logits_of,
    normalizers,
    point_logs,
    slopes,
    start,
)
from pcircuit.learning.product_mixtures import CIRCUIT_PRODUCTS


def degrees(rng, N, V=10):
    """Rows of columns that depend on how much there is of one hidden thing."""
    degree = rng.normal(size=(N, 1))
    return (rng.random((N, V)) < 1 / (1 + np.exp(-2.5 * degree - np.linspace(-1, 1, V)))).astype(
        int
    )


def fitted(rng, rows, categories, *, points=512, epochs=3):
    return continuous_mixture(
        rows, rows[:50], np.asarray(categories), points, rng, num_epochs=epochs
    )


@pytest.mark.parametrize("categories", [[2, 2, 2], [3, 1, 2, 2], [1, 4]])
def test_it_is_a_distribution_and_the_one_that_was_judged(rng, categories):
    """Sum over all states; the curve's best value by the decoder is the mean of the circuits, with holes, too."""
    rows = rng.integers(0, categories, (200, len(categories)))
    rows[rng.random(rows.shape) < 0.2] = -1
    mixture, _, validation = fitted(rng, rows, categories)
    assert len(mixture.circuits) == 512 // CIRCUIT_PRODUCTS
    states = naive.states(mixture.circuits[0])
    assert np.exp(log_likelihood(mixture, states)).sum() == pytest.approx(1, abs=1e-12)
    assert log_likelihood(mixture, rows[:50]).mean() == pytest.approx(validation.max(), rel=1e-5)
    by_states = sum(
        weight * naive.likelihood(circuit, states)
        for weight, circuit in zip(mixture.weights, mixture.circuits, strict=True)
    )
    np.testing.assert_allclose(np.exp(log_likelihood(mixture, states)), by_states, rtol=1e-10)


def test_one_that_promises_too_little_after_eight_epochs_goes_on_no_longer(rng):
    """It goes on though it is behind, if what the last four epochs gained would make up for it."""
    rows = degrees(
        rng, 264
    )  # 64 to learn from: four steps an epoch, so that it still gains after eight

    def found(least):
        return continuous_mixture(
            rows[:64],
            rows[64:],
            np.full(10, 2),
            256,
            np.random.default_rng(0),
            num_epochs=12,
            tolerance=-1e9,
            least=least,
        )

    _, _, means = found(-np.inf)
    now, half = means[:8].max(), means[:4].max()
    assert len(means) == 12
    assert now > half
    for least, looks in (
        (now, 12),
        (now + 0.9 * (now - half), 12),
        (now + 1.1 * (now - half), 8),
        (0.0, 8),
    ):
        _, training, validation = found(least)
        assert len(validation) == len(training) == looks


def test_a_degree_is_learned_better_than_independent_columns(rng):
    rows, held = degrees(rng, 1500), degrees(rng, 1500)
    mixture, _, _ = continuous_mixture(rows, held, np.full(10, 2), 512, rng, num_epochs=15)
    means = rows.mean(axis=0)
    independent = (held * np.log(means) + (1 - held) * np.log(1 - means)).sum(axis=1)
    gains = log_likelihood(mixture, held) - independent
    assert gains.mean() > 5 * gains.std() / np.sqrt(len(gains))
    drawn = sample(mixture, 1500, rng=0)
    assert np.abs(drawn.mean(axis=0) - means).max() < 5 * np.sqrt(0.5 / 1500)


def test_learn_takes_it_where_the_validation_rows_gain_and_only_if_asked(rng):
    rows, held = degrees(rng, 1500), degrees(rng, 700)
    options = {
        "num_latents": [2],
        "pseudocounts": [0.1],
        "num_trees": 2,
        "num_parts": (),
        "num_epochs": 20,
    }
    with_points, without = (
        learn(rows, held, search=LearnSearch(num_points=points, **options)) for points in (512, 0)
    )
    names = [[trial.name for trial in one.trials] for one in (with_points, without)]
    assert "continuous, 2" in names[0]
    assert not any("continuous" in name for name in names[1])
    assert with_points.validation_log_likelihood > without.validation_log_likelihood
    assert isinstance(with_points.model, Mixture)
    assert log_likelihood(with_points.model, held).mean() == with_points.validation_log_likelihood


def test_the_gradient_is_that_of_differences(rng):
    decoder = Decoder(
        *(part.astype(np.float64) for part in start(3, 5, np.zeros(4, np.float32), rng))
    )
    decoder = Decoder(decoder.inward, rng.normal(size=5), decoder.outward, rng.normal(size=4))
    points, weights = rng.normal(size=(7, 3)), rng.normal(size=(7, 4))

    def value(parts):
        return (np.tanh(decoded(Decoder(*parts), points)[1]) * weights).sum()

    hidden, logits = decoded(decoder, points)
    found = gradient(decoder, points, hidden, (1 - np.tanh(logits) ** 2) * weights)
    for k, (part, found_slopes) in enumerate(zip(decoder, found, strict=True)):
        for place in np.ndindex(part.shape):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [one.copy() for one in decoder]
                moved[k][place] += step
                ends.append(value(moved))
            assert found_slopes[place] == pytest.approx(
                (ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-8
            )


CATEGORIES = np.array([2, 1, 4, 3])


def written_out(values):
    """For each column (S, C) probabilities of logits (S, 6), entry by entry."""
    found, begin = [], 0
    for count in CATEGORIES:
        own = np.column_stack([np.zeros(len(values)), values[:, begin : begin + count - 1]])
        found.append(np.exp(own) / np.exp(own).sum(axis=1, keepdims=True))
        begin += count - 1
    return found


def rows_of(rng, *, holes):
    rows = rng.integers(0, CATEGORIES, (9, 4))
    rows[rng.random(rows.shape) < 0.3 * holes] = -1
    return rows


def logs_of(rows, values):
    columns = written_out(values)
    return np.array(
        [
            [
                sum(np.log(columns[v][s, c]) for v, c in enumerate(row) if c >= 0)
                for s in range(len(values))
            ]
            for row in rows
        ]
    )


@pytest.mark.parametrize("holes", [False, True])
def test_logs_and_slopes(rng, holes):
    order, rows, values = logits_of(CATEGORIES), rows_of(rng, holes=holes), rng.normal(size=(5, 6))
    known, zeta = coded(rows, order), normalizers(values, order)
    assert (known[1] is not None) == holes
    expected = logs_of(rows, values)
    np.testing.assert_allclose(point_logs(known, values, zeta), expected, rtol=1e-12)
    shares = np.exp(expected) / np.exp(expected).sum(axis=1, keepdims=True)
    found = slopes(known, shares, values, zeta, order)
    for place in np.ndindex(values.shape):
        ends = []
        for step in (1e-6, -1e-6):
            moved = values.copy()
            moved[place] += step
            ends.append(np.log(np.exp(logs_of(rows, moved)).sum(axis=1)).sum())
        assert found[place] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-7)
