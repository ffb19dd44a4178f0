r"""How often a shift will be found, with how many rows, and which shift is large enough.

The difference of means for a batch of T rows from an alternative is nearly normal,

.. math:: Z \sim N(\delta, C), \qquad C = S_1 / T \;(+\, S / n \text{ where rows are the reference}),

and the test rejects where a function of its distances |F Z| says so.  For one metric and the circuit as reference that
is |F Z| above a threshold, and |F Z|^2 is a noncentral generalised chi-square: with F C F^t = U diag(c) U^t,

.. math:: P(|F Z|^2 \ge q) = P\Big(\sum_j c_j \chi^2_1\big((u_j^t F \delta)^2 / c_j\big) \ge q\Big)

(`hld.gchi2`).  For several metrics, and where an alarm is checked by the batch's rows, DRAWS normal vectors Z go
through the rule of the test itself, p-values, harmonic mean and check included; the standard error is at most 0.011,
and 0.007 at a power of 0.9.  The same draws serve every size of a shift, so that power grows with it.

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
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import hld.gchi2 as gchi2
import pcircuit
from hld.laws.drawn import score_of
from hld.laws.joint import covariance_factor, harmonic_mean
from hld.laws.limit_law import limit_law
from hld.laws.ranks.confirmation import ASKED_BELOW, confirmed, pooled_of_norms
from hld.laws.ranks.monte_carlo import TIE, drawn_tail
from hld.references.available import FEWEST
from hld.references.circuit import CircuitReference
from hld.references.covariances import through
from hld.testing.planning.alternatives import (
    NUM_DRAWN,
    SEED,
    Alternative,
    alternative_of,
    compared,
    own_mean,
    under_level,
)
from hld.witnesses.effects import allowed_rows
from pcircuit.arguments import check_fraction, check_whole_number

DRAWS = 2000
MOST_T = 10**7
MOST_ROWS = (
    10**12
)  # of a batch that is asked about: of more rows the exact p-values of counts lose their digits
GROWTH = 8  # from one batch size to the next that is asked about, until one is large enough
GRID = 80  # points at which the logarithm of a tail is computed
MANY = 1e-13  # of the largest eigenvalue: smaller ones are constants
LEAST_SHARE = 0.01  # levels that are rarer are left out
ENOUGH = 400  # drawn rows with a level, else more are drawn
STEPS = 10
NUM_NORMAL = 1000  # of which a power of 0.9 is known to 0.01
MOST_LEVELS = 100


@dataclass(frozen=True, eq=False)
class PlannedHoles:
    """What a test sees of batches of T rows with the holes of its reference rows.

    Shapes: weights (size,), correlations (size, size).
    """

    weights: np.ndarray
    correlations: np.ndarray
    laws: tuple[Any, ...]


def planned_holes(test: Any, T: int) -> PlannedHoles | None:
    """The holes of batches of T rows as a test expects them."""
    parts = test.calibration
    kept = parts.kept
    if kept is None or not kept.has_holes or not len(kept.shared):
        return None
    shown, k = kept.counts / kept.num_rows, kept.num_rows
    g = np.where(_enough(T * shown, T) & _enough(kept.counts, k), np.sqrt(shown), 0.0)
    R = np.outer(g, g) * kept.shared * k
    laws = tuple(
        replace(limit_law(through(metric, kept.covariance * R)), excess=law.excess, _prepared={})
        for metric, law in zip(parts.metrics, parts.null.laws, strict=True)
    )
    return PlannedHoles(g, R, laws)


def _enough(counts: np.ndarray, num_rows: int) -> Any:
    """(size,) whether a node is shown by enough rows to count."""
    return counts >= max(min(num_rows / 2, FEWEST), 1)


def power(test: Any, alternative: object, T: int, alpha: float = 0.05) -> float:
    """Probability that a batch of T rows from an alternative is called shifted.

    For one metric O(m^3), for several some ten milliseconds to a second; and once NUM_DRAWN rows of the alternative.
    """
    T, alpha = (
        check_whole_number(T, "T", 1, MOST_ROWS),
        check_fraction(alpha, "alpha"),
    )
    found = alternative_of(test, alternative)
    if T == 1 and found.rows is not None:
        return of_single_rows(test, found, alpha)
    if len(test.calibration.metrics) == 1 and test.calibration.kept is None:
        return _exact(test, found, T, alpha)
    return Rejections(test, found.covariance, T, alpha, is_relative=found.is_relative).share(
        found.delta
    )


def sample_size(
    test: Any, alternative: object, least: float = 0.9, alpha: float = 0.05
) -> int | None:
    """The smallest batch with which an alternative is found with a probability.

    Some twenty powers, by bisection: where power does not grow with every row, as for few rows of a discrete circuit, a
    smaller batch may do as well.
    """
    least, alpha = check_fraction(least, "power"), check_fraction(alpha, "alpha")
    found = alternative_of(test, alternative)
    return smallest_batch(lambda T: power(test, found, T, alpha), least, found.num_rows)


def of_single_rows(test: Any, found: Alternative, alpha: float) -> float:
    """Share of the rows of an alternative that a test rejects one by one."""
    null = test.calibration.null
    margins, alpha = tolerated(test, 1, alpha)
    if not null.drawn(1):
        return _share_by_law(test, found, alpha, margins)
    scores = _scores_of_rows(test, found.rows, found.usual is not None, margins)
    if found.usual is None:
        level = null.level(alpha, 1)
    else:
        level = drawn_tail(_scores_of_rows(test, found.usual, True, margins)).threshold(alpha)
    return float((scores * (1 + TIE) < level).mean())


def tolerated(test: Any, T: int, alpha: float) -> tuple[np.ndarray, float]:
    """(q,) distances that the tolerance of a test takes off, and the level that is left."""
    rows, level = allowed_rows(T, test.tolerance, alpha)
    return np.asarray(rows / T * test.reaches), level


def _scores_of_rows(test: Any, rows: Any, is_of_circuit: bool, margins: np.ndarray) -> np.ndarray:
    """(N,) scores of single rows, by their distance from the mean of the circuit or of the reference."""
    _, squared, inflation = _distances_of_rows(test, rows, is_of_circuit, margins)
    return np.asarray(test.calibration.null.score(squared / inflation, 1)[:, -1])


def _distances_of_rows(
    test: Any, rows: Any, is_of_circuit: bool, margins: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Differences (N, m) of single rows from the mean of the circuit or of the reference, (N, q) squares, 1 + 1/n."""
    parts, n = test.calibration, test.settings.num_train
    away = compared(
        test, test.vectors.rows(rows) - (own_mean(test) if is_of_circuit else test.mean)
    )
    distances = np.stack([np.sqrt(metric.squared(away)) for metric in parts.metrics], axis=1)
    beyond = np.where(distances > _round_offs(test, 1), np.maximum(distances - margins, 0.0), 0.0)
    return away, beyond**2, 1.0 if n is None else 1.0 + 1 / n


