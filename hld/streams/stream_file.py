"""The file of a stream monitor: the reference rows, encoded, and the state; checked when it is read."""
from __future__ import annotations

import os
from typing import Any

import numpy as np

import pcircuit
from hld.streams.detectors import check_fitted_detector, fingerprint
from hld.streams.races import Races

FORMAT, VERSION = "hld.stream", 1
KEYS = {"format", "version", "library", "alpha", "seed", "circuit", "best", "alarm_row", "num_rows", "num_starts",
        "num_missing", "leader"}
STATE = ("directions", "means")


def stream_parts(monitor: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of a monitor."""
    header = {"format": FORMAT, "version": VERSION, "circuit": fingerprint(monitor.circuit)}
    header |= {name: getattr(monitor, name) for name in sorted(KEYS - {"format", "version", "library", "circuit"})}
    arrays = {"reference": monitor.codes.astype(np.int32), "sizes": monitor.sizes}
    arrays |= {name: getattr(monitor, name).copy() for name in STATE}
    races = {f"races.{name}": array.copy() for name, array in monitor.races._asdict().items() if name != "log_weights"}
    weights = monitor.races.log_weights  # -inf is written as 1, which no weight has
    finite = np.where(np.isfinite(monitor.races.edges), monitor.races.edges, 0.0)
    return header, arrays | races | {"races.edges": finite, "races.log_weights": np.where(np.isfinite(weights), weights,
                                                                                           1.0),
                                     "races.num_edges": np.isfinite(monitor.races.edges).sum(axis=1)}


def read_stream(cls: Any, path: str | os.PathLike[str], detector: Any) -> Any:
    """The monitor of a file; ValueError if the file is damaged, or of another detector.

    Parameters
    ----------
    cls : type
        `StreamMonitor`.
    path : str or path
    detector : HLDDetector
        The one that it was made with.

    Returns
    -------
    StreamMonitor
    """
    check_fitted_detector(detector)
    with np.errstate(all="ignore"):
        return pcircuit.read_object(path, FORMAT, VERSION, lambda *parts: _read(cls.__new__(cls), detector, *parts))


def _read(monitor: Any, detector: Any, header: dict[str, Any], arrays: dict[str, Any]) -> Any:
    """Fill a monitor with checked parts."""
    pcircuit.check_names(header, KEYS, "the header")
    if header["circuit"] != fingerprint(detector.circuit_):
        raise ValueError("the monitor is of another detector")
    codes = pcircuit.finite_array(arrays, "reference", (None, detector.circuit_.num_variables), np.int32)
    sizes = pcircuit.finite_array(arrays, "sizes", (None,), np.int64)
    if (len(sizes) and (sizes.min() < 1 or sizes.sum() != len(codes))) or len(codes) < 2:
        raise ValueError("the groups of the reference do not fit its rows")
    codes = pcircuit.check_evidence(detector.circuit_, codes, name="reference")
    alpha, seed = pcircuit.saved_number(header, "alpha"), pcircuit.saved_count(header, "seed", 0)
    if not 0 < alpha < 1:
        raise ValueError(f"'alpha' is {alpha}, expected a number between 0 and 1")
    monitor.set_parts(detector, alpha, seed, codes, sizes)
    fresh = {name: getattr(monitor, name) for name in STATE}
    for name, example in fresh.items():
        setattr(monitor, name, pcircuit.finite_array(arrays, name, example.shape).copy())
    monitor.races = _read_races(arrays, monitor.races)
    for name in ("num_rows", "num_starts", "num_missing", "leader"):
        setattr(monitor, name, pcircuit.saved_count(header, name, 0))
    monitor.best, monitor.alarm_row = pcircuit.saved_number(header, "best"), header["alarm_row"]
    if monitor.alarm_row is not None:
        pcircuit.saved_count(header, "alarm_row", 1, max(monitor.num_rows, 1))
    if (monitor.best >= -np.log(monitor.alpha)) != (monitor.alarm_row is not None) or \
            monitor.leader >= len(monitor.races.log):
        raise ValueError("the alarm does not fit the evidence")
    return monitor


def _read_races(arrays: dict[str, Any], start: Races) -> Races:
    """The races of a file, for places like these."""
    pcircuit.check_names([name for name in arrays if name.startswith("races.")],
                         {f"races.{name}" for name in (*start._fields, "num_edges")}, "the file")
    found = {name: pcircuit.finite_array(arrays, f"races.{name}", array.shape, array.dtype).copy()
             for name, array in start._asdict().items()}
    num = pcircuit.finite_array(arrays, "races.num_edges", start.log.shape, np.int64)
    found["edges"][np.arange(found["edges"].shape[1]) >= num[:, None]] = np.inf
    weights = found["log_weights"]
    weights[weights > 0] = -np.inf
    live = np.isfinite(weights)
    money = found["money"]
    if np.exp(weights[live]).sum() > 1 + 1e-9 or found["counts"].min() < 0 or found["ages"].min() < 0 \
            or money.min() < 0 or (np.abs(money.sum(axis=1) - 1) > 1e-9).any():
        raise ValueError("the races in the file are not valid")
    return Races(**found)
