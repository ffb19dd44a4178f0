"""How large a unit can get, and how small a linear function of units.

The largest value of unit j over all states has a simple upper bound u_j >= max_x l_j(x), bottom-up:

    input:  max_c p(c)          product:  the product of the children's bounds          sum:  sum_p w_p u_p

It is exact at inputs and products of inputs; a sum may stay below it, because its products peak at different states.

For a linear function of selected units, f(x) = sum_j a_j l_j(x), signs matter and better can be done than
sum_j min(a_j, 0) u_j.  Inputs of one variable see the same value, and sums of one region share their products:

    min_x f(x)  >=  sum over variables of  min_c  sum_k a_k p_k(c)
                  + sum over products p of  min(0, u_p (a_p + sum_k a_k w_kp)).

The first line is exact for the inputs, as the values of different variables can be chosen freely.  Both lines are of
one form: the smallest entry in each group of rows of a sparse matrix times a.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import pcircuit
from hld.vectors.ranges import unit_ranges


def unit_bounds(circuit: pcircuit.Circuit) -> np.ndarray:
    """Upper bounds u_j >= max_x l_j(x) of all units.

    Returns (num_nodes,).
    O(number of parameters).
    """
    return unit_ranges(circuit)[:, 1].copy()


@dataclass(frozen=True)
class FloorRows:
    """Sparse rows whose smallest products with a vector a (m,), group by group, add up to a lower bound of a . L.

    Shapes: groups (G + 1,), starts, columns, values (rows + 1,).
    """

    groups: np.ndarray
    starts: np.ndarray
    columns: np.ndarray
    values: np.ndarray


def floor_rows(
    circuit: pcircuit.Circuit, nodes: np.ndarray, factors: np.ndarray, bounds: np.ndarray
) -> FloorRows:
    """Rows for a lower bound of sum_j a_j factors_j l_j(x) over x, see the head of this module.

    Shapes: nodes (m,), factors (m,), bounds (num_nodes,).
    """
    column = np.full(circuit.num_nodes, -1)
    column[nodes] = np.where(factors != 0, np.arange(len(nodes)), -1)
    rows, groups = [], [0]
    for region, offset in zip(circuit.regions, circuit.offsets.tolist(), strict=False):
        of_region = column[offset : offset + region.num_nodes]
        if (of_region < 0).all():
            continue
        if isinstance(region, pcircuit.InputRegion):
            rows += _rows_of_inputs(region, of_region, factors)
            groups.append(len(rows))
            continue
        for entry in _rows_of_products(region, of_region, factors, bounds[offset:]):
            rows += [entry, (entry[0][:0], entry[1][:0])]  # the empty row is the 0 in min(0, .)
            groups.append(len(rows))
    return FloorRows(
        np.array(groups),
        np.cumsum([0, *(len(columns) for columns, _ in rows)], dtype=np.int64),
        np.concatenate([columns for columns, _ in rows] or [np.empty(0, dtype=np.int64)]),
        np.concatenate([values for _, values in rows] or [np.empty(0)]),
    )


def _rows_of_inputs(
    region: pcircuit.InputRegion, columns: np.ndarray, factors: np.ndarray
) -> list[Any]:
    """Columns and values of one row for each category, over the units with columns that are not -1."""
    used = np.flatnonzero(columns >= 0)
    columns = columns[used]
    return [(columns, probs * factors[columns]) for probs in region.probs[used].T]


def _rows_of_products(
    region: pcircuit.InnerRegion, columns: np.ndarray, factors: np.ndarray, bounds: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Columns and values of one row for each product: of the product itself and of the sums that it is in."""
    P = region.num_products
    used = np.flatnonzero(columns[P:] >= 0)
    of_sums = columns[P:][used]
    weights = (
        region.weights[used].T.tocsr()
        if region.is_sparse
        else np.ascontiguousarray(region.weights[used].T)
    )
    for p, own in enumerate(columns[:P].tolist()):
        if region.is_sparse:
            entries = slice(weights.indptr[p], weights.indptr[p + 1])  # type: ignore[union-attr]
            of_row, of_weights = of_sums[weights.indices[entries]], weights.data[entries]  # type: ignore[union-attr]
        else:
            of_row, of_weights = of_sums, weights[p]
        if own >= 0:
            of_row, of_weights = np.append(own, of_row), np.append(1.0, of_weights)
        yield of_row, of_weights * bounds[p] * factors[of_row]
