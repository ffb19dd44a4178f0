"""A test as an ONNX graph, for runtimes in C#, Java, C++ or a browser; see `hld.export.plan` for what it computes.

Input is ``codes`` (T, V), int64.  Outputs are ``means`` (m,), ``distances`` (q,), ``pvalues`` (q,) and ``pvalue`` (),
all in double precision, and ``valid`` (), which is false where a code is not one of its column; p-values are then NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hld.export.graph import Graph
from hld.export.onnx_tail import law_pvalue
from hld.export.plan import PRODUCT, SUM, Plan, plan_of
from hld.nulls.joint import RESOLVED


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
            graph.add("Max", graph.add("Sub", distance, one.margin), 0.0),
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
