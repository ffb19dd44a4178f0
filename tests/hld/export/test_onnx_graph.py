"""The test as an ONNX graph: operations, tails of sums of chi-squares, and the whole, against the library to 1e-9."""

import numpy as np
import pytest
from scipy.stats import chi2

import hld
from hld import gchi2
from hld.export.onnx_graph import IR_VERSION, OPSET, Graph, arctan, law_pvalue, onnx_model, tail
from hld.export.plan import MetricPlan, plan_of

onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")
onnxruntime = pytest.importorskip("onnxruntime")


def table(rng, number, shift=0.0):
    kind = rng.integers(0, 5, number)
    return {
        "a": kind,
        "n": kind + rng.normal(size=number) + shift,
        "k": (kind + rng.integers(0, 2, number)) % 4,
    }


@pytest.mark.thorough
@pytest.mark.parametrize(
    "options",
    [
        {"metric": "likelihoods"},
        {"metric": "whitened"},
        {"reference": "circuit", "metric": "euclidean", "null": "exact"},
        {"reference": "circuit", "metric": "euclidean", "null": "normal"},
    ],
    ids=str,
)
def test_what_the_graph_computes_is_what_the_library_computes(options):
    detector = hld.HLDDetector(num_latents=3, num_epochs=4, **options).fit(
        table(np.random.default_rng(0), 600)
    )
    plan, test, rng = plan_of(detector), detector.test_, np.random.default_rng(1)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(onnx_model(detector).SerializeToString(), settings)
    names = [output.name for output in session.get_outputs()]
    assert names == ["means", "distances", "pvalues", "pvalue", "valid"]
    least, seen = max(plan.least_rows, 1), set()
    for size in (least, 2 * least + 7, 1000):
        for shift in (0.0, 0.1, 0.5, 2.0):
            codes = detector.encoder_.encode(table(rng, size, shift))[0].astype(np.int64)
            means, distances, pvalues, pvalue, valid = session.run(None, {"codes": codes})
            mean = test.vectors.mean(codes)
            expected = test.judge(mean, size)
            np.testing.assert_allclose(means, mean, rtol=1e-12, atol=1e-300)
            np.testing.assert_allclose(
                distances,
                [metric.squared(mean - test.mean) ** 0.5 for metric in test.calibration.metrics],
                rtol=1e-9,
            )
            assert valid
            if plan.least_rows:
                np.testing.assert_allclose(pvalues, expected.pvalues, rtol=1e-9, atol=1e-290)
                assert float(pvalue) == pytest.approx(expected.pvalue, rel=1e-9)
                seen.add(bool(pvalue < 0.01))
            else:
                assert np.isnan(pvalue)
    assert seen == ({True, False} if plan.least_rows else set())
    for wrong in (-1, plan.columns[1].num_categories):
        codes[2, 1] = wrong
        *_, pvalues, pvalue, valid = session.run(None, {"codes": codes})
        assert (bool(valid), bool(np.isnan(pvalue)), bool(np.isnan(pvalues).all())) == (
            False,
            True,
            True,
        )
    if plan.least_rows > 3:
        assert np.isnan(session.run(["pvalue"], {"codes": codes[3:6]})[0])


@pytest.mark.parametrize("metric", ["likelihoods", "whitened"])
def test_sums_of_many_rows_are_as_exact_as_those_of_few(metric):
    """Runtimes add one by one: 50,000 rows that are all alike had p = 1e-300, and others p-values off by 3e-8."""
    rng = np.random.default_rng(0)
    alike = [["c", 1]] * 600
    spread = rng.standard_cauchy((600, 1))
    for rows, many in ((alike, alike[:1] * 50_000), (spread, spread[rng.integers(0, 590, 50_000)])):
        detector = hld.HLDDetector(num_latents=3, num_epochs=4, metric=metric).fit(rows)
        session = onnxruntime.InferenceSession(onnx_model(detector).SerializeToString())
        codes = detector.encoder_.encode(many)[0].astype(np.int64)
        means, pvalue = session.run(["means", "pvalue"], {"codes": codes})
        distinct, counts = np.unique(
            codes, axis=0, return_counts=True
        )  # whose weighted sum has few rounding errors
        expected = counts @ detector.test_.vectors.rows(distinct) / len(codes)
        np.testing.assert_allclose(means, expected, rtol=4e-15)
        assert float(pvalue) == pytest.approx(
            detector.test_.judge(expected, len(codes)).pvalue, rel=1e-9
        )


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


def test_operations_compute_what_their_names_say(rng):
    graph, x = Graph(), rng.normal(size=(4, 3))
    total = graph.sum(graph.add("Mul", "x", np.array([1.0, 2.0, 3.0])), 1)
    graph.add("Add", total, 0.5, output="y")
    graph.add("Concat", "y", "y", output="twice", axis=0)
    outputs = [("y", "DOUBLE", ["rows"]), ("twice", "DOUBLE", ["all"])]
    model = graph.model([("x", "DOUBLE", ["rows", 3])], outputs, "words")
    found, twice = reference.ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_allclose(found, x @ [1.0, 2.0, 3.0] + 0.5, rtol=1e-14)
    np.testing.assert_array_equal(twice, np.concatenate([found, found]))
    assert (model.ir_version, model.opset_import[0].version, model.doc_string) == (
        IR_VERSION,
        OPSET,
        "words",
    )
    assert len({name for node in graph.nodes for name in node.output}) == len(graph.nodes)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (2, np.int64),
        (np.array([1, 2], np.uint8), np.int64),
        (0.1, np.float64),
        (np.float32(0.1), np.float32),
        (np.ones((2, 3), np.float16), np.float64),
        (np.zeros((0, 2)), np.float64),
        ([[1.5]], np.float64),
    ],
)
def test_constants_keep_their_shape_and_have_a_type_of_the_graph(value, dtype):
    graph = Graph()
    graph.constant(value)
    (held,) = map(onnx.numpy_helper.to_array, graph.constants)
    assert (held.dtype, held.shape) == (dtype, np.shape(value))
    np.testing.assert_array_equal(held, np.asarray(value).astype(dtype))


def test_equal_constants_are_held_once_and_others_apart():
    graph = Graph()
    values = 1.0, np.float64(1), np.array(1.0), 1, np.array([1.0]), np.float32(1), -0.0, 0
    names = [graph.constant(value) for value in values]
    assert names[0] == names[1] == names[2]
    assert len(set(names)) == len(graph.constants) == 6


def test_a_graph_that_is_none_is_refused():
    graph = Graph()
    graph.add("Add", "nothing", 1.0, output="y")
    with pytest.raises(onnx.checker.ValidationError, match="nothing"):
        graph.model([], [("y", "DOUBLE", [])], "")
    graph = Graph()
    graph.add("Add", "x", np.ones(4), output="y")  # shapes that do not fit together
    with pytest.raises(onnx.shape_inference.InferenceError, match="Incompatible dimensions"):
        graph.model([("x", "DOUBLE", [3])], [("y", "DOUBLE", [3])], "")
