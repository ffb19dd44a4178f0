r"""A test as an ONNX graph, for runtimes in C#, Java, C++ or a browser; see `hld.export.plan` for what it computes.

Input is ``codes`` (T, V), int64.  Outputs are ``means`` (m,), ``distances`` (q,), ``pvalues`` (q,) and ``pvalue`` (),
all in double precision, and ``valid`` (), which is false where a code is not one of its column; p-values are then NaN.

The tail of a sum of chi-squares takes the steps of `program.c`.  The saddle point comes from a fixed number of
halvings.  Complex numbers are pairs, and the argument of 1 - 2 lambda s is atan(a / b) - pi/2 with b > 0, since the
line of integration runs through the upper half-plane.  As runtimes have no arc tangent in double precision, it is made
of square roots and a series:

.. math:: \arctan x = 2 \arctan \frac{x}{1 + \sqrt{1 + x^2}},

which after four rounds leaves |x| < 0.1, where ten terms are exact to rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hld.export.c_source import COS, POINTS, REACH, SIN, WIDEST
from hld.export.plan import PRODUCT, SUM, MetricPlan, Plan, plan_of
from hld.nulls.joint import RESOLVED

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


def onnx_model(detector: Any) -> Any:
    """The graph of a fitted detector's test."""
    try:
        import onnx
    except ImportError:
        raise ImportError(
            "exporting to ONNX needs onnx, which is not installed: pip install 'hld[onnx]'"
        ) from None
    plan, graph = plan_of(detector), Graph()
    codes, is_valid = _checked_codes(graph, plan)
    vectors = graph.add("Gather", _likelihoods(graph, plan, codes), plan.chosen, axis=1)
    means = _means(graph, vectors)
    size = graph.add("Squeeze", graph.add("Shape", "codes", start=0, end=1))
    rows = graph.add("Cast", size, to=onnx.TensorProto.DOUBLE)
    distances, pvalues = _metrics(graph, plan, graph.add("Sub", means, plan.mean), rows)
    graph.add("Identity", distances, output="distances")
    is_law = graph.add(
        "And", is_valid, graph.add("GreaterOrEqual", rows, float(plan.least_rows or np.inf))
    )
    graph.add("Where", is_law, pvalues, np.nan, output="pvalues")
    joint = _joint(graph, plan, pvalues)
    graph.add("Where", is_law, graph.add("Max", joint, 1e-300), np.nan, output="pvalue")
    q = len(plan.metrics)
    return graph.model(
        [("codes", "INT64", ["rows", len(plan.columns)])],
        [
            ("means", "DOUBLE", [len(plan.chosen)]),
            ("distances", "DOUBLE", [q]),
            ("pvalues", "DOUBLE", [q]),
            ("pvalue", "DOUBLE", []),
            ("valid", "BOOL", []),
        ],
        f"p-values from {plan.least_rows} rows on; metrics {', '.join(one.name for one in plan.metrics)}",
    )


def _checked_codes(graph: Any, plan: Any) -> tuple[Any, ...]:
    """The codes, each moved to the nearest one of its column, and whether that changed none."""
    most = np.array([column.num_categories - 1 for column in plan.columns])
    codes = graph.add("Min", graph.add("Max", "codes", np.zeros(len(most), dtype=np.int64)), most)
    same = graph.add("Cast", graph.add("Equal", codes, "codes"), to=6)  # int32
    flat = graph.add("ReduceMin", same, axes=[0, 1], keepdims=0)
    return codes, graph.add("Equal", flat, graph.add("Cast", np.int64(1), to=6), output="valid")


def _means(graph: Any, vectors: str) -> str:
    """Means (m,) of rows (T, m): runtimes add one by one, so what that lost is the mean of the differences from it."""
    nearly = graph.add("ReduceMean", vectors, axes=[0], keepdims=0)
    lost = graph.add("ReduceMean", graph.add("Sub", vectors, nearly), axes=[0], keepdims=0)
    return str(graph.add("Add", nearly, lost, output="means"))


