"""What every reference promises: moments of what it draws, and the covariance that a metric sees, by every route."""
import functools

import naive
import numpy as np
import pytest
import zoo

import hld.references.rows as rows_module
from hld import select_nodes
from hld.metrics.named import METRICS, OF_SCORES, build_metric
from hld.references.circuit import CircuitReference
from hld.references.covariances import DenseCovariance, RowCovariance, StretchedCovariance
from hld.references.holes import HolePatterns
from hld.references.rows import CACHED, LEAST_COLUMNS, RowReference, row_reference, weighted_sums
from hld.vectors.linear_maps import DenseRows, Scaled, Stretched
from hld.vectors.squared_distances import squared_distances
from hld.vectors.windows import Window
from pcircuit import sample

CIRCUIT = zoo.circuits()["hclt_like"]
NODES = select_nodes(CIRCUIT)


@functools.cache
def references():
    """One of each kind, which no test changes."""
    rows = sample(CIRCUIT, 60, rng=0)
    holes = np.where(np.random.default_rng(0).random(rows.shape) < 0.3, -1, rows.astype(int))
    return {"circuit": CircuitReference(CIRCUIT, NODES), "rows": row_reference(CIRCUIT, NODES, rows),
            "holes": HolePatterns(CIRCUIT, NODES).reference(holes)}


@pytest.mark.parametrize("kind", ["circuit", "rows", "holes"])
def test_a_reference_has_one_covariance(kind):
    reference = references()[kind]
    S = reference.covariance()
    assert reference.trace == pytest.approx(np.trace(S), rel=1e-10)
    assert reference.trace_sq == pytest.approx((S ** 2).sum(), rel=1e-9)
    np.testing.assert_allclose(reference.diagonal(), S.diagonal(), rtol=1e-9, atol=1e-16)
    np.testing.assert_allclose(reference.operator() @ np.eye(len(S)), S, atol=1e-13)
    values = np.linalg.eigvalsh(S)[::-1]
    np.testing.assert_allclose(reference.eigenvalues(), np.maximum(values, 0.0), atol=1e-13)
    np.testing.assert_allclose(reference.eigenvalues(3), values[:3], rtol=1e-8)


@pytest.mark.parametrize("kind", ["circuit", "rows", "holes"])
def test_what_a_reference_draws_has_its_moments(kind):
    """Means of centred draws are 0 and their squares S / T, each within six standard errors."""
    reference, rng = references()[kind], np.random.default_rng(1)
    for T, drawn in ((3, reference.batch_means(3, 10_000, rng)), (60, reference.batch_means(60, 2_000, rng))):
        variances = reference.diagonal() / T * (59 / 60 if kind == "rows" else 1.0)  # of a draw from n rows
        assert (np.abs(drawn.mean(axis=0)) <= 6 * np.sqrt(variances / len(drawn)) + 1e-14).all()
        spread = (drawn ** 2).std(axis=0) / np.sqrt(len(drawn))
        assert (np.abs((drawn ** 2).mean(axis=0) - variances) <= 6 * spread + 1e-14).all()
    assert reference.rows(40, rng).shape == (40, len(NODES))


