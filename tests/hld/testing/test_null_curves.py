"""Curves of the null: a density whose tail beyond the batch is its p-value."""

import numpy as np
import pytest

from hld.testing.goodness_of_fit import HLDTest
from hld.testing.null_curves import null_curves
from pcircuit import Circuit, InputRegion, VTree, rat_spn, sample

CIRCUIT = rat_spn([2] * 6, num_units=3, depth=2, rng=0)


@pytest.mark.parametrize("metric", ["euclidean", ("euclidean", "standardized")])
def test_tails_are_the_p_values(metric):
    test = HLDTest(CIRCUIT, metric=metric, null="exact", rng=0)
    result = test(sample(CIRCUIT, 60, rng=1))
    curves = null_curves(test, result)
    assert [curve.metric for curve in curves] == list(result.metrics)
    for curve, pvalue in zip(curves, result.pvalues, strict=True):
        x, y = curve.x, curve.density
        width = np.diff(x)
        beyond = x[:-1] >= curve.observed
        mass = (y[:-1] + y[1:]) / 2 * width
        assert mass[beyond].sum() / mass.sum() == pytest.approx(pvalue, abs=0.06)
        assert (curve.observed > 1) == (pvalue < result.alpha)


def test_a_batch_like_the_reference_stands_left_of_all_chance_and_without_chance_there_is_no_curve():
    test = HLDTest(CIRCUIT, null="exact")
    result = test.judge(test.mean, 60)
    (curve,) = null_curves(test, result)
    assert result.pvalue == 1.0
    assert 0 < curve.observed < curve.x[0]
    assert null_curves(test, test([[0, 1] * 3] * 5000))[0].observed is None  # too far for the axis
    certain = HLDTest(Circuit(VTree([-1], [0]), [InputRegion(0, [[1.0, 0.0]])]))
    assert null_curves(certain, certain([[0]] * 5)) == []
