r"""Which columns moved given the covariates: the residuals of the circuit's units of one column at a time.

The input units of a column v see its value alone, so the residuals of their likelihoods, l(y_v) - E[l(Y_v) | x], have
mean zero where P(Y_v | x) is as learned, whatever the covariates do.  Their mean Z_v over a batch, with what functions
of the covariates explain taken off, has the covariance S_v (1/T + h) of `hld.conditional.conditional_test`, between
that of the reference and that of the batch's own rows.  Of the reference's S_v the trace is known, and its Frobenius
norm and largest eigenvalue are taken to be as large as that allows: Z_v^t Z_v then has the widest law with this trace,
and p-values are too large rather than too small, but for few rows of columns with rare levels, which are judged by rank
as well (`hld.conditional.column_ranks`).  Covariates have no p-value: they may move.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hld.answers.adjust import holm
from hld.gchi2.three_moments import ThreeMoments
from hld.nulls.ranks.confirmation import excess_of, sample_norms


def column_pvalues(
    rows: np.ndarray,
    difference: np.ndarray,
    stds: np.ndarray,
    parts: Sequence[np.ndarray],
    spread: tuple[float, float, float],
    least: np.ndarray | None = None,
) -> np.ndarray:
    """p-values of the columns given the covariates.

    Shapes: rows (r, m), difference (m,), stds (m,), spread (float, float, float), least (V,) -> (2, V).
    """
    found = np.full((2, len(parts)), np.nan)
    tested = [v for v, part in enumerate(parts) if len(part)]
    if tested:
        found[0, tested] = [
            _pvalue(
                rows[:, parts[v]], difference[parts[v]], float((stds[parts[v]] ** 2).sum()), spread
            )
            for v in tested
        ]
        if least is not None:
            found[0, tested] = np.maximum(found[0, tested], least[tested])
        found[1, tested] = holm(found[0, tested])
    return found


def _pvalue(
    rows: np.ndarray, difference: np.ndarray, total: float, spread: tuple[float, float, float]
) -> Any:
    """That of one column, whose residuals in the reference have the trace `total`."""
    share, width, finite = spread
    trace, frobenius, largest = share * sample_norms(rows) + (1 - share) * total
    fourth = share * float(((rows**2).sum(axis=1) ** 2).mean()) + (1 - share) * 3 * total**2
    stretch = max(1.0, 1.0 + float(excess_of(trace, frobenius, fourth)) * finite)
    law = ThreeMoments(trace, frobenius**2, largest)
    return float(law.tail(float(difference @ difference) / width, stretch))
