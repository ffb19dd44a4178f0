r"""Which parts of a mean vector moved: a batch among exchangeable ones, part by part, such as column by column.

M_0 of the batch and M_1..M_G of the groups are exchangeable without a shift, and so are their parts, say the numbers of
a column.  Of part v let x_g be the differences from the mean of all N = G + 1.  From the covariance of these N follow
the widest law of |x|^2 with its trace, Frobenius norm and largest eigenvalue (`hld.gchi2.three_moments`) and

.. math:: t_{vg} = P(Q_v \ge |x_g|^2), \qquad p_v = \#\{g \in 0..G: t_{vg} \le t_{v0}\} / (G + 1).

The law only puts columns of different kinds on one scale: each t is the same function of a group and of the set of all,
so p_v is valid for every G, whatever the groups vary by.

**Many columns.**  The adjusted p-value ranks t_v0 among the smallest t of each group (Westfall and Young 1993),

.. math:: \tilde p_v = \#\{g \in 0..G: \min_u t_{ug} \le t_{v0}\} / (G + 1).

If the columns of a set U have not moved, they are exchangeable together, and the smallest of their adjusted p-values is
at least the rank of min over U among minima over U: it is at most a with probability at most a, whatever the others do.
So columns that have not moved are called with probability at most a, all together, for every G; unlike Bonferroni's,
these p-values can be 1 / (G + 1) however many columns there are.

**Beyond the ranks.**  Where the batch is odder than all of many groups, the p-value by rank is the smaller of that and
the one by the law of `hld.nulls.exchangeable.normal_pvalue`, which is times the number of parts in the adjusted one.

**Single numbers**, such as the means of nodes, are parts of one number each, for which t orders as |x| over the
standard deviation of the N does: no law is needed to rank them, and the one beyond the ranks is that of Student.

References: P. H. Westfall and S. S. Young (1993), Resampling-Based Multiple Testing, Wiley.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hld.nulls.exchangeable import MANY, normal_pvalue
from hld.nulls.ranks.confirmation import sample_norms, widest_tail
from hld.nulls.ranks.monte_carlo import TIE
from hld.vectors.linear_maps import Scaled


def ranked_parts(
    own: np.ndarray,
    others: np.ndarray,
    parts: Sequence[np.ndarray],
    *,
    many: int = MANY,
    spread: Callable[[], np.ndarray] | None = None,
    beside: np.ndarray | None = None,
    laws: np.ndarray | None = None,
) -> np.ndarray:
    """p-values of the parts of a mean vector among exchangeable ones.

    `beside` has further tails of the batch and the others, of the parts and of as many more as there are; `laws` are
    p-values (2, P) of the batch by another law beyond the ranks, single and adjusted.

    Shapes: own (size,), others (G, size), beside (P, G + 1), laws (2, P) -> (2, P).
    O(G sum of squares of the parts' sizes).
    """
    together = np.concatenate([own[None], others])
    if beside is not None:
        parts = [*parts, *[np.zeros(0, np.int64)] * (len(beside) - len(parts))]
    tails = _tails(together, parts)
    tails = tails if beside is None else np.minimum(tails, beside)
    slack = tails[:, :1] * (1 + TIE)
    N = len(together)
    single = (tails <= slack).sum(axis=1) / N
    adjusted = (tails.min(axis=0) <= slack).sum(axis=1) / N
    both = np.ones((2, len(parts))) if laws is None else laws
    for v in np.flatnonzero(single * N < 1.5).tolist():
        has_two = len(others) >= many and len(parts[v]) > 0
        law = (
            1.0
            if not has_two
            else normal_pvalue(
                own[parts[v]],
                others[:, parts[v]],
                (Scaled("euclidean", np.ones(len(parts[v]))),),
                None if spread is None else spread()[:, parts[v]],
            )
        )
        times = 1 + (has_two and laws is not None)
        single[v] = min(single[v], times * min(law, both[0, v]))
        if adjusted[v] * N < 1.5:
            adjusted[v] = min(adjusted[v], times * min(len(parts) * law, both[1, v]))
    return np.array([single, adjusted])


def ranked_numbers(
    own: np.ndarray,
    others: np.ndarray,
    *,
    many: int = MANY,
    spread: Callable[[], np.ndarray] | None = None,
) -> np.ndarray:
    """(size,) adjusted p-values of the single numbers of a mean vector among exchangeable ones."""
    from scipy.special import stdtr

    together = np.concatenate([own[None], others])
    G, scale = len(others), together.std(axis=0)
    varies = scale > 0
    away = np.abs(together - together.mean(axis=0)) / np.where(varies, scale, np.inf)
    largest = np.sort(away.max(axis=1, initial=0.0))
    ranks = len(largest) - np.searchsorted(largest, away[0] * (1 - TIE))
    found: np.ndarray = ranks / len(largest)
    odd = (ranks == 1) & varies
    if many <= G and odd.any():
        variance = others[:, odd].var(axis=0, ddof=1) * (1 + 1 / G)
        if spread is not None:
            variance = variance + (spread()[:, odd] ** 2).sum(axis=0) * (1 + 1 / G)
        off = np.abs(own - others.mean(axis=0))[odd]
        score = np.divide(off, np.sqrt(variance), out=np.full(len(off), np.inf), where=variance > 0)
        found[odd] = np.minimum(found[odd], 2 * len(own) * stdtr(G - 1, -score))
    return found


def _tails(rows: np.ndarray, parts: Sequence[np.ndarray]) -> np.ndarray:
    """(P, N) t of each part of the rows (N, size); 1 where they do not vary."""
    found, sizes = np.ones((len(parts), len(rows))), np.array([len(part) for part in parts])
    for size in np.unique(sizes[sizes > 0]).tolist():  # those of one size together
        alike = np.flatnonzero(sizes == size)
        centred = rows.T[np.array([parts[v] for v in alike.tolist()])].swapaxes(1, 2)
        centred = centred - centred.mean(axis=1, keepdims=True)
        norms = sample_norms(centred)
        varies = norms[:, 1] > 0
        trace, frobenius, largest = norms[varies].T[..., None]
        squared = (centred[varies] ** 2).sum(axis=2)
        found[alike[varies]] = widest_tail(trace, frobenius, largest, squared, np.ones_like(trace))
    return found
