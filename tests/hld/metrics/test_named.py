"""Metrics by their names: what an argument asks for, what is built, and which ones are the default."""

import numpy as np
import pytest

import pcircuit
from hld.references.circuit import CircuitReference
from hld.witnesses.metrics.named import (
    DEFAULT,
    DEFAULT_OF_FRESH,
    ENOUGH,
    METRICS,
    OF_SCORES,
    asks_for_scores,
    build_metric,
    default_metrics,
    names_in,
    parse_metric,
)


@pytest.fixture(scope="module")
def reference():
    circuit = pcircuit.rat_spn([2, 3, 2, 2], num_units=2, depth=1, rng=0)
    return CircuitReference(circuit, pcircuit.select_nodes(circuit))


def test_one_metric_several_or_weights_are_asked_for():
    assert parse_metric("score", 3) == ("score",)
    assert parse_metric(("whitened", "euclidean"), 3) == (
        "whitened",
        "euclidean",
    )  # in the order that was given
    (weights,) = parse_metric([1, 2.5, 3], 3)
    np.testing.assert_array_equal(weights, [1.0, 2.5, 3.0])
    assert names_in([1, 2.5, 3], "") is names_in(None, "") is names_in([], "") is None
    assert asks_for_scores(parse_metric(["euclidean", "score"], 3))
    assert not asks_for_scores((*parse_metric(["euclidean", "whitened"], 3), weights))


@pytest.mark.parametrize(
    "metric",
    [
        "cosine",
        ["euclidean", "euclidean"],
        ["euclidean", "cosine"],
        ["euclidean", 1.0],
        ["euclidean", ["score"]],
        ["euclidean", np.ones(3)],
        [np.ones(3), "euclidean"],
        [1.0, 2.0],
        [1.0, 0.0, 2.0],
        [1.0, -1.0, 2.0],
        [1.0, np.nan, 2.0],
        np.array(["euclidean"]),
        [],
        None,
        {"euclidean"},
    ],
)
def test_what_is_no_metric_is_refused_in_the_same_words(metric):
    """Weights beside a name had been "the truth value of an array with more than one element is ambiguous"."""
    expected = r"`metric` must be one of 'euclidean', .*, 'score', several different ones, or 3 positive node weights"
    with pytest.raises((TypeError, ValueError), match=expected):
        parse_metric(metric, 3)


@pytest.mark.parametrize("name", sorted({*METRICS} - {*OF_SCORES}))
def test_every_name_builds_a_map_of_that_name_over_all_nodes(reference, name, rng):
    metric = build_metric(name, reference, ordered=None)
    differences = rng.normal(size=(3, len(reference.mean)))
    assert (metric.name, metric.width) == (name, len(reference.mean))
    np.testing.assert_allclose(
        metric.squared(differences), (metric.apply(differences) ** 2).sum(axis=1), rtol=1e-10
    )
    direct = METRICS[name](reference, ordered=None)
    wide = reference.mean[: direct.width] if direct.width < len(reference.mean) else reference.mean
    assert float(metric.squared(reference.mean)) == pytest.approx(
        float(direct.squared(wide)), rel=1e-12
    )


def test_weights_are_the_metric_of_the_nodes(reference):
    weights = np.arange(1.0, len(reference.mean) + 1)
    metric = build_metric(weights, reference)
    assert float(metric.squared(np.ones(len(weights)))) == (weights**2).sum()
    with pytest.raises(
        ValueError, match="metric 'weights' is not a norm: node weights must be pos"
    ):
        build_metric(np.array([1.0, np.inf]), reference)
    np.testing.assert_array_equal(metric.node_weights, weights)


@pytest.mark.parametrize(
    ("kinds", "left_out"),
    [
        (("input", "sum", "product"), set()),
        (("input", "sum"), set()),
        (("input",), {"score"}),
        (("sum",), {"marginals", "score"}),
        (("product",), {"marginals", "score"}),
    ],
)
def test_the_default_has_what_the_nodes_and_the_rows_allow(reference, kinds, left_out):
    nodes = pcircuit.select_nodes(reference.circuit, kinds)
    for number, names in (
        (None, DEFAULT),
        (0, DEFAULT),
        (ENOUGH - 1, DEFAULT),
        (ENOUGH, DEFAULT_OF_FRESH),
    ):
        expected = tuple(name for name in names if name not in left_out)
        assert default_metrics(reference.circuit, nodes, number) == expected
        assert default_metrics(reference.circuit, nodes, number, scores=False) == tuple(
            name for name in expected if name != "score"
        )
