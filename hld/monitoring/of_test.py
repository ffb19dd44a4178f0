r"""The monitor that belongs to a test: of its circuit and nodes, with a margin for what the circuit does not get right.

The rows of the source have a mean likelihood vector E L, which is not the mean mu of the circuit.  What is known of it
is the mean of the n reference rows.  By the triangle inequality

.. math:: |E L - \mu| \;\le\; |\bar L_n - \mu| + |\bar L_n - E L|,

and as n |mean - E L|^2 follows the limit law of the plain norm (`hld.nulls.limit_law`), the second term exceeds the
root of its quantile at `DOUBT`, divided by n, with probability `DOUBT` only.  The sum of both is the margin: rows from
the source of the reference rows are then within it but for that doubt, and an unshifted stream is found shifted with
probability at most alpha + DOUBT, however long it is.  (The first term alone bounds nothing: the monitor would find out
sooner or later that the reference rows were a sample.)

A test that does not have the plain norm among its metrics has no such law.  Of all laws of weighted sums of squares
with the same mean the far tail is largest where there is one square alone (Szekely and Bakirov 2003), and its quantile
is taken.

References: G. J. Szekely and N. K. Bakirov (2003), Extremal probabilities for Gaussian quadratic forms, Probability
Theory and Related Fields 126.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import pcircuit
from hld.monitoring.monitor import Monitor
from hld.nulls.auto import laws_of
from hld.nulls.limit_law import LimitLaw

DOUBT = 0.001  # that the mean of the source is farther from that of the reference rows than the margin allows
ONE_SQUARE = 10.827566170662733  # quantile of chi-square with one degree of freedom at DOUBT


def monitor_of(test: Any, alpha: float = 0.05, margin: float | None = None) -> Monitor:
    """A monitor of the circuit and the nodes of a test.

    Parameters
    ----------
    test : hld.HLDTest or hld.HLDDetector
        A detector must be fitted.
    alpha : float
        Bound on the probability of ever raising a false alarm, while rows are within the margin.
    margin : float, optional
        Distance from the circuit that is still no shift.  By default what the reference of the test leaves possible, see
        the module: rows from the same source are within it, but for a probability of 0.001.  It is 0 where the
        circuit itself is the reference and nothing is known about how many rows it was learned from.

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
        margin = misfit(test.mean[:len(exact.mean)], exact.mean) + sampling_error(test)
    return Monitor(test.circuit, alpha, test.nodes, margin=margin, rng=0) if margin else exact


def misfit(reference: Any, circuit: pcircuit.Circuit) -> float:
    """Distance of the means (m,) of reference rows from those of the circuit: what the circuit does not get right.

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


def sampling_error(test: Any) -> float:
    """A distance that the mean of n rows keeps from that of their source, but for a probability of `DOUBT`.

    Parameters
    ----------
    test : hld.HLDTest
        Its `num_train` is n; 0 is returned where it is None.

    Returns
    -------
    float

    Examples
    --------
    >>> import hld
    >>> circuit = pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0)
    >>> tests = [hld.HLDTest(circuit, num_train=n, metric=name) for n, name in ((100, "euclidean"), (400, "euclidean"),
    ...                                                                         (400, "standardized"))]
    >>> few, many, bounded = map(sampling_error, tests)
    >>> round(few / many, 6), bounded > many
    (2.0, True)
    """
    n = test.num_train
    if n is None:
        return 0.0
    kept = test.calibration
    for metric, law in zip(kept.metrics, laws_of(kept.null), strict=False):  # one null may be all there is
        if metric.name == "euclidean" and isinstance(law, LimitLaw):
            return math.sqrt(law.threshold(DOUBT, n))
    return math.sqrt(ONE_SQUARE * float(np.square(test.stds[:len(test.nodes)]).sum()) / n)
