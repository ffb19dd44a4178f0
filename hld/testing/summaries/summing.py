r"""Rows to sums: to a summary, a block of rows at a time, and to sums with a sample of rows, a chunk at a time.

**Chunks.**  Of a batch that is too long to be held in memory a test needs the averages of its likelihood vectors over
the rows that show each node, the numbers of these rows, and a sample of its rows, to see which nodes are shown together
and to check an alarm (`RowSums`).  The sample is uniform: each row has a random number, and those with the smallest are
kept, of a part of the rows as of all.  A batch with no more rows than are kept gives the same result as in one piece,
but for holes that are filled by draws, as where the circuit is the reference: the draws of a chunk depend on its place
and size, as the rows that will follow are not known.

**Spread.**  How the rows of a batch vary, in a few numbers that add up: what checks an alarm when the rows are gone.

Where rows are the reference, a small p-value is checked by the batch's own rows (`hld.laws.ranks.confirmation`).  The
check asks three things of them, in each metric, for y_t = F (L(x_t) - mu) and their mean y:

* trace, Frobenius norm and largest eigenvalue of their covariance C.  The trace is that of sum |y_t|^2.  The norms are
  taken from a sketch R C R^t, R a fixed (r, l) matrix of signs over sqrt(r).  On average over R

  .. math:: E \|R C R^t\|^2 = \|C\|^2 + \frac{(\mathrm{tr}\, C)^2 + \|C\|^2 - 2 \sum_i C_{ii}^2}{r} \ge \|C\|^2,

  so both norms are overestimated, by 40 % for r = 16 and a covariance that is spread over 16 directions, and less for
  fewer: the check is that much more conservative than with rows.
* the mean fourth power of |y_t - c y|, bounded by Minkowski's inequality: its fourth root is at most that of the mean
  of |y_t|^4 plus c |y|.
* the rows farther out than all reference rows: only their number is kept; so the p-value is at least the
  probability that so many exchangeable rows are all in the batch.

Of many rows a sample is enough, as the check by rows takes one, too: sums of at most 20,000 rows are scaled.

**Possible sums.** Whoever sends a summary may send any numbers, and it may be one of no rows at all.  A likelihood is
from 0 to 1, and a feature of the score has a bound (`RowVectors.bounds`); so the sum over the rows that show it is at
most their number times b_j, and differences from the mean are at most 2 b_j.  That bounds what `Spread` holds: with r
the reach of a metric for 2 b and c = |R F| 2 b,

    squares <= T r^2,     fourths <= squares^2 <= T fourths,     |sketch_kl| <= T c_k c_l.

Sketches by random signs: Alon, Matias and Szegedy (1999), J. Computer and System Sciences 58, 137.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from hld.features.row_vectors import RowVectors, complete
from hld.gchi2.three_moments import ThreeMoments, three_moments
from hld.laws.ranks.confirmation import MOST_VECTORS, excess_of, pooled_law, widest_tail
from hld.laws.ranks.monte_carlo import TIE
from hld.references.available import MOST_PAIRED, Shown, shown_by
from hld.references.kept_rows import KeptRows
from hld.testing.summaries.summary import OF_SPREAD, BatchSummary
from pcircuit.evidence import checked, is_missing

Spread: TypeAlias = Mapping[str, np.ndarray]  # the arrays of `OF_SPREAD`
SKETCH = 16  # r
SKETCH_SEED = 16


def sketches_of(metrics: tuple[Any, ...]) -> tuple[np.ndarray, ...]:
    """(m, r) F^T R^T for each metric: the sketch of a row is one product with it, and F need not be applied to rows."""
    return tuple(
        np.ascontiguousarray(metric.adjoint(_signs(len(metric.apply(np.zeros(metric.width))))).T)
        for metric in metrics
    )


def spread_of(
    metrics: tuple[Any, ...],
    sketches: tuple[np.ndarray, ...],
    kept: KeptRows,
    differences: np.ndarray,
) -> Spread:
    """The spread of rows; shapes differences (n, m)."""
    squared = [metric.squared(differences) for metric in metrics]
    small = [differences @ signs for signs in sketches]
    farthest = kept.farthest * (1 + TIE)
    return {
        "squares": np.array([one.sum() for one in squared]),
        "fourths": np.array([(one**2).sum() for one in squared]),
        "odd": np.array([(one > far).sum() for one, far in zip(squared, farthest, strict=True)]),
        "sketch": np.array([one.T @ one for one in small]),
    }


def confirmed_by_spread(
    kept: KeptRows,
    metrics: tuple[Any, ...],
    spread: Spread,
    mean: np.ndarray,
    squared: np.ndarray,
    T: int,
    stretch: float = 1.0,
    *,
    held: float | None = None,
) -> tuple[float, ...]:
    """For each metric the p-value that the spread of the batch allows: `hld.laws.ranks.confirmation`, without rows.

    Shapes: mean (m,), squared (q,).
    """
    k, N, result = kept.num_rows, kept.num_rows + T, []
    for i, metric in enumerate(metrics):
        length, scatter, square = _about_mean(metric, spread, i, mean, T)
        norms = _norms(scatter, square, T)
        own = ((spread["fourths"][i] / T) ** 0.25 + T / N * length) ** 4
        batch = length * stretch, squared[i], T
        own_norms, fourth = norms * stretch**2, own * stretch**4
        law = pooled_law(k, kept.norms[i], kept.fourth[i], own_norms, fourth, batch)
        value = float(widest_tail(*law))
        odd = T - np.arange(int(spread["odd"][i]))
        if len(odd) and min(MOST_VECTORS, k) >= T:
            value = max(value, float(np.prod(odd / ((k if held is None else held) + odd))))
        result.append(value)
    return tuple(result)


def pooled_by_spread(
    metrics: tuple[Any, ...], batches: tuple[Any, Any], mean: np.ndarray, squared: np.ndarray
) -> tuple[Any, ...]:
    """For each metric the p-value that the spreads of two batches allow; shapes mean (m,), squared (q,)."""
    # the covariance of a row is that of all rows about their common mean; the law has its trace, the sums of squares
    # and cubes of the eigenvalues of its sketch, on average too large, and the variance that the fourth powers allow
    n, T = (one.num_rows for one in batches)
    N, result = n + T, []
    every = sum(one.num_rows * one.means for one in batches) / N
    both = {name: sum(one.arrays[name] for one in batches) for name in OF_SPREAD}
    for i, metric in enumerate(metrics):
        length, scatter, square = _about_mean(metric, both, i, every - mean, N)
        trace = max(square, 0.0) / (N - 1)
        values = np.maximum(np.linalg.eigvalsh(scatter), 0.0) / (N - 1)
        second, scale = float((values**2).sum()), three_moments(values).scale
        fourth = ((both["fourths"][i] / N) ** 0.25 + length) ** 4
        width = 1 / T + 1 / n
        stretch = excess_of(trace, np.sqrt(second), fourth) * (T**-3.0 + n**-3.0) / width**2
        law = ThreeMoments(trace, second, scale)
        result.append(float(law.tail(squared[i] / width, max(1.0, 1.0 + float(stretch)))))
    return tuple(result)


def _about_mean(
    metric: Any, spread: Spread, i: int, mean: np.ndarray, T: int
) -> tuple[float, np.ndarray, float]:
    """The length of the mean of T rows in metric i, and about it their sketch (r, r) and sum of squares."""
    center = metric.apply(mean)
    length, small = float(np.linalg.norm(center)), _signs(len(center)) @ center
    scatter = spread["sketch"][i] - T * np.outer(small, small)
    return length, scatter, spread["squares"][i] - T * length**2


def _norms(scatter: np.ndarray, square: float, T: int) -> np.ndarray:
    """(3,) trace, and bounds by the sketch on Frobenius norm and largest eigenvalue, of the covariance of T rows."""
    if T < 2:
        return np.zeros(3)
    trace = max(square, 0.0) / (T - 1)
    frobenius = min(float(np.linalg.norm(scatter)) / (T - 1), trace)
    largest = max(float(np.linalg.eigvalsh(scatter)[-1]), 0.0) / (T - 1)
    return np.array([trace, frobenius, min(largest, frobenius)])


def _signs(l: int) -> np.ndarray:
    """(r, l) R."""
    bits = np.random.default_rng([SKETCH_SEED, l]).integers(0, 2, size=(SKETCH, l))
    return (2.0 * bits - 1.0) / np.sqrt(SKETCH)


SLACK = 1e-3  # roundings, and likelihoods of units whose parameters sum to a little more than 1


def check_possible(test: Any, summary: BatchSummary, name: str = "summary") -> None:
    """Raise unless the sums of a summary can be those of so many rows."""
    vectors, parts = test.vectors, test.calibration
    if len(summary.sums) != vectors.size:
        raise ValueError(
            f"`{name}` has {len(summary.sums)} sums, expected {vectors.size}: make the summary again"
        )
    T, bounds, arrays = summary.num_rows, vectors.bounds, summary.arrays
    most = summary.seen * bounds * (1 + SLACK)
    least = np.where(np.arange(vectors.size) < len(vectors.nodes), 0.0, -most) - 1e-9 * T
    fits = ((summary.sums <= most) & (summary.sums >= least)).all()
    if parts.kept is not None:
        fits = fits and "squares" in arrays and _is_of_rows(arrays, T, parts.metrics, bounds)
    if not fits:
        raise ValueError(f"`{name}` holds sums that {T} rows cannot have: make the summary again")


def _is_of_rows(spread: Spread, T: int, metrics: tuple[Any, ...], bounds: np.ndarray) -> bool:
    """Whether sums of squares, and what goes with them, can be those of T rows of numbers with such bounds."""
    reach = np.array([metric.reach(2 * bounds) for metric in metrics])
    corners = np.array([np.abs(signs).T @ (2 * bounds) for signs in sketches_of(metrics)])
    squares, fourths, most = spread["squares"], spread["fourths"], 1 + SLACK
    if squares.shape != reach.shape or spread["sketch"].shape[1:] != corners.shape[1:] * 2:
        return False
    with np.errstate(over="ignore"):  # infinite is too large
        fits = (squares <= T * reach**2 * most) & (squares**2 <= T * fourths * most)
        fits &= fourths <= squares**2 * most
    products = corners[:, :, None] * corners[:, None, :]
    return bool(fits.all() and (np.abs(spread["sketch"]) <= T * products * most).all())


BLOCK_VALUES = 4_000_000  # likelihoods that are held at a time
CACHED_VALUES = (
    125_000  # of these, differences that metrics look at in turn: a megabyte, which caches hold
)
MOST_SPREAD, LEAST_SPREAD = 20_000, 1_000  # rows whose spread is taken; of each further chunk
SEED = 17  # of their choice


def summarize_rows(test: Any, rows: Any, *, first: int = 0) -> BatchSummary:
    """The summary of rows for a test.

    Shapes: rows (n, V).
    O(n) times the mean likelihoods of rows; where rows are the reference, the metrics of at most 20,000 rows beside it,
    and of 1,000 of each further chunk: how rows spread is estimated from these, as it is where the rows are at hand.
    """
    rows = checked(test.circuit, rows, "rows")
    num_missing = int(is_missing(rows).sum()) if rows.size else 0
    if num_missing and test.missing == "exact":
        raise ValueError(
            f"`rows` has {num_missing} missing entries, expected none with missing='exact', whose null "
            "depends on which they are: test the rows, or use another `missing`"
        )
    if num_missing and test.missing == "complete":
        rows, _ = complete(test.circuit, rows, test.settings.seed + first)
    sums, seen = test.vectors.sums(rows)
    arrays = {"sums": sums, "seen": seen}
    if test.calibration.kept is not None:
        arrays |= _spread(test, rows, first)
    return BatchSummary(test.fingerprint, len(rows), num_missing, arrays)


def _spread(test: Any, rows: np.ndarray, first: int) -> Spread:
    """The spread of rows, from a sample of them where they are many; `first` rows of the batch came before."""
    look, parts, most = test.vectors, test.calibration, max(LEAST_SPREAD, MOST_SPREAD - first)
    sketches, share, n = sketches_of(parts.metrics), 1.0, len(rows)
    found = dict(spread_of(parts.metrics, sketches, parts.kept, np.zeros((0, look.size))))
    if n > most:
        chosen = np.random.default_rng([SEED, first, n]).choice(n, size=most, replace=False)
        rows, share = rows[np.sort(chosen)], most / n
    for block in _blocks(rows, BLOCK_VALUES // look.size):
        differences = np.where(look.seen(block), parts.differences(look, block), 0.0)
        for piece in _blocks(differences, CACHED_VALUES // look.size):
            for name, one in spread_of(parts.metrics, sketches, parts.kept, piece).items():
                found[name] = found[name] + one
    scaled = {name: one / share for name, one in found.items()}
    scaled["odd"] = np.round(scaled["odd"]).astype(np.int64)
    return scaled


def _blocks(rows: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """So many rows at a time, at least one."""
    size = max(1, size)
    return (rows[start : start + size] for start in range(0, len(rows), size))


@dataclass(frozen=True, eq=False)
class RowSums:
    """Sums over rows: they travel, and add up in the order of the rows.

    Shapes: sums, counts (size,), rows (r, V), numbers (r,).
    """

    num_rows: int
    num_missing: int
    sums: np.ndarray
    counts: np.ndarray
    rows: np.ndarray
    numbers: np.ndarray

    def __add__(self, other: RowSums) -> RowSums:
        """Those of both."""
        return RowSums(
            self.num_rows + other.num_rows,
            self.num_missing + other.num_missing,
            self.sums + other.sums,
            self.counts + other.counts,
            *_chosen(
                np.concatenate([self.rows, other.rows]),
                np.concatenate([self.numbers, other.numbers]),
            ),
        )

    @property
    def is_whole(self) -> bool:
        """Whether every row is kept."""
        return self.num_rows == len(self.rows)

    def shown(self, vectors: RowVectors) -> Shown:
        """What the rows show of the numbers of a vector."""
        return shown_by(vectors, self.sums, self.counts, self.num_rows, self.rows)


def row_sums(test: Any, rows: np.ndarray, rng: np.random.Generator, first: int) -> RowSums:
    """Sums over a chunk (n, V) of evidence, -1 for a hole; so many rows, or seeds, came before it."""
    missing = int(is_missing(rows).sum())
    if missing and test.missing != "available":
        rows, _ = complete(test.circuit, rows, test.settings.seed + first)
    sums, counts = test.vectors.sums(rows)
    return RowSums(len(rows), missing, sums, counts, *_chosen(rows, rng.random(len(rows))))


def _chosen(rows: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows with the smallest numbers, as many as are kept, in their order."""
    if len(numbers) <= MOST_PAIRED:
        return rows, numbers
    kept = np.sort(np.argpartition(numbers, MOST_PAIRED)[:MOST_PAIRED])
    return rows[kept], numbers[kept]