def _likelihoods(graph: Any, plan: Plan, codes: str) -> str:
    """(T, N) likelihoods of all nodes, layer by layer: nodes of one kind in a row that need none of each other."""
    parts: list[str] = []
    place: dict[int, tuple[int, int]] = {}  # where a node stands: its layer and the position in it
    first = 0
    while first < len(plan.kinds):
        kind, end = plan.kinds[first], first + 1
        while end < len(plan.kinds) and plan.kinds[end] == kind and _fits(plan, first, end):
            end += 1
        parts.append(_layer(graph, plan, codes, first, end, parts, place))
        place |= {n: (len(parts) - 1, n - first) for n in range(first, end)}
        first = end
    return graph.add("Concat", *parts, axis=1)


def _children(plan: Any, n: Any) -> np.ndarray:
    """The entries of a node."""
    return plan.children[plan.starts[n] : plan.starts[n + 1]]


def _fits(plan: Any, first: Any, n: Any) -> bool:
    """Whether a node can stand in the layer of another: of the same column, or of nodes that come before both."""
    own, others = _children(plan, n), _children(plan, first)
    if plan.kinds[n] == SUM:
        return max(own) < first
    return (
        max(own) < first and len(own) == len(others)
        if plan.kinds[n] == PRODUCT
        else own[0] == others[0]
    )


def _layer(graph: Any, plan: Any, codes: Any, first: Any, end: Any, parts: Any, place: Any) -> str:
    """(T, end - first) likelihoods of nodes of one kind."""
    kind, nodes = plan.kinds[first], range(first, end)
    if kind == SUM:
        below = sorted({int(child) for n in nodes for child in _children(plan, n)})
        matrix = np.zeros((len(below), len(nodes)))
        for column, n in enumerate(nodes):
            matrix[np.searchsorted(below, _children(plan, n)), column] = plan.weights[
                plan.starts[n] : plan.starts[n + 1]
            ]
        return graph.add("MatMul", _gathered(graph, below, parts, place), matrix)
    if kind == PRODUCT:
        factors = np.array([_children(plan, n) for n in nodes])
        product = _gathered(graph, factors[:, 0].tolist(), parts, place)
        for a in range(1, factors.shape[1]):
            product = graph.add(
                "Mul", product, _gathered(graph, factors[:, a].tolist(), parts, place)
            )
        return product
    table = np.array([plan.weights[plan.starts[n] : plan.starts[n + 1]] for n in nodes]).T
    own = graph.add("Gather", codes, np.int64(_children(plan, first)[0]), axis=1)
    return graph.add("Gather", table, own, axis=0)


def _gathered(graph: Any, wanted: Any, parts: Any, place: Any) -> str:
    """Likelihoods (T, n) of nodes, which may stand in several layers."""
    layers = sorted({place[n][0] for n in wanted})
    width, offset = 0, {}
    for one in layers:
        offset[one] = width
        width += 1 + max(position for layer, position in place.values() if layer == one)
    whole = (
        parts[layers[0]]
        if len(layers) == 1
        else graph.add("Concat", *(parts[one] for one in layers), axis=1)
    )
    return graph.add(
        "Gather", whole, np.array([offset[place[n][0]] + place[n][1] for n in wanted]), axis=1
    )


