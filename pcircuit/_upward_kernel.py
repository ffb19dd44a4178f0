"""The upward pass over one tile of rows, compiled.  Its readable twin is `pcircuit.likelihood.upward`.

Values are stored unit by unit, rows contiguous: ``buffer[row of a unit, b]`` for the rows b of the tile, so that
every inner loop runs over rows and turns into vector instructions.  Input units are never stored: a leaf child
is multiplied into the products straight from its table.
"""
from __future__ import annotations

import numpy as np

from ._compile import jit
from ._packed import (
    ARITY,
    CATEGORIES,
    FIRST_CHILD,
    IS_LEAF,
    PRODUCTS,
    ROW_POINTER,
    SOURCE,
    SPARSE,
    SUMS,
    UNIT_LIST,
    VARIABLE,
    WEIGHT,
)
from ._rescaling import AFTER_RESCALE, LOWEST, NO_RESCALE, RESCALE_RISKY

SMALLEST = 2.0 ** LOWEST
SMALLEST_RESCALED = 2.0 ** AFTER_RESCALE


@jit
def transpose_rows(data, start, stop, categories, codes):
    """Copy rows start..stop of data (N, V) to codes (V, B), -1 to C; false if an entry is out of range."""
    valid = True
    for v in range(data.shape[1]):
        for b in range(stop - start):
            x = np.int64(data[start + b, v])
            if x < 0 or x >= categories[v]:
                valid = valid and x == -1
                x = categories[v]
            codes[v, b] = x
    return valid


@jit
def upward_tile(packed, products, sums, codes, rows, buffer, exponent, suspect):
    """Values of all inner units of a tile: buffer (units, B), times 2**exponent (B,); see the module docstring.

    `exponent` (regions or 1, B) collects the powers of two taken out; with one row it is the total at the root,
    with one row per region that of the region's own subtree.
    """
    per_region = len(exponent) > 1
    exponent[:, :rows] = 0
    suspect[:rows] = 0
    top, low = np.empty(rows), np.empty(rows)
    for r in range(len(packed.region)):
        spec = packed.region[r]
        first = products[r]
        e = r if per_region else 0
        for a in range(spec[ARITY]):
            child = packed.child[spec[FIRST_CHILD] + a]
            units = packed.unit[child[UNIT_LIST]:child[UNIT_LIST] + spec[PRODUCTS]]
            if child[IS_LEAF]:
                _times_leaf(packed.tables[child[SOURCE]:], child[CATEGORIES], units, codes[child[VARIABLE]], rows,
                            buffer, first, a == 0)
            else:
                _times_inner(buffer, sums[child[SOURCE]], units, rows, first, a == 0)
                if per_region:
                    for b in range(rows):
                        exponent[r, b] += exponent[child[SOURCE], b]
            if packed.rescale[spec[FIRST_CHILD] + a] != NO_RESCALE:
                _rescale(buffer, first, spec[PRODUCTS], rows, packed.rescale[spec[FIRST_CHILD] + a] == RESCALE_RISKY,
                         top, low, exponent[e], suspect)
        if spec[SPARSE]:
            pointer = packed.row_pointer[spec[ROW_POINTER]:spec[ROW_POINTER] + spec[SUMS] + 1]
            _mix_sparse(packed.weights[spec[WEIGHT]:], packed.columns[spec[WEIGHT]:], pointer, buffer, first,
                        sums[r], rows)
        else:
            _mix_dense(packed.weights[spec[WEIGHT]:], spec[SUMS], spec[PRODUCTS], buffer, first, sums[r], rows)
        if packed.check_sums[r]:
            for k in range(spec[SUMS]):
                for b in range(rows):
                    if buffer[sums[r] + k, b] < SMALLEST:
                        suspect[b] = 1


@jit
def _times_leaf(table, C, units, code, rows, buffer, first, is_first):
    """Products *= table[unit, code] (= where this is the first child)."""
    for p in range(len(units)):
        start = units[p] * (C + 1)
        if C == 2:  # a select runs in vector lanes, a gather hardly
            zero, one, missing = table[start], table[start + 1], table[start + 2]
            if is_first:
                for b in range(rows):
                    buffer[first + p, b] = zero if code[b] == 0 else (one if code[b] == 1 else missing)
            else:
                for b in range(rows):
                    buffer[first + p, b] *= zero if code[b] == 0 else (one if code[b] == 1 else missing)
        elif is_first:
            for b in range(rows):
                buffer[first + p, b] = table[start + code[b]]
        else:
            for b in range(rows):
                buffer[first + p, b] *= table[start + code[b]]


@jit
def _times_inner(buffer, source, units, rows, first, is_first):
    """Products *= sums of an inner child (= where this is the first child)."""
    for p in range(len(units)):
        s = source + units[p]
        if is_first:
            for b in range(rows):
                buffer[first + p, b] = buffer[s, b]
        else:
            for b in range(rows):
                buffer[first + p, b] *= buffer[s, b]


@jit
def _rescale(buffer, first, P, rows, risky, top, low, exponent, suspect):
    """Multiply each row's products by the power of two that brings their maximum to [1, 2)."""
    for b in range(rows):
        top[b] = 0.0
        low[b] = np.inf
    for p in range(P):
        for b in range(rows):
            x = buffer[first + p, b]
            top[b] = max(top[b], x)
            low[b] = min(low[b], x if x > 0.0 or risky else np.inf)
    bits = top.view(np.int64)
    for b in range(rows):
        power = (bits[b] >> 52) - 1023  # the exponent field of a positive double
        if top[b] == 0.0:
            power = 0
        exponent[b] += power
        bits[b] = (1023 - power) << 52  # 2**-power
        if low[b] * top[b] < SMALLEST_RESCALED:
            suspect[b] = 1
    for p in range(P):
        for b in range(rows):
            buffer[first + p, b] *= top[b]


@jit
def _mix_dense(weights, K, P, buffer, first, out, rows):
    """Sums = weights @ products, four products at a time."""
    for k in range(K):
        w = k * P
        p = 0
        if P >= 4:
            w0, w1, w2, w3 = weights[w], weights[w + 1], weights[w + 2], weights[w + 3]
            for b in range(rows):
                buffer[out + k, b] = (w0 * buffer[first, b] + w1 * buffer[first + 1, b]
                                      + w2 * buffer[first + 2, b] + w3 * buffer[first + 3, b])
            p = 4
        else:
            w0 = weights[w]
            for b in range(rows):
                buffer[out + k, b] = w0 * buffer[first, b]
            p = 1
        while p + 4 <= P:
            w0, w1, w2, w3 = weights[w + p], weights[w + p + 1], weights[w + p + 2], weights[w + p + 3]
            f = first + p
            for b in range(rows):
                buffer[out + k, b] += (w0 * buffer[f, b] + w1 * buffer[f + 1, b]
                                       + w2 * buffer[f + 2, b] + w3 * buffer[f + 3, b])
            p += 4
        while p < P:
            w0 = weights[w + p]
            for b in range(rows):
                buffer[out + k, b] += w0 * buffer[first + p, b]
            p += 1


@jit
def _mix_sparse(weights, columns, pointer, buffer, first, out, rows):
    """Sums = weights @ products with CSR weights."""
    for k in range(len(pointer) - 1):
        for b in range(rows):
            buffer[out + k, b] = 0.0
        for i in range(pointer[k], pointer[k + 1]):
            w, p = weights[i], first + columns[i]
            for b in range(rows):
                buffer[out + k, b] += w * buffer[p, b]
