"""Rows to a summary, a block of rows at a time.

**Fingerprint.**  Which model a summary is for: a hash of everything that its sums depend on.

Sums of likelihoods mean something only with the circuit and the nodes that they were made with; with another model
they would silently give a wrong p-value.  The fingerprint is the SHA-256 of the circuit, the nodes, the reference
mean and the metrics (by which the spread is measured), so it is the same in every process that read the same file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

import pcircuit
from hld.summaries.spread import sketches_of, spread_of
from hld.summaries.summary import BatchSummary, Spread
from hld.vectors.row_vectors import complete
from pcircuit.evidence import checked, is_missing
from pcircuit.io.circuit_file import to_arrays

BLOCK_VALUES = 4_000_000  # likelihoods that are held at a time
CACHED_VALUES = (
    125_000  # of these, differences that the metrics look at in turn: a megabyte, which caches hold
)
MOST_SPREAD, LEAST_SPREAD = (
    20_000,
    1_000,
)  # rows of a batch whose spread is taken; of each further chunk of it
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
    return _summed(test, rows if len(rows) else None, num_missing, first)


def _summed(test: Any, rows: Any, num_missing: int, first: int) -> BatchSummary:
    """Sums over rows, or over none; `first` rows of the batch came before."""
    look, n = test.vectors, 0 if rows is None else len(rows)
    sums, seen = np.zeros(look.size), np.zeros(look.size, dtype=np.int64)
    for block in _blocks(rows, n, BLOCK_VALUES // look.size):
        own, shows = look.sums(block)
        sums, seen = sums + own, seen + shows
    spread = None if test.calibration.kept is None else _spread(test, rows, num_missing, n, first)
    return BatchSummary(test.fingerprint, n, sums, seen, num_missing, spread)


def _spread(test: Any, rows: Any, num_missing: int, n: int, first: int) -> Spread:
    """The spread of rows, from a sample of them where they are many."""
    look, parts, most = test.vectors, test.calibration, max(LEAST_SPREAD, MOST_SPREAD - first)
    sketches, share = sketches_of(parts.metrics), 1.0
    found = spread_of(parts.metrics, sketches, parts.kept, np.zeros((0, look.size)))
    if n > most:
        rows = rows[
            np.sort(np.random.default_rng([SEED, first, n]).choice(n, size=most, replace=False))
        ]
        n, share = most, n / most
    for block in _blocks(rows, n, BLOCK_VALUES // look.size):
        differences = parts.differences(look, block)
        if num_missing and is_missing(block).any():
            differences = np.where(look.seen(block), differences, 0.0)
        for piece in _blocks(differences, len(block), CACHED_VALUES // look.size):
            found += spread_of(parts.metrics, sketches, parts.kept, piece)
    odd = np.round(found.odd * share).astype(np.int64)
    return Spread(found.squares * share, found.fourths * share, odd, found.sketch * share)


def _blocks(rows: Any, n: int, size: int) -> Iterator[Any]:
    """So many rows at a time, at least one."""
    return (rows[start : start + max(1, size)] for start in range(0, n, max(1, size)))


def test_fingerprint(circuit: pcircuit.Circuit, calibration: Any) -> str:
    """The fingerprint of a test."""
    digest = hashlib.sha256(b"hld.summary 1")
    arrays = to_arrays(circuit) | {"nodes": calibration.nodes, "mean": calibration.mean}
    for i, metric in enumerate(calibration.metrics):
        scalars, own = metric.to_parts()
        digest.update(json.dumps(scalars, sort_keys=True).encode())
        arrays |= {f"metric.{i}.{name}": array for name, array in own.items()}
    for name, array in sorted(arrays.items()):
        array = np.ascontiguousarray(array)
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


test_fingerprint.__test__ = False  # type: ignore[attr-defined]  # its name must not make a test runner collect it


def detector_fingerprint(test: str, schema: Any) -> str:
    """The fingerprint of a detector: of its test, and of how it reads tables."""
    form = json.dumps(schema.to_dict(), sort_keys=True)
    return hashlib.sha256(f"{test} {form}".encode()).hexdigest()
