r"""The distance between cumulative distributions of single variables, for columns whose categories have an order.

The bins of a numeric column are ordered.  A drift moves many bins a little, each by less than its noise, but all in
one direction: in the cumulative frequencies G_c = P(X_v <= c) it adds up.  With G the batch's, G_0 the circuit's, and
the weights of Anderson and Darling, under which every cut between two bins counts alike,

.. math:: d^2 = \sum_v \sum_{c < C_v} \frac{(\hat G_{vc} - G_{0vc})^2}{G_{0vc} (1 - G_{0vc}) + f}, \qquad f = 0.01.

The mean likelihoods of the K input units of a variable are l = P f in the frequencies f of its categories, so
frequencies are recovered as P^+ l (see `hld.metrics.marginals`): with L the cumulative sums and W the weights,
F = W L P^+ is linear, and null, covariance and holes are treated as for any other metric.  What the units cannot
distinguish is not seen.  F has C - 1 rows for each variable, but no more than K directions that matter: its singular
value decomposition F = A s B^t has the norm of s B^t, of at most K rows.

Reference: T. W. Anderson and D. A. Darling (1952), Asymptotic theory of certain goodness of fit criteria, Annals of
Mathematical Statistics 23.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import pcircuit
from hld.metrics.marginals import RANK, input_tables, sparse_rows
from hld.references.reference import Reference
from hld.vectors.linear_maps import SparseRows

FLOOR = 0.01  # f, of variances: cuts that leave less than a hundredth on one side count less


def ordered(
    reference: Reference, *, ordered: tuple[Any, ...] | None = None, **options: Any
) -> SparseRows:
    """The metric "ordered" for the input units among the nodes of a reference.

    O(K C min(K, C)) per variable.
    """
    tables, margins = (
        input_tables(reference, "ordered"),
        pcircuit.marginal_tables(reference.circuit),
    )
    rows = []
    for v, places, table in tables:
        if ordered is None or v in ordered:
            rows += [(places, row) for row in _cumulative(table, margins[v])]
    if not rows:
        raise ValueError(
            "`metric` 'ordered' compares variables whose categories ascend, and none of them has input "
            "units among `nodes`: leave the metric out"
        )
    return sparse_rows("ordered", rows, len(reference.nodes))


def _cumulative(table: Any, margin: Any) -> Any:
    """Rows (r, K) with the norm of W L P^+."""
    below = np.cumsum(margin)[:-1]
    weights = 1.0 / np.sqrt(np.maximum(below * (1 - below), 0.0) + FLOOR)
    cumulative = weights[:, None] * np.cumsum(np.linalg.pinv(table, rcond=RANK), axis=0)[:-1]
    _, values, directions = np.linalg.svd(cumulative, full_matrices=False)
    kept = values > RANK * values.max(initial=0.0)
    return values[kept, None] * directions[kept]
