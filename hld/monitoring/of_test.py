r"""The monitor that belongs to a test: of its circuit and nodes, with a margin for what the circuit does not get right.

The rows of the source have a mean likelihood vector E L, which is not the mean mu of the circuit.  How far it is from
it, d = |E L - mu|, is known through the mean of the n reference rows, whose distance from mu is D.  The margin is a
bound on d that is wrong with the probability `DOUBT` only, so that an unshifted stream is found shifted with
probability at most alpha + DOUBT, however long it is.  (With D itself as margin, a circuit far from its source is
found out sooner or later, as often as D is less than d by chance.)

The mean of the n rows is nearly normal with covariance S / n.  Let lambda_j be the eigenvalues of S.  If the
misfit E L - mu lies along the direction of the largest,

.. math:: n D^2 \sim \lambda_1\,\chi^2_1(n d^2 / \lambda_1) + \sum_{j > 1} \lambda_j \chi^2_1,

and the bound is the d at which this law (`hld.gchi2`) is as small as the observed n D^2 with probability `DOUBT`.  In
any other direction the mean varies less, and for d >= D, where a ball of radius D around mu does not hold E L, it falls
into that ball less often: the bound is taken as D at the least.  It is at most D plus the distance of the mean from E L
that is exceeded with probability `DOUBT`, by the triangle inequality.

A test that does not have the plain norm among its metrics keeps no lambda_j, but variances.  Of all weighted sums of
squares with the same mean the far tail is largest where there is one square alone (Szekely and Bakirov 2003), whose
quantile then takes the place of that distance.

References: G. J. Szekely and N. K. Bakirov (2003), Extremal probabilities for Gaussian quadratic forms, Probability
Theory and Related Fields 126.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import hld.gchi2 as gchi2
from hld.monitoring.monitor import Monitor
from hld.nulls.auto import laws_of
from hld.nulls.limit_law import LimitLaw

DOUBT = 0.001  # that the source of the reference rows is farther from the circuit than the margin
ONE_SQUARE = 10.827566170662733  # quantile of chi-square with one degree of freedom at DOUBT
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
    exact = Monitor(test.circuit, alpha, test.nodes, rng=0)
    if margin is None:
        margin = farthest(test, misfit(test.mean[:len(exact.mean)], exact.mean))
    return Monitor(test.circuit, alpha, test.nodes, margin=margin, rng=0) if margin else exact


def misfit(reference: np.ndarray, circuit: np.ndarray) -> float:
    """D, the distance of the means (m,) of reference rows from those of the circuit.

    Parameters
    ----------
    reference : (m,) float array
    circuit : (m,) float array

    Returns
    -------
    float
    """
    difference = reference - circuit
    return float((difference @ difference) ** 0.5)


def farthest(test: Any, observed: float) -> float:
    """A bound on the distance d of the source of a test's reference rows from its circuit.

    Parameters
    ----------
    test : hld.HLDTest
        Its `num_train` is n; where it is None there is nothing that could be off by chance.
    observed : float
        D.

    Returns
    -------
    float
        At least D.

    Examples
    --------
    >>> import hld, pcircuit
    >>> circuit = pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0)
    >>> tests = [hld.HLDTest(circuit, num_train=n, metric=name) for n, name in ((100, "euclidean"), (400, "euclidean"),
    ...                                                                         (400, "standardized"))]
    >>> few, many, without = (farthest(test, 0.1) for test in tests)
    >>> few > many > 0.1, without > many
    (True, True)
    """
    n = test.num_train
    if n is None:
        return observed
    kept = test.calibration
    for metric, law in zip(kept.metrics, laws_of(kept.null), strict=False):  # one null may be all there is
        if metric.name == "euclidean" and isinstance(law, LimitLaw) and law.eigenvalues[0] > 0:
            return _by_law(law, n, observed)
    return observed + math.sqrt(ONE_SQUARE * float(np.square(test.stds[:len(test.nodes)]).sum()) / n)


def _by_law(law: LimitLaw, n: int, observed: float) -> float:
    """The largest d, from D on, at which n D^2 is as small as it is with probability `DOUBT`."""
    positive = law.eigenvalues > 0
    values, counts = law.eigenvalues[positive], law.multiplicities[positive]
    values, counts = np.append(values[0], values), np.append(1.0, counts)  # one square of the largest by itself
    counts[1] -= 1.0
    values, counts = values[counts > 0], counts[counts > 0]
    along = np.zeros(len(values))

    def is_usual(d: float) -> bool:
        along[0] = n * d * d / values[0]
        return bool(gchi2.cdf(n * observed ** 2, gchi2.prepare(values, counts, along)) > DOUBT)

    low, high = observed, observed + math.sqrt(law.threshold(DOUBT, n))
    if not is_usual(low):
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_usual(middle) else (low, middle)
    return high
