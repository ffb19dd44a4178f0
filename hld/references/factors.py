r"""A covariance of low rank as one of few rows: its Cholesky factor with pivots.

Likelihoods of nodes depend on one another: the four input units of a column of two categories are all linear in one
frequency.  So the covariance S of m nodes has a rank r that may be far below m, and with

.. math:: S = A^t A, \qquad A \; (r \times m),

a metric's image F S F^t has the same eigenvalues, but for zeros, as the scalar products (A F^t)(A F^t)^t of r rows
instead of m coordinates, which takes (m / r)^3 times less.

Cholesky's algorithm takes the nodes in the order of the variance that is left of them given those before, and ends
where that is no more than a tolerance of any.  What is left out is a covariance R with R_jj at most this tolerance, so
no eigenvalue of S changes by more than m times it.  A map F may magnify nodes of little variance: for maps, S is scaled
to variances of 1 first, so that R_jj <= SHARE S_jj and the trace of F R F^t is at most
SHARE (sum_j |F_j| S_jj^1/2)^2, F_j its columns.

Reference: N. J. Higham (2002), Accuracy and Stability of Numerical Algorithms, section 10.3; LAPACK's pstrf.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

SHARE = 1e-13  # of the variance of a node
ROUNDING = 1e-15  # of the largest variance
SMALL = 1e-130  # numbers whose squares, and products with those of rounding, may be no full doubles


def units_of(table: np.ndarray) -> np.ndarray:
    """(m,) what to divide the columns of a table by before products are formed: 1, or the largest entry of small ones.

    The likelihood of many columns is 1e-160 easily, whose square has few digits or none.  A variance of so few digits
    gives correlations above 1, and the factor would have the wrong variances of other nodes, too.

    Shapes: table (n, m) -> (m,).
    """
    largest = np.maximum(table.max(axis=0), -table.min(axis=0))
    return np.where((largest > 0) & (largest < SMALL), largest, 1.0)


def factor_of_nodes(
    covariance_of: Callable[[Any], np.ndarray], m: int, groups: Sequence[slice] = ()
) -> np.ndarray:
    """(r, m) A with A^t A = S, but for a share of 1e-13 of the variance of each node.

    Returns (r, m).
    k r^2 multiplications for k nodes that do not depend on others of their groups.
    """
    every, kept, expressed = np.arange(m), np.ones(m, dtype=bool), []
    for places in (every[group] for group in groups):
        order, upper, scale = _scaled_pivots(covariance_of(places))
        first, others = np.split(order, [len(upper)])
        if len(others):
            kept[places[others]] = False
            shares = np.linalg.solve(
                upper[:, : len(first)], upper[:, len(first) :]
            )  # of scaled nodes
            expressed.append(
                (places[others], places[first], shares / scale[first, None] * scale[others])
            )
    places = every[kept]
    order, upper, scale = _scaled_pivots(covariance_of(places))
    factor = np.zeros((len(upper), m))
    factor[:, places[order]] = upper * scale[order]
    for others, first, shares in expressed:
        factor[:, others] = factor[:, first] @ shares
    return factor


def _scaled_pivots(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`_pivoted` of a covariance scaled to variances of 1, and the deviations, 0 of constants."""
    scale = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    divisor = np.where(scale > 0, scale, 1.0)
    return *_pivoted(covariance / divisor / divisor[:, None], SHARE), scale


def pivoted_factor(covariance: np.ndarray) -> np.ndarray:
    """(r, m) A with A^t A = S, but for 1e-15 of the largest variance in every variance: enough for its eigenvalues.

    Shapes: covariance (m, m) -> (r, m).
    m r^2 multiplications.
    """
    order, upper = _pivoted(
        covariance, ROUNDING * max(float(covariance.diagonal().max(initial=0.0)), 0.0)
    )
    factor = np.empty_like(upper)
    factor[:, order] = upper
    return factor


def _pivoted(matrix: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """An order of the coordinates, and (r, m) upper U with U^t U = the matrix in this order, but for the tolerance."""
    from scipy.linalg.lapack import dpstrf

    if not len(matrix) or not matrix.diagonal().max() > tolerance:
        return np.arange(len(matrix)), np.zeros((0, len(matrix)))
    upper, order, rank, _ = dpstrf(matrix, tol=tolerance)
    return order - 1, np.triu(upper[:rank])
