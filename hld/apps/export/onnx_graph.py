r"""A test as an ONNX graph, for runtimes in C#, Java, C++ or a browser; see `export.plan` for what it computes.

Input is ``codes`` (T, V), int64.  Outputs are

=============  ====  ===============================================================================================
``pvalue``     ()    of all witnesses together
``witnesses``  (5,)  of the distance, missing values, new values, counts and dependences by themselves; NaN where one
                     is not carried or has nothing to compare
``columns``    (5,)  int64, -1 for none: the column of the missing values, of the new ones, of the count, and the two of
                     the dependence
``means``      (m,)  likelihoods over the rows that show them
``distances``  (q,)  of the metrics
``pvalues``    (q,)  of the metrics, from `least_rows` on
``valid``      ()    false where a code is not one of its column, or its schema refuses it; p-values are then NaN
=============  ====  ===============================================================================================

The tail of a sum of chi-squares takes the steps of `program.c`, for all metrics at once.  The saddle point comes from a
fixed number of halvings.  Complex numbers are pairs, and the argument of 1 - 2 lambda s is atan(a / b) - pi/2 with
b > 0, since the line of integration runs through the upper half-plane.  As runtimes have no arc tangent in double
precision, it is made of square roots and a series:

.. math:: \arctan x = 2 \arctan \frac{x}{1 + \sqrt{1 + x^2}},

which after four rounds leaves |x| < 0.1, where ten terms are exact to rounding.

**Bounds.**  A graph has no eigenvalues.  For a covariance M of l numbers

.. math:: \lambda_1 \le \bigl(\mathrm{tr}\, M^{2^n}\bigr)^{1 / 2^n} \le l^{1 / 2^n} \lambda_1,

which for n = `SQUARINGS` is less than 0.1 % too much, and makes laws wider: so an alarm that the batch's own rows check
has a p-value up to some thousandths above the library's.  Where rows have holes, the law of a metric is the widest one
with the trace, the sum of squares and this largest eigenvalue of F (S o R) F^t (`hld.gchi2.three_moments`): below 5 %
its p-values are never smaller than those of the library.
"""

import importlib.util
from collections.abc import Callable
from functools import reduce
from itertools import pairwise
from operator import add, mul, sub
from typing import Any, NamedTuple

import numpy as np

import pcircuit
from hld.apps.export.c_source import COS, POINTS, REACH, SIN, WIDEST
from hld.apps.export.graph import FLOAT, INT64, Graph, Value, log_gamma, select
from hld.apps.export.plan import Plan, plan_of
from hld.laws.joint import RESOLVED
from hld.laws.ranks.confirmation import excess_of, pooled_law
from hld.laws.ranks.monte_carlo import TIE
from hld.tables.schemas.counts import MOST_VALUES, SLACK, count_tails
from hld.witnesses.largest_count import likelihood_ratio
from hld.witnesses.largest_dependence import mean_tails

HALVINGS, SQUARINGS = 60, 13
ROUNDS, TERMS = 4, 10
STEPS, MORE = (
    5.0,
    60,
)  # terms of a tail of counts: so many times the root of T, and more, are all but 1e-18 of it
TINY, FAR = 1e-300, 1e300


def onnx_model(detector: Any) -> Any:
    """The graph of a fitted detector's test."""
    if importlib.util.find_spec("onnx") is None:
        raise ImportError(
            "exporting to ONNX needs onnx, which is not installed: pip install 'hld[onnx]'"
        )
    plan, graph = plan_of(detector), Graph()
    batch = Batch(plan, graph, detector.test_)
    distance, distances, pvalues = _distance(batch)
    carried = {name: one(batch) for name, one in WITNESSES.items() if name in plan.witnesses}
    together = _together(distance, [*carried.values()])
    select(batch.is_valid, together, np.nan).Identity(output="pvalue")
    shown, columns = [distance.shaped(1)], []
    for name in WITNESSES:
        if name in carried:
            one = carried[name]
            shown.append(select(one.share > 0.0, one.pvalue, np.nan).shaped(1))
            columns.append(one.columns)
        else:
            shown.append(graph.constant(np.full(1, np.nan)))
            columns.append(graph.constant(np.full(1 + (name == "dependences"), -1)))
    select(batch.is_valid, graph.joined(*shown), np.nan).Identity(output="witnesses")
    graph.joined(*columns).Identity(output="columns")
    batch.means.Identity(output="means")
    distances.Identity(output="distances")
    select(batch.is_valid & batch.is_law, pvalues, np.nan).Identity(output="pvalues")
    q, m = len(plan.metrics), len(plan.arrays["mean"])
    return graph.model(
        [("codes", "INT64", ["rows", len(plan.columns)])],
        [
            ("pvalue", "DOUBLE", []),
            ("witnesses", "DOUBLE", [5]),
            ("columns", "INT64", [5]),
            ("means", "DOUBLE", [m]),
            ("distances", "DOUBLE", [q]),
            ("pvalues", "DOUBLE", [q]),
            ("valid", "BOOL", []),
        ],
        f"witnesses {', '.join(plan.witnesses)}; p-values of metrics from {plan.numbers['least_rows']} rows "
        f"on; metrics {', '.join(one.name for one in plan.metrics)}",
    )


