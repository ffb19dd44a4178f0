r"""One dependence among many: the largest change along an edge of the tree, by a bound that holds at every T.

The mean log-likelihood ratio of two columns against independence falls when their dependence is lost, however many
categories they have, and rises when it gets stronger.  The circuit knows the joint distribution p of the two columns of
every edge of its tree, so with

.. math:: a_{ij} = \ln \Bigl( (1 - \varepsilon) \frac{p_{ij}}{p_{i \cdot} \, p_{\cdot j}} + \varepsilon \Bigr),
          \qquad \varepsilon = 0.01,

the mean of a over a batch is one number for each edge, whose sign says which way the dependence went (the mixture with
independence keeps a above ln(0.01) where p is 0).  Held-out rows show the pairs of values r_ij times, a batch b_ij
times, and a comes from other rows: without a shift all N = n + T of them are exchangeable.  Given the pooled counts
m = r + b, the batch's sum of a is that of T of N known numbers, drawn without replacement, whatever the distribution
is, and its tail is enclosed by bounds that hold for a single row as for a million (below).  Twice
the bound is a p-value; the smallest, times the number of edges, is that of all (Bonferroni).  A column that moves by
itself can change the mean of a, too: that is a shift, but none of the dependence, and `hld.answers.pair_shifts` tells
the two apart where there are enough rows.

This test has a share of the level beside the distance, `SHARE`: hundreds of dependences that hold make the change of
one invisible in sums of squares.

**The bounds.**  N known numbers, of which m_k have the value a_k; T of them are drawn without replacement.  How
probable is it that their mean is as far above that of all, or below it, as some s?  With x_k = a_k - s, that is P(sum
of x >= 0), and three bounds hold.  Such a sum is no more spread than one with replacement (Hoeffding 1963, theorem 4):
for every convex function, the exponential among them, its expectation is at most as large.  So Chernoff's bound is one
of it, too,

.. math:: P \le \Bigl( \min_{\theta \ge 0} \sum_k \frac{m_k}{N} e^{\theta x_k} \Bigr)^T,

and as well the bound for the mean of the other n = N - T, which is as far on the other side as it has to be.  Where
neither part is small beside the other both are too much.  But T of N without replacement are also N independent draws
with probability T / N each, given that T were drawn; Markov's inequality for e^(theta sum x + psi (number - T)) gives

.. math:: P \le \frac{1}{P(\mathrm{Bin}(N, T/N) = T)} \min_{\theta \ge 0, \, \psi}
          e^{-\psi T} \prod_k \bigl( 1 - \tfrac{T}{N} + \tfrac{T}{N} e^{\theta x_k + \psi} \bigr)^{m_k},

with the rate of decay of the probability itself (Dembo and Zeitouni 2010, section 7.2).  The smallest of the three is
taken.  It exceeds the probability by a factor of about the square root of 2 pi T, or some times that: the price of a
bound that needs no law of large numbers.

References: W. Hoeffding (1963), Probability inequalities for sums of bounded random variables, J. American Statistical
Association 58; H. Chernoff (1952), A measure of asymptotic efficiency for tests of a hypothesis based on the sum of
observations, Annals of Mathematical Statistics 23; A. Dembo and O. Zeitouni (2010), Large Deviations Techniques and
Applications, Springer.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import pcircuit
from hld.answers.dependences import associations_in
from pcircuit.arguments import for_ranking

SHARE = 0.1  # of the level: `benchmarks.power.trials`
INDEPENDENT = 0.01  # epsilon
ENCLOSED = 16  # edges, those that changed most, whose tails are enclosed: those of others are hardly ever smaller
ROUNDS = 40  # of Newton's method at most
LONGEST = 20.0  # its steps, for values with a range of 1
CLOSE, NOTHING, TINY, FAR = 1e-10, 1e-12, 1e-300, 1e300


def mean_tail_bound(values: np.ndarray, kept: np.ndarray, batch: np.ndarray) -> float:
    """Upper bound of the probability that the mean of a batch is as far out as it is, on its side, given all values."""
    return float(mean_tails(values[None], kept[None], batch[None])[0, 0])


def mean_tails(values: Any, kept: Any, batch: Any) -> Any:
    """(e, 1) such bounds for e means: values (e, cells) and how often each side shows them.

    Operations of arrays alone, so that `hld.apps.export.graph` writes the same steps into a graph.
    """
    m, used = kept + batch, kept + batch > 0.0
    n, T = kept.sum(axis=1, keepdims=True), batch.sum(axis=1, keepdims=True)
    x = np.where(used, values - np.where(used, values, FAR).min(axis=1, keepdims=True), 0.0)
    scale = x.max(axis=1, keepdims=True)
    mean = (m * x).sum(axis=1, keepdims=True) / np.maximum(n + T, 1.0)
    own = (batch * x).sum(axis=1, keepdims=True) / np.maximum(T, 1.0)
    far = np.abs(own - mean)
    moves = (scale > 0.0) & (n > 0.0) & (T > 0.0) & (far > CLOSE * scale)
    scale, used, m = np.where(moves, scale, 1.0), used | ~moves, np.where(moves, m, 1.0)
    n, T = np.where(moves, n, 1.0), np.where(moves, T, 1.0)
    x, s = np.where(own > mean, 1.0, -1.0) * (x - mean) / scale, far / scale
    both = np.minimum(
        T * _with_replacement(m, x - s, used), n * _with_replacement(m, -x - s * T / n, used)
    )
    logs = np.minimum(both, _without(m, x - s, T, n + T))
    return np.where(moves, np.exp(np.minimum(logs, 0.0)), 1.0)


def _with_replacement(m: Any, x: Any, used: Any) -> Any:
    """(e, 1) ln of Chernoff's bound for one draw of the values x, with weights m and a mean below 0.

    Any theta gives a bound, so an end of Newton's method short of the least is no error.
    """
    most = np.where(used, x, -FAR).max(axis=1, keepdims=True)
    q, theta, least = m / m.sum(axis=1, keepdims=True), 0.0 * most, 0.0 * most
    for _ in range(ROUNDS):
        weights = q * np.exp(np.minimum(theta * (x - most), 0.0))
        total = weights.sum(axis=1, keepdims=True)
        least = np.minimum(least, np.log(total) + theta * most)
        slope = (weights * x).sum(axis=1, keepdims=True) / total
        curve = (weights * x * x).sum(axis=1, keepdims=True) / total - slope * slope
        step = -slope / np.maximum(curve, TINY)
        theta = theta + np.minimum(np.maximum(step, -0.5 * theta), LONGEST)
        if np.all(np.abs(step) <= CLOSE * (1.0 + theta)):  # never known of a graph
            break
    at_most = np.where(x >= most - CLOSE, q, 0.0).sum(axis=1, keepdims=True)
    return np.where(most <= CLOSE, np.log(at_most), least)  # the largest value in every draw


def _without(m: Any, x: Any, T: Any, N: Any) -> Any:
    """(e, 1) ln of the bound of P(sum of T draws without replacement >= 0) by independent draws: see above."""
    from scipy.special import expit, gammaln

    odds, none = np.log(T / (N - T)), N * np.log(N / (N - T))
    theta, psi, value, size = 0.0 * T, 0.0 * T, 0.0 * T, 0.0 * T + 1.0
    for _ in range(ROUNDS):
        q = expit(odds + theta * x + psi)
        p, w = m * q, m * q * (1.0 - q)
        a, b = (p * x).sum(axis=1, keepdims=True), p.sum(axis=1, keepdims=True) - T
        A, B, C = (part.sum(axis=1, keepdims=True) for part in (w * x * x, w * x, w))
        ridge = NOTHING * (A + C) + TINY
        det = (A + ridge) * (C + ridge) - B * B
        first, second = (B * b - (C + ridge) * a) / det, (B * a - (A + ridge) * b) / det
        longest = np.maximum(np.abs(first), np.abs(second))
        scale = size * np.minimum(LONGEST / np.maximum(longest, TINY), 1.0)
        at, beside = theta + scale * first, psi + scale * second
        y = odds + at * x + beside
        log_sum = np.maximum(y, 0.0) + np.log(1.0 + np.exp(-np.abs(y)))
        found = (m * log_sum).sum(axis=1, keepdims=True) - none - beside * T
        better = (found < value) & (at >= 0.0)
        theta, psi = np.where(better, at, theta), np.where(better, beside, psi)
        value, size = np.where(better, found, value), np.where(better, 1.0, 0.25 * size)
        if np.all(scale * longest <= CLOSE):
            break
    draws = gammaln(N + 1.0) - gammaln(T + 1.0) - gammaln(N - T + 1.0)
    return value - (draws + T * np.log(T / N) + (N - T) * np.log(1.0 - T / N))


@dataclass(frozen=True, eq=False)
class Changed:
    """One of E edges: the associations of its cells, and how often held-out rows and a batch show them.

    Shapes: values, kept, batch (cells,).
    """

    values: np.ndarray
    kept: np.ndarray
    batch: np.ndarray
    num_tests: int

    def after(self, rows: int) -> float:
        """An upper bound of the p-value of all edges where so many rows of the batch show other cells."""
        order = np.argsort(self.values, kind="stable")
        values, kept, batch = (one[order] for one in (self.values, self.kept, self.batch))
        total = kept + batch
        above = batch @ values * total.sum() > total @ values * batch.sum()
        if above:  # the largest values go, and become the smallest one
            values, kept, batch = -values[::-1], kept[::-1], batch[::-1]
        left = np.maximum(np.cumsum(batch) - rows, 0)
        moved = np.diff(left, prepend=0)
        moved[-1] += batch.sum() - left[-1]
        total = kept + moved
        if moved @ values * total.sum() >= total @ values * moved.sum():  # past the mean
            return 1.0
        return min(1.0, 2 * self.num_tests * mean_tail_bound(values, kept, moved))


@dataclass(frozen=True)
class LargestDependence:
    """The largest change of a dependence."""

    pvalue: float
    share: float
    columns: tuple[int, int] | None = None
    is_weaker: bool = False
    least: float = field(default=0.0, repr=False, compare=False)
    changed: tuple[Changed, ...] = field(default=(), repr=False, compare=False)

    def after(self, rows: int) -> float:
        """The largest p-value where so many rows of the batch are others."""
        return min((one.after(rows) for one in self.changed), default=1.0)

    def attained(self, level: Any) -> Any:
        """How often `pvalue` is at most a level without a shift: no more often than that, and never below `least`."""
        return np.where(level >= self.least, level, 0.0)

    def to_dict(self) -> dict[str, Any]:
        """All of it but `least` as plain Python values."""
        names = "pvalue", "share", "columns", "is_weaker"
        found = {name: getattr(self, name) for name in names}
        return found | {"columns": self.columns and list(self.columns)}


def largest_dependence(kept: Any, batch: Any) -> LargestDependence:
    """Compare the mean associations of a batch with those of held-out rows.

    O(cells of all pair tables).
    """
    if kept.associations is None or not len(kept.edges):
        return LargestDependence(1.0, 0.0)
    found = associations_in(kept, batch)
    (n, T, difference, deviation), varies = found, found.varies
    if not varies.any():
        return LargestDependence(1.0, 0.0)
    E, moved = int(varies.sum()), np.abs(difference)
    # the exponent of the tail of a normal variable, which none of the bounds is below where the tails are normal
    N, deviation = np.maximum(n + T, 1), np.where(varies, deviation, 1)
    exponents = np.where(varies, (moved / deviation) ** 2 * T * N / np.maximum(n, 1) / 2, -1.0)
    order = np.argsort(-for_ranking(exponents), kind="stable")[:ENCLOSED].tolist()
    where = order[0]
    order = [e for e in order if exponents[e] > math.log(2 * E)]
    values, k, b = (
        [side[e].ravel() for e in order] for side in (kept.associations, kept.pairs, batch.pairs)
    )
    changed = tuple(Changed(*one, len(kept.edges)) for one in zip(values, k, b, strict=True))
    bounds = [2 * mean_tail_bound(one.values, one.kept, one.batch) for one in changed]
    if bounds:
        where = order[int(np.argmin(bounds))]
    u, v = kept.edges[where].tolist()
    least = E * _least((n + T)[varies], T[varies])
    pvalue, is_weaker = min([1.0, *(E * bound for bound in bounds)]), bool(difference[where] < 0)
    return LargestDependence(pvalue, SHARE, (u, v), is_weaker, least, changed)


def associations_of(circuit: pcircuit.Circuit, edges: np.ndarray) -> tuple[np.ndarray, ...]:
    """The associations of the values of pairs of columns under a circuit; shapes edges (E, 2)."""
    tables = pcircuit.pairwise_tables(circuit, [(u, v) for u, v in edges.tolist()])
    return tuple(_association(table) for table in tables.values())


def with_associations(profile: Any, circuit: pcircuit.Circuit, kept: np.ndarray | None) -> Any:
    """A profile with the associations of the values along its edges, if it counts rows that were held out.

    Shapes: kept (k, V).
    """
    return (
        profile
        if kept is None
        else replace(profile, associations=associations_of(circuit, profile.edges))
    )


def _association(p: np.ndarray) -> np.ndarray:
    """a of one table p."""
    product = np.outer(p.sum(axis=1), p.sum(axis=0))
    ratio = np.divide(p, product, out=np.ones_like(p), where=product > 0)
    found = np.log((1 - INDEPENDENT) * ratio + INDEPENDENT)
    found.flags.writeable = False
    return found


def _least(N: np.ndarray, T: np.ndarray) -> float:
    """Twice the probability of the most improbable of all draws of T of N rows, over the edges."""
    rows, fewer = float(N.max()), float(np.minimum(T, N - T).max())
    return 2 * math.exp(
        math.lgamma(fewer + 1) + math.lgamma(rows - fewer + 1) - math.lgamma(rows + 1)
    )
