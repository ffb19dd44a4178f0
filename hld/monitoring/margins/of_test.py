r"""The monitor that belongs to a test: of its circuit and nodes, with a margin for what the circuit does not get right.

The rows of the source have a mean likelihood vector E L, which is not the mean mu of the circuit.  How far it is from
it, d = |E L - mu|, is known through the mean of n reference rows, whose distance from mu is D.  The margin is a bound
on d that is wrong with the probability `DOUBT` only, so that an unshifted stream is found shifted with probability at
most alpha + DOUBT, however long it is.  (D itself bounds nothing: it may be less than d by chance, and a monitor finds
that out sooner or later.)

**The bound.**  The mean of the n rows is nearly normal with covariance C = S / n.  Let lambda_j be the eigenvalues of
C.  If the misfit E L - mu lies along the direction of the largest,

.. math:: D^2 \sim \lambda_1\,\chi^2_1(d^2 / \lambda_1) + \sum_{j > 1} \lambda_j \chi^2_1,

and the bound is the d at which this law (`hld.gchi2`) is at most as large as the observed D^2 with probability `DOUBT`.
The direction is not known.  In any other the mean varies less along the misfit, and for d >= D, where the ball of
radius D around mu does not hold E L, it falls into that ball less often: so the bound is D at the least.  (The observed
misfit does not show the direction.  Where many nodes vary a little and one direction varies much, a misfit along it may
be hidden by chance, and what is left to observe is noise of small variance.)

Of rows with holes each node's mean is over the rows that show it (`hld.references.available`): C is then the product of
S and k_ij / (k_i k_j), entry by entry.

**Without S.**  Where S is not kept, its eigenvalues are those of the plain norm's law (`hld.nulls.limit_law`); and
without that law, the triangle inequality

.. math:: d \le D + |\bar L_n - E L|

is used, with the quantile at `DOUBT` of the largest tail that a sum of squares with a known mean can have, that of one
square alone (Szekely and Bakirov 2003).  Where the circuit is the reference, and was learned from n rows, D is 0 and
the last term is all.

References: G. J. Szekely and N. K. Bakirov (2003), Extremal probabilities for Gaussian quadratic forms, Probability
Theory and Related Fields 126.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

import hld.gchi2 as gchi2
from hld.monitoring.monitor import Monitor
from hld.nulls.auto import laws_of
from hld.nulls.limit_law import LimitLaw
from pcircuit.arguments import check_number
from pcircuit.moments.rounding import without_rounding

DEPENDENT = {
    "groups": "`groups`",
    "time": "`order`='time'",
}  # kinds of `judge_` and how they are fitted
DOUBT = 0.001  # that the source of the reference rows is farther from the circuit than the margin
ONE_SQUARE = 10.827566170662733  # quantile of chi-square with one degree of freedom at it
HALVINGS = 30  # of the interval that holds the bound


def monitor_of(test: Any, alpha: float = 0.05, margin: float | None = None) -> Monitor:
    """A monitor of the circuit and the nodes of a test.

    Parameters
    ----------
    test : hld.HLDTest or hld.HLDDetector
        A detector must be fitted.
    alpha : float
        Bound on the probability of ever raising a false alarm, while rows are within the margin.
    margin : float, optional
        Distance from the circuit that is still no shift.  By default the bound of the module on how far the source of
        the reference rows is from it: rows from that source are within it, but for a probability of 0.001.  It is 0
        where the circuit itself is the reference and nothing is known about how many rows it was learned from.

    Returns
    -------
    Monitor

    Raises
    ------
    TypeError, ValueError
        If `test` is neither of the two, or not fitted; what `Monitor` raises.

    Notes
    -----
    The rows of the reference must not have been learned from, as with the defaults of `HLDDetector`: else they are
    nearer to the circuit than others of their source.

    The bound takes rows to be independent.  Those of a detector that was fitted to groups or a series are not: their
    mean may be farther from that of the source, and the rows of one group are farther from the circuit than those of
    all.  So there is a warning unless a margin is given.

    Examples
    --------
    >>> import hld
    >>> import pcircuit
    >>> circuit = pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0)
    >>> monitor_of(hld.HLDTest(circuit)).margin
    0.0
    """
    doubt, test = doubt_of_margin(test), getattr(test, "test_", test)
    if not hasattr(test, "calibration"):
        raise TypeError(
            f"`test` must be an HLDTest or a fitted HLDDetector, found {type(test).__name__}: "
            "fit or load one"
        )
    exact = Monitor(test.circuit, alpha, test.nodes, rng=0)
    if margin is None:
        if doubt is not None:
            warnings.warn(f"`test` {doubt}", UserWarning, stacklevel=2)
        margin = farthest(test, test.mean[: len(exact.mean)] - exact.mean)
    margin = check_number(margin, "margin", least=0)
    return Monitor(test.circuit, alpha, test.nodes, margin=margin, rng=0) if margin else exact


def doubt_of_margin(test: Any) -> str | None:
    """Why the default of `margin` does not bound false alarms; None where it does."""
    kind = getattr(getattr(test, "judge_", test), "kind", None)
    if kind == "covariates":
        return "was fitted with `covariates`, which may move, but a monitor raises its alarm when they do: test batches"
    fitted_with = DEPENDENT.get(kind)  # type: ignore[arg-type]
    return fitted_with and (
        f"was fitted with {fitted_with}, so the default of `margin`, which takes rows for "
        "independent, does not bound false alarms: give a margin, or test batches"
    )


def farthest(test: Any, misfit: np.ndarray) -> float:
    """A bound on the distance d of the source of a test's reference rows from its circuit.

    Shapes: misfit (m,).
    """
    n, observed = test.num_train, float(np.linalg.norm(misfit))
    if n is None:
        return observed
    found = _eigenvalues(test, n)
    if found is None:
        variances = np.square(test.stds[: len(misfit)]) / _shown(test, n)
        return observed + math.sqrt(ONE_SQUARE * float(variances.sum()))
    if not found[0].size:
        return observed
    return (
        _by_law(*found, observed)
        if observed > 0
        else math.sqrt(float(gchi2.isf(DOUBT, gchi2.prepare(*found))))
    )


def _shown(test: Any, n: int) -> Any:
    """Rows that show each node."""
    kept = test.calibration.kept
    return (
        np.maximum(kept.counts[: len(test.nodes)], 1) if kept is not None and kept.has_holes else n
    )


def _eigenvalues(test: Any, n: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Positive eigenvalues of C in descending order, and how often each counts; None where they are not known."""
    parts, m = test.calibration, len(test.nodes)
    if parts.kept is not None and len(parts.kept.covariance):
        shares = parts.kept.shared[:m, :m] if parts.kept.has_holes else 1 / n
        values = without_rounding(np.linalg.eigvalsh(parts.kept.covariance[:m, :m] * shares)[::-1])
        return values[values > 0], np.ones(int((values > 0).sum()))
    if (
        parts.kept is not None and parts.kept.has_holes
    ):  # the laws of the test are of rows without holes
        return None
    for metric, law in zip(
        parts.metrics, laws_of(parts.null), strict=False
    ):  # one null may be all there is
        if metric.name == "euclidean" and isinstance(law, LimitLaw):
            positive = law.eigenvalues > 0
            return law.eigenvalues[positive] / n, law.multiplicities[positive]
    return None


def _by_law(values: np.ndarray, counts: np.ndarray, observed: float) -> float:
    """The largest d, from D on, at which D is as small as it is with probability `DOUBT`."""
    counts = np.append(
        1.0, np.append(counts[0] - 1.0, counts[1:])
    )  # one square of the largest by itself
    values = np.append(values[0], values)[counts > 0]
    along, counts = np.zeros(len(values)), counts[counts > 0]

    def is_usual(d: float) -> bool:
        along[0] = d * d / values[0]
        return bool(gchi2.cdf(observed**2, gchi2.prepare(values, counts, along)) > DOUBT)

    low, high = observed, observed + 2 * math.sqrt(ONE_SQUARE * values[0])
    if not is_usual(low):
        return low
    while is_usual(high):
        low, high = high, 2 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_usual(middle) else (low, middle)
    return high
