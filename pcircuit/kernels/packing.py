"""From a circuit to its packed form, and back from changed parameters to a circuit."""

from typing import Any

import numpy as np

from pcircuit.arguments import Bools, Floats, Ints, unchecked
from pcircuit.circuit import (
    NORMALIZED_TOLERANCE,
    Circuit,
    InnerRegion,
    InputRegion,
    derived,
    with_regions,
)
from pcircuit.kernels.packed import SUMS, Packed, num_inputs, table_rows, weight_rows
from pcircuit.kernels.rescaling import with_plan, with_plan_for
from pcircuit.regions import Categorical, check_weights

SMALLEST = 2.0**-100  # positive parameter of a circuit that is evaluated in float32


def pack(circuit: Circuit) -> Packed:
    """The packed form of a circuit, made once and kept with it."""
    return derived(circuit, "packed", lambda: _pack(circuit))


def packed_as(circuit: Circuit, dtype: str) -> Packed:
    """The same with parameters as "float64" or "float32"; float64 also where float32 could not hold them."""
    if dtype == "float64" or not (circuit.is_normalized and circuit.is_categorical):
        return pack(circuit)
    return derived(circuit, dtype, lambda: in_float32(pack(circuit)))


def in_float32(packed: Packed, like: Packed | None = None) -> Packed:
    """Parameters as float32, unchanged where one is too small; with the plan of another packed form if it holds."""
    parts = packed.weights, packed.tables
    if any(0.0 < np.min(part, initial=1.0, where=part > 0) < SMALLEST for part in parts):
        return packed
    weights, tables = (part.astype(np.float32) for part in parts)
    if like is None or like.weights.dtype != np.float32:
        return with_plan(packed._replace(weights=weights, tables=tables))
    return with_plan_for(like._replace(weights=weights, tables=tables))


def _pack(circuit: Circuit) -> Packed:
    """Concatenate the regions."""
    inner: list[Any] = [region for region in circuit.regions if not region.is_input]
    table_start, tables = _pack_inputs(circuit)
    child, unit = _pack_children(circuit, table_start)
    weights, rows, columns = [], [], []
    region = np.zeros((len(inner), 6), dtype=np.int64)
    first_child = first_weight = 0
    for r, one in enumerate(inner):
        K, P, arity = one.num_units, *one.products.shape
        region[r] = P, K, arity, first_child, first_weight, one.is_sparse
        weights.append(one.weights.data if one.is_sparse else one.weights.ravel())
        rows.append(one.stored(np.broadcast_to(np.arange(K)[:, None], (K, P))))
        columns.append(one.stored(np.broadcast_to(np.arange(P), (K, P))))
        first_child, first_weight = first_child + arity, first_weight + len(rows[-1])
    packed = Packed(
        region,
        child,
        _flat(unit, np.int64),
        _flat(weights, np.float64),
        _flat(rows, np.int64),
        _flat(columns, np.int64),
        tables,
        table_start,
        np.array(circuit.num_categories, dtype=np.int64),
        np.zeros(len(child), dtype=np.int64),
        np.zeros(len(inner), dtype=bool),
        np.zeros(0),
        {},
    )
    return with_plan(packed)


def _pack_inputs(circuit: Circuit) -> tuple[Ints, Floats]:
    """(V,) where each variable's table starts; all tables with their missing columns."""
    parts = [region.leaves.table().ravel() for region in circuit.inputs]
    ends = np.cumsum([len(part) for part in parts])
    return np.concatenate([[0], ends[:-1]]), np.concatenate(parts)


