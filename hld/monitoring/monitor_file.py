"""The file of a monitor: a JSON header and arrays, no pickle; the fixed parts, and the state.

The file holds the circuit, the moments of its nodes and the state of the bets, so that loading computes no variances
and the monitor continues as if it had not been interrupted.

Much in it follows from the rest, and all of that is checked when a file is read, so that a loaded monitor keeps
its promise whoever wrote the file:

* The mean is what makes the bets fair.  It is computed again from the circuit, unless that would take more than
  `MOST_WORK` operations for each number in the file, and must agree to rounding.
* No bet can lose more than it has: the gains and tolls of the directions are computed again.
* The money of all bets is 1, the alarm is on if and only if the largest wealth was 1 / alpha, and so on.

Standard deviations and whitening decide how good the bets are, not whether they are fair, and are checked for what they
can be: sigma^2 <= mu (u - mu) for likelihoods in [0, u], and entries of an inverse of eigenvalues above `RIDGE`.

Files of 0.1.0, which are of version 1 as well, may hold bets on nodes that vary by rounding only.  These are removed.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import pcircuit
from hld.monitoring.bets import REFRESH, RIDGE, kept_nodes, relative_errors
from hld.monitoring.betting import take_direction, toll_and_gain
from hld.monitoring.bounds import unit_bounds
from pcircuit.circuit import check_distribution
from pcircuit.files.circuit_file import from_arrays, to_arrays
from pcircuit.files.contents import (
    check_names,
    finite_array,
    saved_count,
    saved_number,
    under_prefix,
    with_prefix,
)
from pcircuit.inference.node_selection import check_nodes
from pcircuit.moments.means import means_cost

FORMAT, VERSION = "hld.monitor", 1
CIRCUIT, STATE = "circuit.", "state."  # prefixes of arrays
FIXED = ("nodes", "mean", "stds", "whitening")
KEYS = {
    "format",
    "version",
    "library",
    "alpha",
    "margin",
    "seed",
    "generator",
    "best",
    "alarm_row",
    "num_missing",
}
MOST_WORK = 4096
MOST_SEED, MOST_ROWS = 2**53 - 1, 2**53
MOST_LOG = 800.0  # by which log W_t can change in one row: a double holds no larger factor
HEX = re.compile("0x[0-9a-f]{1,32}")


def to_parts(monitor: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of a monitor; the arrays of its state are copies."""
    generator = monitor._rng.bit_generator.state
    header = {
        "format": FORMAT,
        "version": VERSION,
        "alpha": monitor.alpha,
        "margin": monitor.margin,
        "seed": monitor._seed,
        "generator": {key: hex(value) for key, value in generator["state"].items()},
        "best": monitor._best,
        "alarm_row": monitor._alarm_row,
        "num_missing": monitor._num_missing,
    }
    fixed = (monitor.nodes, monitor.mean, monitor.stds, monitor._whitening)
    arrays = with_prefix(CIRCUIT, to_arrays(monitor.circuit)) | dict(zip(FIXED, fixed, strict=True))
    return header, arrays | with_prefix(STATE, monitor._wealth.copy()._asdict())


def fixed_parts(header: Any, arrays: Any) -> Any:
    """Circuit, alpha, margin, seed and fixed arrays of a file, each checked against the others."""
    check_names(header, KEYS, "the header")
    check_names(
        [name for name in arrays if not name.startswith((CIRCUIT, STATE))], FIXED, "the file"
    )
    if arrays["nodes"].dtype.kind not in "iu":
        raise ValueError(f"'nodes' must hold integers, found {arrays['nodes'].dtype}")
    circuit = check_distribution(from_arrays(under_prefix(CIRCUIT, arrays)))
    alpha, margin = saved_number(header, "alpha"), saved_number(header, "margin")
    if not 0 < alpha < 1:
        raise ValueError(f"'alpha' is {alpha}, expected a number between 0 and 1")
    nodes = check_nodes(circuit, arrays["nodes"])
    if not arrays["mean"].shape == arrays["stds"].shape == nodes.shape:
        raise ValueError(
            f"the moments do not fit the nodes: 'mean' has shape {arrays['mean'].shape}, 'stds' "
            f"{arrays['stds'].shape} and 'nodes' {nodes.shape}"
        )
    mean, stds = (finite_array(arrays, name, nodes.shape).copy() for name in ("mean", "stds"))
    bounds = unit_bounds(circuit)
    doubts, bounds = relative_errors(circuit, nodes, bounds, mean), bounds[nodes]
    _check_moments(circuit, nodes, mean, stds, bounds, doubts)
    whitening = _whitening(arrays, bounds, mean, stds, doubts)
    seed = saved_count(header, "seed", 0, MOST_SEED)
    return circuit, alpha, margin, seed, (nodes, mean, stds, whitening)


