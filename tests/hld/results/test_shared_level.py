"""How tests share one level: the smallest p-value by hand, its level over a law that is known, and who gets what."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hld
from hld.results.shared_level import combined, scaled_level
from hld.schemas.counts import compare_missing


@dataclass(frozen=True)
class Few:
    """A test with few p-values, each with the probability of a p-value up to it."""

    pvalue: float
    share: float
    values: tuple[float, ...]

    def attained(self, level):
        values = np.array([0.0, *self.values])
        return values[np.searchsorted(values, level * (1 + 1e-12), side="right") - 1]


def test_by_hand():
    test = Few(0.3, 0.25, (0.01, 0.3))
    assert combined(0.06, test) == pytest.approx(
        0.06 + 0.01
    )  # s = 0.08: the test reaches 0.02 by 0.01
    assert combined(0.0003, test) == pytest.approx(0.0003)  # s = 0.0004: nothing
    assert combined(0.9, replace(test, pvalue=0.01)) == pytest.approx(
        0.75 * 0.04 + 0.01
    )  # s = 0.04
    assert combined(math.inf, replace(test, pvalue=0.01)) == pytest.approx(0.04)
    assert combined(0.4) == 0.4
    assert combined(0.4, Few(1.0, 0.0, ())) == 0.4
    assert combined(1.0, Few(1.0, 0.3, (1.0,))) == 1.0


@given(
    st.lists(
        st.tuples(st.floats(0.05, 0.3), st.lists(st.floats(1e-4, 1), min_size=1, max_size=4)),
        max_size=3,
    ),
    st.floats(1e-4, 0.5),
)
def test_a_scaled_level_rejects_what_the_p_value_rejects(parts, alpha):
    """Where one test is as small as it must be at s, and no smaller, p is at most alpha; a little above, it is not."""
    tests = [Few(1.0, share, tuple(sorted(values))) for share, values in parts]
    s = scaled_level(alpha, *tests)
    rest = 1 - sum(share for share, _ in parts)
    assert alpha * (1 - 1e-12) <= s <= alpha / rest * (1 + 1e-12)
    assert combined(rest * s * (1 - 1e-9), *tests) <= alpha
    if s < 0.999 * alpha / rest:
        assert combined(min(1.0, rest * s * (1 + 1e-6)), *tests) > alpha * (1 - 1e-9)


def test_the_level_is_kept_by_independent_tests():
    """P(p <= a) by summing over all p-values of two tests with few values, and a uniform one."""
    first, second = (0.02, 0.2, 1.0), (0.004, 0.05, 0.3, 1.0)
    for alpha in (0.005, 0.01, 0.03, 0.05, 0.1, 0.3):
        total = 0.0
        for i, p in enumerate(first):
            for k, q in enumerate(second):
                tests = Few(p, 0.3, first), Few(q, 0.2, second)
                chance = (p - (first[i - 1] if i else 0)) * (q - (second[k - 1] if k else 0))
                grid = np.linspace(0, 1, 4001)[1:]
                total += chance * np.mean([combined(float(u), *tests) <= alpha for u in grid])
        assert total <= alpha + 1 / 4000
        assert total > alpha / 2


def test_all_of_the_level_is_the_distances_where_counts_cannot_tell():
    """Of a single row no count is conspicuous: the farthest of 45 that were held out and itself has p = 1 / 46."""
    assert combined(1 / 31, compare_missing(30, [2, 0], 1, [0, 0])) == 1 / 31
    rows = np.random.default_rng(0).choice(3, size=(90, 5), p=(0.8, 0.15, 0.05))
    detector, low = hld.HLDDetector(num_latents=1, num_epochs=2, num_resamples=99).fit(rows), 0
    for row in rows:
        result, distance = detector.test(row[None]), detector.test_(row[None])
        assert result.largest_count.share > 0
        assert result.scaled_alpha == pytest.approx(0.05 / (1 - result.largest_count.share))
        low += distance.pvalue <= 0.1
        assert result.pvalue == pytest.approx(distance.pvalue) or distance.pvalue > 0.1
    assert low > 0


def test_what_a_verdict_rests_on_is_named_with_the_level_it_had():
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 3, size=(400, 4))
    result = (
        hld.HLDDetector(num_latents=1, num_epochs=2, num_resamples=99).fit(rows).test(rows[:40])
    )
    tested = result.largest_count, result.largest_dependence
    assert result.scaled_alpha == scaled_level(0.05, *(one for one in tested if one is not None))
    assert result.scaled_alpha >= 0.05
