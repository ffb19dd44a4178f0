"""Queries in Decimals of fifty digits, whose range never ends: what results of doubles are compared with.

Plain recursions as the formulas say, region by region: no rescaling, no centred tables, no memo between queries.

    unit_values, flows, em_step      of rows
    overlap, unit_means              of circuits
    moments                          mean, covariance and E[l^2] by going over all states: nothing cancels

Arrays hold Decimals as objects; `exact` makes them of doubles, `doubles` and `logs` read them.  Moments are those of a
distribution, so their tables are divided by their row sums first: a row that sums to one only up to rounding is the
distribution next to it.
"""

from __future__ import annotations

import decimal
import functools

import naive
import numpy as np

from pcircuit import InputRegion

CONTEXT = decimal.Context(prec=50, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
NEVER = decimal.Decimal("Infinity")


def precisely(function):
    """The function, computed with fifty digits."""

    @functools.wraps(function)
    def inner(*args, **options):
        with decimal.localcontext(CONTEXT):
            return function(*args, **options)

    return inner


def exact(values):
    """Doubles as Decimals."""
    return np.frompyfunc(CONTEXT.create_decimal_from_float, 1, 1)(np.asarray(values, dtype=float))


def doubles(values):
    """The nearest doubles; infinite or zero beyond their range."""
    return np.asarray(values, dtype=object).astype(float)


def logs(values):
    """Natural logarithms."""
    return np.frompyfunc(CONTEXT.ln, 1, 1)(values)


def roots(values):
    """Square roots; 0 for what is below it by rounding."""
    return np.frompyfunc(lambda value: CONTEXT.sqrt(max(value, 0)), 1, 1)(values)


@np.vectorize(otypes=[object])
def ratio(a, b):
    """a / b, where 0 / 0 counts as 0."""
    return a / b if b else a and NEVER


@precisely
def relative_errors(found, expected, scale=None):
    """|found - expected| / scale for doubles `found`; the scale is |expected| by default."""
    scale = expected if scale is None else scale
    return doubles(ratio(abs(exact(found) - expected), np.abs(scale)))


@precisely
def tables_of(circuit, *, normalized=False):
    """Per region (K, C) probabilities or dense (K, P) weights; divided by their row sums if `normalized`."""
    tables = [
        exact(region.probs if isinstance(region, InputRegion) else region.dense_weights())
        for region in circuit.regions
    ]
    return [table / table.sum(axis=1)[:, None] for table in tables] if normalized else tables


def _of_children(circuit, r, tables):
    """Per child of an inner region the rows of its table that the products take."""
    children = circuit.vtree.children(r).tolist()
    return [
        tables[c][units] for c, units in zip(children, circuit.regions[r].products.T, strict=True)
    ]


@precisely
def unit_values(circuit, data, *, normalized=False):
    """Per region the shown units (K, N) and the products (P, N), None at leaves; missing values summed over."""
    shown, products = [], []
    tables = tables_of(circuit, normalized=normalized)
    for r, (region, table) in enumerate(zip(circuit.regions, tables, strict=True)):
        if isinstance(region, InputRegion):
            full = np.column_stack([table, table.sum(axis=1)])  # -1 is the last column
            products.append(None)
            shown.append(full[:, np.asarray(data)[:, region.variable]])
        else:
            products.append(functools.reduce(np.multiply, _of_children(circuit, r, shown)))
            shown.append(table @ products[r])
    return shown, products


def in_node_order(shown, products):
    """(number of units, N) values of all units, products before sums."""
    pairs = zip(products, shown, strict=True)
    return np.concatenate([part for pair in pairs for part in pair if part is not None])


def _gathered(values, units, K):
    """(K, N) sums of the rows of `values` (P, N) over the products that use each unit."""
    return (units == np.arange(K)[:, None]).astype(int).astype(object) @ values


@precisely
def flows(circuit, data, weights):
    """Per region the expected flows (K, C) or (K, P), summed over rows that are counted `weights` (N,) times."""
    data, tables = np.asarray(data), tables_of(circuit)
    shown, products = unit_values(circuit, data)
    flow, used = [None] * len(tables), [None] * len(tables)
    flow[-1] = exact(np.where(shown[-1] > 0, weights, 0.0))
    for r in reversed(range(len(tables))):
        region, table = circuit.regions[r], tables[r]
        if isinstance(region, InputRegion):
            codes = data[:, region.variable]
            missing, *columns = (
                flow[r][:, codes == c].sum(axis=1) for c in range(-1, table.shape[1])
            )
            spread = ratio(missing, table.sum(axis=1))[:, None] * table
            used[r] = np.column_stack(columns) + spread
            continue
        share = ratio(flow[r], shown[r])
        used[r] = (share @ products[r].T) * table
        through = (table.T @ share) * products[r]
        for units, c in zip(region.products.T, circuit.vtree.children(r).tolist(), strict=True):
            flow[c] = _gathered(through, units, len(shown[c]))
    return used


@precisely
def em_step(circuit, data, weights, pseudocount):
    """Per region the parameters after one step of EM on all rows."""
    parameters = []
    for table, used in zip(tables_of(circuit), flows(circuit, data, weights), strict=True):
        counts = used + exact(pseudocount) / table.shape[1]
        total = counts.sum(axis=1)[:, None]
        parameters.append(np.where(total > 0, ratio(counts, total), table))
    return parameters


@precisely
def overlap(*circuits):
    """The sum over all states of the product of circuits over one v-tree."""
    parameters, tables = [tables_of(circuit) for circuit in circuits], []
    for r, regions in enumerate(zip(*(circuit.regions for circuit in circuits), strict=True)):
        own, places = [one[r] for one in parameters], range(len(circuits))
        if isinstance(regions[0], InputRegion):
            factors = [np.expand_dims(own[i], [j for j in places if j != i]) for i in places]
            tables.append(functools.reduce(np.multiply, factors).sum(axis=-1))
            continue
        units = zip(*(region.products.T for region in regions), strict=True)
        children = circuits[0].vtree.children(r).tolist()
        factors = [tables[c][np.ix_(*some)] for c, some in zip(children, units, strict=True)]
        table = functools.reduce(np.multiply, factors)
        for weights in own:  # each index in turn, which then comes last
            table = np.tensordot(table, weights, (0, 1))
        tables.append(table)
    return tables[-1].item()


@precisely
def unit_masses(circuit, *, normalized=True):
    """Per region the top-down masses (K,) of the shown units and (P,) of the products, None at leaves."""
    tables = tables_of(circuit, normalized=normalized)
    shown, products = [None] * len(tables), [None] * len(tables)
    shown[-1] = exact(np.ones(1))
    for r in reversed(range(len(tables))):
        if children := circuit.vtree.children(r).tolist():
            products[r] = tables[r].T @ shown[r]
        for c, units in zip(
            children, circuit.regions[r].products.T if children else (), strict=True
        ):
            shown[c] = _gathered(products[r], units, circuit.regions[c].num_units)
    return shown, products


@precisely
def unit_means(circuit, source):
    """(number of units,) mean of the likelihoods of the units of `circuit` under the distribution `source`."""
    measured, drawn = tables_of(circuit), tables_of(source, normalized=True)
    shown, products = unit_masses(source)
    tables, means = [], []
    for r, region in enumerate(circuit.regions):
        pairs = np.diag(exact(np.ones(drawn[r].shape[1])))
        if not isinstance(region, InputRegion):
            units = zip(source.regions[r].products.T, region.products.T, strict=True)
            children = circuit.vtree.children(r).tolist()
            factors = [tables[c][np.ix_(*some)] for c, some in zip(children, units, strict=True)]
            pairs = functools.reduce(np.multiply, factors)
            means.append(products[r] @ pairs)
        tables.append(drawn[r] @ pairs @ measured[r].T)
        means.append(shown[r] @ tables[r])
    return np.concatenate(means)


@precisely
def moments(circuit, nodes):
    """Mean (m,), covariance (m, m) and E[l^2] (m,) of the likelihoods of some units."""
    values = in_node_order(*unit_values(circuit, naive.states(circuit), normalized=True))
    p, values = values[-1], values[np.asarray(nodes)]
    mean = values @ p
    centred = values - mean[:, None]
    return mean, (centred * p) @ centred.T, (values * values) @ p
