"""Stretches of time: their variance in known series, between their sizes and beyond; memory that is too long."""

import numpy as np
import pytest
from dependent_rows import markov, variance_ratio

import hld
import pcircuit
from hld.references.stretches import (
    FEWEST_ROWS,
    MOST_STRETCHES,
    StretchReference,
    spread_starts,
    stretch_reference,
)

CIRCUIT = pcircuit.rat_spn([2] * 3, num_units=2, depth=1, rng=0)
VECTORS = hld.HLDTest(CIRCUIT).vectors
BOUNDS = np.ones(VECTORS.size)


def of_rows(rows):
    """Their stretches, holes as 0."""
    return stretch_reference(VECTORS, rows, np.zeros(VECTORS.size))


@pytest.mark.parametrize("stay", [0.0, 0.8])
def test_variances_of_stretches_are_those_of_the_series(stay):
    rows = markov(CIRCUIT, 60_000, stay, np.random.default_rng(0))[0]
    own = of_rows(rows)
    assert own.longest == 1024
    singles = VECTORS.rows(rows)
    for r, T in ((3, 8), (5, 32)):
        means = singles[: len(rows) // T * T].reshape(-1, T, singles.shape[1]).mean(axis=1)
        truth = singles.var(axis=0).sum() * variance_ratio(T, stay) / T
        assert means.var(axis=0).sum() == pytest.approx(
            truth, rel=0.15
        )  # the series is what it should be
        found = (own.stretches(r) ** 2).sum() / own.counts[r]
        assert abs(found / truth - 1) < 6 * np.sqrt(2 / own.counts[r])
        assert own.effective_rows(T) == pytest.approx(T / variance_ratio(T, stay), rel=0.6)


def with_traces(wanted, n):
    """Stretches of 1, 2, 4, ... of n rows that have exactly these variances."""
    tables = np.random.default_rng(1).normal(size=(len(wanted), 50, 4))
    tables -= tables.mean(axis=1, keepdims=True)
    tables *= np.sqrt(np.array(wanted) * 49 / (tables**2).sum(axis=(1, 2)))[:, None, None]
    zeros = np.zeros(4)
    return StretchReference(np.full(len(wanted), 50), tables.reshape(-1, 4), zeros, zeros, n)


def test_between_sizes_and_beyond_the_longest():
    """Independent rows have 1 / T."""
    own = with_traces([1.0, 0.5, 0.25], 400)
    for T in (1, 3, 4, 10, 100):
        assert own.trace_at(T) == pytest.approx(1 / T)
        assert (own.at(T) ** 2).sum() / 50 == pytest.approx(1 / T + 1 / 400)
        assert own.effective_rows(T) == pytest.approx(T)
    never = with_traces([0.0] * 3, 400)
    for T in (1, 3, 100):
        assert (never.trace_at(T), never.effective_rows(T)) == (0.0, T)
        np.testing.assert_array_equal(never.at(T), np.zeros((50, 4)))


def test_beyond_the_longest_the_covariances_across_blocks_are_made_up_for():
    """Stretches with exactly the traces of correlations 0.9^h: 64 rows times their variance is a seventh too small."""
    own = with_traces([variance_ratio(s, 0.9) / s for s in (2 ** np.arange(7)).tolist()], 3000)
    assert variance_ratio(1000, 0.9) > 1.15 * variance_ratio(64, 0.9)
    for T in (64, 100, 200, 1000, 100_000):
        assert own.effective_rows(T) == pytest.approx(T / variance_ratio(T, 0.9), rel=0.025)


def test_variances_fall_with_the_size_but_by_no_more_than_half():
    """Sizes of which chance makes one vary more than a shorter one, or too little, are put right."""
    own = with_traces([1.0, 1.5, 0.2, 0.19], 300)
    np.testing.assert_allclose(own.traces(), [1.0, 1.0, 0.5, 0.25], rtol=1e-12)
    part = own.part(np.array([3, 0]))
    np.testing.assert_allclose(part.stretches(1), own.stretches(1)[:, [3, 0]], rtol=1e-12)


@pytest.mark.parametrize("n", [FEWEST_ROWS, 61, 500, 7000])
def test_stretches_are_means_of_successive_rows_that_do_not_overlap(n, monkeypatch):
    """Also if sums are taken of a few rows at a time, and where a row has a hole."""
    rows = pcircuit.sample(CIRCUIT, n, rng=1).astype(int)
    rows[::7, 0] = -1
    fill = np.linspace(0.1, 0.9, VECTORS.size)
    values = np.where(VECTORS.seen(rows), VECTORS.rows(rows), fill)
    monkeypatch.setattr("hld.references.stretches.BLOCK_VALUES", 13 * VECTORS.size)
    own = stretch_reference(VECTORS, rows, fill)
    np.testing.assert_allclose(own.mean, values.mean(axis=0), atol=1e-13)
    assert 30 * own.longest <= n < 60 * own.longest
    for r, parts in enumerate(np.split(own.means, np.cumsum(own.counts)[:-1])):
        s, J = 2**r, min(n // 2**r, MOST_STRETCHES)
        starts = spread_starts(n, s)
        assert len(starts) == J
        assert np.diff(starts).min() >= s
        assert starts.min() >= 0
        assert starts.max() + s <= n
        np.testing.assert_allclose(
            parts, [values[start : start + s].mean(axis=0) for start in starts], atol=1e-12
        )
        found = own.stretches(r)
        np.testing.assert_allclose(
            found, (parts - parts.mean(axis=0)) * np.sqrt(J / (J - 1)), atol=1e-12
        )


@pytest.mark.parametrize("size", [1, 3, 100])
def test_halves_that_go_together_are_dependent(size):
    """Pairs of halves with the correlation rho: the longest stretches have (1 + rho) / 2 of the variance."""
    rng = np.random.default_rng(4)
    for rho, expected in ((0.0, False), (0.3, False), (0.9, True), (1.0, True)):
        first, other = rng.normal(size=(2, 60, size))
        second = rho * first + np.sqrt(1 - rho**2) * other
        halves = np.stack([first, second], axis=1).reshape(120, size)
        own = StretchReference(
            np.array([120, 60]),
            np.concatenate([halves, (first + second) / 2]),
            np.zeros(size),
            np.zeros(size),
            120,
        )
        assert own.is_dependent() == expected
        assert not own.is_dependent(1e-300)


def test_a_file_gives_back_every_stretch_and_no_other():
    own = of_rows(pcircuit.sample(CIRCUIT, 200, rng=2))
    arrays = own.to_arrays()
    again = StretchReference.from_arrays(arrays, BOUNDS)
    for name, array in again.to_arrays().items():
        np.testing.assert_array_equal(array, arrays[name])
    for name, bad in (
        ("counts", arrays["counts"][:-1]),
        ("counts", np.zeros(0, dtype=np.int64)),
        ("counts", arrays["counts"] + [MOST_STRETCHES, 0, 0]),
        ("num_rows", np.array([1])),
        ("means", arrays["means"] + 2),
        ("means", arrays["means"][:, :-1]),
        ("fill", arrays["fill"] - 2),
        ("mean", arrays["mean"] * np.nan),
    ):
        with pytest.raises(ValueError, match=r"stretches|means|counts|num_rows|fill|mean"):
            StretchReference.from_arrays({**arrays, name: bad}, BOUNDS)
    many = {
        **arrays,
        "counts": np.array([MOST_STRETCHES + 1]),
        "means": np.zeros((MOST_STRETCHES + 1, VECTORS.size)),
    }
    with pytest.raises(ValueError, match="the stretches of the test do not fit together"):
        StretchReference.from_arrays(many, BOUNDS)


@pytest.mark.parametrize(("cycle", "n"), [(7, 7 * 199 + 1), (24, 24 * 199 + 1)])
def test_stretches_begin_at_all_times_of_a_cycle(cycle, n):
    """At equal distances the 200 shortest would all begin on the same day of the week, or at the same hour."""
    rows = np.zeros((n, 3), dtype=int)
    rows[:, 0] = np.arange(n) % cycle < cycle / 2
    singles = VECTORS.rows(rows)
    assert of_rows(rows).traces()[0] == pytest.approx(singles.var(axis=0).sum(), rel=0.15)
