"""The downward pass over one tile of rows, compiled.  Its readable twin is `pcircuit.inference.flows.downward`.

It follows `kernels.upward.upward_regions` in the full layout, on the same tile: with F the flow of a region's sums,

    ratio_k = F_k / s_k       edge (k, p) += sum_b ratio_k product_p     (times weights[k, p], once, at the end)
    G_p = product_p * sum_k weights[k, p] ratio_k      flow of product p, handed to the units it multiplies

The powers of two taken out upward cancel in ratio_k product_p.  Of products and sums only one kind is kept and the
other computed once more, where keeping both would double what must stay in the cache between the passes; in blocks of
regions (`kernels.layouts`) both are there.  Flows live on a stack: a region's flow dies when its children have theirs.
"""

from __future__ import annotations

import numpy as np

from pcircuit.kernels.jit import inlined, inner
from pcircuit.kernels.layouts import BOTH_KEPT, PRODUCTS_KEPT
from pcircuit.kernels.mix import ONE, THREE, TWO, UNIT_STEP, dot, dot_one, mix
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
from pcircuit.kernels.upward import has_missing, upward_regions


@inlined
def enter_root(layout, tile, rows, row_weights):
    """The flow of the root, or its ratio."""
    flow = np.uintp(layout.flows[-1]) * ONE
    for b in range(np.uintp(rows)):
        tile.flow[flow + b] = row_weights[b]
    if layout.keeps != PRODUCTS_KEPT:
        divide(tile.flow, layout.flows[-1], tile.values, layout.sums[-1], UNIT_STEP, rows)


@inlined
def downward_regions(packed, layout, tile, rows, start, stop, edge_flow, input_flow):
    """Add the flows of a tile in regions start..stop to edge_flow (like weights, not yet times them) and input_flow.

    What regions from `stop` on hand down to these has its place.  `input_flow` is like tables.  `layout` is the full
    one; rows of weight 0 add nothing.  Clobbers the tile's exponent and suspect.
    """
    values, flow, codes = tile.values, tile.flow, tile.codes
    region, children, unit, weights = packed.region, packed.child, packed.unit, packed.weights
    sums, flows = layout.sums, layout.flows
    for r in range(stop - 1, start - 1, -1):
        P, K, w = region[r, PRODUCTS], region[r, SUMS], region[r, WEIGHT]
        ratios, first = flows[r], layout.products[r]
        if layout.keeps != BOTH_KEPT:
            upward_regions(packed, layout, tile, rows, r, r + 1, layout.keeps)
        if layout.keeps == PRODUCTS_KEPT:
            divide(flow, ratios, values, sums[r], K, rows)
        if region[r, SPARSE]:
            _edges_sparse(
                weights,
                packed.columns,
                w,
                packed.row_pointer,
                region[r, ROW_POINTER],
                K,
                P,
                values,
                first,
                flow,
                ratios,
                rows,
                edge_flow,
            )
        else:
            dot(K, P, flow, ratios, values, first, rows, edge_flow, w)
            mix(weights, w, UNIT_STEP, P, P, K, flow, ratios, flow, np.int64(0), rows)
        multiply(flow, values, first, P, rows)
        for a in range(region[r, ARITY]):
            c = region[r, FIRST_CHILD] + a
            u, source = children[c, UNIT_LIST], children[c, SOURCE]
            if children[c, IS_LEAF]:
                _count_inputs(
                    flow,
                    unit,
                    u,
                    P,
                    codes,
                    children[c, VARIABLE],
                    children[c, CATEGORIES],
                    rows,
                    input_flow,
                    source,
                )
            else:
                hand_down(
                    flow,
                    unit,
                    u,
                    P,
                    rows,
                    flows[source],
                    region[source, SUMS],
                    children[c, ONE_TO_ONE],
                )
                if layout.keeps != PRODUCTS_KEPT:
                    divide(flow, flows[source], values, sums[source], region[source, SUMS], rows)


@inner
def divide(flow, ratios, values, sums, K, rows):
    """The flow of the sums becomes the ratio; where a sum is 0, so is its flow."""
    for k in range(K):
        f, s = np.uintp(ratios + k) * ONE, np.uintp(sums + k) * ONE
        for b in range(np.uintp(rows)):
            flow[f + b] = flow[f + b] / values[s + b] if values[s + b] > 0.0 else 0.0


