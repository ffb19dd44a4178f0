"""The monitor of a test: its circuit and nodes, and a margin for what the circuit does not get right."""
import numpy as np
import pytest
from scipy.stats import binom, chi2
from streams import shifted

import hld
from hld import HLDDetector, HLDTest
from hld.monitoring.of_test import DOUBT, monitor_of, sampling_error
from pcircuit import exact_moments, mean_node_likelihoods, node_likelihoods, rat_spn, sample

CIRCUIT = rat_spn([2, 3, 2], num_units=2, depth=1, rng=5)
SOURCE = shifted(CIRCUIT)
ROWS = sample(SOURCE, 300, rng=0)


def test_the_margin_is_the_distance_of_the_reference_from_the_circuit_and_the_error_of_its_mean():
    test = HLDTest(CIRCUIT, reference="training", training_data=ROWS, null="exact", rng=0)
    vectors = node_likelihoods(CIRCUIT, ROWS, nodes=test.nodes)
    distance = np.linalg.norm(vectors.mean(axis=0) - exact_moments(CIRCUIT, test.nodes).mean)
    values = np.linalg.eigvalsh(np.cov(vectors.T))
    error = np.sqrt(hld.gchi2.isf(DOUBT, hld.gchi2.prepare(values[values > 1e-12])) / len(ROWS))
    found = monitor_of(test, 0.01)
    assert found.margin == pytest.approx(distance + error, rel=1e-9)
    assert found.alpha == 0.01
    np.testing.assert_array_equal(found.nodes, test.nodes)


def test_where_the_circuit_is_the_reference_its_own_training_rows_make_the_error():
    assert monitor_of(HLDTest(CIRCUIT)).margin == 0
    learned = HLDTest(CIRCUIT, num_train=400, null="exact")
    assert monitor_of(learned).margin == pytest.approx(np.sqrt(learned.calibration.null.threshold(DOUBT, 400)), rel=1e-9)


def test_without_the_plain_norm_one_square_bounds_the_law():
    plain, other = (HLDTest(CIRCUIT, reference="training", training_data=ROWS, metric=name, rng=0)
                    for name in ("euclidean", "standardized"))
    variance = np.square(other.stds).sum() / len(ROWS)
    assert sampling_error(other) == pytest.approx(np.sqrt(chi2.isf(DOUBT, 1) * variance), rel=1e-9)
    assert sampling_error(other) > sampling_error(plain)


@pytest.mark.parametrize("metric", ["euclidean", "standardized", ("standardized", "euclidean")])
def test_the_source_of_the_reference_rows_is_within_the_margin(metric):
    truth = mean_node_likelihoods(CIRCUIT, sample(SOURCE, 400_000, rng=1))  # a thousandth of the margin from exact
    outside, repeats = 0, 300
    for seed in range(repeats):
        test = HLDTest(CIRCUIT, reference="training", training_data=sample(SOURCE, 100, rng=[2, seed]), metric=metric,
                       null="exact", rng=0)
        outside += np.linalg.norm(truth[test.nodes] - exact_moments(CIRCUIT, test.nodes).mean) > monitor_of(test).margin
    assert outside <= binom.isf(1e-4, repeats, DOUBT)


def test_a_fitted_detector_stands_for_its_test():
    detector = HLDDetector(num_latents=2, num_epochs=5).fit(ROWS)
    found = monitor_of(detector)
    assert found.circuit is detector.circuit_
    assert found.margin == monitor_of(detector.test_).margin > 0


@pytest.mark.parametrize("margin", [0.0, 0.25])
def test_a_margin_may_be_given(margin):
    test = HLDTest(CIRCUIT, reference="training", training_data=ROWS, rng=0)
    assert monitor_of(test, margin=margin).margin == margin
