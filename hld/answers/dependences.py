r"""What changed dependences say: the mean association of each pair, and the column that most likely moved.

**Mean associations.**  The association a_ij of two values is their log-likelihood ratio against independence under
the circuit (`hld.witnesses.largest_dependence`).  Its mean over a batch falls when the dependence is lost, to the mean
over the products of both frequencies.  Without a shift the batch is T of N = n + T rows, drawn without replacement,
so the difference of its mean from that of all has the variance n / (N T) times that of the rows, and

.. math:: z_e = \frac{\bar a_{batch} - \bar a}{\mathrm{Sd}(a)} \sqrt{\frac{N T}{n}}, \qquad
          \lambda_e = \Bigl( \frac{\sum_{ij} (r_{i \cdot} r_{\cdot j} - r_{ij}) a_{ij}}{\mathrm{Sd}(a)} \Bigr)^2
                      \frac{n T}{N}

are nearly normal, and the noncentrality of z_e^2 where the dependence r of the held-out rows is lost.

**The column that moved,** where a batch is rejected and no column moved by itself.  A column whose values were
exchanged, drawn from other rows or replaced in some rows may keep its frequencies, or change them too little to be
seen; its dependences on others change.  Suppose that exactly one column v moved.  Either it moved by itself, as in a
drift that keeps the order of the rows, and its own p-value p_v tends to be small; or it lost its dependences, too,
and the p-values p_e of the pairs e that v is part of tend to be small.  All others are uniform.  The likelihood ratio
of "v moved" against "none did" is

.. math:: \pi f(p_v) + (1 - \pi) \bigl(\tfrac12 + \tfrac12 f(p_v)\bigr)
          \prod_{e \ni v} \bigl(1 - \omega_e + \omega_e f(p_e)\bigr), \qquad f(p) = \kappa \, p^{\kappa - 1},

with f a density of small p-values (Sellke, Bayarri and Berger 2001), one half for "its own frequencies changed as
well", and omega_e for how surely the p-value of the pair would be small if the dependence were lost: the power of the
chi-square test at the level `SEEN`, whose noncentrality is then

.. math:: V_e^2 \min(a - 1, b - 1) \, \frac{n T}{n + T},

V Cramer's measure of the dependence in the n reference rows, of a x b groups of values, T rows in the batch.  So a
strong dependence that stayed speaks against the second way for both of its columns, and a weak one, whose loss nobody
could see, against none.  Without this a column that several others depend on comes before the one of them that moved.

A pair is compared in two ways: by its table, if there are enough rows, and by the mean of its association, which has
one degree of freedom whatever the number of values. The two see different changes. A table asks whether odds ratios
are the same given what the columns do by themselves; where a value of one goes with one value of the other in all
rows, it takes exceptions for a change of frequencies. A mean is not asked what the columns do by themselves. So the
factor of a pair is the average of both ratios, that of the table with weight 0.9: it is large if one of them is.

kappa, pi, the level and the weight were chosen on nltcs, adult, connect4, msnbc, kdd (but for the weight), dna and
sensorless (`benchmarks.power.localisation`): a larger pi names drifting columns more often, and permuted ones less.
"""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

CLOSE = 1e-10  # standard deviation of what does not vary


class Associations(NamedTuple):
    """Associations along the edges, in held-out rows and a batch: (E,) arrays."""

    n: np.ndarray
    T: np.ndarray
    difference: np.ndarray  # of the mean over the batch from that over all rows
    deviation: np.ndarray  # standard deviation of all rows

    @property
    def varies(self) -> np.ndarray:
        """(E,) whether there is anything to compare."""
        return (self.n > 0) & (self.T > 0) & (self.deviation > CLOSE)


def associations_in(kept: Any, batch: Any) -> Associations:
    """Compare the associations of a batch with those of held-out rows."""
    a, r, b = (
        np.concatenate([one.ravel() for one in tables])
        for tables in (kept.associations, kept.pairs, batch.pairs)
    )
    sizes = np.array([one.size for one in kept.pairs])
    starts = np.cumsum(sizes) - sizes
    n, T = (np.add.reduceat(one, starts).astype(float) for one in (r, b))
    N = np.maximum(n + T, 1)
    mean = np.add.reduceat((r + b) * a, starts) / N
    variance = np.add.reduceat((r + b) * (a - np.repeat(mean, sizes)) ** 2, starts) / N
    return Associations(
        n, T, np.add.reduceat(b * a, starts) / np.maximum(T, 1) - mean, np.sqrt(variance)
    )


