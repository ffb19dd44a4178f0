"""The packed form of a circuit: its region arrays, concatenated, in the order of its units.

Kernels cannot walk Python objects, so they read a few flat arrays.  `weights` and `tables` hold the parameters,
one region after the other; nothing is permuted.  Input tables get one more column, C, for a missing value: the row
sum, which is the exact integral (1 for a distribution).  `region` and `child` say where a region's parts begin;
`compiled.rescaling` fills in the places where the passes must rescale.
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pcircuit.circuit import Circuit, InnerRegion, InputRegion
from pcircuit.compiled import rescaling as _rescaling
from pcircuit.regions import check_weights

TILE_ROWS = 256  # rows of a tile at most: enough to pay for a region's bookkeeping, few enough to stay in the cache
STRIDE = TILE_ROWS + 8  # from unit to unit; an odd number of cache lines, so that units do not compete for places

# columns of `Packed.region`
PRODUCTS, SUMS, ARITY, FIRST_CHILD, WEIGHT, SPARSE, ROW_POINTER = range(7)
# columns of `Packed.child`; SOURCE is where a leaf's table starts, or the index of an inner child region
IS_LEAF, SOURCE, UNIT_LIST, CATEGORIES, VARIABLE, ONE_TO_ONE = range(6)


OF_STRUCTURE = ("stack_layout", "full_layout", "unit_places")  # derived forms that do not depend on parameters


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
    floors: np.ndarray  # what the rescale points allow for, see `compiled.rescaling`


class Layout(NamedTuple):
    """Where in a tile each inner region keeps its products and its sums, and the flow of its sums."""

    products: np.ndarray
    sums: np.ndarray
    flows: np.ndarray
    spare: int  # room for the products of one region, beside their place
    num_values: int
    num_flows: int
    keeps_products: bool  # of every region, and its sums on a stack; or the other way round


def pack(circuit) -> Packed:
    """The packed form of a circuit, made once and kept with it."""
    packed = circuit._cache.get("packed")
    if packed is None:
        packed = circuit._cache["packed"] = _pack(circuit)
    return packed


def with_parameters(circuit, packed: Packed) -> Circuit:
    """A circuit of the same structure with the parameters of `packed`, which must not change afterwards.

    Its structure has been checked before, and its packed form is nearly there.  At V = 784 and K = 4 checking and
    packing every region anew takes seven times as long, as long as ten epochs over 600 rows.
    """
    check_weights(packed.weights, "weights")
    check_weights(packed.tables, "probs")
    tables, is_missing = packed.tables.copy(), table_rows(packed)[1]
    probs, tables[is_missing] = _row_sums(packed, is_missing)
    weights = packed.weights.view()
    probs.flags.writeable = weights.flags.writeable = False
    starts = (packed.table_start - np.cumsum(_num_inputs(packed)) + _num_inputs(packed)).tolist()  # in `probs`
    regions, w = [], 0
    for region in circuit.regions:
        if isinstance(region, InputRegion):
            start, shape = starts[region.variable], region.probs.shape
            table = probs[start:start + shape[0] * shape[1]].reshape(shape)
            regions.append(_unchecked(InputRegion, variable=region.variable, probs=table))
            continue
        is_sparse = region.is_sparse
        start, w = w, w + (region.weights.nnz if is_sparse else region.weights.size)
        if is_sparse:
            sparse = region.weights.copy()
            sparse.data = weights[start:w]
            regions.append(InnerRegion(region.products, sparse))
        else:
            table = weights[start:w].reshape(region.weights.shape)
            regions.append(_unchecked(InnerRegion, products=region.products, weights=table))
    cache = {key: circuit._cache[key] for key in OF_STRUCTURE if key in circuit._cache}
    cache["packed"] = _rescaling.with_plan(packed._replace(tables=tables))
    known = {name: circuit.__dict__[name] for name in ("num_categories", "offsets", "num_parameters")
             if name in circuit.__dict__}
    return _unchecked(Circuit, vtree=circuit.vtree, regions=tuple(regions), _cache=cache, **known)


def stack_layout(circuit) -> Layout:
    """A layout for evaluation only: sums live on a stack, since a region's values die once its parent is done."""
    layout = circuit._cache.get("stack_layout")
    if layout is None:
        layout = circuit._cache["stack_layout"] = _stack_layout(pack(circuit))
    return layout


def full_layout(circuit) -> Layout:
    """A layout that keeps the sums, or else the products, of every inner region; the others and flows on stacks."""
    layout = circuit._cache.get("full_layout")
    if layout is None:
        layout = circuit._cache["full_layout"] = _full_layout(pack(circuit))
    return layout


def unit_readers(circuit, nodes) -> np.ndarray:
    """(m, 5) what the kernels need to know to read units `nodes`: see `compiled.units`."""
    cached = circuit._cache.get("unit_places")
    if cached is None:
        places = _unit_places(circuit)
        rank = np.empty(len(places), dtype=np.int64)
        rank[np.lexsort((places[:, 2], places[:, 0], places[:, 1]))] = np.arange(len(places))  # inputs, then regions
        cached = circuit._cache["unit_places"] = places, rank
    places, rank = cached
    columns = np.argsort(rank[nodes], kind="stable")
    return np.concatenate([places[nodes[columns]], columns[:, None]], axis=1)


def table_rows(packed: Packed):
    """(table entries,) the input unit each entry of `tables` belongs to, and whether it is a missing column."""
    widths = np.repeat(packed.categories + 1, _num_inputs(packed))
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


