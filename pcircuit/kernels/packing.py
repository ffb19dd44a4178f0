"""From a circuit to its packed form, and back from changed parameters to a circuit."""

from typing import Any

import numpy as np

from pcircuit.arguments import Floats, Ints, unchecked
from pcircuit.circuit import (
    NORMALIZED_TOLERANCE,
    Circuit,
    InnerRegion,
    InputRegion,
    derived,
    with_regions,
)
from pcircuit.kernels.packed import SUMS, Packed, table_of, weight_rows
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
    inner_index = np.cumsum([not region.is_input for region in circuit.regions]) - 1
    unit_start = 0
    for r, region in enumerate(circuit.regions):
        if region.is_input:
            continue
        for a, c in enumerate(circuit.vtree.children(r).tolist()):
            child, units = circuit.regions[c], region.products[:, a]
            if child.is_input:
                v = child.variable
                source, categories = table_start[v], child.num_categories
            else:
                v, source, categories = -1, inner_index[c], 0
            one_to_one = np.array_equal(units, np.arange(child.num_units))
            rows.append((child.is_input, source, unit_start, categories, v, one_to_one))
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
    packed, weights = packed._replace(tables=packed.tables.copy()), packed.weights.view()
    weights.flags.writeable = False
    regions: list[InputRegion | InnerRegion] = []
    sums, w = [], 0
    for region in circuit.regions:
        if not region.is_input:
            start, w = w, w + region.num_weights
            if region.is_sparse:
                stored = region.weights.copy()
                stored.data = weights[start:w]
                regions.append(InnerRegion(region.products, stored))
            else:
                dense = weights[start:w].reshape(region.weights.shape)
                regions.append(unchecked(InnerRegion, products=region.products, weights=dense))
        elif region.num_categories:
            table = table_of(packed, region.variable, region.num_units)
            probs = table[:, :-1].copy()
            probs.flags.writeable = False
            table[:, -1] = probs.sum(axis=1)
            sums.append(table[:, -1])
            leaves = unchecked(Categorical, probs=probs)
            regions.append(unchecked(InputRegion, variable=region.variable, leaves=leaves))
        else:
            regions.append(region)
    num_sums = int(packed.region[:, SUMS].sum())
    sums.append(np.bincount(weight_rows(packed), weights=packed.weights, minlength=num_sums))
    is_normalized = bool(np.all(np.abs(np.concatenate(sums) - 1) <= NORMALIZED_TOLERANCE))
    return with_regions(circuit, regions, {"packed": with_plan(packed)}, (), is_normalized)


def _flat(parts: list[Any], dtype: Any) -> Any:
    """Concatenated parts as one array of the given dtype."""
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.zeros(0, dtype=dtype)
