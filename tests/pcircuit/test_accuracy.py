"""Round-off of every exact quantity stays within its bound, on random circuits, with both engines (`round_off`)."""

import math

import numpy as np
import odd_circuits
import precise
import pytest
from engines import ENGINES
from precise import doubles, relative_errors
from round_off import bound, count

import hld
import pcircuit
from pcircuit.inference.likelihood import upward
from pcircuit.inference.log_domain import may_overflow

LEAST = 2.0**-960  # smaller likelihoods may underflow on the way
BEHIND = 2.0**-160  # a product so far behind the best one of its region may be given as 0
HALF = 0.5  # pseudocount of the step of EM
SLOW = (27, 36)  # up to a thousand children, ten thousand variables: minutes each


class Case:
    """A circuit, rows, what the queries need of the reference, and each engine in turn."""

    def __init__(self, number, monkeypatch):
        _, self.circuit = odd_circuits.draw(number)
        self.monkeypatch, self.counted = monkeypatch, count(self.circuit)
        N = 8 if self.circuit.num_variables < 500 else 3
        self.data = odd_circuits.rows_for(self.circuit, np.random.default_rng([7, number]), N)
        self.shown, self.products = precise.unit_values(self.circuit, self.data)
        _, _, exponents, suspect = upward(self.circuit, self.data)
        self.suspect = suspect | may_overflow(self.circuit)  # then rows are evaluated by logarithms
        self.powers = np.abs(np.array(exponents)).max(axis=0, initial=0)
        sizes = precise.logs(precise.in_node_order(self.shown, self.products))
        sizes = np.abs(doubles(sizes))
        self.depth = np.where(np.isfinite(sizes), sizes, 0).max(axis=0)  # largest |log| of a unit
        self.routes = np.where(self.suspect, 2 + self.depth, 1)
        self.most_units = max(region.num_units for region in self.circuit.regions)

    def engines(self):
        """Each engine, chosen."""
        for engine in ENGINES:
            self.monkeypatch.setenv("PCIRCUIT_ENGINE", engine)
            yield engine


def floored(scale):
    """No scale below 2**-960."""
    return np.maximum(scale, precise.exact(LEAST))


def assert_logs(found, values, roundings, per_size=4):
    """Absolute errors of logarithms: relative ones of what they are of, and the rounding of their sizes."""
    found, values = np.atleast_1d(found), np.atleast_1d(np.array(values, dtype=object))
    possible = values > 0
    assert (found[~possible] == -np.inf).all()
    logs = precise.logs(values[possible])
    limit = np.broadcast_to(roundings, found.shape)[possible] + per_size * np.abs(doubles(logs))
    assert (relative_errors(found[possible], logs, precise.exact(1.0)) <= bound(limit)).all()


def log_likelihood(case):
    roundings = case.counted.units[-1] * case.routes + 4 * math.log(2) * case.powers + 1
    for _ in case.engines():
        found = pcircuit.log_likelihood(case.circuit, case.data)
        assert_logs(found, case.shown[-1][0], roundings, 2)


def unit_likelihoods(case):
    """Each unit relative to itself, and products that are far behind relative to the best of their region."""
    circuit, expected = case.circuit, precise.in_node_order(case.shown, case.products)
    regions, is_product = circuit.nodes.region, circuit.nodes.kind == "product"
    counted = np.where(is_product, case.counted.products[regions], case.counted.units[regions])
    limit = bound(counted[:, None] * case.routes)
    values, best = doubles(expected), np.zeros(expected.shape)
    for r in np.unique(regions[is_product]):
        rows = is_product & (regions == r)
        best[rows] = values[rows].max(axis=0)
    finite = np.isfinite(values)
    behind = is_product[:, None] & (values < BEHIND * best)
    usual, least = finite & ~behind & (values >= LEAST), finite & ~behind & (values < LEAST)
    summed = expected.sum(axis=1) / len(case.data)
    large = (doubles(summed) >= LEAST) & ~behind.any(axis=1)
    for _ in case.engines():
        table = pcircuit.node_likelihoods(circuit, case.data).T
        assert (relative_errors(table, expected)[usual] <= limit[usual]).all()
        lost = np.abs(table - np.where(finite, values, 0.0))
        assert (lost[behind] <= BEHIND * np.maximum(best[behind], LEAST)).all()
        assert (lost[least] <= LEAST * limit[least]).all()
        assert (table[~finite] == np.inf).all()
        if finite.all():
            mean = pcircuit.mean_node_likelihoods(circuit, case.data)
            limits = bound(counted * case.routes.max() + len(case.data) + 1)
            assert (relative_errors(mean, summed)[large] <= limits[large]).all()


