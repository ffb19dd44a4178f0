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
from operator import mul
from typing import Any, NamedTuple

import numpy as np

import pcircuit
from hld.apps.export.c_source import COS, POINTS, REACH, SIN, WIDEST
from hld.apps.export.graph import FLOAT, INT64, Graph, Value, log_gamma, select
from hld.apps.export.plan import MetricPlan, Plan, plan_of
from hld.laws.joint import RESOLVED
from hld.laws.ranks.confirmation import excess_of, pooled_law
from hld.laws.ranks.monte_carlo import TIE
from hld.tables.schemas.counts import MOST_VALUES, SLACK, count_tails
from hld.witnesses.largest_count import likelihood_ratio
from hld.witnesses.largest_dependence import mean_tails

HALVINGS, SQUARINGS = (
    40,
    13,
)  # the saddle point need only be near: every line between pole and branch point will do
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
    plan = plan_of(detector)
    batch = Batch(plan, detector.test_)
    graph, is_valid = batch.graph, batch.is_valid
    distance, distances, pvalues = _distance(batch)
    carried: list[Witness] = []
    told: list[Any] = [distance]
    columns: list[Any] = []
    for name, (witness, num_columns) in WITNESSES.items():
        if name in plan.witnesses:
            one = witness(batch)
            carried.append(one)
            told.append(select(one.share > 0.0, one.pvalue, np.nan))
            columns.append(one.columns)
        else:
            told.append(np.nan)
            columns.append(np.full(num_columns, -1))
    together = _together(distance, carried)
    q, m = len(plan.metrics), len(plan.arrays["mean"])
    graph.output("pvalue", select(is_valid, together, np.nan).shaped(), "DOUBLE", [])
    graph.output("witnesses", select(is_valid, graph.vector(*told), np.nan), "DOUBLE", [5])
    graph.output("columns", graph.vector(*columns), "INT64", [5])
    graph.output("means", batch.means, "DOUBLE", [m])
    graph.output("distances", distances, "DOUBLE", [q])
    heard = select(is_valid & batch.is_law, pvalues, np.nan)
    graph.output("pvalues", heard, "DOUBLE", [q])
    graph.output("valid", is_valid, "BOOL", [])
    return graph.model(
        f"witnesses {', '.join(plan.witnesses)}; p-values of metrics from {plan.numbers['least_rows']} rows "
        f"on; metrics {', '.join(one.name for one in plan.metrics)}",
    )


class Batch:
    """The codes of a batch, and what is summed over its rows."""

    def __init__(self, plan: Plan, test: Any) -> None:
        self.plan, self.graph = plan, Graph()
        self.arrays, self.numbers = A, n = plan.arrays, plan.numbers
        C, new = A["categories"], A["new"]
        given = self.graph.input("codes", "INT64", ["rows", len(C)])
        codes = given.Max(np.full(len(C), -1)).Min(np.where(new < C, C, C + 2) - 1)
        self.is_new = codes >= new
        self.is_valid = _all(codes.Equal(given) & ~(self.is_new & (A["unseen"] == 2)))
        inside = select(codes < C, codes, select(codes.Equal(C), np.zeros_like(C), C - 1))
        self.own = select(self.is_new & (A["unseen"] == 1), np.full(len(C), -1), inside)
        self.is_missing, is_hole = codes < np.int64(0), self.own < np.int64(0)
        self.is_holed = ~_all(~is_hole) | bool(len(A["kept_shown"]))
        self.rows = given.Shape(start=0, end=1).as_type().shaped()
        self.is_law = self.rows >= float(n["least_rows"] or np.inf)
        codes = self.own.Max(np.zeros_like(C))
        self.likelihoods = _likelihoods(test.circuit, codes).at(A["chosen"], axis=1)
        scopes = ~test.vectors.seen(-np.eye(len(C), dtype=int))  # (V, m)
        self.seen = (is_hole.as_type() @ scopes.astype(float) < 0.5).as_type()
        # (m,) rows of the reference that show a node
        self.kept = np.full(len(A["mean"]), float(n["kept_rows"] or np.inf))
        if len(A["kept_shown"]):
            self.kept = A["kept_shown"]
        self.per_kept = 1.0 / float(n["kept_rows"] or np.inf)
        self.shown = self.seen.sum(0)
        self.least_one = self.shown.Max(1.0)
        nearly = (self.seen * self.likelihoods).sum(0) / self.least_one
        # runtimes add one by one, so what that lost is the mean of the differences from it
        self.means = nearly + (self.seen * (self.likelihoods - nearly)).sum(0) / self.least_one


