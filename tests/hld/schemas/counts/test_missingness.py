"""The test of missing values: its tails by enumeration and by SciPy, its level exactly, and what it finds."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import hypergeom

from hld.results.shared_level import combined
from hld.schemas.counts.missingness import SHARE, compare_missing, hypergeometric_tail


def test_tails_by_counting_all_draws():
    for N, K, T in itertools.product(range(1, 8), range(8), range(8)):
        if K > N or T > N:
            continue
        counts = [sum(ball < K for ball in drawn) for drawn in itertools.combinations(range(N), T)]
        for j in range(-1, T + 2):
            assert hypergeometric_tail(N, K, T, j) == pytest.approx(
                np.mean([c >= j for c in counts]), rel=1e-13
            )


@pytest.mark.parametrize(
    ("N", "K", "T"),
    [
        (1000, 100, 50),
        (10**6, 10**5, 10**4),
        (10**6, 3, 500_000),
        (50_000, 49_000, 30_000),
        (2 * 10**6, 10**6, 10**6),
    ],
)
def test_tails_of_many_rows_are_those_of_scipy(N, K, T):
    mean, std = hypergeom.stats(N, K, T, moments="m")[()], hypergeom.std(N, K, T)
    for z in (-6, -2, 0, 1, 3, 6):
        j = int(mean + z * std)
        assert hypergeometric_tail(N, K, T, j) == pytest.approx(
            hypergeom.sf(j - 1, N, K, T), rel=1e-8
        )


@pytest.mark.parametrize(("n", "T", "K"), [(40, 12, 7), (30, 30, 1), (100, 5, 60), (9, 1, 3)])
def test_the_level_is_kept_exactly_given_the_holes(n, T, K):
    """P(p <= a) = a over the whole law of the holes of a batch, at every level below 1 that there is."""
    js = range(max(0, K - n), min(K, T) + 1)
    chances = [math.comb(K, j) * math.comb(n + T - K, T - j) / math.comb(n + T, T) for j in js]
    pvalues = [compare_missing(n, [K - j], T, [j]).pvalue for j in js]
    assert sum(chances) == pytest.approx(1)
    for level in pvalues:
        total = sum(c for c, p in zip(chances, pvalues, strict=True) if p <= level)
        assert total == pytest.approx(level, rel=1e-9) or level == 1.0


def test_the_combined_level_is_the_sum_of_its_parts():
    found = compare_missing(100, [10, 0, 20], 50, [5, 0, 10])
    assert found.share == SHARE
    assert combined(0.9 * 0.04, found) == pytest.approx(0.9 * 0.04 + found.attained(0.1 * 0.04))
    assert 0 < found.attained(0.1 * 0.04) <= 0.1 * 0.04
    assert found.pvalue <= min(1.0, 2 * min(found.pvalues[0], found.pvalues[2])) * (
        1 + 1e-9
    )  # of two columns
    assert found.pvalues[1] == 1.0
    assert combined(0.3, compare_missing(100, [0, 0], 50, [0, 0])) == 0.3
    assert combined(0.9, compare_missing(100, [100], 50, [50])) == 0.9  # all are missing


def test_a_column_that_is_suddenly_missing_is_found_in_either_direction():
    assert combined(0.7, compare_missing(1000, [3], 50, [50])) < 1e-50
    assert combined(0.7, compare_missing(1000, [990], 50, [0])) < 1e-50
    assert combined(0.7, compare_missing(50_000_000, [5_000_000], 50_000_000, [5_000_100])) > 0.1
    assert combined(0.7, compare_missing(50_000_000, [5_000_000], 50_000_000, [5_100_000])) < 1e-50


def test_a_tolerated_drift_of_the_share_does_not_alarm():
    found = [
        compare_missing(100_000, [10_000], 100_000, [share], 0.1).pvalue
        for share in (7_200, 12_800, 20_000)
    ]
    assert found[:2] == [1.0, 1.0]
    assert found[2] < 1e-50


def test_a_tolerance_does_not_carry_a_count_past_its_mean():
    """Of one row against 9,999, of which one has a hole, no hole was taken for one: p = 0.0001 in place of 1."""
    for tolerance in (0.0, 0.001, 0.01):
        assert compare_missing(9999, [1], 1, [0], tolerance).pvalue == 1.0
        assert compare_missing(9999, [9998], 1, [1], tolerance).pvalue == 1.0
    for holes in range(21):
        looser = [
            compare_missing(100, [30], 20, [holes], tolerance).pvalue
            for tolerance in (0.0, 0.01, 0.1, 0.5)
        ]
        assert looser == sorted(looser)
