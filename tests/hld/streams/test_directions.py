"""Directions of streams: when they are learned, what they weigh, and what they are made of."""

import numpy as np
import pytest

from hld.streams.directions import (
    FIXED_SHARE,
    KINDS,
    LIVE,
    MOST_FIXED,
    MOST_WHITENED,
    RIDGE,
    first_races,
    next_start,
    num_starts,
    scores_of,
    start_directions,
    starts_at,
    weight_of,
)


def test_starts_are_counted_as_they_come():
    starts = [n for n in range(2001) if starts_at(n)]
    assert starts[:8] == [16, 32, 48, 64, 96, 128, 160, 192]
    assert [n for n in starts if 450 < n < 700] == [480, 512, 576, 640]
    count = np.cumsum([starts_at(n) for n in range(2001)])
    assert [num_starts(n) for n in range(2001)] == count.tolist()
    assert [next_start(n) for n in range(1900)] == [
        min(s for s in starts if s > n) for n in range(1900)
    ]


def test_all_weights_together_are_at_most_one_however_long_a_stream_is():
    """1/(1 2) + 1/(2 3) + ... + 1/(n (n + 1)) = 1 - 1/(n + 1)."""
    learned = KINDS * np.exp([weight_of(number) for number in range(1, 1001)])
    np.testing.assert_allclose(
        FIXED_SHARE + np.cumsum(learned),
        1 - (1 - FIXED_SHARE) / (np.arange(1, 1001) + 1),
        rtol=1e-12,
    )


@pytest.mark.parametrize(("num", "trained"), [(3, 2), (40, 10), (43, 10), (5000, 1000)])
def test_a_quarter_of_the_reference_makes_the_scores_and_the_others_the_bag(num, trained):
    vectors = np.random.default_rng(0).normal(size=(num, 2))
    found = scores_of(vectors)
    np.testing.assert_array_equal(found.trained, vectors[:trained])
    np.testing.assert_array_equal(found.reference, vectors[trained:])
    np.testing.assert_allclose(found.mean, vectors[:trained].mean(axis=0))
    np.testing.assert_allclose(found.scale, 1 / vectors[:trained].std(axis=0))


def test_the_whitening_is_the_inverse_of_the_correlations_with_a_ridge():
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(400, 3)) @ [[1.0, 2.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 5.0]] + 7
    found = scores_of(vectors)
    correlations = np.corrcoef(vectors[:100].T)
    ridge = RIDGE * np.linalg.eigvalsh(correlations)[-1] * np.eye(3)
    np.testing.assert_allclose(found.whitening @ (correlations + ridge), np.eye(3), atol=1e-10)


def test_nodes_that_do_not_vary_have_no_race_unless_none_varies():
    """Then the scale is the root of the number of rows over the mean, and a node that is always 0 has none."""
    rng = np.random.default_rng(2)
    some = scores_of(
        np.column_stack([np.full(80, 0.25), rng.random(80), np.zeros(80), rng.random(80)])
    )
    assert some.fixed.tolist() == [1, 3]
    assert some.scale[[0, 2]].tolist() == [pytest.approx(np.sqrt(20) / 0.25), 0.0]
    none = scores_of(np.tile([0.25, 0.0, 0.5], (80, 1)))
    assert none.fixed.tolist() == [0, 2]
    assert np.isfinite(none.whitening).all()
    assert scores_of(np.zeros((80, 2))).fixed.tolist() == []


def test_of_many_nodes_some_have_races_from_first_to_last_and_none_are_whitened():
    vectors = np.random.default_rng(3).random((40, MOST_WHITENED + 1))
    found = scores_of(vectors)
    assert len(set(found.fixed.tolist())) == MOST_FIXED
    assert found.fixed[[0, -1]].tolist() == [0, MOST_WHITENED]
    assert np.diff(found.fixed).max() <= np.ceil(MOST_WHITENED / (MOST_FIXED - 1))
    assert found.whitening.shape == (0, 0)
    means = np.zeros((2, MOST_WHITENED + 1))
    means[:, 5] = 1.0
    directions = found.learned(means)
    assert directions.shape == (MOST_WHITENED + 1, KINDS)
    assert [np.flatnonzero(one).tolist() for one in directions.T] == [[5]] * KINDS


def test_learned_directions_are_the_difference_of_means_plain_and_whitened():
    """Worked by hand from the definition: the longest part is 1, and a node without a scale has no part."""
    scores = scores_of(
        np.column_stack([np.random.default_rng(4).normal(size=(200, 2)) * [1, 10], np.zeros(200)])
    )
    shift = np.array([0.3, 4.0, 0.0])
    means = np.stack([shift * scores.scale, -2 * shift * scores.scale])
    found = scores.learned(means)
    whitened = (scores.whitening @ (shift * scores.scale)) * scores.scale
    for column, expected in zip(found.T, (shift, whitened, -shift, -whitened), strict=True):
        np.testing.assert_allclose(column, expected / np.abs(expected).max(), atol=1e-12)
    assert scores.learned(np.zeros((2, 3))).tolist() == np.zeros((3, KINDS)).tolist()


def test_first_races_are_those_of_single_nodes_with_half_of_the_weight():
    scores = scores_of(np.random.default_rng(5).random((80, 3)))
    races = first_races(scores)
    assert len(races.log) == 3 + LIVE
    np.testing.assert_allclose(np.exp(races.log_weights), [*[FIXED_SHARE / 3] * 3, *[0.0] * LIVE])
    assert races.counts.sum(axis=1).tolist() == [60] * 3 + [0] * LIVE


def test_new_directions_take_the_places_that_are_empty_then_those_farthest_behind():
    scores = scores_of(np.random.default_rng(6).random((80, 2)))
    races, directions = first_races(scores), np.zeros((2, LIVE))
    means = np.array([[1.0, 0.5], [0.2, -1.0]])
    for number in range(1, LIVE // KINDS + 1):
        start_directions(scores, races, directions, means, number)
        assert np.isfinite(races.log_weights[2:]).sum() == KINDS * number
    races.log[2:] = np.random.default_rng(7).normal(size=LIVE)
    weighted, fixed = (races.log + races.log_weights)[2:], [array[:2].copy() for array in races]
    behind = np.argsort(weighted)[:KINDS]
    directions[:] = 0
    start_directions(scores, races, directions, means, 99)
    assert np.flatnonzero(directions.any(axis=0)).tolist() == sorted(behind.tolist())
    np.testing.assert_array_equal(directions[:, behind], scores.learned(means))
    np.testing.assert_array_equal(races.log_weights[2 + behind], weight_of(99))
    assert (races.log[2 + behind].tolist(), races.ages[2 + behind].tolist()) == (
        [0.0] * KINDS,
        [0] * KINDS,
    )
    assert races.counts[2 + behind].sum(axis=1).tolist() == [60] * KINDS
    assert all(np.array_equal(array[:2], own) for array, own in zip(races, fixed, strict=True))