def _all(flags: Value) -> Value:
    """Whether all of a matrix of flags are set."""
    return flags.as_type(INT64).ReduceMin(keepdims=0) > np.int64(0)


def _likelihoods(circuit: pcircuit.Circuit, codes: Value) -> Value:
    """(T, N) likelihoods of all units, in the order of their ids: region by region, children first."""
    shown: list[Value] = []  # what each region shows its parent
    units: list[Value] = []
    for r, region in enumerate(circuit.regions):
        if region.is_input:
            own = codes.at(np.int64(region.variable), axis=1)
            shown.append(codes.graph.constant(region.probs.T).at(own))
        else:
            children = zip(circuit.vtree.children(r), region.products.T, strict=True)
            units.append(reduce(mul, (shown[c].at(places, axis=1) for c, places in children)))
            shown.append(units[-1] @ region.dense_weights().T)
        units.append(shown[-1])
    return codes.graph.joined(*units, axis=1)


# --- the distance ----------------------------------------------------------------------------------------------------


def _distance(batch: Batch) -> tuple[Value, Value, Value]:
    """The p-value of all metrics, and distances (q,) and p-values (q,) of each."""
    plan, n, T = batch.plan, batch.numbers, batch.rows
    g, factor = _weights(batch)
    difference = g * (batch.means - plan.arrays["mean"])
    covariance = _holed_covariance(batch, g) if len(batch.arrays["covariance"]) else None
    rows = _own_rows(batch, factor) if n["kept_rows"] else None
    found = [_of_metric(batch, one, difference, covariance, rows) for one in plan.metrics]
    distances, each, own = (batch.graph.vector(*parts) for parts in zip(*found, strict=True))
    mean = _harmonic(each)
    pvalue = select(batch.is_law, _joint(plan, mean), _table(batch, mean))
    ranked = (T <= 1.0) & ~batch.is_law & ~batch.is_holed
    allowed = select((pvalue <= n["asked_below"]) & ~ranked, _joint(plan, _harmonic(own)), TINY)
    return select(pvalue < allowed, allowed, pvalue), distances, each


def _weights(batch: Batch) -> tuple[Value, Value]:
    """(m,) weights of the nodes, and how much a row that shows one counts: all 1 where there are no holes."""
    n, T, kept = batch.numbers, batch.rows, batch.kept
    both, k = 1.0 / T + batch.per_kept, float(n["kept_rows"])
    fewest = max(min(k / 2, n["fewest"]), 1.0)
    is_enough = (batch.shown >= (0.5 * T).Min(float(n["fewest"])).Max(1.0)) & (kept >= fewest)
    spread = 1.0 / batch.least_one + 1.0 / np.maximum(kept, 1.0)
    g = select(is_enough, (both / spread).Sqrt(), 0.0)
    pooled = ((T + (k - 1.0)) / (batch.shown + (kept - 1.0)).Max(1.0)).Sqrt()
    return g, select(is_enough, (g * T / batch.least_one).Max(pooled), 0.0)


def _holed_covariance(batch: Batch, g: Value) -> Value:
    """(m, m) S o R."""
    A = batch.arrays
    shared = A["kept_shared"] if len(A["kept_shared"]) else batch.per_kept
    counts = batch.least_one.shaped(-1, 1) * batch.least_one
    seen = batch.seen.turned() @ batch.seen / counts + shared
    return A["covariance"] * g.shaped(-1, 1) * g * seen / (1.0 / batch.rows + batch.per_kept)


