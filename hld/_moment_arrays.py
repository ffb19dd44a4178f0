"""A plan as a few flat arrays, for the compiled recursions, which cannot walk Python objects.

The arrays of the regions stand one after the other, in the order of the regions; `region` says where each one's
parts begin.
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pcircuit import InputRegion

from ._moment_plan import Plan

# columns of `MomentArrays.region`; a leaf has ARITY 0 and its C categories in the place of the P products
SHOWN, INSIDE, ARITY, CHILD, UNIT, DATA, COLUMN, POINTER, MASS, INSIDE_MASS = range(10)


class MomentArrays(NamedTuple):
    """R regions, m nodes; see the module docstring."""

    region: np.ndarray  # (R, 10) int64
    child: np.ndarray  # child regions of each inner region
    unit: np.ndarray  # products.T of each inner region: per child (P,)
    data: np.ndarray  # probs (K, C); weights (K, P), dense or only the stored entries of CSR
    column: np.ndarray  # CSR columns of sparse weights; COLUMN is -1 for dense ones
    pointer: np.ndarray  # CSR row pointers of sparse weights, from 0
    mass: np.ndarray  # q of the shown units, region by region
    inside_mass: np.ndarray  # qp of the products
    start: np.ndarray  # (R + 1,) as in Plan, like all below
    local: np.ndarray  # (m,) position of a node in its region: products from 0, then shown units
    weight: np.ndarray  # (m,)
    below: np.ndarray  # (R,)
    nested: np.ndarray  # (R,)
    needed: np.ndarray  # (R,)
    order: np.ndarray  # (R,)


def moment_arrays(plan: Plan) -> MomentArrays:
    """The flat form of a plan."""
    from ._masses_kernel import fill_masses

    circuit = plan.circuit
    rows, unit, data, column, pointer = [], [], [], [], []
    at_unit = at_data = at_column = at_pointer = 0
    for region in circuit.regions:
        if isinstance(region, InputRegion):
            rows.append((*region.probs.shape, 0, at_unit, at_data, -1, 0))
            data.append(region.probs.ravel())
            at_data += data[-1].size
            continue
        P, A = region.products.shape
        if region.is_sparse:
            weights = region.weights
            rows.append((weights.shape[0], P, A, at_unit, at_data, at_column, at_pointer))
            data.append(weights.data)
            column.append(weights.indices)
            pointer.append(weights.indptr)
            at_column += len(weights.indices)
            at_pointer += len(weights.indptr)
        else:
            rows.append((region.weights.shape[0], P, A, at_unit, at_data, -1, 0))
            data.append(region.weights.ravel())
        unit.append(region.products.T.ravel())
        at_unit += P * A
        at_data += data[-1].size
    spec = np.array(rows, dtype=np.int64)
    shown, inside, arity = spec[:, 0], np.where(spec[:, 2] > 0, spec[:, 1], 0), spec[:, 2]
    table = np.column_stack([spec[:, :3], _starts(arity), spec[:, 3:], _starts(shown), _starts(inside)])
    vtree = circuit.vtree
    region_of = np.repeat(np.arange(len(spec)), np.diff(plan.start))
    arrays = MomentArrays(
        table, np.argsort(vtree.parents, kind="stable")[1:], _flat(unit, np.int64), _flat(data, np.float64),
        _flat(column, np.int64), _flat(pointer, np.int64), np.zeros(shown.sum()), np.zeros(inside.sum()),
        plan.start, plan.nodes - circuit.offsets[region_of], plan.weights, plan.below, plan.nested, plan.needed,
        plan.order)
    fill_masses(arrays)
    return arrays


def _starts(sizes):
    """Where consecutive parts of the given sizes begin."""
    return np.cumsum(sizes) - sizes


def _flat(parts, dtype):
    """Concatenated parts as one array."""
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.zeros(0, dtype=dtype)
