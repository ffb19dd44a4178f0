"""Rows that come in chunks: sums, counts and holes are those of all rows, and the null is that of what they show."""

import pickle

import naive
import numpy as np
import pytest
import zoo

from hld import HLDTest
from hld.testing import row_sums
from hld.testing.row_sums import RowSums
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


def summed(test, rows):
    sums = RowSums(test)
    for part in np.array_split(rows, 4):
        sums.add(part)
    return sums


@pytest.mark.parametrize("distinct", [2**20, 1])
def test_averages_are_over_the_rows_that_show_a_node(against_rows, distinct, monkeypatch):
    monkeypatch.setattr(row_sums, "MOST_DISTINCT", distinct)
    for rows in (ROWS, HOLED, ROWS.astype(np.uint8)):
        sums = summed(against_rows, rows)
        assert (sums.num_rows, sums.num_missing, sums.is_whole()) == (
            90,
            int((rows.astype(int) < 0).sum()),
            True,
        )
        np.testing.assert_array_equal(sums.rows(), rows)
        seen = against_rows.vectors.seen(rows.astype(int))
        L = np.where(seen, naive.node_values(CIRCUIT, rows.astype(int))[:, against_rows.nodes], 0.0)
        found = sums.shown()
        np.testing.assert_array_equal(found.counts, seen.sum(axis=0))
        np.testing.assert_allclose(
            found.means, L.sum(axis=0) / np.maximum(seen.sum(axis=0), 1), rtol=1e-12
        )
        pairs = found.pairs[np.ix_(found.groups, found.groups)]
        np.testing.assert_allclose(pairs, seen.T.astype(int) @ seen.astype(int))


@pytest.mark.parametrize("kept", [20_000, 25])
@pytest.mark.parametrize("distinct", [2**20, 1])
def test_totals_of_parts_add_up(against_rows, distinct, kept, monkeypatch):
    monkeypatch.setattr(row_sums, "MOST_DISTINCT", distinct)
    monkeypatch.setattr(row_sums, "MOST_PAIRED", kept)
    for rows in (ROWS, HOLED, ROWS.astype(np.uint8)):
        parts = [RowSums(against_rows, part=i) for i in range(3)]
        for part, own in zip(parts, np.array_split(rows, [20, 70]), strict=True):
            part.add(own)
        first, second, third = (pickle.loads(pickle.dumps(part.totals())) for part in parts)
        for total in ((first + second) + third, first + (second + third)):
            together, whole = RowSums.of(against_rows, total), summed(against_rows, rows)
            assert (together.num_rows, together.num_missing) == (whole.num_rows, whole.num_missing)
            assert together.is_whole() == (kept > 90)
            chosen = together.rows()
            assert len(chosen) == min(kept, 90)
            if kept > 90:
                np.testing.assert_array_equal(chosen, rows)
            found, expected = together.shown(), whole.shown()
            np.testing.assert_array_equal(found.counts, expected.counts)
            np.testing.assert_allclose(found.means, expected.means, rtol=1e-12)
            # sampled pairs beside exact counts had been no matrix of counts
            np.testing.assert_array_equal(found.pairs.diagonal()[found.groups], found.counts)
            np.testing.assert_allclose(found.pairs, found.pairs.T)
            assert np.linalg.eigvalsh(found.pairs)[0] > -1e-9 * found.pairs.max()
    numbers = [
        np.random.default_rng([0, 2, part] if part else [0, 2]).random(size)
        for part, size in enumerate((20, 50, 20))
    ]
    smallest = np.sort(np.argsort(np.concatenate(numbers))[:kept])
    np.testing.assert_array_equal(
        chosen, rows[smallest]
    )  # those that have the smallest numbers of all parts


def test_holes_are_filled_where_the_reference_is_the_circuit():
    sums = summed(HLDTest(CIRCUIT, rng=0), HOLED)
    assert sums.num_missing == (HOLED < 0).sum()
    assert sums.rows().min() >= 0
    np.testing.assert_array_equal(sums.rows()[HOLED >= 0], HOLED[HOLED >= 0])
