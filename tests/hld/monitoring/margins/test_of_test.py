"""The monitor of a test: its circuit and nodes, and a margin for what the circuit does not get right."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, chi2
from streams import shifted

import hld
from hld import HLDDetector, HLDTest
from hld.monitoring.margins.of_test import DOUBT, farthest, monitor_of
from pcircuit import exact_moments, node_likelihoods, rat_spn, sample

CIRCUIT = rat_spn([2, 3, 2], num_units=2, depth=1, rng=5)
SOURCE = shifted(CIRCUIT)
ROWS = sample(SOURCE, 300, rng=0)


def reference(rows, **options):
    return HLDTest(CIRCUIT, reference="training", training_data=rows, rng=0, **options)


def bound(values, D):
    """The distance along the first axis at which a mean with these variances is as near as D with probability DOUBT."""

    def excess(d):
        return (
            float(
                hld.gchi2.cdf(
                    D**2,
                    hld.gchi2.prepare(
                        values, noncentralities=np.eye(len(values))[0] * d * d / values[0]
                    ),
                )
            )
            - DOUBT
        )

    return D if excess(D) < 0 else brentq(excess, D, 10 * D)


def eigenvalues(C):
    values = np.linalg.eigvalsh(C)[::-1]
    return values[values > 1e-12 * values[0]]


@pytest.mark.parametrize("num_rows", [20, 300])
def test_the_margin_is_the_bound_of_the_module(num_rows):
    test = reference(ROWS[:num_rows], null="exact")
    vectors = node_likelihoods(CIRCUIT, ROWS[:num_rows], nodes=test.nodes)
    D = np.linalg.norm(vectors.mean(axis=0) - exact_moments(CIRCUIT, test.nodes).mean)
    expected = bound(eigenvalues(np.cov(vectors.T) / num_rows), D)
    found = monitor_of(test, 0.01)
    assert found.margin == pytest.approx(expected, rel=1e-6)
    assert found.alpha == 0.01
    np.testing.assert_array_equal(found.nodes, test.nodes)


def test_where_the_circuit_is_the_reference_its_own_training_rows_make_the_margin():
    assert monitor_of(HLDTest(CIRCUIT)).margin == 0
    test = HLDTest(CIRCUIT, num_train=100, null="exact")
    assert monitor_of(test).margin == pytest.approx(
        np.sqrt(test.calibration.null.threshold(DOUBT, 100)), rel=1e-9
    )


def test_without_the_plain_norm_one_square_bounds_the_law():
    test = HLDTest(CIRCUIT, num_train=100, metric="standardized")
    variance = np.square(test.stds).sum() / 100
    assert monitor_of(test).margin == pytest.approx(
        np.sqrt(chi2.isf(DOUBT, 1) * variance), rel=1e-9
    )


def stand_in(variances, n):
    """What `farthest` asks of a test whose reference rows vary like that, each node by itself."""
    kept = SimpleNamespace(covariance=np.diag(variances), has_holes=False)
    return SimpleNamespace(
        num_train=n,
        nodes=np.arange(len(variances)),
        calibration=SimpleNamespace(kept=kept, metrics=(), null=None),
    )


def missed(variances, n, along, length, repeats):
    """How many of the bounds of normal means around a misfit along one axis are below its length."""
    means = np.random.default_rng(3).normal(size=(repeats, len(variances))) * np.sqrt(variances / n)
    means[:, along] += length
    distances = np.linalg.norm(means, axis=1)
    smallest = np.sort(distances)[:200]  # the bound grows with the distance
    bounds = [
        farthest(stand_in(variances, n), np.eye(len(variances))[0] * D)
        for D in smallest[[0, 20, 199]]
    ]
    assert bounds == sorted(bounds)
    return int(
        np.sum(
            [
                farthest(stand_in(variances, n), np.eye(len(variances))[0] * D) < length
                for D in smallest[:40]
            ]
        )
    )


@pytest.mark.parametrize("along", [0, 1, -1])
@pytest.mark.parametrize("length", [0.02, 0.1, 0.4])
def test_the_bound_is_missed_as_rarely_as_it_says_in_any_direction(along, length):
    vectors = node_likelihoods(CIRCUIT, ROWS, nodes=reference(ROWS, null="exact").nodes)
    variances = np.maximum(np.linalg.eigvalsh(np.cov(vectors.T))[::-1], 0)
    assert missed(variances, 50, along, length, 10_000) <= binom.isf(1e-4, 10_000, DOUBT)


@pytest.mark.parametrize("length", [2.0, 3.0, 5.0])
def test_the_bound_holds_for_a_misfit_along_the_one_direction_that_varies_much(length):
    """Chance may hide it, and what is left to observe is the small noise of many other nodes."""
    assert missed(np.r_[1.0, np.full(299, 0.04)], 1, 0, length, 10_000) <= binom.isf(
        1e-4, 10_000, DOUBT
    )


@pytest.mark.parametrize("metric", ["euclidean", "standardized"])
def test_of_rows_with_holes_each_mean_is_over_the_rows_that_show_its_node(metric):
    rows = ROWS.astype(np.int64)
    rows[np.random.default_rng(0).random(rows.shape) < 0.5] = -1
    test = reference(rows, null="exact", metric=metric)
    kept = test.calibration.kept
    assert kept.counts.max() < len(rows)
    D = np.linalg.norm(test.mean - exact_moments(CIRCUIT, test.nodes).mean)
    assert monitor_of(test).margin == pytest.approx(
        bound(eigenvalues(kept.covariance * kept.shared), D), rel=1e-6
    )


@pytest.mark.parametrize("what", [None, CIRCUIT, HLDDetector()])
def test_what_is_no_test_is_refused(what):
    with pytest.raises(TypeError, match="`test` must be an HLDTest or a fitted HLDDetector, found"):
        monitor_of(what)


def test_a_fitted_detector_stands_for_its_test():
    detector = HLDDetector(num_latents=2, num_epochs=5).fit(ROWS)
    found = monitor_of(detector)
    assert found.circuit is detector.circuit_
    assert found.margin == monitor_of(detector.test_).margin > 0


@pytest.mark.parametrize(
    ("fitting", "said"),
    [({"groups": np.arange(200) // 5}, "`groups`"), ({"order": "time"}, "`order`='time'")],
)
def test_the_default_margin_of_rows_that_depend_on_one_another_is_warned_of(fitting, said):
    rows = np.random.default_rng(0).integers(0, 2, size=(200, 3))
    detector = HLDDetector(num_latents=2, num_epochs=2, null="exact").fit(rows, **fitting)
    with pytest.warns(
        UserWarning, match=f"`test` was fitted with {said}, so the default of `margin`"
    ):
        monitor_of(detector)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monitor_of(detector, margin=0.5)


@pytest.mark.parametrize("margin", [0.0, 0.25])
def test_a_margin_may_be_given(margin):
    test = HLDTest(CIRCUIT, reference="training", training_data=ROWS, rng=0)
    assert monitor_of(test, margin=margin).margin == margin
