"""Monitors that survive a kill: what was acknowledged is on disk.

An update is made on a copy of the monitor, the copy is written to its file, whole and synced to disk, and only then
does it replace the monitor in memory and the client gets an answer.  A process that is killed before the
renaming leaves the state of the last acknowledged update, one that is killed after it leaves one update more, which
nobody was told of.  A client that got no answer cannot know which; if it says how many rows the monitor had before its
own (`after`), rows sent again that were already counted are refused, so that no row counts twice.

The file is named after the model and the digest of the model file: another version of the model has another monitor,
and if a version comes back, its monitor continues where it stood.  Nobody else may write the file while this process
lives: there is one `Watch` for a version (`serve.models`), and one process for the models of a name in a folder
(`lock_states`).
"""

import fcntl
import os
import pathlib
import threading
import time
import warnings
from typing import Any

import numpy as np

from hld.apps.serve.limits import Refusal
from hld.detector.detector import HLDDetector
from hld.testing.sequential import Monitor, MonitorResult

MOST_POINTS = 512  # of the history of a monitor, for its picture


class Watch:
    """The monitor of one version of a model, with its file."""

    def __init__(
        self,
        name: str,
        digest: str,
        detector: HLDDetector,
        folder: str | None,
        alpha: float,
    ) -> None:
        self.path = (
            None if folder is None else pathlib.Path(folder) / f"{name}-{digest[:16]}.monitor"
        )
        self._lock = threading.Lock()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            fresh = Monitor(detector, alpha)
        self.warning = str(said[0].message) if said else None
        self.monitor = fresh
        if self.path is not None and self.path.exists():
            self.monitor = Monitor.load(str(self.path), detector)
        if self.monitor.alpha != alpha:
            raise ValueError(
                f"the monitor in {str(self.path)!r} has `alpha` {self.monitor.alpha:g}, which cannot change "
                "while it runs: ask for it, or move the file away to begin anew"
            )
        self.last = _now(self.monitor)
        self.history: list[tuple[int, float, float]] = [_point(self.last)]
        # seconds since 1970, of this process: a file of a state has no times; a reset keeps the last alarm's
        self.times: dict[str, float | None] = {"rows": None, "alarm": None}

    def observe(
        self, codes: np.ndarray, marks: Any = None, after: int | None = None
    ) -> MonitorResult:
        """Process rows, by their codes and marks (n, V); the result when they are on disk."""
        with self._lock:
            if after is not None and after != self.last.num_rows:
                raise Refusal(
                    409,
                    "after",
                    f"`after` is {after}, but the monitor has {self.last.num_rows} rows: these "
                    "rows have been counted, or others are missing",
                )
            monitor = self.monitor.copy()
            result = monitor.update_codes(codes, marks)
            return self._take(monitor, result, self.history)

    def reset(self) -> MonitorResult:
        """Forget all rows and the alarm."""
        with self._lock:
            monitor = self.monitor.copy()
            monitor.reset()
            return self._take(monitor, _now(monitor), [])

    def _take(
        self, monitor: Monitor, result: MonitorResult, history: list[tuple[int, float, float]]
    ) -> MonitorResult:
        """Write a new state, then let it be the state; the history that it continues."""
        if self.path is not None:
            monitor.save(self.path)
        now, was_alarm = time.time(), self.last.alarm
        self.monitor, self.last = monitor, result
        self.times = {
            "rows": now if history else self.times["rows"],
            "alarm": now if result.alarm and not was_alarm else self.times["alarm"],
        }
        points = [*history, _point(result)]
        self.history = points if len(points) <= MOST_POINTS else [*points[:-1:2], points[-1]]
        return result


def _now(monitor: Monitor) -> MonitorResult:
    """Where a monitor stands."""
    return monitor.update_codes(np.zeros((0, monitor.circuit.num_variables), dtype=np.int32))


def _point(result: MonitorResult) -> tuple[int, float, float]:
    """Rows, log e-value and p-value."""
    return result.num_rows, result.log_e_value, result.pvalue


def lock_states(folder: str | os.PathLike[str], name: str) -> int:
    """An open file that holds the lock (flock) on the states of a model until it, or the process, is closed."""
    path = pathlib.Path(folder) / f"{name}.lock"
    try:
        held = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(held)
            raise
    except BlockingIOError:
        raise ValueError(
            f"`state` {str(folder)!r} is used for the model {name!r} by another service: stop that one "
            "first, or give this one a folder of its own"
        ) from None
    except OSError as error:
        raise ValueError(
            f"`state` {str(folder)!r} cannot be written and locked ({error.strerror or error}), expected a "
            "folder for the states of the monitors: change its access, or name another one"
        ) from None
    return held
