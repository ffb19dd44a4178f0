r"""Pairs of columns: whether their dependence has changed, and what that says of the column that moved.

**Tables.**  Reference rows have the pair table R_ij, a batch B_ij.  Whether the two columns themselves have moved is
tested elsewhere; the question here is whether, beyond that, the *dependence* changed.  In the log-linear model without
a three-way interaction,

.. math:: \ln E_{ijg} = a_{ij} + b_{ig} + c_{jg},  \qquad g = \text{reference, batch},

odds ratios are the same in both, and each has its own marginals.  Its expected counts have the pooled table and the
marginals of both; iterative proportional fitting finds them.  The statistic is

.. math:: X^2 = \sum_{IJ} \frac{(\sum_{ij} B_{ij} - E_{ij2})^2}{\max(\sum_{ij} v_{ij}, 1)},
          \qquad v_{ij} = \frac{E_{ij1} E_{ij2}}{E_{ij1} + E_{ij2}},

over a x b groups I x J of cells: neighbouring bins, or rare levels, are merged until there are ROWS_PER_CELL rows of
the smaller side for each group.  (The model is fitted before, because grouping does not preserve it.)  Without groups
this is Pearson's statistic, and its law chi-square with (a - 1)(b - 1) degrees of freedom; groups only make it smaller,
as does the 1 in the denominator, which keeps nearly empty cells from deciding.  The law is good at 0.01, but p-values
below 1e-4 would come up to four times too often, ten at the worst: those below 0.01 are computed with 3 instead of 1.

What is shown as expected has the odds ratios of the reference alone and the marginals of the batch (`as_in_reference`):
the pooled ones of a batch that is longer than the reference are nearly its own.

Cramer's V of the two grouped tables measures the strength of the dependence, from 0 (none) to 1 (one column determines
the other).  It has no sign; where both columns have an order, the correlation of the numbers of their groups has one,
and tells a dependence that was reversed.

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

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hld.answers.column_shifts import from_to, is_ordered, labels_of
from hld.answers.frequencies import holm
from hld.gchi2.three_moments import upper_gamma
from hld.tables.schemas.columns import LevelColumn
from hld.tables.shown_names import in_one_line, visible

ROWS_PER_CELL = 8
MOST_GROUPS = 6
ROUNDS = 100  # of proportional fitting
CLOSE = 1e-7
APPROXIMATE = 0.01  # down to which the chi-square law decides with the smaller
SPREADS = 1.0, 3.0  # least variances of a group of cells
TOGETHER = 50_000  # cells of pair tables that are fitted at once
CONSTANT = 1e-10  # standard deviation of what does not vary
LIKELY = 0.5  # p-value from which on nothing hints at a change
CLEAR = 0.1  # size of two correlations of opposite signs, of which the words say that the dependence was reversed


@dataclass(frozen=True, eq=False)
class PairShift:
    """Whether the dependence of two columns changed; shapes expected_table, observed_table (a, b)."""

    names: tuple[Any, ...]
    expected: float
    observed: float
    pvalue: float
    adjusted: float
    labels: tuple[Any, ...]
    expected_table: np.ndarray
    observed_table: np.ndarray
    correlations: tuple[float, float] | None

    @property
    def title(self) -> str:
        """Both names in a line of text."""
        return " and ".join(map(in_one_line, self.names))

    def describe(self) -> str:
        """How the dependence changed, in words: reversed, weaker or stronger, and the cell that changed most."""
        low, high = sorted(self.correlations or (0.0, 0.0))
        weak, strong = f"{self.expected:.2f}", f"{self.observed:.2f}"
        if low < -CLEAR and high > CLEAR:
            how = "reversed, correlation {:.2f} -> {:.2f}".format(*self.correlations or ())
        elif weak == strong:
            but = ", but between other values" * (self.pvalue < LIKELY)
            how = f"as strong as before ({strong}){but}"
        else:
            change = "weaker" if self.observed < self.expected else "stronger"
            how = f"{change}, {weak} -> {strong}"
        change = np.abs(self.observed_table - self.expected_table)
        i, j = np.unravel_index(np.argmax(change), change.shape)
        if not change[i, j]:
            return how
        shares = from_to(self.expected_table[i, j], self.observed_table[i, j])
        return f"{how}; {visible(self.labels[0][i])} with {visible(self.labels[1][j])} {shares}"

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain Python values."""
        return {
            "columns": list(self.names),
            "expected_association": self.expected,
            "observed_association": self.observed,
            "pvalue": self.pvalue,
            "adjusted_pvalue": self.adjusted,
            "labels": [list(one) for one in self.labels],
            "expected": self.expected_table.tolist(),
            "observed": self.observed_table.tolist(),
            "correlations": None if self.correlations is None else list(self.correlations),
        }


