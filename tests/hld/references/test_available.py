"""Averages over the rows that show a node: how they hang together with holes, by the rows' own weights."""

import naive
import numpy as np
import pytest
import zoo

import pcircuit
from hld.features.row_vectors import RowVectors
from hld.references.available import correlations, shown, weights

CIRCUIT = zoo.circuits()["hclt_like"]
VECTORS = RowVectors(CIRCUIT, pcircuit.select_nodes(CIRCUIT))


def holed(N, seed):
    """Rows of which a twelfth of the cells are holes, and which rows show each node."""
    rows = pcircuit.sample(CIRCUIT, N, rng=seed).astype(np.int64)
    rows[np.random.default_rng(seed).random(rows.shape) < 1 / 12] = -1
    return rows, VECTORS.seen(rows).astype(float)


def test_averages_share_rows():
    """An average is the sum of rows times weights, so the covariance of two, in units of a row's, is their product."""
    rows, seen = holed(70, 1)
    found, of_rows = shown(VECTORS, rows), seen / seen.sum(axis=0)
    np.testing.assert_allclose(found.shared, of_rows.T @ of_rows, rtol=1e-12)
    L = np.where(seen > 0, naive.node_values(CIRCUIT, rows)[:, VECTORS.nodes], 0.0)
    np.testing.assert_allclose(found.means, (of_rows * L).sum(axis=0), rtol=1e-12)


def test_every_node_counts_with_the_variance_that_it_has_without_holes():
    (rows, seen), (_, kept) = holed(70, 1), holed(90, 2)
    batch, counts = shown(VECTORS, rows), kept.sum(axis=0)
    shared = (kept / counts).T @ (kept / counts)
    g = weights(batch, counts.astype(int), 90)
    expected = (
        np.outer(g, g)
        * ((seen / seen.sum(axis=0)).T @ (seen / seen.sum(axis=0)) + shared)
        / (1 / 70 + 1 / 90)
    )
    found = correlations(batch, g, shared, 90)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found.diagonal() == pytest.approx(np.ones(len(g)))
    assert np.linalg.eigvalsh(found).min() > -1e-12


def test_a_node_that_one_row_of_two_shows_counts_with_the_variance_of_one():
    batch = shown(VECTORS, holed(70, 1)[0])
    g = weights(batch, np.ones(VECTORS.size, int), 2)
    np.testing.assert_allclose(g, np.sqrt((1 / 70 + 1 / 2) / (1 / batch.counts + 1)), rtol=1e-12)


@pytest.mark.parametrize("holes", [slice(0, None, 2), slice(1, None, 2), slice(0, None, 3), "any"])
def test_of_many_rows_those_that_show_two_nodes_are_known_whatever_the_order_of_the_holes(holes):
    """Two sources whose rows alternate: every second row is no sample of them."""
    rng = np.random.default_rng(0)
    rows = pcircuit.sample(CIRCUIT, 30_000, rng=0).astype(np.int64)
    rows[rng.random(len(rows)) < 0.5 if holes == "any" else holes, :2] = -1
    found, seen = shown(VECTORS, rows), VECTORS.seen(rows).astype(np.float32)
    pairs = found.pairs[np.ix_(found.groups, found.groups)]
    np.testing.assert_allclose(pairs, seen.T @ seen, atol=6 * 30_000 / np.sqrt(20_000) / 2)
    g = weights(found, np.full(VECTORS.size, 10**6), 10**6)
    R = correlations(found, g, 1e-6, 10**6)
    assert R.diagonal() == pytest.approx(np.ones(len(g)))
    assert R.max() < 1 + 1e-9
    assert np.linalg.eigvalsh(R).min() > -1e-9
