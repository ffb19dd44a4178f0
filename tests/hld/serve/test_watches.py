"""Monitors with a file: what could not be written is not taken, and the history of a monitor stays short."""
import numpy as np
import pytest

import hld
from hld.serve import watches
from hld.serve.refusals import Refusal
from hld.serve.watches import Watch

pytestmark = pytest.mark.thorough


def test_a_reset_that_cannot_be_written_forgets_nothing(shop, tmp_path, monkeypatch):
    test = hld.load(shop["orders"]).test_
    watch = Watch("orders", "0" * 64, test, tmp_path, 0.05, None)
    watch.observe([np.zeros((5, 3), dtype=int)])
    monkeypatch.setattr(hld.Monitor, "save", lambda self, path: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        watch.reset(test)
    assert [point[0] for point in watch.history] == [0, 5]


def test_a_state_that_cannot_be_written_is_not_taken(shop, tmp_path, monkeypatch):
    test = hld.load(shop["orders"]).test_
    watch = Watch("orders", "0" * 64, test, tmp_path, 0.05, None)
    rows = np.zeros((5, 3), dtype=int)
    assert watch.observe([rows, rows]).num_rows == 10
    monkeypatch.setattr(hld.Monitor, "save", lambda self, path: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        watch.observe([rows])
    assert (watch.monitor.num_rows, watch.last.num_rows) == (10, 10)
    monkeypatch.undo()
    assert Watch("orders", "0" * 64, test, tmp_path, 0.05, None).observe([rows], after=10).num_rows == 15
    with pytest.raises(Refusal, match="have been counted"):
        watch.observe([rows], after=15)
    with pytest.raises(ValueError, match="which cannot change while it runs"):
        Watch("orders", "0" * 64, test, tmp_path, 0.01, None)


def test_the_history_of_a_monitor_stays_short(shop, monkeypatch):
    monkeypatch.setattr(watches, "MOST_POINTS", 16)
    watch = Watch("orders", "0" * 64, hld.load(shop["orders"]).test_, None, 0.05, None)
    for _ in range(40):
        watch.observe([np.zeros((1, 3), dtype=int)])
    rows = [point[0] for point in watch.history]
    assert len(rows) <= 16
    assert (rows[0], rows[-1]) == (0, 40)
    assert rows == sorted(set(rows))