def pair_shifts(
    columns: Sequence[LevelColumn],
    reference: Any,
    batch: Any,
    num_columns: int = 0,
    tests: Mapping[tuple[int, int], Any] | None = None,
) -> tuple[PairShift, ...]:
    """Whether the dependence along each edge changed, the smallest p-value first; with `tests` the edges of these.

    `reference` and `batch` are profiles (`hld.answers.profile`), `tests` has p-value and adjusted p-value of pairs of
    columns.  Without them p-values are adjusted for the edges, or for all pairs of `num_columns`, of which the edges
    were chosen by the rows of the reference.
    """
    pairs = [tuple(edge) for edge in reference.edges.tolist()]
    groups = {}  # of both columns of the edges with enough rows to compare, and their labels
    for e, (u, v) in enumerate(pairs):
        total = reference.pairs[e] + batch.pairs[e]
        rows = int(min(reference.pairs[e].sum(), batch.pairs[e].sum()))
        most = min(MOST_GROUPS, math.isqrt(rows // ROWS_PER_CELL))
        if most >= 2 and (tests is None or (u, v) in tests):
            sides = (
                _groups(columns[u], total.sum(axis=1), most),
                _groups(columns[v], total.sum(axis=0), most),
            )
            if min(len(labels) for _, labels in sides) >= 2:
                groups[e] = sides
    counts = {e: np.array([reference.pairs[e], batch.pairs[e]], dtype=float) for e in groups}
    pvalues, grouped = {}, {}
    for some, tables in _of_one_shape(counts):
        for e, both, E in zip(some, tables, fitted(tables), strict=True):
            total = E.sum(axis=0)
            spread = np.divide(E[0] * E[1], total, out=np.zeros_like(total), where=total > 0)
            (rows, _), (cols, _) = groups[e]
            R, B, expected, spread = (_grouped(one, rows, cols) for one in (*both, E[1], spread))
            pvalues[e], grouped[e] = _pvalue(B - expected, spread), np.array([R, B])
    shown: dict[int, np.ndarray] = {}
    for some, tables in _of_one_shape(grouped):
        shown |= dict(zip(some, as_in_reference(tables[:, 0], tables[:, 1]), strict=True))
    if tests is None:
        adjusted = holm([pvalues[e] for e in groups], math.comb(num_columns, 2)).tolist()
        found = {e: (pvalues[e], q) for e, q in zip(groups, adjusted, strict=True)}
    else:
        found = {e: tests[pairs[e]] for e in groups}
    shifts = []
    for e, ((rows, names), (cols, others)) in groups.items():
        R, B = grouped[e]
        own = [columns[v] for v in pairs[e]]
        shifts.append(
            PairShift(
                tuple(column.name for column in own),
                cramers_v(R),
                cramers_v(B),
                found[e][0],
                float(found[e][1]),
                (names, others),
                shown[e],
                B / B.sum(),
                _correlations(own, counts[e], rows, cols),
            )
        )
    return tuple(sorted(shifts, key=lambda one: (one.pvalue, -abs(one.observed - one.expected))))


def _of_one_shape(tables: Mapping[int, np.ndarray]) -> Iterator[tuple[list[int], np.ndarray]]:
    """Tables of one shape together, at most `TOGETHER` cells at a time, and whose they are."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for e, table in tables.items():
        alike.setdefault(table.shape, []).append(e)
    for shape, places in alike.items():
        step = max(TOGETHER // math.prod(shape), 1)
        for start in range(0, len(places), step):
            some = places[start : start + step]
            yield some, np.stack([tables[e] for e in some])


def as_in_reference(R: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Shares (n, a, b) of batches of counts B with their own marginals, and the odds ratios of the reference counts R.

    One row, spread as if the columns were independent, is added to the reference, so that every level of the batch has
    a place.
    """
    total, shares = R + B, B / B.sum(axis=(1, 2), keepdims=True)
    alone = total.sum(axis=2, keepdims=True) * total.sum(axis=1, keepdims=True)
    start = R + alone / total.sum(axis=(1, 2), keepdims=True) ** 2
    return _proportional(start, {k: shares.sum(axis=k, keepdims=True) for k in (2, 1)})


def fitted(tables: np.ndarray) -> np.ndarray:
    """Expected counts without a three-way interaction, for each of n times two pair tables (n, 2, a, b)."""
    sums = {k: tables.sum(axis=k, keepdims=True) for k in (1, 2, 3)}
    return _proportional(np.ones(tables.shape), sums)


def _proportional(start: np.ndarray, sums: dict[int, np.ndarray]) -> np.ndarray:
    """Tables (n, ...) of the interactions of others, with given sums along some axes: proportional fitting."""
    result, going = start.copy(), np.arange(len(start))  # the tables that still change
    rest = tuple(range(1, start.ndim))
    size = next(iter(sums.values())).sum(axis=rest)
    for _ in range(ROUNDS):
        found = result[going]
        for k, wanted in sums.items():
            own = found.sum(axis=k, keepdims=True)
            found = found * np.divide(wanted[going], own, out=np.zeros_like(own), where=own > 0)
        change = np.abs(found - result[going]).max(axis=rest)
        result[going] = found
        going = going[change > CLOSE * size[going]]
        if not len(going):
            break
    return result


def _pvalue(difference: np.ndarray, spread: np.ndarray) -> float:
    """By the chi-square law, from differences (a, b) and their variances."""
    freedom = (spread.shape[0] - 1) * (spread.shape[1] - 1)
    usual, careful = (
        upper_gamma(freedom / 2, float((difference**2 / np.maximum(spread, least)).sum()) / 2)
        for least in SPREADS
    )
    return usual if usual >= APPROXIMATE else max(careful, usual)


def cramers_v(table: np.ndarray) -> float:
    """Cramer's V of a pair table (a, b) of counts: sqrt(X^2 / (N (min(a, b) - 1))) over the rows and columns in use."""
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return 0.0
    N = table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / N
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / N / (min(table.shape) - 1)))


