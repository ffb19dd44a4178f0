r"""The monitor that belongs to a test: of its circuit and nodes, with a margin for what the circuit does not get right.

The rows of the source have a mean likelihood vector E L, which is not the mean mu of the circuit.  How far it is from
it, d = |E L - mu|, is known through the mean of n reference rows, whose distance from mu is D.  The margin is a bound
on d that is wrong with the probability `DOUBT` only, so that an unshifted stream is found shifted with probability at
most alpha + DOUBT, however long it is.  (D itself bounds nothing: it may be less than d by chance, and a monitor finds
that out sooner or later.)

**The bound.**  The mean of the n rows is nearly normal with covariance C = S / n.  Let s^2 be its variance along the
misfit, the direction of E L - mu.  Then D^2 is a weighted sum of noncentral chi-squares with

.. math:: E[D^2] = d^2 + \mathrm{tr}\,C, \qquad \mathrm{Var}[D^2] = 2\,\mathrm{tr}\,C^2 + 4 d^2 s^2.

It is skewed to the right, so that it falls z standard deviations below its mean less often than a normal variable.  The
bound is the largest d for which it has not, with the normal quantile z at `DOUBT` and s along the observed misfit: the
larger root d^2 of (D^2 - d^2 - tr C)^2 = z^2 (2 tr C^2 + 4 d^2 s^2).

**Without S.**  Where S is not kept, the triangle inequality

.. math:: d \le |\bar L_n - \mu| + |\bar L_n - E L|

is used, with the quantile of the plain norm's law (`hld.nulls.limit_law`) for the last term; and without that law, the
quantile of the largest tail that a sum of squares with the same mean can have, that of one square alone (Szekely and
Bakirov 2003).  Where the circuit is the reference, and was learned from n rows, D is 0 and the last term is all.

References: G. J. Szekely and N. K. Bakirov (2003), Extremal probabilities for Gaussian quadratic forms, Probability
Theory and Related Fields 126.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from hld.monitoring.monitor import Monitor
from hld.nulls.auto import laws_of
from hld.nulls.limit_law import LimitLaw

DOUBT = 0.001  # that the source of the reference rows is farther from the circuit than the margin
QUANTILE = 3.090232306167813  # of a normal variable at it
ONE_SQUARE = 10.827566170662733  # quantile of chi-square with one degree of freedom at it


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

    Examples
    --------
    >>> import hld
    >>> import pcircuit
    >>> circuit = pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0)
    >>> monitor_of(hld.HLDTest(circuit)).margin
    0.0
    """
    test = getattr(test, "test_", test)
    if not hasattr(test, "calibration"):
        raise TypeError(f"`test` must be an HLDTest or a fitted HLDDetector, found {type(test).__name__}")
    exact = Monitor(test.circuit, alpha, test.nodes, rng=0)
    if margin is None:
        margin = farthest(test, test.mean[:len(exact.mean)] - exact.mean)
    return Monitor(test.circuit, alpha, test.nodes, margin=margin, rng=0) if margin else exact


def farthest(test: Any, misfit: np.ndarray) -> float:
    """A bound on the distance d of the source of a test's reference rows from its circuit.

    Parameters
    ----------
    test : hld.HLDTest
        Its `num_train` is n; where it is None there is nothing that could be off by chance.
    misfit : (m,) float array
        Mean of the reference rows minus that of the circuit.

    Returns
    -------
    float

    Examples
    --------
    >>> import hld, pcircuit
    >>> circuit = pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0)
    >>> nothing = np.zeros(len(hld.HLDTest(circuit).nodes))
    >>> few, many = (farthest(hld.HLDTest(circuit, num_train=n), nothing) for n in (100, 400))
    >>> round(few / many, 6)
    2.0
    """
    n, observed = test.num_train, float(np.linalg.norm(misfit))
    if n is None:
        return observed
    bounds = [observed + _error_of_mean(test, n)]
    kept = test.calibration.kept
    if kept is not None and len(kept.covariance) and observed > 0:
        m = len(misfit)
        bounds.append(_along_misfit(misfit / observed, kept.covariance[:m, :m] / n, observed))
    return min(bounds)


def _error_of_mean(test: Any, n: int) -> float:
    """A distance of the mean of n rows from E L that is exceeded with probability `DOUBT`."""
    kept = test.calibration
    for metric, law in zip(kept.metrics, laws_of(kept.null), strict=False):  # one null may be all there is
        if metric.name == "euclidean" and isinstance(law, LimitLaw):
            return math.sqrt(law.threshold(DOUBT, n))
    return math.sqrt(ONE_SQUARE * float(np.square(test.stds[:len(test.nodes)]).sum()) / n)


def _along_misfit(direction: np.ndarray, covariance: np.ndarray, observed: float) -> float:
    """The bound by a direction (m,) of length 1 and the covariance (m, m) of the mean."""
    along = max(float(direction @ covariance @ direction), 0.0)  # s^2
    apart = observed ** 2 - float(np.trace(covariance))
    middle = apart + 2 * QUANTILE ** 2 * along
    spread = middle ** 2 - apart ** 2 + 2 * QUANTILE ** 2 * float((covariance ** 2).sum())
    return math.sqrt(max(middle + math.sqrt(max(spread, 0.0)), 0.0))
