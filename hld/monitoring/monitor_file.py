"""The file of a monitor: a JSON header and arrays, no pickle; what never changes, and the state.

The file holds the circuit, the moments of its nodes and the state of the bets, so that loading computes no moments and
the monitor goes on to the last bit as if it had not been interrupted.
"""
from __future__ import annotations

import numpy as np

import pcircuit
from hld.monitoring.bets import kept_nodes, relative_errors
from hld.monitoring.bounds import unit_bounds

FORMAT, VERSION = "hld.monitor", 1
CIRCUIT, STATE = "circuit.", "state."  # prefixes of arrays
FIXED = ("nodes", "mean", "stds", "whitening")


def to_parts(monitor) -> tuple[dict, dict]:
    """Header and arrays of a monitor; the arrays of its state are copies."""
    generator = monitor._rng.bit_generator.state
    header = {"format": FORMAT, "version": VERSION, "alpha": monitor.alpha, "margin": monitor.margin,
              "seed": monitor._seed, "generator": {key: hex(value) for key, value in generator["state"].items()},
              "best": monitor._best, "alarm_row": monitor._alarm_row, "num_missing": monitor._num_missing}
    fixed = (monitor.nodes, monitor.mean, monitor.stds, monitor._whitening)
    arrays = {CIRCUIT + name: array for name, array in pcircuit.to_arrays(monitor.circuit).items()}
    arrays |= dict(zip(FIXED, fixed, strict=True))
    return header, arrays | {STATE + name: array.copy() for name, array in monitor._wealth._asdict().items()}


def fixed_parts(header, arrays):
    """Circuit, alpha, margin, seed and fixed arrays of a file, each checked."""
    circuit = pcircuit.check_distribution(pcircuit.from_arrays({
        name[len(CIRCUIT):]: array for name, array in arrays.items() if name.startswith(CIRCUIT)}))
    alpha, margin = _number(header["alpha"], "alpha"), _number(header["margin"], "margin")
    if not 0 < alpha < 1 or margin < 0:
        raise ValueError(f"'alpha' is {alpha} and 'margin' {margin}, expected one between 0 and 1 and one from 0")
    nodes = pcircuit.check_nodes(circuit, arrays["nodes"])
    mean, stds, whitening = (_finite(arrays, name) for name in FIXED[1:])
    if mean.shape != nodes.shape or stds.shape != nodes.shape or (mean < 0).any() or (stds < 0).any():
        raise ValueError("the moments do not fit the nodes")
    bounds = unit_bounds(circuit)
    doubts, bounds = relative_errors(circuit, nodes, bounds, mean), bounds[nodes]
    kept, kept_before = kept_nodes(bounds, mean, stds, doubts), kept_nodes(bounds, mean, stds, np.zeros(len(nodes)))
    if whitening.shape == (len(kept_before), len(kept_before)):  # files of 0.1.0 may hold nodes that are constant
        whitening = np.ascontiguousarray(whitening[np.ix_(*[np.isin(kept_before, kept)] * 2)])
    if whitening.shape not in ((0, 0), (len(kept), len(kept))):
        raise ValueError(f"'whitening' has shape {whitening.shape}, expected {len(kept)} rows and columns, or none")
    return circuit, alpha, margin, _count(header["seed"], "seed"), (nodes, mean, stds, whitening)


def moving_parts(header, arrays, start):
    """The wealth of a file, of the shapes that `start` has, and best log e-value, alarm row, missing, generator."""
    wealth = {}
    for name, example in start._asdict().items():
        array = _finite(arrays, STATE + name).astype(example.dtype)
        if array.shape != example.shape:
            raise ValueError(f"{STATE + name!r} has shape {array.shape}, expected {example.shape}")
        wealth[name] = np.ascontiguousarray(array)
    wealth = type(start)(**wealth)
    money = (wealth.cash, wealth.on_directions, wealth.on_nodes)
    if min(part.min(initial=0) for part in money) < 0 or abs(sum(part.sum() for part in money) - 1) > 1e-6:
        raise ValueError("the money of the bets is not a set of fractions of 1")
    alarm_row = None if header["alarm_row"] is None else _count(header["alarm_row"], "alarm_row")
    best = max(_number(header["best"], "best"), 0.0)
    if wealth.num_rows[0] < (alarm_row or 0):
        raise ValueError(f"the alarm is at row {alarm_row} of {wealth.num_rows[0]}")
    return wealth, (best, alarm_row, _count(header["num_missing"], "num_missing"), _generator(header["generator"]))


def _generator(saved) -> np.random.Generator:
    """The random generator where it stood."""
    bits = np.random.PCG64()
    state = {key: int(saved[key], 16) for key in ("state", "inc")}
    if not all(0 <= value < 2 ** 128 for value in state.values()):
        raise ValueError("'generator' must hold numbers of 128 bits")
    bits.state = {"bit_generator": "PCG64", "state": state, "has_uint32": 0, "uinteger": 0}
    return np.random.Generator(bits)


def _finite(arrays, name) -> np.ndarray:
    """A finite array of numbers."""
    array = arrays[name]
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise ValueError(f"{name!r} must be an array of finite numbers")
    return np.array(array)


def _number(value, name) -> float:
    """A finite number of the header."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise ValueError(f"{name!r} must be a finite number, found {value!r}")
    return float(value)


def _count(value, name) -> int:
    """A whole number of the header."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{name!r} must be a whole number of at least 0, found {value!r}")
    return value