class Batch:
    """The codes of a batch, and what is summed over its rows."""

    def __init__(self, plan: Plan, graph: Graph, test: Any) -> None:
        self.plan, self.graph, A = plan, graph, plan.arrays
        C, new = A["categories"].astype(np.int64), A["new"].astype(np.int64)
        most = np.where(new < C, C, C + 2) - 1
        codes = graph.add("Min", graph.add("Max", "codes", np.full(len(C), -1)), most)
        self.is_new, whole = codes >= new, codes.Equal("codes")
        is_refused = self.is_new & (A["unseen"] == 2)
        self.is_valid = _all(whole & ~is_refused).Identity(output="valid")
        inside = select(codes < C, codes, select(codes.Equal(C), np.zeros_like(C), C - 1))
        self.own = select(self.is_new & (A["unseen"] == 1), np.full(len(C), -1), inside)
        self.is_missing, is_hole = codes < np.int64(0), self.own < np.int64(0)
        self.is_holed = ~_all(~is_hole) | bool(plan.numbers["kept_holes"])
        self.rows = graph.add("Shape", "codes", start=0, end=1).as_type().shaped()
        self.is_law = self.rows >= float(plan.numbers["least_rows"] or np.inf)
        codes = graph.add("Max", self.own, np.zeros_like(C))
        self.likelihoods = _likelihoods(graph, test.circuit, codes).at(A["chosen"], axis=1)
        scopes = ~test.vectors.seen(-np.eye(len(C), dtype=int))  # (V, m)
        self.seen = (is_hole.as_type() @ scopes.astype(float) < 0.5).as_type()
        self.shown = self.seen.sum(0)
        self.least_one = self.shown.Max(1.0)
        nearly = (self.seen * self.likelihoods).sum(0) / self.least_one
        # runtimes add one by one, so what that lost is the mean of the differences from it
        self.means = nearly + (self.seen * (self.likelihoods - nearly)).sum(0) / self.least_one


def _all(flags: Value) -> Value:
    """Whether all of a matrix of flags are set."""
    return flags.as_type(INT64).ReduceMin(axes=[0, 1], keepdims=0) > np.int64(0)


def _likelihoods(graph: Graph, circuit: pcircuit.Circuit, codes: Value) -> Value:
    """(T, N) likelihoods of all units, in the order of their ids: region by region, children first."""
    shown: list[Value] = []  # what each region shows its parent
    units: list[Value] = []
    for r, region in enumerate(circuit.regions):
        if region.is_input:
            table, own = region.probs.T, codes.at(np.int64(region.variable), axis=1)
            shown.append(graph.constant(table).at(own))
        else:
            children = zip(circuit.vtree.children(r), region.products.T, strict=True)
            products = reduce(mul, (shown[c].at(places, axis=1) for c, places in children))
            shown.append(products @ region.dense_weights().T)
            units.append(products)
        units.append(shown[-1])
    return graph.joined(*units, axis=1)


# --- the distance ----------------------------------------------------------------------------------------------------


