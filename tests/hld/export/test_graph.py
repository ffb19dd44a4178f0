"""ONNX graphs node by node: what they compute, and which constants they hold."""

import numpy as np
import pytest

from hld.export.graph import IR_VERSION, OPSET, Graph

onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")


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
