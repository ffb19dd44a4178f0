r"""Groups as reference: days, sites, customers, each a batch by itself, none exactly like another.

Let group g have an effect theta_g, drawn independently of the others from one law, and rows that are independent given
theta_g.  The mean vector M of T rows of a fresh group has

.. math:: E[M] = \mu, \qquad \mathrm{Cov}(M) = B + S / T,

with B the covariance of the groups' own means and S that of a row within its group.  More rows make S / T small and
leave B: a test that knows only S rejects every large batch.  From G groups with means M_1..M_G, all of T rows, the
sample covariance of the M_g estimates B + S / T as a whole, with rank at most G - 1: neither matrix is formed.

**Equal sizes.**  Batches and groups have different numbers of rows, on which their variances depend.  So for each
group the means of its first 1, 4, 16, 64, ... rows in a random order, and of all n_g, are kept.  For s < T < s' between
two of these sizes, with b the mean of rows s + 1..s' (which is known from the two),

.. math:: M_g(T) = w M_g(s) + (1 - w) b, \qquad \frac{w^2}{s} + \frac{(1 - w)^2}{s' - s} = \frac{1}{T}

has covariance B + S_g / T exactly, with the group's own S_g.  A group of fewer than T rows gives its mean: it varies
more than the batch, which makes p-values larger, never smaller.  So do the means of 1 and 4 rows that batches of 2, 3
and 5 are compared with: a mixture of so few rows has the covariance, but other values than a mean of T rows, and ranks
among mixtures would be too small.

**Holes.**  An entry of a vector that a row does not show is replaced by a constant, `fill`, in groups and batches
alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from hld.features.row_vectors import RowVectors, bounded_array
from hld.references.covariances import RowCovariance
from pcircuit.evidence import is_missing
from pcircuit.io.archive import finite_array

STEP = 4  # ratio of the sizes at which means are kept
MOST_BYTES = 2**26  # of all means
FEWEST_MIXED = 6  # rows of a batch from which on means of two sizes are mixed
FEWEST_NEEDED = 19  # groups among which a batch can have p = 0.05
FEWEST_GROUPS = 3  # one to learn from and two to compare with
BLOCK_VALUES = 20_000_000
NONE = np.zeros(0)
Features = Callable[[Any], np.ndarray]  # (n, F) further numbers of the rows at some positions


def no_features(some: np.ndarray) -> np.ndarray:
    """No further numbers of rows."""
    return np.zeros((len(some), 0))


class Compared(NamedTuple):
    """Means of groups as those of a batch: their centre, G differences from it, and rows that each is of.

    A row is `worth` so many independent ones; 0 where nothing varies.

    Shapes: center (size + F,), differences (G, size + F), sizes (G,).
    """

    center: np.ndarray
    differences: np.ndarray
    sizes: np.ndarray
    worth: float


@dataclass(frozen=True, eq=False)
class GroupReference:
    """Means of groups at several numbers of rows.

    Shapes: counts (G,), means (R, G, size + F), within (size,), fill (size,), with F numbers for further statistics.
    """

    counts: np.ndarray
    means: np.ndarray
    within: np.ndarray
    fill: np.ndarray

    @property
    def num_groups(self) -> int:
        """G."""
        return len(self.counts)

    def at(self, num_rows: int) -> np.ndarray:
        """(G, size) means of the groups with the covariance that means of so many rows have, or of fewer rows."""
        ends = np.minimum(
            STEP ** np.arange(len(self.means), dtype=np.float64)[:, None], self.counts
        )  # (R, G)
        T = np.minimum(num_rows, self.counts).astype(np.float64)
        below = np.maximum((ends <= T).sum(axis=0) - 1, 0)
        above, places = np.minimum(below + 1, len(self.means) - 1), np.arange(len(T))
        s, more = ends[below, places], ends[above, places] - ends[below, places]
        first, whole = self.means[below, places], self.means[above, places]
        gap = np.maximum(more, 1.0)
        rest = (whole * (s + more)[:, None] - first * s[:, None]) / gap[:, None]
        a = 1 / s + 1 / gap
        w = (1 / gap + np.sqrt(np.maximum(gap**-2.0 - a * (1 / gap - 1 / T), 0.0))) / a
        w = np.where((more > 0) & (num_rows >= FEWEST_MIXED), np.clip(w, 0.0, 1.0), 1.0)[:, None]
        return w * first + (1 - w) * rest

    def covariance_at(self, num_rows: int) -> RowCovariance:
        """The sample covariance of these means: B + S / T, by its rows."""
        means = self.at(num_rows)[:, : len(self.fill)]
        return RowCovariance(means - means.mean(axis=0))

    def compared(self, num_rows: int) -> Compared:
        """What a batch of so many rows is compared with."""
        means = self.at(num_rows)
        center = means.mean(axis=0)
        mixed = num_rows if num_rows >= FEWEST_MIXED else STEP ** (num_rows >= STEP)
        return Compared(center, means - center, np.minimum(mixed, self.counts), 1.0)

    def to_arrays(self) -> dict[str, Any]:
        """All arrays, by name."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, Any], bounds: np.ndarray, further: np.ndarray = NONE
    ) -> GroupReference:
        """What `to_arrays` gave, for vectors and further numbers (F,) with such bounds; ValueError where it is none."""
        size, every = len(bounds), np.append(bounds, further)
        counts = finite_array(arrays, "counts", (None,), np.int64)
        if len(counts) < 2 or counts.min() < 1:
            raise ValueError("the groups of the test must be two or more, of one row or more each")
        means = bounded_array(arrays, "means", (num_sizes(counts), len(counts), len(every)), every)
        within = bounded_array(arrays, "within", (size,), 2 * bounds**2)  # of two rows
        fill = bounded_array(arrays, "fill", (size,), bounds)
        if (within < 0).any():
            raise ValueError("variances within groups must be at least 0")
        return cls(counts, means, within, fill)


