"""ONNX graphs node by node: every call of `Graph.add` is one operation, and returns the name of what it computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import onnx

OPSET, IR_VERSION = 17, 8  # of 2022; whatever reads ONNX today knows them


class Graph:
    """A graph that grows."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._known: dict[tuple[Any, ...], str] = {}

    def add(
        self, operation: str, *inputs: Any, output: str | None = None, **attributes: Any
    ) -> str:
        """One operation on names, or on arrays and numbers, which become constants of double precision."""
        from onnx import helper

        name = output or f"v{len(self.nodes)}"
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        self.nodes.append(helper.make_node(operation, names, [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        """A constant: whole numbers as 64 bit, float32 as it is, all else in double precision; equal ones once."""
        from onnx import numpy_helper

        array = np.asarray(value)
        kind = (
            np.int64
            if array.dtype.kind in "iu"
            else np.float32
            if array.dtype == np.float32
            else np.float64
        )
        array = np.ascontiguousarray(array, dtype=kind).reshape(array.shape)
        key = array.dtype.str, array.shape, array.tobytes()
        if key not in self._known:
            self._known[key] = f"c{len(self._known)}"
            self.constants.append(numpy_helper.from_array(array, self._known[key]))
        return self._known[key]

    def sum(self, value: str, axis: int) -> str:
        """The sum over an axis."""
        return self.add("ReduceSum", value, np.array([axis]), keepdims=0)

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
