"""The monitor: streams may be cut anywhere, alarms are rare without a shift and soon after one, misuse is refused."""

import copy
import dataclasses
import json
import pickle
import threading

import naive
import numpy as np
import pytest
import zoo
from binomial_bounds import at_most
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from streams import shifted

from hld.monitoring.monitor import Monitor
from pcircuit import (
    Circuit,
    InputRegion,
    StructureError,
    VTree,
    log_likelihood,
    rat_spn,
    sample,
)


@pytest.fixture(scope="module")
def circuit():
    return rat_spn([2, 3, 2, 2, 4, 2], num_units=3, depth=2, rng=5)


def test_a_p_value_that_doubles_round_to_zero_is_not_shown_as_zero(circuit):
    found = dataclasses.replace(Monitor(circuit).update([[0] * circuit.num_variables]), pvalue=0.0)
    assert "anytime-valid p < 1e-300, alpha" in str(found)


def test_result_of_an_update(circuit):
    monitor = Monitor(circuit, alpha=0.1)
    first = monitor.update(sample(circuit, 40, rng=1))
    result = monitor.update(sample(shifted(circuit), 200, rng=2))
    path = np.concatenate([first.log_e_values, result.log_e_values])
    assert result.alarm
    assert result.alarm_row == 1 + np.flatnonzero(path >= np.log(10))[0] > 40
    assert not first.alarm
    assert first.alarm_row is None
    assert first.num_rows == 40
    assert result.pvalue == pytest.approx(np.exp(-path.max()), rel=1e-12)
    assert result.pvalue <= 0.1
    assert first.pvalue == pytest.approx(min(1, np.exp(-path[:40].max())), rel=1e-12)
    assert result.log_e_value == path[-1]
    assert result.e_value == pytest.approx(np.exp(path[-1]), rel=1e-12)
    assert result.num_rows == monitor.num_rows == 240
    assert json.loads(json.dumps(result.to_dict())) == result.to_dict()
    assert not result.log_e_values.flags.writeable
    assert str(result).startswith(f"alarm at row {result.alarm_row}: e-value")
    assert "\n" not in str(result)
    assert str(first).startswith("no alarm")
    assert "margin" not in str(first)
    assert "240 rows so far" in repr(monitor)
    assert "e-value of 10" in monitor.describe()
    after = monitor.update(sample(circuit, 1000, rng=3))
    assert (after.alarm, after.alarm_row) == (True, result.alarm_row), "an alarm stays on"


def test_wealth_beyond_the_range_of_doubles(circuit):
    result = Monitor(circuit).update(np.tile(sample(circuit, 1, rng=1), (20_000, 1)))
    assert result.log_e_value > 1000
    assert result.e_value == np.finfo(float).max
    assert result.pvalue == 0.0
    json.dumps(result.to_dict(), allow_nan=False)


# -- cutting, state, files -----------------------------------------------------------------------------------


def assert_same(found, expected, engine):
    """Equal to the last bit with kernels; NumPy's matrix products of BLAS may depend on the number of rows at once."""
    if engine == "numba":
        np.testing.assert_equal(found, expected)
    elif isinstance(found, dict):
        assert [name for name, value in found.items() if value is None] == [
            name for name, value in expected.items() if value is None
        ]
        for name, value in found.items():
            assert value is None or value == pytest.approx(expected[name], rel=1e-9, abs=1e-9), name
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    zoo.circuit_strategy(),
    st.lists(st.integers(0, 90), max_size=4),
    st.integers(0, 2**32),
    st.booleans(),
)
def test_the_stream_may_be_cut_anywhere(engine, circuit, cuts, seed, with_missing):
    rng = np.random.default_rng(seed)
    rows = sample(circuit, 90, rng=rng).astype(np.int64)
    if with_missing:
        rows[rng.random(rows.shape) < 0.2] = -1
    whole = Monitor(circuit, rng=7).update(rows)
    parts, single = Monitor(circuit, rng=7), Monitor(circuit, rng=7)
    paths = [parts.update(part).log_e_values for part in np.split(rows, sorted(cuts))]
    last = [single.update(row) for row in rows][-1]
    assert_same(np.concatenate(paths), whole.log_e_values, engine)
    assert_same(last.to_dict(), whole.to_dict(), engine)


def test_blocks_of_likelihoods_change_nothing(circuit, monkeypatch, engine):
    rows = sample(circuit, 500, rng=0)
    whole = Monitor(circuit).update(rows).log_e_values
    monkeypatch.setattr("hld.monitoring.monitor.BLOCK_VALUES", 100)
    assert_same(Monitor(circuit).update(rows).log_e_values, whole, engine)


def test_reset_starts_anew(circuit):
    monitor, rows = Monitor(circuit, rng=3), sample(shifted(circuit), 200, rng=1).astype(int)
    rows[5, 2] = -1
    first = monitor.update(rows)
    monitor.reset()
    assert monitor.num_rows == 0
    assert monitor.update(rows[:0]).pvalue == 1
    assert not monitor.update(rows[:0]).alarm
    assert monitor.update(rows).to_dict() == first.to_dict()


@pytest.mark.parametrize("cut", [0, 37, 200])
def test_a_saved_monitor_goes_on_as_if_nothing_had_happened(circuit, tmp_path, cut, engine):
    rows = np.concatenate(
        [sample(circuit, 100, rng=1), sample(shifted(circuit), 200, rng=2)]
    ).astype(int)
    rows[::7, 1] = -1
    whole = Monitor(circuit, 0.01, margin=0.01, rng=4).update(rows)
    monitor = Monitor(circuit, 0.01, margin=0.01, rng=4)
    monitor.update(rows[:cut])
    monitor.save(tmp_path / "state")
    loaded = Monitor.load(tmp_path / "state")
    assert loaded.circuit == circuit
    assert loaded.num_rows == cut
    result = loaded.update(rows[cut:])
    assert_same(result.to_dict(), whole.to_dict(), engine)
    assert_same(result.log_e_values, whole.log_e_values[cut:], engine)
    assert monitor.update(rows[cut:]).to_dict() == result.to_dict(), "saving changed nothing"
    loaded.save(tmp_path / "state")
    assert Monitor.load(tmp_path / "state").update(rows[:0]).to_dict() == result.to_dict()