def _of_metric(
    batch: Batch, one: MetricPlan, difference: Value, covariance: Value | None, rows: Any
) -> tuple[Value, Value, Value]:
    """The distance of one metric, its p-value, and the p-value that the batch's own rows allow."""
    plan, n, T = batch.numbers, one.numbers, batch.rows
    image = one.matrix @ difference
    squared = (image * image).sum(0)
    distance = squared.Sqrt()
    least = n["round_off"] * T if n["is_constant"] else n["round_off"]
    squared = select(distance > least, squared, 0.0)
    x = squared / (1.0 + T / float(plan["train"] or np.inf))
    v = (1.0 + n["excess"] / T).Max(0.1)
    laws = [(n["first"], n["second"], n["scale"], x * T, v)]
    law, holed = _law(batch, one, x, v), batch.graph.constant(1.0)
    if covariance is not None:
        laws.append((*_moments(one.matrix @ covariance @ one.matrix.T), x * T, v))
    elif n["is_apart"]:
        holed = law
    if rows is not None:
        own, out = _of_own_rows(batch, one, rows, squared)
        laws += own
    found = three_moments(*(batch.graph.vector(*parts) for parts in zip(*laws, strict=True)))
    score, *others = (found.at(np.int64(i)) for i in range(len(laws)))
    if covariance is not None:
        holed = others.pop(0)
    pvalue = select(batch.is_holed, holed, select(batch.is_law, law, score))
    if rows is None:
        return distance, pvalue, batch.graph.constant(TINY)
    pooled, rest = others
    return distance, pvalue, pooled.Max(out.Min(rest))


def _law(batch: Batch, one: MetricPlan, x: Value, v: Value) -> Value:
    """The p-value of a squared distance by the law of its metric."""
    values, counts = one.arrays["eigenvalue"], one.arrays["multiplicity"]
    if not len(values):
        return (x <= 0.0).as_type()
    v = v.Min(max(batch.numbers["most_scaled"] * counts.sum(), 0.1))
    bound = x * batch.rows / (v * values[0])
    return tail(values[None] / values[0], counts[None] / v, bound).shaped()


def _moments(M: Value) -> tuple[Value, Value, Value]:
    """Trace, sum of squares and a bound of the largest eigenvalue of a symmetric matrix."""
    trace, second = _trace(M), (M * M).ReduceSum(keepdims=0)
    power, log = M / trace.Max(TINY), trace.Max(TINY).Log()
    for i in range(SQUARINGS):
        power = power @ power
        size = _trace(power).Max(TINY)
        power, log = power / size, log + size.Log() / 2.0 ** (i + 1)
    return trace, second, log.Exp().Min(second.Sqrt())


def _trace(M: Value) -> Value:
    return (M.EyeLike() * M).ReduceSum(keepdims=0)


class OwnRows(NamedTuple):
    """Rows of a batch that check an alarm: their differences (R, m), how many rows of the reference show the same, and
    their numbers (R, 1).
    """

    vectors: Value
    held: Value
    order: Value


def _own_rows(batch: Batch, factor: Value) -> OwnRows:
    """Of many rows some, evenly spread."""
    A, n, T = batch.arrays, batch.numbers, batch.rows
    most, k = float(n["most_vectors"]), float(n["kept_rows"])
    number = T.Min(most)
    order = batch.graph.add("Range", 0.0, number, 1.0)
    offsets = batch.graph.constant(A["offset"]).at(order.as_type(INT64))
    steps = order + select(most < T, offsets, 0.0)
    places = (steps * (T / number)).Floor().as_type(INT64)
    vectors = batch.likelihoods.at(places) - A["mean"]
    vectors = select(vectors.Abs() <= A["rounding"], 0.0, vectors) * batch.seen.at(places) * factor
    # with holes as many as show the node that fewest of them do
    held = select(factor > 0.0, (batch.kept * (T / batch.least_one)).Min(k), k).min(0)
    return OwnRows(vectors, held, order)


def _of_own_rows(
    batch: Batch, one: MetricPlan, rows: OwnRows, squared: Value
) -> tuple[list[tuple[Any, ...]], Value]:
    """Two laws of a metric: of all rows, and of those that are not farther out than the reference's.

    And how probable it is that all that are farther are in the batch, 0 where there are none or they do not count.
    """
    n, T, k = one.numbers, batch.rows, float(batch.numbers["kept_rows"])
    norms, most = one.arrays["norm"], float(batch.numbers["most_vectors"])
    images = rows.vectors @ one.matrix.T
    is_odd = ((images * images).sum(1) > n["farthest"] * (1 + TIE)).as_type()
    odd, left_over = is_odd.sum(0), T - rows.order
    ratios = select(rows.order < odd, left_over / (rows.held + left_over), 1.0)
    out = select((odd > 0.0) & (min(k, most) >= T), ratios.Log().sum(0).Exp(), 0.0)
    left = (T - odd).Max(1.0)
    rest = (1.0 - is_odd) @ images / left
    x = select(odd >= T, -FAR, (rest * rest).sum(0)) / (1.0 / left + 1 / k)  # -FAR: nothing is left
    stretch = (1.0 + excess_of(norms[0], norms[1], n["fourth"]) / left).Max(1.0)
    others = (norms[0], norms[1] ** 2, norms[2], x, stretch)
    number, center = T.Min(most), images.ReduceMean(axes=[0], keepdims=0)
    off = images - T / (T + k) * center
    own = (off * off).sum(1)
    fourth = (own * own).ReduceMean(keepdims=0)
    centred, few = images - center, (number - 1.0).Max(1.0)
    is_wide = len(one.matrix) > most
    turned = centred.turned()
    trace, second, largest = _moments(centred @ turned if is_wide else turned @ centred)
    theirs = (trace / few, second.Sqrt() / few, largest / few)
    distance = (center * center).sum(0).Sqrt()
    trace, frobenius, *law = pooled_law(
        k, norms, n["fourth"], theirs, fourth, (distance, squared, T)
    )
    return [(trace, frobenius * frobenius, *law), others], out


