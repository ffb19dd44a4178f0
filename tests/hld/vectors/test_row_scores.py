"""What a stream is watched by: the numbers of a row, their bins, and their form in a file."""

import math

import numpy as np
import pytest

import pcircuit
from hld.features.row_scores import (
    BINS,
    CELLS,
    NEVER,
    WatchedRows,
    bin_edges,
    binned,
    counted,
    entries,
    padded,
    watched_rows,
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 4, 600)
    return np.stack(
        [first, (first + (rng.random(600) < 0.3)) % 4, rng.choice(3, 600, p=[0.1, 0.7, 0.2])],
        axis=1,
    )


@pytest.fixture(scope="module")
def watched(rows):
    tree = pcircuit.chow_liu_tree(rows[:300])
    circuit = pcircuit.hclt(rows[:300], num_latents=2, tree=tree)
    return watched_rows(circuit, tree, rows[:300], rows[300:], ordered=(0,))


def test_entries_tell_below_above_and_missing():
    codes, marks = np.array([[0, 2, -1, 1], [0, 2, 1, 1]]), np.array([[1, 1, 0, 1], [0, 0, 0, 2]])
    expected = [
        [0, 4, 5, 2],
        [1, 3, 2, 2],
    ]  # of three categories; what is new in the middle is itself
    assert entries(codes, marks, np.full(4, 6)).tolist() == expected


def test_information_is_that_of_the_tables_of_pairs(rows, watched):
    scores, names = watched.scores, [kind.name for kind in watched.scores.kinds]
    values, places = scores.values(rows), [i for i, name in enumerate(names) if name == "pair"]
    cells = np.split(scores.cells, np.cumsum(np.array(scores.circuit.num_categories) + 3)[:-1])
    for place, (u, v) in zip(places, scores.pairs.tolist(), strict=True):
        a, b = cells[u][rows[:, u] + 1], cells[v][rows[:, v] + 1]
        for i in range(0, 600, 50):
            n = [sum(a[:300] == a[i]), sum(b[:300] == b[i])]
            p, q = ((one + 0.5) / (300 + CELLS / 2) for one in n)
            joint = sum((a[:300] == a[i]) & (b[:300] == b[i]))
            expected = math.log((joint + p * q) / 301 / (p * q))
            assert values[i, place] == pytest.approx(expected, rel=1e-5)
    whole = [i for i, kind in enumerate(scores.kinds) if kind == ("information", ())]
    np.testing.assert_allclose(values[:, whole[0]], values[:, places].sum(axis=1), rtol=1e-4)


def test_units_and_the_row_have_their_log_likelihoods(rows, watched):
    scores, names = watched.scores, [kind.name for kind in watched.scores.kinds]
    values = scores.values(rows)
    units = np.log(pcircuit.node_likelihoods(scores.circuit, rows, nodes=scores.units))
    at = [i for i, name in enumerate(names) if name == "unit"]
    np.testing.assert_allclose(values[:, at], units, rtol=1e-5)
    assert names[-2:] == ["magnitude", "likelihood"]
    np.testing.assert_allclose(
        values[:, -1], -pcircuit.log_likelihood(scores.circuit, rows), rtol=1e-5
    )
    assert math.exp(scores.log_weights().max()) < 1
    assert np.exp(scores.log_weights()).sum() == pytest.approx(1)


def test_rows_one_by_one_are_as_rows_together(rows, watched):
    marks = (np.random.default_rng(1).random(rows.shape) < 0.1).astype(np.uint8)
    codes = np.where(np.random.default_rng(2).random(rows.shape) < 0.1, -1, rows)
    whole = watched.scores.bins(codes, marks)
    alone = [watched.scores.bins(codes[i : i + 1], marks[i : i + 1]) for i in range(len(codes))]
    assert np.array_equal(whole, np.concatenate(alone))


def test_bins_hold_what_is_between_their_edges():
    rng = np.random.default_rng(0)
    for scores in (rng.normal(size=1000), rng.integers(0, 4, 50), np.zeros(5), [NEVER, 1.0, 2.0]):
        edges = padded([bin_edges(np.asarray(scores, float))])
        bins = binned(np.asarray(scores, np.float32)[:, None], edges)[:, 0]
        assert bins.min() >= 1  # the first and the last are for what is beyond all
        assert bins.max() <= np.isfinite(edges).sum() - 1
        outside = binned(np.array([[-2e30], [1e30]], np.float32), edges)[:, 0]
        assert outside[0] == 0
        assert outside[1] == np.isfinite(edges).sum() < BINS
    assert counted(np.array([[0, 1], [0, 2]])).sum(axis=1).tolist() == [2, 2]


def test_arrays_come_back_as_they_were(rows, watched):
    arrays = watched.to_arrays()
    again = WatchedRows.from_arrays(watched.scores.circuit, arrays)
    assert np.array_equal(again.scores.bins(rows), watched.scores.bins(rows))
    assert all(np.array_equal(arrays[name], one) for name, one in again.to_arrays().items())


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("places", lambda one: one * 0),
        ("cells", lambda one: one + CELLS),
        ("pairs", lambda one: one + 3),
        ("units", lambda one: one - 1000),
        ("edges", lambda one: one[:, ::-1]),
        ("edges", lambda one: one[1:]),
        ("counts", lambda one: -one),
        ("counts", lambda one: np.concatenate([one[:1] + 1, one[1:]])),
        ("directions", lambda one: one * np.nan),
        ("information", lambda one: one.astype(np.float32)),
    ],
)
def test_damaged_arrays_are_refused(watched, name, change):
    arrays = watched.to_arrays()
    with pytest.raises(ValueError, match=r"fit|agree|array|expected"):
        WatchedRows.from_arrays(watched.scores.circuit, arrays | {name: change(arrays[name])})
    with pytest.raises(ValueError, match=name):
        WatchedRows.from_arrays(
            watched.scores.circuit, {key: one for key, one in arrays.items() if key != name}
        )