def _distance(batch: Batch) -> tuple[Value, Value, Value]:
    """The p-value of all metrics, and distances (q,) and p-values (q,) of each."""
    plan, graph, T = batch.plan, batch.graph, batch.rows
    n, m = plan.numbers, len(plan.arrays["mean"])
    numbers = {
        key: np.array([one.numbers[key] for one in plan.metrics]) for key in plan.metrics[0].numbers
    }
    maps = []
    for one in plan.metrics:
        matrix = np.zeros((len(one.arrays["start"]) - 1, m))
        rows = np.repeat(np.arange(len(matrix)), np.diff(one.arrays["start"]))
        matrix[rows, one.arrays["place"]] = one.arrays["value"]
        maps.append(matrix)
    whole, sizes = np.concatenate(maps), [len(one) for one in maps]
    blocks = np.repeat(np.eye(len(maps)), sizes, axis=1)  # (q, l), which image is whose
    g, factor = _weights(batch)
    image = whole @ (g * (batch.means - plan.arrays["mean"]))
    distances = (blocks @ (image * image)).Sqrt()
    least = numbers["round_off"] * select(numbers["is_constant"] > 0, T, 1.0)
    beyond = select(distances > least, distances, 0.0)
    squared = beyond * beyond
    x = squared / (1.0 + T / float(n["train"] or np.inf))
    if not n["least_rows"] and not n["sizes"]:
        nothing = graph.constant(np.nan)
        return nothing, distances, x * np.nan
    v = (1.0 + numbers["excess"] / T).Max(0.1)
    law = _laws(batch, x, v)
    kinds = [(numbers["first"], numbers["second"], numbers["scale"], x * T, v)]
    if n["has_covariance"]:
        kinds.append((*_holed_moments(batch, maps, g), x * T, v))
    if n["kept_rows"]:
        laws, (out, odd, is_ranked) = _of_own_rows(
            batch, (whole, sizes, blocks), numbers, factor, squared
        )
        kinds += laws
    found = three_moments(*(graph.joined(*parts) for parts in zip(*kinds, strict=True)))
    scores, *others = (found.at(np.arange(len(maps)) + i * len(maps)) for i in range(len(kinds)))
    holed = others.pop(0) if n["has_covariance"] else select(numbers["is_apart"] > 0, law, 1.0)
    each = select(batch.is_holed, holed, select(batch.is_law, law, scores))
    mean = _harmonic(each)
    pvalue = select(batch.is_law, _joint(plan, mean), _table(batch, mean))
    if others:
        pooled, rest = others
        small = select(odd >= T, out, rest.Min(out))
        own = select((odd > 0.0) & is_ranked, pooled.Max(small), pooled)
        allowed = _joint(plan, _harmonic(own))
        ranked = (T <= 1.0) & ~batch.is_law & ~batch.is_holed
        is_asked = (pvalue <= n["asked_below"]) & ~ranked
        pvalue = select(is_asked, pvalue.Max(allowed), pvalue)
    return pvalue.Max(TINY), distances, each


def _weights(batch: Batch) -> tuple[Value, Value]:
    """(m,) weights of the nodes, and how much a row that shows one counts: all 1 where there are no holes."""
    A, n, T = batch.plan.arrays, batch.plan.numbers, batch.rows
    both, k = 1.0 / T + n["per_kept"], float(n["kept_rows"])
    kept = A["kept_shown"] if n["kept_holes"] else np.full(len(A["mean"]), k or np.inf)
    fewest = max(min(k / 2, n["fewest"]), 1.0)
    is_enough = (batch.shown >= (0.5 * T).Min(float(n["fewest"])).Max(1.0)) & (kept >= fewest)
    spread = 1.0 / batch.least_one + 1.0 / np.maximum(kept, 1.0)
    g = select(is_enough, (both / spread).Sqrt(), 0.0)
    factor = g * T / batch.least_one
    if k:
        pooled = ((T + (k - 1.0)) / (batch.shown + (kept - 1.0)).Max(1.0)).Sqrt()
        factor = factor.Max(pooled * (g > 0.0).as_type())
    return g, factor


def _laws(batch: Batch, x: Value, v: Value) -> Value:
    """(q,) p-values of squared distances by the laws of the metrics."""
    metrics = batch.plan.metrics
    values = np.zeros((len(metrics), batch.plan.numbers["most_eigenvalues"]))
    counts = np.zeros_like(values)
    for i, one in enumerate(metrics):
        size = len(one.arrays["eigenvalue"])
        values[i, :size], counts[i, :size] = one.arrays["eigenvalue"], one.arrays["multiplicity"]
    scale = np.where(values[:, 0] > 0, values[:, 0], 1.0)
    v = v.Min(np.maximum(batch.plan.numbers["most_scaled"] * counts.sum(axis=1), 0.1))
    counts[:, 0] += values[:, 0] <= 0  # of no law, whose tail is not used
    values[:, 0] += values[:, 0] <= 0
    found = tail(values / scale[:, None], counts / v.shaped(-1, 1), x * batch.rows / (v * scale))
    is_law = np.array([len(one.arrays["eigenvalue"]) > 0 for one in metrics])
    return select(is_law, found, (x <= 0.0).as_type())


def _holed_moments(batch: Batch, maps: list[np.ndarray], g: Value) -> tuple[Value, ...]:
    """(q,) trace, sum of squares and largest eigenvalue, bounded, of F (S o R) F^t."""
    A, n = batch.plan.arrays, batch.plan.numbers
    shared = _symmetric(A["kept_shared"], len(A["mean"])) if n["kept_holes"] else n["per_kept"]
    pairs = batch.seen.turned() @ batch.seen / (batch.least_one.shaped(-1, 1) * batch.least_one)
    seen = g.shaped(-1, 1) * g * (pairs + shared) / (1.0 / batch.rows + n["per_kept"])
    own = _symmetric(A["covariance"], len(A["mean"])) * seen
    return _moments([one @ own @ one.T for one in maps])