def three_moments(first: Value, second: Value, scale: Value, x: Value, v: Value) -> Value:
    """(n,) tails P(Q >= x) of shifted gamma laws, their variance times v."""
    varies = second > 0.0
    size = v * select(varies, scale, 1.0)
    dof = select(varies, second * v / (size * size), 1.0)
    found = tail(np.ones((1, 1)), dof.shaped(-1, 1), (x - first) / size + dof)
    return select(varies, found, (x <= first).as_type())


def _harmonic(pvalues: Value) -> Value:
    """The harmonic mean of p-values (q,)."""
    return 1.0 / (1.0 / pvalues).ReduceMean(keepdims=0)


def _joint(plan: Plan, mean: Value) -> Value:
    """The p-value of all metrics together."""
    joint, draws = plan.arrays["joint"], len(plan.arrays["joint"])
    if not draws:
        return mean
    below = (mean.as_type(FLOAT) >= joint).as_type().sum(0)  # as the draws are held
    share = (mean / float(joint[RESOLVED])).Min(1.0)
    reached = select(below >= float(RESOLVED), below + 1.0, share * (RESOLVED + 1.0))
    return reached / (draws + 1.0)


def _table(batch: Batch, score: Value) -> Value:
    """The p-value of a score by tables of drawn ones, between two sizes interpolated in 1 / T."""
    A, resolved = batch.arrays, batch.numbers["drawn_resolved"]
    sizes, pvalue, previous = A["size"], batch.graph.constant(np.nan), np.inf
    for size, (start, end) in zip(sizes.tolist(), pairwise(A["drawn_start"]), strict=True):
        values, ranks = A["drawn"][start:end], A["drawn_rank"][start:end]
        edge, draws = min(resolved, len(values)) - 1, float(ranks[-1])
        larger = (score * (1 + TIE) >= values).as_type(INT64).sum(0)
        found = batch.graph.constant(np.append(ranks / (draws + 1), 1.0)).at(larger)
        if size > 1 and draws > resolved and values[edge] > 0:  # a tail beyond the draws
            beyond = score * ((edge + 2) / (draws + 1) / values[edge])
            found = select(score < values[edge], beyond, found)
        if previous == np.inf:
            pvalue = found
        else:  # how far from one size to the next
            up = (1 / previous - 1.0 / batch.rows) / (1 / previous - 1 / size)
            pvalue = pvalue + up.Max(0.0).Min(1.0) * (found - pvalue)
        previous = size
    return pvalue


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
    k, n = batch.arrays["train_missing"], batch.numbers
    return _of_columns(n["trained"], k, batch.rows, batch.is_missing, n["missing_share"])


def _new(batch: Batch) -> Witness:
    """The witness of new values."""
    A, T = batch.arrays, (~batch.is_missing).as_type().sum(0)
    share = batch.numbers["new_share"]
    return _of_columns(A["kept_values"], A["kept_new"], T, batch.is_new, share, is_two_sided=False)


def _of_columns(
    n: Any, k: Any, T: Value, flags: Value, share: float, *, is_two_sided: bool = True
) -> Witness:
    """One count for each column: k of n reference rows, and of T rows of the batch those that have a flag."""
    j = flags.as_type().sum(0)
    T, K = T + 0.0 * j, k + j
    N = T + n
    pvalues = _count_pvalues(N, K, T, j, is_two_sided)
    law = SmallestLaw(N, K, T, K > 0.0, is_two_sided)
    smallest, where = pvalues.min(0), pvalues.ArgMin(axis=0, keepdims=1)
    column = select(smallest < 1.0, where, np.int64(-1))
    return Witness(law.pvalue(smallest), share * law.is_any, law.attained, column)


