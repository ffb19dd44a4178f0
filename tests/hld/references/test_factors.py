"""Factors of covariances of low rank, and the laws and directions that are made from them: as from the whole matrix."""

import numpy as np
import pytest

import hld
import pcircuit
from hld.laws.limit_law import limit_law
from hld.references import rows
from hld.references.circuit import CircuitReference
from hld.references.covariances import pivoted_factor, through
from hld.references.rows import row_reference
from hld.witnesses.metrics import maps as whitened_module
from hld.witnesses.metrics.maps import whitened
from hld.witnesses.metrics.named import build_metric

METRICS = ("euclidean", "standardized", "marginals", "whitened", "whitened_fine")


def test_a_factor_has_the_matrix_and_no_more_rows_than_its_rank(rng):
    table = rng.normal(size=(20, 50)) * 0.8 ** np.arange(50)
    matrix = table.T @ table
    factor = pivoted_factor(matrix)
    assert len(factor) <= 20
    np.testing.assert_allclose(factor.T @ factor, matrix, atol=1e-13 * matrix.max())


@pytest.fixture
def circuit_and_rows():
    circuit = pcircuit.rat_spn([2, 3, 5, 2, 4, 2], num_units=4, depth=2, rng=1)
    return circuit, pcircuit.sample(circuit, 400, rng=2)


@pytest.mark.parametrize("part", METRICS)
def test_laws_are_those_of_the_mapped_covariance(part, circuit_and_rows, monkeypatch):
    circuit, data = circuit_and_rows
    reference = row_reference(circuit, pcircuit.select_nodes(circuit), data)
    metric = build_metric(part, reference)
    expected = limit_law(through(metric, reference.covariance()))
    for most in (1500, 5):  # covariance formed, or by rows
        monkeypatch.setattr(rows, "MAX_FULL_SPECTRUM", most)
        found = limit_law(row_reference(circuit, reference.nodes, data).under(metric))
        for level in (0.5, 0.1, 1e-3, 1e-8):
            assert found.threshold(level, 10) == pytest.approx(
                expected.threshold(level, 10), rel=1e-9
            )


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("null", ["auto", "exact"])
def test_rows_that_are_all_equal_have_a_law_too(metric, null, circuit_and_rows):
    """Their covariance has rank 0: nothing is as large as expected, or larger."""
    circuit, data = circuit_and_rows
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
        found.check_stored()
        assert found.vectors.shape == expected.vectors.shape
        vectors = row_reference(circuit, nodes, data).table
        np.testing.assert_allclose(found.squared(vectors), expected.squared(vectors), rtol=1e-9)
