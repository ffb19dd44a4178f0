"""What an object that was read from a file must do to be right: the oracles of `fuzz_files`.

circuit     every array is the one of the file; likelihoods, means and samples are those of enumeration
monitor     every bet is fair, nothing becomes NaN, and the monitor survives being saved
detector    p-values are those that follow from the parts, by other ways, and all methods agree with each other
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass

import naive
import numpy as np
import zoo
from fuzz_files import members_of, pack
from scipy.stats import norm

import hld
import pcircuit
from hld import gchi2
from hld.detector import file as detector_file
from hld.detector.detector import HLDDetector
from hld.laws.auto import AutoNull
from hld.laws.joint import JointNull
from hld.laws.limit_law import LimitLaw
from hld.testing import sequential as monitor_file
from pcircuit.io import archive, circuit_file
from pcircuit.io.circuit_file import from_arrays, to_arrays
from pcircuit.moments.means import unit_means

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
    header = {
        "format": "pcircuit.circuit",
        "version": 1,
        "provenance": {"data": "none", "rows": [1, 2]},
    }
    return Kind(
        "circuit",
        [(header, to_arrays(model)) for model in models],
        read_circuit,
        check_circuit,
    )


def read_circuit(file):
    """The circuit in an open file, and the arrays as they were read."""
    header, arrays = archive.read_members(file, "pcircuit.circuit", 1)
    return circuit_file.from_parts(header, arrays), arrays


def check_circuit(found, rng):
    """Raise unless the circuit is that of its arrays and right in every method."""
    circuit, arrays = found
    back = to_arrays(circuit)
    for name, array in arrays.items():
        assert np.array_equal(back[name], array), name
    assert circuit.describe().startswith(repr(circuit))
    assert circuit == from_arrays(back)
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
        np.testing.assert_allclose(unit_means(circuit), mean, rtol=1e-6, atol=1e-290)


def random_rows(circuit, n, rng):
    """(n, V) rows of uniform categories."""
    return np.column_stack([rng.integers(0, C, size=n) for C in circuit.num_categories])


# -- monitors ------------------------------------------------------------------------------------------------------


def monitors() -> Kind:
    """Monitors of one circuit: new, after some rows, after many, alarmed, with incomplete rows."""
    found, rng, circuit = [], np.random.default_rng(5), zoo.circuits()["two_coins"]
    for alpha, num_rows in [(0.05, 0), (0.05, 40), (0.9, 100), (1e-9, 60)]:
        monitor = hld.Monitor(circuit, alpha)
        rows = random_rows(circuit, num_rows, rng).astype(int)
        rows[::7, 0] = -1
        monitor.update(rows)
        found.append(monitor.to_parts())
    return Kind("monitor", found, read_monitor, check_monitor)


def read_monitor(file):
    """The monitor in an open file."""
    circuit = zoo.circuits()["two_coins"]
    return hld.Monitor.from_parts(
        circuit, *archive.read_members(file, monitor_file.FORMAT, monitor_file.VERSION)
    )


def check_monitor(monitor, rng):
    """Raise unless the monitor is right in every method."""
    rows = random_rows(monitor.circuit, int(rng.integers(1, 40)), rng)
    rows[rng.random(rows.shape) < 0.05] = -1
    same = read_monitor(io.BytesIO(pack(members_of(*monitor.to_parts()))))
    before = monitor.update(rows[:0])
    results = [monitor.update(rows[:10]), monitor.update(rows[10:])]
    for result in (before, *results):
        check_result(result, monitor)
    assert before.pvalue >= results[0].pvalue >= results[1].pvalue
    assert same.update(rows).to_dict() == results[1].to_dict()
    monitor.reset()
    assert monitor.update(rows[:0]).pvalue == 1


def check_result(result, monitor):
    """Raise unless the numbers of a result can be, and agree with one another."""
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False)) == result.to_dict()
    assert str(result)
    assert 0 <= result.pvalue <= 1
    assert 0 <= result.e_value < np.inf
    assert np.isfinite(result.log_e_values).all()
    assert np.isfinite(result.log_e_value)
    assert result.pvalue <= np.exp(-max(result.log_e_value, 0)) * (1 + 1e-9)
    assert (
        result.alarm == (result.pvalue <= monitor.alpha * (1 + 1e-9))
        or abs(result.pvalue / monitor.alpha - 1) < 2e-9
    )  # the width of the comparison before, and its rounding
    assert result.alarm == (result.alarm_row is not None)
    assert result.alarm_row is None or 1 <= result.alarm_row <= result.num_rows


# -- detectors -----------------------------------------------------------------------------------------------------


def detectors() -> Kind:
    """Detectors of a small table with all kinds of columns: every null, reference and metric; and released ones."""
    rng, found = np.random.default_rng(6), []
    shape = rng.integers(0, 3, size=90)
    table = np.empty((90, 4), dtype=object)
    table[:, 0] = np.array(["a", "b\x1b", "c"])[shape]
    table[:, 1] = rng.normal(3 * shape, 1)
    table[:, 2] = rng.random(90) < 0.5
    table[:, 3] = [10**25 + one for one in shape.tolist()]
    for options in [
        {},
        {"reference": "training"},
        {"reference": "circuit"},
        {"metric": "euclidean", "null": "exact"},
        {"metric": "standardized", "null": "normal", "reference": "circuit"},
        {"metric": "marginals"},
        {"metric": "whitened", "null": "monte-carlo", "reference": "circuit", "tolerance": 0.1},
        {
            "metric": ("euclidean", "whitened"),
            "null": "exact",
            "reference": "circuit",
            "rng": 2**80,
        },
        {
            "metric": "euclidean",
            "reference": "circuit",
            "estimation_error": False,
            "kinds": ("input", "product"),
        },
    ]:
        settings = {
            "num_latents": 2,
            "num_epochs": 3,
            "num_resamples": 39,
            "num_bins": 3,
            **options,
        }
        detector = hld.HLDDetector(**settings).fit(table)
        found.append(parts_of(detector))
    return Kind("detector", found, read_detector, check_detector)


def parts_of(detector):
    """Header and arrays of a detector."""
    fitted = {name: getattr(detector, f"{name}_") for name in detector_file.PARTS}
    return detector_file.detector_parts(detector.get_params(), fitted)


def read_detector(file):
    """The detector in an open file."""
    return HLDDetector.from_parts(
        *archive.read_members(file, detector_file.FORMAT, detector_file.FORMAT_VERSION)
    )


def check_detector(detector, rng):
    """Raise unless the detector is right in every method."""
    assert all(letter.isprintable() or letter == "\n" for letter in detector.describe())
    assert repr(detector)
    json.dumps(detector.get_params(), default=lambda value: value.tolist())
    parts = parts_of(detector)
    same = read_detector(io.BytesIO(pack(members_of(*parts))))
    assert parts_of(same)[0] == parts[0]
    circuit = detector.circuit_
    rows = np.array(detector.sample(40, rng=rng), dtype=object)
    rows[rng.random(rows.shape) < 0.02] = None
    assert not np.isnan(detector.score_samples(rows)).any()
    assert detector.sample(3, rng=0).shape == (3, circuit.num_variables)
    for T in (1, 7, 40):
        result = detector.test(rows[:T], alpha=0.06)
        check_verdict(result, detector.test_)
        assert same.test(rows[:T], alpha=0.06).to_dict() == result.to_dict()


def check_verdict(result, test):
    """Raise unless the numbers of a result are finite and those that follow from the parts of the test."""
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False)) == result.to_dict()
    assert str(result)
    assert 0 <= result.pvalue <= 1
    assert all(0 <= one <= 1 for one in result.pvalues)
    assert result.reject == (result.pvalue <= 0.06)
    assert result.null_error is None or 0 <= result.null_error < np.inf
    assert np.isfinite(result.deltas).all()
    parts, T = test.calibration, result.num_samples
    single = parts.metrics[0].node_weights if len(parts.metrics) == 1 else None
    z = result.deltas / (1.0 if single is None else single)
    round_offs = test.round_offs
    # metrics of features look behind the nodes, whose differences the result does not show
    units = np.eye(len(z), len(test.mean))
    distances = [np.linalg.norm(metric.apply(units).T @ z) for metric in parts.metrics]
    if len(distances) == 1:
        assert abs(result.statistic - distances[0]) <= 1e-6 * distances[0] + round_offs[0]
    else:
        assert abs(result.statistic + np.log10(max(result.pvalue, 1e-300))) < 1e-9
    null = parts.null
    by_law = parts.kept is None and not isinstance(
        null, AutoNull
    )  # else draws and the batch's own rows have a say
    for i, (distance, pvalue) in (
        enumerate(zip(distances, result.pvalues, strict=True)) if by_law else ()
    ):
        left = distance if distance > 2 * round_offs[i] else 0.0
        low, high = (
            expected_pvalue(null, i, left**2 / result.inflation * factor, T)
            for factor in (1.0001, 0.9999)
        )
        assert low - 1e-6 <= pvalue <= high + 1e-6, (pvalue, low, high)
    found = result.localize(top=3)
    assert str(found)
    total = (result.deltas**2).sum()
    assert abs(found.variable_scores.sum() - total) <= 1e-9 * total


def expected_pvalue(null, i, squared, T) -> float:
    """The p-value of metric i for a squared distance, computed in the plainest way."""
    if isinstance(null, JointNull):
        return expected_pvalue(null.nulls[i], 0, squared, T)
    if isinstance(null, LimitLaw):
        v = max(1 + null.excess / T, 0.1) if null.spectrum.scale else 1.0
        kept = null.eigenvalues > 0
        return (
            float(
                gchi2.sf(
                    squared * T,
                    gchi2.prepare(null.eigenvalues[kept] * v, null.multiplicities[kept] / v),
                )
            )
            if kept.any()
            else float(squared <= 0)
        )
    spread = np.sqrt(2 * null.trace_sq)
    return (
        float(norm.sf((squared * T - null.trace) / spread))
        if spread
        else float(squared * T <= null.trace)
    )


KINDS = {"circuit": circuits, "monitor": monitors, "detector": detectors}
