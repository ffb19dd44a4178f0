"""Monitors that survive a kill: rows count once, what could not be written is not taken, the history stays short."""

import errno
import os

import numpy as np
import pytest
from hld.monitoring.margins.of_test import monitor_of

import hld
from hld.serve import watches
from hld.serve.models import Models
from hld.serve.refusals import Refusal
from hld.serve.watches import Watch, lock_states


@pytest.fixture(scope="module")
def coins():
    """A test of two coins that agree, and the rows that it was learned from."""
    rows = np.repeat(np.random.default_rng(0).integers(0, 2, size=(200, 1)), 2, axis=1)
    detector = hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=99).fit(rows)
    return detector.test_, detector.encoder_.encode(rows)[0]


@pytest.mark.thorough
def test_a_reset_that_cannot_be_written_forgets_nothing(shop, tmp_path, monkeypatch):
    test = hld.load(shop["orders"]).test_
    watch = Watch("orders", "0" * 64, test, tmp_path, 0.05, None)
    watch.observe([np.zeros((5, 3), dtype=int)])
    monkeypatch.setattr(
        hld.Monitor, "save", lambda self, path: (_ for _ in ()).throw(OSError("disk full"))
    )
    with pytest.raises(OSError, match="disk full"):
        watch.reset(test)
    assert [point[0] for point in watch.history] == [0, 5]


@pytest.mark.thorough
def test_a_state_that_cannot_be_written_is_not_taken(shop, tmp_path, monkeypatch):
    test = hld.load(shop["orders"]).test_
    watch = Watch("orders", "0" * 64, test, tmp_path, 0.05, None)
    rows = np.zeros((5, 3), dtype=int)
    assert watch.observe([rows, rows]).num_rows == 10
    monkeypatch.setattr(
        hld.Monitor, "save", lambda self, path: (_ for _ in ()).throw(OSError("disk full"))
    )
    with pytest.raises(OSError, match="disk full"):
        watch.observe([rows])
    assert (watch.monitor.num_rows, watch.last.num_rows) == (10, 10)
    monkeypatch.undo()
    assert (
        Watch("orders", "0" * 64, test, tmp_path, 0.05, None).observe([rows], after=10).num_rows
        == 15
    )
    with pytest.raises(Refusal, match="have been counted"):
        watch.observe([rows], after=15)
    with pytest.raises(ValueError, match="which cannot change while it runs"):
        Watch("orders", "0" * 64, test, tmp_path, 0.01, None)


@pytest.mark.thorough
def test_the_history_of_a_monitor_stays_short(shop, monkeypatch):
    monkeypatch.setattr(watches, "MOST_POINTS", 16)
    watch = Watch("orders", "0" * 64, hld.load(shop["orders"]).test_, None, 0.05, None)
    for _ in range(40):
        watch.observe([np.zeros((1, 3), dtype=int)])
    rows = [point[0] for point in watch.history]
    assert len(rows) <= 16
    assert (rows[0], rows[-1]) == (0, 40)
    assert rows == sorted(set(rows))


def test_rows_in_chunks_count_as_those_of_one_monitor(coins):
    test, rows = coins
    watch, monitor = Watch("coins", "0" * 64, test, None, 0.05, None), monitor_of(test, 0.05)
    for parts in ([rows[:3], rows[3:50]], [rows[50:50]], [], [rows[50:51], rows[51:]]):
        found = watch.observe(parts)
        for part in parts:
            monitor.update(part)
    expected = monitor.update(rows[:0])
    assert (found.num_rows, found.log_e_value) == (200, expected.log_e_value)
    assert (watch.last, watch.history[0]) == (found, (0, 0.0, 1.0))
    assert [point[0] for point in watch.history] == [0, 50, 50, 50, 200]


def test_nobody_counts_rows_twice(coins):
    test, rows = coins
    watch = Watch("coins", "0" * 64, test, None, 0.05, None)
    assert watch.observe([rows[:5]], after=0).num_rows == 5
    for after in (0, 4, 6):
        with pytest.raises(
            Refusal, match=f"`after` is {after}, but the monitor has 5 rows"
        ) as refused:
            watch.observe([rows[:5]], after=after)
        assert (refused.value.status, refused.value.field) == (409, "after")
    assert watch.observe([rows[:5]], after=5).num_rows == 10


def test_a_reset_forgets_rows_alarm_and_history(coins, tmp_path):
    test, _ = coins
    watch = Watch("coins", "0" * 64, test, tmp_path, 0.05, None)
    assert watch.observe([np.array([[0, 1]] * 40)]).alarm
    assert Watch("coins", "0" * 64, test, tmp_path, 0.05, None).last.alarm  # from its file
    result = watch.reset(test)
    assert (result.num_rows, result.alarm, watch.history) == (0, False, [(0, 0.0, 1.0)])
    again = Watch("coins", "0" * 64, test, tmp_path, 0.05, None)
    assert (again.last.num_rows, again.last.alarm) == (0, False)


def test_versions_have_files_of_their_own_and_options_that_stay(coins, tmp_path):
    test, rows = coins
    Watch("coins", "a" * 64, test, tmp_path, 0.05, 0.25).observe([rows[:5]])
    assert [path.name for path in tmp_path.iterdir()] == [f"coins-{'a' * 16}.monitor"]
    assert Watch("coins", "b" * 64, test, tmp_path, 0.05, 0.25).last.num_rows == 0
    assert (
        Watch("coins", "a" * 64, test, tmp_path, 0.05, None).last.num_rows == 5
    )  # whatever margin it has
    for alpha, margin in ((0.01, 0.25), (0.05, 0.5)):
        with pytest.raises(
            ValueError, match=r"has `alpha` 0.05 and `margin` 0.25, which cannot change"
        ):
            Watch("coins", "a" * 64, test, tmp_path, alpha, margin)


def test_states_have_one_service_until_it_is_closed(shop, tmp_path):
    models = Models({"orders": shop["orders"]}, tmp_path)
    said = (
        f"`state` .* is used for the model 'orders' by another service .*process {os.getpid()} on .*: "
        "stop that one first"
    )
    for _ in range(2):
        with pytest.raises(ValueError, match=said):
            Models({"other": shop["other"], "orders": shop["orders"]}, tmp_path)
    # what was refused let go of its own, and another name is free
    Models({"other": shop["other"]}, tmp_path).close()
    models.close()
    os.close(lock_states(tmp_path, "orders"))


def test_folders_without_access_or_locks_are_told_of(tmp_path, monkeypatch, caplog):
    with pytest.raises(
        ValueError, match=r"`state` .*nowhere.* cannot be written .*, expected a folder"
    ):
        lock_states(tmp_path / "nowhere", "orders")

    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(watches.fcntl, "flock", flock)
    with caplog.at_level("WARNING", logger="hld.serve"):
        os.close(lock_states(tmp_path, "orders"))
    assert "file system without locks (No locks available)" in caplog.text
