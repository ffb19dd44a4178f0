"""Rows with missing entries, completed so that a test of complete rows stays valid."""

from __future__ import annotations

import numpy as np

import pcircuit


def completed_rows(
    circuit: pcircuit.Circuit, rows: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """Rows without missing entries, and how many there were.

    As `hld.vectors.completion.complete`, but for a stream: draws come from one generator, row by row, so that it does
    not matter how the stream is cut.  A row whose observed part is impossible is completed from an unconditional
    sample.

    Shapes: rows (N, V) -> rows (N, V).
    """
    missing = rows < 0
    incomplete = np.flatnonzero(missing.any(axis=1))
    if len(incomplete) == 0:
        return rows, 0
    evidence = rows[incomplete].astype(np.int64)
    evidence[pcircuit.log_likelihood(circuit, evidence) == -np.inf] = -1
    drawn = pcircuit.sample(circuit, evidence=evidence, rng=rng)
    rows = rows.astype(np.int64)
    rows[incomplete] = np.where(missing[incomplete], drawn, rows[incomplete])
    return rows, int(missing.sum())
