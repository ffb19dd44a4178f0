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
the same levels (`schemas.single_precision`).  Times are known by any of the texts that a level for them may have
(`hld.tables.times`).

Functions: `digests_of` (levels to bytes), `digest_set` (bytes to a set), `digest` (one level), `is_rare` (a value among
digests), `seen_once` (rows whose level no other row has).

References: I. J. Good (1953), The population frequencies of species and the estimation of population parameters,
Biometrika 40.
"""

from __future__ import annotations

import collections
import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from hld.tables.schemas.single_precision import in_four_bytes

SIZE = 8  # bytes of a digest
MOST_RARE = 2**16  # levels whose digests are kept


def digests_of(levels: Iterator[Any]) -> bytes:
    """The digests of levels, in ascending order, one after the other."""
    return b"".join(sorted({digest(level) for level in levels}))


def digest_set(digests: bytes) -> frozenset[str]:
    """The single digests."""
    return frozenset(digests[i : i + SIZE] for i in range(0, len(digests), SIZE))  # type: ignore[misc]


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
