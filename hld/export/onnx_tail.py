r"""The tail of a sum of chi-squares as operations on tensors: what `program.c` does, in the same steps.

The saddle point comes from a fixed number of halvings.  Complex numbers are pairs, and the argument of 1 - 2 lambda s
is atan(a / b) - pi/2 with b > 0, since the line of integration runs through the upper half-plane.  As runtimes have no
arc tangent in double precision, it is made of square roots and a series:

.. math:: \arctan x = 2 \arctan \frac{x}{1 + \sqrt{1 + x^2}},

which after four rounds leaves |x| < 0.1, where ten terms are exact to rounding.
"""

from __future__ import annotations

import numpy as np

from hld.export.c_source import COS, POINTS, REACH, SIN, WIDEST
from hld.export.graph import Graph
from hld.export.plan import MetricPlan

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
