"""The file of a stream monitor: the reference rows, encoded, and the state; checked when it is read."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from hld.streams.detectors import check_fitted_detector, fingerprint
from hld.streams.directions import KINDS, LIVE, num_starts, starts_at, weight_of
from hld.streams.races import FACTORS, Races
from pcircuit.evidence import check_evidence
from pcircuit.files.archive import read_object
from pcircuit.files.contents import check_names, finite_array, saved_count, saved_number

FORMAT, VERSION = "hld.stream", 1
KEYS = {
    "format",
    "version",
    "library",
    "alpha",
    "seed",
    "circuit",
    "best",
    "alarm_row",
    "num_rows",
    "num_starts",
    "num_missing",
    "leader",
}
STATE = ("directions", "means")
SLACK = 1e-6  # of sums of logarithms


def stream_parts(monitor: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of a monitor."""
    header = {"format": FORMAT, "version": VERSION, "circuit": fingerprint(monitor.circuit)}
    header |= {
        name: getattr(monitor, name)
        for name in sorted(KEYS - {"format", "version", "library", "circuit"})
    }
    arrays = {"reference": monitor.codes.astype(np.int32), "sizes": monitor.sizes}
    arrays |= {name: getattr(monitor, name).copy() for name in STATE}
    races = {
        f"races.{name}": array.copy()
        for name, array in monitor.races._asdict().items()
        if name != "log_weights"
    }
    weights = monitor.races.log_weights  # -inf is written as 1, which no weight has
    finite = np.where(np.isfinite(monitor.races.edges), monitor.races.edges, 0.0)
    return header, arrays | races | {
        "races.edges": finite,
        "races.log_weights": np.where(np.isfinite(weights), weights, 1.0),
        "races.num_edges": np.isfinite(monitor.races.edges).sum(axis=1),
    }


def read_stream(cls: Any, path: str | os.PathLike[str], detector: Any) -> Any:
    """The monitor of a file; ValueError if the file is damaged, or of another detector."""
    check_fitted_detector(detector)
    with np.errstate(all="ignore"):
        return read_object(
            path, FORMAT, VERSION, lambda *parts: _read(cls.__new__(cls), detector, *parts)
        )


def _read(monitor: Any, detector: Any, header: dict[str, Any], arrays: dict[str, Any]) -> Any:
    """Fill a monitor with checked parts."""
    check_names(header, KEYS, "the header")
    if header["circuit"] != fingerprint(detector.circuit_):
        raise ValueError("the monitor is of another detector")
    codes = finite_array(arrays, "reference", (None, detector.circuit_.num_variables), np.int32)
    sizes = finite_array(arrays, "sizes", (None,), np.int64)
    if (len(sizes) and (sizes.min() < 1 or sizes.sum() != len(codes))) or len(codes) < 2:
        raise ValueError("the groups of the reference do not fit its rows")
    codes = check_evidence(detector.circuit_, codes, name="reference")
    alpha, seed = saved_number(header, "alpha"), saved_count(header, "seed", 0)
    if not 0 < alpha < 1:
        raise ValueError(f"'alpha' is {alpha}, expected a number between 0 and 1")
    monitor.set_parts(detector, alpha, seed, codes, sizes)
    fresh = monitor.races
    check_names(
        arrays,
        {
            "reference",
            "sizes",
            *STATE,
            "races.num_edges",
            *(f"races.{name}" for name in fresh._fields),
        },
        "the file",
    )
    bounds = {
        "directions": 1.0,
        "means": monitor.scores.scale,
    }  # divided by the largest; deviations are below 1
    for name, bound in bounds.items():
        found = finite_array(arrays, name, getattr(monitor, name).shape)
        if (np.abs(found) > bound * (1 + SLACK)).any():
            raise ValueError(f"array {name!r} holds numbers that are no {name} of likelihoods")
        setattr(monitor, name, found.copy())
    monitor.races = _read_races(arrays, fresh)
    for name in ("num_rows", "num_starts", "num_missing", "leader"):
        setattr(monitor, name, saved_count(header, name, 0))
    monitor.best, monitor.alarm_row = saved_number(header, "best"), header["alarm_row"]
    if monitor.alarm_row is not None:
        saved_count(header, "alarm_row", 1, max(monitor.num_rows, 1))
    if (monitor.best >= -np.log(monitor.alpha)) != (
        monitor.alarm_row is not None
    ) or monitor.leader >= len(monitor.races.log):
        raise ValueError("the alarm does not fit the evidence")
    _check_history(monitor, fresh.log_weights)
    return monitor


def _check_history(monitor: Any, weights: np.ndarray) -> None:
    """Raise unless the races of a monitor can be where its number of rows has brought them, from such first weights.

    When a race of a learned direction has started tells how old it is, and its weight; a bag has a reference row or one
    of the stream for each count, and a row multiplies wealth by no more than the largest factor and no less than the
    smallest.
    """
    races, n, F = monitor.races, monitor.num_rows, len(monitor.scores.fixed)
    live, first = np.isfinite(races.log_weights), len(monitor.scores.reference)
    fits = (races.ages <= n).all() and (
        races.counts <= n + first
    ).all()  # also of places without a race
    bags, ages, born = (
        races.counts[live].sum(axis=1),
        races.ages[live],
        (n - races.ages)[live].tolist(),
    )
    expected = [
        *weights[:F],
        *(weight_of(num_starts(row)) if starts_at(row) else -np.inf for row in born[F:]),
    ]
    fits = (
        fits
        and monitor.num_starts == num_starts(n)
        and len(born) == F + min(KINDS * monitor.num_starts, LIVE)
    )
    fits = (
        fits
        and not any(born[:F])
        and np.allclose(np.exp(races.log_weights[live]), np.exp(expected), SLACK, 0.0)
    )
    fits = (
        fits
        and np.array_equal(bags, ages + first)
        and monitor.best <= n * np.log(FACTORS.max()) + SLACK
    )
    low, high = (races.ages * np.log(end) for end in (FACTORS.min(), FACTORS.max()))
    if not (
        fits
        and ((low - SLACK <= races.log) & (races.log <= high + SLACK)).all()
        and (
            n == 0
            or float((races.log + races.log_weights).max(initial=-np.inf)) <= monitor.best + SLACK
        )
    ):
        raise ValueError(f"the races in the file are not those of a stream of {n} rows")


def _read_races(arrays: dict[str, Any], start: Races) -> Races:
    """The races of a file, for places like these."""
    found = {
        name: finite_array(arrays, f"races.{name}", array.shape, array.dtype).copy()
        for name, array in start._asdict().items()
    }
    num = finite_array(arrays, "races.num_edges", start.log.shape, np.int64)
    edges, weights = found["edges"], found["log_weights"]
    ascend = np.diff(edges, axis=1) > 0
    if (
        (num < 0).any()
        or (num > edges.shape[1]).any()
        or not (ascend | (np.arange(1, edges.shape[1]) >= num[:, None])).all()
    ):
        raise ValueError("the edges of bins in the file do not ascend")
    edges[np.arange(edges.shape[1]) >= num[:, None]] = np.inf
    weights[weights > 0] = -np.inf
    live = np.isfinite(weights)
    money = found["money"]
    if (
        np.exp(weights[live]).sum() > 1 + 1e-9
        or found["counts"].min() < 0
        or found["ages"].min() < 0
        or money.min() < 0
        or (np.abs(money.sum(axis=1) - 1) > 1e-9).any()
    ):
        raise ValueError("the races in the file are not valid")
    return Races(**found)