def moving_parts(header: Any, arrays: Any, circuit: pcircuit.Circuit, bets: Any, start: Any) -> Any:
    """The wealth of a file, and best log e-value, alarm row, missing entries, generator.

    `bets` are those of the fixed parts and `start` is their wealth before the first row.
    """
    check_names(
        [name for name in arrays if name.startswith(STATE)],
        {STATE + name for name in start._fields},
        "the state",
    )
    rows = arrays[STATE + "num_rows"]
    if rows.shape != (1,) or rows.dtype.kind not in "iu" or not 0 <= rows[0] <= MOST_ROWS:
        raise ValueError(f"'{STATE}num_rows' must hold one whole number from 0 to 2^53")
    num_rows = int(rows[0])
    parts = {
        name: finite_array(arrays, STATE + name, example.shape).copy()
        for name, example in start._asdict().items()
        if name != "num_rows"
    }
    wealth = type(start)(num_rows=np.array([num_rows]), **parts)
    _check_money(wealth, num_rows)
    best, alarm_row = _progress(header, float(wealth.log[0]), num_rows)
    _check_means(bets, wealth, num_rows)
    _check_directions(bets, wealth, num_rows, header["margin"])
    num_missing = saved_count(header, "num_missing", 0, num_rows * circuit.num_variables)
    generator = _generator(header["generator"], header["seed"], num_missing)
    return wealth if num_rows else start, (best, alarm_row, num_missing, generator)


def _check_moments(
    circuit: pcircuit.Circuit, nodes: Any, mean: Any, stds: Any, bounds: Any, doubts: Any
) -> None:
    """Raise unless mean and standard deviations (m,) can be those of the likelihoods of the nodes, in [0, bounds]."""
    if (mean < 0).any() or (mean > bounds * (1 + 8 * doubts)).any():
        raise ValueError("'mean' holds numbers that no likelihoods of these nodes can have")
    widest = np.sqrt(mean * np.maximum(bounds - mean, 0.0))
    if (stds < 0).any() or (
        stds > widest * (1 + 1e-6) + 1e-6 * mean
    ).any():  # rounding, where a likelihood is constant
        raise ValueError(
            "'stds' holds standard deviations that no likelihoods of these nodes can have"
        )
    numbers = sum(array.size for array in to_arrays(circuit).values())
    if means_cost(circuit) <= MOST_WORK * numbers:
        exact = pcircuit.unit_means(circuit)[nodes]
        if (np.abs(mean - exact) > 4 * doubts * exact + 1e-290).any():
            raise ValueError("'mean' is not the mean of the node likelihoods under the circuit")


def _whitening(arrays: Any, bounds: Any, mean: Any, stds: Any, doubts: Any) -> np.ndarray:
    """The matrix of whitened directions, of the nodes that are bet on in them."""
    kept = kept_nodes(bounds, mean, stds, doubts)
    before = kept_nodes(bounds, mean, stds, np.zeros(len(mean)))  # as 0.1.0 chose them
    matrix = arrays["whitening"]
    shapes = [(0, 0), (len(kept), len(kept)), (len(before), len(before))]
    if matrix.shape not in shapes:
        raise ValueError(
            f"'whitening' has shape {matrix.shape}, expected {len(kept)} rows and columns, or none"
        )
    matrix = finite_array(arrays, "whitening", matrix.shape).copy()
    if matrix.size and (
        not np.array_equal(matrix, matrix.T)
        or matrix.diagonal().min() <= 0
        or np.abs(matrix).max() > 1.01 / RIDGE
    ):
        raise ValueError("'whitening' is not the inverse of a regularised correlation matrix")
    if matrix.shape == shapes[2]:
        matrix = np.ascontiguousarray(matrix[np.ix_(*[np.isin(before, kept)] * 2)])
    return matrix


