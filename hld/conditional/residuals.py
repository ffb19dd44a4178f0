r"""The likelihood vector less its mean given the covariates: L(x, y) - E[L(x, Y) | X = x], exactly.

The circuit gives the expectation in one pass for each row (`pcircuit.expected_node_likelihoods`).  So the residual has
mean zero under the circuit given x, hence mean zero whatever the distribution of X is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import pcircuit

SLACK = 1e-9  # of the mean likelihood of a node: less is rounding


def residuals(
    circuit: pcircuit.Circuit, nodes: np.ndarray, rows: np.ndarray, given: np.ndarray
) -> np.ndarray:
    """(n, m) L(x, y) - E[L(x, Y) | X = x] of the nodes.

    Shapes: nodes (m,), rows (n, V), given (V,) -> (n, m).
    O(sum over regions of P^2 S) a row, for regions of P products and S sums over variables of both kinds.
    """
    expected = pcircuit.expected_node_likelihoods(circuit, rows, given, nodes=nodes)
    found = pcircuit.node_likelihoods(circuit, rows, nodes=nodes) - expected
    found[np.isnan(expected[:, 0])] = 0.0
    known = _scopes_within(circuit, given)[circuit.nodes.region[nodes]]
    found[:, known] = 0.0
    return found


def shown_residuals(
    circuit: pcircuit.Circuit, nodes: np.ndarray, rows: np.ndarray, given: np.ndarray
) -> np.ndarray:
    """(n, m) bool, whether a row shows all variables of a node that are no covariates, so that its residual counts.

    What the circuit gets wrong about a node is learned from such rows, and is another thing where a part is summed out.
    """
    hidden = (rows < 0) & ~given
    if not hidden.any():
        return np.ones((len(rows), len(nodes)), dtype=bool)
    regions: Sequence[Any] = circuit.regions
    lacks = np.empty((len(regions), len(rows)), dtype=bool)
    for r, region in enumerate(regions):
        children = circuit.vtree.children(r)
        lacks[r] = lacks[children].any(axis=0) if len(children) else hidden[:, region.variable]
    return ~lacks[circuit.nodes.region[nodes]].T


def without_rounding(
    values: np.ndarray, circuit: pcircuit.Circuit, nodes: np.ndarray
) -> np.ndarray:
    """The same (n, m) values with 0 for those that are rounding beside the mean likelihood of their node.

    A column that is constant, or known from the covariates, has residuals that are nothing else, and tests of rounding
    against rounding say anything.

    Shapes: values (n, m), nodes (m,).
    """
    values[np.abs(values) <= SLACK * pcircuit.unit_means(circuit)[nodes]] = 0.0
    return values


def _scopes_within(circuit: pcircuit.Circuit, given: np.ndarray) -> np.ndarray:
    """(regions,) whether all variables of a region are covariates."""
    regions: Sequence[Any] = circuit.regions
    within = np.empty(len(regions), dtype=bool)
    for r, region in enumerate(regions):
        children = circuit.vtree.children(r)
        within[r] = within[children].all() if len(children) else given[region.variable]
    return within