def _round_offs(test: Any, T: int) -> np.ndarray:
    """(q,) distances that rounding alone can make, and which are none: see `hld.testing.verdict`."""
    return np.asarray(test.round_offs) * np.where(test.are_constant, T, 1)


def _share_by_law(test: Any, found: Alternative, alpha: float, margins: np.ndarray) -> float:
    """The share of single rows that a null without ranks rejects, checked as alarms are."""
    parts = test.calibration
    away, squared, inflation = _distances_of_rows(
        test, found.rows, found.usual is not None, margins
    )
    rejected = np.asarray(_rule(parts.null, 1, alpha)(squared / inflation))
    if parts.kept is not None and alpha <= ASKED_BELOW:
        for i in np.flatnonzero(rejected).tolist():
            checked = confirmed(parts.kept, parts.metrics, away[i : i + 1], squared[i], 1)
            means = harmonic_mean(np.array([checked]))
            rejected[i] = parts.null.limit.tails_of(means)[0] <= alpha
    return float(rejected.mean())


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


def _exact(test: Any, found: Alternative, T: Any, alpha: float) -> float:
    """Power of a single metric by the noncentral law."""
    parts, n = test.calibration, test.settings.num_train
    metric, (margins, alpha) = parts.metrics[0], tolerated(test, T, alpha)
    inflation = 1.0 if n is None else 1.0 + T / n
    threshold = math.sqrt(parts.null.threshold(alpha, T) * inflation) + float(margins[0])
    threshold = max(threshold, float(_round_offs(test, T)[0]))
    mapped = metric.apply(metric.apply(found.covariance).T) / T
    values, vectors = np.linalg.eigh((mapped + mapped.T) / 2)
    along = (vectors.T @ metric.apply(found.delta)) ** 2
    varies = values > MANY * max(values[-1], 0.0)
    rest = threshold**2 - float(along[~varies].sum())
    if not varies.any():
        return float(rest <= 0)
    return float(
        gchi2.sf(
            rest, gchi2.prepare(values[varies], noncentralities=along[varies] / values[varies])
        )
    )


