r"""Log-likelihoods of rows at hidden points, whose columns are independent given the point.

A column with C categories has C - 1 logits, and category 0 has the logit 0:

.. math:: \ln p(x_v = c \mid z) = \ell_{vc} - \zeta_v, \qquad \zeta_v = \ln \Big(1 + \sum_{c \ge 1} e^{\ell_{vc}}\Big).

With the indicators u_(v,c) = [x_v = c] for c >= 1, and o_v = [x_v is there], a row at a point has

.. math:: \ln p(x \mid z) = \sum_{v,c} u_{vc} \ell_{vc} - \sum_v o_v \zeta_v :

two matrix products for all rows and points.  An entry that is missing has no indicator and no o_v, which is the sum
over its categories.  The slopes of f = sum_i ln (1/S) sum_s p(x_i | z_s) are, with r_is the share of point s in row i,

.. math:: \frac{\partial f}{\partial \ell_{s,vc}} = \sum_i r_{is} u_{i,vc} - p_{s,vc} \sum_i r_{is} o_{iv} .
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pcircuit.array_types import Evidence, Floats, Ints
from pcircuit.learning.continuous.decoder import Singles


class Logits(NamedTuple):
    """Which logit is whose: of L logits the column and the category, and where each of the V columns begins."""

    columns: Ints  # (L,)
    categories: Ints  # (L,)
    begins: Ints  # (V',) of the columns that have logits
    with_logits: Ints  # (V',) these columns


class Coded(NamedTuple):
    """Rows as indicators (n, L), and which columns they show (n, V'); None where they show all."""

    indicators: Singles
    shown: Singles | None


def logits_of(num_categories: Ints) -> Logits:
    """The order of the logits; columns with one category have none.

    Shapes: num_categories (V,).
    """
    counts = num_categories - 1
    columns = np.repeat(np.arange(len(counts)), counts)
    categories = np.arange(len(columns)) - np.repeat(np.cumsum(counts) - counts, counts) + 1
    with_logits = np.flatnonzero(counts)
    return Logits(columns, categories, (np.cumsum(counts) - counts)[with_logits], with_logits)


def coded(rows: Evidence, logits: Logits) -> Coded:
    """Rows as what the matrix products need.

    Shapes: rows (n, V).
    """
    indicators = (rows[:, logits.columns] == logits.categories).astype(np.float32)
    shown = rows[:, logits.with_logits] >= 0
    return Coded(indicators, None if shown.all() else shown.astype(np.float32))


def normalizers(values: Singles, logits: Logits) -> Singles:
    """The zeta of some points, without overflow.

    Shapes: values (S, L) -> (S, V').
    """
    top = np.maximum(np.maximum.reduceat(values, logits.begins, axis=1), 0)
    places = np.searchsorted(logits.with_logits, logits.columns)
    total = np.add.reduceat(np.exp(values - top[:, places]), logits.begins, axis=1)
    found: Singles = top + np.log(total + np.exp(-top))
    return found


def point_logs(rows: Coded, values: Singles, zeta: Singles) -> Singles:
    """(n, S) log-likelihoods of rows at each of S points.

    Shapes: values (S, L), zeta (S, V') -> (n, S).
    """
    found: Singles = rows.indicators @ values.T
    found -= zeta.sum(axis=1) if rows.shown is None else rows.shown @ zeta.T
    return found


def slopes(rows: Coded, shares: Singles, values: Singles, zeta: Singles, logits: Logits) -> Singles:
    """(S, L) derivatives of the sum of the log-likelihoods of rows by the logits of the points.

    Shapes: shares (n, S) -> (S, L).
    """
    places = np.searchsorted(logits.with_logits, logits.columns)
    probs = np.exp(values - zeta[:, places])
    probs *= (
        shares.sum(axis=0)[:, None] if rows.shown is None else (shares.T @ rows.shown)[:, places]
    )
    found: Singles = shares.T @ rows.indicators - probs
    return found


def probabilities(
    values: Singles, zeta: Singles, num_categories: Ints, logits: Logits
) -> list[Floats]:
    """Probabilities of all categories at the points, in double precision.

    Shapes: num_categories (V,).
    """
    found, begin = [], 0
    column_of = dict(zip(logits.with_logits.tolist(), range(len(logits.with_logits)), strict=True))
    for v, count in enumerate(num_categories.tolist()):
        own = np.zeros((len(values), count))
        own[:, 1:] = values[:, begin : begin + count - 1]
        if v in column_of:
            own = np.exp(own - zeta[:, column_of[v], None].astype(np.float64))
        else:
            own[:] = 1.0
        found.append(own / own.sum(axis=1, keepdims=True))
        begin += count - 1
    return found