@pytest.mark.parametrize("metric", [*sorted(set(METRICS) - set(OF_SCORES)), "weights", "dense"])
@pytest.mark.parametrize("kind", ["circuit", "rows", "holes"])
def test_a_metric_sees_the_mapped_covariance(kind, metric):
    reference = references()[kind]
    weights = np.linspace(0.5, 2, len(NODES))
    built = (DenseRows("dense", np.random.default_rng(0).normal(size=(4, len(NODES)))) if metric == "dense"
             else build_metric(weights if metric == "weights" else metric, reference))
    F = built.apply(np.eye(len(NODES))).T
    expected = F @ reference.covariance() @ F.T
    np.testing.assert_allclose(reference.under(built).covariance(), expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("metric", [*sorted(set(METRICS) - set(OF_SCORES)), "weights", "dense"])
@pytest.mark.parametrize("kind", ["circuit", "rows"])
def test_many_nodes_go_other_ways_to_the_same(kind, metric, monkeypatch):
    reference = references()[kind]
    built = (DenseRows("dense", np.random.default_rng(0).normal(size=(4, len(NODES)))) if metric == "dense"
             else build_metric(np.linspace(0.5, 2, len(NODES)) if metric == "weights" else metric, reference))
    formed = reference.under(built)
    assert isinstance(formed, DenseCovariance)
    for limit in ("circuit.MAX_FULL_SPECTRUM", "rows.MOST_FORMED"):
        monkeypatch.setattr(f"hld.references.{limit}", 3)
    seen = reference.under(built)
    # a thirtieth of the ridge magnifies what is missing from the leading eigenvectors thirty times
    rel = 3e-7 if metric == "whitened_fine" else 1e-8
    assert seen.trace == pytest.approx(formed.trace, rel=rel)
    assert seen.trace_sq == pytest.approx(formed.trace_sq, rel=rel)
    k = min(2, len(formed.eigenvalues()))
    np.testing.assert_allclose(seen.eigenvalues(k)[:k], formed.eigenvalues(k), rtol=1e-6)


@pytest.mark.parametrize("seen", [slice(0, 3), slice(2, 6)])
def test_metrics_of_a_part_of_the_coordinates_see_its_covariance(seen, rng, monkeypatch):
    table = rng.normal(size=(40, 6))
    reference = RowReference(table - table.mean(axis=0), None, np.zeros(6))
    weights = np.linspace(0.5, 2, seen.stop - seen.start)
    inner = [Scaled("weights", weights), Stretched("steep", np.eye(len(weights))[:, :1], np.array([3.0]), 0.5)]
    windows = [Window(one.name, one, seen.start, 6) for one in inner]
    expected = [reference.under(window).covariance() for window in windows]
    monkeypatch.setattr("hld.references.rows.MOST_FORMED", 5)    # less than all six, more than the window
    for window, matrix in zip(windows, expected, strict=True):
        np.testing.assert_allclose(reference.under(window).covariance(), matrix, atol=1e-12)


def test_any_map_can_be_estimated_from_drawn_rows(monkeypatch):
    reference = CircuitReference(CIRCUIT, NODES)
    metric = build_metric("marginals", reference)
    formed = reference.under(metric)
    for name in ("MAX_FULL_SPECTRUM", "MOST_MAPPED"):
        monkeypatch.setattr(f"hld.references.circuit.{name}", 1)
    drawn = reference.under(metric)
    assert isinstance(drawn, RowCovariance)
    spread = (drawn.table ** 2).sum(axis=1).std() / np.sqrt(len(drawn.table))
    assert abs(drawn.trace - formed.trace) <= 6 * spread


def test_stretched_directions_of_eigenvectors_leave_the_rest_as_it_is(rng):
    root = rng.normal(size=(8, 8))
    S = root @ root.T
    values, vectors = np.linalg.eigh(S)
    metric = Stretched("top", vectors[:, -3:], np.array([0.1, 0.2, 0.3]), 0.9)
    F = metric.apply(np.eye(8))
    seen, expected = StretchedCovariance(DenseCovariance(S), metric), np.linalg.eigvalsh(F @ S @ F)[::-1]
    assert seen.trace == pytest.approx(expected.sum(), rel=1e-12)
    assert seen.trace_sq == pytest.approx((expected ** 2).sum(), rel=1e-12)
    along, rest = sorted([0.01 * values[-3], 0.04 * values[-2], 0.09 * values[-1]]), 0.81 * values[:5]
    np.testing.assert_allclose(np.sort(seen.eigenvalues()), along, rtol=1e-9)
    np.testing.assert_allclose(np.sort(np.concatenate([along, rest])), expected[::-1], rtol=1e-9)
    assert seen.bound == pytest.approx(0.81 * values[-3])
    assert seen.bound >= rest.max()


def test_rows_have_their_sample_moments():
    rows = sample(CIRCUIT, 60, rng=0)
    L = naive.node_values(CIRCUIT, rows)[:, NODES]
    reference = row_reference(CIRCUIT, NODES, rows)
    np.testing.assert_allclose(reference.mean, L.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(reference.covariance(), np.cov(L.T), atol=1e-13)
    assert reference.at_deployment is None
    assert reference.model.trace == CircuitReference(CIRCUIT, NODES).trace
    with pytest.raises(ValueError, match="has 1 rows: a covariance needs at least two"):
        row_reference(CIRCUIT, NODES, rows[:1])


def test_of_many_rows_some_make_the_table_and_all_the_mean(monkeypatch):
    rows = sample(CIRCUIT, 1000, rng=0)
    L = naive.node_values(CIRCUIT, rows)[:, NODES]
    for most in (2000, 1000, 999, 500, 7):
        monkeypatch.setattr(rows_module, "MANY_ROWS", most)
        monkeypatch.setattr(rows_module, "MANY_BYTES", 0)
        reference = row_reference(CIRCUIT, NODES, rows)
        np.testing.assert_allclose(reference.mean, L.mean(axis=0), rtol=1e-12)
        kept = [k * 1000 // most for k in range(most)] if most < 1000 else range(1000)  # as many as there may be
        np.testing.assert_allclose(reference.table, L[kept] - L.mean(axis=0), atol=1e-13)
        assert reference.num_rows == 1000


def test_what_stays_at_deployment_draws_the_same():
    reference = CircuitReference(CIRCUIT, NODES)
    drawn = [one.batch_means(5, 7, np.random.default_rng(3)) for one in (reference, reference.at_deployment)]
    np.testing.assert_array_equal(*drawn)
    assert "moments" not in vars(reference.at_deployment)


@pytest.mark.parametrize("seed", range(6))
def test_nodes_that_vary_by_rounding_only_have_no_variance(seed):
    """Over rows of any kind, also where the numbers of one node differ in their last bits."""
    circuit, constant = zoo.with_constants(seed)
    rows = np.random.default_rng(seed).integers(0, circuit.num_categories, (300, circuit.num_variables))
    reference = row_reference(circuit, np.arange(circuit.num_nodes), rows)
    np.testing.assert_array_equal(reference.diagonal() == 0, constant)
    values = reference.eigenvalues()
    assert (values >= 0).all()
    assert (values == 0).sum() >= constant.sum()


def test_eigenvalues_that_are_zero_to_working_precision_are_zero():
    """Of three equal columns only one eigenvalue is left, formed or of rows."""
    column = np.random.default_rng(0).normal(size=(20, 1))
    table = column @ [[1.0, 1 / 3, 0.7]]
    for covariance in (RowCovariance(table), DenseCovariance(table.T @ table)):
        assert (covariance.eigenvalues() > 0).tolist() == [True, False, False]


@pytest.mark.parametrize(("n", "m"), [(30, 4), (400, 3 * CACHED // (8 * 400) + 5), (CACHED // 8, LEAST_COLUMNS + 3)])
def test_sums_over_drawn_rows_do_not_depend_on_how_many_columns_are_added_at_a_time(n, m, rng):
    from scipy.sparse import csr_array
    table, T = rng.normal(size=(n, m)), 5
    picked = rng.integers(n, size=(7, T))
    weights = csr_array((np.full(picked.size, 0.3), picked.ravel(), np.arange(0, picked.size + 1, T)), shape=(7, n))
    found = weighted_sums(weights, table)
    np.testing.assert_array_equal(found, weights @ table)
    terms = 0.3 * table[picked]  # T products and T - 1 sums, each rounded once, in either order
    assert (np.abs(found - terms.sum(axis=1)) <= 2 * T * np.finfo(float).eps * np.abs(terms).sum(axis=1)).all()
    np.testing.assert_array_equal(weighted_sums(weights.toarray(), table), weights.toarray() @ table)


def test_lengths_of_rows_are_those_of_products_that_are_known():
    reference = row_reference(CIRCUIT, NODES, sample(CIRCUIT, 20, rng=0))
    parts = "euclidean", "standardized", "marginals", "whitened_fine"
    metrics = tuple(build_metric(part, reference) for part in parts)
    expected = squared_distances(metrics, reference.table)
    for metric in metrics:
        reference.under(metric)
    assert all(metric in reference.known for metric in metrics)
    np.testing.assert_allclose(reference.squared(metrics), expected, rtol=1e-9, atol=1e-12 * expected.max())