def _correlations(
    pair: Sequence[LevelColumn], tables: np.ndarray, rows: np.ndarray, cols: np.ndarray
) -> tuple[float, float] | None:
    """Of both tables (2, a, b) in groups, without unseen whole numbers; None without an order or other rows."""
    if not all(map(is_ordered, pair)):
        return None
    a, b = (None if hasattr(column, "edges") else -1 for column in pair)
    R, B = (_grouped(one[:a, :b], rows[:a], cols[:b]) for one in tables)
    return (_correlation(R), _correlation(B)) if R.any() and B.any() else None


def _correlation(table: np.ndarray) -> float:
    """Correlation of the row and the column number of the rows of a pair table (a, b); 0 where one is constant."""
    i, j = np.indices(table.shape)
    (a, b), (_, c) = np.cov(i.ravel(), j.ravel(), ddof=0, aweights=table.ravel())
    return float(b / math.sqrt(a * c)) if a * c > 0 else 0.0


def _groups(column: LevelColumn, totals: np.ndarray, most: int) -> tuple[Any, ...]:
    """(C,) the group of each category, and the labels of the groups: neighbours where there is an order.

    Categories that no row has are in a group of others: one of their own would be a degree of freedom more.
    """
    labels, C = labels_of(column)[:-1], len(totals)
    used = np.flatnonzero(totals)
    if is_ordered(column):
        own = np.arange(len(used))
        if len(used) > most:
            middle = ((np.cumsum(totals) - totals / 2) / totals.sum())[used]
            own = np.minimum((middle * most).astype(np.int64), most - 1)
        groups = own[np.minimum(np.searchsorted(used, np.arange(C)), len(used) - 1)]
    else:
        groups = np.full(C, min(len(used), most) - 1)
        order = used[np.argsort(-totals[used], kind="stable")][:most]
        groups[order] = np.arange(len(order))
    numbers, groups = np.unique(groups, return_inverse=True)
    named = [[labels[c] for c in used.tolist() if groups[c] == g] for g in range(len(numbers))]
    return groups, tuple(_label(names, hasattr(column, "edges")) for names in named)


