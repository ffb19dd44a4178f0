"""The downward pass in NumPy: summed flows against enumeration, and the last column of inputs for missing values."""

import naive
import numpy as np
import pytest
import zoo

from pcircuit import Circuit, InputRegion, VTree
from pcircuit.inference.downward import downward
from pcircuit.inference.likelihood import upward

ZOO = zoo.all_circuits()


@pytest.mark.parametrize("name", ZOO)
def test_summed_flows_are_those_of_enumeration(name, rng):
    circuit = ZOO[name]
    data, weights = zoo.rows_with_holes(circuit, rng, 9), rng.random(9)
    weights[[1, 4]] = 0.0  # rows that must not count
    found = downward(circuit, data, weights, *upward(circuit, data)[:2])
    for region, flow, expected in zip(
        circuit.regions, found, naive.flows(circuit, data, weights), strict=True
    ):
        if isinstance(region, InputRegion):  # a missing value is spread as the unit's own table is
            total = region.probs.sum(axis=1, keepdims=True)
            flow = flow[:, :-1] + flow[:, -1:] * region.probs / np.where(total > 0, total, 1.0)
        np.testing.assert_allclose(flow, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64])
def test_missing_values_have_a_column_of_their_own_and_impossible_ones_do_not_count(dtype):
    probs = np.zeros((1, 200))  # more categories than int8 counts to
    probs[0, :2] = 0.25, 0.75
    coin = Circuit(VTree([-1], [0]), [InputRegion(0, probs)])
    data = np.array([[1], [0], [1], [100]], dtype=dtype)
    expected = {0: 2.0, 1: 5.0}
    if dtype != np.uint8:
        data[1], expected = -1, {1: 5.0, 200: 2.0}
    (flow,) = downward(coin, data, np.array([1.0, 2.0, 4.0, 8.0]), *upward(coin, data)[:2])
    assert flow.shape == (1, 201)
    assert {c: flow[0, c] for c in np.flatnonzero(flow[0])} == expected


def test_impossible_rows_and_no_rows_use_nothing():
    circuit = ZOO["deterministic"]
    states = naive.states(circuit)
    impossible = states[naive.likelihood(circuit, states) == 0]
    for data in (impossible, states[:0]):
        assert not any(
            flow.any()
            for flow in downward(circuit, data, np.ones(len(data)), *upward(circuit, data)[:2])
        )
