"""Which scores a stream is ranked by: single nodes from the start, and directions learned from its own earlier rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hld.streams.races import Races, no_races, start

MOST_FIXED = 256  # nodes with a race of their own
LIVE = 48  # races of learned directions at a time
KINDS = 4  # directions that are learned at a time: two means, each plain and whitened
FIXED_SHARE = 0.5  # of the weights
FORGETTING = 1 / 64
RIDGE, MOST_WHITENED = 0.03, 1000
LEAST_STD = 1e-290  # of a likelihood that is compared


@dataclass(frozen=True, eq=False)
class Scores:
    """What directions are made with.

    Shapes: trained, reference (a, m), fixed (F,), mean, scale (m,), whitening (m, m).
    """

    trained: np.ndarray
    reference: np.ndarray
    fixed: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    whitening: np.ndarray

    def learned(self, means: np.ndarray) -> np.ndarray:
        """(m, KINDS) directions from running means (2, m) of standardised deviations."""
        found = []
        for mean in means:
            found += [
                np.divide(mean, self.scale, out=np.zeros(len(mean)), where=self.scale > 0),
                (self.whitening @ mean if len(self.whitening) else mean) * self.scale,
            ]
        stacked = np.stack(found, axis=1)
        length = np.abs(stacked).max(axis=0)
        return stacked / np.where(length > 0, length, 1.0)


def scores_of(vectors: np.ndarray) -> Scores:
    """The scores for reference vectors (n, m): a quarter of them, at most 1,000, makes bins and directions."""
    a = min(max(len(vectors) // 4, 2), 1000)
    trained, reference = vectors[:a], vectors[a:]
    mean, stds = trained.mean(axis=0), trained.std(axis=0)
    varies = stds > 1e-9 * np.maximum(np.abs(mean), 1e-300)
    stds = np.where(
        varies, stds, mean / np.sqrt(a)
    )  # at most about so much, if none of `a` rows shows that it varies
    scale = np.divide(1.0, stds, out=np.zeros(len(stds)), where=stds > LEAST_STD)
    fixed = np.flatnonzero(varies if varies.any() else scale)
    fixed = (
        fixed[np.unique(np.linspace(0, len(fixed) - 1, min(len(fixed), MOST_FIXED)).astype(int))]
        if len(fixed)
        else fixed
    )
    whitening = np.zeros((0, 0))
    if len(mean) <= MOST_WHITENED:
        rows = (trained - mean) * scale
        correlations = rows.T @ rows / len(rows)
        correlations[np.diag_indices_from(correlations)] = np.where(
            varies, correlations.diagonal(), 1.0
        )
        largest = max(float(np.linalg.eigvalsh(correlations)[-1]), 1e-300)
        whitening = np.linalg.inv(correlations + RIDGE * largest * np.eye(len(mean)))
    return Scores(trained, reference, fixed, mean, scale, whitening)


def first_races(scores: Scores) -> Races:
    """The races of single nodes, and places for those of directions."""
    races = no_races(len(scores.fixed) + LIVE)
    for k, j in enumerate(scores.fixed):
        start(
            races,
            k,
            scores.trained[:, j],
            scores.reference[:, j],
            float(np.log(FIXED_SHARE / len(scores.fixed))),
        )
    return races


def starts_at(num_rows: int) -> bool:
    """Whether directions are learned after so many rows: every 16 rows to 64, every 32 to 512, then every 64."""
    step = 16 if num_rows <= 64 else 32 if num_rows <= 512 else 64
    return num_rows > 0 and num_rows % step == 0


def num_starts(num_rows: int) -> int:
    """How often directions have been learned after so many rows."""
    return (
        num_rows // 16
        if num_rows <= 64
        else num_rows // 32 + 2
        if num_rows <= 512
        else num_rows // 64 + 10
    )


def weight_of(number: int) -> float:
    """Natural logarithm of the weight of each race of the directions that are learned for the n-th time, n >= 1."""
    return float(np.log((1 - FIXED_SHARE) / (number * (number + 1.0)) / KINDS))


def next_start(num_rows: int) -> int:
    """The first number of rows above this one after which directions are learned."""
    while True:
        num_rows += 1
        if starts_at(num_rows):
            return num_rows


def start_directions(
    scores: Scores, races: Races, directions: np.ndarray, means: np.ndarray, number: int
) -> None:
    """Start the races of newly learned directions, in the places of those that are farthest behind.

    Shapes: directions (m, LIVE), means (2, m).
    """
    F = len(scores.fixed)
    weighted = (races.log + races.log_weights)[F:]
    for i, direction in zip(
        np.argsort(weighted, kind="stable")[:KINDS], scores.learned(means).T, strict=True
    ):
        directions[:, i] = direction
        start(
            races,
            F + int(i),
            (scores.trained * direction).sum(axis=1),
            (scores.reference * direction).sum(axis=1),
            weight_of(number),
        )
