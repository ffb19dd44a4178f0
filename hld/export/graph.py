"""Tensors with arithmetic, which becomes an ONNX graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import onnx

OPSET, IR_VERSION = 17, 8  # of 2022; whatever reads ONNX today knows them
FLOAT, INT64, DOUBLE = 1, 7, 11  # types of elements, as ONNX numbers them


def _binary(operation: str) -> tuple[Callable[..., Value], Callable[..., Value]]:
    """An operation on two tensors, and with its operands exchanged."""
    return (
        lambda one, other: one.graph.add(operation, one, other),
        lambda one, other: one.graph.add(operation, other, one),
    )


class Value:
    """A tensor of a graph; the other operand may be an array or a number, which becomes a constant."""

    __array_ufunc__ = None  # so that arrays leave the operation to it

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    __add__, __radd__ = _binary("Add")
    __sub__, __rsub__ = _binary("Sub")
    __mul__, __rmul__ = _binary("Mul")
    __truediv__, __rtruediv__ = _binary("Div")
    __matmul__, __rmatmul__ = _binary("MatMul")
    __lt__, __gt__ = _binary("Less")
    __le__, __ge__ = _binary("LessOrEqual")
    __and__, __rand__ = _binary("And")
    __or__, __ror__ = _binary("Or")

    def __neg__(self) -> Value:
        return self.graph.add("Neg", self)

    def __invert__(self) -> Value:
        return self.graph.add("Not", self)

    def __getattr__(self, operation: str) -> Callable[..., Value]:
        """Any other operation by its name in ONNX, of this tensor first."""
        if not operation[:1].isupper():
            raise AttributeError(operation)
        return lambda *others, **attributes: self.graph.add(operation, self, *others, **attributes)

    def as_type(self, kind: int = DOUBLE) -> Value:
        """Elements of another type."""
        return self.graph.add("Cast", self, to=kind)

    def sum(self, axis: int, keepdims: int = 0) -> Value:
        """The sum over an axis."""
        return self.graph.add("ReduceSum", self, np.array([axis]), keepdims=keepdims)

    def extreme(self, operation: str, axis: int = -1, keepdims: int = 0) -> Value:
        """The largest ("Max") or smallest ("Min") along an axis."""
        return self.graph.add(f"Reduce{operation}", self, axes=[axis], keepdims=keepdims)

    def at(self, places: Any, axis: int = 0) -> Value:
        """The entries at some places of an axis."""
        return self.graph.add("Gather", self, places, axis=axis)

    def shaped(self, *shape: int) -> Value:
        """The same entries in another shape."""
        return self.graph.add("Reshape", self, np.array(shape, dtype=np.int64))

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
        self._num_values = 0
        self.constants: list[Any] = []
        self._known: dict[tuple[Any, ...], Value] = {}

    def add(
        self, operation: str, *inputs: Any, output: str | None = None, **attributes: Any
    ) -> Value:
        """One operation on tensors, or on arrays and numbers, which become constants."""
        return self.add_several(operation, *inputs, outputs=[output], **attributes)[0]

    def add_several(
        self, operation: str, *inputs: Any, outputs: Sequence[str | None], **attributes: Any
    ) -> list[Value]:
        """One operation with several results, of which those with no name get one."""
        from onnx import helper

        names = [name or f"v{self._num_values + i}" for i, name in enumerate(outputs)]
        self._num_values += len(names)
        used = [self.constant(one).name for one in inputs]
        self.nodes.append(helper.make_node(operation, used, names, **attributes))
        return [Value(self, name) for name in names]

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

    def where(self, condition: Any, one: Any, other: Any) -> Value:
        """Entries of one tensor where a condition holds, else of another."""
        return self.add("Where", condition, one, other)

    def joined(self, *parts: Any, axis: int = 0) -> Value:
        """Tensors one behind the other."""
        return self.add("Concat", *parts, axis=axis)

    def model(
        self,
        inputs: list[tuple[str, str, list[Any]]],
        outputs: list[tuple[str, str, list[Any]]],
        description: str,
    ) -> onnx.ModelProto:
        """The whole as a model, checked; inputs and outputs are (name, dtype, shape)."""
        import onnx
        from onnx import helper

        into, out = (
            [
                helper.make_tensor_value_info(name, getattr(onnx.TensorProto, kind), shape)
                for name, kind, shape in values
            ]
            for values in (inputs, outputs)
        )
        graph = helper.make_graph(self.nodes, "hld", into, out, self.constants)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="hld",
            doc_string=description,
        )
        onnx.checker.check_model(model, full_check=True)
        return model
