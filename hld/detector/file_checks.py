"""Whether the parts of a detector that was read from a file can belong together.

Each part checks itself when it is read: the encoder its columns, the circuit its regions, a metric its map, a null its
numbers against the metric and the standard deviations (`hld.nulls.named.Context`).  Here the parts are checked against
one another:

* names    header and arrays have exactly the entries of the format
* moments  means and deviations are those of numbers in [0, 1]; where the reference is the circuit, the means are
           computed again, unless that would take too long
* null     it has the kind that the test names, and draws what its reference allows

and finally what was read is written again, in memory: every entry must come back as it was.  So nothing in a file
is overlooked, rounded, cut or taken for something else.
"""

from __future__ import annotations

import reprlib
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

import pcircuit
from hld.nulls.named import NULLS
from hld.references.rows import FROM_ROWS
from pcircuit.io.archive import saved_count, saved_number
from pcircuit.io.circuit_file import to_arrays
from pcircuit.moments.means import means_cost, unit_means

if TYPE_CHECKING:
    from hld.testing.calibration import Calibration
    from hld.testing.settings import Settings

MOST_WORK = 4096  # operations for each number of a circuit that computing the means again may take
SLACK = 1e-6


def check_settings(saved: dict[str, Any], num_train: int) -> None:
    """Raise unless the settings of a test, as JSON holds them, are those of a detector of so many rows."""
    for name in ("null", "reference", "missing"):
        if not isinstance(saved.get(name), str):
            raise ValueError(f"{name!r} must be text, found {reprlib.repr(saved.get(name))}")
    saved_number(saved, "tolerance")
    saved_count(saved, "seed", 0)
    if saved["missing"] not in ("complete", "available"):
        raise ValueError(
            f"'missing' is {saved['missing']!r}: detectors complete what is missing, or leave it out"
        )
    if saved["reference"] in FROM_ROWS or saved.get("num_train") is not None:
        saved_count(saved, "num_train", 2 if saved["reference"] in FROM_ROWS else 1, num_train)


def check_calibration(
    circuit: pcircuit.Circuit, settings: Settings, calibration: Calibration
) -> None:
    """Raise unless moments and null fit the circuit and the settings of the test."""
    nodes, m = calibration.nodes, len(calibration.nodes)
    mean, stds = calibration.mean[:m], calibration.stds[:m]  # of likelihoods
    if (np.diff(nodes) <= 0).any():
        raise ValueError("the nodes of the test must ascend")
    widest = mean * np.maximum(
        1 - mean, 0.0
    )  # of numbers in [0, 1]; twice that for the sample variance of two rows
    if (stds**2 > 2 * widest * (1 + SLACK) + (SLACK * mean) ** 2).any():
        raise ValueError("'stds' holds numbers that are no standard deviations of likelihoods")
    from_rows = settings.reference in FROM_ROWS
    numbers = sum(array.size for array in to_arrays(circuit).values())
    if not from_rows and means_cost(circuit) <= MOST_WORK * numbers:
        exact = unit_means(circuit)[nodes]
        if (np.abs(mean - exact) > 1e-9 * exact + 1e-290).any():
            raise ValueError("'mean' is not the mean of the node likelihoods under the circuit")
    check_null(calibration.null, settings.null, from_rows=from_rows)


def check_null(null: Any, name: str, *, from_rows: bool) -> None:
    """Raise unless a null is of the kind that `null=` names, and draws from rows or the circuit as the test does."""
    named, tails = NULLS[name], getattr(null, "tails", None)
    drawn = ("table" if from_rows else "staged") if named.draws else None
    fits = not named.law or (  # else `from_parts` has checked it
        all(law.kind == named.law for law in null.laws)
        and getattr(tails, "kind", None) == drawn
        and not hasattr(null.limit, "tails")
        and (tails is None or (null.switch is None) == named.draws_later)
        and (named.draws or not any(getattr(law, "excess", 0.0) for law in null.laws))
    )
    if not fits:
        raise ValueError(f"the null is a {type(null).__name__}, which does not fit null={name!r}")


def check_history(history: np.ndarray) -> None:
    """Raise unless a history is one of mean log-likelihoods."""
    if history.ndim != 1 or not len(history) or history.dtype != np.float64:
        raise ValueError(
            f"the history must be one-dimensional of float64, found shape {history.shape} of "
            f"{history.dtype}"
        )
    if not (history <= SLACK).all():  # -inf, where rows are impossible; NaN fails
        raise ValueError("the history must hold mean log-likelihoods, numbers of at most 0")


def check_same(found: Any, written: Any, place: str) -> None:
    """Raise unless an entry of a file, or all in it, is what is written again of what was read."""
    if isinstance(written, np.ndarray):
        alike = found.dtype == written.dtype and np.array_equal(found, written)
    elif isinstance(written, dict) and isinstance(found, dict) and found.keys() == written.keys():
        for key in written:
            check_same(found[key], written[key], f"{place}.{key}" if place else str(key))
        return
    elif (
        isinstance(written, (list, tuple))
        and isinstance(found, list)
        and len(found) == len(written)
    ):
        for i, (one, other) in enumerate(zip(found, written, strict=True)):
            check_same(one, other, f"{place}[{i}]")
        return
    else:
        number = (
            isinstance(written, Real)
            and not isinstance(written, bool)
            and isinstance(found, (int, float))
        )
        alike = found == written and (
            type(found) is type(written) or (number and not isinstance(found, bool))
        )
    if not alike:
        raise ValueError(
            f"{place!r} is not what a file of this format holds: {reprlib.repr(found)}"
        )
