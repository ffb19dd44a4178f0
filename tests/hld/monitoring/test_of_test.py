"""The monitor of a test: its circuit and nodes, and a margin for what the circuit does not get right."""
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, chi2, norm
from streams import shifted

from hld import HLDDetector, HLDTest
from hld.monitoring.of_test import DOUBT, farthest, monitor_of
from pcircuit import exact_moments, node_likelihoods, rat_spn, sample

CIRCUIT = rat_spn([2, 3, 2], num_units=2, depth=1, rng=5)
SOURCE = shifted(CIRCUIT)
ROWS = sample(SOURCE, 300, rng=0)


def reference(rows, **options):
    return HLDTest(CIRCUIT, reference="training", training_data=rows, rng=0, **options)


def test_the_margin_is_the_bound_of_the_module():
    test = reference(ROWS, null="exact")
    vectors = node_likelihoods(CIRCUIT, ROWS, nodes=test.nodes)
    misfit = vectors.mean(axis=0) - exact_moments(CIRCUIT, test.nodes).mean
    C, z, D = np.cov(vectors.T) / len(ROWS), norm.isf(DOUBT), np.linalg.norm(misfit)
    variance = misfit @ C @ misfit / D ** 2

    def standard_deviations_below(d):
        return (d ** 2 + np.trace(C) - D ** 2) / np.sqrt(2 * np.trace(C @ C) + 4 * d ** 2 * variance)

    expected = brentq(lambda d: standard_deviations_below(d) - z, D / 10, 10 * D)
    found = monitor_of(test, 0.01)
    assert found.margin == pytest.approx(expected, rel=1e-6)
    assert found.alpha == 0.01
    np.testing.assert_array_equal(found.nodes, test.nodes)


def test_where_the_circuit_is_the_reference_its_own_training_rows_make_the_margin():
    assert monitor_of(HLDTest(CIRCUIT)).margin == 0
    test = HLDTest(CIRCUIT, num_train=100, null="exact")
    assert monitor_of(test).margin == pytest.approx(np.sqrt(test.calibration.null.threshold(DOUBT, 100)), rel=1e-9)


def test_without_the_plain_norm_one_square_bounds_the_law():
    test = HLDTest(CIRCUIT, num_train=100, metric="standardized")
    variance = np.square(test.stds).sum() / 100
    assert monitor_of(test).margin == pytest.approx(np.sqrt(chi2.isf(DOUBT, 1) * variance), rel=1e-9)


@pytest.mark.parametrize("along", [0, 1, -1])
@pytest.mark.parametrize("length", [0.02, 0.1, 0.4])
def test_the_bound_is_missed_as_rarely_as_it_says_in_any_direction(along, length):
    """Normal means around a misfit along one axis of the covariance, which is estimated from the same rows."""
    n, repeats, rng = 50, 4000, np.random.default_rng(3)
    test = reference(ROWS, null="exact")
    m = len(test.nodes)
    values, vectors = np.linalg.eigh(np.cov(node_likelihoods(CIRCUIT, ROWS, nodes=test.nodes).T))
    axis = vectors[:, ::-1][:, along]
    missed = 0
    for _ in range(repeats):
        rows = (rng.normal(size=(n, m)) * np.sqrt(np.maximum(values, 0))) @ vectors.T + length * axis
        kept = SimpleNamespace(covariance=np.cov(rows.T))
        stand_in = SimpleNamespace(num_train=n, nodes=test.nodes, stds=rows.std(axis=0), calibration=SimpleNamespace(
            kept=kept, metrics=(), null=test.calibration.null))
        missed += farthest(stand_in, rows.mean(axis=0)) < length
    assert missed <= binom.isf(1e-4, repeats, DOUBT)


@pytest.mark.parametrize("what", [None, CIRCUIT, HLDDetector()])
def test_what_is_no_test_is_refused(what):
    with pytest.raises(TypeError, match="`test` must be an HLDTest or a fitted HLDDetector, found"):
        monitor_of(what)


def test_a_fitted_detector_stands_for_its_test():
    detector = HLDDetector(num_latents=2, num_epochs=5).fit(ROWS)
    found = monitor_of(detector)
    assert found.circuit is detector.circuit_
    assert found.margin == monitor_of(detector.test_).margin > 0


@pytest.mark.parametrize("margin", [0.0, 0.25])
def test_a_margin_may_be_given(margin):
    test = HLDTest(CIRCUIT, reference="training", training_data=ROWS, rng=0)
    assert monitor_of(test, margin=margin).margin == margin
