"""Which units a caller wants to read from a tile, in the order in which `kernels.units` reads them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pcircuit.arguments import Floats, Ints
from pcircuit.circuit import Circuit, derived


class Wanted(NamedTuple):
    """The units that an upward pass reads, and where their values go."""

    readers: Ints  # (units, 5) from `unit_readers`
    table: Floats  # (rows, m) values row by row; no rows where only totals are wanted
    totals: Floats  # (m,) where sums over the rows are added; empty where the table is wanted


MOST_KEPT = 10_000  # units whose readers are kept
NOTHING = Wanted(np.empty((0, 5), dtype=np.int64), np.empty((0, 0)), np.empty(0))


def unit_readers(circuit: Circuit, nodes: Ints) -> Ints:
    """(m, 5) what the kernels need to know to read units `nodes`: see `kernels.units`.

    Those of the last call are kept with the circuit: a quarter of the time of a call with one row.
    """
    last = circuit._cache.get("last_readers")
    if last is not None and len(last[0]) == len(nodes) and bool((last[0] == nodes).all()):
        found: Ints = last[1]
        return found
    places, rank = derived(circuit, "unit_places", lambda: _unit_places(circuit))
    columns = np.argsort(rank[nodes], kind="stable")
    readers = np.concatenate([places[nodes[columns]], columns[:, None]], axis=1)
    if len(nodes) <= MOST_KEPT:
        circuit._cache["last_readers"] = nodes.copy(), readers
    return readers


def _unit_places(circuit: Circuit) -> tuple[Ints, Ints]:
    """(units, 4) variable or -1, inner region or -1, number among the units of its kind, whether it is a sum.

    And (units,) the rank of each unit in the order in which a tile is read: inputs, then region by region.
    """
    parts, inner = [], 0
    for region in circuit.regions:
        rows = np.full((region.num_nodes, 4), -1, dtype=np.int64)
        number = np.arange(region.num_nodes)
        if region.is_input:
            rows[:, 0], rows[:, 2], rows[:, 3] = region.variable, number, 0
        else:
            rows[:, 1], rows[:, 3] = inner, number >= region.num_products
            rows[:, 2] = number - region.num_products * rows[:, 3]
            inner += 1
        parts.append(rows)
    places = np.concatenate(parts)
    rank = np.empty(len(places), dtype=np.int64)
    rank[np.lexsort((places[:, 2], places[:, 0], places[:, 1]))] = np.arange(len(places))
    return places, rank
