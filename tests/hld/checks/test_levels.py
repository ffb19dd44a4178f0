"""The level, the seed and the verdict of a test."""
from fractions import Fraction

import numpy as np
import pytest

from hld import HLDTest, MMDTest, Monitor, baselines, test_batches
from hld.checks import check_alpha, check_verdict, seed_of
from pcircuit import rat_spn


def test_levels():
    for alpha in (0.05, np.float64(0.5), np.float32(0.25), Fraction(1, 20)):
        assert type(check_alpha(alpha)) is float
        assert check_alpha(alpha) == float(alpha)
    for alpha in (0, 1, -0.1, 2.0, float("nan"), float("inf"), True, "0.05", None, [0.05], 0.05j):
        with pytest.raises((TypeError, ValueError), match="`alpha` must be a finite number above 0 and below 1"):
            check_alpha(alpha)


def test_every_test_has_the_same_check_of_the_level():
    circuit, rows = rat_spn([2] * 4, num_units=2, depth=1, rng=0), [[0] * 4]
    root = baselines.root_likelihood_test(circuit, num_resamples=9)
    tests = [HLDTest(circuit), MMDTest(circuit, num_resamples=9), root]
    calls = [lambda alpha, test=test: test(rows, alpha) for test in tests]
    calls += [lambda alpha: Monitor(circuit, alpha=alpha), lambda alpha: test_batches(tests[0], [rows], alpha)]
    for call in calls:
        for alpha in (1, "5%", float("nan")):
            with pytest.raises((TypeError, ValueError), match="`alpha` must be a finite number above 0 and below 1"):
                call(alpha)


def test_seeds():
    assert seed_of(3) == seed_of(np.random.default_rng(3)) != seed_of(4)
    assert 0 <= seed_of(None) < 2 ** 53


def test_only_a_number_with_a_probability_is_a_verdict():
    check_verdict(np.inf, 0.0)
    for statistic, pvalue in ((np.nan, 0.5), (1.0, np.nan), (1.0, -0.1), (1.0, 1.1)):
        with pytest.raises(ArithmeticError, match="is no verdict"):
            check_verdict(statistic, pvalue)
