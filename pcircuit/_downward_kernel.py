"""The downward pass over one tile of rows, compiled.  Its readable twin is `pcircuit.flow.downward`.

It follows `_upward_kernel.upward_tile` in the full layout, on the same buffer: with F the flow of a region's sums,

    ratio_k = F_k / s_k       edge (k, p) += sum_b ratio_k product_p     (times weights[k, p], once, at the end)
    G_p = product_p * sum_k weights[k, p] ratio_k      flow of product p, handed to the units it multiplies

The powers of two taken out upward cancel in ratio_k product_p.
"""
from __future__ import annotations

from ._compile import jit
from ._packed import (
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


@jit
def downward_tile(packed, products, sums, codes, rows, row_weights, buffer, flow, scratch, edge_flow, input_flow):
    """Add the expected flows of a tile to edge_flow (like weights, not yet times them) and input_flow (like tables).

    `flow` (units, B) is laid out like `buffer`; `scratch` (widest region, B); rows of weight 0 add nothing.
    """
    last = len(packed.region) - 1
    for b in range(rows):
        flow[sums[last], b] = row_weights[b]
    for r in range(last, -1, -1):
        spec = packed.region[r]
        P, K, w = spec[PRODUCTS], spec[SUMS], spec[WEIGHT]
        for k in range(K):  # the flow of the sums becomes the ratio
            s = sums[r] + k
            for b in range(rows):
                flow[s, b] = flow[s, b] / buffer[s, b] if buffer[s, b] > 0.0 else 0.0
        if spec[SPARSE]:
            pointer = packed.row_pointer[spec[ROW_POINTER]:spec[ROW_POINTER] + K + 1]
            _edges_sparse(packed.weights[w:], packed.columns[w:], pointer, buffer, products[r], flow, sums[r], scratch,
                          P, rows, edge_flow[w:])
        else:
            _edges_dense(packed.weights[w:], K, P, buffer, products[r], flow, sums[r], scratch, rows, edge_flow[w:])
        for p in range(P):
            for b in range(rows):
                scratch[p, b] *= buffer[products[r] + p, b]
        for a in range(spec[ARITY]):
            child = packed.child[spec[FIRST_CHILD] + a]
            units = packed.unit[child[UNIT_LIST]:child[UNIT_LIST] + P]
            if child[IS_LEAF]:
                _count_inputs(scratch, units, codes[child[VARIABLE]], child[CATEGORIES], rows,
                              input_flow[child[SOURCE]:])
            else:
                c = child[SOURCE]
                _hand_down(scratch, units, rows, flow, sums[c], packed.region[c, SUMS], child[ONE_TO_ONE])


@jit
def _edges_dense(weights, K, P, buffer, first, flow, out, scratch, rows, edge_flow):
    """edge_flow[k, p] += sum_b ratio_k product_p; scratch[p] = sum_k weights[k, p] ratio_k."""
    for k in range(K):
        p = 0
        while p + 4 <= P:
            s0 = s1 = s2 = s3 = 0.0
            f = first + p
            for b in range(rows):
                x = flow[out + k, b]
                s0 += x * buffer[f, b]
                s1 += x * buffer[f + 1, b]
                s2 += x * buffer[f + 2, b]
                s3 += x * buffer[f + 3, b]
            e = k * P + p
            edge_flow[e] += s0
            edge_flow[e + 1] += s1
            edge_flow[e + 2] += s2
            edge_flow[e + 3] += s3
            p += 4
        while p < P:
            s0 = 0.0
            for b in range(rows):
                s0 += flow[out + k, b] * buffer[first + p, b]
            edge_flow[k * P + p] += s0
            p += 1
    for p in range(P):
        w0 = weights[p]
        for b in range(rows):
            scratch[p, b] = w0 * flow[out, b]
        k = 1
        while k + 4 <= K:
            w0, w1 = weights[k * P + p], weights[(k + 1) * P + p]
            w2, w3 = weights[(k + 2) * P + p], weights[(k + 3) * P + p]
            s = out + k
            for b in range(rows):
                scratch[p, b] += w0 * flow[s, b] + w1 * flow[s + 1, b] + w2 * flow[s + 2, b] + w3 * flow[s + 3, b]
            k += 4
        while k < K:
            w0 = weights[k * P + p]
            for b in range(rows):
                scratch[p, b] += w0 * flow[out + k, b]
            k += 1


@jit
def _edges_sparse(weights, columns, pointer, buffer, first, flow, out, scratch, P, rows, edge_flow):
    """The same for CSR weights."""
    scratch[:P, :rows] = 0.0
    for k in range(len(pointer) - 1):
        for i in range(pointer[k], pointer[k + 1]):
            w, p, total = weights[i], columns[i], 0.0
            for b in range(rows):
                total += flow[out + k, b] * buffer[first + p, b]
            edge_flow[i] += total
            for b in range(rows):
                scratch[p, b] += w * flow[out + k, b]


@jit
def _count_inputs(scratch, units, code, C, rows, input_flow):
    """input_flow[unit, code[b]] += flow of the product that uses the unit; missing values count in column C."""
    missing = False
    for b in range(rows):
        missing |= code[b] == C
    for p in range(len(units)):
        start = units[p] * (C + 1)
        if C == 2:  # sums of selected values run in vector lanes, a scatter does not
            zero = one = 0.0
            for b in range(rows):
                zero += scratch[p, b] if code[b] == 0 else 0.0
                one += scratch[p, b] if code[b] == 1 else 0.0
            input_flow[start] += zero
            input_flow[start + 1] += one
            if missing:
                for b in range(rows):
                    input_flow[start + 2] += scratch[p, b] if code[b] == 2 else 0.0
        else:
            for b in range(rows):
                input_flow[start + code[b]] += scratch[p, b]


@jit
def _hand_down(scratch, units, rows, flow, source, K, one_to_one):
    """Flow of the child's sums = sum over the products that use them."""
    if not one_to_one:
        flow[source:source + K, :rows] = 0.0
    for p in range(len(units)):
        s = source + units[p]
        if one_to_one:
            for b in range(rows):
                flow[s, b] = scratch[p, b]
        else:
            for b in range(rows):
                flow[s, b] += scratch[p, b]