def stored(region, table):
    """The entries of a table that a region stores, as `by_region` gives them."""
    if isinstance(region, pcircuit.InputRegion) or not region.is_sparse:
        return table.ravel()
    rows = np.repeat(np.arange(region.num_units), np.diff(region.weights.indptr))
    return table[rows, region.weights.indices]


def expected_flows(case):
    """Flows relative to each, where they are more than 2**-60 of the weight of the rows."""
    circuit, weights = case.circuit, 1.0 + np.arange(len(case.data))
    routes = case.routes[case.suspect].max(initial=1)
    wanted = precise.flows(circuit, case.data, weights)
    least = precise.exact(2.0**-60 * weights.sum())
    for _ in case.engines():
        flows = pcircuit.expected_flows(circuit, case.data, weights=weights).by_region(circuit)
        for r, (region, found) in enumerate(zip(circuit.regions, flows, strict=True)):
            expected = stored(region, wanted[r])
            errors = relative_errors(found.ravel(), expected, np.maximum(expected, least))
            limit = bound(case.counted.flows[r] * routes + len(case.data)) + 2.0**-52
            assert (errors <= limit).all()


def em_step(case):
    """Parameters after one step; CSR spreads the pseudocount over stored entries only."""
    circuit, rows = case.circuit, len(case.data)
    if not circuit.is_normalized or circuit.num_variables > 500:
        return
    routes = case.routes[case.suspect].max(initial=1)
    wanted = precise.em_step(circuit, case.data, np.ones(rows), HALF)
    for _ in case.engines():
        fitted, _ = pcircuit.fit_em(circuit, case.data, num_epochs=1, pseudocount=HALF, n_jobs=1)
        for r, (region, expected) in enumerate(zip(fitted.regions, wanted, strict=True)):
            if getattr(region, "is_sparse", False):
                continue
            table = region.probs if isinstance(region, pcircuit.InputRegion) else region.weights
            roundings = 2 * (case.counted.flows[r] * routes + rows) + table.shape[1] + 5
            assert (relative_errors(table, expected) <= bound(roundings) + 2.0**-52).all()


def products(case):
    """Products of the circuit with itself: their sums over all states, and one as a circuit."""
    circuit, counted = case.circuit, case.counted
    if circuit.num_nodes > 200 or case.most_units > 8:
        return
    many = [(2, counted.pairs[-1]), (3, counted.triples[-1])][: 1 + (circuit.num_nodes <= 60)]
    expected = [precise.overlap(*[circuit] * times) for times, _ in many]
    tables = [
        stored(region, table)
        for region, table in zip(circuit.regions, precise.tables_of(circuit), strict=True)
    ]
    numbers = doubles(np.concatenate(tables))
    in_range = numbers[numbers > 0].min() > 2.0**-500 and numbers.max() < 2.0**500
    rows = case.data[:4]
    complete = (rows >= 0).all(axis=1)
    squares = precise.precisely(lambda: case.shown[-1][0][:4] ** 2)()
    for _ in case.engines():
        for (times, roundings), value in zip(many, expected, strict=True):
            found = pcircuit.overlap(*[circuit] * times, log=True)
            assert_logs(found, value, 2 * roundings + 2)
        square = pcircuit.multiply(circuit, circuit)
        if in_range:
            found = pcircuit.log_likelihood(square, rows)
            roundings = 2 * count(square).units[-1] * (2 + 2 * case.depth.max()) + 2
            assert_logs(found[complete], squares[complete], roundings)


def marginals(case):
    """The likelihood of a marginal circuit equals that of rows with holes."""
    circuit = case.circuit
    if circuit.num_variables == 1 or circuit.num_nodes > 200 or not circuit.is_normalized:
        return
    keep, rows = np.arange(0, circuit.num_variables, 2), np.full_like(case.data, -1)
    rows[:, keep] = case.data[:, keep]
    values = precise.unit_values(circuit, rows)[0][-1][0]
    for _ in case.engines():
        marginal = pcircuit.marginalize(circuit, keep=keep)
        roundings = case.counted.units[-1] + 2 * count(marginal).units[-1]
        found = pcircuit.log_likelihood(marginal, case.data[:, keep])
        assert_logs(found, values, roundings * (2 + case.depth.max()) + 2)


