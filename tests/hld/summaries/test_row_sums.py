"""Rows that come in chunks: sums, counts and holes are those of all rows, and the null is that of what they show."""

import pickle

import naive
import numpy as np
import pytest
import zoo

from hld import HLDTest
from hld.testing.summaries import summing
from pcircuit import sample

CIRCUIT = zoo.circuits()["hclt_like"]
ROWS = sample(CIRCUIT, 90, rng=1).astype(np.int64)
HOLED = np.where(np.random.default_rng(2).random(ROWS.shape) < 0.2, -1, ROWS)


@pytest.fixture(scope="module")
def against_rows():
    return HLDTest(
        CIRCUIT,
        reference="training",
        training_data=sample(CIRCUIT, 200, rng=0),
        missing="available",
        rng=0,
    )


def summed(test, rows, cuts=4, rng=0):
    rng = np.random.default_rng(rng)
    total = None
    for part in np.array_split(rows, cuts):
        own = summing.row_sums(test, part, rng, 0 if total is None else total.num_rows)
        total = own if total is None else total + own
    return total


@pytest.mark.parametrize("kept", [20_000, 25])
def test_sums_are_over_the_rows_that_show_a_node(against_rows, kept, monkeypatch):
    monkeypatch.setattr(summing, "MOST_PAIRED", kept)
    numbers = np.random.default_rng(0).random(90)
    for rows in (ROWS, HOLED, ROWS.astype(np.uint8)):
        seen = against_rows.vectors.seen(rows.astype(int))
        L = np.where(seen, naive.node_values(CIRCUIT, rows.astype(int))[:, against_rows.nodes], 0.0)
        for cuts in (4, [20, 70], 1):
            sums = pickle.loads(pickle.dumps(summed(against_rows, rows, cuts)))
            assert (sums.num_rows, sums.num_missing, sums.is_whole) == (
                90,
                int((rows.astype(int) < 0).sum()),
                kept > 90,
            )
            smallest = np.sort(np.argsort(numbers)[:kept])
            np.testing.assert_array_equal(sums.rows, rows[smallest])
            found = sums.shown(against_rows.vectors)
            np.testing.assert_array_equal(found.counts, seen.sum(axis=0))
            np.testing.assert_allclose(
                found.means, L.sum(axis=0) / np.maximum(seen.sum(axis=0), 1), rtol=1e-12
            )
            pairs = found.pairs[np.ix_(found.groups, found.groups)]
            if kept > 90:
                np.testing.assert_allclose(pairs, seen.T.astype(int) @ seen.astype(int))
            # sampled pairs beside exact counts had been no matrix of counts
            np.testing.assert_array_equal(pairs.diagonal(), found.counts)
            np.testing.assert_allclose(found.pairs, found.pairs.T)
            assert np.linalg.eigvalsh(found.pairs)[0] > -1e-9 * found.pairs.max()


def test_holes_are_filled_where_the_reference_is_the_circuit():
    sums = summed(HLDTest(CIRCUIT, rng=0), HOLED)
    assert sums.num_missing == (HOLED < 0).sum()
    assert sums.rows.min() >= 0
    np.testing.assert_array_equal(sums.rows[HOLED >= 0], HOLED[HOLED >= 0])
