"""Tensors with arithmetic, which becomes an ONNX graph."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import onnx

OPSET, IR_VERSION = 17, 8  # of 2022; whatever reads ONNX today knows them
FLOAT, INT64, DOUBLE = 1, 7, 11  # types of elements, as ONNX numbers them


# operations of NumPy and SciPy by their names in ONNX
OPERATIONS = {
    "add": "Add",
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "matmul": "MatMul",
    "power": "Pow",
    "negative": "Neg",
    "absolute": "Abs",
    "exp": "Exp",
    "log": "Log",
    "expit": "Sigmoid",
    "maximum": "Max",
    "minimum": "Min",
    "less": "Less",
    "less_equal": "LessOrEqual",
    "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
    "bitwise_and": "And",
    "bitwise_or": "Or",
    "invert": "Not",
}


class Value(np.lib.mixins.NDArrayOperatorsMixin):
    """A tensor of a graph: what NumPy and SciPy compute of it becomes part of the graph; arrays become constants."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any) -> Value:
        if ufunc.__name__ == "gammaln":
            return log_gamma(*inputs)
        return self.graph.add(OPERATIONS[ufunc.__name__], *inputs)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        name = function.__name__
        if name == "all":  # not known before the graph runs
            return False
        if name == "concatenate":
            return self.graph.joined(*inputs[0], **options)
        if name == "cumsum":
            return inputs[0].sums(**options)
        if name == "flip":
            ends = (np.array([one]) for one in (-1, -(2**62), inputs[1], -1))
            return self.graph.add("Slice", inputs[0], *ends)
        return self.graph.add("Where", *inputs)

    def __getattr__(self, operation: str) -> Callable[..., Value]:
        """Any other operation by its name in ONNX, of this tensor first."""
        if not operation[:1].isupper():
            raise AttributeError(operation)
        return lambda *others, **attributes: self.graph.add(operation, self, *others, **attributes)

    def as_type(self, kind: int = DOUBLE) -> Value:
        """Elements of another type."""
        return self.graph.add("Cast", self, to=kind)

    def sum(self, axis: int, keepdims: bool = False) -> Value:
        """The sum over an axis."""
        return self.graph.add("ReduceSum", self, np.array([axis]), keepdims=int(keepdims))

    def min(self, axis: int, keepdims: bool = False) -> Value:
        """The smallest along an axis."""
        return self.graph.add("ReduceMin", self, axes=[axis], keepdims=int(keepdims))

    def max(self, axis: int, keepdims: bool = False) -> Value:
        """The largest along an axis."""
        return self.graph.add("ReduceMax", self, axes=[axis], keepdims=int(keepdims))

    def at(self, places: Any, axis: int = 0) -> Value:
        """The entries at some places of an axis."""
        return self.graph.add("Gather", self, places, axis=axis)

    def shaped(self, *shape: int) -> Value:
        """The same entries in another shape."""
        return self.graph.add("Reshape", self, np.array(shape, dtype=np.int64))

    def first(self, number: Any, largest: int = 1) -> tuple[Value, Value]:
        """So many of the largest entries in their order, or of the smallest, and their places."""
        found = self.graph.add("TopK", self, number, largest=largest)
        return found, Value(self.graph, f"{found.name}_places")

    def turned(self) -> Value:
        """The transpose of a matrix."""
        return self.graph.add("Transpose", self, perm=[1, 0])

    def sums(self, axis: int = -1, **attributes: Any) -> Value:
        """Sums up to each entry of an axis."""
        return self.graph.add("CumSum", self, np.int64(axis), **attributes)


class Graph:
    """A graph that grows."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.constants: list[Any] = []
        self._known: dict[tuple[Any, ...], Value] = {}

    def add(self, operation: str, *inputs: Any, output: str = "", **attributes: Any) -> Value:
        """One operation on tensors, or on arrays and numbers, which become constants; its first result."""
        from onnx import helper

        name = output or f"v{len(self.nodes)}"
        used = [self.constant(one).name for one in inputs]
        names = [name] if operation != "TopK" else [name, f"{name}_places"]
        self.nodes.append(helper.make_node(operation, used, names, **attributes))
        return Value(self, name)

    def constant(self, value: Any) -> Value:
        """A tensor as it is; of arrays a constant: whole numbers of 64 bit, flags, float32, all others double."""
        from onnx import numpy_helper

        if isinstance(value, (Value, str)):
            return value if isinstance(value, Value) else Value(self, value)
        array = np.asarray(float(value) if type(value) is int else value)
        kinds = {"i": np.int64, "u": np.int64, "b": np.bool_}
        kind = np.float32 if array.dtype == np.float32 else kinds.get(array.dtype.kind, np.float64)
        array = np.ascontiguousarray(array, dtype=kind).reshape(array.shape)
        key = array.dtype.str, array.shape, array.tobytes()
        if key not in self._known:
            name = f"c{len(self._known)}"
            self._known[key] = Value(self, name)
            self.constants.append(numpy_helper.from_array(array, name))
        return self._known[key]

    def input(self, name: str, kind: str, shape: list[Any]) -> Value:
        """A tensor that is given, of a type by its name in ONNX."""
        self.inputs.append(_described(name, kind, shape))
        return Value(self, name)

    def output(self, name: str, value: Value, kind: str, shape: list[Any]) -> None:
        """Give a tensor under a name."""
        self.outputs.append(_described(name, kind, shape))
        self.add("Identity", value, output=name)

    def joined(self, *parts: Any, axis: int = 0) -> Value:
        """Tensors one behind the other."""
        return self.add("Concat", *parts, axis=axis)

    def vector(self, *parts: Any) -> Value:
        """Numbers and vectors as one vector."""
        return self.joined(*(self.constant(one).shaped(-1) for one in parts))

    def model(self, description: str) -> onnx.ModelProto:
        """The whole as a model, checked."""
        import onnx
        from onnx import helper

        model = helper.make_model(
            helper.make_graph(self.nodes, "hld", self.inputs, self.outputs, self.constants),
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="hld",
            doc_string=description,
        )
        onnx.checker.check_model(model, full_check=True)
        return model


def _described(name: str, kind: str, shape: list[Any]) -> Any:
    """The name, type and shape of a tensor."""
    import onnx

    return onnx.helper.make_tensor_value_info(name, getattr(onnx.TensorProto, kind), shape)


def select(condition: Any, one: Any, other: Any) -> Value:
    """Entries of one tensor where a condition holds, else of another; one of the three is a `Value`."""
    found: Any = np.where(condition, one, other)
    return found


def log_gamma(x: Value) -> Value:
    """ln Gamma(x) for x of at least 1: Stirling's series for x + 20, and the steps up to it."""
    steps = np.log(x.Unsqueeze(np.array([-1])) + np.arange(20.0)).sum(-1)
    x = x + 20.0
    y = 1.0 / (x * x)
    series = 1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))
    return (x - 0.5) * np.log(x) - x + 0.5 * math.log(2 * math.pi) - steps + series / x
