"""The monitor of a test: its circuit and nodes, and a margin for what the circuit does not get right."""
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, chi2
from streams import shifted

import hld
from hld import HLDDetector, HLDTest
from hld.monitoring.of_test import DOUBT, farthest, monitor_of
from pcircuit import exact_moments, node_likelihoods, rat_spn, sample

CIRCUIT = rat_spn([2, 3, 2], num_units=2, depth=1, rng=5)
SOURCE = shifted(CIRCUIT)
ROWS = sample(SOURCE, 300, rng=0)


def bound(values, n, observed):
    """The distance along the first axis at which the mean of n rows is as near as observed with probability DOUBT."""
    def excess(d):
        return float(hld.gchi2.cdf(n * observed ** 2, hld.gchi2.prepare(
            values, noncentralities=np.eye(len(values))[0] * n * d * d / values[0]))) - DOUBT
    return observed if excess(observed) < 0 else brentq(excess, observed, observed + 10)


@pytest.mark.parametrize("num_rows", [20, 300])
def test_the_margin_bounds_the_distance_of_the_source_from_the_circuit(num_rows):
    test = HLDTest(CIRCUIT, reference="training", training_data=ROWS[:num_rows], null="exact", rng=0)
    vectors = node_likelihoods(CIRCUIT, ROWS[:num_rows], nodes=test.nodes)
    distance = np.linalg.norm(vectors.mean(axis=0) - exact_moments(CIRCUIT, test.nodes).mean)
    values = np.linalg.eigvalsh(np.cov(vectors.T))[::-1]
    found = monitor_of(test, 0.01)
    assert found.margin == pytest.approx(bound(values[values > 1e-12], num_rows, distance), rel=1e-6)
    assert found.alpha == 0.01
    np.testing.assert_array_equal(found.nodes, test.nodes)


def test_where_the_circuit_is_the_reference_its_own_training_rows_make_the_margin():
    assert monitor_of(HLDTest(CIRCUIT)).margin == 0
    few, many = (monitor_of(HLDTest(CIRCUIT, num_train=n, null="exact")).margin for n in (100, 400))
    assert few >= many >= 0


def test_without_the_plain_norm_one_square_bounds_the_law():
    plain, other = (HLDTest(CIRCUIT, reference="training", training_data=ROWS, metric=name, rng=0)
                    for name in ("euclidean", "standardized"))
    variance = np.square(other.stds).sum() / len(ROWS)
    assert farthest(other, 0.1) == pytest.approx(0.1 + np.sqrt(chi2.isf(DOUBT, 1) * variance), rel=1e-9)
    assert farthest(other, 0.1) > farthest(plain, 0.1)


@pytest.mark.parametrize("along", [0, -1])
@pytest.mark.parametrize("length", [0.0, 0.1, 0.4])
def test_the_bound_is_missed_as_rarely_as_it_says_in_any_direction(along, length):
    """Normal means around a misfit along the largest or the smallest axis."""
    n, repeats, rng = 50, 2000, np.random.default_rng(3)
    test = HLDTest(CIRCUIT, num_train=n, null="exact")
    values = test.calibration.null.eigenvalues
    means = rng.normal(size=(repeats, len(values))) * np.sqrt(values / n)
    means[:, along] += length
    distances = np.linalg.norm(means, axis=1)
    grid = np.linspace(0, distances.max(), 200)
    bounds = np.interp(distances, grid, [farthest(test, d) for d in grid])
    assert (bounds < length).sum() <= binom.isf(1e-4, repeats, DOUBT)


def test_a_fitted_detector_stands_for_its_test():
    detector = HLDDetector(num_latents=2, num_epochs=5).fit(ROWS)
    found = monitor_of(detector)
    assert found.circuit is detector.circuit_
    assert found.margin == monitor_of(detector.test_).margin > 0


@pytest.mark.parametrize("margin", [0.0, 0.25])
def test_a_margin_may_be_given(margin):
    test = HLDTest(CIRCUIT, reference="training", training_data=ROWS, rng=0)
    assert monitor_of(test, margin=margin).margin == margin
