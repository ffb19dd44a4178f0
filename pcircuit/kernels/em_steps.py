"""What EM does between two passes over the rows, compiled.

Each function has a readable twin: `complete` that of flows in `pcircuit.inference.flows`, `share` the M-step in
`pcircuit.learning.em`, with `kernels.rescaling.with_plan_for`.  The arithmetic is little, but threads that learn at the
same time, each its own circuit, wait for the interpreter lock wherever Python does it.

`slices` (units, 3) say of each unit where its flows begin, where its parameters begin, and how many there are.
"""

from typing import Any

import numpy as np

from pcircuit.arguments import Floats, Ints
from pcircuit.kernels.jit import jit
from pcircuit.kernels.packed import ARITY, SUMS, WEIGHT, Packed, num_inputs
from pcircuit.kernels.rescaling import LIFT_HERE, limits_of


def slices_of(packed: Packed) -> tuple[tuple[Ints, Floats], tuple[Ints, Floats]]:
    """Slices of input and of sum units, and what their parameters must not lie between for the plan to hold.

    The two numbers are 0, or below it where a parameter must not be 0 either, and the smallest that is allowed for.
    """
    found: Any = packed.programs.get("slices")
    if found is None:
        V, region, least = len(packed.categories), packed.region, 2.0**packed.floors
        variable = np.repeat(np.arange(V), num_inputs(packed))
        sizes = packed.categories[variable]
        inputs = np.stack([np.cumsum(sizes) - sizes, np.cumsum(sizes + 1) - sizes - 1, sizes])
        owner = np.repeat(np.arange(len(region)), region[:, SUMS])
        pointers = np.delete(packed.row_pointer, np.cumsum(region[:, SUMS] + 1) - 1)
        sizes = np.delete(np.diff(packed.row_pointer, append=0), np.cumsum(region[:, SUMS] + 1) - 1)
        begin = region[owner, WEIGHT] + pointers
        lifts = np.zeros(len(region), dtype=bool)
        lifts[np.repeat(np.arange(len(region)), region[:, ARITY])[packed.rescale >= LIFT_HERE]] = (
            True
        )
        smallest = np.where(
            lifts, np.maximum(least[V:], 2.0 ** limits_of(packed).least_weight), least[V:]
        )
        found = packed.programs["slices"] = (
            (inputs.T.copy(), np.stack([0.0 * variable, least[variable]], axis=1)),
            (
                np.stack([begin, begin, sizes], axis=1),
                np.stack([np.where(lifts, -1.0, 0.0), smallest], axis=1)[owner],
            ),
        )
    return found


@jit
def complete(counts, tables, slices, inputs):
    """Fill `inputs` with `counts` without the missing columns, which are spread over the categories."""
    for i in range(len(slices)):
        target, start, C = slices[i, 0], slices[i, 1], slices[i, 2]
        missing, total = counts[start + C], tables[start + C]
        part = missing / total if missing > 0.0 and total > 0.0 else 0.0
        for c in range(C):
            inputs[target + c] = counts[start + c] + part * tables[start + c]


@jit
def share(flows, old, slices, between, pseudocount, new):
    """Fill `new` with shares of the flow; without flow and pseudocount units keep `old`.  False if one is `between`."""
    allowed = True
    for i in range(len(slices)):
        f, start, size = slices[i, 0], slices[i, 1], slices[i, 2]
        total = pseudocount
        for j in range(size):
            total += flows[f + j]
        more, factor = pseudocount / size, 1.0 / total if total > 0.0 else 0.0
        above, below = between[i, 0], between[i, 1]
        count = 0  # counting runs in vector lanes, a search for the smallest does not
        for j in range(size):
            x = (flows[f + j] + more) * factor if total > 0.0 else old[start + j]
            new[start + j] = x
            count += (x > above) & (x < below)
        allowed = allowed and count == 0
    return allowed
