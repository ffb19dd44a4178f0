"""Monitors that survive a kill: rows count once, what could not be written is not taken, the history stays short."""

import errno
import os

import numpy as np
import pytest

import hld
from hld.apps.serve import watches
from hld.apps.serve.models import Models
from hld.apps.serve.watches import Watch, lock_states


@pytest.fixture(scope="module")
def coins():
    """A detector of two coins that agree, and the codes of the rows that it was learned from."""
    rows = np.repeat(np.random.default_rng(0).integers(0, 2, size=(200, 1)), 2, axis=1)
    detector = hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=99).fit(rows)
    return detector, detector.encoder_.encode(rows)[0]


def watch_of(detector, folder=None, alpha=0.05, digest="0" * 64):
    return Watch("coins", digest, detector, folder, alpha)


def test_a_state_that_cannot_be_written_is_not_taken(coins, tmp_path, monkeypatch):
    detector, rows = coins
    watch, some = watch_of(detector, tmp_path), rows[:5]
    assert watch.observe(rows[:10]).num_rows == 10

    def full(self, path):
        raise OSError("disk full")

    monkeypatch.setattr(hld.Monitor, "save", full)
    for change in (lambda: watch.observe(some), watch.reset):
        with pytest.raises(OSError, match="disk full"):
            change()
    assert (watch.monitor.num_rows, watch.last.num_rows) == (10, 10)
    assert [point[0] for point in watch.history] == [0, 10]
    monkeypatch.undo()
    assert watch_of(detector, tmp_path).observe(some, after=10).num_rows == 15


def test_a_reset_forgets_rows_alarm_and_history(coins, tmp_path):
    detector, _ = coins
    watch = watch_of(detector, tmp_path)
    assert watch.observe(np.array([[0, 1]] * 60)).alarm
    assert watch_of(detector, tmp_path).last.alarm  # from its file
    alarm = watch.times["alarm"]
    assert alarm == watch.times["rows"]
    result = watch.reset()
    assert watch.times["alarm"] == alarm  # when it last alarmed is kept
    assert (result.num_rows, result.alarm, result.pvalue) == (0, False, 1.0)
    assert watch.history == [(0, result.log_e_value, 1.0)]
    again = watch_of(detector, tmp_path)
    assert (again.last.num_rows, again.last.alarm) == (0, False)


def test_versions_have_files_of_their_own_and_a_level_that_stays(coins, tmp_path):
    detector, rows = coins
    watch_of(detector, tmp_path, digest="a" * 64).observe(rows[:5])
    assert [path.name for path in tmp_path.iterdir()] == [f"coins-{'a' * 16}.monitor"]
    assert watch_of(detector, tmp_path, digest="b" * 64).last.num_rows == 0
    with pytest.raises(ValueError, match=r"has `alpha` 0.05, which cannot change while it runs"):
        watch_of(detector, tmp_path, 0.01, "a" * 64)


def test_states_have_one_service_until_it_is_closed(shop, tmp_path):
    models = Models({"orders": shop["orders"]}, tmp_path)
    said = "`state` .* is used for the model 'orders' by another service: stop that one first"
    for _ in range(2):
        with pytest.raises(ValueError, match=said):
            Models({"other": shop["other"], "orders": shop["orders"]}, tmp_path)
    # what was refused let go of its own, and another name is free
    Models({"other": shop["other"]}, tmp_path).close()
    models.close()
    os.close(lock_states(tmp_path, "orders"))


def test_folders_without_access_or_locks_are_refused(tmp_path, monkeypatch):
    said = r"`state` .* cannot be written and locked .*, expected a folder"
    with pytest.raises(ValueError, match=said):
        lock_states(tmp_path / "nowhere", "orders")

    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(watches.fcntl, "flock", flock)
    with pytest.raises(ValueError, match=r"\(No locks available\)"):
        lock_states(tmp_path, "orders")
