"""Rows of a stream are completed: what was seen stays, what was not is drawn given it."""

import numpy as np
import zoo
from binomial_bounds import at_least, at_most

from hld.monitoring.rows import completed_rows
from pcircuit import Circuit, InnerRegion, InputRegion, VTree

# two coins that always show the same side, heads with probability 0.3
EQUAL = Circuit(
    VTree.from_nested([0, 1]),
    [
        InputRegion(0, np.eye(2)),
        InputRegion(1, np.eye(2)),
        InnerRegion([[0, 0], [1, 1]], [[0.3, 0.7]]),
    ],
)


def test_holes_are_drawn_given_what_was_seen():
    rows = np.repeat([[0, -1], [-1, 1], [-1, -1], [1, 0]], 400, axis=0)
    found, num_missing = completed_rows(EQUAL, rows, np.random.default_rng(0))
    assert num_missing == 400 + 400 + 800
    np.testing.assert_array_equal(found[:400], np.zeros((400, 2)))
    np.testing.assert_array_equal(found[400:800], np.ones((400, 2)))
    np.testing.assert_array_equal(found[800:1200, 0], found[800:1200, 1])
    assert at_least(400, 0.7) <= found[800:1200, 0].sum() <= at_most(400, 0.7)
    np.testing.assert_array_equal(
        found[1200:], rows[1200:]
    )  # complete: as it was, also where it is impossible
    assert rows.min() == -1  # the caller's own


def test_what_was_seen_stays_whatever_it_is(rng):
    circuit = zoo.zero_rows()  # some of what is seen here is impossible
    rows = zoo.rows_with_holes(circuit, rng, 60)
    found, num_missing = completed_rows(circuit, rows, rng)
    seen = rows >= 0
    assert num_missing == (~seen).sum()
    np.testing.assert_array_equal(found[seen], rows[seen])
    assert (found >= 0).all()
    assert (found < circuit.num_categories).all()
