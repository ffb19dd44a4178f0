"""The spread of a batch's rows is the covariance of their mean, also of a sample of them, and with holes."""

import numpy as np
import pytest

import pcircuit
from hld.testing.verdict import own_rows
from hld.vectors.row_vectors import RowVectors

CIRCUIT = pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0)
NODES = pcircuit.select_nodes(CIRCUIT)
ROWS = pcircuit.sample(CIRCUIT, 4000, rng=1)


def test_a_long_batch_is_known_by_a_sample():
    own = own_rows(RowVectors(CIRCUIT, NODES), ROWS, len(ROWS), 2.0)
    values = 2.0 * pcircuit.node_likelihoods(CIRCUIT, own.rows, nodes=NODES)
    assert len(own.rows) < len(ROWS)
    spread = own.spread()
    np.testing.assert_allclose(
        spread.T @ spread, np.cov(values.T, bias=True) / len(ROWS), atol=1e-12
    )


@pytest.mark.parametrize("seed", [0, 1])
def test_with_holes_each_node_has_the_variance_of_the_mean_of_what_shows_it(seed):
    rows = ROWS[:300].astype(int)
    rows[np.random.default_rng(seed).random(rows.shape) < 0.4] = -1
    vectors = RowVectors(CIRCUIT, NODES)
    values, seen = pcircuit.node_likelihoods(CIRCUIT, rows, nodes=NODES), vectors.seen(rows)
    expected = [values[seen[:, j], j].var() / seen[:, j].sum() for j in range(len(NODES))]
    np.testing.assert_allclose(
        (own_rows(vectors, rows, len(rows)).spread() ** 2).sum(axis=0), expected, rtol=1e-9
    )


@pytest.mark.parametrize("first", [0, 1])
def test_a_long_batch_in_which_two_sorts_of_rows_alternate_varies_as_both_do(first):
    """Every second row would be of one sort: of rows that are all alike, for an interval of no length."""
    rows = ROWS[:1000].copy()
    rows[first::2] = 0
    expected = np.var(pcircuit.node_likelihoods(CIRCUIT, rows, nodes=NODES), axis=0).sum() / len(
        rows
    )
    found = (own_rows(RowVectors(CIRCUIT, NODES), rows, len(rows)).spread() ** 2).sum()
    assert found == pytest.approx(expected, rel=0.15)
