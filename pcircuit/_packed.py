"""The packed form of a circuit: its region arrays, concatenated, in the order of its units.

Kernels cannot walk Python objects, so they read a few flat arrays.  `weights` and `tables` hold the parameters,
one region after the other; nothing is permuted.  Input tables get one more column, C, for a missing value: the row
sum, which is the exact integral (1 for a distribution).  `region` and `child` say where a region's parts begin;
`_rescaling` fills in the places where the passes must rescale.
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import _rescaling
from .circuit import Circuit, InnerRegion, InputRegion

# columns of `Packed.region`
PRODUCTS, SUMS, ARITY, FIRST_CHILD, WEIGHT, SPARSE, ROW_POINTER = range(7)
# columns of `Packed.child`; SOURCE is where a leaf's table starts, or the index of an inner child region
IS_LEAF, SOURCE, UNIT_LIST, CATEGORIES, VARIABLE, ONE_TO_ONE = range(6)


class Packed(NamedTuple):
    """Arrays of a packed circuit; inner regions, and their children, in post-order."""

    region: np.ndarray  # (inner regions, 7) int64
    child: np.ndarray  # (children, 6) int64
    unit: np.ndarray  # unit of the child that each product takes, child by child
    weights: np.ndarray  # dense (K, P) row-major or CSR data, region by region
    columns: np.ndarray  # CSR column of each entry of `weights` (0 in dense regions)
    row_pointer: np.ndarray  # CSR row pointers of sparse regions, K + 1 each, from 0
    tables: np.ndarray  # (K, C + 1) row-major, variable by variable
    table_start: np.ndarray  # (V,) where the table of each variable starts
    categories: np.ndarray  # (V,) int64
    rescale: np.ndarray  # (children,) int64: what to do after multiplying the child in
    check_sums: np.ndarray  # (inner regions,) bool: whether sums may underflow
    floors: np.ndarray  # what the rescale points allow for, see `_rescaling`


class Layout(NamedTuple):
    """Rows of the work buffer: where each inner region keeps its products and its sums."""

    products: np.ndarray
    sums: np.ndarray
    rows: int


def pack(circuit) -> Packed:
    """The packed form of a circuit, made once and kept with it."""
    packed = circuit._cache.get("packed")
    if packed is None:
        packed = circuit._cache["packed"] = _pack(circuit)
    return packed


def with_parameters(circuit, packed: Packed) -> Circuit:
    """A circuit of the same structure with the parameters of `packed`."""
    regions, weight = [], 0
    for region in circuit.regions:
        if isinstance(region, InputRegion):
            start = packed.table_start[region.variable]
            K, C = region.probs.shape
            table = packed.tables[start:start + K * (C + 1)].reshape(K, C + 1)
            regions.append(InputRegion(region.variable, table[:, :C]))
            continue
        size = region.weights.nnz if region.is_sparse else region.weights.size
        data = packed.weights[weight:weight + size]
        weight += size
        if region.is_sparse:
            weights = region.weights.copy()
            weights.data = data
        else:
            weights = data.reshape(region.weights.shape)
        regions.append(InnerRegion(region.products, weights))
    return Circuit(circuit.vtree, regions)


def stack_layout(circuit) -> Layout:
    """A layout for evaluation only: sums live on a stack, since a region's values die once its parent is done."""
    layout = circuit._cache.get("stack_layout")
    if layout is None:
        layout = circuit._cache["stack_layout"] = _stack_layout(pack(circuit))
    return layout


def full_layout(circuit) -> Layout:
    """A layout that keeps the products and sums of every inner region."""
    layout = circuit._cache.get("full_layout")
    if layout is None:
        region = pack(circuit).region
        ends = np.cumsum(region[:, PRODUCTS] + region[:, SUMS])
        start = ends - region[:, PRODUCTS] - region[:, SUMS]
        layout = Layout(start, start + region[:, PRODUCTS], int(ends[-1]) if len(ends) else 0)
        circuit._cache["full_layout"] = layout
    return layout


def unit_order(circuit) -> np.ndarray:
    """(units, 3) where the value of each unit is found: see `_units_kernel.write_units`."""
    order = circuit._cache.get("unit_order")
    if order is None:
        layout, parts, inner = full_layout(circuit), [], 0
        for region in circuit.regions:
            rows = np.zeros((region.num_nodes, 3), dtype=np.int64)
            if isinstance(region, InputRegion):
                rows[:, 0], rows[:, 1] = region.variable, np.arange(region.num_units)
            else:
                rows[:, 0], rows[:, 1], rows[:, 2] = -1, layout.products[inner] + np.arange(region.num_nodes), inner
                inner += 1
            parts.append(rows)
        order = circuit._cache["unit_order"] = np.concatenate(parts)
    return order


