"""The queries of both packages once more, in wide numbers (`wide`): what their results should be.

Plain recursions as the formulas say, region by region: no rescaling, no centred tables, no memo between queries.

    unit_values, flows, em_step      of rows
    overlap, mean_vector             of circuits
    moments_by_states                mean and covariance by going over all states: nothing cancels
    moments_by_regions               the same by E[l l'] - mu mu', for circuits with too many states

Moments are those of a distribution, so their tables are divided by their row sums first: a row that sums to one only
up to rounding is the distribution next to it.
"""

from __future__ import annotations

import itertools

import numpy as np
from wide import Wide, concatenate, stack

from pcircuit import InputRegion


def tables_of(circuit, *, normalized=False) -> list:
    """Per region (K, C) probabilities or dense (K, P) weights; divided by their row sums if `normalized`."""
    tables = [
        Wide.of(region.probs if isinstance(region, InputRegion) else region.dense_weights())
        for region in circuit.regions
    ]
    return [table / table.sum(axis=1).reshape(-1, 1) for table in tables] if normalized else tables


def unit_values(circuit, data, *, normalized=False):
    """Per region the shown units (K, N) and the products (P, N), None at leaves; missing values summed over."""
    shown, products = [], []
    for r, (region, table) in enumerate(
        zip(circuit.regions, tables_of(circuit, normalized=normalized), strict=True)
    ):
        if isinstance(region, InputRegion):
            full = concatenate([table, table.sum(axis=1).reshape(-1, 1)], axis=1)
            shown.append(full[:, np.asarray(data)[:, region.variable]])  # -1 is the last column
            products.append(None)
            continue
        product = None
        for a, c in enumerate(circuit.vtree.children(r).tolist()):
            factor = shown[c][region.products[:, a]]
            product = factor if product is None else product * factor
        products.append(product)
        shown.append(table @ product)
    return shown, products


def in_node_order(shown, products) -> Wide:
    """(number of units, N) values of all units, products before sums."""
    return concatenate(
        [part for pair in zip(products, shown, strict=True) for part in pair if part is not None]
    )


def flows(circuit, data, weights):
    """Per region the expected flows (K, C) or (K, P), summed over rows that are counted `weights` (N,) times."""
    data, tables = np.asarray(data), tables_of(circuit)
    shown, products = unit_values(circuit, data)
    flow, used = [None] * len(circuit.regions), [None] * len(circuit.regions)
    flow[-1] = Wide.of(np.where(shown[-1].high > 0, weights, 0.0))
    for r in range(len(circuit.regions) - 1, -1, -1):
        region = circuit.regions[r]
        if isinstance(region, InputRegion):
            used[r] = _input_flows(region, tables[r], data[:, region.variable], flow[r])
            continue
        ratio = flow[r] / shown[r]  # 0 where both are
        used[r] = (ratio @ products[r].transpose(1, 0)) * tables[r]
        through = (tables[r].transpose(1, 0) @ ratio) * products[r]
        for a, c in enumerate(circuit.vtree.children(r).tolist()):
            flow[c] = _gathered(through, region.products[:, a], len(shown[c]))
    return used


def em_step(circuit, data, weights, pseudocount) -> list:
    """Per region the parameters after one step of EM on all rows."""
    parameters = []
    for table, used in zip(tables_of(circuit), flows(circuit, data, weights), strict=True):
        total = used.sum(axis=1).reshape(-1, 1) + pseudocount
        share = (used + Wide.of(pseudocount) / Wide.of(float(table.shape[1]))) / total
        reached = total.high > 0
        parameters.append(
            Wide(
                *(
                    np.where(reached, new, old)
                    for new, old in zip(share._parts(), table._parts(), strict=True)
                )
            )
        )
    return parameters


def overlap(*circuits) -> Wide:
    """(1,) the sum over all states of the product of two or three circuits."""
    tables = []
    parameters = [tables_of(circuit) for circuit in circuits]
    for r in range(len(circuits[0].regions)):
        regions = [circuit.regions[r] for circuit in circuits]
        if isinstance(regions[0], InputRegion):
            table = _outer([own[r] for own in parameters]).sum(axis=-1)
        else:
            table = None
            for a, c in enumerate(circuits[0].vtree.children(r).tolist()):
                factor = tables[c][np.ix_(*(region.products[:, a] for region in regions))]
                table = factor if table is None else table * factor
            for own in parameters:  # each index in turn, which then comes last
                shape = table.shape
                table = (own[r] @ table.reshape(shape[0], -1)).reshape(len(own[r]), *shape[1:])
                table = table.transpose(*range(1, len(shape)), 0)
        tables.append(table)
    return tables[-1].reshape(1)


