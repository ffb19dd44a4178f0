"""Round-off of every exact quantity, measured on random circuits in numbers of a hundred bits.

    python tests/accuracy.py --circuits 10000 --processes 2

prints one table: the worst error of each quantity, what it is relative to, how much of the bound of `round_off` that
is, and the circuit where it happened.  A slice of the same circuits runs as a test (`test_accuracy`).

Both engines are measured.  The reference has no 80-bit numbers in it (`wide`), so the table is about this machine's
doubles and nothing else; moments of every hundredth small circuit are checked with rational numbers, too.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import pathlib
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # before tests/hld

import odd_circuits
import wide_queries
from engines import ENGINES
from rationals import exact_moments as rational_moments
from rationals import fraction
from round_off import bound, count
from wide import Wide, power_of_two, relative_errors, square_root

import hld
import pcircuit
from pcircuit.inference.likelihood import upward
from pcircuit.inference.log_domain import may_overflow

LEAST = 2.0**-960  # smaller likelihoods may underflow on the way
BEHIND = 2.0**-160  # a product so far behind the best one of its region may be given as 0
LOG_2 = float(np.log(2.0))
HALF = 0.5  # pseudocount of the step of EM
BLOCK = 100  # circuits of one piece of work


@dataclass(frozen=True)
class Measure:
    """The worst of some errors of one quantity."""

    quantity: str
    relative_to: str
    error: float
    share: float  # of the bound


def measured(quantity, relative_to, errors, bounds) -> Measure:
    """A Measure from arrays of errors and of their bounds."""
    errors, bounds = np.broadcast_arrays(
        np.asarray(errors, dtype=float), np.asarray(bounds, dtype=float)
    )
    if not errors.size:
        return Measure(quantity, relative_to, 0.0, 0.0)
    share = np.divide(errors, bounds, out=np.where(errors > 0, np.inf, 0.0), where=bounds > 0)
    return Measure(quantity, relative_to, float(errors.max()), float(share.max()))


def measure(circuit, number, *, engines=ENGINES):
    """Yield the Measures of all queries on one circuit, each with its engine."""
    rng = np.random.default_rng([7, number])
    data = odd_circuits.rows_for(circuit, rng, 8 if circuit.num_variables < 500 else 3)
    expected = Expected(circuit, data)
    for engine in engines:
        with engine_set(engine):
            for query in QUERIES:
                for result in query(expected) or ():
                    yield engine, result
            if expected.is_for_rationals(number):
                yield engine, rational(expected)


class Expected:
    """A circuit, rows, and the reference results that several queries need, computed once."""

    def __init__(self, circuit, data):
        self.circuit, self.data, self.counted = circuit, data, count(circuit)
        self.weights, self.ones = 1.0 + np.arange(len(data)), np.ones(len(data))
        self.shown, self.products = wide_queries.unit_values(circuit, data)
        _, _, exponents, self.suspect = upward(circuit, data)
        self.suspect = self.suspect | may_overflow(
            circuit
        )  # then every row is evaluated by logarithms
        self.powers = (
            np.abs(np.array(exponents)).max(axis=0) if len(exponents) else np.zeros(len(data))
        )
        sizes = wide_queries.in_node_order(self.shown, self.products).log2_size()
        self.depth = (
            np.where(sizes > -1e15, np.abs(sizes), 0).max(axis=0) * LOG_2
        )  # largest |log| of a unit
        self.nodes = _chosen_nodes(circuit)
        self._moments, self._kept = None, {}

    def once(self, query, *arguments):
        """What a function of the reference returns, computed for the first engine and kept for the others."""
        key = query, *(id(argument) for argument in arguments)
        if key not in self._kept:
            self._kept[key] = query(*arguments), arguments  # which keeps the ids theirs
        return self._kept[key][0]

    def is_for_rationals(self, number) -> bool:
        """Whether all moments are to be checked with fractions: every tenth circuit of at most 16 units and states."""
        few = self.circuit.num_nodes <= 16 and math.prod(self.circuit.num_categories) <= 16
        return few and self.circuit.is_normalized and number // 10 % 10 == 0

    def moments(self):
        """Mean, covariance and E[l^2] of `nodes`."""
        if self._moments is None:
            by_states = math.prod(self.circuit.num_categories) <= odd_circuits.MOST_STATES
            way = wide_queries.moments_by_states if by_states else wide_queries.moments_by_regions
            self._moments = way(self.circuit, self.nodes)
        return self._moments


def log_likelihood(e: Expected):
    """Logarithms: their absolute errors are relative errors of the likelihood."""
    found = pcircuit.log_likelihood(e.circuit, e.data)
    logs = e.shown[-1][0].logs()
    impossible = np.array([not log.is_finite() for log in logs])
    errors = np.array(
        [
            0.0 if not log.is_finite() else float(abs(Decimal(float(x)) - log))
            for x, log in zip(found, logs, strict=True)
        ]
    )
    errors[impossible & (found != -np.inf)] = np.inf
    size = np.array([float(log) if log.is_finite() else 0.0 for log in logs])
    roundings = (
        e.counted.units[-1] * np.where(e.suspect, 2 + e.depth, 1)
        + 2 * np.abs(size)
        + 4 * LOG_2 * e.powers
        + 1
    )
    yield measured(
        "log-likelihood",
        "max(1, |log p|)",
        errors / np.maximum(1, np.abs(size)),
        bound(roundings) / np.maximum(1, np.abs(size)),
    )


def unit_likelihoods(e: Expected):
    """Each unit relative to itself, and products that are far behind relative to the best of their region."""
    table = pcircuit.node_likelihoods(e.circuit, e.data).T
    mean = pcircuit.mean_node_likelihoods(e.circuit, e.data)
    expected, routes = (
        wide_queries.in_node_order(e.shown, e.products),
        np.where(e.suspect, 2 + e.depth, 1),
    )
    regions, is_product = e.circuit.nodes.region, e.circuit.nodes.kind == "product"
    roundings = (
        np.where(is_product, e.counted.products[regions], e.counted.units[regions])[:, None]
        * routes
    )
    best = np.zeros(table.shape)
    values = expected.to_double()
    for r in np.unique(regions[is_product]):
        rows = is_product & (regions == r)
        best[rows] = values[rows].max(axis=0)
    finite = np.isfinite(values)
    behind = is_product[:, None] & (values < BEHIND * best)
    usual = finite & ~behind & (values >= LEAST)
    errors = relative_errors(table, expected)
    yield measured("unit likelihoods", "each", errors[usual], bound(roundings)[usual])
    if behind.any():
        lost = np.abs(table - values)[behind] / np.maximum(best[behind], LEAST)
        yield measured("products far behind", "best of the region", lost, BEHIND)
    least = ~usual & ~behind & finite
    yield measured(
        "units below 2**-960",
        "2**-960",
        np.abs(table - values)[least] / LEAST,
        bound(roundings)[least],
    )
    yield measured("units above the doubles", "(inf)", (table[~finite] != np.inf) * np.inf, 1.0)
    if finite.all():
        summed = expected.sum(axis=1) / float(len(e.data))
        large = (summed.to_double() >= LEAST) & ~behind.any(axis=1)
        yield measured(
            "mean unit likelihoods",
            "each",
            relative_errors(mean, summed)[large],
            bound(roundings.max(axis=1) + len(e.data) + 1)[large],
        )


def expected_flows(e: Expected):
    """Flows relative to each, where they are more than 2**-60 of the weight of the rows."""
    weights = e.weights
    flows = pcircuit.expected_flows(e.circuit, e.data, weights=weights).by_region(e.circuit)
    routes = (2 + e.depth[e.suspect]).max(initial=1)
    errors, bounds = [], []
    wanted = e.once(wide_queries.flows, e.circuit, e.data, weights)
    for r, (found, expected) in enumerate(zip(flows, wanted, strict=True)):
        region = e.circuit.regions[r]
        expected = expected.reshape(-1)
        if not isinstance(region, pcircuit.InputRegion) and region.is_sparse:
            rows = np.repeat(np.arange(region.num_units), np.diff(region.weights.indptr))
            expected = expected[rows * region.num_products + region.weights.indices]
        scale = np.maximum(expected.to_double(), 2.0**-60 * weights.sum())
        errors.append(relative_errors(found.ravel(), expected, Wide.of(scale)))
        bounds.append(
            np.full(len(scale), bound(e.counted.flows[r] * routes + len(e.data)) + 2.0**-52)
        )
    yield measured(
        "expected flows",
        "max(each, 2**-60 of all rows)",
        np.concatenate(errors),
        np.concatenate(bounds),
    )


def em_step(e: Expected):
    """Parameters after one step."""
    if not e.circuit.is_normalized or e.circuit.num_variables > 500:
        return
    fitted, _ = pcircuit.fit_em(e.circuit, e.data, num_epochs=1, pseudocount=HALF, n_jobs=1)
    errors, bounds = [], []
    routes = (2 + e.depth[e.suspect]).max(initial=1)
    wanted = e.once(wide_queries.em_step, e.circuit, e.data, e.ones, HALF)
    for r, (region, expected) in enumerate(zip(fitted.regions, wanted, strict=True)):
        if not isinstance(region, pcircuit.InputRegion) and region.is_sparse:
            continue  # CSR spreads the pseudocount over stored entries only; their flows are checked above
        table = region.probs if isinstance(region, pcircuit.InputRegion) else region.weights
        errors.append(relative_errors(table, expected).ravel())
        bounds.append(
            np.full(
                table.size,
                bound(2 * (e.counted.flows[r] * routes + len(e.data)) + table.shape[1] + 5)
                + 2.0**-52,
            )
        )
    if errors:
        yield measured(
            "parameters after a step of EM", "each", np.concatenate(errors), np.concatenate(bounds)
        )


def products(e: Expected):
    """The product of the circuit with itself: as a circuit, and its sums over all states."""
    if e.circuit.num_nodes > 200 or max(r.num_units for r in e.circuit.regions) > 8:
        return
    log_pair = e.once(wide_queries.overlap, e.circuit, e.circuit).logs()[0]
    found = pcircuit.overlap(e.circuit, e.circuit, log=True)
    yield _log_measure("overlap of two, log", found, log_pair, 2 * e.counted.pairs[-1])
    if e.circuit.num_nodes <= 60:
        log_triple = e.once(wide_queries.overlap, e.circuit, e.circuit, e.circuit).logs()[0]
        found = pcircuit.overlap(e.circuit, e.circuit, e.circuit, log=True)
        yield _log_measure("overlap of three, log", found, log_triple, 2 * e.counted.triples[-1])
    square = pcircuit.multiply(e.circuit, e.circuit)
    smallest = min(table[table > 0].min(initial=1.0) for table in _parameters(e.circuit))
    if smallest > 2.0**-500 and max(table.max() for table in _parameters(e.circuit)) < 2.0**500:
        found = pcircuit.log_likelihood(square, e.data[:4])
        rows = (e.data[:4] >= 0).all(axis=1)
        logs = e.shown[-1][0].logs()
        roundings = 2 * count(square).units[-1] * (2 + 2 * e.depth.max())
        for x, log, complete in zip(found, logs, rows, strict=False):
            if complete:
                yield _log_measure("log-likelihood of a product", x, 2 * log, roundings)


def marginals(e: Expected):
    """The likelihood of a marginal circuit equals that of rows with holes."""
    if e.circuit.num_variables == 1 or e.circuit.num_nodes > 200 or not e.circuit.is_normalized:
        return
    keep = np.arange(0, e.circuit.num_variables, 2)
    marginal = pcircuit.marginalize(e.circuit, keep=keep)
    shown, _ = e.once(_values_of_even_columns, e.circuit, e.data)
    logs = shown[-1][0].logs()
    roundings = (e.counted.units[-1] + 2 * count(marginal).units[-1]) * (2 + e.depth.max())
    for x, log in zip(pcircuit.log_likelihood(marginal, e.data[:, keep]), logs, strict=True):
        yield _log_measure("log-likelihood of a marginal", x, log, roundings)


def moments(e: Expected):
    """Mean, variances, covariance, traces and operator."""
    if not e.circuit.is_normalized or max(region.num_units for region in e.circuit.regions) > 20:
        return
    mean, covariance, second = e.moments()
    exact = pcircuit.exact_moments(e.circuit, e.nodes)
    regions = e.circuit.nodes.region[e.nodes]
    large = mean.to_double() >= LEAST
    yield measured(
        "mean of units",
        "each",
        relative_errors(exact.mean, mean)[large],
        bound(e.counted.mean[regions])[large],
    )
    root = square_root(second)
    m = np.arange(len(e.nodes))
    variances, limit = covariance[m, m], bound(e.counted.covariance)
    yield measured(
        "variances", "E[l^2]", relative_errors(exact.diagonal(), variances, _floored(second)), limit
    )
    itself = _floored(variances)
    yield measured(
        "variances", "each (no bound)", relative_errors(exact.diagonal(), variances, itself), np.inf
    )
    frobenius = square_root((covariance * covariance).sum(axis=0).sum(axis=0).reshape(1))
    yield measured(
        "trace",
        "sum of E[l^2]",
        relative_errors(np.array([exact.trace]), _total(variances), _floored(_total(second))),
        limit,
    )
    if len(e.nodes) <= 400:
        scale = _floored(root.reshape(-1, 1) * root.reshape(1, -1))
        yield measured(
            "covariance",
            "sqrt(E[l_i^2] E[l_j^2])",
            relative_errors(exact.covariance(), covariance, scale),
            limit,
        )
        deviation = square_root(_clipped(itself))
        scale = _floored(deviation.reshape(-1, 1) * deviation.reshape(1, -1))
        yield measured(
            "covariance",
            "sqrt(S_ii S_jj) (no bound)",
            relative_errors(exact.covariance(), covariance, scale),
            np.inf,
        )
        v = np.random.default_rng(0).standard_normal(len(e.nodes))
        product = covariance @ v.reshape(-1, 1)
        size = _floored(root * (root * np.abs(v)).sum(axis=0))
        yield measured(
            "operator, S v",
            "sqrt(E[l_i^2]) sum_j sqrt(E[l_j^2]) |v_j|",
            relative_errors(exact.operator() @ v, product.reshape(-1), size),
            3 * limit,
        )
        if max(region.num_units for region in e.circuit.regions) <= 8:
            squares = np.array([exact.trace_sq])
            scale = frobenius * _total(second)
            yield measured(
                "trace of the square",
                "|S|_F sum of E[l^2]",
                relative_errors(squares, frobenius * frobenius, _floored(scale)),
                3 * limit,
            )
            yield measured(
                "trace of the square",
                "itself (no bound)",
                relative_errors(squares, frobenius * frobenius, _floored(frobenius * frobenius)),
                np.inf,
            )


def rational(e: Expected) -> Measure:
    """The covariance against exact rational numbers, which also checks the reference."""
    nodes = np.arange(e.circuit.num_nodes)
    mean, covariance = e.once(_moments_of_all, e.circuit)
    exact = pcircuit.exact_moments(e.circuit, nodes)
    dense, worst = exact.covariance(), 0.0
    second = [float(covariance[i][i] + mean[i] ** 2) for i in nodes]
    for i in nodes:
        for j in nodes:
            size = max((second[i] * second[j]) ** 0.5, LEAST)
            worst = max(worst, abs(float(fraction(Wide.of(dense[i, j])) - covariance[i][j])) / size)
    return measured(
        "covariance, by rationals", "sqrt(E[l_i^2] E[l_j^2])", worst, bound(e.counted.covariance)
    )


def distances(e: Expected):
    """The distance to another circuit of the same structure."""
    if not e.circuit.is_normalized or max(region.num_units for region in e.circuit.regions) > 20:
        return
    other = e.once(_neighbour, e.circuit)
    means = [
        e.once(wide_queries.mean_vector, e.circuit, source)[e.nodes]
        for source in (e.circuit, other)
    ]
    difference = means[0] - means[1]
    norms = [square_root((v * v).sum(axis=0).reshape(1)) for v in (difference, *means)]
    roundings = float(max(count(c).mean.max() for c in (e.circuit, other))) + len(e.nodes) + 3
    found = np.array([hld.distance(e.circuit, other, nodes=e.nodes)])
    yield measured(
        "distance",
        "|mean| + |other mean|",
        relative_errors(found, norms[0], _floored(norms[1] + norms[2])),
        bound(roundings),
    )


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


def _chosen_nodes(circuit):
    """All units where they are few, else some of all kinds and sizes, in ascending order."""
    if circuit.num_nodes <= 400:
        return np.arange(circuit.num_nodes)
    chosen = np.linspace(0, circuit.num_nodes - 1, 12).astype(int)
    return np.unique(np.concatenate([chosen, np.arange(circuit.num_nodes - 4, circuit.num_nodes)]))


def _log_measure(quantity, found, log, roundings) -> Measure:
    """A single logarithm."""
    if not log.is_finite():
        return measured(quantity, "max(1, |log|)", 0.0 if found == -np.inf else np.inf, 1.0)
    size = max(1.0, abs(float(log)))
    error = float(abs(Decimal(float(found)) - log)) if np.isfinite(found) else np.inf
    return measured(
        quantity, "max(1, |log|)", error / size, bound(roundings + 4 * abs(float(log)) + 2) / size
    )


def _parameters(circuit):
    """The stored numbers of each region."""
    return [
        region.probs
        if isinstance(region, pcircuit.InputRegion)
        else region.weights.data
        if region.is_sparse
        else region.weights
        for region in circuit.regions
    ]


def _values_of_even_columns(circuit, data):
    """Unit values of rows that show every other column."""
    rows = np.full_like(data, -1)
    rows[:, ::2] = data[:, ::2]
    return wide_queries.unit_values(circuit, rows)


def _moments_of_all(circuit):
    """Mean and covariance of all units by rational numbers."""
    return rational_moments(circuit, np.arange(circuit.num_nodes))


def _neighbour(circuit):
    """The circuit with its input rows mixed with uniform ones."""
    return pcircuit.Circuit(
        circuit.vtree,
        [
            pcircuit.InputRegion(
                region.variable, 0.75 * region.probs + 0.25 / region.num_categories
            )
            if isinstance(region, pcircuit.InputRegion)
            else region
            for region in circuit.regions
        ],
    )


def _total(values) -> Wide:
    return values.sum(axis=0).reshape(1)


def _clipped(values) -> Wide:
    """Non-negative numbers: a variance of the reference may be -1e-33."""
    return Wide(
        *(
            np.where(values.high > 0, part, zero)
            for part, zero in zip(values._parts(), Wide.of(0.0)._parts(), strict=True)
        )
    )


def _floored(values) -> Wide:
    """No scale below 2**-960."""
    floor = power_of_two(np.full(values.shape, -960))
    small = values.log2_size() < -960
    return Wide(
        *(
            np.where(small, low, part)
            for part, low in zip(values._parts(), floor._parts(), strict=True)
        )
    )


@contextmanager
def engine_set(engine):
    """One engine for all queries inside."""
    before = os.environ.get("PCIRCUIT_ENGINE")
    os.environ["PCIRCUIT_ENGINE"] = engine
    try:
        yield
    finally:
        if before is None:
            del os.environ["PCIRCUIT_ENGINE"]
        else:
            os.environ["PCIRCUIT_ENGINE"] = before


def block(first, last, engines, folder):
    """The worst errors and shares of some circuits, and their families; from a folder, or kept there."""
    path = None if folder is None else folder / f"{first:06d}-{last:06d}.json"
    if path is not None and path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    found = {"worst": {}, "shares": {}, "families": {}}
    for number in range(first, last):
        family, circuit = odd_circuits.draw(number)
        found["families"][family] = found["families"].get(family, 0) + 1
        for engine, result in measure(circuit, number, engines=engines):
            merge(
                found,
                {
                    "worst": {
                        (key := f"{result.quantity} | {result.relative_to}"): [
                            result.error,
                            f"{number} ({family}, {engine})",
                        ]
                    },
                    "shares": {key: result.share},
                },
            )
    if path is not None:
        path.write_text(json.dumps(found), encoding="utf-8")
    return found


def merge(found, more):
    """Take over what is worse, and add up how many circuits there were."""
    for key, (error, where) in more["worst"].items():
        if key not in found["worst"] or error > found["worst"][key][0]:
            found["worst"][key] = [error, where]
        found["shares"][key] = max(found["shares"].get(key, 0.0), more["shares"][key])
    for family, number in more.get("families", {}).items():
        found["families"][family] = found["families"].get(family, 0) + number


def main():
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--circuits", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first circuit")
    parser.add_argument("--engines", nargs="+", default=ENGINES, choices=ENGINES)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument(
        "--keep", type=pathlib.Path, help="folder of what is done: a run goes on from there"
    )
    options = parser.parse_args()
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
    started, end = time.perf_counter(), options.first + options.circuits
    starts = range(options.first, end, BLOCK)
    found = {"worst": {}, "shares": {}, "families": {}}
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for one in pool.starmap(
            block,
            [(first, min(first + BLOCK, end), options.engines, options.keep) for first in starts],
            chunksize=1,
        ):
            merge(found, one)
    print(
        f"{options.circuits} circuits ({', '.join(f'{n} {name}' for name, n in found['families'].items())}), "
        f"{time.perf_counter() - started:.0f} s\n"
    )
    print("| quantity | relative to | worst error | largest share of its bound | worst circuit |")
    print("| --- | --- | --- | --- | --- |")
    for key, (error, where) in found["worst"].items():
        share = found["shares"][key]
        print(f"| {key} | {error:.1e} | {f'{share:.2f}' if share else '-'} | {where} |")


if __name__ == "__main__":
    main()
