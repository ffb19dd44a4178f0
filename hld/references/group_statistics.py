r"""Statistics of a group of rows that have no bound: how far numbers lie, how far they spread, what goes together.

Likelihoods are bounded, so that a column a hundred standard deviations away looks like one three away.  Beside them a
group of n rows has these statistics, all functions of means over its rows, which can be kept for several n and mixed:

* of each column of numbers, but of dates, the mean and the logarithm of the root mean square of

.. math:: x = c \, \mathrm{arsinh}\frac{\text{value} - \text{centre}}{c \, \text{scale}}, \qquad c = 30,

  nearly linear up to thirty scales from the centre and a logarithm beyond, so that no double is too large;
* of up to eight pairs of columns, the strongest of the tree, Fisher's z of the correlation of two scores, those of the
  first canonical variables of the pair of categories in the rows learned from;
* of each column the shares of missing values and of values that learning did not show or beyond its range, as the
  arcsine of their roots; not the latter of dates, as each day is at its own;
* likewise the shares of rows that are odd, by their magnitude, say: odder than 7/8, than 63/64 and than all of those
  learned from, and far odder (`hld.features.odd_rows`).

A small constant beside the mean square, and the root of those of a pair, keeps all of them finite for a single row.
None depends on the number of rows but by chance, so that a batch may have more rows than the groups.

**How far a group is from others.**  With y_g one statistic of N groups, mean and variance of the others than g, and
V_g what the rows of the group itself can have moved it by,

.. math:: t_g = \frac{|y_g - \bar y_{-g}|}{\sqrt{s_{-g}^2 N / (N - 1) + V_g}}, \qquad
          V_g = \frac{1}{k} \Bigl( v_g + \frac{(y_g - \bar y_{-g})^2}{k + 1} \Bigr),

with k rows that show it and v_g the variance of one, as in `variation.group_test`: T rows that all go one way count
as T and a half at most, and h of them that do as the root of h.  Each t is the same function of a group and of the set
of all, and so is the largest, which is ranked (`hld.testing.variation.group_test`).

**The law beyond the ranks** takes t of the batch for that of Student with min(4, G - 1) degrees of freedom, times the
number of statistics (Bonferroni), from `FEWEST` groups on.  Groups need not be normal, but nothing guarantees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import pcircuit
from hld.features.odd_rows import ODDNESS, array_of_names, names_of_array, odd_edges
from pcircuit.io.archive import finite_array

FEWEST = 10  # groups from which on a law goes beyond the ranks
MOST_DEGREES = 4
MOST_PAIRS = 8
LINEAR = 30.0  # scales from the centre up to which a number counts as it is
FARTHEST = 25_000.0  # the largest double, in these units
LARGEST_SCORE = 3.0  # of a category, in standard deviations: rare ones do not carry a pair
USUAL = 3.29  # standard deviations between the quantiles .05 and .95 of a normal variable
LEAST_SQUARE, LEAST_PRODUCT = (
    0.01,
    0.02,
)  # of numbers in units of the scale, and of scores of a pair
MOST_Z = 0.999  # hyperbolic tangent of the largest Fisher's z
SAME = 1e-9
CUTS = (1 / 8, 1 / 64, 0.0)  # of the rows learned from are beyond
FAR = 3  # edges further (`odd_edges`)
ARRAYS = ("numeric", "scale", "pairs", "scores", "missing", "new", "cuts")


class Cells(NamedTuple):
    """What codes do not show of rows: numbers (N, V), NaN where there are none, and marks (N, V), 1 of new values.

    Columns that are `hidden` are not looked at.
    """

    numbers: np.ndarray
    marks: np.ndarray
    hidden: tuple[int, ...] = ()

    def rows(self, some: Any, hidden: Sequence[int] = ()) -> Cells:
        """The cells of some rows, with further columns hidden."""
        return Cells(self.numbers[some], self.marks[some], (*self.hidden, *hidden))


def joined_cells(parts: Sequence[Cells]) -> Cells:
    """The cells of all rows of several tables."""
    numbers, marks, _ = zip(*parts, strict=True)
    return Cells(np.concatenate(numbers), np.concatenate(marks))


@dataclass(frozen=True, eq=False)
class GroupStatistics:
    """Which statistics there are.

    Shapes: numeric (K,), scale (2, K), pairs (P, 2), scores (2, P, C), missing (H,), new (W,), cuts (S, 4).
    """

    num_columns: int
    numeric: np.ndarray
    scale: np.ndarray
    pairs: np.ndarray
    scores: np.ndarray
    missing: np.ndarray
    new: np.ndarray
    cuts: np.ndarray
    odd: tuple[str, ...]

    @property
    def size(self) -> int:
        """F, numbers of a row."""
        shares = len(self.missing) + len(self.new) + self.cuts.size
        return 4 * len(self.numeric) + 6 * len(self.pairs) + shares

    @property
    def bounds(self) -> np.ndarray:
        """(F,) what no number of a row exceeds."""
        K, P = len(self.numeric), len(self.pairs)
        found = np.ones(self.size)
        found[: 4 * K] = np.repeat([1.0, FARTHEST, FARTHEST**2, FARTHEST**4], K)
        found[4 * K + P : 4 * K + 6 * P] = LARGEST_SCORE**2
        return found

    @property
    def parts(self) -> np.ndarray:
        """(M,) what each statistic speaks of: column v is v, pair e is V + e, and number s of `odd` V + P + s."""
        pairs = self.num_columns + np.arange(len(self.pairs))
        odd = (
            self.num_columns
            + len(self.pairs)
            + np.arange(len(self.cuts)).repeat(self.cuts.shape[1])
        )
        return np.concatenate([self.numeric, self.numeric, pairs, self.missing, self.new, odd])

    @property
    def num_parts(self) -> int:
        """V + P + S."""
        return self.num_columns + len(self.pairs) + len(self.cuts)

    def features(
        self, circuit: pcircuit.Circuit, codes: np.ndarray, cells: Cells | None
    ) -> np.ndarray:
        """(N, F) numbers of rows whose means are all that the statistics need; shapes codes (N, V)."""
        center, scale = self.scale
        if cells is None:
            cells = Cells(np.full(codes.shape, np.nan), np.zeros(codes.shape, np.uint8))
        with np.errstate(over="ignore"):
            x = LINEAR * np.arcsinh((cells.numbers[:, self.numeric] - center) / (LINEAR * scale))
        shown = ~np.isnan(x)
        x = np.clip(np.where(shown, x, 0.0), -FARTHEST, FARTHEST)
        u, v = self.pairs.T
        both = (codes[:, u] >= 0) & (codes[:, v] >= 0)
        each = np.arange(len(self.pairs))
        f, g = (
            np.where(both, side[each, np.maximum(codes[:, w], 0)], 0.0)
            for side, w in zip(self.scores, (u, v), strict=True)
        )
        odd = [
            ODDNESS[name].values(circuit, codes, cells.marks)[:, None] > cuts
            for name, cuts in zip(self.odd, self.cuts, strict=True)
        ]
        return np.concatenate(
            [shown, x, x**2, x**4, both, f, g, f**2, g**2, f * g]
            + [codes[:, self.missing] < 0, cells.marks[:, self.new] & 1, *odd],
            axis=1,
            dtype=np.float64,
        )

    def values(self, means: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, ...]:
        """(3, N, M) statistics of N groups of n rows, the variance that one row gives each, and rows that show it.

        Shapes: means (N, F), n (N,).
        """
        K, P = len(self.numeric), len(self.pairs)
        ends = np.cumsum([K] * 4 + [P] * 6)
        shown, x, x2, x4, both, *scores, odd = np.split(means, ends, axis=1)
        mean, square, fourth = (one / np.maximum(shown, SAME) for one in (x, x2, x4))
        f, g, f2, g2, fg = (one / np.maximum(both, SAME) for one in scores)
        product = np.maximum(f2 - f**2, 0.0) * np.maximum(g2 - g**2, 0.0)
        z = np.arctanh(np.clip((fg - f * g) / (np.sqrt(product) + LEAST_PRODUCT), -MOST_Z, MOST_Z))
        size = np.maximum(square, 0.0) + LEAST_SQUARE
        y = np.concatenate(
            [mean, np.log(size) / 2, z, np.arcsin(np.sqrt(np.clip(odd, 0, 1)))], axis=1
        )
        varies = [
            np.maximum(square - mean**2, 0.0),
            np.maximum(fourth - square**2, 0.0) / (2 * size) ** 2,
            np.ones_like(z),
            np.full_like(odd, 0.25),
        ]
        counts = np.concatenate([shown, shown, both, np.ones_like(odd)], axis=1) * n[:, None]
        return y, np.concatenate(varies, axis=1), counts

    def distances(
        self, means: np.ndarray, n: np.ndarray, hidden: tuple[int, ...] = (), worth: float = 1.0
    ) -> np.ndarray:
        """(N, M) t of each of N groups among the others; 0 in columns that are hidden, and where nothing differs.

        A row of the groups is `worth` so many independent ones.

        Shapes: means (N, F), n (N,).
        """
        (y, v, k), N = self.values(means, n), len(means)
        away = (y - y.mean(axis=0)) * N / (N - 1)
        squares = ((y - y.mean(axis=0)) ** 2).sum(axis=0) - away**2 * (N - 1) / N
        among = np.maximum(squares, 0.0) / max(N - 2, 1) * N / (N - 1)
        k = np.maximum(k * worth, 0.0)
        own = np.divide(v + away**2 / (k + 1), k, out=np.full_like(v, np.inf), where=k > 0)
        differs = np.abs(away) > SAME * np.maximum(np.abs(y), 1.0)
        t = np.where(differs, np.abs(away) / np.sqrt(np.maximum(among + own, 1e-300)), 0.0)
        pairs = self.num_columns + np.flatnonzero(np.isin(self.pairs, hidden).any(axis=1))
        t[:, np.isin(self.parts, [*hidden, *pairs])] = 0.0
        return t

    def smallest_pvalue(self, T: int, num_groups: int) -> float:
        """What the law gives no batch of T rows less than, as t is at most the root of T (T + 1), for one statistic."""
        return float(t_law(np.sqrt(T * (T + 1.0)), num_groups))

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Arrays for a file."""
        return {name: getattr(self, name) for name in ARRAYS} | {"odd": array_of_names(self.odd)}

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, Any], num_categories: tuple[int, ...]
    ) -> GroupStatistics:
        """What `to_arrays` gave, for columns with so many categories; ValueError where it does not fit."""
        odd = names_of_array(arrays)
        cuts = finite_array(arrays, "cuts", (len(odd), len(CUTS) + 1))
        V, C = len(num_categories), max(num_categories)
        numeric, *counted = (
            finite_array(arrays, name, (None,), np.int64) for name in ("numeric", "missing", "new")
        )
        pairs = finite_array(arrays, "pairs", (None, 2), np.int64)
        scale = finite_array(arrays, "scale", (2, len(numeric)))
        scores = finite_array(arrays, "scores", (2, len(pairs), C if len(pairs) else None))
        fits = [(one >= 0).all() and (one < V).all() for one in (numeric, pairs, *counted)]
        if not all(fits) or not (scale[1] > 0).all() or (np.abs(scores) > LARGEST_SCORE).any():
            raise ValueError("the statistics of groups do not fit the columns")
        missing, new = counted
        return cls(V, numeric, scale, pairs, scores, missing, new, cuts, odd)


