"""Holes summed out: the distance is that of marginal likelihoods, and the holes are counted."""
import numpy as np
import pytest
import zoo

from hld import HLDTest
from hld.references.holes import HolePatterns
from pcircuit import mean_node_likelihoods, sample


def test_the_distance_is_that_of_marginal_likelihoods():
    circuit = zoo.circuits()["hclt_like"]
    rows = sample(circuit, 60, rng=0).astype(np.int64)
    rows[np.random.default_rng(1).random(rows.shape) < 0.2] = -1
    test = HLDTest(circuit, missing="exact", rng=0)
    found = test(rows)
    expected = HolePatterns(circuit, test.nodes).reference(rows).mean
    difference = mean_node_likelihoods(circuit, rows, nodes=test.nodes) - expected
    assert found.statistic == pytest.approx(np.linalg.norm(difference), rel=1e-12)
    assert (found.num_samples, found.num_missing) == (60, (rows < 0).sum())
    assert 0 < found.pvalue <= 1