def moments(case):
    """Mean, variances, covariance, traces and operator; the mean alone where states cannot be enumerated."""
    circuit, counted = case.circuit, case.counted
    if not circuit.is_normalized or case.most_units > 20:
        return
    nodes = np.arange(circuit.num_nodes)
    few = math.prod(circuit.num_categories) <= odd_circuits.MOST_STATES
    if not few:
        nodes = np.unique(np.linspace(0, circuit.num_nodes - 1, 400).astype(int))
    mean = precise.unit_means(circuit, circuit)[nodes]
    large = doubles(mean) >= LEAST
    limits = bound(counted.mean[circuit.nodes.region[nodes]])
    if few:
        _, S, second = precise.moments(circuit, nodes)
        variances, limit, root = np.diag(S), bound(counted.covariance), precise.roots(second)
        v = np.random.default_rng(0).standard_normal(len(nodes))
        product, of_product = of_operator(S, root, v)
        square, of_square = of_trace_sq(S, second)
    exact = pcircuit.exact_moments(circuit, nodes)
    assert (relative_errors(exact.mean, mean)[large] <= limits[large]).all()
    if not few:
        return
    for found, expected, scale, factor in (
        (exact.diagonal(), variances, second, 1),
        (exact.trace, variances.sum(), second.sum(), 1),
        (exact.covariance(), S, np.outer(root, root), 1),
        (exact.operator() @ v, product, of_product, 3),
        (exact.trace_sq, square, of_square, 3),
    ):
        assert (relative_errors(found, expected, floored(scale)) <= factor * limit).all()


@precise.precisely
def of_operator(S, root, v):
    """S v, and the size of its terms."""
    v = precise.exact(v)
    return S @ v, root * (root @ np.abs(v))


@precise.precisely
def of_trace_sq(S, second):
    """The trace of the square of S, and the size of its terms."""
    square = (S * S).sum()
    return square, square.sqrt() * second.sum()


def distances(case):
    """The distance to the circuit with its input rows mixed with uniform ones."""
    circuit = case.circuit
    if not circuit.is_normalized or case.most_units > 20:
        return
    regions = [
        pcircuit.InputRegion(region.variable, 0.75 * region.probs + 0.25 / region.num_categories)
        if isinstance(region, pcircuit.InputRegion)
        else region
        for region in circuit.regions
    ]
    other = pcircuit.Circuit(circuit.vtree, regions)
    expected, scale = of_distance(circuit, other)
    roundings = max(count(c).mean.max() for c in (circuit, other)) + circuit.num_nodes + 3
    for _ in case.engines():
        found = hld.distance(circuit, other, nodes=np.arange(circuit.num_nodes))
        assert relative_errors(found, expected, floored(scale)) <= bound(roundings)


@precise.precisely
def of_distance(circuit, other):
    """The distance of the means of all units, and the sum of their sizes."""
    means = [precise.unit_means(circuit, source) for source in (circuit, other)]
    distance, *sizes = ((v @ v).sqrt() for v in (means[0] - means[1], *means))
    return distance, sum(sizes)


QUERIES = (
    log_likelihood,
    unit_likelihoods,
    expected_flows,
    em_step,
    products,
    marginals,
    moments,
    distances,
)


@pytest.mark.parametrize(
    "number",
    [
        *range(12),
        *(pytest.param(n, marks=pytest.mark.thorough) for n in range(12, 30) if n not in SLOW),
        *(pytest.param(n, marks=pytest.mark.slow) for n in SLOW),
    ],
)
def test_no_error_exceeds_its_bound(number, monkeypatch):
    case = Case(number, monkeypatch)
    for query in QUERIES:
        query(case)


def test_the_slice_has_every_family_of_circuits():
    families = {odd_circuits.draw(n)[0] for n in (*range(30), *SLOW)}
    assert families == {*odd_circuits.SMALL, *odd_circuits.LARGE}
