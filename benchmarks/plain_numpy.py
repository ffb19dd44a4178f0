"""The plain way, for comparison: a circuit region by region in float64 NumPy, one matrix product each.

A fair baseline, not a slow one: values of a region are a (units, rows) array, rescaled once per region and row; input
tables are looked up by one indexing operation per variable; sums are BLAS products; what is no longer needed is
freed; and flows into tables are added up by whichever of three ways is fastest for their size.
"""

import numpy as np

from pcircuit import InputRegion


def log_likelihood(circuit, data, *, batch=1024) -> np.ndarray:
    """(N,) natural log-likelihoods."""
    result = np.empty(len(data))
    for start in range(0, len(data), batch):
        rows = data[start : start + batch]
        shown, _, shift = _upward(circuit, rows, keep=False)
        result[start : start + batch] = np.log(shown[-1][0]) + shift
    return result


def em_epoch(circuit, data, *, batch=1024) -> list:
    """Expected flows of one full-batch epoch, as one array per region: the E-step, which is nearly all of EM."""
    flows = [0.0] * len(circuit.regions)
    for start in range(0, len(data), batch):
        rows = data[start : start + batch]
        shown, products, _ = _upward(circuit, rows, keep=True)
        flow = [None] * len(shown)
        flow[-1] = np.ones((1, len(rows)))
        for r in range(len(shown) - 1, -1, -1):
            region = circuit.regions[r]
            if isinstance(region, InputRegion):
                flows[r] += _by_category(flow[r], rows[:, region.variable], region.num_categories)
            else:
                ratio = flow[r] / shown[r]
                flows[r] += region.weights * (ratio @ products[r].T)
                through = region.weights.T @ ratio
                through *= products[r]
                for a, c in enumerate(circuit.vtree.children(r).tolist()):
                    units = region.products[:, a]
                    flow[c] = through
                    if not _is_all(units, shown[c]):
                        flow[c] = np.zeros_like(shown[c])
                        np.add.at(flow[c], units, through)
            shown[r] = products[r] = flow[r] = None
    return flows


def largest_batch(circuit) -> int:
    """Rows whose values, products and flows stay below 2 GB."""
    return max(1, int(2e9 / (3 * 8 * sum(region.num_units for region in circuit.regions))))


def _upward(circuit, rows, keep):
    """Per region the shown units (K, B) and products (P, B), both scaled; and the log of the root's scale (B,)."""
    shown, products, shift = [], [], np.zeros(len(rows))
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InputRegion):
            shown.append(region.probs[:, rows[:, region.variable]])
            products.append(None)
            continue
        children = circuit.vtree.children(r).tolist()
        product = None
        for a, c in enumerate(children):
            units = region.products[:, a]
            factor = shown[c] if _is_all(units, shown[c]) else shown[c][units]
            product = (
                factor.copy() if product is None else np.multiply(product, factor, out=product)
            )
            if not keep:
                shown[c] = None
        top = product.max(axis=0)
        product /= top
        shift += np.log(top)
        products.append(product if keep else None)
        shown.append(region.weights @ product)
    return shown, products, shift


def _is_all(units, values) -> bool:
    """Whether `units` are 0, 1, ... for all rows of `values` (K, B)."""
    return len(units) == len(values) and np.array_equal(units, np.arange(len(values)))


def _by_category(flow, column, num_categories):
    """(K, C) sums of a flow (K, B) over the rows of each category of a column (B,)."""
    if num_categories <= 16:
        return flow @ (column[:, None] == np.arange(num_categories)).astype(float)
    if len(flow) <= 8:
        return np.array([np.bincount(column, unit, minlength=num_categories) for unit in flow])
    from scipy.sparse import csr_array

    one_hot = csr_array(
        (np.ones(len(column)), column.astype(np.int32), np.arange(len(column) + 1)),
        shape=(len(column), num_categories),
    )
    return flow @ one_hot
