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
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import hld.gchi2 as gchi2
import pcircuit
from hld.laws.drawn import scores_of
from hld.laws.joint import covariance_factor, harmonic_mean
from hld.laws.ranks.confirmation import ASKED_BELOW, confirmed, pooled_law, widest_tail
from hld.laws.ranks.monte_carlo import TIE
from hld.references.available import Shown, correlations, weights
from hld.testing.planning.alternatives import (
    NUM_DRAWN,
    NUM_SINGLE,
    SEED,
    Alternative,
    alternative_of,
    compared,
    own_covariance,
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
LEAST_SHARE = 0.01  # levels that are rarer are left out
ENOUGH, MANY = 400, 4000  # drawn rows with a level, else more are drawn, and that are looked at
STEPS = 10
NUM_NORMAL = 1000  # of which a power of 0.9 is known to 0.01
MOST_LEVELS = 100


class PlannedHoles(NamedTuple):
    """What a test sees of batches with holes; shapes weights (size,), correlations (size, size)."""

    weights: np.ndarray
    correlations: np.ndarray
    laws: tuple[Any, ...]


def planned_holes(test: Any, T: int) -> PlannedHoles | None:
    """The holes of batches of T rows, which are those of the reference rows."""
    kept = test.calibration.kept
    if kept is None or not kept.has_holes or not len(kept.shared):
        return None
    k, counts = kept.num_rows, np.maximum(kept.counts, 1)
    pairs = kept.shared * np.outer(counts, counts)
    every = np.arange(len(counts))
    batch = Shown(test.mean, kept.counts * T / k, T, pairs * T / k, every)
    g = weights(batch, kept.counts, k)
    R = correlations(batch, g, kept.shared, k)
    return PlannedHoles(g, R, test.laws_with_holes(batch, g))


@dataclass(frozen=True)
class Detectable:
    """The smallest change of a level that is found."""

    column: int
    level: int
    share: float
    by: float | None


class Planner:
    """What a test finds; `hld.testing.planning.of_tables` has that of a detector, which looks at more numbers."""

    def __init__(self, test: Any) -> None:
        self.test = test

    def means(self, rows: np.ndarray) -> np.ndarray:
        """(size + E,) means of what is looked at in rows (n, V)."""
        return compared(self.test, self.test.vectors.mean(rows))

    def own_mean(self) -> np.ndarray:
        """(size + E,) the same under the circuit."""
        return own_mean(self.test)

    def reference_mean(self) -> np.ndarray:
        """(size + E,) the same under the reference."""
        return np.asarray(self.test.mean)

    def together(self, rows: np.ndarray) -> Any:
        """How the further numbers vary together with the vectors in rows (n, V)."""
        return None

    def alternative(self, what: Any) -> Alternative:
        """The alternative that an argument stands for."""
        return alternative_of(self, what)

    def level(self, T: int, alpha: float) -> tuple[int, float]:
        """How many rows of T may be others, and the level of the distance."""
        return allowed_rows(T, self.test.tolerance, alpha)

    def batches(
        self, found: Alternative, T: int, alpha: float, num_draws: int
    ) -> Callable[[np.ndarray], Callable[[float], np.ndarray]]:
        """A function from a shift to a function from h to which of the draws are rejected with h times the shift."""
        return rejections(self.test, found, T, *self.level(T, alpha), num_draws).along

    def power(self, what: Any, T: int, alpha: float = 0.05) -> float:
        """Probability that a batch of T rows from an alternative is called shifted."""
        T, alpha = check_whole_number(T, "T", 1, MOST_ROWS), check_fraction(alpha, "alpha")
        found = self.alternative(what)
        if T == 1:
            rejected = single_rows(self.test, found, *self.level(1, alpha))
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
            found.append(Detectable(variable, level, p, _least(rejected, 1 - p, power)))
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
    test: Any, found: Alternative, T: int, others: int, alpha: float, num_draws: int
) -> Rejections:
    """Normal differences of means of batches of T rows, so many of which may be others."""
    holes, kept, own = planned_holes(test, T), test.calibration.kept, found.covariance / T
    if found.is_relative:
        own = own + kept.covariance / kept.num_rows
    if holes is not None:
        own = own * holes.correlations
    factor = covariance_factor(own)
    noise = np.random.default_rng(5).standard_normal((num_draws, len(factor))) @ factor
    return Rejections(test, noise, T, others, alpha, holes, found.covariance)


