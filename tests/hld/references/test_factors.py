"""Factors of covariances of low rank, and the laws and directions that are made from them: as from the whole matrix."""

from dataclasses import replace

import numpy as np
import pytest

import hld
import pcircuit
from hld.features.linear_maps import Scaled
from hld.laws.limit_law import limit_law
from hld.references import covariances, rows
from hld.references.circuit import CircuitReference
from hld.references.covariances import DenseCovariance, through
from hld.references.factors import factor_of_nodes, pivoted_factor
from hld.references.rows import row_reference
from hld.witnesses.metrics import maps as whitened_module
from hld.witnesses.metrics.maps import whitened
from hld.witnesses.metrics.named import build_metric

METRICS = ("euclidean", "standardized", "marginals", "whitened", "whitened_fine")


def factor_of(covariance, groups=()):
    return factor_of_nodes(
        lambda places: covariance[np.ix_(places, places)], len(covariance), groups
    )


@pytest.mark.parametrize("groups", [(), [slice(0, 4), slice(4, 8), slice(9, 10)]])
def test_a_factor_has_the_rank_and_gives_the_covariance_of_every_node(groups, rng):
    """Nodes of variances from 1e-40 to 1 that depend on one another within groups and between them, and constants."""
    table = rng.normal(size=(40, 12)) @ rng.normal(size=(12, 30))
    table[:, :4] = table[:, :1] * [1.0, -2.0, 0.5, 1e-20]
    table[:, 4:8] = table[:, 4:6] @ rng.normal(size=(2, 4))
    table[:, 8:10] = 0.0
    table *= 10.0 ** rng.integers(-10, 1, size=30)
    covariance = np.cov(table.T)
    factor = factor_of(covariance, groups)
    assert factor.shape == (12, 30)
    deviations = np.sqrt(covariance.diagonal())
    scaled = np.abs(factor.T @ factor - covariance) / np.maximum(
        np.outer(deviations, deviations), 1e-300
    )
    assert scaled.max() < 1e-10
    assert factor_of(np.zeros((3, 3)), [slice(0, 2)]).shape == (0, 3)


def test_eigenvalues_of_a_factor_are_those_of_the_matrix(rng, monkeypatch):
    table = rng.normal(size=(20, 50)) * 0.8 ** np.arange(50)
    matrix = table.T @ table
    factor = pivoted_factor(matrix)
    assert len(factor) <= 20
    np.testing.assert_allclose(factor.T @ factor, matrix, atol=1e-13 * matrix.max())
    expected = DenseCovariance(matrix).eigenvalues()
    monkeypatch.setattr(covariances, "FEW", 10)
    found = DenseCovariance(matrix).eigenvalues()
    assert len(found) == 50
    np.testing.assert_allclose(found, expected, atol=1e-13 * expected[0])


@pytest.fixture
def circuit_and_rows():
    circuit = pcircuit.rat_spn([2, 3, 5, 2, 4, 2], num_units=4, depth=2, rng=1)
    return circuit, pcircuit.sample(circuit, 400, rng=2)


@pytest.mark.parametrize("part", METRICS)
def test_laws_by_a_factor_are_those_of_the_mapped_covariance(part, circuit_and_rows, monkeypatch):
    circuit, data = circuit_and_rows
    reference = row_reference(circuit, pcircuit.select_nodes(circuit), data)
    metric = build_metric(part, reference)
    expected = limit_law(through(metric, reference.covariance()))
    monkeypatch.setattr(rows, "FEW", 5)
    for most in (1500, 5):  # covariance formed, or by rows
        monkeypatch.setattr(rows, "MAX_FULL_SPECTRUM", most)
        found = limit_law(row_reference(circuit, reference.nodes, data).under(metric))
        assert len(found.eigenvalues) < len(reference.nodes)
        for level in (0.5, 0.1, 1e-3, 1e-8):
            assert found.threshold(level, 10) == pytest.approx(
                expected.threshold(level, 10), rel=1e-9
            )


@pytest.mark.parametrize("most", [1500, 5])
def test_likelihoods_whose_squares_leave_the_range_have_laws_as_others_have(
    most, circuit_and_rows, rng, monkeypatch
):
    """Every other node is 1e-155 to 1e-170 small, and all of them depend on three hidden ones."""
    circuit, data = circuit_and_rows
    reference = row_reference(circuit, pcircuit.select_nodes(circuit), data)
    n, m = reference.table.shape
    sizes = np.where(np.arange(m) % 2, 1.0, 10.0 ** rng.uniform(-170, -155, size=m))
    table = rng.normal(size=(n, 3)) @ rng.normal(size=(3, m))
    table = (table - table.mean(axis=0)) * sizes
    monkeypatch.setattr(rows, "FEW", 5)
    monkeypatch.setattr(rows, "MAX_FULL_SPECTRUM", most)
    for weights in (np.ones(m), 1 / sizes):
        found = (
            replace(reference, table=table, known={})
            .under(Scaled("weights", weights))
            .eigenvalues()
        )
        expected = np.linalg.svd(table * weights, compute_uv=False) ** 2 / (n - 1)
        np.testing.assert_allclose(found[:3], expected[:3], rtol=1e-9)
        assert len(found) == 3


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("null", ["auto", "exact"])
def test_rows_that_are_all_equal_have_a_law_with_many_nodes_too(
    metric, null, circuit_and_rows, monkeypatch
):
    """Their covariance has rank 0, so that a factor has no row: nothing is as large as expected, or larger."""
    circuit, data = circuit_and_rows
    monkeypatch.setattr(rows, "FEW", 5)
    equal = np.repeat(data[:1], 400, axis=0)
    test = hld.HLDTest(
        circuit, metric=metric, null=null, reference="training", training_data=equal, rng=0
    )
    assert test(equal[:10]).pvalue == 1.0
    assert test(data[1:11]).pvalue < 1e-3


def test_whitening_by_a_factor_is_whitening_by_all_eigenvectors(circuit_and_rows, monkeypatch):
    circuit, data = circuit_and_rows
    nodes = pcircuit.select_nodes(circuit)
    for ridge in (whitened_module.RIDGE, whitened_module.RIDGE / whitened_module.FINER):
        found = whitened(CircuitReference(circuit, nodes), ridge=ridge)
        with monkeypatch.context() as patch:
            patch.setattr(whitened_module, "DISTINCT", 1.0)
            expected = whitened(CircuitReference(circuit, nodes), ridge=ridge)
        assert found.is_orthonormal()
        assert found.vectors.shape == expected.vectors.shape
        vectors = row_reference(circuit, nodes, data).table
        np.testing.assert_allclose(found.squared(vectors), expected.squared(vectors), rtol=1e-9)
