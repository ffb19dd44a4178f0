"""Calibrations in files, and built: what would be a law of zeros is refused."""

import numpy as np
import pytest

import hld
from hld.detector.file import calibration_parts, read_calibration
from hld.features.linear_maps import Scaled
from hld.testing.calibration import refuse_scale
from pcircuit import Circuit, InnerRegion, InputRegion, VTree, rat_spn


def test_nodes_and_metrics_whose_squares_are_no_doubles_are_refused():
    plain, mean = Scaled("plain", np.ones(2)), np.array([1e-80, 0.0])
    with pytest.raises(
        ValueError, match=r"`nodes` have likelihoods of at most 1e-80, whose variance underflows"
    ):
        refuse_scale(plain, np.zeros(2), mean)
    refuse_scale(plain, np.zeros(2), np.zeros(2))  # nothing there that could vary
    refuse_scale(plain, np.zeros(2), np.ones(2))  # constant
    for scale in (1e-69, 1.0, 1e69):
        refuse_scale(Scaled("own", np.full(2, scale)), np.array([0.5, 0.0]), np.ones(2))
    for scale in (1e-71, 1e71):
        with pytest.raises(ValueError, match="`metric` 'own' makes deviations of 5e"):
            refuse_scale(Scaled("own", np.full(2, scale)), np.array([0.5, 0.0]), np.ones(2))


def test_a_scale_whose_squares_leave_the_doubles_is_refused():
    """Else all laws would be of zeros, and no batch would ever look shifted."""
    V, circuit = 300, rat_spn([2, 3, 2, 4], num_units=2, depth=1, rng=7)
    faint = Circuit(
        VTree.from_nested(list(range(V))),
        [
            *(InputRegion(v, [[0.26, 0.25, 0.25, 0.24]]) for v in range(V)),
            InnerRegion([[0] * V], [[1.0]]),
        ],
    )
    with pytest.raises(
        ValueError,
        match=r"`nodes` have likelihoods of at most \S*e-181, whose variance underflows: ",
    ):
        hld.HLDTest(faint, nodes=[faint.num_nodes - 1])
    weights, rows = np.ones(len(hld.select_nodes(circuit))), np.zeros((50, 4), dtype=int)
    test = hld.HLDTest(circuit, metric=2 * weights)
    for scale in (1e-60, 1e60):
        found, plain = (
            hld.HLDTest(circuit, metric=scale * weights)(rows),
            hld.HLDTest(circuit)(rows),
        )
        assert found.pvalue == pytest.approx(plain.pvalue, rel=1e-9)
        assert found.statistic == pytest.approx(plain.statistic * scale, rel=1e-9)
    scalars, arrays = calibration_parts(test.calibration)
    (weights,) = (name for name in arrays if name.startswith("metric.0."))
    with pytest.raises(
        ValueError, match=r"`metric` 'weights' makes deviations of .* multiply all weights"
    ):
        read_calibration(
            circuit, scalars, {**arrays, weights: arrays[weights] * 1e-200}, test.settings.seed
        )