def _check_money(wealth: Any, num_rows: Any) -> None:
    """Raise unless the money of the bets is a set of fractions of 1, and log W_t in the range of so many rows."""
    money = (wealth.cash, wealth.on_directions, wealth.on_nodes)
    if (
        min(part.min(initial=0) for part in money) < 0
        or abs(sum(part.sum() for part in money) - 1) > 1e-9
    ):
        raise ValueError("the money of the bets is not a set of fractions of 1")
    if abs(wealth.log[0]) > MOST_LOG * num_rows:
        raise ValueError(f"the logarithm of the wealth is {wealth.log[0]} after {num_rows} rows")


def _progress(header: Any, log: Any, num_rows: Any) -> Any:
    """The largest logarithm of the wealth so far and the row of the alarm, from the logarithm after the last row."""
    best, alarm_row, level = (
        saved_number(header, "best"),
        header["alarm_row"],
        -np.log(header["alpha"]),
    )
    if not max(log, 0.0) <= best <= MOST_LOG * num_rows:
        raise ValueError(
            f"'best' is {best}, expected {max(log, 0.0)}, the logarithm of the wealth, to "
            f"{MOST_LOG * num_rows} after {num_rows} rows"
        )
    if alarm_row is not None and not 1 <= saved_count(header, "alarm_row", 0) <= num_rows:
        raise ValueError(f"the alarm is at row {alarm_row} of {num_rows}")
    if (best >= level) != (alarm_row is not None):
        raise ValueError(
            f"'best' is {best} and 'alarm_row' {alarm_row}, but the alarm is at {level}"
        )
    return best, alarm_row


def _check_means(bets: Any, wealth: Any, num_rows: Any) -> None:
    """Raise unless the running means are possible; those of nodes that are not bet on become 0."""
    means, is_used = wealth.means, bets.scale > 0
    room = 1e-6 * (bets.scaled_bound + bets.scaled_mean)
    low, high = -bets.scaled_mean - room, bets.scaled_bound - bets.scaled_mean + room
    if ((means < low) | (means > high))[:, is_used].any() or (num_rows == 0 and means.any()):
        raise ValueError(f"'{STATE}means' holds means that no rows can have")
    means[:, ~is_used] = 0.0


def _check_directions(bets: Any, wealth: Any, num_rows: Any, margin: Any) -> None:
    """Raise unless no direction can lose more than it has; nodes that are not bet on leave the directions."""
    raised = max(
        margin / bets.margin if bets.margin else 1.0, 1.0
    )  # 0.1.0 took margins that no row can reach as such
    for d, direction in enumerate(wealth.directions.T):
        largest = np.abs(direction).max()
        if largest not in (0, 1) or (largest > 0 and num_rows < REFRESH):
            raise ValueError(
                f"'{STATE}directions' holds a direction of length {largest} after {num_rows} rows"
            )
        toll, gain = wealth.tolls[d], wealth.gains[d]
        is_odd = (direction != 0) & (bets.scale == 0)
        if is_odd.any():
            take_direction(bets, wealth, d, np.where(is_odd, 0.0, direction))
            continue
        needed, most = toll_and_gain(bets, direction) if direction.any() else (0.0, 0.0)
        # 0.1.0 rounded losses up by more; with a stake of 0.9, a gain that is too large by 1/20 is no debt yet
        if (
            not needed * (1 - 1e-6) <= toll <= needed * raised * (1 + 1e-6)
            or gain < 0
            or gain * (1 + (toll - needed) * most) > 1.05 * most
        ):
            raise ValueError(
                f"direction {d} pays {toll} and wins {gain}, expected at least {needed} and at most "
                f"{most}"
            )


def _generator(saved: Any, seed: Any, num_missing: Any) -> np.random.Generator:
    """The random generator where it stood: of this seed, and where it began if it has completed nothing."""
    if (
        not isinstance(saved, dict)
        or set(saved) != {"state", "inc"}
        or not all(isinstance(value, str) and HEX.fullmatch(value) for value in saved.values())
    ):
        raise ValueError(
            "'generator' and this format do not fit together, expected 'state' and 'inc', hexadecimal "
            "numbers of at most 128 bits"
        )
    bits = np.random.PCG64(seed)
    start = bits.state["state"]
    state = {key: int(saved[key], 16) for key in ("state", "inc")}
    if state["inc"] != start["inc"] or (num_missing == 0 and state != start):
        raise ValueError("'generator' is not the generator of 'seed'")
    known: Any = {"bit_generator": "PCG64", "state": state, "has_uint32": 0, "uinteger": 0}
    bits.state = known
    return np.random.Generator(bits)