def _metrics(graph: Any, plan: Any, difference: Any, rows: Any) -> tuple[Any, ...]:
    """Distances (q,) and p-values (q,) of the metrics."""
    distances: list[str] = []
    pvalues: list[str] = []
    inflation = graph.add("Add", 1.0, graph.add("Div", rows, float(plan.num_train or np.inf)))
    for one in plan.metrics:
        matrix = np.zeros((len(one.starts) - 1, len(plan.mean)))
        matrix[np.repeat(np.arange(len(matrix)), np.diff(one.starts)), one.places] = one.values
        mapped = graph.add("MatMul", matrix, difference)
        distance = graph.add("Sqrt", graph.sum(graph.add("Mul", mapped, mapped), 0))
        beyond = graph.add(
            "Where",
            graph.add("Greater", distance, one.round_off),
            distance,
            0.0,
        )
        squared = graph.add("Div", graph.add("Mul", beyond, beyond), inflation)
        pvalue = (
            law_pvalue(graph, one, squared, rows) if plan.least_rows else graph.constant(np.nan)
        )
        for names, value in ((distances, distance), (pvalues, pvalue)):
            names.append(graph.add("Unsqueeze", value, np.array([0])))
    return graph.add("Concat", *distances, axis=0), graph.add("Concat", *pvalues, axis=0)


def _joint(graph: Any, plan: Any, pvalues: Any) -> str:
    """The p-value of all metrics together."""
    q, draws = len(plan.metrics), len(plan.joint)
    if q == 1:
        return graph.add("Squeeze", pvalues)
    mean = graph.add(
        "Div", 1.0, graph.add("Div", graph.sum(graph.add("Div", 1.0, pvalues), 0), float(q))
    )
    if not draws:
        return mean
    single = graph.add("Cast", mean, to=1)  # float32, as the draws are held
    below = graph.sum(graph.add("Cast", graph.add("LessOrEqual", plan.joint, single), to=11), 0)
    inside = graph.add("Div", graph.add("Add", below, 1.0), draws + 1.0)
    share = graph.add("Min", graph.add("Div", mean, float(plan.joint[RESOLVED])), 1.0)
    outside = graph.add("Mul", share, (RESOLVED + 1) / (draws + 1))
    return graph.add("Where", graph.add("GreaterOrEqual", below, float(RESOLVED)), inside, outside)


HALVINGS = 60
ROUNDS, TERMS = 4, 10


def law_pvalue(graph: Graph, one: MetricPlan, squared: str, rows: str) -> str:
    """The p-value of a squared distance by the law of a metric at a number of rows, all of them scalars."""
    if not len(one.eigenvalues):
        return graph.add("Where", graph.add("Greater", squared, 0.0), 0.0, 1.0)
    scale, v = one.eigenvalues[0], graph.constant(1.0)
    if one.excess:
        v = graph.add("Add", graph.add("Div", one.excess, rows), 1.0)
        v = graph.add("Min", graph.add("Max", v, 0.1), one.most_scale)
    counts = graph.add("Div", one.multiplicities, v)
    q = graph.add("Div", graph.add("Mul", squared, rows), graph.add("Mul", v, scale))
    return tail(graph, one.eigenvalues / scale, counts, q)


def tail(graph: Graph, values: np.ndarray, counts: str, q: str) -> str:
    """P(Q > q) for Q = sum values_j chi2(counts_j), the largest value being 1.

    Shapes: values (k,).
    """
    add = graph.add
    mean = graph.sum(add("Mul", counts, values), 0)
    degrees = graph.sum(counts, 0)
    is_positive = add("Greater", q, 0.0)
    q = add("Where", is_positive, q, 1.0)
    q = add(
        "Min", q, add("Add", 3000.0, add("Mul", 2.0, degrees))
    )  # where the tail is less than any double
    is_right = add("Greater", q, mean)
    c = _saddle(graph, values, counts, q, is_right, degrees)
    gap = add("Sub", 1.0, add("Mul", 2 * values, c))
    a = add("Div", values, gap)
    second = add(
        "Add",
        add("Div", 1.0, add("Mul", c, c)),
        graph.sum(add("Mul", add("Mul", 2.0, counts), add("Mul", a, a)), 0),
    )
    top = add(
        "Neg",
        add(
            "Add",
            add("Mul", c, q),
            graph.sum(add("Mul", add("Mul", 0.5, counts), add("Log", gap)), 0),
        ),
    )
    width = add("Min", add("Div", 2.0, add("Sqrt", second)), add("Mul", WIDEST, add("Sub", 0.5, c)))
    integral = _integral(graph, values, counts, (q, c, width, top))
    found = add("Where", is_right, integral, add("Add", 1.0, integral))
    found = add("Min", add("Max", found, 0.0), 1.0)
    return add("Where", is_positive, found, 1.0)