class Rejections:
    """Normal differences of means without a shift, to which shifts of any size are added.

    Shapes: covariance (size, size).
    """

    def __init__(
        self,
        test: Any,
        covariance: Any,
        T: int,
        alpha: float,
        *,
        is_relative: bool,
        num_draws: int = DRAWS,
        others: int | None = None,
    ) -> None:
        if others is None:
            others, alpha = allowed_rows(T, test.tolerance, alpha)
        self.margins = others / T * test.reaches
        self.test, self.T, self.alpha, self.covariance = test, T, alpha, covariance
        parts, n = test.calibration, test.settings.num_train
        holes = planned_holes(test, T)
        own = covariance / T
        if is_relative and parts.kept is not None and len(parts.kept.covariance):
            own = own + parts.kept.covariance / parts.kept.num_rows
        self.weights = np.ones(len(own)) if holes is None else holes.weights
        if holes is not None:
            own, self.covariance = own * holes.correlations, covariance * holes.correlations
        factor = covariance_factor(own)
        self.is_relative = is_relative
        self.noise = (
            np.random.default_rng([T, 5]).standard_normal((num_draws, len(factor))) @ factor
        )
        self.mapped = [metric.apply(self.noise) for metric in parts.metrics]
        self.lengths = [(mapped**2).sum(axis=1) for mapped in self.mapped]
        self.inflation = 1.0 if n is None else 1.0 + T / n
        self.rule = _rule(parts.null, T, alpha, None if holes is None else holes.laws)
        self.norms = [_norms(metric, self.covariance, T) for metric in parts.metrics]

    @property
    def errors(self) -> np.ndarray:
        """(draws, size) errors of the means of nodes, each by the rows that show it; 0 where it is not compared."""
        return np.asarray(self.noise / np.where(self.weights > 0, self.weights, np.inf))

    def share(self, delta: Any) -> float:
        """Share of the draws that are rejected with a shift of delta (size,)."""
        return float(self.along(delta)(1.0).mean())

    def along(self, delta: Any) -> Callable[..., np.ndarray]:
        """A function from h, and a choice of n draws or all, to (n,) whether each is rejected with h delta."""
        parts = self.test.calibration
        shifts = [metric.apply(self.weights * delta) for metric in parts.metrics]
        # |F (Z + h delta)|^2 is a polynomial in h
        terms = [
            (lengths, 2 * (mapped @ shift), float(shift @ shift))
            for lengths, mapped, shift in zip(self.lengths, self.mapped, shifts, strict=True)
        ]

        def rejected(size: float, among: Any = slice(None)) -> np.ndarray:
            columns = []
            for (lengths, slope, square), margin, least in zip(
                terms, self.margins, _round_offs(self.test, self.T), strict=True
            ):
                lengthened = lengths[among] + size * slope[among] + size**2 * square
                distances = np.sqrt(np.maximum(lengthened, 0.0))
                columns.append(
                    np.where(distances > least, np.maximum(distances - margin, 0.0), 0.0) ** 2
                )
            squared = np.stack(columns, axis=1)
            found: np.ndarray = self.rule(squared / self.inflation)
            if parts.kept is not None and found.any() and self.alpha <= ASKED_BELOW:
                found[found] = self._stand(squared[found])
            return found

        return rejected

    def _stand(self, squared: Any) -> np.ndarray:
        """(n,) whether alarms with squared distances (n, q) stand when they are checked by rows of the alternative."""
        parts, T = self.test.calibration, self.T
        if T == 1 and parts.null.drawn(1):  # single rows have been ranked
            return np.ones(len(squared), dtype=bool)
        checked = np.stack(
            [
                pooled_of_norms(
                    parts.kept.num_rows,
                    parts.kept.norms[i],
                    parts.kept.fourth[i],
                    norms[:3],
                    norms[3],
                    (np.sqrt(squared[:, i]), squared[:, i], T),
                )
                for i, norms in enumerate(self.norms)
            ],
            axis=1,
        )
        together: np.ndarray = parts.null.limit.tails_of(harmonic_mean(checked))
        return together <= self.alpha


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
    return trace, frobenius, largest, trace**2 + 2 * square


