"""Kinds of shift: each turns fresh rows of a source into shifted ones.

    class            rows of another class
    permuted         one column drawn from other rows: its dependence is lost, every margin is kept
    margin           one nominal column drawn anew in 30 % of the rows, all its levels alike
    drift            one numeric column moved by a quarter of its standard deviation
    contaminated10   10 % of the rows from the other class
    contaminated5    5 %
    swapped          two levels of one nominal column exchanged, the most frequent and the next
    replaced         one column takes its most frequent value, or its median, in half of the rows
    tails            the top decile of one numeric column times ten
    unseen           a level that training does not show in 20 % of the rows of one nominal column

The columns of a cell are chosen at random among those that the kind is for, by a seed of data set and kind; a column
that is constant in all but 2 % of the training rows is not chosen.
"""

import zlib

import numpy as np

NOMINAL, NUMERIC, ANY, NONE = "nominal", "numeric", "any", None
RARE = 0.02


def other_class(rows, other, v, rng, train):
    """Rows of another class."""
    return other[rng.choice(len(other), len(rows), replace=len(other) < len(rows))]


def permuted(rows, other, v, rng, train):
    """Column v of other rows."""
    return _with(rows, v, train[rng.integers(0, len(train), len(rows)), v])


def margin(rows, other, v, rng, train):
    """In 30 % of the rows a level of column v drawn from all levels alike."""
    levels = np.unique(train[:, v])
    return _with(
        rows, v, np.where(rng.random(len(rows)) < 0.3, rng.choice(levels, len(rows)), rows[:, v])
    )


def drift(rows, other, v, rng, train):
    """Column v moved by 0.25 standard deviations."""
    return _with(rows, v, rows[:, v] + 0.25 * train[:, v].std())


def contaminated(share):
    """A share of the rows from the other class."""

    def shift(rows, other, v, rng, train):
        taken = rng.random(len(rows)) < share
        return np.where(taken[:, None], other[rng.integers(0, len(other), len(rows))], rows)

    return shift


def swapped(rows, other, v, rng, train):
    """The two most frequent levels of column v exchanged."""
    levels, counts = np.unique(train[:, v], return_counts=True)
    a, b = levels[np.argsort(-counts, kind="stable")[:2]]
    column = rows[:, v]
    return _with(rows, v, np.where(column == a, b, np.where(column == b, a, column)))


def replaced(rows, other, v, rng, train):
    """Half of column v at its most frequent value."""
    levels, counts = np.unique(train[:, v], return_counts=True)
    usual = levels[np.argmax(counts)] if len(levels) <= 64 else np.median(train[:, v])
    return _with(rows, v, np.where(rng.random(len(rows)) < 0.5, usual, rows[:, v]))


def tails(rows, other, v, rng, train):
    """Values beyond the 90 % quantile of column v moved ten times as far from the median."""
    top, middle, column = np.quantile(train[:, v], 0.9), np.median(train[:, v]), rows[:, v]
    return _with(rows, v, np.where(column > top, middle + 10 * (column - middle), column))


def unseen(rows, other, v, rng, train):
    """A new level in 20 % of the rows of column v."""
    return _with(rows, v, np.where(rng.random(len(rows)) < 0.2, train[:, v].max() + 7, rows[:, v]))


SHIFTS = {
    "class": (NONE, other_class),
    "permuted": (ANY, permuted),
    "margin": (NOMINAL, margin),
    "drift": (NUMERIC, drift),
    "contaminated10": (NONE, contaminated(0.10)),
    "contaminated5": (NONE, contaminated(0.05)),
    "swapped": (NOMINAL, swapped),
    "replaced": (ANY, replaced),
    "tails": (NUMERIC, tails),
    "unseen": (NOMINAL, unseen),
}


def columns_for(kind: str, source, count: int) -> list:
    """Columns of the cells of a kind: at most `count`, (None,) where it is not about a column."""
    what = SHIFTS[kind][0]
    if what is NONE:
        return [None]
    fits = {
        ANY: np.ones(len(source.is_numeric), bool),
        NUMERIC: source.is_numeric,
        NOMINAL: ~source.is_numeric,
    }[what]
    varies = [
        np.unique(column, return_counts=True)[1].max() <= (1 - RARE) * len(column)
        for column in source.train.T
    ]
    candidates = np.flatnonzero(fits & np.array(varies))
    rng = np.random.default_rng(zlib.crc32(f"{source.name} {kind}".encode()))
    return sorted(rng.permutation(candidates)[:count].tolist())


def shifted_batches(kind: str, source, v, T: int, count: int, seed: int) -> list:
    """Shifted batches of T rows."""
    rng = np.random.default_rng([seed, T, zlib.crc32(f"{source.name} {kind} {v}".encode())])
    shift = SHIFTS[kind][1]
    return [
        shift(_drawn(source.fresh, T, rng), source.other, v, rng, source.train)
        for _ in range(count)
    ]


def fresh_batches(source, T: int, count: int, seed: int) -> list:
    """Batches of T unshifted rows."""
    rng = np.random.default_rng([seed, T, zlib.crc32(source.name.encode())])
    return [_drawn(source.fresh, T, rng) for _ in range(count)]


def _drawn(pool, T, rng):
    """(T, V) rows, without replacement where there are enough."""
    return pool[rng.choice(len(pool), T, replace=len(pool) < 2 * T)]


def _with(rows, v, column):
    """Rows with another column v."""
    rows = rows.copy()
    rows[:, v] = column
    return rows