def _pack_children(circuit: Circuit, table_start: Ints) -> tuple[Ints, list[Ints]]:
    """`Packed.child`, and per child the unit that each product takes."""
    rows: list[tuple[int, ...]] = []
    unit: list[Ints] = []
    inner_index: dict[int, int] = {}
    unit_start = 0
    for r, region in enumerate(circuit.regions):
        if region.is_input:
            continue
        inner_index[r] = len(inner_index)
        for a, c in enumerate(circuit.vtree.children(r).tolist()):
            child, units = circuit.regions[c], region.products[:, a]
            is_leaf = child.is_input
            one_to_one = len(units) == child.num_units and np.array_equal(
                units, np.arange(len(units))
            )
            rows.append(
                (
                    is_leaf,
                    table_start[child.variable] if is_leaf else inner_index[c],
                    unit_start,
                    child.num_categories if is_leaf else 0,
                    child.variable if is_leaf else -1,
                    one_to_one,
                )
            )
            unit.append(units)
            unit_start += len(units)
    return np.array(rows, dtype=np.int64).reshape(len(rows), 6), unit


def with_parameters(circuit: Circuit, packed: Packed) -> Circuit:
    """A circuit of the same structure with the parameters of `packed`, which must not change afterwards.

    Its structure has been checked before, and its packed form is nearly there.  At V = 784 and K = 4 checking and
    packing every region anew takes seven times as long, as long as ten epochs over 600 rows.
    """
    if circuit._cache.get("packed") is packed:
        return circuit
    check_weights(packed.weights, "weights")
    check_weights(packed.tables, "probs")
    tables, is_missing = packed.tables.copy(), table_rows(packed)[1]
    probs, tables[is_missing] = _row_sums(packed, is_missing)
    weights = packed.weights.view()
    probs.flags.writeable = weights.flags.writeable = False
    starts = (
        packed.table_start - np.cumsum(num_inputs(packed)) + num_inputs(packed)
    ).tolist()  # in `probs`
    regions: list[InputRegion | InnerRegion] = []
    w = 0
    for region in circuit.regions:
        if region.is_input and not region.num_categories:
            regions.append(region)
            continue
        if region.is_input:
            start, shape = starts[region.variable], (region.num_units, region.num_categories)
            table = probs[start : start + shape[0] * shape[1]].reshape(shape)
            leaves = unchecked(Categorical, probs=table)
            regions.append(unchecked(InputRegion, variable=region.variable, leaves=leaves))
            continue
        start, w = w, w + region.num_weights
        if region.is_sparse:
            sparse = region.weights.copy()
            sparse.data = weights[start:w]
            regions.append(InnerRegion(region.products, sparse))
        else:
            table = weights[start:w].reshape(region.weights.shape)
            regions.append(unchecked(InnerRegion, products=region.products, weights=table))
    sums = np.concatenate([tables[is_missing], _sums_of_weights(packed)])
    is_normalized = bool(np.all(np.abs(sums - 1) <= NORMALIZED_TOLERANCE))
    packed = with_plan(packed._replace(tables=tables))
    return with_regions(circuit, regions, {"packed": packed}, (), is_normalized)


def _row_sums(packed: Packed, is_missing: Bools) -> tuple[Floats, Floats]:
    """The entries of all tables without their missing columns, and (input units,) the sums of their rows."""
    probs, widths = packed.tables[~is_missing], np.repeat(packed.categories, num_inputs(packed))
    starts, sums = np.cumsum(widths) - widths, np.ones(len(widths))
    for C in np.unique(
        widths[widths > 0]
    ):  # in the shape, and with the rounding, of one region's sums
        rows = widths == C
        sums[rows] = (
            probs.reshape(-1, C) if rows.all() else probs[starts[rows, None] + np.arange(C)]
        ).sum(axis=1)
    return probs, sums


def _sums_of_weights(packed: Packed) -> Floats:
    """(sum units,) the sums of their weights, region by region."""
    num_sums = int(packed.region[:, SUMS].sum())
    return np.bincount(weight_rows(packed), weights=packed.weights, minlength=num_sums)


def _flat(parts: list[Any], dtype: Any) -> Any:
    """Concatenated parts as one array of the given dtype."""
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.zeros(0, dtype=dtype)
