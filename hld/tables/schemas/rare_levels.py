r"""Rare levels: recognised by a digest, so that they are not taken for unseen levels.

A categorical column keeps its most frequent levels; the rare ones share one category, and levels that training did
not have another.  To distinguish the two later the rare levels must be known, but they may be many and long, or
names that nobody wants to find in a model file.  So only eight bytes of a hash of each are kept: that R of them
contain the hash of an unseen level has probability R / 2^64, less than 4e-15.  If there are more than 2^16 rare levels,
the less frequent are not kept, and count as unseen.

How often will the category "unseen" occur in fresh rows?  In the training table it does not, by construction, but that
says nothing about fresh rows: in a column of names every second row may bring a new one.  The training table tells, if
each of its rows is compared with the others.  A level that occurs in one row only is then unseen in that row, and the
share of such rows estimates the probability of an unseen level without bias (Good 1953).  Therefore
`TableEncoder.encode_training` writes them as unseen, and a circuit and a reference learned from its codes expect as
many new levels as there will be.

Numbers that are not whole are known by what four bytes make of them, so that a batch that holds them in four bytes has
the same levels (`schemas.rare_levels`).  Times are known by any of the texts that a level for them may have
(`hld.tables.times`).

Functions: `digests_of` (levels to bytes), `digest_set` (bytes to a set), `digest` (one level), `is_rare` (a value among
digests), `seen_once` (rows whose level no other row has).

References: I. J. Good (1953), The population frequencies of species and the estimation of population parameters,
Biometrika 40.

Numbers that have lost digits on their way: the same number in eight bytes and in four.

A table that was learned from a file of text holds 0.1, and a batch from a feature store the same number in four bytes,
0.10000000149...; by the last digit it would be a level that was never seen, or, where 0.1 is the largest value, one
beyond the training range.  So a level, an edge and the ends of a range are taken with all numbers that rounding to
four bytes, there or here, can have made of them,

    |x - v| <= 2^-23 |v|,

which is twice the largest rounding error; where that of two numbers would overlap, each has its side of the middle.
Whole numbers are exact in four bytes up to 2^24, and are taken as they are.
"""

import collections
import hashlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

ROUNDING = 2.0**-23  # relative
EXACT = 2.0**24  # up to which four bytes hold every whole number
SMALLEST, LARGEST = 2.0**-126, 2.0**127  # magnitudes between which they round by no more than that


def spans(numbers: Sequence[Any]) -> list[tuple[float, float]]:
    """For each of n numbers the smallest and the largest one that is taken for it."""
    values = np.array(numbers, dtype=np.float64)
    order = np.argsort(values)
    x = values[order]
    is_exact = np.array([isinstance(numbers[i], int) for i in order], dtype=bool)
    is_exact |= (np.abs(x) <= EXACT) & (x == np.floor(x))
    far = np.where(is_exact, 0.0, ROUNDING * np.abs(x))
    with np.errstate(over="ignore"):
        first = np.maximum(x - far, -sys.float_info.max)
        last = np.minimum(x + far, sys.float_info.max)
    middle = x[:-1] / 2 + x[1:] / 2
    middle = np.where(middle > x[:-1], middle, x[1:])  # no double lies between neighbouring ones
    first[1:] = np.maximum(first[1:], middle)
    last[:-1] = np.minimum(last[:-1], np.nextafter(middle, -np.inf))
    ends = zip(first[np.argsort(order)].tolist(), last[np.argsort(order)].tolist(), strict=True)
    return list(ends)


def in_four_bytes(number: float) -> float:
    """What four bytes make of a number that is not whole; the number itself where they hold none like it."""
    if number.is_integer() or not SMALLEST <= abs(number) <= LARGEST:
        return number
    return float(np.float32(number))


SIZE = 8  # bytes of a digest
MOST_RARE = 2**16  # levels whose digests are kept


def digests_of(levels: Iterator[Any]) -> bytes:
    """The digests of levels, in ascending order, one after the other."""
    return b"".join(sorted({digest(level) for level in levels}))


def digest_set(digests: bytes) -> frozenset[bytes]:
    """The single digests."""
    return frozenset(digests[i : i + SIZE] for i in range(0, len(digests), SIZE))


def digest(level: Any) -> bytes:
    """Digest of a plain value; values that are equal, or equal in four bytes, have the same."""
    if isinstance(level, str):
        text = f"text {level}"
    elif isinstance(level, float) and not level.is_integer():
        text = f"number {in_four_bytes(level).hex()}"
    else:
        text = f"number {int(level)}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


def is_rare(value: Any, digests: frozenset[Any]) -> bool:
    """Whether a plain value is one of the levels with some digests."""
    return bool(digests) and digest(value) in digests


def seen_once(values: list[Any]) -> np.ndarray:
    """(n,) flags of the plain values that occur only once among n."""
    keys = [digest(value) for value in values]
    counts = collections.Counter(keys)
    return np.array([counts[key] == 1 for key in keys], dtype=bool)