def _symmetric(triangle: np.ndarray, m: int) -> np.ndarray:
    """(m, m) from its lower triangle."""
    matrix = np.zeros((m, m))
    matrix[np.tril_indices(m)] = triangle
    return matrix + np.tril(matrix, -1).T


def _moments(matrices: list[Value]) -> tuple[Value, ...]:
    """(n,) traces, sums of squares and bounds of the largest eigenvalues of symmetric matrices."""
    found = []
    for M in matrices:
        trace = (M.EyeLike() * M).ReduceSum(keepdims=0)
        second = (M * M).ReduceSum(keepdims=0)
        power, log = M / trace.Max(TINY), trace.Max(TINY).Log()
        for i in range(SQUARINGS):
            power = power @ power
            size = (power.EyeLike() * power).ReduceSum(keepdims=0).Max(TINY)
            power, log = power / size, log + size.Log() / 2.0 ** (i + 1)
        largest = log.Exp().Min(second.Sqrt())
        found.append([one.shaped(1) for one in (trace, second, largest)])
    return tuple(parts[0].graph.joined(*parts) for parts in zip(*found, strict=True))


def _of_own_rows(
    batch: Batch,
    maps: tuple[Any, ...],
    numbers: dict[str, np.ndarray],
    factor: Value,
    squared: Value,
) -> tuple[list[tuple[Any, ...]], tuple[Value, Value, Value]]:
    """Two laws for each metric: of all rows, and of those that are not farther out than the reference's.

    And how probable it is that all that are farther are in the batch, their number, and whether they count.
    """
    (whole, sizes, blocks), plan, graph, T = maps, batch.plan, batch.graph, batch.rows
    A, n, k, q = plan.arrays, plan.numbers, plan.numbers["kept_rows"], len(sizes)
    norms = np.array([one.arrays["norm"] for one in plan.metrics]).T
    number = T.Min(float(n["most_vectors"]))
    count = number.as_type(INT64)
    order = graph.add("Range", np.int64(0), count, np.int64(1))
    steps = order.as_type() + select(
        float(n["most_vectors"]) < T, graph.constant(A["offset"]).at(order), 0.0
    )
    places = (steps * (T / number)).Floor().as_type(INT64)
    vectors = batch.likelihoods.at(places) - A["mean"]
    vectors = select(vectors.Abs() <= A["rounding"], 0.0, vectors) * batch.seen.at(places) * factor
    images = vectors @ whole.T
    far = (images * images) @ blocks.T
    is_odd = (far > numbers["farthest"] * (1 + TIE)).as_type()
    kept = A["kept_shown"] if n["kept_holes"] else np.full(len(A["mean"]), float(k))
    # reference rows that show what is compared: with holes as many as show the node that fewest of them do
    held = select(factor > 0.0, (kept * (T / batch.least_one)).Min(float(k)), float(k)).min(0)
    odd, left_over = is_odd.sum(0), T - order.as_type().shaped(-1, 1)
    ratios = select(order.as_type().shaped(-1, 1) < odd, left_over / (held + left_over), 1.0)
    is_ranked = (float(k) >= T) & (float(n["most_vectors"]) >= T)
    left = (T - odd).Max(1.0)
    rest = ((1.0 - is_odd).turned() @ images) * blocks
    x = (rest * rest).sum(1) / (left * left) / (1.0 / left + 1 / k)
    stretch = (1.0 + excess_of(norms[0], norms[1], numbers["fourth"]) / left).Max(1.0)
    others = (*map(graph.constant, (norms[0], norms[1] ** 2, norms[2])), x, stretch)
    center = images.ReduceMean(axes=[0], keepdims=0)
    distance, share = blocks @ (center * center), T / (T + float(k))
    off = images - share * center
    own = (off * off) @ blocks.T
    fourth = (own * own).ReduceMean(axes=[0], keepdims=0)
    ends = np.cumsum([0, *sizes])
    centred = [(images - center).at(np.arange(*ends[i : i + 2]), axis=1) for i in range(q)]
    trace, second, largest = _moments(
        [
            one.turned() @ one if size <= n["most_vectors"] else one @ one.turned()
            for one, size in zip(centred, sizes, strict=True)
        ],
    )
    few = (number - 1.0).Max(1.0)
    theirs = (trace / few, second.Sqrt() / few, largest / few)
    pooled, frobenius, largest, x, stretch = pooled_law(
        float(k), norms, numbers["fourth"], theirs, fourth, (distance.Sqrt(), squared, T)
    )
    laws = [(pooled, frobenius * frobenius, largest, x, stretch), others]
    return laws, (ratios.Log().sum(0).Exp(), odd, is_ranked)


