"""What EM does between two passes over the rows, compiled.

Each function has a readable twin: `complete` that of flows in `pcircuit.inference.flows`, `maximize` the M-step in
`pcircuit.learning.em` with `kernels.rescaling.with_plan_for`.  The arithmetic is little, but threads that learn at the
same time, each its own circuit, wait for the interpreter lock wherever Python does it.
"""

from __future__ import annotations

import numpy as np

from pcircuit.kernels.jit import inlined, jit
from pcircuit.kernels.packed import (
    ARITY,
    FIRST_CHILD,
    ROW_POINTER,
    SPARSE,
    SUMS,
    WEIGHT,
)
from pcircuit.kernels.rescaling import (
    LEAST_WEIGHT,
    LIFT_HERE,
)

SMALLEST_WEIGHT = 2.0**LEAST_WEIGHT


@jit
def complete(packed, edges, counts, inputs):
    """Multiply edge flows by their weights; `inputs` are `counts` without the missing columns, which are spread."""
    for i in range(len(edges)):
        edges[i] *= packed.weights[i]
    out = 0
    for v in range(len(packed.categories)):
        C = packed.categories[v]
        for i in range(packed.table_start[v], _table_end(packed, v), C + 1):
            missing, total = counts[i + C], packed.tables[i + C]
            share = missing / total if missing > 0.0 and total > 0.0 else 0.0
            start, target = np.uintp(i), np.uintp(out)
            for c in range(np.uintp(C)):
                inputs[target + c] = counts[start + c] + share * packed.tables[start + c]
            out += C


@jit
def maximize(packed, edges, inputs, pseudocount, weights, tables):
    """New `weights` and `tables`, shares of the flow; false if they need another plan."""
    at, allowed = 0, True
    V = len(packed.categories)
    for v in range(V):
        C = packed.categories[v]
        least = 2.0 ** packed.floors[v]
        for i in range(packed.table_start[v], _table_end(packed, v), C + 1):
            _move(inputs, at, packed.tables, i, C, pseudocount, tables)
            tables[i + C] = 1.0
            allowed = allowed and not _count_below(tables, i, C, 0.0, least)
            at += C
    for r in range(len(packed.region)):
        w, pointer = packed.region[r, WEIGHT], packed.region[r, ROW_POINTER]
        least = 2.0 ** packed.floors[V + r]
        for k in range(packed.region[r, SUMS]):
            begin, end = packed.row_pointer[pointer + k], packed.row_pointer[pointer + k + 1]
            i, size = w + begin, end - begin
            _move(edges, i, packed.weights, i, size, pseudocount, weights)
            allowed = allowed and not _count_below(weights, i, size, 0.0, least)
        if _lifts(packed, r):
            size = packed.row_pointer[pointer + packed.region[r, SUMS]]
            allowed = (
                allowed
                and packed.region[r, SPARSE] == 0
                and not _count_below(weights, w, size, -1.0, SMALLEST_WEIGHT)
            )
    return allowed


@inlined
def _table_end(packed, v):
    """Where the table of variable v ends."""
    return packed.table_start[v + 1] if v + 1 < len(packed.table_start) else len(packed.tables)


@inlined
def _move(flow, f, old, i, size, pseudocount, new):
    """One unit's parameters; without flow and pseudocount they stay."""
    total, f, i = pseudocount, np.uintp(f), np.uintp(i)
    for j in range(np.uintp(size)):
        total += flow[f + j]
    if total > 0.0:
        more, factor = pseudocount / size, 1.0 / total
        for j in range(np.uintp(size)):
            new[i + j] = (flow[f + j] + more) * factor
    else:
        for j in range(np.uintp(size)):
            new[i + j] = old[i + j]


@inlined
def _count_below(values, i, size, above, below):
    """How many of `size` values lie in between; counting runs in vector lanes, a search for the smallest does not."""
    count, i = 0, np.uintp(i)
    for j in range(np.uintp(size)):
        count += (values[i + j] > above) & (values[i + j] < below)
    return count


@inlined
def _lifts(packed, r):
    """Whether the plan replaces small products of region r."""
    first = packed.region[r, FIRST_CHILD]
    lifts = False
    for c in range(first, first + packed.region[r, ARITY]):
        lifts |= packed.rescale[c] >= LIFT_HERE
    return lifts