def group_reference(
    vectors: RowVectors,
    rows: np.ndarray,
    labels: np.ndarray,
    fill: np.ndarray,
    rng: np.random.Generator,
    features: Features = no_features,
) -> GroupReference:
    """The reference of labelled rows, with means of further numbers of theirs.

    Shapes: rows (n, V), labels (n,), fill (size,).
    One pass over the rows; at most 64 MiB of means, for which some groups may be left out.
    """
    order = np.argsort(labels, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    sizes = num_sizes(np.array([len(one) for one in groups]))
    width = vectors.size + features(order[:1]).shape[1]
    most = max(MOST_BYTES // (8 * width * sizes), 2)
    if len(groups) > most:
        groups = [groups[g] for g in np.sort(rng.permutation(len(groups))[:most])]
    counts = np.array([len(one) for one in groups], dtype=np.int64)
    sizes = num_sizes(counts)
    means, squares = np.empty((sizes, len(groups), width)), np.zeros(width)
    blocks = np.cumsum(counts) // max(1, BLOCK_VALUES // width)  # of successive groups
    for block in np.unique(blocks):
        some = np.flatnonzero(blocks == block)
        ordered = np.concatenate([rng.permutation(groups[g]) for g in some])
        values = np.hstack([filled_rows(vectors, rows[ordered], fill), features(ordered)])
        for g, own in zip(some, np.split(values, np.cumsum(counts[some])[:-1]), strict=True):
            means[:, g] = [
                own[:end].mean(axis=0) for end in np.minimum(STEP ** np.arange(sizes), counts[g])
            ]
            squares += ((own - means[-1, g]) ** 2).sum(axis=0)
    within = squares[: vectors.size] / max(int((counts - 1).sum()), 1)
    return GroupReference(counts, means, within, fill)


def num_sizes(counts: np.ndarray) -> int:
    """R, numbers of rows at which means are kept: 1, 4, 16, ... up to all rows of the largest group."""
    return 1 + int(np.ceil(np.log(counts.max()) / np.log(STEP) - 1e-9)) if counts.max() > 1 else 1


def mean_of(
    vectors: RowVectors, rows: np.ndarray, fill: np.ndarray, features: Features
) -> np.ndarray:
    """(size + F,) mean vector of the rows of a batch, holes filled as in the groups, and of their further numbers."""
    total: Any = 0.0
    step = max(1, BLOCK_VALUES // (20 * vectors.size))
    for start in range(0, len(rows), step):
        some = np.arange(start, min(start + step, len(rows)))
        values = filled_rows(vectors, rows[some], fill)
        total = total + np.append(values.sum(axis=0), features(some).sum(axis=0))
    return np.asarray(total) / len(rows)


def filled_rows(vectors: RowVectors, rows: np.ndarray, fill: np.ndarray) -> np.ndarray:
    """(n, size) vectors of rows, with `fill` where a row does not show a number.

    Shapes: rows (n, V), fill (size,) -> (n, size).
    """
    values = vectors.rows(rows)
    if is_missing(rows).any():
        return np.where(vectors.seen(rows), values, fill)
    return values


def split_groups(labels: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the rows to learn from and of those of the reference, by whole groups.

    A circuit is a better model of the groups that it learned from than of any other: their means and that of a fresh
    group are not exchangeable, also if other rows of theirs are taken.  So learning has groups of its own, and the
    reference has the others: half of all, or 19 where these are more, but one is always learned from.

    Shapes: labels (n,).
    """
    G = int(labels.max()) + 1 if len(labels) else 0
    if G < FEWEST_GROUPS:
        raise ValueError(
            f"`groups` names {G} group{'s' * (G != 1)}, expected at least {FEWEST_GROUPS}: one to learn "
            f"from and two to compare with; p-values are at least 1 / (1 + groups compared with)"
        )
    is_kept = np.zeros(G, dtype=bool)
    is_kept[rng.permutation(G)[: max(-(-G // 2), min(FEWEST_NEEDED, G - 1))]] = True
    kept = is_kept[labels]
    return np.flatnonzero(~kept), np.flatnonzero(kept)
