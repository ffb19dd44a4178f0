r"""A batch among groups like it: p-values by rank, and beyond the ranks by a law.

Under the null hypothesis the mean vectors M_0 of the batch and M_1..M_G of the groups are exchangeable.  Let each of
the N = G + 1 get a score that is a function of itself and of the set of all N.  The scores are exchangeable as well, so

.. math:: p = \#\{g \in 0..G : s_g \ge s_0\} / (G + 1)

is at most a with probability at most a, for every G and whatever the law of the groups is (Vovk, Gammerman and Shafer
2005).  The batch is in the set: it is treated like every group.

**The score.**  With U the N differences from the mean of all N, there are for each metric F the squared distances
|F u_g|^2, and for one metric the leverages

.. math:: h_g = [K (K + c I)^{-1}]_{gg}, \qquad K = (F U)(F U)^t, \quad c = \mathrm{tr}(K) / G,

which, by the formula of Sherman and Morrison, rank the N as their Mahalanobis distances from the other N - 1 do, with
the covariance of these and a ridge: directions in which groups vary by nature count little, other directions much.  The
logarithm of each is put in units of its standard deviation over the N, and the largest of them is the score.  A further
distance may stand beside them, such as the largest t of statistics without bound (`hld.references.group_statistics`).

**Between the ranks.**  The attained level is then the largest multiple of 1 / (G + 1) that is at most a: .032 for
a = .05 and G = 30.  Where exchangeability is itself an approximation, as among stretches of time, nothing is gained by
the loss: p may go on linearly between two ranks,

.. math:: p = (k - \lambda) / (G + 1), \qquad \lambda = (s_0 - s_{below}) / (s_{above} - s_{below})

for the k-th largest score, which makes quantiles of samples nearly exact (Beran and Hall 1993).

**Beyond the ranks.**  A batch that is odder than every group has p <= 1 / (G + 1).  With many groups a law says how
much less: if the M_g are normal with covariance C, then Z = M_0 - mean has (1 + 1/G) C, and |F Z|^2 is a sum of
chi-squares with the eigenvalues of F C F^t.  These are estimated from G - 1 degrees of freedom.  The estimate is taken
to be off by one common factor chi2 / (G - 1), which is the error of a single eigenvalue and more than that of a sum of
several; p is the tail of the widest law with these sums (`hld.gchi2.three_moments`), averaged over that factor: for one
eigenvalue this is the exact F law.  Means of few rows are not normal, and one rare row may be farther out than they
vary: what the rows of the batch can have moved its mean by (`variation.group_test`) is added to C, by the triangle
inequality of the three norms that the law needs, which makes it no narrower.  So at levels of 1 / (G + 1) and above
only exchangeability of the groups is assumed, and below that groups are taken to be normal, but not their rows.

Which parts of a mean vector moved: a batch among exchangeable ones, part by part, such as column by column.

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
the one by the law of `hld.laws.exchangeable.normal_tail`, which is times the number of parts in the adjusted one.

References: P. H. Westfall and S. S. Young (1993), Resampling-Based Multiple Testing, Wiley.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hld.features.linear_maps import lengths
from hld.gchi2.three_moments import ThreeMoments
from hld.laws.null import PValue
from hld.laws.ranks.confirmation import gram_norms, sample_norms, widest_tail
from hld.laws.ranks.monte_carlo import TIE

MANY = 100  # groups from which on a law goes beyond the ranks
NODES = 400  # of the integral over the common factor


def exchangeable_pvalue(
    own: np.ndarray,
    others: np.ndarray,
    metrics: tuple[Any, ...],
    *,
    many: int = MANY,
    is_exact: bool = True,
    spread: Callable[[], np.ndarray] | None = None,
    beside: np.ndarray | None = None,
    beyond: Callable[[float], float] | None = None,
) -> PValue:
    """The p-value of one mean vector among exchangeable ones.

    `beside` has another distance of the batch and of each of the others, a function of it and of the set of all; with
    its own law `beyond` makes one p-value of that of the normal law, infinite for few.

    Shapes: own (size,), others (G, size), beside (G + 1,).
    """
    together = np.concatenate([own[None], others])
    distances, scores = symmetric_scores(together, metrics, beside)
    value = _rank(scores)
    each = tuple(_rank(column) for column in distances.T)
    is_odd = value * len(together) < 1.5  # odder than all
    if is_odd and (len(others) >= many or beyond is not None):
        law = math.inf
        if len(others) >= many:
            rows = None if spread is None else spread()
            parts = [own, others] if rows is None else [own, others, rows]
            each_law = (normal_tail(*map(metric.apply, parts)) for metric in metrics)
            law = min(1.0, len(metrics) * min(each_law))
        value = min(value, law if beyond is None else beyond(law))
    elif not is_exact:
        value -= _share_of_step(scores) / len(scores)
    return PValue(value, each, 0.0, "groups")


def symmetric_scores(
    together: np.ndarray, metrics: tuple[Any, ...], beside: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(N, q) squared distances and (N,) scores of N mean vectors (N, size), each the same function of it and of all."""
    centred = together - together.mean(axis=0)
    mapped = [metric.apply(centred) for metric in metrics]
    distances = np.stack([(one**2).sum(axis=1) for one in mapped], axis=1)
    names = [metric.name for metric in metrics]
    last = mapped[names.index("whitened") if "whitened" in names else -1]
    further = [beside] if beside is not None and beside.any() else []
    parts = np.column_stack([distances, leverages(last), *further])
    logs = np.log(np.maximum(parts, 1e-300))
    spread = logs.std(axis=0)
    standard = (logs - logs.mean(axis=0)) / np.where(spread > TIE, spread, np.inf)
    return distances, standard.max(axis=1)


