"""A detector that keeps its level is seldom said not to, however many sizes there are and rows batches share."""

import binomial_bounds as bounds
import numpy as np
import pytest
from scipy.stats import binom

import hld
from hld.auditing.audit import AuditResult, AuditRow
from hld.auditing.random_rows import too_often


@pytest.mark.parametrize("num_batches", [20, 100, 200, 1000])
@pytest.mark.parametrize("num_sizes", [1, 3, 8])
def test_several_sizes_together_are_wrong_of_one_good_detector_in_forty(num_batches, num_sizes):
    """The probability is computed: the alarms of disjoint batches are binomial."""

    def kept(count):
        rows = tuple(
            AuditRow("a", "unshifted", 1, num_batches, alarms, alarms / num_batches, 0, 1, False)
            for alarms in [count] + [0] * (num_sizes - 1)
        )
        return AuditResult(rows, 0.05, num_batches).keeps_level["a"]

    wrong = binom.pmf(
        [count for count in range(num_batches + 1) if not kept(count)], num_batches, 0.05
    ).sum()
    assert 0 < 1 - (1 - wrong) ** num_sizes <= 0.025


@pytest.mark.parametrize(("num_rows", "T"), [(300, 100), (300, 150)])
def test_batches_that_share_rows_count_as_few(num_rows, T):
    """Tables of independent rows: the alarms of an exact test on batches that share them vary much more."""
    trials, wrong, old = 200, 0, 0
    rng, tails, counts = (
        np.random.default_rng(0),
        binom.sf(range(T + 1), T, 0.5),
        binom.pmf(range(T + 1), T, 0.5),
    )

    def sign_test(batch):
        """Uniform where nothing has shifted: the tail of the count, with a random share of the tie."""
        return float(tails[np.sum(batch)] + rng.random() * counts[np.sum(batch)])

    for seed in range(trials):
        coins = np.random.default_rng([1, seed]).integers(0, 2, size=(num_rows, 1))
        found = hld.audit(sign_test, coins, [T], num_batches=100, rng=seed)
        wrong += not found.keeps_level["detector"]
        old += found.rows[0].low > 0.05
    assert wrong <= bounds.at_most(trials, 0.025)
    assert old > bounds.at_most(
        trials, 0.025
    )  # so it would be if batches were taken as independent


def test_bad_detectors_are_found_although_batches_share_rows():
    assert too_often(50, 200, 20, 0.05, 0.025)
    assert too_often(200, 200, 2, 0.05, 0.025)
    assert not too_often(200, 200, 1, 0.05, 0.025)  # as one batch is, in twenty
    assert not too_often(10, 200, 20, 0.05, 0.025)
