"""The packed form of a circuit: its region arrays, concatenated, in the order of its units.

Kernels cannot walk Python objects, so they read a few flat arrays.  `weights` and `tables` hold the parameters,
one region after the other; nothing is permuted.  Input tables get one more column, C, for a missing value: the row
sum, which is the exact integral (1 for a distribution).  `region` and `child` say where a region's parts begin.
`kernels.packing` makes the packed form, `kernels.rescaling` fills in where the passes must rescale.
"""

from typing import Any, NamedTuple

import numpy as np

from pcircuit.arguments import Bools, Floats, Ints

# columns of `Packed.region`
PRODUCTS, SUMS, ARITY, FIRST_CHILD, WEIGHT, SPARSE = range(6)
# columns of `Packed.child`; SOURCE is where a leaf's table starts, or the index of an inner child region
IS_LEAF, SOURCE, UNIT_LIST, CATEGORIES, VARIABLE, ONE_TO_ONE = range(6)


class Packed(NamedTuple):
    """Arrays of a packed circuit; inner regions, and their children, in post-order."""

    region: Ints  # (inner regions, 6)
    child: Ints  # (children, 6)
    unit: Ints  # unit of the child that each product takes, child by child
    weights: Any  # float64 or float32, dense (K, P) row-major or CSR data, region by region
    row: Ints  # the sum of its region that each entry of `weights` belongs to
    column: Ints  # and the product
    tables: Any  # the same, (K, C + 1) row-major, variable by variable
    table_start: Ints  # (V,) where the table of each variable starts
    categories: Ints  # (V,)
    rescale: Ints  # (children,) what to do after multiplying the child in
    check_sums: Bools  # (inner regions,) whether sums may underflow
    floors: Floats  # what the rescale points allow for, see `kernels.rescaling`
    programs: dict[str, Any]  # of this structure and plan, from `kernels.programs`


def num_inputs(packed: Packed) -> Ints:
    """(V,) input units of each variable."""
    return np.diff(packed.table_start, append=len(packed.tables)) // (packed.categories + 1)


def table_of(packed: Packed, v: int, num_units: int) -> Any:
    """(K, C + 1) the table of a variable."""
    start = packed.table_start[v]
    table = packed.tables[start : start + num_units * (packed.categories[v] + 1)]
    return table.reshape(num_units, -1)


def table_rows(packed: Packed) -> tuple[Ints, Bools]:
    """(table entries,) the input unit each entry of `tables` belongs to, and whether it is a missing column."""
    widths = np.repeat(packed.categories + 1, num_inputs(packed))
    is_missing = np.zeros(len(packed.tables), dtype=bool)
    is_missing[np.cumsum(widths) - 1] = True
    return np.repeat(np.arange(len(widths)), widths), is_missing


def weight_rows(packed: Packed) -> Ints:
    """(weights,) the sum unit each entry of `weights` belongs to, counted over all regions."""
    sums = packed.region[:, SUMS]
    stored = np.diff(packed.region[:, WEIGHT], append=len(packed.weights))
    return packed.row + np.repeat(np.cumsum(sums) - sums, stored)
