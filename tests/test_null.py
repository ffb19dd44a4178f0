"""Null distributions: the exact law against its eigenvalues, replaced spectra, the paper's closed form, Monte Carlo."""
from types import SimpleNamespace

import numpy as np
import pytest
import zoo
from scipy.stats import norm

from hld import exact_moments, gchi2
from hld import null as null_module
from hld.null import ExactNull, MonteCarloNull, NormalNull, exact_null


def moments_of(spectrum):
    """What a null needs of moments whose covariance has the given eigenvalues."""
    spectrum = np.sort(spectrum)[::-1]
    return SimpleNamespace(nodes=np.arange(len(spectrum)), trace=spectrum.sum(), trace_sq=(spectrum ** 2).sum(),
                           eigenvalues=lambda k=None: spectrum[:k])


def test_all_eigenvalues_of_a_small_circuit():
    moments = exact_moments(zoo.circuits()["hclt_like"])
    law = exact_null(moments)
    assert law.quantile_error == 0
    eigenvalues = np.maximum(np.linalg.eigvalsh(moments.covariance()), 0)
    pvalue, error = law.tail(0.02, 50, 1.25)
    assert pvalue == pytest.approx(gchi2.sf(0.02 * 50 / 1.25, eigenvalues), rel=1e-9, abs=0.0)
    assert 0 <= error < 1e-10
    threshold = law.threshold(0.01, 50, 1.25)
    assert law.tail(threshold ** 2, 50, 1.25)[0] == pytest.approx(0.01, rel=1e-9)


@pytest.mark.parametrize("spectrum", [
    np.arange(1, 3001) ** -1.0, np.arange(1, 3001) ** -0.5, 0.99 ** np.arange(3000), np.ones(3000),
    np.r_[1.0, np.full(2999, 1e-3)], np.r_[np.ones(40), np.zeros(2960)],
], ids=["1/j", "1/sqrt(j)", "0.99^j", "flat", "spike", "rank 40"])
def test_a_replaced_rest_keeps_quantiles_within_the_stated_error(spectrum):
    law = exact_null(moments_of(spectrum))
    assert law.num_eigenvalues <= null_module.LEADING[-1]
    full = ExactNull(spectrum, np.ones(len(spectrum)), 0.0, len(spectrum))
    for alpha in null_module.CHECKED_LEVELS:
        relative = (law.threshold(alpha, 1, 1) / full.threshold(alpha, 1, 1)) ** 2 - 1
        assert abs(relative) <= law.quantile_error + 1e-9
    assert law.spectrum.mean == pytest.approx(spectrum.sum(), rel=1e-10)
    assert law.spectrum.variance == pytest.approx(2 * (spectrum ** 2).sum(), rel=1e-10)


def test_the_closed_form_is_the_papers():
    law = NormalNull(trace=0.3, trace_sq=0.02)
    T, alpha = 40, 0.05
    expected = np.sqrt(0.3 / T + norm.isf(alpha) / T * np.sqrt(2 * 0.02))
    assert law.threshold(alpha, T, 1.0) == pytest.approx(expected, rel=1e-12)
    assert law.tail(expected ** 2, T, 1.0)[0] == pytest.approx(alpha, rel=1e-10)


def test_nothing_that_varies():
    for law in (ExactNull(np.zeros(3), np.ones(3), 0.0, 3), NormalNull(0.0, 0.0)):
        assert law.tail(0.0, 5, 1.0)[0] == 1
        assert law.tail(0.1, 5, 1.0)[0] == 0
        assert law.threshold(0.05, 5, 1.0) == 0


def monte_carlo(num_resamples, seed=0):
    circuit = zoo.circuits()["two_coins"]
    moments = exact_moments(circuit)
    return MonteCarloNull(circuit, moments.nodes, np.ones(5), moments.mean, num_resamples, seed)


@pytest.mark.parametrize("alpha", [0.5, 0.1, 0.05, 0.01, 0.001])
def test_monte_carlo_threshold_and_pvalue_agree(alpha):
    law = monte_carlo(199)
    threshold = law.threshold(alpha, 20, 1.0)
    for statistic in [*np.sqrt(law.drawn(20)), 0.0, 10.0, threshold]:
        rejected = law.tail(statistic ** 2, 20, 1.0)[0] <= alpha
        if abs(statistic - threshold) > 1e-9:
            assert rejected == (statistic > threshold)


def test_monte_carlo_pvalues_are_never_zero_and_do_not_depend_on_the_order_of_calls():
    law, again = monte_carlo(99), monte_carlo(99)
    assert law.tail(100.0, 3, 1.0)[0] == pytest.approx(0.01)
    again.drawn(7)
    np.testing.assert_array_equal(law.drawn(3), again.drawn(3))
    assert not np.array_equal(law.drawn(3), monte_carlo(99, seed=1).drawn(3))


def test_monte_carlo_blocks_do_not_change_what_is_drawn(monkeypatch):
    whole = monte_carlo(50).drawn(4)
    assert len(whole) == 50
    monkeypatch.setattr(null_module, "BLOCK_ROWS", 4)
    assert len(monte_carlo(50).drawn(4)) == 50