def three_moments(first: Value, second: Value, scale: Value, x: Value, v: Value) -> Value:
    """(n,) tails P(Q >= x) of shifted gamma laws, their variance times v."""
    varies = second > 0.0
    size = v * select(varies, scale, 1.0)
    dof = select(varies, second * v / (size * size), 1.0)
    found = tail(np.ones((1, 1)), dof.shaped(-1, 1), (x - first) / size + dof)
    return select(varies, found, (x <= first).as_type())


def _harmonic(pvalues: Value) -> Value:
    """The harmonic mean of p-values (q,)."""
    return 1.0 / (1.0 / pvalues).ReduceMean(axes=[0], keepdims=0)


def _joint(plan: Plan, mean: Value) -> Value:
    """The p-value of all metrics together."""
    joint, draws = plan.arrays["joint"], len(plan.arrays["joint"])
    if not draws:
        return mean
    single = mean.as_type(FLOAT)  # as the draws are held
    below = (single >= joint).as_type().sum(0)
    share = (mean / float(joint[RESOLVED])).Min(1.0)
    outside = share * ((RESOLVED + 1) / (draws + 1))
    return select(below >= float(RESOLVED), (below + 1.0) / (draws + 1.0), outside)


def _table(batch: Batch, score: Value) -> Value:
    """The p-value of a score by tables of drawn ones, between two sizes interpolated in 1 / T."""
    A, graph, size = batch.plan.arrays, batch.graph, batch.plan.arrays["size"].astype(float)
    if not len(size):
        return graph.constant(np.nan)
    resolved, starts = batch.plan.numbers["drawn_resolved"], A["drawn_start"]
    values = np.full((len(size), np.diff(starts).max()), np.inf)
    pvalues = np.ones((len(size), values.shape[1] + 1))
    edges, factors = np.zeros((2, len(size)))
    for i, (start, end) in enumerate(pairwise(starts)):
        ranks, last = A["drawn_rank"][start:end], min(resolved, end - start) - 1
        values[i, : end - start] = A["drawn"][start:end]
        pvalues[i, : end - start] = ranks / (ranks[-1] + 1)
        if size[i] > 1 and ranks[-1] > resolved and values[i, last] > 0:  # a tail beyond the draws
            edges[i] = values[i, last]
            factors[i] = (last + 2) / (ranks[-1] + 1) / edges[i]
    larger = (score * (1 + TIE) >= values).as_type(INT64).sum(1, keepdims=1)
    counted = graph.constant(pvalues).GatherElements(larger, axis=1).shaped(-1)
    found = select(score < edges, score * factors, counted)
    if len(size) == 1:
        return found.shaped()
    places = 1.0 / batch.rows.Min(size[-1])
    steps = np.append(1 / size[:-1] - 1 / size[1:], 1.0)
    up = ((1 / size - places) / steps).Max(0.0).Min(1.0)  # how far from a size to the next
    down = graph.joined(np.ones(1), up.at(np.arange(len(size) - 1)))
    return (found * (down - up)).sum(0)


def tail(values: Any, counts: Any, q: Value) -> Value:
    """(n,) P(Q > q) for Q = sum values_j chi2(counts_j), the largest value being 1.

    Shapes: values, counts (n, k), q (n,).
    """
    counts, q = q.graph.constant(counts), q.shaped(-1, 1)
    degrees, is_positive = counts.sum(1, True), q > 0.0
    # beyond the tail is less than any double
    q = select(is_positive, q, 1.0).Min(3000.0 + 2.0 * degrees)
    is_right = q > (counts * values).sum(1, True)
    c = _saddle(values, counts, q, is_right, degrees)
    gap = 1.0 - 2 * values * c
    a = values / gap
    second = 1.0 / (c * c) + (2.0 * counts * a * a).sum(1, True)
    top = -(c * q + (0.5 * counts * gap.Log()).sum(1, True))
    width = (2.0 / second.Sqrt()).Min(WIDEST * (0.5 - c))
    integral = _integral(values, counts, (q, c, width, top))
    found = select(is_right, integral, 1.0 + integral).Max(0.0).Min(1.0)
    return select(is_positive, found, 1.0).shaped(-1)


