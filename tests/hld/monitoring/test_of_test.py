"""The monitor of a test: its circuit and nodes, and a margin for what the circuit does not get right."""
import numpy as np
import pytest
from streams import shifted

from hld import HLDTest
from hld.monitoring.of_test import monitor_of
from pcircuit import exact_moments, mean_node_likelihoods, rat_spn, sample

CIRCUIT = rat_spn([2, 3, 2], num_units=2, depth=1, rng=5)
ROWS = sample(shifted(CIRCUIT), 300, rng=0)


def test_the_margin_is_the_distance_of_the_reference_from_the_circuit():
    test = HLDTest(CIRCUIT, reference="training", training_data=ROWS, rng=0)
    difference = mean_node_likelihoods(CIRCUIT, ROWS, nodes=test.nodes) - exact_moments(CIRCUIT, test.nodes).mean
    found = monitor_of(test, 0.01)
    assert found.margin == pytest.approx(np.linalg.norm(difference), rel=1e-9)
    assert found.alpha == 0.01
    np.testing.assert_array_equal(found.nodes, test.nodes)
    assert monitor_of(HLDTest(CIRCUIT)).margin == 0


@pytest.mark.parametrize("margin", [0.0, 0.25])
def test_a_margin_may_be_given(margin):
    test = HLDTest(CIRCUIT, reference="training", training_data=ROWS, rng=0)
    assert monitor_of(test, margin=margin).margin == margin