def _saddle(
    graph: Graph, values: np.ndarray, counts: str, q: str, is_right: str, degrees: str
) -> str:
    """The saddle point between the pole and the branch point, or left of the pole."""
    add = graph.add
    least = add("Neg", add("Div", add("Mul", add("Add", add("Mul", degrees, 0.5), 1.0), 1.001), q))
    low, high = add("Where", is_right, 0.0, least), add("Where", is_right, 0.5, 0.0)
    weights = add("Mul", counts, values)
    for _ in range(HALVINGS):
        middle = add("Mul", 0.5, add("Add", low, high))
        terms = add("Div", weights, add("Sub", 1.0, add("Mul", 2 * values, middle)))
        slope = add("Sub", add("Sub", graph.sum(terms, 0), q), add("Div", 1.0, middle))
        is_below = add("Less", slope, 0.0)
        low, high = add("Where", is_below, middle, low), add("Where", is_below, high, middle)
    return add("Mul", 0.5, add("Add", low, high))


def _integral(graph: Graph, values: np.ndarray, counts: str, parts: tuple[str, ...]) -> str:
    """The integral along the hyperbola, by the midpoint rule in u."""
    add, (q, c, width, top) = graph.add, parts
    u = (np.arange(POINTS) + 0.5) * REACH / POINTS
    x = add("Add", c, add("Mul", width, COS * (np.cosh(u) - 1.0)))
    y = add("Mul", width, SIN * np.sinh(u))
    a = add("Sub", 1.0, add("Mul", 2 * values, add("Unsqueeze", x, np.array([1]))))  # (points, k)
    b = add("Mul", 2 * values, add("Unsqueeze", y, np.array([1])))
    sizes = add("Mul", counts, add("Log", add("Add", add("Mul", a, a), add("Mul", b, b))))
    angles = add("Mul", counts, add("Sub", np.pi / 2, arctan(graph, add("Div", a, b))))
    real = add(
        "Sub", add("Neg", add("Add", add("Mul", x, q), top)), add("Mul", 0.25, graph.sum(sizes, 1))
    )
    imaginary = add("Sub", add("Mul", 0.5, graph.sum(angles, 1)), add("Mul", y, q))
    size = add("Div", add("Exp", real), add("Add", add("Mul", x, x), add("Mul", y, y)))
    # a cosine of doubles came late to onnxruntime (after 1.23); a quarter turn costs an error of a rounding
    re, im = add("Sin", add("Add", imaginary, np.pi / 2)), add("Sin", imaginary)
    over_re = add("Add", add("Mul", re, x), add("Mul", im, y))
    over_im = add("Sub", add("Mul", im, x), add("Mul", re, y))
    turned = add(
        "Add", add("Mul", over_re, SIN * np.cosh(u)), add("Mul", over_im, COS * np.sinh(u))
    )
    terms = add("Mul", add("Mul", size, turned), REACH / POINTS / np.pi)
    return add("Mul", add("Mul", graph.sum(terms, 0), width), add("Exp", top))


def arctan(graph: Graph, x: str) -> str:
    """The arc tangent of a tensor."""
    for _ in range(ROUNDS):
        x = graph.add(
            "Div",
            x,
            graph.add("Add", 1.0, graph.add("Sqrt", graph.add("Add", 1.0, graph.add("Mul", x, x)))),
        )
    square, series = graph.add("Mul", x, x), graph.constant((-1.0) ** (TERMS - 1) / (2 * TERMS - 1))
    for n in range(TERMS - 2, -1, -1):
        series = graph.add("Add", graph.add("Mul", series, square), (-1.0) ** n / (2 * n + 1))
    return graph.add("Mul", graph.add("Mul", series, x), 2.0**ROUNDS)