def mean_vector(circuit, source) -> Wide:
    """(number of units,) mean of the likelihoods of the units of `circuit` under the distribution `source`."""
    measured, drawn = tables_of(circuit), tables_of(source, normalized=True)
    masses = unit_masses(source, drawn)
    tables, means = [], []
    for r, (region, other) in enumerate(zip(circuit.regions, source.regions, strict=True)):
        if isinstance(region, InputRegion):
            tables.append(drawn[r] @ measured[r].transpose(1, 0))
        else:
            pairs = None
            for a, c in enumerate(circuit.vtree.children(r).tolist()):
                factor = tables[c][np.ix_(other.products[:, a], region.products[:, a])]
                pairs = factor if pairs is None else pairs * factor
            means.append((masses[r][1].reshape(1, -1) @ pairs).reshape(-1))
            tables.append(drawn[r] @ (pairs @ measured[r].transpose(1, 0)))
        means.append((masses[r][0].reshape(1, -1) @ tables[r]).reshape(-1))
    return concatenate(means)


def unit_masses(circuit, tables) -> list:
    """Per region the top-down masses (K,) of the shown units and (P,) of the products."""
    shown, masses = [None] * len(circuit.regions), [None] * len(circuit.regions)
    shown[-1] = Wide.of(np.ones(1))
    for r in range(len(circuit.regions) - 1, -1, -1):
        region, children = circuit.regions[r], circuit.vtree.children(r).tolist()
        products = (
            (tables[r].transpose(1, 0) @ shown[r].reshape(-1, 1)).reshape(-1) if children else None
        )
        masses[r] = shown[r], products
        for a, c in enumerate(children):
            shown[c] = _gathered(
                products.reshape(-1, 1), region.products[:, a], circuit.regions[c].num_units
            ).reshape(-1)
    return masses


def states(circuit) -> np.ndarray:
    """(S, V) all joint states."""
    return np.array(
        list(itertools.product(*[range(C) for C in circuit.num_categories])), dtype=np.int64
    )


def moments_by_states(circuit, nodes):
    """Mean (m,), covariance (m, m) and E[l^2] (m,) of the likelihoods of some units."""
    values = in_node_order(*unit_values(circuit, states(circuit), normalized=True))
    p, values = values[-1], values[np.asarray(nodes)]
    mean = (values * p).sum(axis=1)
    centred = values - mean.reshape(-1, 1)
    return mean, (centred * p) @ centred.transpose(1, 0), (values * values * p).sum(axis=1)


def moments_by_regions(circuit, nodes):
    """The same, with D[a, j] = sum_x p_a l_j and V[a, b, j] = sum_x p_a p_b l_j for the chosen units j below."""
    tables = tables_of(circuit, normalized=True)
    masses, m = unit_masses(circuit, tables), len(nodes)
    place = {int(node): j for j, node in enumerate(nodes)}
    seconds, mean, open_forms = _Blocks(m, m), _Blocks(m, 1), {}
    for r, region in enumerate(circuit.regions):
        (q, qp), W = masses[r], tables[r]
        P = region.num_nodes - region.num_units
        first, end = circuit.offsets[r : r + 2].tolist()
        own = {place[node]: node - first for node in range(first, end) if node in place}
        products = {j: i for j, i in own.items() if i < P}
        sums = {j: i - P for j, i in own.items() if i >= P}
        if qp is None:
            second, third = _outer([W, W]).sum(axis=-1), _outer([W, W, W]).sum(axis=-1)
            form = _with_own(second, third, None, sums)
        else:
            below = [open_forms.pop(c) for c in circuit.vtree.children(r).tolist()]
            form = _with_own(*_of_products(region, qp, below, seconds), products)
            _fill_nested(seconds, products, qp, form)
            form = _with_own(*_of_sums(W, *form), sums)
        _fill_nested(seconds, sums, q, form)
        _, _, (ids, d, _) = form
        mean.fill(ids, [0], (q.reshape(1, -1) @ d).reshape(-1, 1))
        open_forms[r] = form
    mean, second = mean.wide().reshape(-1), seconds.wide()
    return (
        mean,
        second - mean.reshape(-1, 1) * mean.reshape(1, -1),
        second[np.arange(m), np.arange(m)],
    )


