"""Tails of sums of chi-squares as operations on tensors: against the library's, digit by digit."""

import numpy as np
import pytest
from scipy.stats import chi2

from hld import gchi2
from hld.export.graph import Graph
from hld.export.onnx_tail import arctan, law_pvalue, tail
from hld.export.plan import MetricPlan

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def function_of(build, *names, shape=()):
    """A function of arrays of a shape: the tensor that `build` adds to a graph whose inputs have these names."""
    graph = Graph()
    graph.add("Identity", build(graph), output="y")
    model = graph.model(
        [(name, "DOUBLE", list(shape)) for name in names], [("y", "DOUBLE", list(shape))], ""
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return lambda *values: session.run(
        None,
        {name: np.asarray(value, dtype=float) for name, value in zip(names, values, strict=True)},
    )[0]


def test_the_arc_tangent_is_exact_to_rounding():
    x = np.concatenate([-np.logspace(-300, 150, 500), [0.0], np.logspace(-300, 150, 500)])
    found = function_of(lambda graph: arctan(graph, "x"), "x", shape=x.shape)(x)
    np.testing.assert_allclose(found, np.arctan(x), rtol=1e-14)


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        ([1.0], [1.0]),
        ([1.0], [250.0]),
        ([1.0, 0.3, 0.01], [1.0, 2.5, 40.0]),
        (1 / np.arange(1.0, 30), np.ones(29)),
        ([1.0, 1e-9], [3.0, 1.0]),
    ],
)
def test_tails_are_those_of_the_library_on_both_sides_and_far_out(values, counts):
    values, counts = np.asarray(values), np.asarray(counts)
    mean, exceeded = (
        values @ counts,
        function_of(lambda graph: tail(graph, values, graph.constant(counts), "q"), "q"),
    )
    for q in mean * np.array([1e-3, 0.1, 0.5, 0.99, 1.0, 1.01, 2.0, 5.0, 50.0]):
        expected = (
            chi2.sf(q, counts[0])
            if len(values) == 1
            else gchi2.sf(q, gchi2.prepare(values, counts))
        )
        assert float(exceeded(q)) == pytest.approx(expected, rel=1e-9, abs=1e-300)
    assert exceeded(0.0) == exceeded(-1.0) == 1.0


@pytest.mark.parametrize(
    ("small", "counts"), [(0.5, [0.1, 100.0]), (0.1, [1.0, 100.0]), (0.01, [10.0, 5000.0])]
)
def test_tails_of_one_large_eigenvalue_and_many_small_ones_are_those_of_the_library(small, counts):
    """0.1 had been found to be 1, and 1e-6 to be 0; from q = 1e16 on the tail was not a number."""
    values, law = np.array([1.0, small]), gchi2.prepare([1.0, small], counts)
    exceeded = function_of(
        lambda graph: tail(graph, values, graph.constant(np.array(counts)), "q"), "q"
    )
    for p in (0.999, 0.5, 0.1, 1e-2, 1e-3, 1e-6, 1e-50, 1e-200):
        assert float(exceeded(gchi2.isf(p, law))) == pytest.approx(p, rel=1e-9)
    assert {float(exceeded(q)) for q in (2e4, 1e16, 1e17, 1e300, np.inf)} == {0.0}


def plan(eigenvalues, multiplicities, excess=0.0, most_scale=4.0):
    nothing = np.zeros(0)
    return MetricPlan(
        "plain",
        nothing,
        nothing,
        nothing,
        0.0,
        0.0,
        np.array(eigenvalues),
        np.array(multiplicities),
        excess,
        most_scale,
    )


@pytest.mark.parametrize(
    ("excess", "v"), [(0.0, 1.0), (20.0, 1.5), (-12.0, 0.7), (-39.0, 0.1), (400.0, 4.0)]
)
def test_the_law_of_a_metric_is_scaled_for_few_rows(excess, v):
    """v = 1 + excess / T, bounded: counts / v chi-squares of scale v."""
    one, rows, squared = plan([0.2, 0.05], [2.0, 3.0], excess), 40.0, 0.03
    pvalue = function_of(lambda graph: law_pvalue(graph, one, "squared", "rows"), "squared", "rows")
    expected = gchi2.sf(
        squared * rows, gchi2.prepare(v * np.array([0.2, 0.05]), np.array([2.0, 3.0]) / v)
    )
    assert float(pvalue(squared, rows)) == pytest.approx(expected, rel=1e-9)


def test_without_a_law_only_a_distance_above_zero_counts():
    pvalue = function_of(
        lambda graph: law_pvalue(graph, plan([], []), "squared", "rows"), "squared", "rows"
    )
    assert (pvalue(0.0, 5.0), pvalue(1e-300, 5.0)) == (1.0, 0.0)