def no_statistics(num_columns: int) -> GroupStatistics:
    """No statistics of so many columns."""
    none = np.zeros(0, np.int64)
    return GroupStatistics(
        num_columns,
        none,
        np.zeros((2, 0)),
        none.reshape(0, 2),
        np.zeros((2, 0, 0)),
        none,
        none,
        np.zeros((0, len(CUTS) + 1)),
        (),
    )


def group_statistics(
    columns: tuple[Any, ...],
    codes: np.ndarray,
    numbers: np.ndarray,
    ordered: tuple[int, ...],
    edges: np.ndarray,
    *,
    counts_missing: bool = True,
    circuit: pcircuit.Circuit | None = None,
) -> GroupStatistics:
    """Choose centres, scales, pairs and, with a circuit, what is odd, by rows that were learned from.

    Shapes: codes (n, V), numbers (n, V), edges (E, 2).
    """
    timeless = [v for v, column in enumerate(columns) if column.kind != "date"]
    num_categories = tuple(column.num_categories for column in columns)
    numeric, scale = [], []
    for v in sorted({*ordered} & {*timeless}):
        known = numbers[np.isfinite(numbers[:, v]), v]
        if len(known):
            low, center, high = np.quantile(known, [0.05, 0.5, 0.95])
            width = (high - low) / USUAL or float(np.ptp(known))
            if np.isfinite(width) and width > 0:
                numeric.append(v)
                scale.append((center, width))
    cuts = []
    if circuit is not None:
        cuts = [_cuts(one.values(circuit, codes, None)) for one in ODDNESS.values()]
    found = [_canonical(codes, u, v, num_categories) for u, v in edges.tolist()]
    best = np.argsort([-strength for strength, _ in found], kind="stable")[:MOST_PAIRS]
    scores = np.array([found[e][1] for e in best.tolist()]).reshape(-1, 2, max(num_categories))
    return GroupStatistics(
        len(columns),
        np.array(numeric, dtype=np.int64),
        np.array(scale, dtype=np.float64).reshape(-1, 2).T,
        edges[best].reshape(-1, 2),
        scores.swapaxes(0, 1),
        np.arange(codes.shape[1] if counts_missing else 0),
        np.array(timeless, dtype=np.int64),
        np.array(cuts).reshape(-1, len(CUTS) + 1),
        tuple(ODDNESS)[: len(cuts)],
    )