def leverages(mapped: np.ndarray) -> np.ndarray:
    """(N,) diagonal of K (K + c I)^-1 for K = X X^t of rows X (N, l)."""
    ridge = float((mapped**2).sum()) / max(len(mapped) - 1, 1)
    if ridge <= 0:
        return np.zeros(len(mapped))
    directions, lengths, _ = np.linalg.svd(mapped, full_matrices=False)
    return directions**2 @ (lengths**2 / (lengths**2 + ridge))


def normal_tail(own: np.ndarray, others: np.ndarray, spread: np.ndarray | None = None) -> float:
    """P(|Z|^2 as large as that of own) among normal groups of estimated covariance, of what a metric makes of them.

    Shapes: own (l,), others (G, l), spread (r, l).
    """
    G, center = len(others), others.mean(axis=0)
    norms = sample_norms(others - center)
    if spread is not None:
        norms = norms + gram_norms(spread)
    return _estimated_tail(norms, float(lengths(own - center)) / (1 + 1 / G), G - 1)


def _estimated_tail(norms: np.ndarray, squared: float, dof: int) -> float:
    """P(Q >= squared s), averaged over s = chi2_dof / dof, for the widest law with these norms."""
    from scipy.special import gammainc

    trace, frobenius, largest = norms
    if not trace > 0:
        return 1.0 if squared <= 0 else 0.0
    edges = np.concatenate([[0.0], np.geomspace(1e-3, 1 + 20 / np.sqrt(dof), NODES)])
    weights = np.diff(gammainc(dof / 2, edges * dof / 2))
    lower = edges[:-1]  # of each cell: tails are not made smaller by the grid
    return float(weights @ ThreeMoments(trace, frobenius**2, largest).tail(squared * lower))


def _share_of_step(scores: np.ndarray) -> float:
    """Where the first score lies between its neighbours, from 0 at the lower one to 1 at the higher; 0 at the ends."""
    own, others = scores[0], np.sort(scores[1:])
    k = int(np.searchsorted(others, own))
    if not 0 < k < len(others) or others[k] == own:  # ties are no step
        return 0.0
    return float((own - others[k - 1]) / (others[k] - others[k - 1]))


def _rank(scores: np.ndarray) -> float:
    """The share of all scores (N,) that are at least the first one."""
    slack = TIE * max(abs(float(scores[0])), 1e-300)
    return float((scores >= scores[0] - slack).mean())


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
        law = 1.0
        if has_two:
            rows = None if spread is None else spread()[:, parts[v]]
            law = normal_tail(own[parts[v]], others[:, parts[v]], rows)
        times = 1 + (has_two and laws is not None)
        single[v] = min(single[v], times * min(law, both[0, v]))
        if adjusted[v] * N < 1.5:
            adjusted[v] = min(adjusted[v], times * min(len(parts) * law, both[1, v]))
    return np.array([single, adjusted])


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