def table_rows(packed: Packed):
    """(table entries,) the input unit each entry of `tables` belongs to, and whether it is a missing column."""
    units = np.diff(np.append(packed.table_start, len(packed.tables))) // (packed.categories + 1)
    widths = np.repeat(packed.categories + 1, units)
    is_missing = np.zeros(len(packed.tables), dtype=bool)
    is_missing[np.cumsum(widths) - 1] = True
    return np.repeat(np.arange(len(widths)), widths), is_missing


def weight_rows(packed: Packed) -> np.ndarray:
    """(weights,) the sum unit each entry of `weights` belongs to, counted over all regions."""
    rows, first = [], 0
    for P, K, _, _, _, sparse, pointer in packed.region.tolist():
        lengths = np.diff(packed.row_pointer[pointer:pointer + K + 1]) if sparse else np.full(K, P)
        rows.append(np.repeat(np.arange(first, first + K), lengths))
        first += K
    return _flat(rows, np.int64)


def _pack(circuit) -> Packed:
    """Concatenate the regions."""
    table_start, tables = _pack_inputs(circuit)
    categories = np.array(circuit.num_categories, dtype=np.int64)
    region_rows, child_rows, unit, weights, columns, row_pointer = [], [], [], [], [], []
    inner_index: dict[int, int] = {}
    unit_start = weight_start = pointer_start = 0
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InputRegion):
            continue
        inner_index[r] = len(region_rows)
        region_rows.append((region.num_products, region.num_units, region.products.shape[1], len(child_rows),
                            weight_start, region.is_sparse, pointer_start))
        for a, c in enumerate(circuit.vtree.children(r).tolist()):
            child, units = circuit.regions[c], region.products[:, a]
            leaf = isinstance(child, InputRegion)
            one_to_one = len(units) == child.num_units and np.array_equal(units, np.arange(len(units)))
            child_rows.append((leaf, table_start[child.variable] if leaf else inner_index[c], unit_start,
                               child.num_categories if leaf else 0, child.variable if leaf else -1, one_to_one))
            unit.append(units)
            unit_start += len(units)
        weights.append(region.weights.data if region.is_sparse else region.weights.ravel())
        weight_start += len(weights[-1])
        columns.append(region.weights.indices if region.is_sparse else np.zeros(len(weights[-1]), dtype=np.int64))
        if region.is_sparse:
            row_pointer.append(region.weights.indptr)
            pointer_start += len(region.weights.indptr)
    packed = Packed(_table(region_rows, 7), _table(child_rows, 6), _flat(unit, np.int64), _flat(weights, np.float64),
                    _flat(columns, np.int64), _flat(row_pointer, np.int64), tables, table_start, categories,
                    np.zeros(len(child_rows), dtype=np.int64), np.zeros(len(region_rows), dtype=bool), np.zeros(0))
    return _rescaling.with_plan(packed)


def _pack_inputs(circuit):
    """(V,) where each variable's table starts; all tables with their missing columns."""
    parts = [np.concatenate([probs, probs.sum(axis=1, keepdims=True)], axis=1).ravel()
             for probs in (circuit.regions[r].probs for r in circuit.vtree.leaf_of().tolist())]
    ends = np.cumsum([len(part) for part in parts])
    return np.concatenate([[0], ends[:-1]]), np.concatenate(parts)


def _stack_layout(packed: Packed) -> Layout:
    """Products in the first rows, shared by all regions; sums where the first inner child's sums were."""
    region = packed.region
    scratch = int(region[:, PRODUCTS].max(initial=0))
    leaf, source = packed.child[:, IS_LEAF].tolist(), packed.child[:, SOURCE].tolist()
    sums: list[int] = []
    top = highest = scratch
    for _, num_sums, arity, first, *_ in region.tolist():
        inner = [sums[source[c]] for c in range(first, first + arity) if not leaf[c]]
        sums.append(min(inner, default=top))
        top = sums[-1] + num_sums
        highest = max(highest, top)
    return Layout(np.zeros(len(region), dtype=np.int64), np.array(sums, dtype=np.int64), highest)


def _table(rows, width: int) -> np.ndarray:
    """Rows of integers as an int64 table."""
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


def _flat(parts, dtype) -> np.ndarray:
    """Concatenated parts as one array of the given dtype."""
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.zeros(0, dtype=dtype)