def _cuts(values: np.ndarray) -> np.ndarray:
    """(4,) numbers beyond which fewer and fewer of the rows learned from are, and one that is far beyond all.

    Shapes: values (n,).
    """
    edges = odd_edges(values)
    above = (values[:, None] > edges).mean(axis=0)
    places = [int(np.argmax(above <= share)) for share in CUTS]
    return np.asarray(edges[[*places, places[-1] + FAR]])


def _canonical(
    codes: np.ndarray, u: int, v: int, num_categories: tuple[int, ...]
) -> tuple[float, np.ndarray]:
    """The first canonical correlation of two columns, and scores (2, C) of their categories, of mean 0, variance 1."""
    shown = (codes[:, [u, v]] >= 0).all(axis=1)
    table = np.zeros((num_categories[u], num_categories[v]))
    np.add.at(table, (codes[shown, u], codes[shown, v]), 1.0)
    scores = np.zeros((2, max(num_categories)))
    rows, cols = table.sum(axis=1), table.sum(axis=0)
    root = np.sqrt(np.outer(rows, cols))
    ratio = np.divide(table, root, out=np.zeros_like(table), where=root > 0)
    expected = root / max(table.sum(), 1.0)
    left, singular, right = np.linalg.svd(ratio - expected)
    for side, vector, counts in ((0, left[:, 0], rows), (1, right[0], cols)):
        own = vector * np.sqrt(table.sum() / np.maximum(counts, 1.0)) * (counts > 0)
        scores[side, : len(own)] = np.clip(own, -LARGEST_SCORE, LARGEST_SCORE)
    return float(singular[0]), scores


def t_law(t: np.ndarray, num_groups: int) -> np.ndarray:
    """P-values of t by the law beyond the ranks, each by itself; 1 for too few groups."""
    from scipy.special import stdtr

    if num_groups < FEWEST:
        return np.ones_like(t)
    return 2 * stdtr(min(MOST_DEGREES, num_groups - 1), -t)
