"""A plan as a few flat arrays, for the compiled recursions, which cannot walk Python objects.

The parts of the regions stand one after the other, in the order of the regions; a row of the table `region` says
where each one's parts begin:

    index   children; per child the unit in each product; columns and row pointers of sparse weights
    data    probabilities (K, C); weights (K, P), of a sparse region the stored ones
    mass    top-down masses: q of the shown units, then qp of the products
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pcircuit.circuit import InputRegion
from pcircuit.moments.plan import Plan

# columns of `MomentArrays.region`: sizes (a leaf has ARITY 0 and its C categories in the place of P products), where
# parts begin (COLUMN is -1 for dense weights), selected units, and what Plan says
(SHOWN, INSIDE, ARITY, CHILD, UNIT, COLUMN, POINTER, DATA, MASS, FIRST_NODE, NUM_NODES, BELOW, NESTED,
 NEEDED) = range(14)


class MomentArrays(NamedTuple):
    """R regions, m nodes; see the module docstring."""

    region: np.ndarray  # (R, 14) int64
    index: np.ndarray  # int64
    data: np.ndarray  # float64
    mass: np.ndarray  # float64
    local: np.ndarray  # (m,) position of a node in its region: products from 0, then shown units
    weight: np.ndarray  # (m,) weight of each coordinate
    rounding: np.ndarray  # (R,) as in Plan
    order: np.ndarray  # (R,) as in Plan


def moment_arrays(plan: Plan) -> MomentArrays:
    """The flat form of a plan; `mass` is zero and left to `moments.compiled.masses.fill_masses`."""
    circuit = plan.circuit
    table, index, data = _concatenated(circuit)
    sizes = table[:, SHOWN] + np.where(table[:, ARITY] > 0, table[:, INSIDE], 0)
    table[:, MASS] = np.cumsum(sizes) - sizes
    table[:, FIRST_NODE], table[:, NUM_NODES] = plan.start[:-1], np.diff(plan.start)
    table[:, BELOW], table[:, NESTED], table[:, NEEDED] = plan.below, plan.nested, plan.needed
    region_of = np.repeat(np.arange(len(table)), table[:, NUM_NODES])
    return MomentArrays(table, index, data, np.zeros(sizes.sum()), plan.nodes - circuit.offsets[region_of],
                        plan.weights, plan.rounding, plan.order)


def _concatenated(circuit):
    """The table of regions with its first eight columns, `index` and `data`."""
    vtree = circuit.vtree
    rows, data = [], []
    index = [np.argsort(vtree.parents, kind="stable")[1:]]  # children of region 0, of region 1, ...
    at_child, at_index, at_data = 0, len(index[0]), 0
    for region in circuit.regions:
        if isinstance(region, InputRegion):
            rows.append((*region.probs.shape, 0, 0, 0, -1, 0, at_data))
            data.append(region.probs.ravel())
            at_data += data[-1].size
            continue
        (P, A), weights = region.products.shape, region.weights
        index.append(region.products.T.ravel())
        at_unit, at_column, at_pointer = at_index, -1, 0
        at_index += P * A
        if region.is_sparse:
            index += [weights.indices, weights.indptr]
            at_column, at_pointer = at_index, at_index + len(weights.indices)
            at_index = at_pointer + len(weights.indptr)
        rows.append((weights.shape[0], P, A, at_child, at_unit, at_column, at_pointer, at_data))
        data.append(weights.data if region.is_sparse else weights.ravel())
        at_child += A
        at_data += data[-1].size
    table = np.zeros((len(rows), NEEDED + 1), dtype=np.int64)
    table[:, :DATA + 1] = rows
    return table, np.concatenate(index).astype(np.int64, copy=False), np.concatenate(data)
