"""The monitor of a stream: what it sees, its level, its file, and what it refuses."""

import threading

import numpy as np
import pytest
from binomial_bounds import at_most

import hld
import pcircuit
from hld.testing.sequential import FORMAT, VERSION, Monitor


def orders(rng, n):
    """A table with dependent numbers, levels and a column that depends on nothing."""
    z = rng.normal(size=n)
    return {
        "price": z + rng.normal(size=n),
        "weight": z + 0.5 * rng.normal(size=n),
        "colour": rng.choice(["red", "green", "blue"], n, p=[0.6, 0.3, 0.1]),
        "express": np.where(rng.random(n) < 1 / (1 + np.exp(-2 * z)), "yes", "no"),
        "delay": rng.exponential(size=n),
    }


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(num_epochs=10).fit(orders(np.random.default_rng(0), 3000))


def some(share, odd):
    """A function that makes a share of the cells another."""
    return lambda x, rng: np.where(rng.random(len(x)) < share, odd, x)


BREAKAGES = {  # the column, what breaks in it, rows within which it is found after 200 others, and what is named
    "a unit": ("delay", lambda x, rng: x * 1000, 10, "delay"),
    "a mean": ("price", lambda x, rng: x + 3 * 1.4, 30, "price"),
    "a constant": ("weight", lambda x, rng: x * 0 + 0.1, 40, "weight"),
    "a level gone": ("colour", lambda x, rng: np.where(x == "green", "red", x), 250, "colour"),
    "a new level": ("colour", some(0.05, "pink"), 250, None),
    "holes": ("express", some(0.2, None), 120, None),
    "a dependence": ("weight", lambda x, rng: rng.permutation(x), 150, None),
    "levels swapped": ("express", lambda x, rng: np.where(x == "yes", "no", "yes"), 60, None),
    "gross errors": ("delay", lambda x, rng: x * some(0.15, 1e4)(x * 0 + 1, rng), 150, "delay"),
}


@pytest.mark.parametrize("what", BREAKAGES)
def test_each_breakage_is_found_after_ordinary_rows(detector, what):
    rng, (broken, change, within, column) = np.random.default_rng(3), BREAKAGES[what]
    monitor = Monitor(detector)
    assert not monitor.update(orders(rng, 200)).alarm
    rows = orders(rng, 600)
    result = monitor.update({**rows, broken: change(rows[broken], rng)})
    assert result.alarm
    assert 200 < result.alarm_row <= 200 + within
    if column is not None:
        assert column in result.columns
        assert column in str(result)


@pytest.mark.slow
@pytest.mark.thorough
def test_unshifted_streams_raise_few_alarms(detector):
    rng, streams = np.random.default_rng(4), 60
    alarms = sum(
        Monitor(detector, 0.1, seed=s).update(orders(rng, 400)).alarm for s in range(streams)
    )
    assert alarms <= at_most(streams, 0.1)


def test_a_stream_may_be_divided_in_any_way(detector):
    rows = orders(np.random.default_rng(5), 90)
    whole, parts = Monitor(detector), Monitor(detector)
    expected = whole.update(rows)
    for start in (0, 1, 40):
        end = {0: 1, 1: 40, 40: 90}[start]
        result = parts.update({name: column[start:end] for name, column in rows.items()})
    assert result.to_dict() == expected.to_dict()
    assert Monitor(detector).update_codes(np.zeros((0, 5), int)).pvalue == 1


def test_other_rows_may_be_the_reference(detector):
    rng = np.random.default_rng(6)
    moved = {**orders(rng, 800), "delay": rng.exponential(size=800) + 5}
    assert Monitor(detector).update(moved).alarm
    monitor = Monitor(detector, reference=moved)
    assert not monitor.update({**orders(rng, 300), "delay": rng.exponential(size=300) + 5}).alarm
    assert monitor.update(orders(rng, 100)).alarm


def test_groups_are_compared_with_groups(detector):
    rng = np.random.default_rng(7)

    def days(moods):
        table = orders(rng, 20 * len(moods))
        return {**table, "delay": table["delay"] + np.repeat(moods, 20)}

    reference = {**days(rng.normal(size=80)), "day": np.repeat(np.arange(80), 20)}
    monitor = Monitor(detector, reference=reference, groups="day")
    for mood in rng.normal(size=10):
        assert not monitor.update(days([mood])).alarm
    for _ in range(20):
        result = monitor.update(days([40.0]))
    assert result.alarm
    assert (result.num_rows, "batch" in str(result)) == (30, True)