def _saddle(values: Any, counts: Value, q: Value, is_right: Value, degrees: Value) -> Value:
    """(n, 1) the saddle points between the pole and the branch point, or left of the pole."""
    low = select(is_right, 0.0, -((degrees * 0.5 + 1.0) * 1.001 / q))
    high = select(is_right, 0.5, 0.0)
    weights = counts * values
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        slope = (weights / (1.0 - 2 * values * middle)).sum(1, True) - q - 1.0 / middle
        is_below = slope < 0.0
        low, high = select(is_below, middle, low), select(is_below, high, middle)
    return 0.5 * (low + high)


def _integral(values: Any, counts: Value, parts: tuple[Value, ...]) -> Value:
    """(n, 1) the integrals along the hyperbola, by the midpoint rule in u."""
    q, c, width, top = parts
    u = (np.arange(POINTS) + 0.5) * REACH / POINTS
    x, y = c + width * (COS * (np.cosh(u) - 1.0)), width * (SIN * np.sinh(u))  # (n, points)
    sizes = counts.Unsqueeze(np.array([1]))  # (n, 1, k)
    across = 2 * np.asarray(values)[:, None, :]
    a = 1.0 - across * x.Unsqueeze(np.array([2]))
    b = across * y.Unsqueeze(np.array([2]))
    is_there = across > 0  # padding
    angles = (sizes * select(is_there, np.pi / 2 - arctan(a / b.Max(TINY)), 0.0)).sum(2)
    real = -(x * q + top) - 0.25 * (sizes * (a * a + b * b).Log()).sum(2)
    imaginary = 0.5 * angles - y * q
    size = real.Exp() / (x * x + y * y)
    # a cosine of doubles came late to onnxruntime (after 1.23); a quarter turn costs an error of a rounding
    re, im = (imaginary + np.pi / 2).Sin(), imaginary.Sin()
    turned = (re * x + im * y) * (SIN * np.cosh(u)) + (im * x - re * y) * (COS * np.sinh(u))
    return (size * turned * (REACH / POINTS / np.pi)).sum(1, True) * width * top.Exp()


def arctan(x: Value) -> Value:
    """The arc tangent of a tensor."""
    for _ in range(ROUNDS):
        x = x / (1.0 + (1.0 + x * x).Sqrt())
    square, series = x * x, 0.0 * x
    for n in range(TERMS - 1, -1, -1):
        series = series * square + (-1.0) ** n / (2 * n + 1)
    return series * x * 2.0**ROUNDS


# --- counts ----------------------------------------------------------------------------------------------------------


class Witness(NamedTuple):
    """A witness beside the distance: its p-value, its share of the level (0 where it has nothing to compare), what it
    attains, and the columns that it names.
    """

    pvalue: Value
    share: Value
    attained: Callable[[Value], Value]
    columns: Value


def _missing(batch: Batch) -> Witness:
    """The witness of missing values."""
    k, n = batch.plan.arrays["train_missing"], batch.plan.numbers
    sizes = float(n["trained"]) + 0.0 * k, batch.rows + 0.0 * k
    return _of_columns(sizes[0], k, sizes[1], batch.is_missing, n["missing_share"])


def _new(batch: Batch) -> Witness:
    """The witness of new values."""
    A, n = batch.plan.arrays, batch.plan.numbers
    T = (~batch.is_missing).as_type().sum(0)
    return _of_columns(
        A["kept_values"], A["kept_new"], T, batch.is_new, n["new_share"], is_two_sided=False
    )


def _of_columns(
    n: Any, k: Any, T: Value, flags: Value, share: float, *, is_two_sided: bool = True
) -> Witness:
    """One count for each column: k of n reference rows, and of T rows of the batch those that have a flag."""
    j = flags.as_type().sum(0)
    margins = n + T, k + j, T
    pvalues = _count_pvalues(*margins, j, is_two_sided)
    is_counted = k + j > 0.0
    law = SmallestLaw(*margins, is_counted, is_two_sided)
    smallest, where = pvalues.min(0), pvalues.ArgMin(axis=0, keepdims=1)
    column = select(smallest < 1.0, where, np.int64(-1))
    has = is_counted.as_type().max(0)
    return Witness(law.pvalue(smallest), share * has, law.attained, column)


def _count_pvalues(N: Any, K: Any, T: Any, j: Any, is_two_sided: bool = True) -> Value:
    """(n,) twice the tails of counts on their sides of the mean, or upper tails."""
    above, is_mean = j * N > T * K, (j * N).Equal(T * K)
    K, j = select(above, K, N - K), select(above, j, T - j)
    log_first = reduce(add, (log_gamma(one + 1.0) for one in (K, N - K, T, N - T))) - reduce(
        add, (log_gamma(one.Max(0.0) + 1.0) for one in (j, K - j, T - j, N - K - T + j, N))
    )
    most = T.max(0).Sqrt() * STEPS + float(MORE)
    i = j.shaped(-1, 1) + j.graph.add("Range", 0.0, most.shaped(), 1.0)
    N, K, T = (one.shaped(-1, 1) for one in (N, K, T))
    ratios = (K - i) * (T - i) / ((i + 1.0) * (N - K - T + i + 1.0).Max(1.0))
    logs = select(i < K.Min(T), ratios.Max(TINY), TINY).Log().sums(exclusive=1)
    tails = (logs + log_first.shaped(-1, 1)).Exp().sum(1)
    pvalues = ((1.0 + is_two_sided) * tails).Min(1.0)
    return select(is_mean if is_two_sided else ~above, 1.0, pvalues)