def _rule(null: Any, T: Any, alpha: float, own: Any = None) -> Any:
    """A function from squared distances (n, q) without inflation to whether each is rejected; `own` laws if given."""
    if null.drawn(T):
        level, score = null.level(alpha, T), null.score if own is None else score_of(own)
        return lambda squared: (
            score(squared, T)[:, -1] * (1 + TIE) < level
        )  # from there on nothing is rejected
    laws = null.laws if own is None else own
    if len(laws) == 1:
        largest = (null if own is None else laws[0]).threshold(alpha, T)
        return lambda squared: (
            (squared[:, 0] >= largest) & (squared[:, 0] > 0)
        )  # a law of zeros has the threshold 0
    tails, joint = [_tail_curve(law.at(T)) for law in laws], null.limit.law
    return lambda squared: (
        joint.tails(
            harmonic_mean(
                np.stack(
                    [tail(column * T) for tail, column in zip(tails, squared.T, strict=True)],
                    axis=1,
                )
            )
        )
        <= alpha
    )


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


@dataclass(frozen=True)
class Detectable:
    """The smallest change of a level that is found."""

    column: int
    level: int
    share: float
    by: float | None


def detectable(
    test: Any, T: int, power: float = 0.9, alpha: float = 0.05, *, per_column: int = 3
) -> tuple[Any, ...]:
    """For the most frequent levels of each variable, how much more frequent they have to get to be found."""
    T, alpha = (
        check_whole_number(T, "T", 1, MOST_ROWS),
        check_fraction(alpha, "alpha"),
    )

    def draws(
        covariance: np.ndarray, is_relative: bool, num_draws: int, rows: np.ndarray
    ) -> Callable[..., Any]:
        batches = Rejections(
            test, covariance, T, alpha, is_relative=is_relative, num_draws=num_draws
        )

        def shares(slope: np.ndarray, inside: np.ndarray, p: float) -> Callable[[float], float]:
            rejected = batches.along(slope)
            return lambda h: float(rejected(h).mean())

        return shares

    return detectable_levels(test, power, per_column, draws)


def detectable_levels(
    test: Any, power: float, per_column: int, draws: Callable[..., Any]
) -> tuple[Any, ...]:
    """`detectable` for any way to draw batches and to move them."""
    power = check_fraction(power, "power")
    per_column = check_whole_number(per_column, "per_column", 1)
    kept, found, mean = test.calibration.kept, [], own_mean(test)
    has_rows = kept is not None and len(kept.covariance) > 0
    covariance = (
        kept.covariance
        if has_rows
        else CircuitReference(test.circuit, test.nodes, mean).covariance()
    )
    rows = pcircuit.sample(test.circuit, NUM_DRAWN, rng=np.random.default_rng([SEED, 1]))
    shares, vectors = draws(covariance, has_rows, NUM_NORMAL, rows), test.vectors.rows(rows)
    for variable, level, p in _levels(test.circuit, per_column):
        own = rows[:, variable] == level
        is_enough = own.sum() >= ENOUGH
        inside = rows[own] if is_enough else under_level(test.circuit, variable, level, ENOUGH)
        given = vectors[own].mean(axis=0) if is_enough else test.vectors.mean(inside)
        slope = (compared(test, given) - mean) / (1 - p)
        found.append(Detectable(variable, level, p, _least(shares(slope, inside, p), 1 - p, power)))
    return tuple(sorted(found, key=lambda one: np.inf if one.by is None else one.by))


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


def _least(share: Callable[[float], float], most: float, power: float) -> float | None:
    """The smallest h up to `most` with which enough draws are rejected."""
    if share(most) < power:
        return None
    low, high = 0.0, most
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if share(middle) >= power else (middle, high)
    return high
