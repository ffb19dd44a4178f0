r"""The distance between the marginal distributions of single variables, as a metric on input units.

The mean likelihoods of the K input units of a variable, rows p_k of a table P (K, C), are linear in the frequencies f
of its C categories: mean l = P f.  So a difference of means is P (f - f_0), and

.. math:: d^2 = \sum_v \| P_v^+ Z_v \|^2 = \sum_v \| \Pi_v (f_v - f_{0v}) \|^2,

with Z_v the differences of the variable's input units and Pi_v the projection on the span of the rows of P_v, which is
the whole space for a variable with at most as many categories as linearly independent units.  The plain metric weighs a
variable by how much its input units differ from each other; this one weighs all variables alike, like the first-order
term of a kernel on the number of equal entries.

With P = U s V^t, d^2 is the sum of the squares of U^t Z / s: one row of at most K numbers for every singular value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hld.references.reference import Reference
from hld.vectors.linear_maps import SparseRows

RANK = 1e-6  # singular values below this share of the largest count as zero


def marginals(reference: Reference, **options: Any) -> SparseRows:
    """The metric "marginals" for the input units among the nodes of a reference.

    O(K^2 C) per variable.
    """
    rows = []
    for _, places, table in input_tables(reference, "marginals"):
        left, values, _ = np.linalg.svd(table, full_matrices=False)
        kept = values > RANK * values[0]
        rows += [
            (places, vector / value)
            for vector, value in zip(left.T[kept], values[kept], strict=True)
        ]
    return sparse_rows("marginals", rows, len(reference.nodes))


def input_tables(reference: Reference, name: str) -> list:  # type: ignore[type-arg]
    """For each variable whose input units are among the nodes: itself, their places, and their table P (K, C)."""
    circuit, nodes = reference.circuit, reference.nodes
    regions, kinds = circuit.nodes.region[nodes], circuit.nodes.kind[nodes]
    first = np.unique(circuit.nodes.region, return_index=True)[1]
    found = []
    for r in np.unique(regions[kinds == "input"]).tolist():
        region, places = circuit.regions[r], np.flatnonzero(regions == r)
        if region.is_input:
            found.append((region.variable, places, region.probs[nodes[places] - first[r]]))
    if not found:
        raise ValueError(
            f"`metric` {name!r} compares input units, and there are none among `nodes`: select them, or "
            "leave the metric out"
        )
    return found


def sparse_rows(name: str, rows: list, m: int) -> SparseRows:  # type: ignore[type-arg]
    """A map of m nodes from its rows, pairs of places and coefficients."""
    width = max(len(places) for places, _ in rows)
    index, coefficients = np.zeros((len(rows), width), np.int32), np.zeros((len(rows), width))
    for i, (places, row) in enumerate(rows):
        index[i, : len(places)], coefficients[i, : len(places)] = places, row
    return SparseRows(name, index, coefficients, m)
