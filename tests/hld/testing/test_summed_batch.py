"""Batches by their sums: with holes each metric has its law, or says nothing where holes could widen it."""
import naive
import numpy as np
import pytest
import zoo

from hld import HLDTest
from hld.testing.summed_batch import judge_summary
from pcircuit import sample

CIRCUIT = zoo.circuits()["hclt_like"]
ROWS = sample(CIRCUIT, 90, rng=1).astype(np.int64)
HOLED = np.where(np.random.default_rng(2).random(ROWS.shape) < 0.1, -1, ROWS)


def against_rows(metric):
    return HLDTest(CIRCUIT, metric=metric, reference="training", missing="available", rng=0,
                   training_data=sample(CIRCUIT, 200, rng=0))


def test_a_metric_that_mixes_nodes_says_nothing_about_rows_with_holes():
    test = against_rows(("euclidean", "whitened"))
    whole, holed = (judge_summary(test, test.summarize(rows), 0.05) for rows in (ROWS, HOLED))
    assert 0 < whole.pvalues[1] < 1
    assert 0 < holed.pvalues[0] < 1 == holed.pvalues[1]
    np.testing.assert_allclose(whole.pvalues, test(ROWS).pvalues, rtol=1e-9)


def test_the_distance_is_that_of_the_rows_that_show_a_node():
    test = against_rows("euclidean")
    found, seen = judge_summary(test, test.summarize(HOLED), 0.05), test.vectors.seen(HOLED)
    L, counts = np.where(seen, naive.node_values(CIRCUIT, HOLED)[:, test.nodes], 0.0), seen.sum(axis=0)
    g = np.sqrt((1 / 90 + 1 / 200) / (1 / counts + 1 / 200))
    assert found.statistic == pytest.approx(np.linalg.norm(g * (L.sum(axis=0) / counts - test.mean)), rel=1e-9)
    assert found.num_missing == (HOLED < 0).sum()
