"""What a file holds of a test given covariates, checked: numbers that no rows could have given are refused."""

import math
from typing import Any

import numpy as np

from hld.features.row_vectors import bounded_array
from hld.laws.joint import RESOLVED
from hld.testing.conditional.covariates import CovariateFunctions
from hld.testing.conditional.held_counts import event_sizes
from hld.testing.goodness_of_fit import HLDTest
from pcircuit.io.archive import finite_array

RANK = 1e-9  # of the products of functions: smaller eigenvalues are rounding
ASYMMETRY = 1e-6  # relative: so much of a symmetric matrix may be rounding
SLACK = 1 + 1e-6


def read_contents(inner: HLDTest, arrays: dict[str, Any]) -> tuple[Any, ...]:
    """The fields of a `ConditionalTest` after `inner`."""
    circuit, q, m = inner.circuit, len(inner.calibration.metrics), len(inner.nodes)
    V = circuit.num_variables
    given = finite_array(arrays, "given", (None,), np.int64)
    _check("given", np.isin(given, np.arange(V)).all() and (np.diff(given) > 0).all())
    k = int(finite_array(arrays, "num_rows", (1,), np.int64)[0])
    _check("num_rows", k >= 2)
    sizes = [circuit.num_categories[v] + 1 for v in given.tolist()]
    flat = finite_array(arrays, "groups", (sum(sizes),), np.int64)
    groups = tuple(np.split(flat, np.cumsum(sizes)[:-1])) if sizes else ()
    for one in groups:
        _check("groups", one[:2].tolist() == [0, 1] and np.isin(np.diff(one), (0, 1)).all())
    beta = bounded_array(arrays, "beta", (None, m), RANK**-0.5)
    functions = CovariateFunctions(given, groups, len(beta))
    _check("beta", len(beta) in functions.ends)
    inverse = bounded_array(arrays, "inverse", (len(beta), len(beta)), 1 / (RANK * k))
    is_symmetric = (np.abs(inverse - inverse.T) <= ASYMMETRY * np.abs(inverse).max()).all()
    _check("inverse", is_symmetric and (np.linalg.eigvalsh(inverse) >= -1e-9).all())
    events = finite_array(arrays, "events", (None, len(beta)), np.int64)
    starts = np.cumsum(event_sizes(circuit, len(events)))
    _check("events", starts[-1] == len(events) and (events >= 0).all() and (events <= k).all())
    totals = np.add.reduceat(events[:, 0], np.append(0, starts[:-1]))
    _check("events", np.isin(totals, (0, k)).all())  # of all rows, or of none, in every block
    norms, wider = (finite_array(arrays, name, (q, 3)) for name in ("norms", "wider"))
    fourth, farthest = (finite_array(arrays, name, (q,)) for name in ("fourth", "farthest"))
    reach = np.array([metric.reach(np.ones(m)) for metric in inner.calibration.metrics])
    most, (trace, frobenius, largest) = 4 * m * float(k) ** 2 * reach**2, norms.T
    _check("norms", (largest <= frobenius * SLACK).all() and (frobenius <= trace * SLACK).all())
    _check("norms", (frobenius**2 <= trace * largest * SLACK).all() and (trace <= most).all())
    _check("fourth", (fourth <= most**2).all())
    stds = bounded_array(arrays, "stds", (m,), math.sqrt(k))
    shown = finite_array(arrays, "shown", (m,))
    _check("shown", (shown <= 1).all())
    joint = finite_array(arrays, "joint", (None,), np.float32)
    _check("joint", (len(joint) > RESOLVED if q > 1 else not len(joint)) and _ascends(joint))
    _check("joint", ((joint > 0) & (joint <= 1)).all())
    singles = finite_array(arrays, "singles", (None,))
    _check("singles", _ascends(singles) and (singles <= 1).all())
    num_ranked = int(finite_array(arrays, "num_ranked", (1,), np.int64)[0])
    _check("num_ranked", 0 <= num_ranked <= k)
    columns = finite_array(arrays, "columns", (V, None), np.float32)
    _check("columns", _ascends(columns))
    numbers = {"norms": norms, "wider": wider, "fourth": fourth, "farthest": farthest}
    numbers |= {"stds": stds, "shown": shown, "singles": singles, "columns": columns}
    for name, one in numbers.items():
        _check(name, (one >= 0).all())
    bits = finite_array(arrays, "bits", (len(singles), (m + 7) // 8), np.uint8)
    parts = functions, k, beta, inverse, events, norms, fourth, stds, joint, shown, wider
    return (*parts, singles, num_ranked, farthest, columns, bits)


def _ascends(numbers: np.ndarray) -> bool:
    """Whether numbers ascend along the last axis."""
    return bool((np.diff(numbers, axis=-1) >= 0).all())


def _check(name: str, fits: Any) -> None:
    """Raise unless an array can be that of rows."""
    if not fits:
        raise ValueError(f"array {name!r} of the test given covariates is not that of any rows")
