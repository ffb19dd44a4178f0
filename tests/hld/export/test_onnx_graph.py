"""The test as an ONNX graph: operations, tails of sums of chi-squares, and the whole, against the library to 1e-9."""

import itertools

import numpy as np
import pytest
from scipy.stats import chi2

import hld
from hld import gchi2
from hld.apps.export.graph import IR_VERSION, OPSET, Graph
from hld.apps.export.onnx_graph import arctan, onnx_model, tail, three_moments
from hld.apps.export.plan import codes_of, plan_of
from hld.gchi2.three_moments import ThreeMoments
from tests.witness_tables import BROKEN, CALM, heard, table

onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")
onnxruntime = pytest.importorskip("onnxruntime")


NAMES = ["pvalue", "witnesses", "columns", "means", "distances", "pvalues", "valid"]


def session_of(detector):
    """The graph of a detector in onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(onnx_model(detector).SerializeToString(), options)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("options", "holes"),
    [
        ({"metric": "likelihoods"}, 0.0),
        ({"metric": "likelihoods"}, 0.05),
        ({"metric": "whitened"}, 0.0),
        ({"reference": "circuit", "metric": "euclidean", "null": "exact"}, 0.0),
    ],
    ids=["default", "holes in training", "one metric", "circuit"],
)
def test_what_the_graph_says_is_what_the_library_says(options, holes):
    """To 1e-6; where nodes are compared by the rows that show them the p-value of the distance is that of a law that is
    no narrower, and the verdict the same."""
    train = table(np.random.default_rng(0), 600, holes)
    detector = hld.HLDDetector(num_latents=3, num_epochs=4, **options).fit(train)
    session, plan, rng = session_of(detector), plan_of(detector), np.random.default_rng(1)
    assert [output.name for output in session.get_outputs()] == NAMES
    for T, change in itertools.product((1, 2, 9, 60, 200, 700), (CALM, *BROKEN)):
        if detector.test_.reference == "circuit" and "holes" in change:
            continue  # the library fills these by draws
        batch = table(rng, T, **change)
        pvalue, told, columns, means, *_, valid = session.run(
            None, {"codes": codes_of(detector, batch).astype(np.int64)}
        )
        result, (expected, distance, *others) = heard(detector, batch)
        np.testing.assert_allclose(told[1:], others, rtol=1e-6, atol=1e-290)
        assert valid
        assert np.shape(pvalue) == ()
        if holes or "holes" in change:
            assert told[0] >= distance * (1 - 1e-6) or told[0] > 0.04
            assert (pvalue <= 0.05) == result.reject
        else:
            np.testing.assert_allclose(
                [pvalue, told[0]], [expected, distance], rtol=1e-3, atol=1e-290
            )
            np.testing.assert_allclose(
                means,
                detector.test_.vectors.mean(
                    codes_of(detector, batch).clip(
                        0, np.array(detector.encoder_.num_categories) - 1
                    )
                ),
                rtol=1e-12,
                atol=1e-300,
            )
        if result.largest_count is not None and result.largest_count.share:
            assert columns[2] == result.largest_count.column
        if result.largest_dependence is not None and result.largest_dependence.share:
            assert tuple(columns[3:]) == result.largest_dependence.columns
    codes = codes_of(detector, batch).astype(np.int64)
    for wrong in (-2, plan.columns[1].num_categories + 2):
        codes[2, 1] = wrong
        pvalue, told, *_, valid = session.run(None, {"codes": codes})
        assert (bool(valid), np.isnan(pvalue), np.isnan(told).all()) == (False, True, True)


@pytest.mark.parametrize("metric", ["likelihoods", "whitened"])
def test_sums_of_many_rows_are_as_exact_as_those_of_few(metric):
    """Runtimes add one by one: 50,000 rows that are all alike had p = 1e-300, and others p-values off by 3e-8."""
    rng = np.random.default_rng(0)
    alike = [["c", 1]] * 600
    spread = rng.standard_cauchy((600, 1))
    for rows, many in ((alike, alike[:1] * 50_000), (spread, spread[rng.integers(0, 590, 50_000)])):
        detector = hld.HLDDetector(num_latents=3, num_epochs=4, metric=metric).fit(rows)
        codes = detector.encoder_.encode(many)[0].astype(np.int64)
        means, pvalues = session_of(detector).run(["means", "pvalues"], {"codes": codes})
        distinct, counts = np.unique(
            codes, axis=0, return_counts=True
        )  # whose weighted sum has few rounding errors
        expected = counts @ detector.test_.vectors.rows(distinct) / len(codes)
        np.testing.assert_allclose(means, expected, rtol=4e-15)
        judged = detector.test_.judge(expected, len(codes))
        np.testing.assert_allclose(pvalues, judged.pvalues, rtol=1e-9, atol=1e-290)


def function_of(build, *names, shape=()):
    """A function of arrays of a shape: the tensor that `build` adds to a graph whose inputs have these names."""
    graph = Graph()
    inputs = [graph.input(name, "DOUBLE", list(shape)) for name in names]
    graph.output("y", build(*inputs), "DOUBLE", list(shape))
    model = graph.model("")
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
    found = function_of(arctan, "x", shape=x.shape)(x)
    np.testing.assert_allclose(found, np.arctan(x), rtol=1e-14)


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        ([1.0], [1.0]),
        ([1.0], [250.0]),
        ([1.0, 0.3, 0.01], [1.0, 2.5, 40.0]),
        (1 / np.arange(1.0, 30), np.ones(29)),
        ([1.0, 1e-9], [3.0, 1.0]),
        ([1.0, 0.5], [0.1, 100.0]),  # 0.1 had been found to be 1
        ([1.0, 0.01], [10.0, 5000.0]),
    ],
)
def test_tails_are_those_of_the_library_on_both_sides_and_far_out(values, counts):
    values, counts = np.asarray(values), np.asarray(counts)
    mean, exceeded = (
        values @ counts,
        function_of(lambda q: tail(values[None], counts[None], q).shaped(), "q"),
    )
    for q in mean * np.array([1e-3, 0.1, 0.5, 0.99, 1.0, 1.01, 2.0, 5.0, 50.0]):
        expected = (
            chi2.sf(q, counts[0])
            if len(values) == 1
            else gchi2.sf(q, gchi2.prepare(values, counts))
        )
        assert float(exceeded(q)) == pytest.approx(expected, rel=1e-9, abs=1e-300)
    assert exceeded(0.0) == exceeded(-1.0) == 1.0
    assert {float(exceeded(q)) for q in (1e16, 1e300, np.inf)} == {0.0}  # was not a number


@pytest.mark.parametrize(
    ("first", "second", "scale", "v"),
    [(3.0, 2.0, 0.8, 1.0), (3.0, 2.0, 1.2, 1.7), (0.5, 1e-3, 0.01, 0.1), (2.0, 0.0, 0.0, 1.0)],
)
def test_laws_of_three_moments_are_those_of_the_library(first, second, scale, v):
    exceeded = function_of(
        lambda x: three_moments(
            *(x.graph.vector(one) for one in (first, second, scale)), x.shaped(1), np.array([v])
        ).shaped(),
        "x",
    )
    law = ThreeMoments(first, second, scale)
    for x in (0.01, 0.5 * first, first, 1.5 * first, 4 * first, 30 * first):
        assert float(exceeded(x)) == pytest.approx(float(law.tail(x, v)), rel=1e-9, abs=1e-290)


def test_operations_compute_what_their_names_say(rng):
    graph, x = Graph(), rng.normal(size=(4, 3))
    total = 0.5 + (np.array([1.0, 2.0, 3.0]) * graph.input("x", "DOUBLE", ["rows", 3])).sum(1)
    graph.output("y", total, "DOUBLE", ["rows"])
    graph.output("twice", graph.vector(total, total), "DOUBLE", ["all"])
    model = graph.model("words")
    found, twice = reference.ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_allclose(found, x @ [1.0, 2.0, 3.0] + 0.5, rtol=1e-14)
    np.testing.assert_array_equal(twice, np.concatenate([found, found]))
    assert (model.ir_version, model.opset_import[0].version, model.doc_string) == (
        IR_VERSION,
        OPSET,
        "words",
    )
    assert len({name for node in graph.nodes for name in node.output}) == len(graph.nodes)