def _count_pvalues(N: Any, K: Any, T: Any, j: Any, is_two_sided: bool = True) -> Value:
    """(n,) twice the tails of counts on their sides of the mean, or upper tails."""
    above, is_mean = j * N > T * K, (j * N).Equal(T * K)
    K, j = select(above, K, N - K), select(above, j, T - j)
    rest = (N - K - T + j).Max(0.0)
    above_line: Any = sum(log_gamma(one + 1.0) for one in (K, N - K, T, N - T))
    below = (j, (K - j).Max(0.0), T - j, rest, N)
    log_first = above_line - sum(log_gamma(one + 1.0) for one in below)
    most = T.max(0).Sqrt() * STEPS + float(MORE)
    i = j.shaped(-1, 1) + j.graph.add("Range", 0.0, most, 1.0)
    K, T, rest = (one.shaped(-1, 1) for one in (K, T, N - K - T))
    ratios = (K - i) * (T - i) / ((i + 1.0) * (rest + i + 1.0).Max(1.0))
    logs = select(i < K.Min(T), ratios.Max(TINY), TINY).Log().sums(exclusive=1)
    tails = (logs + log_first.shaped(-1, 1)).Exp().sum(1)
    pvalues = ((1.0 + is_two_sided) * tails).Min(1.0)
    return select(is_mean if is_two_sided else ~above, 1.0, pvalues)


class SmallestLaw:
    """How often the smallest p-value of exact tests is how small: `hld.tables.schemas.counts.SmallestLaw`.

    Shapes: N, K, T, varies (e,).
    """

    def __init__(self, N: Any, K: Any, T: Any, varies: Value, is_two_sided: bool = True) -> None:
        self.is_any = varies.as_type().max(0)
        odd, few = K.Min(N - K), T.Min(N - T)
        is_same = ((odd < K) & (few < T)) | ((odd >= K) & (few >= T))
        small = odd.Min(few)
        varies = varies & (small > 0.0)
        is_listed = varies & (small <= float(MOST_VALUES))
        self.num_dense = (varies & ~is_listed).as_type().sum(0)
        N, odd, few, is_same, is_listed = (
            one.shaped(-1, 1) for one in (N, odd, few, is_same, is_listed)
        )
        points, p = count_tails(N, odd, few, ~is_same, is_two_sided, MOST_VALUES)
        is_listed = is_listed & (points <= 1.0)
        points = select(is_listed, points, 2.0).shaped(-1)
        self.points, order = points.first(points.Shape(), largest=0)
        self.masses = select(is_listed, p, 0.0).shaped(-1).at(order)

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
    """The witness of single counts: of the events, categories of columns and all up to one."""
    A, n, graph = batch.arrays, batch.numbers, batch.graph
    C, columns, is_cut = A["categories"], A["event_column"], A["event_is_cut"] > 0
    V, most = len(C), C.max()
    known = np.zeros((V, most))
    known[np.arange(most) < C[:, None]] = np.delete(A["count"], A["count_start"][1:] - 1)
    places = select(batch.own < np.int64(0), np.int64(V * most), batch.own + np.arange(V) * most)
    single = _scattered(places, V * most + 1).at(np.arange(V * most)).shaped(V, most)
    pooled = single + known  # without the missing cells

    def of(counts: Value) -> Value:
        return counts.shaped(-1).at(columns * most + A["event_category"])

    own, up = of(pooled), of(pooled.sums(1))
    j, K = select(is_cut, of(single.sums(1)), of(single)), select(is_cut, up, own)
    size, T = known.sum(axis=1)[columns], single.sum(1).at(columns)
    N = T + size
    num_filled = (pooled > 0.0).as_type().sum(1).at(columns)
    # an event that is neither another one nor what another one leaves
    is_inner, is_other = (up > own) & (up < N), (num_filled > 2.0) | (up <= own)
    has_cuts = A["has_cuts"][columns] > 0
    alone = (has_cuts & is_inner) | (~has_cuts & is_other)
    varies = (own > 0.0) & (alone | is_cut) & (K < N) & (size > 0) & (T > 0.0)
    evidence = select(varies, likelihood_ratio(j, T, K, N).Max(0.0), -1.0)
    largest, where = evidence.first([min(n["exact"], len(columns))])
    tails = _count_pvalues(N.at(where), K.at(where), T.at(where), j.at(where))
    tails = select(largest < 0.0, 2.0, tails)
    law = SmallestLaw(N, K, T, varies)
    best = where.at(tails.ArgMin(axis=0, keepdims=1))
    named = select(law.is_any > 0.0, graph.constant(columns).at(best), np.int64(-1))
    return Witness(law.pvalue(tails.min(0)), n["count_share"] * law.is_any, law.attained, named)


