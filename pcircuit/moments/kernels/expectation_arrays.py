"""A circuit as the flat arrays of the kernel `moments.kernels.expected_units`, and the scratch that it works in.

Unlike the other passes over rows, this kernel needs the inputs as regions of their own.  All that belongs to a unit is
found under its node id: the products of a region from NODE on, then the units that it shows.  `overlaps` has
sum_y p_i(y) p_j(y) of the units that each region shows, which is what they expect of one another where nothing of the
scope is known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pcircuit.arguments import Bools, Floats, Ints
from pcircuit.circuit import Circuit, InputRegion, derived

# columns of `ExpectationArrays.region`; ARITY is 0 at a leaf, which has VARIABLE and CATEGORIES in the place of
# CHILD and UNIT, and its table in the place of weights
ARITY, PRODUCTS, SHOWN, NODE, CHILD, UNIT, DATA, EDGE, OVERLAP, STACK = range(10)
VARIABLE, CATEGORIES = CHILD, UNIT
TILE = 16  # rows that are looked at together: two or four vectors


class ExpectationArrays(NamedTuple):
    """R regions; see the module docstring."""

    region: Ints  # (R, 10)
    child: Ints  # child regions of all inner regions
    unit: Ints  # unit of the child that each product takes, child by child
    weights: Floats  # (K, P) of each inner region, dense
    tables: (
        Floats  # (K, C + 1) of each leaf: the last column, for what is missing, has the row sums
    )
    overlaps: Floats  # (K, K) of each region


class Scratch(NamedTuple):
    """What a tile of rows needs; entry i of a row b is at i * TILE + b, and m is the number of nodes."""

    codes: Ints  # (V,) of the rows
    mantissa: Floats  # (m,) likelihood of what is known, times 2**exponent
    exponent: Ints  # (m,)
    known: Floats  # (m,) the same as one number, where the whole scope is known
    flow: Floats  # (m,) probability that a draw given what is known uses the unit
    omega: Floats  # (K, P) of each inner region: probability of each product of a sum
    stack: Floats  # C of the regions that wait for their parent
    products: Floats  # (P, P) C of the products of a region
    half: Floats  # (P,) one row of C of the products, mixed
    scaled: Floats  # (P,)
    line: Floats  # (2,)
    top: Ints  # (1,)
    state: Ints  # (R,) what is known about the scope, without TILE


def expectation_arrays(circuit: Circuit) -> ExpectationArrays:
    """The arrays of a circuit, made once and kept with it."""
    return derived(circuit, "expectation_arrays", lambda: _arrays(circuit))


def _arrays(circuit: Circuit) -> ExpectationArrays:
    """Concatenate the regions, which are in post-order."""
    table, stack = np.zeros((circuit.num_regions, STACK + 1), dtype=np.int64), 0
    child, unit, weights, tables, overlaps = ([] for _ in range(5))  # type: tuple[list[Any], ...]
    ends = np.zeros(6, dtype=np.int64)  # of child, unit, weights, tables, overlaps, edges
    for r, region in enumerate(circuit.regions):
        row = table[r]
        row[NODE], row[OVERLAP], row[EDGE] = circuit.offsets[r], ends[4], ends[5]
        if isinstance(region, InputRegion):
            K, P = region.num_units, 0
            row[VARIABLE], row[CATEGORIES], row[DATA] = (
                region.variable,
                region.num_categories,
                ends[3],
            )
            tables.append(
                np.concatenate(
                    [region.probs, region.probs.sum(axis=1, keepdims=True)], axis=1
                ).ravel()
            )
            overlaps.append(region.probs @ region.probs.T)
            row[STACK] = stack
        else:
            below = circuit.vtree.children(r).tolist()
            K, P = region.num_units, region.num_products
            row[ARITY], row[CHILD], row[UNIT], row[DATA] = len(below), ends[0], ends[1], ends[2]
            dense, products = region.dense_weights(), np.ones((P, P))
            for c, units in zip(below, region.products.T, strict=True):
                products *= overlaps[c][np.ix_(units, units)]
            overlaps.append(dense @ products @ dense.T)
            child.append(below)
            unit.append(region.products.T.ravel())
            weights.append(dense.ravel())
            row[STACK] = table[below[0], STACK]  # the tables of children are not needed any more
        stack = int(row[STACK]) + K * K
        row[PRODUCTS], row[SHOWN] = P, K
        ends += row[ARITY], row[ARITY] * P, P * K, 0 if P else len(tables[-1]), K * K, P * K
    flat = [
        np.concatenate([np.ravel(part) for part in parts]) if parts else np.zeros(0)
        for parts in (child, unit, weights, tables, overlaps)
    ]
    return ExpectationArrays(table, flat[0].astype(np.int64), flat[1].astype(np.int64), *flat[2:])


def new_scratch(arrays: ExpectationArrays, num_variables: int) -> Scratch:
    """Empty scratch for one thread."""
    region = arrays.region
    P, m = (
        int(region[:, PRODUCTS].max()),
        int(region[-1, NODE] + region[-1, PRODUCTS] + region[-1, SHOWN]),
    )
    depth = int((region[:, STACK] + region[:, SHOWN] ** 2).max())
    sizes = m, m, m, len(arrays.weights), depth, P * P, P, P, 2
    mantissa, known, flow, omega, stack, products, half, scaled, line = (
        np.zeros(TILE * size) for size in sizes
    )
    codes, exponent, top = (np.zeros(TILE * size, dtype=np.int64) for size in (num_variables, m, 1))
    return Scratch(
        codes,
        mantissa,
        exponent,
        known,
        flow,
        omega,
        stack,
        products,
        half,
        scaled,
        line,
        top,
        np.zeros(len(region), dtype=np.int64),
    )


def column_of_each_node(nodes: Ints, num_nodes: int) -> Ints:
    """(num_nodes,) where a node is among `nodes`, which are distinct; -1 where it is not."""
    column = np.full(num_nodes, -1, dtype=np.int64)
    column[nodes] = np.arange(len(nodes))
    return column


def as_free(given: Bools) -> Bools:
    """(V,) what is drawn, as an array of the one kind that the kernel is compiled for."""
    return np.require(~given, requirements=["C", "W"])