def test_a_circuit_is_compared_with_rows_drawn_from_it():
    circuit = pcircuit.rat_spn([2] * 6, num_units=3, depth=2, rng=0)
    monitor = Monitor(circuit)
    assert not monitor.update(pcircuit.sample(circuit, 300, rng=1)).alarm
    result = monitor.update([[0, 1] * 3] * 60)
    assert result.alarm
    assert 300 < result.alarm_row < 340


def test_a_monitor_goes_on_from_its_file(detector, tmp_path):
    rng = np.random.default_rng(8)
    monitor, rows, more = Monitor(detector), orders(rng, 50), orders(rng, 30)
    monitor.update(rows)
    monitor.save(tmp_path / "stream.monitor")
    again = Monitor.load(tmp_path / "stream.monitor", detector)
    assert again.update(more).to_dict() == monitor.copy().update(more).to_dict()
    monitor.reset()
    assert monitor.num_rows == 0
    detector.save(tmp_path / "model.hld")
    loaded = hld.load(tmp_path / "model.hld")
    assert Monitor(loaded).update(rows).to_dict() == Monitor(detector).update(rows).to_dict()
    other = hld.HLDDetector(num_epochs=1, reference="circuit").fit(orders(rng, 60))
    with pytest.raises(ValueError, match="of another model"):
        Monitor.load(tmp_path / "stream.monitor", other)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("num_rows", lambda one: one + 1),
        ("alarm_row", lambda one: 3),
        ("leader", lambda one: 10**6),
        ("unit", lambda one: "day"),
        ("alpha", lambda one: 2.0),
        ("races.money", lambda one: one * 2),
        ("races.seen", lambda one: -one),
        ("races.seen", lambda one: one + 1000),
        ("races.counts", lambda one: one + 1),
        ("races.log", lambda one: one + 1000),
        ("races.log", lambda one: one[1:]),
    ],
)
def test_damaged_files_are_refused(detector, tmp_path, name, change):
    from pcircuit.io.archive import read_archive, write_archive

    monitor, path = Monitor(detector), tmp_path / "stream.monitor"
    monitor.update(orders(np.random.default_rng(9), 20))
    monitor.save(path)
    header, arrays = read_archive(path, FORMAT, VERSION)
    for parts in (header, arrays):
        if name in parts:
            parts[name] = change(parts[name])
    header.pop("library", None)
    write_archive(path, header, arrays)
    with pytest.raises(ValueError, match=r"stream\.monitor"):
        Monitor.load(path, detector)


def test_threads_share_a_monitor(detector):
    monitor, rows = Monitor(detector), orders(np.random.default_rng(10), 10)
    threads = [threading.Thread(target=monitor.update, args=(rows,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert monitor.num_rows == 80


def test_bad_arguments_are_refused(detector):
    rows = orders(np.random.default_rng(11), 60)
    for model in (None, hld.HLDDetector(), rows):
        with pytest.raises(TypeError, match="`model` must be a fitted HLDDetector or a Circuit"):
            Monitor(model)
    with pytest.raises(ValueError, match="`alpha`"):
        Monitor(detector, 1.0)
    with pytest.raises(ValueError, match="`groups` are those of `reference` rows"):
        Monitor(detector, groups="day")
    few = {name: column[:20] for name, column in rows.items()}
    with pytest.raises(ValueError, match="`reference` has 20 rows, expected at least 40"):
        Monitor(detector, reference=few)
    with pytest.raises(ValueError, match="`groups` has 1 groups, expected at least 40"):
        Monitor(detector, reference={**rows, "day": ["a"] * 60}, groups="day")
    monitor = Monitor(detector)
    with pytest.raises(ValueError, match="none of the fitted columns"):
        monitor.update({"other": [1, 2]})
    assert monitor.num_rows == 0
    result = monitor.update({"price": [1.0], "other": [2]})
    assert (result.absent[0], result.extra) == ("weight", ("other",))


def test_dependent_rows_are_warned_of():
    rng = np.random.default_rng(12)
    detector = hld.HLDDetector(num_epochs=1).fit(
        {**orders(rng, 800), "day": np.repeat(np.arange(80), 10)}, groups="day"
    )
    with pytest.warns(UserWarning, match="fitted with `groups`"):
        Monitor(detector)
