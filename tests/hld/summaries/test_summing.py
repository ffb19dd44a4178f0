"""Rows to sums: over the rows that show a node, block by block, with holes as the test takes them."""

import naive
import numpy as np
import pytest
import zoo

import hld
import pcircuit
from hld.testing.summaries.summing import summarize_rows

CIRCUIT = zoo.circuits()["hclt_like"]
ROWS = pcircuit.sample(CIRCUIT, 60, rng=0).astype(int)
HOLED = np.where(np.random.default_rng(1).random(ROWS.shape) < 0.2, -1, ROWS)


@pytest.fixture(scope="module")
def against_rows():
    return hld.HLDTest(
        CIRCUIT,
        metric=("euclidean", "whitened"),
        null="exact",
        reference="training",
        rng=0,
        training_data=pcircuit.sample(CIRCUIT, 100, rng=2),
    )


@pytest.mark.parametrize("holes", [False, True])
def test_the_spread_of_many_rows_is_estimated_from_some(detector, holes, monkeypatch):
    """A sample without replacement: sums of squares are within five standard errors of those of all rows."""
    detector, table = detector
    rows = np.tile(table, (8, 1))
    codes = detector.encoder_.encode(rows)[0].astype(np.int64)
    if holes:
        codes[::5, 0] = -1
    whole = detector.test_.summarize(codes)
    monkeypatch.setattr("hld.testing.summaries.summing.MOST_SPREAD", 800)
    monkeypatch.setattr("hld.testing.summaries.summing.LEAST_SPREAD", 300)
    part, n = detector.test_.summarize(codes), len(codes)
    parts = detector.test_.summarize(codes[:1200]) + summarize_rows(
        detector.test_, codes[1200:], first=1200
    )
    for found, least in ((part, 800), (parts, 300)):
        assert found.num_rows == n
        np.testing.assert_allclose(found.sums, whole.sums, rtol=1e-12)
        np.testing.assert_array_equal(found.seen, whole.seen)
        mean, fourth = whole.arrays["squares"] / n, whole.arrays["fourths"] / n
        errors = 5 * np.sqrt(np.maximum(fourth - mean**2, 0) / least)
        assert (np.abs(found.arrays["squares"] / n - mean) <= errors).all()
        assert not np.array_equal(found.arrays["squares"], whole.arrays["squares"])
        np.testing.assert_allclose(
            np.linalg.norm(found.arrays["sketch"], axis=(1, 2)),
            np.linalg.norm(whole.arrays["sketch"], axis=(1, 2)),
            rtol=0.25,
        )


def test_with_holes_a_node_is_summed_over_the_rows_that_show_it(against_rows):
    assert against_rows.missing == "available"
    found, nodes = summarize_rows(against_rows, HOLED), against_rows.nodes
    shown = np.array([[(row[CIRCUIT.scope(node)] >= 0).all() for node in nodes] for row in HOLED])
    np.testing.assert_array_equal(found.seen, shown.sum(axis=0))
    values = naive.node_values(CIRCUIT, ROWS)[:, nodes]
    np.testing.assert_allclose(found.sums, (values * shown).sum(axis=0), rtol=1e-9)
    squares = (np.where(shown, values - against_rows.mean, 0.0) ** 2).sum(
        axis=1
    )  # in the first metric
    np.testing.assert_allclose(
        [found.arrays["squares"][0], found.arrays["fourths"][0]],
        [squares.sum(), (squares**2).sum()],
        rtol=1e-9,
    )
    assert found.num_missing == (HOLED < 0).sum()
    assert (summarize_rows(against_rows, ROWS).is_whole, found.is_whole) == (True, False)


def test_no_rows_are_a_summary_of_zeros_and_other_rows_are_refused(against_rows):
    found = summarize_rows(against_rows, ROWS[:0])
    assert (found.num_rows, found.num_missing, found.is_whole) == (0, 0, True)
    assert not found.sums.any()
    assert not found.arrays["squares"].any()
    assert found + summarize_rows(against_rows, HOLED) == summarize_rows(against_rows, HOLED)
    with pytest.raises(ValueError, match=r"`rows` must have shape \(N, 6\)"):
        summarize_rows(against_rows, [[0, 1]])
    with pytest.raises(ValueError, match="expected none with missing='exact', whose null depends"):
        summarize_rows(hld.HLDTest(CIRCUIT, null="exact", missing="exact"), HOLED)
