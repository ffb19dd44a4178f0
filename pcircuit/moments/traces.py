"""tr(S^2) in time linear in the number of variables: the covariance S is never formed.

tr(S^2) is the sum of the squares of all covariances.  By `moments.covariance_parts` the covariances that meet in a
region are linear in the columns D and V of the coordinates j below, so sums of their squares over j need only

    G = sum_j D[:, j] D[:, j]^T      (K, K)              H = sum_j V[:, j] V[:, j]^T      (pairs, pairs)

Both follow the recursion of the columns: G is gathered, added over the children and multiplied by `excess` on both
sides; H is lifted on both sides.  With the subscripts of the formulas there, region r adds to tr(S^2)

    own units among themselves           the squared Frobenius norm of a small block
    an own unit with row t and below     2 sum_j (t V_j)^2 = 2 t H t^T
    below two children c, c'             2 sum_{p, p'} qp_p qp_p' G_c[u(p), u(p')] G_c'[u'(p), u'(p')]

The centred columns make every term a sum of squares, so nothing cancels between them.  (The uncentred tensors need
h = sum_j V_j mu_j and s = sum_j mu_j^2 besides, and differences of large numbers.)

Near the leaves there are fewer columns than pairs of units.  A region then keeps the columns V themselves instead
of H, whichever is smaller; `gram_factor` turns an H from below into columns where a region has more pairs than
its child.  Cost O(K^5) per region with H, O(K^3) per column without; memory O(K^4) per open region.

References: K, S and Krishnan (2026), A Probabilistic Circuit-Induced Pseudo-Metric for Out-of-Distribution Detection,
section "Exact computation of Sigma", obtains the same numbers from one product circuit per pair of nodes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pcircuit.arguments import Floats
from pcircuit.circuit import InnerRegion
from pcircuit.moments.covariance_parts import CovarianceParts, covariance_parts
from pcircuit.moments.plan import Plan
from pcircuit.moments.unit_pairs import gram_factor, lift, lift_gram, num_pairs


@dataclass(frozen=True)
class _PairColumns:
    """The columns V (pairs, n) of some coordinates, or instead their Gram tensor H (pairs, pairs)."""

    columns: Any = None
    tensor: Any = None

    @property
    def width(self) -> int:
        """Number of columns that V has, or that would do."""
        return int((self.tensor if self.columns is None else self.columns).shape[1])

    def as_columns(self) -> Any:
        """V, or other columns with the same H."""
        return gram_factor(self.tensor) if self.columns is None else self.columns

    def as_tensor(self) -> Any:
        """H."""
        return self.columns @ self.columns.T if self.tensor is None else self.tensor

    def squares(self, rows: Floats) -> float:
        """Sum over rows t and columns j of (t V_j)^2."""
        squares = (rows @ self.columns) ** 2 if self.tensor is None else (rows @ self.tensor) * rows
        return float(squares.sum())


def trace_of_square(plan: Plan) -> float:
    """tr(S^2)."""
    total = 0.0
    # region -> (G (K, K), _PairColumns) of the coordinates at or below it
    open_grams: dict[int, tuple[Floats, _PairColumns]] = {}
    for r, parts in covariance_parts(plan, compress=True):
        total += float(np.sum(parts.covariance**2))
        region = plan.circuit.regions[r]
        if region.is_input:
            open_grams[r] = parts.d @ parts.d.T, _PairColumns(parts.v)
            continue
        children = [open_grams.pop(c, None) for c in plan.circuit.vtree.children(r).tolist()]
        disjoint, gram = _disjoint_scopes(region, parts, children)
        nested, pairs = _nested_scopes(region, parts, children)
        total += float(2 * disjoint + 2 * nested)
        open_grams[r] = gram, pairs
    return total


def _disjoint_scopes(
    region: InnerRegion, parts: CovarianceParts, children: list[Any]
) -> tuple[float, Floats]:
    """Sum of squared covariances between coordinates below different children, and G of the region."""
    total, gram = 0.0, np.zeros((region.num_products, region.num_products))
    for units, child in zip(region.products.T, children, strict=True):
        if child is not None:
            of_child = child[0][np.ix_(units, units)]
            total += parts.qp @ (gram * of_child) @ parts.qp
            gram += of_child
    return total, parts.excess @ gram @ parts.excess.T + parts.d @ parts.d.T


def _nested_scopes(
    region: InnerRegion, parts: CovarianceParts, children: list[Any]
) -> tuple[float, _PairColumns]:
    """Sum of squared covariances of the region's own coordinates with those below, and V or H of the region."""
    total, carried = 0.0, [_PairColumns(parts.v)]
    widths = [child[1].width for child in children if child is not None]
    keep_columns = sum(widths) + carried[0].width <= num_pairs(region.num_units)
    for units, child, factor, product_rows in zip(
        region.products.T, children, parts.factors, parts.product_rows, strict=False
    ):  # no factors: nothing at or above is selected
        if child is None:
            continue
        below = child[1]
        if keep_columns or below.tensor is None:
            lifted = _PairColumns(lift(below.as_columns(), units, factor, region.weights))
        else:
            lifted = _PairColumns(tensor=lift_gram(below.tensor, units, factor, region.weights))
        total += below.squares(product_rows) + lifted.squares(parts.sum_rows)
        carried.append(lifted)
    if keep_columns:
        return total, _PairColumns(np.concatenate([part.columns for part in carried], axis=1))
    return total, _PairColumns(tensor=sum(part.as_tensor() for part in carried))
