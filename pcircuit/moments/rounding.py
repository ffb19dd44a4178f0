"""How far rounding can move a likelihood, so that a constant is not taken for something that varies.

Every double operation errs by a factor 1 + d with |d| <= eps / 2.  Likelihoods and their means are made of additions
and multiplications of numbers that are not negative, so nothing cancels: whatever the order in which sums are taken,
and whether or not products and sums are fused,

    computed = exact (1 + e),        |e| <= n eps,        n the number of operations from the tables to the unit.

Rows of `probs` and `weights` sum to one only approximately, so a mean under the circuit depends a little on whether the
rows are divided by their sums: a region whose rows are off by up to d moves it by a factor of up to 1 + d.  Together

    rho_j = n_j eps + the sum of d over the regions below unit j, and above it.

Two rules follow, and every part of both packages that asks "is this zero?" uses one of them.

* The likelihoods of a unit are known to rho_j E[l_j^2]^(1/2) in the root mean square.  *A unit whose standard deviation
  does not exceed that is constant*: only its rounding varies, which differs from one processor to the next.  More
  generally a variance counts as zero if it does not exceed rho_j times the size of the terms it was summed from.
* The eigenvalues of a symmetric matrix with m rows are known to m eps times the largest (they are exact for a matrix
  that differs by so much).  *An eigenvalue of a covariance that does not exceed that is zero.*
"""

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import Floats, check_numbers
from pcircuit.circuit import Circuit, check_circuit, derived
from pcircuit.inference.unit_likelihoods import check_nodes

EPS = float(np.finfo(np.float64).eps)


def rounding_errors(circuit: Circuit, nodes: ArrayLike | None = None) -> Floats:
    """Bounds rho on the relative rounding errors of unit likelihoods and of their means under the circuit.

    |computed l_j(x) - l_j(x)| <= rho_j l_j(x),   |computed E[l_j] - E[l_j]| <= rho_j E[l_j].

    Shapes: nodes (m,) -> (m,).
    O(number of parameters).  A bound for the worst case, linear in the number of operations; observed errors grow
    with its square root.  Underflow, which adds up to 5e-324, is not counted.
    """
    check_circuit(circuit)
    errors = np.repeat(region_rounding(circuit), np.diff(circuit.offsets))
    if nodes is None:
        return errors
    return errors[check_nodes(circuit, nodes)]


def region_rounding(circuit: Circuit) -> Floats:
    """(R,) the bound rho for the units of each region; see `rounding_errors`."""
    return derived(circuit, "rounding", lambda: _region_rounding(circuit))


def _region_rounding(circuit: Circuit) -> Floats:
    """What `region_rounding` keeps: errors below each region, and on the way from the root to it."""
    vtree = circuit.vtree
    own, above = np.empty(vtree.num_nodes), np.empty(vtree.num_nodes)
    for r, region in enumerate(circuit.regions):
        K, P, A, C = region.num_units, 0, 0, region.num_categories
        if not region.is_input:
            P, A = region.products.shape
        off = np.abs(region.row_sums() - 1).max(initial=0.0)
        own[r] = (
            off + (2 * A + 4 * P + K + C) * EPS
        )  # products, W M W^t and a mean; or a sum over categories
        above[r] = off + (K + P) * EPS  # masses of the products, and of the children's units
    parents = vtree.parents.tolist()
    below = own
    for r in range(vtree.num_nodes - 1):  # parents have larger numbers
        below[parents[r]] += below[r]
    outside = np.zeros(vtree.num_nodes)
    for r in range(vtree.num_nodes - 2, -1, -1):
        outside[r] = outside[parents[r]] + above[parents[r]]
    rounding = below + outside
    rounding.flags.writeable = False
    return rounding


def without_rounding(eigenvalues: ArrayLike) -> Floats:
    """Eigenvalues of a covariance, with those that are zero to working precision set to zero.

    Shapes: eigenvalues (m,) -> (m,).
    """
    values = np.array(check_numbers(eigenvalues, "eigenvalues", "finite numbers"))
    values[values <= values.size * EPS * values.max(initial=0.0)] = 0.0
    return values