def test_a_copy_goes_its_own_way(circuit, engine):
    monitor, rows = Monitor(circuit, rng=0), sample(shifted(circuit), 200, rng=2).astype(int)
    rows[::5, 0] = -1
    first = monitor.update(rows[:50])
    for copied in (copy.deepcopy(monitor), pickle.loads(pickle.dumps(monitor))):
        assert_same(
            copied.update(rows[50:]).to_dict(),
            Monitor(circuit, rng=0).update(rows).to_dict(),
            engine,
        )
    assert monitor.update(rows[:0]).to_dict() == first.to_dict()


def test_updates_from_many_threads_are_all_counted(circuit, engine):
    monitor, rows = Monitor(circuit), sample(circuit, 25, rng=0)
    threads = [
        threading.Thread(target=lambda: [monitor.update(rows) for _ in range(20)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sequence = Monitor(circuit).update(np.tile(rows, (80, 1)))
    assert_same(monitor.update(rows[:0]).to_dict(), sequence.to_dict(), engine)


# -- behaviour -----------------------------------------------------------------------------------------------


def false_alarms(circuit, streams, num_rows, *, missing=0.0, **options):
    """Streams of rows from the circuit on which a monitor alarms."""
    monitor, alarms, rng = Monitor(circuit, rng=1, **options), 0, np.random.default_rng(2)
    for _ in range(streams):
        monitor.reset()
        rows = sample(circuit, num_rows, rng=rng)
        if missing:
            rows = np.where(rng.random(rows.shape) < missing, -1, rows.astype(np.int64))
        alarms += monitor.update(rows).alarm
    return alarms


@pytest.mark.thorough
@pytest.mark.parametrize("options", [{}, {"missing": 0.3}, {"nodes": [0, 1, 4, 20]}], ids=str)
def test_false_alarms_stay_under_alpha(circuit, options):
    assert false_alarms(circuit, 200, 1000, alpha=0.2, **options) <= at_most(200, 0.2)


@pytest.mark.slow
def test_false_alarms_of_2000_streams_of_10000_rows(circuit):
    assert false_alarms(circuit, 2000, 10_000) <= 0.05 * 2000


@pytest.mark.parametrize("before", [0, 300, 3000])
def test_a_shift_is_seen_soon_after_it_happens(circuit, before):
    """30 streams, none without alarm 400 rows after the shift: a chance of at least 0.79 each, with error 1e-3."""
    other, monitor, late = shifted(circuit), Monitor(circuit, alpha=0.001), 0
    for seed in range(30):
        monitor.reset()
        rows = np.concatenate([sample(circuit, before, rng=seed), sample(other, 400, rng=seed)])
        result = monitor.update(rows)
        late += not result.alarm
        assert result.alarm_row is None or result.alarm_row > before or before == 0
    assert late == 0


def test_incomplete_and_impossible_rows():
    circuit = zoo.deterministic()
    states = naive.states(circuit)
    impossible = states[log_likelihood(circuit, states) == -np.inf][:1]
    half = impossible.copy()
    half[:, -1] = -1
    monitor = Monitor(circuit, rng=0)
    result = monitor.update(np.concatenate([np.full_like(half, -1), half, impossible]))
    assert result.num_missing == half.shape[1] + 1
    assert np.isfinite(result.log_e_value)


def test_a_constant_circuit_takes_no_bets():
    sure = Circuit(VTree([-1], [0]), [InputRegion(0, [[1.0, 0.0]])])
    result = Monitor(sure).update([[0]] * 40)
    np.testing.assert_allclose(result.log_e_values, 0, atol=1e-12)


# -- misuse --------------------------------------------------------------------------------------------------


def test_misuse_is_refused(circuit):
    for alpha in (0, 1, -0.1, float("nan")):
        with pytest.raises(
            (TypeError, ValueError), match="`alpha` must be a finite number above 0 and below 1"
        ):
            Monitor(circuit, alpha=alpha)
    for margin in (-0.1, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="`margin` must be a finite number of at least 0"):
            Monitor(circuit, margin=margin)
    with pytest.raises(
        TypeError, match=r"`margin` must be a finite number of at least 0, found '0\.1'"
    ):
        Monitor(circuit, margin="0.1")
    with pytest.raises(TypeError, match=r"`circuit` must be a pcircuit\.Circuit, found str"):
        Monitor("circuit")
    with pytest.raises(ValueError, match="`nodes`"):
        Monitor(circuit, nodes=[])
    with pytest.raises(StructureError, match="`circuit` is not normalised"):
        Monitor(next(iter(zoo.unnormalized_circuits().values())))


def test_bad_rows_leave_the_monitor_as_it_was(circuit):
    monitor, same = Monitor(circuit), Monitor(circuit)
    monitor.update(sample(circuit, 20, rng=0))
    for bad in ([[0, 1]], [[9] * 6], [[0.5] * 6], [["a"] * 6]):
        with pytest.raises((TypeError, ValueError), match="`rows`"):
            monitor.update(bad)
    same.update(sample(circuit, 20, rng=0))
    rows = sample(circuit, 30, rng=1)
    assert monitor.update(rows).to_dict() == same.update(rows).to_dict()
