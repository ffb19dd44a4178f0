"""Conditionals, events and normalisation, against sums over all states."""

import naive
import numpy as np
import pytest
import zoo

import pcircuit
from pcircuit import StructureError

ZOO = zoo.circuits()
ALL = zoo.all_circuits()


@pytest.mark.parametrize("name", ALL)
def test_normalised_circuits_are_proportional(name):
    circuit = ALL[name]
    f = naive.values(circuit)
    if f.sum() == 0:
        with pytest.raises(StructureError, match="zero for every state"):
            pcircuit.normalize(circuit)
        return
    normal = pcircuit.normalize(circuit)
    assert normal.is_normalized
    np.testing.assert_allclose(naive.values(normal), f / f.sum(), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", ZOO)
def test_events_and_conditions_are_sums_over_states(name):
    circuit, rng = ZOO[name], np.random.default_rng(3)
    X, p = naive.states(circuit), naive.values(circuit)
    for _ in range(10):
        event = {}
        for v in rng.permutation(circuit.num_variables)[
            : rng.integers(1, circuit.num_variables + 1)
        ].tolist():
            levels = np.flatnonzero(rng.random(circuit.num_categories[v]) < 0.6).tolist()
            if levels:
                event[v] = levels if rng.random() < 0.7 else levels[0]
        inside = np.all(
            [np.isin(X[:, v], levels) for v, levels in event.items()] or [np.ones(len(X), bool)],
            axis=0,
        )
        total = p[inside].sum()
        assert np.exp(pcircuit.log_probability(circuit, event)) == pytest.approx(
            total, rel=1e-12, abs=1e-300
        )
        if total == 0:
            with pytest.raises(ValueError, match="probability zero"):
                pcircuit.condition(circuit, event, keep_known=True)
            continue
        given_event = pcircuit.condition(circuit, event, keep_known=True)
        assert given_event.is_normalized
        np.testing.assert_allclose(
            naive.values(given_event), np.where(inside, p, 0) / total, rtol=1e-11, atol=1e-300
        )


@pytest.mark.parametrize(
    ("event", "error", "message"),
    [
        (
            [0, 1, 1],
            ValueError,
            r"`event` must have shape \(N, 2\), one column per variable, found \(1, 3\)",
        ),
        ({9: 0}, ValueError, "`event` must be a mapping from variables 0..1 to levels, found 9"),
        ({0: 2}, ValueError, "must be a mapping that has levels 0..1 for variable 0, found 2"),
        ({0: []}, ValueError, "levels 0..1 for variable 0, found \\[\\]: name at least one"),
        ({True: 0}, TypeError, "must be a mapping from variables 0..1 to levels, found bool"),
        ({"a": 0}, TypeError, "must be a mapping from variables 0..1 to levels"),
        ({0: "1"}, TypeError, "levels 0..1 for variable 0"),
        ({0: [[1]]}, ValueError, "levels 0..1 for variable 0"),
        ({0: np.timedelta64(1)}, TypeError, "levels 0..1 for variable 0"),
        ({np.timedelta64(0, "D"): 0}, TypeError, "must be a mapping from variables 0..1 to levels"),
        ({0: 0, 1: 0}, ValueError, "fixes all variables"),
    ],
)
def test_bad_events_get_one_sentence(event, error, message):
    with pytest.raises(error, match=message):
        pcircuit.condition(ZOO["two_coins"], event)


def test_conditioning_survives_a_thousand_variables():
    circuit = pcircuit.rat_spn([4] * 1000, num_units=3, depth=3, rng=0)
    row = pcircuit.sample(circuit, 1, rng=0)[0]
    event = {v: int(row[v]) for v in range(0, 999)}
    last = pcircuit.condition(circuit, event)
    rows = np.repeat(row[None], 4, axis=0)
    rows[:, 999] = range(4)
    joint = pcircuit.log_likelihood(circuit, rows)
    np.testing.assert_allclose(
        np.log(last.regions[0].probs[0]), joint - np.logaddexp.reduce(joint), rtol=1e-9
    )


def test_events_of_large_numbers_do_not_overflow():
    huge = pcircuit.Circuit(
        pcircuit.VTree([-1], [0]), [pcircuit.InputRegion(0, [[1e308, 1e308, 1e308]])]
    )
    assert pcircuit.log_probability(huge, {0: [0, 1]}) == pytest.approx(
        np.log(2) + 308 * np.log(10), rel=1e-14
    )
    np.testing.assert_allclose(
        pcircuit.condition(huge, {0: [0, 2]}).regions[0].probs, [[0.5, 0, 0.5]], rtol=1e-14
    )
