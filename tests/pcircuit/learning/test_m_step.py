"""The M-step from flows that were counted elsewhere."""

import numpy as np
import pytest
import zoo

from pcircuit import InputRegion, expected_flows, fit_em, log_likelihood, maximize


@pytest.mark.parametrize("pseudocount", [0, 0.3])
@pytest.mark.parametrize("name", zoo.circuits())
def test_a_step_from_added_flows_is_an_epoch(name, pseudocount, rng):
    circuit = zoo.circuits()[name]
    rows = zoo.rows_with_holes(circuit, rng, 40)
    rows = rows[log_likelihood(circuit, rows) > -np.inf]
    parts = [expected_flows(circuit, part) for part in np.array_split(rows, 3)]
    flows = parts[0] + parts[1] + parts[2]
    here, (there, history) = (
        maximize(circuit, flows, pseudocount=pseudocount),
        fit_em(circuit, rows, num_epochs=1, pseudocount=pseudocount),
    )
    assert flows.mean_log_likelihood == pytest.approx(history[0], rel=1e-12)
    for own, expected in zip(here.regions, there.regions, strict=True):
        if isinstance(own, InputRegion):
            np.testing.assert_allclose(own.probs, expected.probs, rtol=1e-11, atol=1e-15)
        else:
            assert own.is_sparse == expected.is_sparse
            np.testing.assert_allclose(
                own.dense_weights(), expected.dense_weights(), rtol=1e-11, atol=1e-15
            )


def test_flows_of_another_circuit_are_refused(rng):
    first, other = zoo.two_coins(), next(c for c in zoo.circuits().values() if c.num_variables > 2)
    flows = expected_flows(other, zoo.rows_with_holes(other, rng, 5))
    with pytest.raises(ValueError, match="must be those of this circuit"):
        maximize(first, flows)
    with pytest.raises(TypeError, match="Flows, found list"):
        maximize(first, [flows])