@inner
def multiply(flow, values, first, P, rows):
    """Flow of the products, in the first rows of `flow`, from the sums over k that stand there."""
    for p in range(P):
        f, s = np.uintp(p) * ONE, np.uintp(first + p) * ONE
        for b in range(np.uintp(rows)):
            flow[f + b] *= values[s + b]


@inner
def _edges_sparse(
    weights, columns, w, row_pointer, pointer, K, P, values, first, flow, ratios, rows, edge_flow
):
    """Edges and sum_k weights[k, p] ratio_k for CSR weights, which begin at w and pointer."""
    for p in range(P):
        f = np.uintp(p) * ONE
        for b in range(np.uintp(rows)):
            flow[f + b] = 0.0
    for k in range(K):
        o = np.uintp(ratios + k) * ONE
        for i in range(w + row_pointer[pointer + k], w + row_pointer[pointer + k + 1]):
            edge_flow[i] += dot_one(flow, ratios + k, values, first + columns[i], rows)
            weight, f = weights[i], np.uintp(columns[i]) * ONE
            for b in range(np.uintp(rows)):
                flow[f + b] += weight * flow[o + b]


@inner
def _count_inputs(flow, unit, u, P, codes, v, C, rows, input_flow, start):
    """input_flow[start + unit, code] += flow of the product that uses the unit; missing values count in column C."""
    is_binary = C == 2 and not has_missing(codes, v, C, rows)
    width = C + 1
    for p in range(0, P - 3, 4):
        t0, t1 = start + unit[u + p] * width, start + unit[u + p + 1] * width
        t2, t3 = start + unit[u + p + 2] * width, start + unit[u + p + 3] * width
        if is_binary:
            _add_chosen(flow, p, codes, v, rows, input_flow, t0, t1)
            _add_chosen(flow, p + 2, codes, v, rows, input_flow, t2, t3)
        else:
            _scatter_four(flow, p, codes, v, rows, input_flow, t0, t1, t2, t3)
    for p in range(P // 4 * 4, P):
        f, t = np.uintp(p) * ONE, np.uintp(start + unit[u + p] * width)
        for b in range(np.uintp(rows)):
            input_flow[t + np.uintp(codes[v, b])] += flow[f + b]


@inlined
def _add_chosen(flow, p, codes, v, rows, input_flow, t0, t1):
    """Two units of two categories: sums of chosen values run in vector lanes, a scatter does not."""
    f = np.uintp(p) * ONE
    x0 = x1 = y0 = y1 = 0.0
    for b in range(np.uintp(rows)):
        z0, z1, is_one = flow[f + b], flow[f + ONE + b], codes[v, b] == 1
        x0, x1 = x0 + (0.0 if is_one else z0), x1 + (0.0 if is_one else z1)
        y0, y1 = y0 + (z0 if is_one else 0.0), y1 + (z1 if is_one else 0.0)
    input_flow[t0] += x0
    input_flow[t0 + 1] += y0
    input_flow[t1] += x1
    input_flow[t1 + 1] += y1


@inlined
def _scatter_four(flow, p, codes, v, rows, input_flow, t0, t1, t2, t3):
    """Four units at a time: additions to the same category of one unit wait for each other."""
    f = np.uintp(p) * ONE
    t0, t1, t2, t3 = np.uintp(t0), np.uintp(t1), np.uintp(t2), np.uintp(t3)
    for b in range(np.uintp(rows)):
        c = np.uintp(codes[v, b])
        input_flow[t0 + c] += flow[f + b]
        input_flow[t1 + c] += flow[f + ONE + b]
        input_flow[t2 + c] += flow[f + TWO + b]
        input_flow[t3 + c] += flow[f + THREE + b]


@inner
def hand_down(flow, unit, u, P, rows, target, K, one_to_one):
    """Flow of the child's sums = sum over the products that use them."""
    if not one_to_one:
        for k in range(K):
            t = np.uintp(target + k) * ONE
            for b in range(np.uintp(rows)):
                flow[t + b] = 0.0
    for p in range(P):
        f, t = np.uintp(p) * ONE, np.uintp(target + unit[u + p]) * ONE
        for b in range(np.uintp(rows)):
            x = flow[f + b]
            flow[t + b] = x if one_to_one else x + flow[t + b]
