r"""Odd rows: are more of them in a batch than among the held-out rows?  Exact, by ranks.

A number of each row, larger for odder ones (`features.odd_rows`), is counted in bins that the rows learned from have
fixed.  Of n held-out rows and T of a batch, K = k + j are in some bin or beyond it.  Without a shift all N = n + T rows
are exchangeable, so that given K

.. math:: j \sim \mathrm{Hypergeometric}(N, K, T)

whatever the law of the number is: large means need no variance.  The bins are asked for which K falls from N to 1 by
halves, about log2(N) of them, and the p-value is that of the smallest of their tails, as for new values
(`schemas.counts`).  Which bins these are is told by the K alone, given which the test is exact.

One row among T that is odder than all held-out ones has K = j = 1 and the tail T / N: it is found at T = 1, and among
T rows only as one of several, h of them with about (T / N)^h.
"""

import numpy as np

from hld.answers.profile import Held, Profile
from hld.features.odd_rows import ODDNESS
from hld.tables.schemas.counts import CountTest, one_sided


def row_ranks(held: Held, batch: Profile) -> dict[str, CountTest]:
    """The test of each number of rows that is counted; none for a batch without these counts."""
    if batch.odd is None or held.counts.odd is None:
        return {}
    return {
        name: rank_test(k, j, ODDNESS[name].share)
        for name, k, j in zip(held.odd, held.counts.odd, batch.odd, strict=True)
    }


def rank_test(kept: np.ndarray, batch: np.ndarray, share: float) -> CountTest:
    """Whether more rows of a batch are in the upper bins; the last bin is of rows that do not show the number.

    Shapes: kept, batch (BINS,).
    """
    k, j = (np.cumsum(one[-2::-1])[::-1] for one in (kept, batch))
    K = k + j
    halves = K[0] // 2 ** np.arange(1, 64)
    places = np.searchsorted(-K, -halves[halves > 0])  # the first bin with so many rows or fewer
    places = np.unique(places[places < len(K)])
    places = places[K[places] > 0]
    rows = np.ones(len(places), np.int64)
    return one_sided(k[0] * rows, k[places], j[0] * rows, j[places], share)
