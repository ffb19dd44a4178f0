"""The passes with one logarithm per unit: slower, and right whatever the spread of the likelihoods.

Used for the rows that the linear-domain passes mark as suspect (see `kernels.rescaling`), and for circuits whose
likelihoods may be too large for doubles.

    products:  log p = sum_c log (unit of child c)
    sums:      log s_k = logsumexp_p (log W[k, p] + log product p)
    flows:     log G_p = log product p + logsumexp_k (log W[k, p] + log F_k - log s_k)

Can the likelihoods of a circuit be too large for doubles?

Those of a distribution cannot: all its units lie in [0, 1].  A circuit that is not normalised may hold weights of
1e300, and then the linear-domain passes, which guard only against small values, would overflow.  Bottom-up, with t_r
the largest row sum of region r,

    log2 of a unit of r  <=  c_r = max(0, log2 t_r) + sum over its children of c_child,

and the partial products of a region obey the same bound.  Circuits whose bound exceeds the range of doubles are
evaluated in the log domain, row by row, as `inference.likelihood` does for suspect rows.
"""

from typing import Any

import numpy as np

from pcircuit.arguments import Evidence, Floats
from pcircuit.circuit import Circuit, InputRegion, child_units, derived, factors

HIGHEST = 960.0  # log2; doubles end at 1024


def log_units(circuit: Circuit, data: Evidence) -> tuple[list[Floats], list[Any]]:
    """Log-likelihoods of the units: lists per region of (K, N) shown units and of (P, N) products (None at leaves).

    Shapes: data (N, V).
    """
    shown: list[Floats] = []
    products: list[Any] = []
    for r, region in enumerate(circuit.regions):
        if region.is_input:
            # -1 is the last column: missing
            shown.append(region.leaves.log_table()[:, data[:, region.variable].astype(np.int64)])
            products.append(None)
            continue
        product: Any = sum(factors(circuit, r, shown))
        weights = log_of(region.dense_weights())
        shown.append(np.stack([_logsumexp(row[:, None] + product, axis=0) for row in weights]))
        products.append(product)
    return shown, products


def log_flows(circuit: Circuit, data: Evidence, row_weights: Floats) -> tuple[list[Floats], Floats]:
    """Expected flows of the rows, as lists per region of (K, C) or dense (K, P) arrays; and log-likelihoods (N,).

    Shapes: data (N, V), row_weights (N,) -> log_likelihoods (N,).
    """
    shown, products = log_units(circuit, data)
    flow: list[Any] = [None] * circuit.num_regions
    flow[-1] = np.where(shown[-1] > -np.inf, log_of(row_weights), -np.inf)
    counts: list[Any] = [None] * circuit.num_regions
    for r in range(circuit.num_regions - 1, -1, -1):
        region = circuit.regions[r]
        if region.is_input:
            counts[r] = _input_counts(region, data, np.exp(flow[r]))
            continue
        ratio = flow[r] - np.where(shown[r] > -np.inf, shown[r], 0.0)  # of -inf: so is the flow
        weights = log_of(region.dense_weights())
        counts[r] = np.stack(
            [
                np.exp(row[:, None] + ratio[k] + products[r]).sum(axis=1)
                for k, row in enumerate(weights)
            ]
        )
        through = (
            np.stack([_logsumexp(column[:, None] + ratio, axis=0) for column in weights.T])
            + products[r]
        )
        for c, units in child_units(circuit, r):
            flow[c] = np.full(shown[c].shape, -np.inf)
            np.logaddexp.at(flow[c], units, through)
    return counts, shown[-1][0]


def _input_counts(region: InputRegion, data: Evidence, flow: Floats) -> Floats:
    """(K, C) counts; the flow of a missing value is spread by the unit's own probabilities."""
    K, C = region.probs.shape
    code = data[:, region.variable].astype(np.int64) % (C + 1)
    counts = np.stack([np.bincount(code, weights=flow[k], minlength=C + 1) for k in range(K)])
    probs = region.probs / np.maximum(region.probs.max(axis=1, keepdims=True), np.finfo(float).tiny)
    total = probs.sum(
        axis=1, keepdims=True
    )  # of shares of the largest entry, which cannot overflow
    return np.asarray(counts[:, :C] + counts[:, C:] * probs / np.where(total > 0, total, 1.0))


def log_of(values: Floats) -> Any:
    """Natural logarithm with log 0 = -inf and no warning."""
    with np.errstate(divide="ignore"):
        return np.log(values)


def _logsumexp(values: Floats, axis: int) -> Any:
    """Log sum exp along an axis; -inf where all entries are."""
    shift = values.max(axis=axis, keepdims=True)
    shift = np.where(shift > -np.inf, shift, 0.0)
    return log_of(np.exp(values - shift).sum(axis=axis)) + shift.squeeze(axis)


def may_overflow(circuit: Circuit) -> bool:
    """Whether a likelihood of some unit may exceed the range of the linear-domain passes; kept with the circuit.

    O(number of parameters), once.
    """
    return derived(
        circuit, "may_overflow", lambda: not circuit.is_normalized and _ceiling(circuit) > HIGHEST
    )


def _ceiling(circuit: Circuit) -> float:
    """The bound c of the root, which is the largest of all regions."""
    ceilings: list[float] = []
    for r, region in enumerate(circuit.regions):
        with np.errstate(over="ignore", divide="ignore"):
            largest = float(np.log2(region.row_sums().max()))
        ceilings.append(
            max(0.0, largest) + sum(ceilings[c] for c in circuit.vtree.children(r).tolist())
        )
    return ceilings[-1]
