"""What every reference promises: moments of what it draws, and the covariance that a metric sees, by every route."""

import functools

import numpy as np
import pytest
import zoo
from dense_maps import dense_map

from hld import select_nodes
from hld.references.circuit import CircuitReference
from hld.references.covariances import DenseCovariance
from hld.references.rows import row_reference
from hld.witnesses.metrics.named import METRICS, OF_SCORES, build_metric
from pcircuit import sample

CIRCUIT = zoo.circuits()["hclt_like"]
NODES = select_nodes(CIRCUIT)


@functools.cache
def references():
    """One of each kind, which no test changes."""
    rows = sample(CIRCUIT, 60, rng=0)
    return {
        "circuit": CircuitReference(CIRCUIT, NODES),
        "rows": row_reference(CIRCUIT, NODES, rows),
    }


@pytest.mark.parametrize("kind", ["circuit", "rows"])
def test_a_reference_has_one_covariance(kind):
    reference = references()[kind]
    S = reference.covariance()
    np.testing.assert_allclose(reference.diagonal(), S.diagonal(), rtol=1e-9, atol=1e-16)


@pytest.mark.parametrize("kind", ["circuit", "rows"])
def test_what_a_reference_draws_has_its_moments(kind):
    """Means of centred draws are 0 and their squares S / T, each within six standard errors."""
    reference, rng = references()[kind], np.random.default_rng(1)
    for T, drawn in (
        (3, reference.batch_means(3, 10_000, rng)),
        (60, reference.batch_means(60, 2_000, rng)),
    ):
        variances = (
            reference.diagonal() / T * (59 / 60 if kind == "rows" else 1.0)
        )  # of a draw from n rows
        assert (np.abs(drawn.mean(axis=0)) <= 6 * np.sqrt(variances / len(drawn)) + 1e-14).all()
        spread = (drawn**2).std(axis=0) / np.sqrt(len(drawn))
        assert (np.abs((drawn**2).mean(axis=0) - variances) <= 6 * spread + 1e-14).all()
    assert reference.rows(40, rng).shape == (40, len(NODES))


def map_of(metric, reference):
    """A metric by its name, weights of nodes, or any rows."""
    if metric == "dense":
        return dense_map("dense", np.random.default_rng(0).normal(size=(4, len(NODES))))
    return build_metric(
        np.linspace(0.5, 2, len(NODES)) if metric == "weights" else metric, reference
    )


@pytest.mark.parametrize("metric", [*sorted(set(METRICS) - set(OF_SCORES)), "weights", "dense"])
@pytest.mark.parametrize("kind", ["circuit", "rows"])
def test_a_metric_sees_the_mapped_covariance(kind, metric):
    reference = references()[kind]
    built = map_of(metric, reference)
    F = built.apply(np.eye(len(NODES))).T
    expected = F @ reference.covariance() @ F.T
    np.testing.assert_allclose(
        reference.under(built).covariance(), expected, atol=1e-12 * np.abs(expected).max()
    )


@pytest.mark.parametrize("metric", [*sorted(set(METRICS) - set(OF_SCORES)), "weights", "dense"])
@pytest.mark.parametrize("kind", ["circuit", "rows"])
def test_many_nodes_go_other_ways_to_the_same(kind, metric, monkeypatch):
    """Exactly for rows and for weights of nodes, else by the lengths of drawn rows, within six standard errors."""
    reference = references()[kind]
    built = map_of(metric, reference)
    formed = reference.under(built)
    assert isinstance(formed, DenseCovariance)
    for limit in ("circuit", "rows"):
        monkeypatch.setattr(f"hld.references.{limit}.MAX_FULL_SPECTRUM", 3)
    seen = reference.under(built)
    if kind == "circuit" and built.node_weights is None:
        spread = (seen.table**2).sum(axis=1).std() / np.sqrt(len(seen.table))
        assert abs(seen.trace - formed.trace) <= 6 * spread
        return
    assert seen.trace == pytest.approx(formed.trace, rel=1e-8)
    assert seen.trace_sq == pytest.approx(formed.trace_sq, rel=1e-8)
    k = min(2, len(formed.eigenvalues()))
    np.testing.assert_allclose(seen.eigenvalues(k)[:k], formed.eigenvalues(k), rtol=1e-6)
