"""What an object that was read from a file must do to be right: the oracles of `fuzz_files`.

    circuit     every array is the one of the file; likelihoods, means and samples are those of enumeration
    monitor     every bet is fair, nothing becomes NaN, and the monitor survives being saved
"""
from __future__ import annotations

import io
import json
from dataclasses import dataclass

import naive
import numpy as np
import zoo
from fuzz_files import members_of, pack
from streams import next_factors

import hld
import pcircuit
from hld.monitoring import monitor_file
from pcircuit.files import archive, circuit_file

FEW_STATES = 250
SOME = 0.1  # share of the objects that are examined by enumeration, which takes longest


@dataclass(frozen=True)
class Kind:
    """One kind of files: models to start from, how to read one, and what must be true of it."""

    name: str
    parts: list  # (header, arrays)
    read: object
    check: object


# -- circuits ------------------------------------------------------------------------------------------------------


def circuits() -> Kind:
    """Circuits of the zoo, also unnormalised ones."""
    models = [*zoo.circuits().values(), *zoo.unnormalized_circuits().values()]
    header = {"format": "pcircuit.circuit", "version": 1, "provenance": {"data": "none", "rows": [1, 2]}}
    return Kind("circuit", [(header, pcircuit.to_arrays(model)) for model in models], read_circuit, check_circuit)


def read_circuit(file):
    """The circuit in an open file, and the arrays as they were read."""
    header, arrays = archive.read_members(file, "pcircuit.circuit", 1)
    return circuit_file.from_parts(header, arrays), arrays


def check_circuit(found, rng):
    """Raise unless the circuit is that of its arrays and right in every method."""
    circuit, arrays = found
    back = pcircuit.to_arrays(circuit)
    for name, array in arrays.items():
        assert np.array_equal(back[name], array), name
    assert circuit.describe().startswith(repr(circuit))
    assert circuit == pcircuit.from_arrays(back)
    few = np.prod([float(C) for C in circuit.num_categories]) <= FEW_STATES
    rows = naive.states(circuit) if few else random_rows(circuit, 20, rng)
    if not circuit.is_normalized:
        with np.errstate(all="ignore"):  # weights may be so large that likelihoods overflow
            pcircuit.log_likelihood(circuit, rows)
        return
    values, expected = pcircuit.log_likelihood(circuit, rows), naive.likelihood(circuit, rows)
    assert not np.isnan(values).any(), values
    usual = expected > 1e-290
    np.testing.assert_allclose(values[usual], np.log(expected[usual]), rtol=1e-9, atol=1e-9)
    assert (values[expected == 0] < -600).all()
    drawn = pcircuit.sample(circuit, 5, rng=rng)
    assert np.isfinite(pcircuit.log_likelihood(circuit, drawn)).all()
    if few:
        assert abs(np.exp(values).sum() - 1) < 1e-6
    if few and rng.random() < SOME:
        mean, _ = naive.hlv_moments(circuit, np.arange(circuit.num_nodes))
        np.testing.assert_allclose(pcircuit.unit_means(circuit), mean, rtol=1e-6, atol=1e-290)


def random_rows(circuit, n, rng):
    """(n, V) rows of uniform categories."""
    return np.column_stack([rng.integers(0, C, size=n) for C in circuit.num_categories])


# -- monitors ------------------------------------------------------------------------------------------------------


def monitors() -> Kind:
    """Monitors of the zoo: new, after some rows, after many, alarmed, with a margin, with incomplete rows."""
    found, rng = [], np.random.default_rng(5)
    for name, options, num_rows in [
            ("two_coins", {}, 0), ("two_coins", {"margin": 0.01}, 40), ("hclt_like", {"alpha": 0.01}, 15),
            ("hclt_like", {"margin": 0.003}, 100), ("hclt_like", {}, 17), ("mixed_categories", {}, 50),
            ("irregular_csr", {"alpha": 1e-9}, 200), ("irregular_csr", {"margin": 0.1}, 33), ("zero_rows", {}, 20),
            ("deterministic", {}, 64), ("one_region", {}, 30), ("unary", {}, 70)]:
        circuit = zoo.circuits()[name]
        monitor = hld.Monitor(circuit, rng=len(found), **options)
        rows = (random_rows if len(found) % 2 else lambda c, n, rng: pcircuit.sample(c, n, rng=rng))(
            circuit, num_rows, rng).astype(int)
        if len(found) % 3:
            rows[::7, 0] = -1
        monitor.update(rows)
        found.append(monitor_file.to_parts(monitor))
    return Kind("monitor", found, read_monitor, check_monitor)


def read_monitor(file):
    """The monitor in an open file."""
    return hld.Monitor.from_parts(*archive.read_members(file, monitor_file.FORMAT, monitor_file.VERSION))


def check_monitor(monitor, rng):
    """Raise unless the monitor is right in every method."""
    circuit = monitor.circuit
    few = np.prod([float(C) for C in circuit.num_categories]) <= FEW_STATES
    if few and rng.random() < SOME:
        check_fairness(monitor)
    rows = random_rows(circuit, int(rng.integers(1, 40)), rng)
    rows[rng.random(rows.shape) < 0.05] = -1
    assert monitor.describe()
    assert repr(monitor)
    same = read_monitor(io.BytesIO(pack(members_of(*monitor_file.to_parts(monitor)))))
    before = monitor.update(rows[:0])
    results = [monitor.update(rows[:10]), monitor.update(rows[10:])]
    for result in (before, *results):
        check_result(result, monitor)
    assert before.pvalue >= results[0].pvalue >= results[1].pvalue
    assert same.update(rows).to_dict() == results[1].to_dict()
    monitor.reset()
    assert monitor.update(rows[:0]).pvalue == 1
    again = monitor.update(rows)
    monitor.reset()
    assert monitor.update(rows).to_dict() == again.to_dict()


def check_result(result, monitor):
    """Raise unless the numbers of a result can be, and agree with one another."""
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False)) == result.to_dict()
    assert str(result)
    assert 0 <= result.pvalue <= 1
    assert 0 <= result.e_value < np.inf
    assert np.isfinite(result.log_e_values).all()
    assert np.isfinite(result.log_e_value)
    assert result.pvalue <= np.exp(-max(result.log_e_value, 0)) * (1 + 1e-9)
    assert result.alarm == (result.pvalue <= monitor.alpha * (1 + 1e-9)) or abs(
        result.pvalue / monitor.alpha - 1) < 1e-9
    assert result.alarm == (result.alarm_row is not None)
    assert result.alarm_row is None or 1 <= result.alarm_row <= result.num_rows


def check_fairness(monitor):
    """Raise unless the expectation of the next factor is at most 1 under the circuit, and no factor is negative."""
    states = naive.states(monitor.circuit)
    with np.errstate(over="ignore"):
        factors = next_factors(monitor, states)
    assert (factors >= 0).all()
    assert naive.likelihood(monitor.circuit, states) @ factors <= 1 + 1e-9


KINDS = {"circuit": circuits, "monitor": monitors}
