"""A plan as a few flat arrays, for the compiled recursions, which cannot walk Python objects.

The parameters and the units of products are those of the packed circuit (`pcircuit.kernels.packed`), shared with the
passes over rows and not copied.  A row of the table `region` says where each region's parts begin in them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pcircuit.kernels.packed import FIRST_CHILD, UNIT_LIST, num_inputs
from pcircuit.kernels.packing import pack
from pcircuit.moments.plan import Plan

# columns of `MomentArrays.region`: first those of `Packed.region`, of which a leaf has its C categories in the place of
# P products, ARITY 0 and its table in the place of weights; then where the units of products and the masses begin, the
# selected units, and what Plan says
(
    INSIDE,
    SHOWN,
    ARITY,
    CHILD,
    DATA,
    SPARSE,
    POINTER,
    UNIT,
    MASS,
    FIRST_NODE,
    NUM_NODES,
    BELOW,
    NEEDED,
) = range(13)


class MomentArrays(NamedTuple):
    """R regions, m nodes; see the module docstring."""

    region: np.ndarray  # (R, 13) int64
    child: np.ndarray  # child regions of region 0, of region 1, ...
    unit: np.ndarray  # as in Packed, like the next four
    weights: np.ndarray
    columns: np.ndarray
    row_pointer: np.ndarray
    tables: np.ndarray
    mass: (
        np.ndarray
    )  # top-down masses: q of the shown units of each region, then qp of its products
    local: np.ndarray  # (m,) position of a node in its region: products from 0, then shown units
    weight: np.ndarray  # (m,) weight of each coordinate
    rounding: np.ndarray  # (R,) as in Plan
    order: np.ndarray  # (R,) as in Plan


def moment_arrays(plan: Plan) -> MomentArrays:
    """The arrays of a plan; `mass` is zero and left to `moments.kernels.masses.fill_masses`."""
    circuit, packed = plan.circuit, pack(plan.circuit)
    table = np.zeros((circuit.vtree.num_nodes, NEEDED + 1), dtype=np.int64)
    leaf, inner = circuit.vtree.leaf_of(), np.flatnonzero(circuit.vtree.variables < 0)
    table[leaf, INSIDE], table[leaf, SHOWN] = packed.categories, num_inputs(packed)
    table[leaf, DATA] = packed.table_start
    table[inner, :UNIT], table[inner, UNIT] = (
        packed.region,
        packed.child[packed.region[:, FIRST_CHILD], UNIT_LIST],
    )
    sizes = table[:, SHOWN] + np.where(table[:, ARITY] > 0, table[:, INSIDE], 0)
    table[:, MASS] = np.cumsum(sizes) - sizes
    table[:, FIRST_NODE], table[:, NUM_NODES] = plan.start[:-1], np.diff(plan.start)
    table[:, BELOW], table[:, NEEDED] = plan.below, plan.needed
    local = plan.nodes - circuit.offsets[np.repeat(np.arange(len(table)), table[:, NUM_NODES])]
    # copies of what may be read-only, or not, as in copies of circuits: Numba compiles all anew for the other kind
    return MomentArrays(
        table,
        np.argsort(circuit.vtree.parents, kind="stable")[1:],
        packed.unit,
        packed.weights,
        packed.columns,
        packed.row_pointer,
        packed.tables,
        np.zeros(sizes.sum()),
        local,
        plan.weights.copy(),
        plan.rounding.copy(),
        plan.order,
    )