class SmallestLaw:
    """How often the smallest p-value of exact tests is how small: `hld.tables.schemas.counts.SmallestLaw`.

    Shapes: N, K, T, varies (e,).
    """

    def __init__(self, N: Any, K: Any, T: Any, varies: Value, is_two_sided: bool) -> None:
        odd, few = K.Min(N - K), T.Min(N - T)
        is_same = ((odd < K) & (few < T)) | ((odd >= K) & (few >= T))
        small = odd.Min(few)
        varies = varies & (small > 0.0)
        is_listed = varies & (small <= float(MOST_VALUES))
        self.num_dense = (varies & ~is_listed).as_type().sum(0)
        a, b, N, small = (one.shaped(-1, 1) for one in (odd, few, N, small))
        points, p = count_tails(N, a, b, ~is_same.shaped(-1, 1), is_two_sided, MOST_VALUES)
        is_listed = is_listed.shaped(-1, 1) & (points <= 1.0)
        points, masses = select(is_listed, points, 2.0), select(is_listed, p, 0.0)
        points = points.shaped(-1)
        self.points, order = points.graph.add_several(
            "TopK", points, points.Shape(), outputs=[None, None], largest=0
        )
        self.masses = masses.shaped(-1).at(order)

    def pvalue(self, smallest: Value) -> Value:
        """F(q), at most 1."""
        reached = self.points <= smallest * (1 + SLACK)
        found = self.num_dense * smallest + select(reached, self.masses, 0.0).sum(0)
        return select(smallest >= 1.0, 1.0, found.Min(1.0))

    def attained(self, level: Value) -> Value:
        """The largest value of F(q) that is at most a level; points that only rounding sets apart are one."""
        fits = self.num_dense * self.points + self.masses.sums(0) <= level * (1 + SLACK)
        beyond = select(fits, 3.0, self.points).min(0)
        total = select(self.points < beyond * (1 - 1e-12), self.masses, 0.0).sum(0)
        dense = self.num_dense * select(beyond < 2.0, beyond, FAR)
        return level.Min(total + dense)


def _largest_count(batch: Batch) -> Witness:
    """The witness of single counts: of every category of every column, and up to every one, those that are events."""
    A, n, graph = batch.plan.arrays, batch.plan.numbers, batch.graph
    starts, C = A["count_start"], A["categories"]
    V, most = len(C), C.max()
    cells = np.arange(most) < C[:, None]
    known = np.zeros((V, most))
    known[cells] = np.delete(A["count"], starts[1:] - 1)  # without the missing cells
    places = select(batch.own < np.int64(0), np.int64(V * most), batch.own + np.arange(V) * most)
    single = _scattered(places, V * most + 1).at(np.arange(V * most)).shaped(V, most)
    pooled = single + known
    size, T = known.sum(axis=1, keepdims=True), single.sum(1, True)
    filled = (pooled > 0.0).as_type()
    is_first = pooled.sums(1, exclusive=1) <= 0.0
    is_last = pooled.sums(1) >= pooled.sum(1, True)
    has_cuts = A["has_cuts"][:, None] > 0
    alone = (has_cuts & ~is_first & ~is_last) | (
        ~has_cuts & ((filled.sum(1, True) > 2.0) | is_first)
    )
    is_event = np.zeros((2, V, most), dtype=bool)  # cuts, and single categories
    is_event[1 - A["event_is_cut"], A["event_column"], A["event_category"]] = True
    is_other = (pooled > 0.0) & graph.joined(*(one.shaped(1, V, most) for one in (~is_last, alone)))
    j = graph.joined(*(one.shaped(1, V, most) for one in (single.sums(1), single)))
    k = np.stack([np.cumsum(known, axis=1), known])
    N, K, T = T + size, j + k, T + 0.0 * j
    varies = is_event & is_other & (K > 0.0) & (K < N) & (size > 0) & (T > 0.0)
    j, N, K, T, varies = (one.shaped(-1) for one in (j, N + 0.0 * j, K, T, varies))
    evidence = select(varies, likelihood_ratio(j, T, K, N).Max(0.0), -1.0)
    most = np.array([min(n["exact"], is_event.size)])
    largest, where = graph.add_several("TopK", evidence, most, outputs=[None, None])
    tails = _count_pvalues(N.at(where), K.at(where), T.at(where), j.at(where))
    tails = select(largest < 0.0, 2.0, tails)
    law = SmallestLaw(N, K, T, varies, is_two_sided=True)
    best = where.at(tails.ArgMin(axis=0, keepdims=1))
    has = varies.as_type().max(0)
    column = graph.constant(np.indices(is_event.shape)[1].ravel()).at(best)
    named = select(has > 0.0, column, np.int64(-1))
    return Witness(law.pvalue(tails.min(0)), n["count_share"] * has, law.attained, named)


