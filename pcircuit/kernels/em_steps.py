"""What EM does between two passes over the rows, compiled.

Each function has a readable twin: `complete` that of flows in `pcircuit.inference.flows`, `share` the M-step in
`pcircuit.learning.em`, with `kernels.rescaling.with_plan_for`.  The arithmetic is little, but threads that learn at the
same time, each its own circuit, wait for the interpreter lock wherever Python does it.

`slices` (units * 3,) say of each unit where its flows begin, where its parameters begin, and how many there are.
"""

from typing import Any

import numpy as np

from pcircuit.arguments import Floats, Ints
from pcircuit.kernels.operations import ONE, THREE, TWO, ZERO
from pcircuit.kernels.packed import ARITY, SUMS, Packed, num_inputs, weight_rows
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
        inputs = np.stack(
            [np.cumsum(sizes) - sizes, np.cumsum(sizes + 1) - sizes - 1, sizes], axis=1
        )
        owner = np.repeat(np.arange(len(region)), region[:, SUMS])
        sizes = np.bincount(weight_rows(packed), minlength=len(owner))
        begin = np.cumsum(sizes) - sizes
        lifts = np.zeros(len(region), dtype=bool)
        lifts[np.repeat(np.arange(len(region)), region[:, ARITY])[packed.rescale >= LIFT_HERE]] = (
            True
        )
        smallest = np.where(
            lifts, np.maximum(least[V:], 2.0 ** limits_of(packed).least_weight), least[V:]
        )
        sums = np.stack([begin, begin, sizes], axis=1)
        between = (
            np.stack([0.0 * variable, least[variable]], axis=1),
            np.stack([np.where(lifts, -1.0, 0.0), smallest], axis=1)[owner],
        )
        found = packed.programs["slices"] = tuple(
            (part.astype(np.uint64).ravel(), limits.ravel())
            for part, limits in zip((inputs, sums), between, strict=True)
        )
    return found


def complete(counts, tables, slices, inputs, units):
    """Fill `inputs` with `counts` without the missing columns, which are spread over the categories."""
    for i in range(ZERO, THREE * units, THREE):
        target, start, C = slices[i], slices[i + ONE], slices[i + TWO]
        missing, total = counts[start + C], tables[start + C]
        part = missing / total if missing > 0.0 and total > 0.0 else 0.0
        for c in range(C):
            inputs[target + c] = counts[start + c] + part * tables[start + c]


def share(flows, old, slices, between, new, broken, units, pseudocount):
    """Fill `new` with shares of the flow, where there is none with `old`.  `broken` if one is `between`."""
    for i in range(units):
        j = THREE * i
        f, start, size = slices[j], slices[j + ONE], slices[j + TWO]
        total = pseudocount
        for j in range(size):
            total += flows[f + j]
        more, factor = pseudocount / size, 1.0 / total if total > 0.0 else 0.0
        above, below = between[TWO * i], between[TWO * i + ONE]
        found = 0  # counting runs in vector lanes, a search for the smallest does not
        for j in range(size):
            x = (flows[f + j] + more) * factor if total > 0.0 else old[start + j]
            new[start + j] = x
            found += (x > above) & (x < below)
        broken[ZERO] += found
