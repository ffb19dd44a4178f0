r"""How often a shift will be found, with how many rows, and which shift is large enough.

The difference of means for a batch of T rows from an alternative is nearly normal,

.. math:: Z \sim N(\delta, C), \qquad C = S_1 / T \;(+\, S / n \text{ where rows are the reference}),

and the test rejects where a function of its distances |F Z| says so.  So DRAWS normal vectors Z go through the rule of
the test itself, p-values, harmonic mean and check by the batch's rows included; the standard error is at most 0.011,
and 0.007 at a power of 0.9.  The same draws serve every size of a shift and of a batch, so that power grows with both.

A single row is far from normal, and with the null "auto" its p-value is a rank: rows of the alternative are tested one
by one instead, with every null.

**Limits.**  Z is normal only in the limit; with two to some ten rows, and for levels with fewer than some ten
expected rows, power is only a guide.  Rows are taken to be independent, and the alternative to be exactly the given
one.  Batches have the holes of the reference rows (below), but single rows, and all that is compared
with a circuit, have none.

**Holes.**  Of k reference rows k_j show node j, and k_ij show both i and j.  A batch of T rows with the same shares of
holes has T_j = T k_j / k and T_ij = T k_ij / k, so that the test, which compares each node by the rows that show it
(`hld.references.available`), sees

.. math:: Z_j = g_j (\bar L_j - \mu_j), \qquad g_j^2 = k_j / k, \qquad
          \mathrm{Cov}(Z) = (1/T + 1/k)\, S \circ R, \qquad R_{ij} = g_i g_j \frac{k\, k_{ij}}{k_i k_j},

and judges it by the laws of S o R.  A shift delta moves Z by g delta: the more cells are missing, the less is found.
Cells are taken to be missing as often with the shift as without it.

**Counts.**  A detector rejects where its distance is large or one of the counts of single columns is conspicuous
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

G normal.  An event is conspicuous if Fisher's exact test says so, whose p-value is taken from its likelihood ratio,
2 P(N > \sqrt{2 LR}), with half a row less for the steps of a count.  The signed root of 2 LR is more nearly normal than
the count itself: it is taken to be that of the expected count, and a draw of the error to move it by as many times what
one standard deviation of the count does.

What dependences along the tree, missing and new values would find is left out: their parts of the level
are not given to others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import hld.gchi2 as gchi2
import pcircuit
from hld.answers.column_shifts import labels_of
from hld.answers.profile import Profile
from hld.answers.table_facts import held_of
from hld.laws.drawn import scores_of
from hld.laws.joint import covariance_factor, harmonic_mean
from hld.laws.ranks.confirmation import ASKED_BELOW, pooled_law, widest_tail
from hld.laws.ranks.monte_carlo import TIE
from hld.references.available import Shown, correlations, weights
from hld.tables.schemas.counts import SmallestLaw, compare_missing, compare_new
from hld.testing.planning.alternatives import (
    NUM_DRAWN,
    NUM_SINGLE,
    SEED,
    Alternative,
    Edit,
    alternative_of,
    coded_edit,
    compared,
    own_covariance,
    own_mean,
    under_level,
)
from hld.witnesses.effects import allowed_rows
from hld.witnesses.largest_count import CountEvents, count_events, likelihood_ratio
from hld.witnesses.witnesses import has_witnesses, scaled_level, witnesses_of
from pcircuit.arguments import check_fraction, check_whole_number

DRAWS = 2000
MOST_T = 10**7
MOST_ROWS = 10**12  # of a batch: of more rows the exact p-values of counts lose their digits
GROWTH = 8  # from one batch size to the next that is asked about, until one is large enough
GRID = 80  # points at which the logarithm of a tail is computed
LEAST_SHARE = 0.01  # levels that are rarer are left out
ENOUGH, MANY = 400, 4000  # drawn rows with a level, else more are drawn, and that are looked at
STEPS = 10
NUM_NORMAL = 1000  # of which a power of 0.9 is known to 0.01
MOST_LEVELS = 100
RIDGE = 0.01  # of the regression of counts, in units of the variance of each number: nearly constant sums are noise


class PlannedHoles(NamedTuple):
    """What a test sees of batches with holes; shapes weights (size,), correlations (size, size)."""

    weights: Any
    correlations: Any
    laws: tuple[Any, ...]


def planned_holes(test: Any, T: int) -> PlannedHoles:
    """The holes of batches of T rows, which are those of the reference rows."""
    kept = test.calibration.kept
    if kept is None or not kept.has_holes or not len(kept.shared):
        return without_holes(test)
    k, counts = kept.num_rows, np.maximum(kept.counts, 1)
    pairs = kept.shared * np.outer(counts, counts)
    every = np.arange(len(counts))
    batch = Shown(test.mean, kept.counts * T / k, T, pairs * T / k, every)
    g = weights(batch, kept.counts, k)
    R = correlations(batch, g, kept.shared, k)
    return PlannedHoles(g, R, test.laws_with_holes(batch, g))


def without_holes(test: Any) -> PlannedHoles:
    """Batches whose rows show everything."""
    return PlannedHoles(1.0, 1.0, test.calibration.null.laws)


@dataclass(frozen=True)
class Detectable:
    """The smallest change of a level that is found."""

    column: Any
    level: Any
    share: float
    by: float | None


class Planner:
    """What a test finds, or what a detector does, which looks at counts of single columns as well.

    A shift is that of the vectors, (size,), followed by that of the shares of E events that are counted.
    """

    def __init__(self, test: Any, detector: Any = None) -> None:
        self.test, self.detector, self.events = test, detector, None
        if detector is not None and has_witnesses(detector):
            self.events = count_events(detector.profile_.counts, detector.encoder_.ordered)

    def means(self, rows: np.ndarray) -> np.ndarray:
        """(size + E,) means of what is looked at in rows (n, V)."""
        own = compared(self.test, self.test.vectors.mean(rows))
        if self.events is None:
            return own
        return np.append(own, self.events.indicators(rows).mean(axis=0))

    def own_mean(self) -> np.ndarray:
        """(size + E,) the same under the circuit."""
        own = own_mean(self.test)
        if self.events is None:
            return own
        tables = [np.append(one, 0.0) for one in pcircuit.marginal_tables(self.test.circuit)]
        return np.append(own, self.events.of(tables))

    def reference_mean(self) -> np.ndarray:
        """(size + E,) the same under the reference."""
        own = np.asarray(self.test.mean)
        if self.events is None:
            return own
        counts = self.detector.profile_.counts
        shares = self.events.of(counts) / np.maximum(shown_rows(self.events, counts), 1)
        return np.append(own, shares)

    def together(self, rows: np.ndarray) -> EventRows | None:
        """How events vary together with the vectors in rows (n, V)."""
        return None if self.events is None else event_rows(self.test, self.events, rows)

    def alternative(self, what: Any) -> Alternative:
        """The alternative that an argument stands for: of a detector it names columns and levels, or is a table."""
        if self.detector is not None and isinstance(what, Edit):
            what = coded_edit(self.detector, what)
        elif self.detector is not None and not isinstance(what, (Alternative, pcircuit.Circuit)):
            rows, _ = self.detector.encoder_.encode(what, "alternative", ignore_extra=True)
            what = rows[(rows >= 0).all(axis=1)]
        return alternative_of(self, what)

    def level(self, T: int, alpha: float) -> SharedLevel:
        """How many rows of T may be others, and the level of the distance and of the counts."""
        if self.detector is not None:
            return shared_level(self.detector, T, alpha)
        others, alpha = allowed_rows(T, self.test.tolerance, alpha)
        return SharedLevel(alpha, 0.0, None, others)

    def batches(
        self, found: Alternative, T: int, alpha: float, num_draws: int
    ) -> Callable[[np.ndarray], Callable[[float], np.ndarray]]:
        """A function from a shift to a function from h to which of the draws are rejected with h times the shift."""
        level, size = self.level(T, alpha), len(self.test.mean)
        distance = rejections(self.test, found, T, level, num_draws)
        if self.events is None or level.law is None:
            return lambda shift: distance.along(shift[:size])
        counts = CountDraws(self.detector.profile_, level, T, found, distance.errors)

        def along(shift: np.ndarray) -> Callable[[float], np.ndarray]:
            by_distance = distance.along(shift[:size])

            def rejected(h: float) -> np.ndarray:
                counted = counts.rejected(h * shift[size:])
                return counted if counted.all() else counted | by_distance(h)

            return rejected

        return along

    def power(self, what: Any, T: int, alpha: float = 0.05) -> float:
        """Probability that a batch of T rows from an alternative is called shifted."""
        T, alpha = check_whole_number(T, "T", 1, MOST_ROWS), check_fraction(alpha, "alpha")
        found = self.alternative(what)
        if T == 1:
            rejected = single_rows(self.test, found, self.level(1, alpha))
        else:
            rejected = self.batches(found, T, alpha, DRAWS)(found.delta)(1.0)
        return float(rejected.mean())

    def sample_size(self, what: Any, power: float = 0.9, alpha: float = 0.05) -> int | None:
        """The smallest batch with which an alternative is found with a probability: some twenty powers, by bisection.

        Where power does not grow with every row, as for few rows of a discrete circuit, a smaller one may do as well.
        """
        least, alpha = check_fraction(power, "power"), check_fraction(alpha, "alpha")
        found = self.alternative(what)
        return smallest_batch(lambda T: self.power(found, T, alpha), least, found.num_rows)

    def detectable(
        self, T: int, power: float = 0.9, alpha: float = 0.05, *, per_column: int = 3
    ) -> tuple[Detectable, ...]:
        """For the most frequent levels of each variable, how much more frequent they have to get to be found."""
        T, alpha = check_whole_number(T, "T", 1, MOST_ROWS), check_fraction(alpha, "alpha")
        power = check_fraction(power, "power")
        per_column = check_whole_number(per_column, "per_column", 1)
        circuit, mean, found = self.test.circuit, self.own_mean(), []
        rows = pcircuit.sample(circuit, NUM_DRAWN, rng=np.random.default_rng([SEED, 1]))
        covariance, is_relative = own_covariance(self.test)
        some = rows[:NUM_SINGLE]
        usual = Alternative(mean * 0, covariance, is_relative, None, some, self.together(some))
        along = self.batches(usual, T, alpha, NUM_NORMAL)
        for variable, level, p in _levels(circuit, per_column):
            inside = rows[rows[:, variable] == level][:MANY]
            if len(inside) < ENOUGH:
                inside = under_level(circuit, variable, level, ENOUGH)
            rejected = along((self.means(inside) - mean) / (1 - p))
            column: Any = variable
            named: Any = level
            if self.detector is not None:
                known = self.detector.encoder_.columns[variable]
                column, named = known.name, labels_of(known)[level]
            found.append(Detectable(column, named, p, _least(rejected, 1 - p, power)))
        return tuple(sorted(found, key=lambda one: np.inf if one.by is None else one.by))


def smallest_batch(
    power_of: Callable[[int], float], least: float, num_rows: int | None
) -> int | None:
    """The smallest T, to half a per cent, with at least some power."""
    low, high, most = 0, 1, MOST_T if num_rows is None else num_rows
    while power_of(high) < least:
        if high >= most:
            return None
        low, high = high, min(GROWTH * high, most)
    while high - low > max(1, low // 200):
        middle = (low + high) // 2
        low, high = (low, middle) if power_of(middle) >= least else (middle, high)
    return high


def rejections(
    test: Any, found: Alternative, T: int, level: SharedLevel, num_draws: int
) -> Rejections:
    """Normal differences of means of batches of T rows."""
    holes, kept, own = planned_holes(test, T), test.calibration.kept, found.covariance / T
    if found.is_relative:
        own = own + kept.covariance / kept.num_rows
    factor = covariance_factor(own * holes.correlations)
    noise = np.random.default_rng(5).standard_normal((num_draws, len(factor))) @ factor
    return Rejections(test, found, T, level, noise, holes)


def single_rows(test: Any, found: Alternative, level: SharedLevel) -> np.ndarray:
    """(N,) whether single rows of an alternative are rejected."""
    mean = own_mean(test) if found.is_relative else test.mean
    away = compared(test, test.vectors.rows(found.rows) - mean)
    return Rejections(test, found, 1, level, away, without_holes(test)).along(mean * 0)(1.0)


class Rejections:
    """Differences of means without a shift, to which shifts of any size are added; shapes noise (n, size)."""

    def __init__(
        self,
        test: Any,
        found: Alternative,
        T: int,
        level: SharedLevel,
        noise: np.ndarray,
        holes: PlannedHoles,
    ) -> None:
        metrics, n = test.calibration.metrics, test.settings.num_train
        self.test, self.noise, self.T, self.alpha = test, noise, T, level.distance
        self.margins = level.others / T * test.reaches
        self.inflation = 1.0 if n is None else 1.0 + T / n
        self.weights = holes.weights
        self.rule = _rule(test.calibration.null, T, self.alpha, holes.laws)
        self.mapped = [metric.apply(noise) for metric in metrics]
        self.lengths = [(mapped**2).sum(axis=1) for mapped in self.mapped]
        covariance = found.covariance * holes.correlations
        self.norms = [_norms(metric, covariance, T) for metric in metrics]
        # ranks of single rows need no check
        is_ranked = T == 1 and test.calibration.null.drawn(1)
        self.is_checked = bool(
            test.calibration.kept and not is_ranked and self.alpha <= ASKED_BELOW
        )

    @property
    def errors(self) -> np.ndarray:
        """(n, size) errors of the means of nodes, each by the rows that show it; 0 where it is not compared."""
        return np.asarray(self.noise / np.where(self.weights > 0, self.weights, np.inf))

    def along(self, delta: np.ndarray) -> Callable[[float], np.ndarray]:
        """A function from h to (n,) whether each is rejected with h delta."""
        parts = self.test.calibration
        shifts = [metric.apply(self.weights * delta) for metric in parts.metrics]
        # |F (Z + h delta)|^2 is a polynomial in h
        terms = [
            (lengths, 2 * (mapped @ shift), float(shift @ shift))
            for lengths, mapped, shift in zip(self.lengths, self.mapped, shifts, strict=True)
        ]
        least = self.test.least_distances(self.T)

        def rejected(size: float) -> np.ndarray:
            squares = [lengths + size * slope + size**2 * own for lengths, slope, own in terms]
            distances = np.sqrt(np.maximum(np.stack(squares, axis=1), 0.0))
            beyond = np.where(distances > least, np.maximum(distances - self.margins, 0.0), 0.0)
            squared = beyond**2
            found: np.ndarray = self.rule(squared / self.inflation)
            if self.is_checked and found.any():
                found[found] = self._stand(squared[found])
            return found

        return rejected

    def _stand(self, squared: np.ndarray) -> np.ndarray:
        """(n,) whether alarms with squared distances (n, q) stand when they are checked by rows of the alternative."""
        parts, T, checked = self.test.calibration, self.T, []
        kept, k = parts.kept, parts.kept.num_rows
        for i, (norms, fourth) in enumerate(self.norms):
            distance = np.sqrt(squared[:, i])
            if T == 1:  # whose only row is known
                norms, fourth = np.zeros(3), (k / (k + 1) * distance) ** 4
            batch = distance, squared[:, i], T
            law = pooled_law(k, kept.norms[i], kept.fourth[i], norms, fourth, batch)
            is_odd = (squared[:, i] > kept.farthest[i] * (1 + TIE)) & (T == 1)
            checked.append(np.maximum(widest_tail(*law), is_odd / (k + 1)))
        together = parts.null.limit.tails_of(harmonic_mean(np.stack(checked, axis=1)))
        return np.asarray(together <= self.alpha)


def _norms(metric: Any, covariance: Any, T: Any) -> tuple[Any, ...]:
    """Trace, Frobenius norm and largest eigenvalue of a sample covariance of T rows, and the mean fourth power."""
    mapped = metric.apply(metric.apply(covariance).T)
    trace, square = float(np.trace(mapped)), float((mapped**2).sum())
    # of T normal rows E |S|^2 = |S|^2 (1 + 1/T) + tr^2 / T
    frobenius = min(math.sqrt(square * (1 + 1 / T) + trace**2 / T), trace)
    largest = min(
        max(float(np.linalg.eigvalsh((mapped + mapped.T) / 2)[-1]), 0.0) * (1 + 1 / math.sqrt(T)),
        frobenius,
    )
    return np.array([trace, frobenius, largest]), trace**2 + 2 * square


def _rule(null: Any, T: int, alpha: float, laws: tuple[Any, ...]) -> Any:
    """A function from squared distances (n, q) without inflation to whether each is rejected, by some laws."""
    if null.drawn(T):
        level = null.level(alpha, T)  # from there on nothing is rejected
        return lambda squared: scores_of(laws, squared, T)[:, -1] * (1 + TIE) < level
    if len(laws) == 1:
        largest = laws[0].threshold(alpha, T)
        # a law of zeros has the threshold 0
        return lambda squared: (squared[:, 0] >= largest) & (squared[:, 0] > 0)
    curves = [_tail_curve(law.at(T)) for law in laws]

    def rejected(squared: np.ndarray) -> np.ndarray:
        tails = [curve(column * T) for curve, column in zip(curves, squared.T, strict=True)]
        return np.asarray(null.limit.tails_of(harmonic_mean(np.stack(tails, axis=1))) <= alpha)

    return rejected


def _tail_curve(spectrum: Any) -> Any:
    """P(Q >= q) for many q, interpolated: ln P is nearly straight in q."""
    if not spectrum.mean:  # of numbers that no row of the reference shows
        return lambda q: np.where(q > 0, np.exp(-690.0), 1.0)
    grid = np.concatenate([np.linspace(0.0, 3.0, GRID), np.geomspace(3.2, 60.0, GRID)]) * max(
        spectrum.mean, 1e-300
    )
    values = gchi2.logsf(grid, spectrum)
    slope = (values[-1] - values[-2]) / (grid[-1] - grid[-2])

    def tail(q: Any) -> Any:
        beyond = np.maximum(q - grid[-1], 0.0) * slope
        return np.exp(np.maximum(np.interp(q, grid, values) + beyond, -690.0))

    return tail


def _levels(circuit: pcircuit.Circuit, per_column: Any) -> list[Any]:
    """(variable, level, probability) of the most frequent levels."""
    result = []
    for v, table in enumerate(pcircuit.marginal_tables(circuit)):
        order = np.argsort(-table, kind="stable")[:per_column].tolist()
        result += [
            (v, a, float(table[a])) for a in order if LEAST_SHARE <= table[a] <= 1 - LEAST_SHARE
        ]
    return (
        result
        if len(result) <= MOST_LEVELS
        else sorted(result, key=lambda one: -one[2])[:MOST_LEVELS]
    )


def _least(rejected: Callable[[float], np.ndarray], most: float, power: float) -> float | None:
    """The smallest h up to `most` with which enough draws are rejected."""
    low, high = 0.0, most
    if rejected(high).mean() < power:
        return None
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if rejected(middle).mean() >= power else (middle, high)
    return high


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
    held = held_of(detector, None)
    witnesses: dict[str, Any] = dict(witnesses_of(detector, held, _expected(detector, T)))
    if held is not None and held.missing is not None:
        rows, holes = held.missing
        expected = np.rint(T / rows * np.asarray(holes)).astype(int)
        witnesses["missing"] = compare_missing(rows, holes, T, expected)
    if held is not None and held.new is not None:
        share = T / max(int(held.new.shown.max(initial=0)), 1)
        shown, new = (np.rint(share * one).astype(int) for one in (held.new.shown, held.new.new))
        witnesses["new"] = compare_new(held.new, shown, new)
    tests = [one for one in witnesses.values() if one.share]
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
    """Counts of batches without a shift, drawn together with their distances, to which shifts are added.

    Shapes: errors (draws, size) of the means of the vectors.
    """

    def __init__(
        self, profile: Profile, level: SharedLevel, T: int, found: Alternative, errors: np.ndarray
    ) -> None:
        rows = found.together
        self.k, self.n = rows.events.of(profile.counts), shown_rows(rows.events, profile.counts)
        self.T = np.maximum(np.round(T * self.n / max(profile.num_rows, 1)), 1.0)
        self.others, self.least = level.others, _least_root(level)
        self.base = self.k / np.maximum(self.n, 1)
        # none of n rows is not never
        self.known = np.clip(self.base, 0.5 / (self.n + 1), 1 - 0.5 / (self.n + 1))
        # rows of which the share of an event has the variance of a difference of shares
        self.size = 1 / (1 / self.T + found.is_relative / np.maximum(self.n, 1))
        G = np.random.default_rng([T, 6]).standard_normal((len(errors), len(rows.rest)))
        noise = errors @ rows.slopes + (G @ rows.rest) / np.sqrt(self.size)
        deviation = noise.std(axis=0)
        self.noise = np.ascontiguousarray((noise / np.where(deviation > 0, deviation, np.inf)).T)
        self.ends = self.noise.min(axis=1), self.noise.max(axis=1)

    def rejected(self, moved: np.ndarray) -> np.ndarray:
        """(draws,) whether a count is conspicuous if the share of each event has moved by so much, (E,)."""
        share = np.clip(self.known + moved, 0.0, 1.0)
        usual, half = self.T * share, self.T * np.sqrt(share * (1 - share) / self.size) / 2
        root = self._roots(usual)
        step = self._roots(np.minimum(usual + half, self.T)) - self._roots(
            np.maximum(usual - half, 0)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = (-self.least - root) / step, (self.least - root) / step
        found = np.zeros(self.noise.shape[1], dtype=bool)
        # events conspicuous in some draw
        for event in np.flatnonzero((self.ends[0] <= low) | (self.ends[1] >= high)):
            found |= (self.noise[event] <= low[event]) | (self.noise[event] >= high[event])
        return found

    def _roots(self, j: np.ndarray) -> np.ndarray:
        """(E,) signed roots of twice the likelihood ratio of counts, 0 where nothing can differ."""
        N, usual = self.n + self.T, self.T * self.base
        # rows that are tolerated are among the others, too: the pooled share moves with them
        j = usual + np.sign(j - usual) * np.maximum(np.abs(j - usual) - self.others, 0.0)
        K = self.k + j
        share = K / N
        off = j - self.T * share
        # half a row nearer to what is expected, for the steps of a count
        nearer = self.T * share + np.sign(off) * np.maximum(np.abs(off) - 0.5, 0.0)
        varies = (K > 0) & (K < N) & (self.n > 0)
        ratio = likelihood_ratio(nearer, self.T, np.where(varies, K, N / 2), N)
        return np.where(varies, np.sign(off) * np.sqrt(2 * np.maximum(ratio, 0.0)), 0.0)


def _least_root(level: SharedLevel) -> float:
    """The smallest root of twice the likelihood ratio of a conspicuous count; infinite where none is."""
    from scipy.optimize import bisect
    from scipy.special import ndtri

    law = level.law
    if law is None or not level.counts > 0:
        return math.inf
    # of the logarithm of the p-value of a single count; one that is attained is no larger than that of all together,
    # which the law of a batch as expected does not know of the odd counts of few rows
    low, high = -690.0, math.log(level.counts)

    def beyond(log_p: float) -> float:
        return law.pvalue(math.exp(log_p)) - level.counts

    if beyond(low) > 0:
        return math.inf
    least = high if beyond(high) <= 0 else bisect(beyond, low, high)
    return -float(ndtri(math.exp(least) / 2))
