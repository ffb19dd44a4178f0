"""Tails of drawn scores in few numbers: never too small, at most 2 % too large."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hld.laws.ranks.monte_carlo import EXACT, GROWTH, drawn_tail, read_tail


@given(st.lists(st.integers(1, 40), min_size=1, max_size=300), st.integers(0, 41))
def test_few_draws_are_counted_one_by_one(scores, observed):
    tail = drawn_tail(np.array(scores, float))
    true = sum(score <= observed for score in scores)
    found = tail.count(float(observed))
    assert true <= found
    assert found == true if len(scores) <= EXACT else found <= max(true * GROWTH + 1, true)


@pytest.mark.parametrize("B", [99, 999, 99_999])
def test_counts_are_rounded_up_by_two_per_cent_at_most(B, rng):
    scores = rng.random(B)
    tail, ordered = drawn_tail(scores), np.sort(scores)
    for observed in np.concatenate(
        [10.0 ** -rng.uniform(0, 6, size=300), ordered[:20], [0.0, 2.0]]
    ):
        true = np.searchsorted(ordered, observed * (1 + 1e-9), side="right")
        assert true <= tail.count(observed) <= max(true, np.floor(true * GROWTH))
    assert tail.num_drawn == B
    assert len(tail.values) <= 600


@pytest.mark.parametrize("B", [19, 999, 20_000])
@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.5, 0.99])
def test_the_threshold_parts_what_is_rejected(B, alpha, rng):
    tail = drawn_tail(rng.random(B))
    threshold = tail.threshold(alpha)
    for observed in np.concatenate([rng.random(200), tail.values]):
        if abs(observed - threshold) > 1e-8 * threshold:
            assert (tail.pvalue(observed) <= alpha) == (observed < threshold)
    assert tail.pvalue(threshold) > alpha or threshold == 0


def test_round_off_is_a_tie():
    tail = drawn_tail([0.1, 0.2, 0.3])
    assert tail.count(0.2 * (1 - 1e-12)) == tail.count(0.2) == 2


def test_arrays_bring_it_back(rng):
    tail = drawn_tail(rng.random(5000))
    again = read_tail({"0": tail.to_arrays()}, "0")
    for observed in rng.random(50):
        assert again.pvalue(observed) == tail.pvalue(observed)


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((2, 0)),
        np.array([[0.2, 0.1], [1, 2]]),
        np.array([[0.1, 0.2], [1, 1]]),
        np.array([[0.1, 0.2], [2, 3]]),
        np.array([[0.1, 0.2], [1, 2.5]]),
        np.zeros(3),
    ],
)
def test_arrays_that_are_no_tail(wrong):
    with pytest.raises(ValueError, match="'0'"):
        read_tail({"0": wrong}, "0")