def changes_of_associations(kept: Any, batch: Any) -> list[tuple[int, float, float]]:
    """Edge, p-value of its z, and noncentrality where its dependence is lost, of each edge with anything to compare."""
    if kept.associations is None or not len(kept.edges):
        return []
    found = associations_in(kept, batch)
    result = []
    for e in np.flatnonzero(found.varies).tolist():
        n, T, deviation = float(found.n[e]), float(found.T[e]), float(found.deviation[e])
        z = float(found.difference[e]) / deviation * math.sqrt((n + T) * T / n)
        result.append(
            (
                e,
                math.erfc(abs(z) / math.sqrt(2)),
                (_loss(kept.associations[e], kept.pairs[e] / n) / deviation) ** 2 * n * T / (n + T),
            )
        )
    return result


def _loss(a: np.ndarray, shares: np.ndarray) -> float:
    """By how much the mean of a falls where values go together by chance."""
    return float((a * (np.outer(shares.sum(axis=1), shares.sum(axis=0)) - shares)).sum())


KAPPA = 0.15
BY_ITSELF = 0.3  # pi
SEEN = 0.001  # level of the test whose power counts
TABLE = 0.9  # weight of a table's ratio beside that of an association
SURE = (
    500.0  # noncentrality at which the power is 1 to many digits, with up to 25 degrees of freedom
)
LEAST = 1e-300  # p-value whose logarithm is taken


def likeliest_first(
    shifts: tuple[Any, ...],
    pairs: tuple[Any, ...],
    num_rows: tuple[int, int],
    associations: Iterable[tuple[Any, float, float]] = (),
) -> tuple[Any, ...]:
    """Columns in the order of how likely it is that they moved, if one did.

    O(columns + pairs).
    """
    tables = {
        frozenset(pair.names): _log_ratio(pair.pvalue, _power(*_loss_of_table(pair, *num_rows)))
        for pair in pairs
    }
    means = {
        frozenset(names): _log_ratio(pvalue, _power(noncentrality, 1))
        for names, pvalue, noncentrality in associations
    }
    lost = dict.fromkeys((one.name for one in shifts), 0.0)
    for both in {**tables, **means}:
        of_table, of_mean = (
            tables.get(both, means.get(both, 0.0)),
            means.get(both, tables.get(both, 0.0)),
        )
        found = _log_of_sum(math.log(TABLE) + of_table, math.log(1 - TABLE) + of_mean)
        for name in both:
            lost[name] += found
    return tuple(sorted(shifts, key=lambda one: -_evidence(one.pvalue, lost[one.name])))


def _evidence(pvalue: float, lost: float) -> float:
    """Logarithm of the likelihood ratio of a column, given that of its pairs."""
    by_itself = math.log(BY_ITSELF) + _log_ratio(pvalue, 1.0)
    return _log_of_sum(by_itself, math.log(1 - BY_ITSELF) + _log_ratio(pvalue, 0.5) + lost)


def _log_of_sum(one: float, other: float) -> float:
    """ln(e^one + e^other)."""
    high, low = max(one, other), min(one, other)
    return high + math.log1p(math.exp(low - high))


def _log_ratio(pvalue: float, share: float) -> float:
    """ln(1 - share + share f(p)), p at least `LEAST`."""
    return math.log1p(share * (KAPPA * max(pvalue, LEAST) ** (KAPPA - 1) - 1))


def _loss_of_table(pair: Any, n: int, T: int) -> tuple[float, int]:
    """Noncentrality of the chi-square statistic of a table whose dependence is lost, and its degrees of freedom."""
    a, b = (max(size - 1, 1) for size in pair.expected_table.shape)
    return pair.expected**2 * min(a, b) * n * T / max(n + T, 1), a * b


def _power(noncentrality: float, degrees: int) -> float:
    """omega: the probability of a p-value of at most `SEEN` where the dependence is lost; below 1."""
    from scipy.special import chdtri, chndtr

    power = 1 - float(chndtr(float(chdtri(degrees, SEEN)), degrees, min(noncentrality, SURE)))
    return min(power, 1 - SEEN)
