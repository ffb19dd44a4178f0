"""A circuit in words: small ones with all their tables, large ones level by level.

A level holds the regions at one depth of the v-tree: the root is level 0.  From the root downwards one sees scopes
shrink from all variables to single ones, and where the units and parameters lie.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pcircuit.arguments import Floats, Ints, check_whole_number
from pcircuit.circuit import Circuit, check_circuit
from pcircuit.vtree import VTree

MOST_DESCRIBED, MOST_NUMBERS = (
    40,
    2000,
)  # regions and parameters that are written out unless more are asked for
MOST_LEVELS = 24  # written out; those in the middle are left out
HEADS = ("level", "regions", "variables each", "inputs", "products", "sums", "parameters", "zero")


def describe(circuit: Circuit, *, max_regions: int | None = None) -> str:
    """The circuit in words: region by region with its tables, or, where it is large, level by level.

    Parameters
    ----------
    circuit : Circuit
    max_regions : int, optional
        So many regions are written out, however large they are; the last line says what is left out.  Default: all
        of a circuit of at most 40 regions and 2,000 parameters, and of others a line for each level.

    Returns
    -------
    str

    Raises
    ------
    TypeError, ValueError
        If `circuit` is no circuit, or `max_regions` is not a whole number of at least 0.

    Examples
    --------
    >>> from pcircuit import InputRegion, VTree
    >>> print(describe(Circuit(VTree([-1], [0]), [InputRegion(0, [[0.4, 0.6]])])))
    Circuit(1 variables, 1 regions, 1 units, 2 parameters)
    region 0, scope {0}, unit ids 0..0: InputRegion(variable 0, 1 units, 2 categories)
      input 0: 0.4 0.6
    """
    check_circuit(circuit)
    wanted = check_whole_number(max_regions, "max_regions", 0, none="all regions of small circuits")
    is_small = circuit.num_regions <= MOST_DESCRIBED and circuit.num_parameters <= MOST_NUMBERS
    if wanted is None and not is_small:
        return "\n".join([repr(circuit), *_level_lines(circuit.vtree, circuit.regions)])
    wanted = circuit.num_regions if wanted is None else min(wanted, circuit.num_regions)
    lines = [repr(circuit), *(line for r in range(wanted) for line in _region_lines(circuit, r))]
    if circuit.num_regions > wanted:
        lines.append(f"... and {circuit.num_regions - wanted} more regions")
    return "\n".join(lines)


def depths(vtree: VTree) -> Ints:
    """(R,) depth of each node of a v-tree, 0 at the root."""
    depth = np.zeros(vtree.num_nodes, dtype=np.int64)
    for r in range(vtree.num_nodes - 2, -1, -1):
        depth[r] = depth[vtree.parents[r]] + 1
    return depth


def _region_lines(circuit: Circuit, r: int) -> list[str]:
    """Region r with its tables."""
    region, scope = circuit.regions[r], ",".join(map(str, circuit.vtree.scope(r)))
    first, last = circuit.offsets[r : r + 2]
    lines = [f"region {r}, scope {{{scope}}}, unit ids {first}..{last - 1}: {region!r}"]
    if region.is_input:
        return lines + [f"  input {k}: {region.leaves.said(k)}" for k in range(region.num_units)]
    children = circuit.vtree.children(r)
    for p, units in enumerate(region.products):
        factors = " x ".join(f"{c}.{u}" for c, u in zip(children, units, strict=True))
        lines.append(f"  product {p}: {factors}")
    return lines + [f"  sum {k}: {_numbers(row)}" for k, row in enumerate(region.dense_weights())]


def _level_lines(vtree: VTree, regions: Sequence[Any]) -> list[str]:
    """The circuit as a table with one line for each level of the v-tree, and what is said of all levels."""
    depth = depths(vtree)
    categories = [region.num_categories for region in regions if region.is_input]
    children = [len(c) for c in vtree.child_lists() if c]
    lines = [
        f"categories: {_span(categories)} a variable{' (0: numbers)' if 0 in categories else ''}",
        f"v-tree: {depth.max()} levels below the root, {_span(children)} children a node"
        if children
        else "v-tree: a single leaf",
    ]
    columns = _columns(regions, vtree.scope_sizes())
    rows = []
    for level in range(int(depth.max()) + 1):
        here = columns[depth == level]
        rows.append([str(level), str(len(here)), _span(here[:, 0]), *_counts(here)])
    total = ["all", str(len(regions)), "", *_counts(columns)]
    widths = [max(len(row[i]) for row in [*rows, total, HEADS]) for i in range(len(HEADS))]
    cut = len(rows) > MOST_LEVELS
    shown = [*rows[: MOST_LEVELS // 2], *rows[len(rows) - MOST_LEVELS // 2 :]] if cut else rows
    table = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in [HEADS, *shown, total]
    ]
    if cut:
        table.insert(1 + MOST_LEVELS // 2, f"... {len(rows) - MOST_LEVELS} more levels")
    return lines + table


def _columns(regions: Sequence[Any], scopes: Ints) -> Ints:
    """(R, 6) scope size, inputs, products, sums, stored parameters, and how many of these are zero."""
    table = np.zeros((len(regions), 6), dtype=np.int64)
    table[:, 0] = scopes
    for row, region in zip(table, regions, strict=True):
        if region.is_input:
            row[1], row[4] = region.num_units, region.num_parameters
            row[5] = (region.probs == 0).sum() if region.num_categories else 0
            continue
        values = region.weights.data if region.is_sparse else region.weights
        row[2:] = (
            region.num_products,
            region.num_units,
            values.size,
            (np.asarray(values) == 0).sum(),
        )
    return table


def _counts(columns: Ints) -> list[str]:
    """Units of each kind, parameters, and the share of these that is zero."""
    inputs, products, sums, parameters, zeros = columns[:, 1:].sum(axis=0).tolist()
    return [
        *(f"{n:,}" if n else "-" for n in (inputs, products, sums)),
        f"{parameters:,}",
        f"{zeros / max(parameters, 1):.0%}" if zeros else "-",
    ]


def _span(values: Iterable[int]) -> str:
    """Smallest and largest of some whole numbers, one number where they agree."""
    values = np.asarray(list(values))
    low, high = int(values.min()), int(values.max())
    return f"{low:,}" if low == high else f"{low:,}..{high:,}"


def _numbers(row: Floats) -> str:
    """A row of numbers on one line."""
    return " ".join(f"{value:.4g}" for value in row)
