"""Scores row by row, compiled: the downward pass before its sums over rows.  Its readable twin is `inference.scores`.

With ratio_k = F_k / s_k, as in `kernels.downward`, F_k the flow and s_k the value of sum unit k,

    s_kp = F_kp - F_k w_kp = w_kp ratio_k (product_p - s_k)
    s_uc = F_u (1[x_v = c] - p_uc),       F_u (p_uc / total - p_uc) where x_v is missing

Rows times parameters are many numbers.  Products of the scores with sparse directions are formed at once, while the
values of a region are in the cache: direction by direction in the tile, row by row in the result at its end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pcircuit.arguments import Floats, Ints
from pcircuit.kernels.downward import divide, enter_root, hand_down, multiply
from pcircuit.kernels.jit import inlined, inner, jit
from pcircuit.kernels.layouts import NONE_KEPT, SUMS_KEPT
from pcircuit.kernels.mix import ONE, UNIT_STEP, mix
from pcircuit.kernels.packed import (
    ARITY,
    CATEGORIES,
    FIRST_CHILD,
    IS_LEAF,
    ONE_TO_ONE,
    PRODUCTS,
    ROW_POINTER,
    SOURCE,
    SPARSE,
    SUMS,
    UNIT_LIST,
    VARIABLE,
    WEIGHT,
)
from pcircuit.kernels.tile import STRIDE
from pcircuit.kernels.tiles import enter_rows, note_rows
from pcircuit.kernels.upward import upward_regions


class Directions(NamedTuple):
    """What scores are multiplied by, (P, r) in CSR form; without pointers they are wanted whole."""

    pointers: Ints  # (P + 1,), or (0,)
    columns: Ints
    factors: Floats
    sums: Floats  # (r * STRIDE,) scratch: products of the rows of a tile
    first_input: Ints  # (V,) the first parameter of each variable's input units
    num_inputs: Ints  # (V,) its input units


@jit
def score_tiles(packed, layout, tile, group, rows, directions, result):
    """Scores of the rows of a group, or their products with directions, into result (rows, P or r).

    Suspect rows get zeros; ``group.suspects`` says which.  `layout` is that of `layouts.sums_layout`, and the tile has
    room for the flows of the input units of a variable behind its flows.
    """
    for start in range(0, rows, group.step):
        count = min(group.step, rows - start)
        enter_rows(packed, tile, group, start, count, 0, len(packed.region))
        upward_regions(packed, layout, tile, count, np.int64(0), len(packed.region), NONE_KEPT)
        note_rows(tile, group, start, count, False)
        for b in range(start, start + count):
            group.weights[b] = 0.0 if group.suspects[b] else 1.0
        enter_root(layout, tile, count, group.weights[start:])
        for i in range(len(directions.sums)):
            directions.sums[i] = 0.0
        _score_regions(packed, layout, tile, count, directions, result[start:])
        if len(directions.pointers):
            _leave_sums(directions.sums, count, result[start:])


@inlined
def _score_regions(packed, layout, tile, rows, directions, result):
    """Scores of the parameters of all regions, from the root down; see `kernels.downward.downward_regions`."""
    values, flow, region, child = tile.values, tile.flow, packed.region, packed.child
    for r in range(len(region) - 1, -1, -1):
        P, K, w = region[r, PRODUCTS], region[r, SUMS], region[r, WEIGHT]
        ratios, first = layout.flows[r], layout.products[r]
        upward_regions(packed, layout, tile, rows, r, r + 1, SUMS_KEPT)
        for k in range(K):
            start = region[r, ROW_POINTER] + k
            for e in range(w + packed.row_pointer[start], w + packed.row_pointer[start + 1]):
                _score_edge(
                    packed.weights[e],
                    e,
                    tile,
                    ratios + k,
                    first + packed.columns[e],
                    layout.sums[r] + k,
                    rows,
                    directions,
                    result,
                )
        if region[r, SPARSE]:
            _through_sparse(packed, r, flow, ratios, rows)
        else:
            mix(packed.weights, w, UNIT_STEP, P, P, K, flow, ratios, flow, np.int64(0), rows)
        multiply(flow, values, first, P, rows)
        for c in range(region[r, FIRST_CHILD], region[r, FIRST_CHILD] + region[r, ARITY]):
            u, source, v = child[c, UNIT_LIST], child[c, SOURCE], child[c, VARIABLE]
            if child[c, IS_LEAF]:
                hand_down(
                    flow,
                    packed.unit,
                    u,
                    P,
                    rows,
                    layout.num_flows,
                    directions.num_inputs[v],
                    child[c, ONE_TO_ONE],
                )
                _score_inputs(packed, tile, layout.num_flows, child[c], rows, directions, result)
            else:
                hand_down(
                    flow,
                    packed.unit,
                    u,
                    P,
                    rows,
                    layout.flows[source],
                    region[source, SUMS],
                    child[c, ONE_TO_ONE],
                )
                divide(
                    flow,
                    layout.flows[source],
                    values,
                    layout.sums[source],
                    region[source, SUMS],
                    rows,
                )


@inner
def _score_edge(weight, e, tile, ratio, product, own, rows, directions, result):
    """w_kp ratio_k (product_p - s_k) of one edge."""
    f, x, s = np.uintp(ratio) * ONE, np.uintp(product) * ONE, np.uintp(own) * ONE
    flow, values = tile.flow, tile.values
    if not len(directions.pointers):
        for b in range(np.uintp(rows)):
            result[b, e] = weight * flow[f + b] * (values[x + b] - values[s + b])
        return
    for i in range(directions.pointers[e], directions.pointers[e + 1]):
        factor, o, sums = (
            weight * directions.factors[i],
            np.uintp(directions.columns[i]) * ONE,
            directions.sums,
        )
        for b in range(np.uintp(rows)):
            sums[o + b] += factor * flow[f + b] * (values[x + b] - values[s + b])


@inner
def _through_sparse(packed, r, flow, ratios, rows):
    """sum_k weights[k, p] ratio_k in the first rows of `flow`, for CSR weights."""
    region, pointers = packed.region, packed.row_pointer
    for i in range(region[r, PRODUCTS] * STRIDE):
        flow[i] = 0.0
    w = region[r, WEIGHT]
    for k in range(region[r, SUMS]):
        start, f = region[r, ROW_POINTER] + k, np.uintp(ratios + k) * ONE
        for e in range(w + pointers[start], w + pointers[start + 1]):
            weight, o = packed.weights[e], np.uintp(packed.columns[e]) * ONE
            for b in range(np.uintp(rows)):
                flow[o + b] += weight * flow[f + b]


@inlined
def _score_inputs(packed, tile, flows, child, rows, directions, result):
    """F_u (1[x_v = c] - p_uc) of the input units of a variable."""
    C, v = child[CATEGORIES], child[VARIABLE]
    for u in range(directions.num_inputs[v]):
        f, table = np.uintp(flows + u) * ONE, child[SOURCE] + u * (C + 1)
        total = packed.tables[table + C]
        for c in range(C):
            e, p = directions.first_input[v] + u * C + c, packed.tables[table + c]
            hole = p / total - p if total > 0.0 else 0.0
            _score_category(p, hole, e, tile, f, v, c, C, rows, directions, result)


@inner
def _score_category(p, hole, e, tile, f, v, c, C, rows, directions, result):
    """The score of one category of one input unit."""
    flow, codes = tile.flow, tile.codes
    if not len(directions.pointers):
        for b in range(np.uintp(rows)):
            x = codes[v, b]
            result[b, e] = flow[f + b] * (1.0 - p if x == c else hole if x == C else -p)
        return
    for i in range(directions.pointers[e], directions.pointers[e + 1]):
        factor, o, sums = (
            directions.factors[i],
            np.uintp(directions.columns[i]) * ONE,
            directions.sums,
        )
        seen, missing, other = factor * (1.0 - p), factor * hole, -factor * p
        for b in range(np.uintp(rows)):
            x = codes[v, b]
            sums[o + b] += flow[f + b] * (seen if x == c else missing if x == C else other)


@inlined
def _leave_sums(sums, rows, result):
    """The products of a tile, row by row."""
    for j in range(result.shape[1]):
        for b in range(rows):
            result[b, j] = sums[j * STRIDE + b]
