r"""How often things happen in rows with the covariates of a batch: counts that its counts are compared with.

Shares of missing cells, of new values, of categories and of odd rows may differ with the covariates, which may move.
With phi(x) the functions of the covariates (`conditional.covariates`) and y whether a row of the reference is in an
event, the regression of y on phi predicts the share of a batch with the mean function phi,

.. math:: \hat y = \bar\phi^t (\Phi^t \Phi)^+ \Phi^t y = \sum_i w_i y_i, \qquad \sum_i w_i = 1, \quad \sum_i w_i^2 = h,

a weighted mean of the reference's rows, with h the leverage of the batch.  It varies as the share of 1 / h rows does
(Kish 1965, section 11.7), so the batch is compared with 1 / h rows of which a share y is in the event, rounded: as many
as have its covariates.  If phi are the indicators of the values of one covariate, w_i is the share of the batch over
that of the reference, and rows are as in a table that is stratified by the covariate.

Given the covariates a count varies less than among rows that are drawn at random, as is assumed then, so the exact
tests are on the safe side, but for what phi does not explain, and for the rounding.

Reference: L. Kish (1965), Survey Sampling, Wiley.
"""

from typing import Any

import numpy as np

import pcircuit
from hld.features.row_scores import BINS
from hld.tables.schemas.columns import NEW


def event_sizes(circuit: pcircuit.Circuit, num_events: int) -> list[int]:
    """How many events exclude one another: categories of columns and missing cells, new or not, bins of odd rows."""
    sizes = [C + 1 for C in circuit.num_categories] + [2] * circuit.num_variables
    return sizes + [BINS] * ((num_events - sum(sizes)) // BINS)


def row_events(codes: np.ndarray, marks: np.ndarray, odd: np.ndarray) -> np.ndarray:
    """(n, 2 V + S) the event of each row in each block, given bins of odd rows; -1 stands for the last event.

    Shapes: codes, marks (n, V), odd (n, S).
    """
    return np.hstack([codes.astype(np.int64), marks & NEW, odd])


def event_sums(
    circuit: pcircuit.Circuit,
    rows: np.ndarray,
    given: np.ndarray,
    functions: np.ndarray,
    events: Any,
) -> np.ndarray:
    """(E, f) sums of the functions of the covariates over the rows in each event; none for the covariates themselves.

    Shapes: rows (n, V), given (V,), functions (n, f), events (n, 2 V + S).
    """
    none = np.zeros(rows.shape, np.uint8)
    found = row_events(rows, none, none[:, :0]) if events is None else events
    V = rows.shape[1]
    num_odd = found.shape[1] - 2 * V
    num_events = sum(C + 3 for C in circuit.num_categories) + num_odd * BINS
    sums = []
    for block, size in enumerate(event_sizes(circuit, num_events)):
        is_tested = block >= 2 * V or not given[block % V]
        own = np.arange(size)[:, None] == found[:, block] % size
        sums.append((own * is_tested) @ functions)
    return np.concatenate(sums).astype(np.int64)