def single_rows(test: Any, found: Alternative, others: int, alpha: float) -> np.ndarray:
    """(N,) whether single rows of an alternative are rejected."""
    mean = own_mean(test) if found.is_relative else test.mean
    away = compared(test, test.vectors.rows(found.rows) - mean)
    return Rejections(test, away, 1, others, alpha, None, found.covariance).along(mean * 0)(1.0)


class Rejections:
    """Differences of means without a shift, to which shifts of any size are added.

    Shapes: noise (n, size), covariance (size, size).
    """

    def __init__(
        self,
        test: Any,
        noise: np.ndarray,
        T: int,
        others: int,
        alpha: float,
        holes: PlannedHoles | None,
        covariance: np.ndarray,
    ) -> None:
        parts, n = test.calibration, test.settings.num_train
        self.test, self.noise, self.T, self.alpha = test, noise, T, alpha
        self.margins = others / T * test.reaches
        self.inflation = 1.0 if n is None else 1.0 + T / n
        self.weights = np.ones(noise.shape[1]) if holes is None else holes.weights
        self.rule = _rule(parts.null, T, alpha, None if holes is None else holes.laws)
        self.mapped = [metric.apply(noise) for metric in parts.metrics]
        self.lengths = [(mapped**2).sum(axis=1) for mapped in self.mapped]
        if holes is not None:
            covariance = covariance * holes.correlations
        self.norms = [_norms(metric, covariance, T) for metric in parts.metrics]

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
            if parts.kept is not None and self.alpha <= ASKED_BELOW:
                for i in np.flatnonzero(found) if self.T == 1 else ():
                    found[i] = self._stands(self.noise[i : i + 1] + size * delta, squared[i])
                if self.T > 1 and found.any():
                    found[found] = self._stand(squared[found])
            return found

        return rejected

    def _stands(self, row: np.ndarray, squared: np.ndarray) -> bool:
        """Whether the alarm of a single row (1, size) stands, which a rank need not be asked for."""
        parts = self.test.calibration
        if parts.null.drawn(1):
            return True
        checked = confirmed(parts.kept, parts.metrics, row, squared, 1)
        return bool(parts.null.limit.tails_of(harmonic_mean(np.array([checked])))[0] <= self.alpha)

    def _stand(self, squared: np.ndarray) -> np.ndarray:
        """(n,) whether alarms with squared distances (n, q) stand when they are checked by rows of the alternative."""
        parts = self.test.calibration
        checked = []
        for norms, own, fourth, square in zip(
            parts.kept.norms, self.norms, parts.kept.fourth, squared.T, strict=True
        ):
            batch = np.sqrt(square), square, self.T
            law = pooled_law(parts.kept.num_rows, norms, fourth, own[:3], own[3], batch)
            checked.append(widest_tail(*law))
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
    return trace, frobenius, largest, trace**2 + 2 * square


def _rule(null: Any, T: Any, alpha: float, own: Any = None) -> Any:
    """A function from squared distances (n, q) without inflation to whether each is rejected; `own` laws if given."""
    laws = null.laws if own is None else own
    if null.drawn(T):
        level = null.level(alpha, T)  # from there on nothing is rejected
        return lambda squared: scores_of(laws, squared, T)[:, -1] * (1 + TIE) < level
    if len(laws) == 1:
        largest = (null if own is None else laws[0]).threshold(alpha, T)
        return lambda squared: (
            (squared[:, 0] >= largest) & (squared[:, 0] > 0)
        )  # a law of zeros has the threshold 0
    tails, joint = [_tail_curve(law.at(T)) for law in laws], null.limit.law
    return lambda squared: (
        joint.tail(
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
