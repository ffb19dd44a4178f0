"""What the library computes, written down again by enumeration, to compare against.

Everything here goes over all joint states of a small circuit, or over all completions of a row, in the linear
domain.  Only the data types of pcircuit are used: no packed form, no scaling, no memo, no shared helper.

    states, completions                  which joint states there are
    node_values, likelihood              what each unit says about a row
    expected_node_values                 what units say on average if part of a row is drawn
    flows, topdown_mass                  which units and edges a sample uses
    overlap, hlv_moments                 sums over all states
"""

import itertools

import numpy as np

from pcircuit import InputRegion

MISSING = -1


def states(circuit):
    """(S, V) all joint states in lexicographic order: the last variable changes fastest."""
    return np.array(
        list(itertools.product(*[range(C) for C in circuit.num_categories])), dtype=np.int64
    )


def values(circuit):
    """f(x) of all states."""
    return likelihood(circuit, states(circuit))


def completions(circuit, row):
    """(S, V) all joint states that agree with the observed entries of one row."""
    choices = [
        range(C) if x == MISSING else [x] for x, C in zip(row, circuit.num_categories, strict=True)
    ]
    return np.array(list(itertools.product(*choices)), dtype=np.int64)


def node_values(circuit, data):
    """(N, number of units) value of each unit, in node-id order; missing entries are summed over."""
    return np.concatenate([block for blocks in _blocks(circuit, data) for block in blocks], axis=1)


def likelihood(circuit, data):
    """(N,) value of the root."""
    return node_values(circuit, data)[:, -1]


def log_likelihood(circuit, data):
    """(N,) natural logarithm of the value of the root, -inf where it is zero."""
    with np.errstate(divide="ignore"):
        return np.log(likelihood(circuit, data))


def expected_node_values(circuit, row, given):
    """(number of units,) mean value of each unit if the variables not given are drawn given the others; NaN if these
    are impossible.  What is missing in the row is summed over in the values, and drawn with no effect.
    """
    row = np.asarray(row)
    full = completions(circuit, np.where(given, row, MISSING))
    p = likelihood(circuit, full)
    with np.errstate(invalid="ignore"):
        return (p / p.sum()) @ node_values(circuit, np.where(row == MISSING, MISSING, full))


def flows(circuit, data, weights=None):
    """Expected use of each input category and each sum edge by samples that agree with the rows.

    One array per region: (K, C) for an input region, (K, P) for an inner region.  Each row is replaced by its
    completions x, each with its posterior probability p(x) / sum_x p(x); a complete row is then followed from
    the root down: sum unit k takes product p with probability weights[k, p] * product p / sum k.
    Rows of likelihood zero add nothing.
    """
    data = np.asarray(data)
    weights = np.ones(len(data)) if weights is None else np.asarray(weights, dtype=float)
    total = [
        np.zeros(region.probs.shape if isinstance(region, InputRegion) else region.weights.shape)
        for region in circuit.regions
    ]
    for row, weight in zip(data, weights, strict=True):
        full = completions(circuit, row)
        p = likelihood(circuit, full)
        if p.sum() > 0:
            possible = p > 0
            used = _flows_of_complete_rows(circuit, full[possible], weight * p[possible] / p.sum())
            total = [t + u for t, u in zip(total, used, strict=True)]
    return total


def topdown_mass(circuit):
    """(number of units,) probability that a sample passes through each unit: the flows of an empty row."""
    empty_row = np.full((1, circuit.num_variables), MISSING)
    mass = []
    for region, flow in zip(circuit.regions, flows(circuit, empty_row), strict=True):
        if isinstance(region, InputRegion):
            mass.append(flow.sum(axis=1))
        else:
            mass += [flow.sum(axis=0), flow.sum(axis=1)]  # edges go from sums to products
    return np.concatenate(mass)


def overlap(a, b, c=None):
    """Sum over all states of the product of the circuits."""
    product = likelihood(a, states(a)) * likelihood(b, states(a))
    return float(np.sum(product if c is None else product * likelihood(c, states(a))))


def hlv_moments(circuit, nodes):
    """Mean (m,) and covariance (m, m) of the values of the selected units, x drawn from the circuit."""
    x = states(circuit)
    p = likelihood(circuit, x)
    vectors = node_values(circuit, x)[:, nodes]
    mean = p @ vectors
    centred = vectors - mean
    return mean, centred.T @ (p[:, None] * centred)


def _blocks(circuit, data):
    """Per region the values of its units: [(N, K)] for an input region, else [(N, P), (N, K)]."""
    data = np.asarray(data)
    blocks = []
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InputRegion):
            blocks.append([np.stack([_input_values(region, x) for x in data[:, region.variable]])])
            continue
        products = np.ones((len(data), region.num_products))
        for a, child in enumerate(circuit.vtree.children(r)):
            shown = blocks[child][-1]
            products = products * shown[:, region.products[:, a]]
        blocks.append([products, products @ region.dense_weights().T])
    return blocks


def _input_values(region, x):
    """(K,) values of the input units for category x, or summed over the categories if x is missing."""
    return region.probs.sum(axis=1) if x == MISSING else region.probs[:, x]


def _flows_of_complete_rows(circuit, rows, weights):
    """Flows of complete rows with positive likelihood, row n counted weights[n] times."""
    blocks = _blocks(circuit, rows)
    reached = [np.zeros((len(rows), region.num_units)) for region in circuit.regions]
    reached[-1][:, 0] = weights
    used = [None] * len(circuit.regions)
    for r in reversed(range(len(circuit.regions))):
        region = circuit.regions[r]
        if isinstance(region, InputRegion):
            used[r] = np.zeros(region.probs.shape)
            for reach, x in zip(reached[r], rows[:, region.variable], strict=True):
                used[r][:, x] += reach
            continue
        products, sums = blocks[r]
        joint = region.dense_weights() * products[:, None, :]  # (n, k, p): weight times product
        choice = np.divide(
            joint, sums[:, :, None], out=np.zeros_like(joint), where=sums[:, :, None] > 0
        )
        edges = reached[r][:, :, None] * choice
        used[r] = edges.sum(axis=0)
        for a, child in enumerate(circuit.vtree.children(r)):
            for p, unit in enumerate(region.products[:, a]):
                reached[child][:, unit] += edges[:, :, p].sum(axis=1)
    return used