def _scattered(places: Value, size: int) -> Value:
    """(size,) how often each place occurs."""
    flat = places.shaped(-1)
    ones = (flat * np.int64(0) + np.int64(1)).as_type()
    zeros = np.zeros(size)
    return flat.graph.add("ScatterElements", zeros, flat, ones, axis=0, reduction="add")


# --- dependences -----------------------------------------------------------------------------------------------------


def _largest_dependence(batch: Batch) -> Witness:
    """The witness of single dependences."""
    A, n, graph = batch.plan.arrays, batch.plan.numbers, batch.graph
    edges, starts, cells = A["edge"].reshape(-1, 2), A["pair_start"], n["cells"]
    one, other = (batch.own.at(v, axis=1) for v in edges.T)
    is_whole = (one >= np.int64(0)) & (other >= np.int64(0))
    places = one * A["categories"][edges[:, 1]] + other + starts[:-1]
    places = select(is_whole, places, np.int64(cells + 1))
    index = starts[:-1, None] + np.arange(np.diff(starts).max())
    index = np.where(index < starts[1:, None], index, cells)  # (E, cells), padded
    a, r = (np.append(A[name], 0)[index].astype(float) for name in ("association", "pair"))
    b = _scattered(places, cells + 2).at(index)
    kept, T = r.sum(axis=1, keepdims=True), b.sum(1, True)
    N = T + kept
    mean = ((b + r) * a).sum(1, True) / N.Max(1.0)
    variance = ((b + r) * (a - mean) * (a - mean)).sum(1, True) / N.Max(1.0)
    difference = (b * a).sum(1, True) / T.Max(1.0) - mean
    varies = (kept > 0) & (T > 0.0) & (variance.Sqrt() > 1e-10)
    exponents = difference * difference / variance.Max(TINY) * T * N / np.maximum(kept, 1) / 2.0
    exponents = select(varies, exponents, -1.0).shaped(-1)
    varying = varies.as_type().sum(0)
    most = np.array([min(n["enclosed"], len(edges))])
    largest, where = graph.add_several("TopK", exponents, most, outputs=[None, None])
    bounds = mean_tails(*(graph.constant(side).at(where) for side in (a, r, b))).shaped(-1)
    bounds = select(largest > (2.0 * varying).Log(), 2.0 * bounds, 2.0)
    best = where.at(bounds.ArgMin(axis=0, keepdims=1))
    rows = select(varies, N, 0.0).ReduceMax(keepdims=0)
    fewer = select(varies, T.Min(N - T), 0.0).ReduceMax(keepdims=0)
    ways = log_gamma(rows + 1.0) - log_gamma(fewer + 1.0) - log_gamma(rows - fewer + 1.0)
    least = 2.0 * varying * (-ways).Exp()
    has = (varying > 0.0).as_type()
    named = select(has > 0.0, graph.constant(edges).at(best).shaped(2), np.int64(-1))
    return Witness(
        (bounds.min(0).shaped(1) * varying).Min(1.0),
        n["dependence_share"] * has,
        lambda level: select(level >= least, level, 0.0),
        named,
    )


WITNESSES = {
    "missing values": _missing,
    "new values": _new,
    "counts": _largest_count,
    "dependences": _largest_dependence,
}


def _together(distance: Value, witnesses: list[Witness]) -> Value:
    """The p-value of the distance and of the witnesses that share its level: `hld.witnesses.witnesses`."""
    rest = reduce(sub, (one.share for one in witnesses), distance.graph.constant(1.0))
    s = select(distance.IsNaN(), FAR, distance / rest)
    for one in witnesses:
        s = s.Min(select(one.share > 0.0, one.pvalue / one.share.Max(TINY), FAR))
    total = rest * s
    for one in witnesses:
        total = total + select(one.share > 0.0, one.attained(one.share * s), 0.0)
    return select(s >= FAR, np.nan, total.Min(s, 1.0)).shaped()
