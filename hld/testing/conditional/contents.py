"""What a file holds of a test given covariates, checked: numbers that no rows could have given are refused."""

import math
from typing import Any

import numpy as np

import pcircuit
from hld.features.row_vectors import bounded_array
from hld.laws.joint import RESOLVED
from hld.testing.conditional.covariates import CovariateFunctions
from hld.testing.conditional.few_rows import MOST_TOGETHER
from hld.testing.conditional.held_counts import event_sizes
from hld.testing.goodness_of_fit import HLDTest
from pcircuit.io.archive import finite_array

RANK = 1e-9  # of the products of functions: smaller eigenvalues are rounding
ASYMMETRY = 1e-6  # relative: so much of a symmetric matrix may be rounding


def read_contents(inner: HLDTest, arrays: dict[str, Any]) -> tuple[Any, ...]:
    """The fields of a `ConditionalTest` after `inner`."""
    V, q, m = inner.circuit.num_variables, len(inner.calibration.metrics), len(inner.nodes)
    given = finite_array(arrays, "given", (None,), np.int64)
    if len(given) and (given.min() < 0 or given.max() >= V or (np.diff(given) <= 0).any()):
        raise ValueError("the covariates of the test must be ascending columns")
    k = finite_array(arrays, "num_rows", (1,), np.int64)
    rows = max(float(k[0]), 1.0)
    beta = bounded_array(arrays, "beta", (None, m), RANK**-0.5)
    functions = CovariateFunctions(
        given, _read_groups(arrays, inner.circuit.num_categories, given), len(beta)
    )
    if len(beta) not in [end for _, end in functions.ends]:
        raise ValueError("the regression of the test does not fit its covariates")
    inverse = _read_inverse(arrays, len(beta), rows)
    norms, fourth = (finite_array(arrays, *one) for one in (("norms", (q, 3)), ("fourth", (q,))))
    stds = bounded_array(arrays, "stds", (m,), math.sqrt(rows))
    reach = np.array([metric.reach(np.ones(m)) for metric in inner.calibration.metrics])
    _check_sums(norms, fourth, m * rows**2 * reach**2)
    joint = _read_joint(arrays, q)
    shown, wider = (finite_array(arrays, *one) for one in (("shown", (m,)), ("wider", (q, 3))))
    if (
        k[0] < 2
        or min(norms.min(), fourth.min(), stds.min(), shown.min(), wider.min()) < 0
        or shown.max() > 1
    ):
        raise ValueError("the sums of the test given covariates are not those of rows")
    events = _read_events(inner.circuit, arrays, len(beta), int(k[0]))
    singles = _read_ranks(arrays, "singles", "single")
    several = tuple(_read_ranks(arrays, f"several{T}", "few") for T in range(2, MOST_TOGETHER + 1))
    return (
        functions,
        int(k[0]),
        beta,
        inverse,
        events,
        norms,
        fourth,
        stds,
        joint,
        shown,
        wider,
        singles,
        several,
        *_read_farthest(arrays, q, int(k[0])),
        _read_columns(arrays, V),
        finite_array(arrays, "bits", (len(singles), (m + 7) // 8), np.uint8),
    )


def _read_inverse(arrays: dict[str, Any], f: int, rows: float) -> np.ndarray:
    """(f, f) the pseudo-inverse of the products of functions: symmetric, without negative eigenvalues."""
    found = bounded_array(arrays, "inverse", (f, f), 1 / (RANK * rows))
    if (np.abs(found - found.T) > ASYMMETRY * np.abs(found).max()).any() or (
        np.linalg.eigvalsh(found) < -1e-9
    ).any():
        raise ValueError("the inverse of the test given covariates is not that of sums of products")
    return found


def _read_events(
    circuit: pcircuit.Circuit, arrays: dict[str, Any], f: int, num_rows: int
) -> np.ndarray:
    """(E, f) how often rows that have each function are in each event; of all rows, or of none, in every block."""
    found: np.ndarray = finite_array(arrays, "events", (None, f), np.int64)
    starts = np.cumsum(event_sizes(circuit, len(found))) if len(found) else np.zeros(0, np.int64)
    fits = len(found) and starts[-1] == len(found) and found.min() >= 0 and found.max() <= num_rows
    if not fits or not np.isin(np.add.reduceat(found[:, 0], starts[:-1]), (0, num_rows)).all():
        raise ValueError("the counts of the test given covariates are not those of its rows")
    return found


def _read_joint(arrays: dict[str, Any], q: int) -> np.ndarray:
    """Draws of the harmonic mean of p-values of q metrics, ascending; none of a single one."""
    found: np.ndarray = finite_array(arrays, "joint", (None,), np.float32)
    if (
        (q > 1) != (len(found) > RESOLVED)
        or ((found <= 0) | (found > 1)).any()
        or (np.diff(found) < 0).any()
    ):
        raise ValueError(
            "the joint law of the metrics given covariates must be ascending numbers in (0, 1]"
        )
    return found


def _check_sums(norms: np.ndarray, fourth: np.ndarray, most: np.ndarray) -> None:
    """Raise unless trace, Frobenius norm and largest eigenvalue (q, 3), and fourth powers, can be those of rows."""
    trace, frobenius, largest = norms.T
    slack = 1 + 1e-6
    if (
        (largest > frobenius * slack).any()
        or (frobenius > trace * slack).any()
        or (trace > 4 * most).any()
        or (frobenius**2 > trace * largest * slack).any()
        or (fourth > (4 * most) ** 2).any()
    ):
        raise ValueError(
            "the norms of the test given covariates are not those of a covariance of residuals"
        )


def _read_groups(
    arrays: dict[str, Any], num_categories: Any, given: np.ndarray
) -> tuple[np.ndarray, ...]:
    """The groups of the values of the covariates, checked."""
    sizes = [num_categories[v] + 1 for v in given.tolist()]
    flat = finite_array(arrays, "groups", (sum(sizes),), np.int64)
    groups = tuple(np.split(flat, np.cumsum(sizes)[:-1])) if sizes else ()
    if any(one[:2].tolist() != [0, 1] or not np.isin(np.diff(one), (0, 1)).all() for one in groups):
        raise ValueError("the groups of a covariate's values must ascend from 0 without gaps")
    return groups


def _read_ranks(arrays: dict[str, Any], name: str, rows: str) -> np.ndarray:
    """p-values of rows of the reference, ascending."""
    found: np.ndarray = finite_array(arrays, name, (None,))
    if len(found) and (found[0] < 0 or found[-1] > 1 or (np.diff(found) < 0).any()):
        raise ValueError(f"the p-values of {rows} rows must ascend from 0 to 1")
    return found


def _read_farthest(arrays: dict[str, Any], q: int, k: int) -> tuple[int, np.ndarray]:
    """How many rows are compared with those of batches, and how far out they are (q,)."""
    num_ranked = int(finite_array(arrays, "num_ranked", (1,), np.int64)[0])
    farthest: np.ndarray = finite_array(arrays, "farthest", (q,))
    if not 0 <= num_ranked <= k or farthest.min() < 0:
        raise ValueError("the farthest rows of the test given covariates are not those of its rows")
    return num_ranked, farthest


def _read_columns(arrays: dict[str, Any], V: int) -> np.ndarray:
    """(V, r) squared distances of rows in each column, checked."""
    found: np.ndarray = finite_array(arrays, "columns", (V, None), np.float32)
    if found.min(initial=0.0) < 0 or (np.diff(found, axis=1) < 0).any():
        raise ValueError("the distances of rows in single columns must ascend from 0")
    return found
