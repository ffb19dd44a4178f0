"""The plain way, for comparison: a circuit region by region in float64 NumPy, one matrix product each.

A fair baseline, not a slow one: values are rescaled once per region and row, input tables are looked up by one
indexing operation per variable, sums are BLAS products, and the batch is as large as suits the caches.
"""
from __future__ import annotations

import numpy as np

from pcircuit import InputRegion


def log_likelihood(circuit, data, *, batch=1024) -> np.ndarray:
    """(N,) natural log-likelihoods."""
    result = np.empty(len(data))
    for start in range(0, len(data), batch):
        rows = data[start:start + batch]
        shown, _, shift = _upward(circuit, rows)
        result[start:start + batch] = np.log(shown[-1][:, 0]) + shift
    return result


def em_epoch(circuit, data, *, batch=1024) -> list:
    """Expected flows of one full-batch epoch, as one array per region: the E-step, which is nearly all of EM."""
    flows = [0.0] * len(circuit.regions)
    for start in range(0, len(data), batch):
        rows = data[start:start + batch]
        shown, products, _ = _upward(circuit, rows)
        flow = [None] * len(shown)
        flow[-1] = np.ones((len(rows), 1))
        for r in range(len(shown) - 1, -1, -1):
            region = circuit.regions[r]
            if isinstance(region, InputRegion):
                one_hot = rows[:, region.variable, None] == np.arange(region.num_categories)
                flows[r] += flow[r].T @ one_hot.astype(float)
                continue
            ratio = flow[r] / shown[r]
            flows[r] += region.weights * (ratio.T @ products[r])
            through = (ratio @ region.weights) * products[r]
            for a, c in enumerate(circuit.vtree.children(r).tolist()):
                units = region.products[:, a]
                if np.array_equal(units, np.arange(shown[c].shape[1])):
                    flow[c] = through
                else:
                    flow[c] = np.zeros_like(shown[c])
                    np.add.at(flow[c].T, units, through.T)
    return flows


def _upward(circuit, rows):
    """Per region the shown units (B, K) and products (B, P), both scaled; and the log of the root's scale (B,)."""
    shown, products, shift = [], [], np.zeros(len(rows))
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InputRegion):
            shown.append(region.probs.T[rows[:, region.variable]])
            products.append(None)
            continue
        children = circuit.vtree.children(r).tolist()
        product = shown[children[0]][:, region.products[:, 0]]
        for a, c in enumerate(children[1:], 1):
            product = product * shown[c][:, region.products[:, a]]
        top = product.max(axis=1, keepdims=True)
        product /= top
        shift += np.log(top[:, 0])
        products.append(product)
        shown.append(product @ region.weights.T)
    return shown, products, shift
