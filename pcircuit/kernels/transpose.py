"""Evidence transposed from rows to columns, compiled: the codes of a variable, row after row of a tile.

All later loops run over rows, but evidence is stored row by row.  Transposing it one entry at a time costs as much
as half of an evaluation with K = 4, since neighbours in memory are V numbers apart.  So four rows of four numbers of 16
bits are transposed at a time, each row in one word: halves are exchanged with those of the row but one, and then
quarters with those of the next row.
"""

import numpy as np

from pcircuit.kernels.operations import FOUR, HOLES, STRIDE, THREE, TWO, ZERO

MISSING = 2**16 - 1  # what becomes of -1 in 16 bits
HALF, QUARTER, S, S4 = (np.uint64(n) for n in (32, 16, STRIDE, STRIDE // 4))
LOWER_HALF, LOWER_QUARTERS = np.uint64(0x00000000FFFFFFFF), np.uint64(0x0000FFFF0000FFFF)


def transpose(words, categories, turned, codes, wrong, variables, width, step, rows):
    """Codes of so many rows whose words (rows, V / 4) are given, tile by tile; `wrong` if an entry is out of range.

    `turned` (tiles, V, STRIDE / 4) are the words of `codes` (tiles, V, STRIDE); all are flat, and V is rounded up to
    four times `width`.  There are `step` rows in a tile.
    """
    w1, w2, w3 = width, TWO * width, THREE * width
    for first in range(ZERO, rows, step):
        size, tile = rows - first, first // step * FOUR * width
        size = size if size < step else step
        for j in range(width):
            w, t = first * width + j, (tile + FOUR * j) * S4
            for b in range((size + THREE) // FOUR):
                x0, x1 = words[w], words[w + w1]
                x2, x3 = words[w + w2], words[w + w3]
                y, z = ((x0 >> HALF) ^ x2) & LOWER_HALF, ((x1 >> HALF) ^ x3) & LOWER_HALF
                x0, x1 = x0 ^ (y << HALF), x1 ^ (z << HALF)
                x2, x3 = x2 ^ y, x3 ^ z
                y = ((x0 >> QUARTER) ^ x1) & LOWER_QUARTERS
                z = ((x2 >> QUARTER) ^ x3) & LOWER_QUARTERS
                turned[t + b], turned[t + S4 + b] = x0 ^ (y << QUARTER), x1 ^ y
                turned[t + TWO * S4 + b], turned[t + THREE * S4 + b] = x2 ^ (z << QUARTER), x3 ^ z
                w += FOUR * width
        for v in range(variables):
            C, t = categories[v], (tile + v) * S
            too_large, holes = False, False
            for b in range(size):
                x = codes[t + b]
                is_missing = x == MISSING
                too_large |= (x >= C) & (not is_missing)
                holes |= is_missing
                codes[t + b] = C if is_missing else x
            codes[t + HOLES] = holes
            wrong[ZERO] |= too_large
