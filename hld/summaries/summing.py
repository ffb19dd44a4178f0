"""Rows to a summary, a block of rows at a time."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import pcircuit
from hld.summaries.privacy import check_privacy, with_noise
from hld.summaries.spread import sketches_of, spread_of
from hld.summaries.summary import BatchSummary
from hld.vectors.completion import complete

BLOCK_VALUES = 4_000_000  # likelihoods that are held at a time
CACHED_VALUES = 125_000  # of these, differences that the metrics look at in turn: a megabyte, which caches hold


def summarize_rows(test: Any, rows: Any, *, epsilon: float | None = None, delta: float = 1e-6,
                   rng: np.random.Generator | None = None, first: int = 0) -> BatchSummary:
    """The summary of rows for a test.

    Parameters
    ----------
    test : HLDTest
    rows : (n, V) integer array_like
        n >= 0; -1 is missing.
    epsilon : float, optional
        Adds noise: see `hld.summaries.privacy`.
    delta : float
        Used with `epsilon` only.
    rng : int or numpy.random.Generator, optional
        Generator of the noise; by default the operating system's, which is what privacy needs.
    first : int
        Rows of the same batch that were summarised before: holes are filled by other draws.

    Returns
    -------
    BatchSummary

    Raises
    ------
    TypeError, ValueError
        If `rows` are not evidence for the circuit; if they have holes where a summary cannot say which.

    Notes
    -----
    O(n) times the likelihoods of a row, and where rows are the reference the metrics of a row.
    """
    epsilon, delta = check_privacy(epsilon, delta)
    rows = pcircuit.check_evidence(test.circuit, rows, name="rows")
    num_missing = int((rows < 0).sum()) if rows.size else 0
    if num_missing and epsilon is not None:
        raise ValueError(f"`rows` has {num_missing} missing entries, expected none with `epsilon`: fill them in, or "
                         "leave out the rows that have them")
    if num_missing and test.missing == "exact":
        raise ValueError(f"`rows` has {num_missing} missing entries, expected none with missing='exact', whose null "
                         "depends on which they are: test the rows, or use another `missing`")
    if num_missing and test.missing == "complete":
        rows, _ = complete(test.circuit, rows, test.settings.seed + first)
    found = _summed(test, rows if len(rows) else None, num_missing)
    return found if epsilon is None else with_noise(test, replace(found, spread=None), epsilon, delta, rng)


def _summed(test: Any, rows: Any, num_missing: int) -> BatchSummary:
    """Sums over rows, or over none."""
    look, parts = test.vectors, test.calibration
    sums, seen, n = np.zeros(look.size), np.zeros(look.size, dtype=np.int64), 0 if rows is None else len(rows)
    sketches = () if parts.kept is None else sketches_of(parts.metrics)
    spread = None if parts.kept is None else spread_of(parts.metrics, sketches, parts.kept, np.zeros((0, look.size)))
    step, few = max(1, BLOCK_VALUES // look.size), max(1, CACHED_VALUES // look.size)
    for start in range(0, n, step):
        block = rows[start:start + step]
        vectors, shows = look.rows(block), None
        if num_missing and block.min() < 0:
            shows = look.seen(block)
            vectors = np.where(shows, vectors, 0.0)
        sums += vectors.sum(axis=0)
        seen += len(block) if shows is None else shows.sum(axis=0)
        if spread is None:
            continue
        for piece in range(0, len(block), few):
            differences = vectors[piece:piece + few] - parts.mean
            if shows is not None:
                differences *= shows[piece:piece + few]
            spread += spread_of(parts.metrics, sketches, parts.kept, differences)
    return BatchSummary(test.fingerprint, n, sums, seen, num_missing, spread)