def _label(names: list[str], are_bins: bool) -> str:
    """The label of a group of categories; neighbouring bins are one."""
    if not are_bins or len(names) <= 1:
        return f"{names[0]} ... {names[-1]}" if len(names) > 2 else " or ".join(names)
    low, high = names[0].split(" to ")[0], names[-1].split(" to ")[-1]
    if low.startswith("< "):
        return "any" if high.startswith(">= ") else f"< {high}"
    return f">= {low}" if high.startswith(">= ") else f"{low} to {high}"


def _grouped(table: np.ndarray, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """A pair table with the categories of each group added up."""
    return np.eye(rows.max() + 1)[rows].T @ table @ np.eye(cols.max() + 1)[cols]


class Associations(NamedTuple):
    """Associations along the edges, in held-out rows and a batch: (E,) arrays."""

    n: np.ndarray
    T: np.ndarray
    difference: np.ndarray  # of the mean over the batch from that over all rows
    deviation: np.ndarray  # standard deviation of all rows

    @property
    def varies(self) -> np.ndarray:
        """(E,) whether there is anything to compare."""
        return (self.n > 0) & (self.T > 0) & (self.deviation > CONSTANT)


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
        n, T, deviation = found.n[e], found.T[e], found.deviation[e]
        z = found.difference[e] / deviation * math.sqrt((n + T) * T / n)
        a, shares = kept.associations[e], kept.pairs[e] / n
        by_chance = np.outer(shares.sum(axis=1), shares.sum(axis=0))
        lost = (a * (by_chance - shares)).sum() / deviation
        pvalue = math.erfc(abs(z) / math.sqrt(2))
        result.append((e, pvalue, float(lost**2 * n * T / (n + T))))
    return result


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
    n, T = num_rows
    tables, means = {}, {}
    for pair in pairs:
        a, b = (max(size - 1, 1) for size in pair.expected_table.shape)
        noncentrality = pair.expected**2 * min(a, b) * n * T / max(n + T, 1)
        power = _power(noncentrality, a * b)
        tables[frozenset(pair.names)] = _log_ratio(pair.pvalue, power)
    for names, pvalue, noncentrality in associations:
        means[frozenset(names)] = _log_ratio(pvalue, _power(noncentrality, 1))
    lost = dict.fromkeys((one.name for one in shifts), 0.0)
    for both in tables | means:  # where one of the two is not known, the other is taken for it
        of_table = math.log(TABLE) + tables.get(both, means.get(both, 0.0))
        of_mean = math.log(1 - TABLE) + means.get(both, tables.get(both, 0.0))
        for name in both:
            lost[name] += float(np.logaddexp(of_table, of_mean))

    def evidence(one: Any) -> float:
        by_itself = math.log(BY_ITSELF) + _log_ratio(one.pvalue, 1.0)
        otherwise = math.log(1 - BY_ITSELF) + _log_ratio(one.pvalue, 0.5) + lost[one.name]
        return float(np.logaddexp(by_itself, otherwise))

    return tuple(sorted(shifts, key=evidence, reverse=True))


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