def _scattered(places: Value, size: int) -> Value:
    """(size,) how often each place occurs."""
    flat = places.shaped(-1)
    ones = (flat * np.int64(0) + np.int64(1)).as_type()
    return flat.graph.add("ScatterElements", np.zeros(size), flat, ones, axis=0, reduction="add")


# --- dependences -----------------------------------------------------------------------------------------------------


def _largest_dependence(batch: Batch) -> Witness:
    """The witness of single dependences."""
    A, n, graph = batch.arrays, batch.numbers, batch.graph
    edges, starts, cells = A["edge"].reshape(-1, 2), A["pair_start"], n["cells"]
    one, other = (batch.own.at(v, axis=1) for v in edges.T)
    places = one * A["categories"][edges[:, 1]] + other + starts[:-1]
    is_hole = (one < np.int64(0)) | (other < np.int64(0))
    counted = _scattered(select(is_hole, np.int64(cells + 1), places), cells + 2)
    index = starts[:-1, None] + np.arange(np.diff(starts).max())
    index = np.where(index < starts[1:, None], index, cells)  # (E, cells), padded
    a, r, b = (
        graph.constant(np.append(A["association"], 0.0)).at(index),
        graph.constant(np.append(A["pair"], 0.0)).at(index),
        counted.at(index),
    )
    pooled, kept, T = b + r, r.sum(1), b.sum(1)
    N = T + kept
    mean = (pooled * a).sum(1) / N.Max(1.0)
    off = a - mean.shaped(-1, 1)
    variance = (pooled * off * off).sum(1) / N.Max(1.0)
    difference = (b * off).sum(1) / T.Max(1.0)
    varies = (kept > 0.0) & (T > 0.0) & (variance.Sqrt() > 1e-10)
    exponents = difference * difference / variance.Max(TINY) * T * N / kept.Max(1.0) / 2.0
    exponents = select(varies, exponents, -1.0)
    num_varying = varies.as_type().sum(0)
    largest, where = exponents.first([min(n["enclosed"], len(edges))])
    bounds = mean_tails(*(side.at(where) for side in (a, r, b))).shaped(-1)
    bounds = select(largest > (2.0 * num_varying).Log(), 2.0 * bounds, 2.0)
    best = where.at(bounds.ArgMin(axis=0, keepdims=0))
    rows, fewer = select(varies, N, 0.0).max(0), select(varies, T.Min(kept), 0.0).max(0)
    ways = log_gamma(rows + 1.0) - log_gamma(fewer + 1.0) - log_gamma(rows - fewer + 1.0)
    least = 2.0 * num_varying * (-ways).Exp()
    return Witness(
        (bounds.min(0) * num_varying).Min(1.0),
        n["dependence_share"] * (num_varying > 0.0).as_type(),
        lambda level: select(level >= least, level, 0.0),
        select(num_varying > 0.0, graph.constant(edges).at(best), np.int64(-1)),
    )


# what is carried beside the distance, and how many columns it names
WITNESSES: dict[str, tuple[Callable[[Batch], Witness], int]] = {
    "missing values": (_missing, 1),
    "new values": (_new, 1),
    "counts": (_largest_count, 1),
    "dependences": (_largest_dependence, 2),
}


def _together(distance: Value, witnesses: list[Witness]) -> Value:
    """The p-value of the distance and of the witnesses that share its level: `hld.witnesses.witnesses`."""
    rest = 1.0 - sum(one.share for one in witnesses)
    s = select(distance.IsNaN(), FAR, distance / rest)
    for one in witnesses:
        s = s.Min(select(one.share > 0.0, one.pvalue / one.share.Max(TINY), FAR))
    total = rest * s + sum(one.attained(one.share * s) for one in witnesses)
    return select(s >= FAR, np.nan, total.Min(s, 1.0))
