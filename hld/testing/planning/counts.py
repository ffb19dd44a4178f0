r"""What the test of single counts adds to the power of a detector's distance.

A detector rejects where its distance is large or one of the counts of single columns is conspicuous
(`hld.witnesses.largest_count`), each at its part of the level (`hld.witnesses.witnesses`).  A level of one column that
becomes more frequent moves a few counts by many of their standard deviations and the distance by few of its own, so
that the counts often find it first.

For n held-out rows with k_e and a batch of T rows with j_e in event e, a category of a column or all categories up to
a cut,

.. math:: \frac{j_e}{T} = \frac{k_e}{n} + \delta_e + \epsilon_e, \qquad
          \epsilon = \text{(error of the batch's means)} - \text{(error of the reference's means)},

and epsilon is part of the same errors as those of the likelihood vector, Z - delta (`planning.power`).  So the
two are drawn together: with R the regression of the events on the vectors in rows of the circuit and e its residuals,

.. math:: \epsilon = R^t (Z - \delta) + \sqrt{1/T + 1/n} \; G A, \qquad A^t A = \mathrm{Cov}(e),

G normal.  The normal errors only say how events and distance depend on one another: each count is the quantile of a
binomial law at the probability of its error, of as many rows as give the share the variance of the difference.  An
event is conspicuous if Fisher's exact test says so, whose p-value is taken from its likelihood ratio, 2 P(N > \sqrt{2
LR}), with half a row less for the steps of a count.

**Limits.**  What dependences along the tree, missing and new values would find is left out: their parts of the level
are not given to others.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hld.answers.profile import Profile, held_of
from hld.tables.schemas.counts import SmallestLaw, compare_missing, compare_new
from hld.testing.planning.alternatives import Alternative, compared
from hld.testing.planning.power import Rejections
from hld.witnesses.effects import allowed_rows
from hld.witnesses.largest_count import CountEvents, likelihood_ratio
from hld.witnesses.witnesses import scaled_level, witnesses_of

BLOCK = 2_000_000  # counts of draws that are looked at together
RIDGE = 0.01  # of the regression, in units of the variance of each number of a vector: nearly constant sums are noise
STEPS, STEP = 60, 1e-6  # of bisections; what a whole number may be off


@dataclass(frozen=True)
class SharedLevel:
    """The parts of a level that the tests of a detector have at some batch size."""

    distance: float
    counts: float
    law: SmallestLaw | None
    others: int  # rows that are tolerated


def shared_level(detector: Any, T: int, alpha: float) -> SharedLevel:
    """The parts of the level in a batch of T rows whose counts are as expected."""
    others, alpha = allowed_rows(T, detector.tolerance, alpha)
    held, expected = held_of(detector, None), _expected(detector, T)
    tests: list[Any] = []
    if held is not None and held.missing is not None:
        rows, holes = held.missing
        tests.append(
            compare_missing(rows, holes, T, np.rint(T / rows * np.asarray(holes)).astype(int))
        )
    if held is not None and held.new is not None:
        share = T / max(int(held.new.shown.max(initial=0)), 1)
        shown, new = (
            np.rint(share * one).astype(np.int64) for one in (held.new.shown, held.new.new)
        )
        tests.append(compare_new(held.new, shown, new))
    witnesses: dict[str, Any] = witnesses_of(detector, held, expected)
    tests = [one for one in (*tests, *witnesses.values()) if one.share]
    level = scaled_level(alpha, *tests) if tests else alpha
    rest, count = level * (1 - sum(one.share for one in tests)), witnesses.get("largest_count")
    if count is None or not count.share:
        return SharedLevel(rest, 0.0, None, others)
    return SharedLevel(rest, level * count.share, count.law, others)


def _expected(detector: Any, T: int) -> Profile:
    """Counts of a batch of T rows with the frequencies of the held-out rows."""
    kept, watched = detector.profile_, detector.watched_
    scale = T / kept.num_rows
    return Profile(
        T,
        tuple(np.round(one * scale).astype(np.int64) for one in kept.counts),
        kept.edges,
        tuple(np.round(one * scale).astype(np.int64) for one in kept.pairs),
        odd=None if watched is None else np.round(watched.odd_counts * scale).astype(np.int64),
    )


def shown_rows(events: CountEvents, counts: Any) -> np.ndarray:
    """(E,) rows that show the column of each event."""
    return np.array([one[:-1].sum() for one in counts])[events.columns]


@dataclass(frozen=True, eq=False)
class EventRows:
    """How the events that are counted and the vectors of a test vary together from row to row.

    Shapes: slopes (size, E), rest (r, E).
    """

    events: CountEvents
    slopes: np.ndarray
    rest: np.ndarray


def event_rows(test: Any, events: CountEvents, rows: np.ndarray) -> EventRows:
    """How events and vectors vary together in some rows; shapes rows (M, V)."""
    vectors = compared(test, test.vectors.rows(rows))
    U, V = vectors - vectors.mean(axis=0), events.indicators(rows).astype(np.float64)
    V -= V.mean(axis=0)
    spread = U.std(axis=0)
    units = np.where(spread > 0, spread, np.inf)
    gram = (U / units).T @ (U / units)
    gram[np.diag_indices_from(gram)] += RIDGE * len(rows)
    slopes = np.linalg.solve(gram, (U / units).T @ V) / units[:, None]
    factor: Any = np.linalg.qr(V - U @ slopes, mode="r")
    return EventRows(events, slopes, factor / math.sqrt(len(rows)))


class CountDraws:
    """Counts of batches without a shift, drawn together with their distances, to which shifts are added."""

    def __init__(
        self, detector: Any, level: SharedLevel, draws: Rejections, found: Alternative
    ) -> None:
        kept, T, rows = detector.profile_, draws.T, found.together
        self.k, self.n = rows.events.of(kept.counts), shown_rows(rows.events, kept.counts)
        self.T = np.maximum(np.round(T * self.n / max(kept.num_rows, 1)), 1.0)
        self.others = level.others
        self.base = self.k / np.maximum(self.n, 1)
        # none of n rows is not never
        self.known = np.clip(self.base, 0.5 / (self.n + 1), 1 - 0.5 / (self.n + 1))
        # rows of which the share of an event has the variance of a difference of shares
        self.size = 1 / (1 / self.T + found.is_relative / np.maximum(self.n, 1))
        self.least, self.largest = self._limits(_least_ratio(level))
        self.noise = self._noise(draws, rows)
        self.ends = self.noise.min(axis=1), self.noise.max(axis=1)

    def rejected(self, moved: np.ndarray) -> np.ndarray:
        """(draws,) whether a count is conspicuous if the share of each event has moved by so much, (E,)."""
        from scipy.special import betainc, ndtri

        share = np.clip(self.known + moved, 0.0, 1.0)
        below, above = (
            np.clip((count - 0.5) * self.size / self.T + 0.5, 1e-300, self.size)
            for count in (self.T - self.least, self.largest)
        )  # at least so many of `size` rows are not, or are, in the event
        low = np.where(
            np.isfinite(self.least),
            ndtri(betainc(below, self.size - below + 1, 1 - share)),
            -np.inf,
        )
        high = np.where(
            np.isfinite(self.largest), -ndtri(betainc(above, self.size - above + 1, share)), np.inf
        )
        found, several = (
            np.zeros(self.noise.shape[1], dtype=bool),
            max(1, BLOCK // self.noise.shape[1]),
        )
        able = np.flatnonzero(
            (self.ends[0] <= low) | (self.ends[1] >= high)
        )  # events conspicuous in some draw
        for start in range(0, len(able), several):
            some = able[start : start + several]
            noise = self.noise[some]
            found |= ((noise <= low[some, None]) | (noise >= high[some, None])).any(axis=0)
        return found

    def _limits(self, ratio: float) -> tuple[np.ndarray, np.ndarray]:
        """(E,) counts up to which, and from which on, an event is conspicuous; infinite where none is."""
        limits = []
        for end in (0.0, 1.0):
            low, high = (
                self.base.copy(),
                np.full(len(self.base), end),
            )  # the ratio grows from the one to the other
            for _ in range(STEPS if math.isfinite(ratio) else 0):
                middle = (low + high) / 2
                is_there = self._ratios(middle * self.T) >= ratio
                low, high = np.where(is_there, low, middle), np.where(is_there, middle, high)
            attained = self._ratios(high * self.T) >= ratio
            limits.append(np.where(attained, high * self.T, np.inf if end else -np.inf))
        return np.floor(limits[0] + STEP), np.ceil(limits[1] - STEP)

    def _ratios(self, j: np.ndarray) -> np.ndarray:
        """(E,) likelihood ratios of counts, half a row nearer to what is expected; 0 where nothing can differ."""
        N, usual = self.n + self.T, self.T * self.base
        # rows that are tolerated are among the others, too: the pooled share moves with them
        j = usual + np.sign(j - usual) * np.maximum(np.abs(j - usual) - self.others, 0.0)
        K = self.k + j
        share = K / N
        off = j - self.T * share
        nearer = self.T * share + np.sign(off) * np.maximum(np.abs(off) - 0.5, 0.0)
        varies = (K > 0) & (K < N) & (self.n > 0)
        return np.where(
            varies, likelihood_ratio(nearer, self.T, np.where(varies, K, N / 2), N), 0.0
        )

    def _noise(self, draws: Rejections, rows: EventRows) -> np.ndarray:
        """(E, draws) errors of the shares in units of their deviations, drawn with those of the vectors."""
        G = np.random.default_rng([draws.T, 6]).standard_normal((len(draws.noise), len(rows.rest)))
        noise = draws.errors @ rows.slopes + (G @ rows.rest) / np.sqrt(self.size)
        deviation = noise.std(axis=0)
        return np.ascontiguousarray((noise / np.where(deviation > 0, deviation, np.inf)).T)


def _least_ratio(level: SharedLevel) -> float:
    """The smallest likelihood ratio of a conspicuous count; infinite where none is."""
    from scipy.special import ndtri

    if level.law is None or not level.counts > 0:
        return math.inf
    # of the logarithm of the p-value of a single count; one that is attained is no larger than that of all together,
    # which the law of a batch as expected does not know of the odd counts of few rows
    low, high = -690.0, math.log(level.counts)
    if level.law.pvalue(math.exp(low)) > level.counts:
        return math.inf
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if level.law.pvalue(math.exp(middle)) <= level.counts else (low, middle)
        )
    return float(ndtri(math.exp(low) / 2)) ** 2 / 2