class _Blocks:
    """A wide matrix that is filled block by block."""

    def __init__(self, rows, columns):
        self.parts = (
            np.zeros((rows, columns)),
            np.zeros((rows, columns)),
            np.zeros((rows, columns), dtype=np.int64),
        )

    def fill(self, rows, columns, block: Wide) -> None:
        for whole, part in zip(self.parts, block._parts(), strict=True):
            whole[np.ix_(rows, columns)] = part

    def wide(self) -> Wide:
        return Wide(*self.parts)


def _with_own(second, third, columns, own):
    """Tables of a region and its columns (ids, D (K, n), V (K, K, n)), with those of its own chosen units added."""
    units = list(own.values())
    d, v = second[:, units], third[:, :, units]
    if columns is not None:
        d, v = concatenate([columns[1], d], axis=1), concatenate([columns[2], v], axis=2)
    return second, third, ((columns[0] if columns else []) + list(own), d, v)


def _of_products(region, qp, below, seconds):
    """Second, third and columns of the products, from those of the children; fills what meets here."""
    gathered = [
        (second[np.ix_(u, u)], third[np.ix_(u, u, u)], ids, d[u], v[np.ix_(u, u)])
        for u, (second, third, (ids, d, v)) in zip(region.products.T, below, strict=True)
    ]
    second, third, all_ids, all_d, all_v = None, None, [], [], []
    for c, (of_child, third_of_child, ids, d, v) in enumerate(gathered):
        second = of_child if second is None else second * of_child
        third = third_of_child if third is None else third * third_of_child
        for other, (sibling, *_) in enumerate(gathered):
            v = v if other == c else v * sibling.reshape(*sibling.shape, 1)
        if all_ids and ids:
            block = (concatenate(all_d, axis=1) * qp.reshape(-1, 1)).transpose(1, 0) @ d
            seconds.fill(all_ids, ids, block)
            seconds.fill(ids, all_ids, block.transpose(1, 0))
        all_ids, all_d, all_v = all_ids + ids, [*all_d, d], [*all_v, v]
    return second, third, (all_ids, concatenate(all_d, axis=1), concatenate(all_v, axis=2))


def _of_sums(W, second, third, columns):
    """The same of the sums."""
    (K, P), (ids, d, v) = W.shape, columns

    def both(table):  # (P, P, n) -> (K, K, n)
        half = (W @ table.reshape(P, -1)).reshape(K, P, -1).transpose(1, 0, 2)
        return (W @ half.reshape(P, -1)).reshape(K, K, -1).transpose(1, 0, 2)

    third = both(third)
    third = (W @ third.reshape(K * K, P).transpose(1, 0)).reshape(K, K, K).transpose(1, 2, 0)
    return both(second.reshape(P, P, 1)).reshape(K, K), third, (ids, W @ d, both(v))


def _fill_nested(seconds, own, masses, form) -> None:
    """E[l_i l_j] = sum_a mass_a V[a, i, j] for own units i and all columns j."""
    _, _, (ids, _, v) = form
    for j, unit in own.items():
        row = masses.reshape(1, -1) @ v[:, unit]
        seconds.fill([j], ids, row)
        seconds.fill(ids, [j], row.transpose(1, 0))


def _outer(tables) -> Wide:
    """Products of rows of tables with common columns: (K_1, ..., K_n, C)."""
    product = None
    for i, table in enumerate(tables):
        shape = [1] * len(tables)
        shape[i] = table.shape[0]
        factor = table.reshape(*shape, table.shape[1])
        product = factor if product is None else product * factor
    return product


def _gathered(values, units, K) -> Wide:
    """(K, N) sums of the rows of `values` (P, N) over the products that use each unit."""
    zero = Wide.of(np.zeros(values.shape[1]))
    rows = [np.flatnonzero(units == k) for k in range(K)]
    return stack([values[some].sum(axis=0) if len(some) else zero for some in rows])


def _input_flows(region, table, codes, flow):
    """(K, C) flows into an input region, those of missing values spread by the unit's own probabilities."""
    K, C = region.probs.shape
    zero, columns = Wide.of(np.zeros(K)), []
    for c in range(-1, C):
        rows = np.flatnonzero(codes == c)
        columns.append(flow[:, rows].sum(axis=1) if len(rows) else zero)
    spread = (columns[0] / table.sum(axis=1)).reshape(K, 1) * table
    return stack(columns[1:]).transpose(1, 0) + spread
