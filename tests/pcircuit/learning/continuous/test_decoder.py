"""The decoder: its gradient by differences, and steps of Adam."""

import numpy as np
import pytest

from pcircuit.learning.continuous.decoder import Adam, Decoder, decoded, gradient, start


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
    for k, (part, slopes) in enumerate(zip(decoder, found, strict=True)):
        for place in np.ndindex(part.shape):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [one.copy() for one in decoder]
                moved[k][place] += step
                ends.append(value(moved))
            assert slopes[place] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-8)


def test_all_points_start_near_the_given_logits(rng):
    base = np.array([-2.0, 0.0, 3.0], dtype=np.float32)
    logits = decoded(start(16, 128, base, rng), rng.normal(size=(500, 16)).astype(np.float32))[1]
    assert logits.dtype == np.float32
    assert np.abs(logits - base).mean() < 0.5


def test_the_first_step_moves_every_number_by_the_rate_uphill(rng):
    decoder = start(2, 3, np.zeros(2, np.float32), rng)
    slopes = Decoder(*(rng.normal(size=part.shape).astype(np.float32) for part in decoder))
    moved = Adam(decoder).step(decoder, slopes, 0.01)
    for before, after, slope in zip(decoder, moved, slopes, strict=True):
        np.testing.assert_allclose(after - before, 0.01 * np.sign(slope), rtol=1e-3)


def test_steps_climb_a_parabola(rng):
    """The maximum of -(b - 1)^2 - ... in all numbers is found from anywhere."""
    decoder = start(2, 3, np.zeros(2, np.float32), rng)
    adam = Adam(decoder)
    for _ in range(2000):
        decoder = adam.step(decoder, Decoder(*(-2 * (part - 1) for part in decoder)), 0.01)
    for part in decoder:
        np.testing.assert_allclose(part, 1, atol=0.02)
