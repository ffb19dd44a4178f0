"""Small matrix products over the rows of a tile, compiled: the arithmetic of both passes.

A tile keeps unit i in ``values[i * STRIDE + b]`` for the rows b < TILE.  Three things make these loops reach nine
tenths of the machine's peak, where one output at a time reaches a quarter:

* four inputs times four outputs at a time: 16 multiplications for 8 loads, and the sums stay in registers;
* STRIDE is a constant, so that the compiler sees which of the eight streams can overlap (with a stride read from an
  array it gives up after eight comparisons and uses no vector lanes at all);
* indices are unsigned: signed ones may count from the end of an array, which costs a comparison each.
"""

from __future__ import annotations

import numpy as np

from pcircuit.kernels.jit import inner
from pcircuit.kernels.tile import STRIDE

ONE, TWO, THREE = np.uintp(STRIDE), np.uintp(2 * STRIDE), np.uintp(3 * STRIDE)
UNIT_STEP = np.int64(1)  # a literal 1 would be a type of its own, and `mix` be compiled twice


@inner
def mix(weights, start, row_step, column_step, K, P, source, first, target, out, rows):
    """Target k = sum_p weights[start + k * row_step + p * column_step] * source p, for K outputs from row `out` on."""
    whole_k, whole_p = K // 4 * 4, P // 4 * 4
    for k in range(0, whole_k, 4):
        w = start + k * row_step
        for p in range(0, whole_p, 4):
            _four_by_four(
                weights,
                w + p * column_step,
                row_step,
                column_step,
                source,
                first + p,
                target,
                out + k,
                rows,
                p > 0,
            )
        for p in range(whole_p, P):
            for i in range(4):
                _one_by_one(
                    weights[w + i * row_step + p * column_step],
                    source,
                    first + p,
                    target,
                    out + k + i,
                    rows,
                    p > 0,
                )
    for k in range(whole_k, K):
        w = start + k * row_step
        for p in range(0, whole_p, 4):
            _four_by_one(
                weights,
                w + p * column_step,
                column_step,
                source,
                first + p,
                target,
                out + k,
                rows,
                p > 0,
            )
        for p in range(whole_p, P):
            _one_by_one(
                weights[w + p * column_step], source, first + p, target, out + k, rows, p > 0
            )


@inner
def dot(K, P, left, out, right, first, rows, result, start):
    """result[start + k * P + p] += sum_b left k * right p."""
    whole_k, whole_p = K // 4 * 4, P // 4 * 4
    for k in range(0, whole_k, 4):
        for p in range(0, whole_p, 4):
            _dot_four_by_four(left, out + k, right, first + p, rows, result, start + k * P + p, P)
        for p in range(whole_p, P):
            for i in range(4):
                result[start + (k + i) * P + p] += dot_one(
                    left, out + k + i, right, first + p, rows
                )
    for k in range(whole_k, K):
        for p in range(P):
            result[start + k * P + p] += dot_one(left, out + k, right, first + p, rows)


@inner
def dot_one(left, l, right, r, rows):
    """sum_b left l * right r."""
    total, x, y = 0.0, np.uintp(l) * ONE, np.uintp(r) * ONE
    for b in range(np.uintp(rows)):
        total += left[x + b] * right[y + b]
    return total


@inner
def _four_by_four(weights, w, K, P, source, first, target, out, rows, add):
    """Four outputs (+)= weights times four inputs; K and P are the steps between the weights' rows and columns."""
    f, o, w, K, P = (
        np.uintp(first) * ONE,
        np.uintp(out) * ONE,
        np.uintp(w),
        np.uintp(K),
        np.uintp(P),
    )
    P2, P3 = P + P, P + P + P
    a0, a1, a2, a3 = weights[w], weights[w + P], weights[w + P2], weights[w + P3]
    w += K
    b0, b1, b2, b3 = weights[w], weights[w + P], weights[w + P2], weights[w + P3]
    w += K
    c0, c1, c2, c3 = weights[w], weights[w + P], weights[w + P2], weights[w + P3]
    w += K
    d0, d1, d2, d3 = weights[w], weights[w + P], weights[w + P2], weights[w + P3]
    for b in range(np.uintp(rows)):
        x0, x1, x2, x3 = (
            source[f + b],
            source[f + ONE + b],
            source[f + TWO + b],
            source[f + THREE + b],
        )
        y0 = a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
        y1 = b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
        y2 = c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3
        y3 = d0 * x0 + d1 * x1 + d2 * x2 + d3 * x3
        target[o + b] = y0 + target[o + b] if add else y0
        target[o + ONE + b] = y1 + target[o + ONE + b] if add else y1
        target[o + TWO + b] = y2 + target[o + TWO + b] if add else y2
        target[o + THREE + b] = y3 + target[o + THREE + b] if add else y3


@inner
def _four_by_one(weights, w, P, source, first, target, out, rows, add):
    """One output (+)= weights times four inputs."""
    f, o, w, P = np.uintp(first) * ONE, np.uintp(out) * ONE, np.uintp(w), np.uintp(P)
    a0, a1, a2, a3 = weights[w], weights[w + P], weights[w + P + P], weights[w + P + P + P]
    for b in range(np.uintp(rows)):
        y = (
            a0 * source[f + b]
            + a1 * source[f + ONE + b]
            + a2 * source[f + TWO + b]
            + a3 * source[f + THREE + b]
        )
        target[o + b] = y + target[o + b] if add else y


@inner
def _one_by_one(w, source, first, target, out, rows, add):
    """One output (+)= weight times one input."""
    f, o = np.uintp(first) * ONE, np.uintp(out) * ONE
    for b in range(np.uintp(rows)):
        y = w * source[f + b]
        target[o + b] = y + target[o + b] if add else y


@inner
def _dot_four_by_four(left, out, right, first, rows, result, at, P):
    """Sixteen sums over the rows at a time."""
    o, f = np.uintp(out) * ONE, np.uintp(first) * ONE
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = c0 = c1 = c2 = c3 = d0 = d1 = d2 = d3 = 0.0
    for b in range(np.uintp(rows)):
        x0, x1, x2, x3 = right[f + b], right[f + ONE + b], right[f + TWO + b], right[f + THREE + b]
        y0, y1, y2, y3 = left[o + b], left[o + ONE + b], left[o + TWO + b], left[o + THREE + b]
        a0, a1, a2, a3 = a0 + y0 * x0, a1 + y0 * x1, a2 + y0 * x2, a3 + y0 * x3
        b0, b1, b2, b3 = b0 + y1 * x0, b1 + y1 * x1, b2 + y1 * x2, b3 + y1 * x3
        c0, c1, c2, c3 = c0 + y2 * x0, c1 + y2 * x1, c2 + y2 * x2, c3 + y2 * x3
        d0, d1, d2, d3 = d0 + y3 * x0, d1 + y3 * x1, d2 + y3 * x2, d3 + y3 * x3
    _add_four(result, at, a0, a1, a2, a3)
    _add_four(result, at + P, b0, b1, b2, b3)
    _add_four(result, at + 2 * P, c0, c1, c2, c3)
    _add_four(result, at + 3 * P, d0, d1, d2, d3)


@inner
def _add_four(result, at, x0, x1, x2, x3):
    """Add four numbers to neighbouring entries."""
    result[at] += x0
    result[at + 1] += x1
    result[at + 2] += x2
    result[at + 3] += x3
