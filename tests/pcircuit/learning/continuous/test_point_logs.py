"""Log-likelihoods of rows at points, and their slopes: against sums written out."""

import numpy as np
import pytest

from pcircuit.learning.continuous.point_logs import (
    coded,
    logits_of,
    normalizers,
    point_logs,
    probabilities,
    slopes,
)

CATEGORIES = np.array([2, 1, 4, 3])


def written_out(values):
    """For each column (S, C) probabilities of logits (S, 6), entry by entry."""
    found, begin = [], 0
    for count in CATEGORIES:
        own = np.column_stack([np.zeros(len(values)), values[:, begin : begin + count - 1]])
        found.append(np.exp(own) / np.exp(own).sum(axis=1, keepdims=True))
        begin += count - 1
    return found


def rows_of(rng, *, holes):
    rows = rng.integers(0, CATEGORIES, (9, 4))
    rows[rng.random(rows.shape) < 0.3 * holes] = -1
    return rows


def logs_of(rows, values):
    columns = written_out(values)
    return np.array(
        [
            [
                sum(np.log(columns[v][s, c]) for v, c in enumerate(row) if c >= 0)
                for s in range(len(values))
            ]
            for row in rows
        ]
    )


@pytest.mark.parametrize("holes", [False, True])
def test_logs_and_slopes(rng, holes):
    order, rows, values = logits_of(CATEGORIES), rows_of(rng, holes=holes), rng.normal(size=(5, 6))
    known, zeta = coded(rows, order), normalizers(values, order)
    assert (known.shown is not None) == holes
    expected = logs_of(rows, values)
    np.testing.assert_allclose(point_logs(known, values, zeta), expected, rtol=1e-12)
    shares = np.exp(expected) / np.exp(expected).sum(axis=1, keepdims=True)
    found = slopes(known, shares, values, zeta, order)
    for place in np.ndindex(values.shape):
        ends = []
        for step in (1e-6, -1e-6):
            moved = values.copy()
            moved[place] += step
            ends.append(np.log(np.exp(logs_of(rows, moved)).sum(axis=1)).sum())
        assert found[place] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-7)


def test_probabilities_of_all_columns(rng):
    order, values = logits_of(CATEGORIES), rng.normal(size=(5, 6))
    found = probabilities(values, normalizers(values, order), CATEGORIES, order)
    for own, expected in zip(found, written_out(values), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-12)
        assert own.dtype == np.float64


def test_large_logits_do_not_overflow():
    order = logits_of(np.array([2, 3]))
    values = np.array([[1e4, -1e4, 1e4], [-1e4, -1e4, -1e4]], dtype=np.float32)
    zeta = normalizers(values, order)
    np.testing.assert_allclose(zeta, [[1e4, 1e4], [0, 0]])
    for own in probabilities(values, zeta, np.array([2, 3]), order):
        np.testing.assert_allclose(own.sum(axis=1), 1, rtol=1e-12)
