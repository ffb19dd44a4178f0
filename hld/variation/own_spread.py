r"""How far the rows of a batch may have moved its mean by themselves, where it is odder than all groups.

The law beyond the ranks takes the means of groups to be normal.  Those of few rows are not: one row with a level that
one in a thousand has moves the mean of twenty rows farther than a hundred groups do, and the covariance of these knows
nothing of it.  The batch does.  With x_t its T rows, d the difference of their mean from that of the groups,
and one ordinary row more, at the mean of the groups, the covariance of the batch's mean is estimated by

.. math:: V = \frac{1}{T} \Bigl( \frac{1}{T} \sum_t (x_t - \bar x) (x_t - \bar x)^t + \frac{1}{T + 1} d d^t \Bigr),

which is added to the covariance of the law (`hld.nulls.exchangeable`).  Without a shift it is about what rows vary by.
Where h of many rows make the difference, V is about d d^t / h, so that they count as some sqrt(h) standard deviations,
however far out they are; where T rows all go the same way, which few do by chance, they count as T and a half at most.

Successive rows repeat what they show: T of them count as their effective number.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from hld.references.groups import filled_rows
from hld.vectors.row_vectors import RowVectors, some_rows

MOST_ROWS = 2_000  # that are looked at; of more rows some, evenly spread


def own_spread(
    vectors: RowVectors,
    batch: np.ndarray,
    fill: np.ndarray,
    center: np.ndarray,
    effective_rows: float,
) -> Callable[[], np.ndarray]:
    """A function that gives an (r + 1, size) array Y such that Y^t Y is the matrix V of the rows of a batch.

    The rows are looked at when it is called first: few batches are odder than all groups.

    Shapes: batch (T, V), fill (size,), center (size,).
    """

    @cache
    def spread() -> np.ndarray:
        rows = filled_rows(vectors, batch[some_rows(len(batch), MOST_ROWS)], fill) - center
        own, size = rows.mean(axis=0), min(max(effective_rows, 1.0), float(len(batch)))
        return np.concatenate(
            [(rows - own) / np.sqrt(len(rows) * size), own[None] / np.sqrt(size * (size + 1))]
        )

    return spread
