"""Rows as reference: sample moments, the table of some of many rows, and means of rows drawn again and again."""

from collections import Counter
from dataclasses import replace

import naive
import numpy as np
import pytest
import zoo

import hld.references.rows as rows_module
from hld import select_nodes
from hld.features.linear_maps import Scaled, Stretched
from hld.references.rows import (
    RowReference,
    resampled_weights,
    row_reference,
)
from pcircuit import sample

CIRCUIT = zoo.circuits()["hclt_like"]
NODES = select_nodes(CIRCUIT)


def test_of_many_rows_some_make_the_table_and_all_the_mean(monkeypatch):
    rows = sample(CIRCUIT, 1000, rng=0)
    L = naive.node_values(CIRCUIT, rows)[:, NODES]
    with pytest.raises(ValueError, match="has 1 rows: a covariance needs at least two"):
        row_reference(CIRCUIT, NODES, rows[:1])
    for most in (2000, 1000, 999, 500, 7):
        monkeypatch.setattr(rows_module, "MANY_ROWS", most)
        monkeypatch.setattr(rows_module, "MANY_BYTES", 0)
        reference = row_reference(CIRCUIT, NODES, rows)
        np.testing.assert_allclose(reference.mean, L.mean(axis=0), rtol=1e-12)
        kept = (
            [k * 1000 // most for k in range(most)] if most < 1000 else range(1000)
        )  # as many as there may be
        np.testing.assert_allclose(reference.table, L[kept] - L.mean(axis=0), atol=1e-13)
        assert reference.num_rows == 1000
        assert reference.at_deployment is None


@pytest.mark.parametrize("seen", [slice(0, 3), slice(2, 6)])
def test_metrics_of_a_part_of_the_coordinates_see_its_covariance(seen, rng, monkeypatch):
    table = rng.normal(size=(40, 6))
    reference = RowReference(table - table.mean(axis=0), None, np.zeros(6))
    weights = np.linspace(0.5, 2, seen.stop - seen.start)
    inner = [
        Scaled("weights", weights),
        Stretched("steep", np.eye(len(weights))[:, :1], np.array([3.0]), 0.5),
    ]
    windows = [replace(one, before=seen.start, behind=6 - seen.stop) for one in inner]
    expected = [reference.under(window).covariance() for window in windows]
    monkeypatch.setattr("hld.references.rows.MAX_FULL_SPECTRUM", 5)
    for window, matrix in zip(windows, expected, strict=True):
        np.testing.assert_allclose(reference.under(window).covariance(), matrix, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_nodes_that_vary_by_rounding_only_have_no_variance(seed):
    """Over rows of any kind, also where the numbers of one node differ in their last bits."""
    circuit, constant = zoo.with_constants(seed)
    rows = np.random.default_rng(seed).integers(
        0, circuit.num_categories, (300, circuit.num_variables)
    )
    reference = row_reference(circuit, np.arange(circuit.num_nodes), rows)
    np.testing.assert_array_equal(reference.diagonal() == 0, constant)
    values = reference.eigenvalues()
    assert (values >= 0).all()
    assert (values == 0).sum() >= constant.sum()


def test_rows_with_holes_have_the_mean_of_the_rows_that_show_a_node_and_its_variance(rng):
    """One node for each of two columns: differences that are not known are 0, the others stretched."""
    circuit = zoo.independent([[0.2, 0.8], [0.6, 0.4]])
    nodes = select_nodes(circuit, "input")
    rows = rng.integers(0, 2, size=(50, 2))
    rows[rng.random(rows.shape) < 0.3] = -1
    reference = row_reference(circuit, nodes, rows)
    shown = naive.node_values(circuit, np.maximum(rows, 0))[:, nodes]
    for j, node in enumerate(nodes.tolist()):
        seen = rows[:, circuit.scope(node)[0]] >= 0
        values = shown[seen, j]
        assert reference.mean[j] == pytest.approx(values.mean(), rel=1e-12)
        assert reference.diagonal()[j] == pytest.approx(
            ((values - values.mean()) ** 2).mean() * 50 / 49, rel=1e-9
        )
        assert not reference.table[~seen, j].any()


@pytest.mark.parametrize(("n", "T"), [(1, 5), (2, 100), (5, 3), (7, 57), (40, 4), (200, 3)])
def test_weights_of_drawn_rows_are_whole_counts_with_the_right_variance(n, T):
    """Each of T draws counts sqrt(n / (n - 1)) / T, whether rows are few (multinomial), some, or many (sparse)."""
    weights = resampled_weights(n, T, 30, np.random.default_rng(0))
    dense = weights if isinstance(weights, np.ndarray) else weights.toarray()
    counts = dense * T / np.sqrt(n / max(n - 1, 1))
    assert dense.shape == (30, n)
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-9)
    np.testing.assert_allclose(counts.sum(axis=1), T, rtol=1e-12)
    assert n == 1 or len(np.unique(counts, axis=0)) > 1


def test_rows_are_drawn_without_replacement_and_all_where_there_are_no_more(rng):
    reference = row_reference(CIRCUIT, NODES, sample(CIRCUIT, 12, rng=0))
    own, drawn = (
        Counter(map(tuple, rows.tolist())) for rows in (reference.table, reference.rows(7, rng))
    )
    assert drawn.total() == 7
    assert drawn <= own
    assert len({reference.rows(1, rng)[0].tobytes() for _ in range(30)}) > 1
    for n in (12, 99):
        np.testing.assert_array_equal(reference.rows(n, rng), reference.table)
