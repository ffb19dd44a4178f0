"""The test on circuits of densities: in [0, 1], whatever the units, with the level that it says."""

import numpy as np
import pytest
from binomial_bounds import at_least, at_most

import hld
import pcircuit
from pcircuit import Circuit, InputRegion
from pcircuit.inference.densities import bounded, log_bounds
from pcircuit.leaves import Gaussian


def circuit(scale=None):
    """Eight columns of mixtures of four normal distributions, in units of their own."""
    rng = np.random.default_rng(0)
    base = pcircuit.rat_spn([2] * 8, 4, 2, rng=0)
    scale = np.ones(8) if scale is None else scale
    regions = [
        InputRegion(
            region.variable,
            Gaussian(
                scale[region.variable] * rng.normal(0, 1, 4),
                scale[region.variable] * np.exp(rng.normal(0, 0.3, 4)),
            ),
        )
        if region.is_input
        else region
        for region in base.regions
    ]
    return Circuit(base.vtree, regions)


def test_likelihoods_over_their_bounds_lie_between_zero_and_one():
    given = circuit()
    units = bounded(given)
    bounds, nodes = np.exp(log_bounds(units)), units.nodes
    values = units.node_likelihoods(given.sample(5000, rng=1)) / bounds
    assert values.min() >= 0
    assert values.max() <= 1 + 1e-12
    inputs = units.nodes.kind == "input"
    assert values[:, inputs].max(axis=0) == pytest.approx(np.ones(inputs.sum()), abs=0.01)
    for r, region in enumerate(units.regions):
        if not region.is_input:
            products, sums = (
                bounds[(nodes.region == r) & (nodes.kind == k)] for k in ("product", "sum")
            )
            assert sums == pytest.approx(region.weights @ products, rel=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "standardized", "whitened"])
def test_units_of_columns_do_not_matter(metric):
    scale = np.array([1e-3, 1.0, 5.0, 1e4, 1.0, 0.1, 2.0, 1.0])
    rows = circuit().sample(60, rng=2)
    one = hld.HLDTest(circuit(), metric=metric)(rows)
    other = hld.HLDTest(circuit(scale), metric=metric)(rows * scale)
    assert other.pvalue == pytest.approx(one.pvalue, rel=1e-6)
    assert other.statistic == pytest.approx(one.statistic, rel=1e-9)


@pytest.mark.parametrize("num_rows", [10, 50, 200])
def test_level_and_power_of_the_exact_null(num_rows):
    test, trials = hld.HLDTest(circuit()), 300
    rows = circuit().sample(num_rows * trials, rng=3).reshape(trials, num_rows, 8)
    rejected = sum(test(batch).reject for batch in rows)
    assert rejected <= at_most(trials, 0.07)
    assert rejected >= at_least(trials, 0.02)
    moved = sum(test(batch + 1.0).reject for batch in rows[:50])
    assert moved >= (20 if num_rows == 10 else 50)
