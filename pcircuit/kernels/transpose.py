"""Evidence transposed from rows to columns, compiled: ``codes[v, b]`` for the rows b of a tile.

All later loops run over rows, but evidence is stored row by row.  Transposing it one entry at a time costs as much
as half of an evaluation with K = 4, since neighbours in memory are V bytes apart.
"""

from __future__ import annotations

import numpy as np

from pcircuit.kernels.jit import inner, jit

COLUMNS = 32  # columns transposed at a time: their 32 lines of `codes` stay in the L1 cache
HALF = (np.uint64(0x00000000FFFFFFFF), np.uint64(32))
QUARTER = (np.uint64(0x0000FFFF0000FFFF), np.uint64(16))
EIGHTH = (np.uint64(0x00FF00FF00FF00FF), np.uint64(8))


@jit
def transpose_rows(data, categories, codes):
    """Copy rows of data (N, V) to codes (V, B), -1 to C; false if an entry is out of range."""
    valid = True
    for first in range(0, data.shape[1], COLUMNS):
        for b in range(len(data)):
            for v in range(first, min(first + COLUMNS, data.shape[1])):
                x = np.int64(data[b, v])
                if x < 0 or x >= categories[v]:
                    valid = valid and x == -1
                    x = categories[v]
                codes[v, b] = x
    return valid


@jit
def transpose_bytes(data, categories, signed, block, words, codes):
    """The same for one-byte entries, viewed as uint8, in a sixth of the time.

    `block` (8, B) uint8 and `words` (8, B / 8) uint64 are the same scratch.
    """
    rows, columns = data.shape
    valid = True
    for first in range(0, columns, 8):
        width = min(8, columns - first)
        turned = rows // 8 * 8 if width == 8 else 0
        for j in range(turned // 8):
            _turn(data, np.uintp(8 * j), np.uintp(first), words, j)
        for b in range(turned, rows):
            for i in range(width):
                block[i, b] = data[b, first + i]
        for i in range(width):
            C, too_large = categories[first + i], False
            end = min(C, 128) if signed else C  # from 128 on there are negative numbers
            for b in range(rows):  # widening to 16 bits and both checks run in vector lanes
                x = block[i, b]
                is_absent = signed and x == 255
                too_large |= x >= end and not is_absent
                codes[first + i, b] = C if is_absent else x
            valid = valid and not too_large
    return valid


@inner
def _turn(data, b, v, words, j):
    """Transpose 8 x 8 bytes in registers: swap the off-diagonal halves, then quarters, then bytes of eight words."""
    one, two, three, four = np.uintp(1), np.uintp(2), np.uintp(3), np.uintp(4)
    a0, a1, a2, a3 = (
        _word(data, b, v),
        _word(data, b + one, v),
        _word(data, b + two, v),
        _word(data, b + three, v),
    )
    b += four
    a4, a5, a6, a7 = (
        _word(data, b, v),
        _word(data, b + one, v),
        _word(data, b + two, v),
        _word(data, b + three, v),
    )
    (a0, a4), (a1, a5), (a2, a6), (a3, a7) = (
        _swap(a0, a4, HALF),
        _swap(a1, a5, HALF),
        _swap(a2, a6, HALF),
        _swap(a3, a7, HALF),
    )
    (a0, a2), (a1, a3), (a4, a6), (a5, a7) = (
        _swap(a0, a2, QUARTER),
        _swap(a1, a3, QUARTER),
        _swap(a4, a6, QUARTER),
        _swap(a5, a7, QUARTER),
    )
    (a0, a1), (a2, a3), (a4, a5), (a6, a7) = (
        _swap(a0, a1, EIGHTH),
        _swap(a2, a3, EIGHTH),
        _swap(a4, a5, EIGHTH),
        _swap(a6, a7, EIGHTH),
    )
    words[0, j], words[1, j], words[2, j], words[3, j] = a0, a1, a2, a3
    words[4, j], words[5, j], words[6, j], words[7, j] = a4, a5, a6, a7


@inner
def _word(data, b, v):
    """Entries v..v+7 of row b as one word, the first in the lowest byte; compiles to one load."""
    word = np.uint64(0)
    for i in range(8):
        word |= np.uint64(data[b, v + np.uintp(i)]) << np.uint64(8 * i)
    return word


@inner
def _swap(x, y, part):
    """Exchange the upper part of each piece of x with the lower part of the same piece of y."""
    mask, shift = part
    t = ((x >> shift) ^ y) & mask
    return x ^ (t << shift), y ^ t