def _row_sums(packed: Packed, is_missing):
    """The entries of all tables without their missing columns, and (input units,) the sums of their rows."""
    probs, widths = packed.tables[~is_missing], np.repeat(packed.categories, _num_inputs(packed))
    starts, sums = np.cumsum(widths) - widths, np.empty(len(widths))
    for C in np.unique(widths):  # in the shape, and with the rounding, of one region's sums
        rows = widths == C
        sums[rows] = (probs.reshape(-1, C) if rows.all() else probs[starts[rows, None] + np.arange(C)]).sum(axis=1)
    return probs, sums


def _num_inputs(packed: Packed) -> np.ndarray:
    """(V,) input units of each variable."""
    return np.diff(packed.table_start, append=len(packed.tables)) // (packed.categories + 1)


def _unchecked(kind, **fields):
    """A frozen dataclass with these fields, which are in order."""
    new = object.__new__(kind)
    for name, value in fields.items():  # not by its dictionary: to make one is more work, now and for the collector
        object.__setattr__(new, name, value)
    return new


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
    with np.errstate(over="ignore"):  # such circuits are evaluated in the log domain: `inference.ranges`
        parts = [np.concatenate([probs, probs.sum(axis=1, keepdims=True)], axis=1).ravel()
                 for probs in (circuit.regions[r].probs for r in circuit.vtree.leaf_of().tolist())]
    ends = np.cumsum([len(part) for part in parts])
    return np.concatenate([[0], ends[:-1]]), np.concatenate(parts)


def _stack_layout(packed: Packed) -> Layout:
    """Products in the first rows, shared by all regions; sums where the first inner child's sums were."""
    region = packed.region
    spare = int(region[:, PRODUCTS].max(initial=0))
    scratch = 2 * spare
    leaf, source = packed.child[:, IS_LEAF].tolist(), packed.child[:, SOURCE].tolist()
    sums: list[int] = []
    top = highest = scratch
    for _, num_sums, arity, first, *_ in region.tolist():
        inner = [sums[source[c]] for c in range(first, first + arity) if not leaf[c]]
        sums.append(min(inner, default=top))
        top = sums[-1] + num_sums
        highest = max(highest, top)
    nowhere = np.zeros(len(region), dtype=np.int64)
    return Layout(nowhere, np.array(sums, dtype=np.int64), nowhere, spare, highest, 0, False)


def _full_layout(packed: Packed) -> Layout:
    """What is kept, one after the other; a region's children take the place of its flow, the last child on top."""
    region = packed.region
    leaf, source = packed.child[:, IS_LEAF].tolist(), packed.child[:, SOURCE].tolist()
    spare = int(region[:, PRODUCTS].max(initial=0))
    ends = 2 * spare + np.cumsum(region[:, SUMS])
    flows, highest = np.full(len(region), spare), spare + 1
    for r in range(len(region) - 1, -1, -1):
        _, num_sums, arity, first, *_ = region[r].tolist()
        top = flows[r]
        highest = max(highest, top + num_sums)
        for c in range(first, first + arity):
            if not leaf[c]:
                flows[source[c]] = top
                top += region[source[c], SUMS]
        highest = max(highest, top)
    num_values = int(ends[-1]) if len(ends) else 0
    layout = Layout(np.zeros(len(region), dtype=np.int64), ends - region[:, SUMS], flows, spare, num_values,
                    int(highest), False)
    if not len(region) or not _keeps_products(packed):
        return layout
    stack = _stack_layout(packed)
    ends = stack.num_values + np.cumsum(region[:, PRODUCTS])
    return layout._replace(products=ends - region[:, PRODUCTS], sums=stack.sums, num_values=int(ends[-1]),
                           keeps_products=True)


def _keeps_products(packed: Packed) -> bool:
    """Whether sums are mixed again on the way down, from products that are kept, or products multiplied again.

    Counted in multiplications of a matrix product; a look-up, which is scalar, costs 16, a multiplication of what is
    not in registers 4.  With 256 categories keeping products saves a fifth of an epoch at V = 784 and K = 16.
    """
    num_products, num_sums = packed.region[:, PRODUCTS], packed.region[:, SUMS]
    factors = np.where(packed.child[:, CATEGORIES] > 2, 16, 4)
    again = int(factors @ np.repeat(num_products, packed.region[:, ARITY]))
    return len(packed.weights) <= again and num_products.sum() <= 2 * num_sums.sum()


def _unit_places(circuit) -> np.ndarray:
    """(units, 4) variable or -1, inner region or -1, number among the units of its kind, whether it is a sum."""
    parts, inner = [], 0
    for region in circuit.regions:
        rows = np.full((region.num_nodes, 4), -1, dtype=np.int64)
        number = np.arange(region.num_nodes)
        if isinstance(region, InputRegion):
            rows[:, 0], rows[:, 2], rows[:, 3] = region.variable, number, 0
        else:
            rows[:, 1], rows[:, 3] = inner, number >= region.num_products
            rows[:, 2] = number - region.num_products * rows[:, 3]
            inner += 1
        parts.append(rows)
    return np.concatenate(parts)


def _table(rows, width: int) -> np.ndarray:
    """Rows of integers as an int64 table."""
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


def _flat(parts, dtype) -> np.ndarray:
    """Concatenated parts as one array of the given dtype."""
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.zeros(0, dtype=dtype)
