"""The operations of a program over tiles of rows, compiled.  `kernels.programs` writes programs.

A tile holds one number of each unit for up to TILE_ROWS rows b: that of the unit at place t is ``values[t + b]``, and
the next unit is at t + STRIDE.  With rows innermost, every loop turns into vector instructions by itself.  `bits` is
the same memory as whole numbers.  Where values are float32, sums over the rows of a tile are, too, and added up
in float64.  An operation is a line (kind, target, left, right, and five numbers n, m, w, x, y):

    LOOK_UP    target p = left p * tables[offsets[x + p] + code]        p < n; codes from y on, of m numbers
    MULTIPLY   target p = left p * right at offsets[x + p]              p < n
    MIX        target k = sum_p weights[w + x k + y p] left p           k < n, p < m
    ADD        target at offsets[x + i] += weights[w + i] * left at offsets[y + i]     i < m; n targets begin at 0
    SPREAD     the same without weights
    RESCALE    target p times the power of two that brings their largest to [1, 2)     p < n, counted in row left
    DROP       target p = 0 where it is marked                          p < n
    MARK       a row where left p is below 2**LOWEST is suspect         p < n
    DIVIDE     target p = left p / right p, 0 where right p is          p < n
    DOT        edges[w + k m + p] += sum_b left k * right p             k < n, p < m
    DOTS       edges[w + i] += sum_b left at offsets[x + i] * right at offsets[y + i]  i < m
    COUNT      counts[offsets[x + p] + code] += left p, row by row      p < n; as LOOK_UP
    ENTER      target = left, 0 in suspect rows
    SCALE      target = left * 2**(sum of the n rows right)
    READ       table[row * m + offsets[y + i]] = left at offsets[x + i] * right        i < n

`inference.likelihood.upward` and `inference.flows.downward` are what it comes to, in NumPy.  `left p` of LOOK_UP and
MULTIPLY is one and the same row of ones for a first factor: then w, the step from p to p + 1, is 0.

Sixteen products at a time keep sums in registers (MIX, DOT): a unit at a time reaches a quarter of the machine's peak.
STRIDE is a constant, so that the compiler sees which of the streams overlap; indices are unsigned, since signed ones
may count from the end of an array, which costs a comparison each.  No loop works in place on what it reads with
another index: such loops stay scalar.
"""

import numpy as np

from pcircuit.kernels.jit import inner, jit
from pcircuit.kernels.programs import (
    ADD,
    COUNT,
    DIVIDE,
    DOT,
    DOTS,
    DROP,
    ENTER,
    HOLES,
    LOOK_UP,
    MARK,
    MIX,
    MULTIPLY,
    READ,
    RESCALE,
    SCALE,
    SPREAD,
    STRIDE,
    ZEROS,
)
from pcircuit.kernels.rescaling import (
    FLOAT32,
    FLOAT64,
    LAST_HERE,
    LIFT_HERE,
    LIFT_RISKY,
    RESCALE_RISKY,
)

ZERO, ONE, TWO, THREE, FOUR = map(np.uint64, range(5))
S, S2, S3 = np.uint64(STRIDE), np.uint64(2 * STRIDE), np.uint64(3 * STRIDE)
NOWHERE = np.uint64(ZEROS * STRIDE)
BINARY = 3  # numbers of a unit of two categories: theirs, and that of a missing value
# of float32 and of float64, `values.itemsize // 8`
LOWEST, AFTER_RESCALE, NEGLIGIBLE = np.exp2([one[:3] for one in (FLOAT32, FLOAT64)]).T.copy()
RISKY_TOP = np.array([FLOAT32.risky_top, FLOAT64.risky_top])
EXPONENT_BIT, BIAS = np.array([23, 52]), np.array([127, 1023])


@jit
def run(program, ends, offsets, weights, tables, edges, counts, table, codes, values, bits, sizes):
    """Each part of a program, up to its end, for one tile after the other.

    Places from `sizes`[0] on are a tile's own, and so many places, `sizes`[1], further on for the next tile; its codes
    `sizes`[2].  There are `sizes`[3] rows, `sizes`[4] in a tile, and at `sizes`[5] the suspect ones.
    """
    common, own, num_codes, rows, step = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    begin = ZERO
    for part in range(len(ends)):
        for tile in range((rows + step - ONE) // step):
            done, shift, code = tile * step, tile * own, tile * num_codes
            size, suspect = min(step, rows - done), sizes[5] + shift
            for i in range(begin, ends[part]):
                kind, target, left, right = (
                    program[i, 0],
                    program[i, 1],
                    program[i, 2],
                    program[i, 3],
                )
                n, m, w = program[i, 4], program[i, 5], program[i, 6]
                x, y = program[i, 7], program[i, 8]
                target += shift if target >= common else ZERO
                left += shift if left >= common else ZERO
                right += shift if right >= common else ZERO
                if kind == LOOK_UP:
                    look_up(
                        values, codes, tables, offsets, target, left, n, m, w, x, y + code, size
                    )
                elif kind == MULTIPLY:
                    multiply(values, offsets, target, left, right, n, w, x, size)
                elif kind == MIX:
                    mix(values, weights, target, left, n, m, w, x, y, size)
                elif kind == DIVIDE:
                    divide(values, target, left, right, n, size)
                elif kind == DOT:
                    dot(values, edges, left, right, n, m, w, size)
                elif kind == COUNT:
                    count(values, codes, counts, offsets, left, n, m, x, y + code, size)
                elif kind == RESCALE:
                    rescale(values, bits, target, left, n, m, suspect, size)
                elif kind == DROP:
                    drop(values, bits, target, n, suspect, size)
                elif kind == MARK:
                    mark(values, bits, left, n, suspect, size)
                elif kind in (ADD, SPREAD):
                    add(kind, values, weights, offsets, target, left, n, m, w, x, y, size)
                elif kind == DOTS:
                    dots(values, edges, offsets, left, right, m, w, x, y, size)
                elif kind == ENTER:
                    enter(values, bits, target, left, suspect, size)
                elif kind == SCALE:
                    scale(values, bits, target, left, right, n, size)
                elif kind == READ:
                    read(values, table, offsets, left, right, n, m, x, y, done, size)
        begin = ends[part]


@inner
def look_up(values, codes, tables, offsets, target, left, n, m, step, x, code, size):
    """Inputs of n units, one code for each row; a first factor, whose step is 0, is not multiplied by ones."""
    is_binary = m == BINARY and codes[code + HOLES] == 0
    for p in range(n):
        t = offsets[x + p]
        if is_binary:  # a choice runs in vector lanes, a look-up hardly
            zero, one = tables[t], tables[t + ONE]
            for b in range(size):
                values[target + b] = one if codes[code + b] == 1 else zero
        else:
            for b in range(size):
                values[target + b] = tables[t + codes[code + b]]
        if step > ZERO:
            for b in range(size):
                values[target + b] *= values[left + b]
        target += S
        left += step


@inner
def multiply(values, offsets, target, left, right, n, step, x, size):
    """Units of a child multiplied in."""
    for p in range(n):
        r = right + offsets[x + p]
        for b in range(size):
            values[target + b] = values[left + b] * values[r + b]
        target += S
        left += step


@inner
def mix(values, weights, target, left, K, P, w, row, column, size):
    """A matrix product over the units, K by P; four by four, and what is left one by one."""
    whole_k, whole_p, two, three = K - K % FOUR, P - P % FOUR, column + column, THREE * column
    for k in range(K):
        o, first = target + k * S, w + k * row
        if k < whole_k and k % FOUR == ZERO:
            for p in range(ZERO, whole_p, FOUR):
                i, f = first + p * column, left + p * S
                a0, a1, a2, a3 = (
                    weights[i],
                    weights[i + column],
                    weights[i + two],
                    weights[i + three],
                )
                i += row
                b0, b1, b2, b3 = (
                    weights[i],
                    weights[i + column],
                    weights[i + two],
                    weights[i + three],
                )
                i += row
                c0, c1, c2, c3 = (
                    weights[i],
                    weights[i + column],
                    weights[i + two],
                    weights[i + three],
                )
                i += row
                d0, d1, d2, d3 = (
                    weights[i],
                    weights[i + column],
                    weights[i + two],
                    weights[i + three],
                )
                for b in range(size):
                    x0, x1 = values[f + b], values[f + S + b]
                    x2, x3 = values[f + S2 + b], values[f + S3 + b]
                    y0 = a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
                    y1 = b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
                    y2 = c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3
                    y3 = d0 * x0 + d1 * x1 + d2 * x2 + d3 * x3
                    if p > ZERO:
                        y0, y1 = y0 + values[o + b], y1 + values[o + S + b]
                        y2, y3 = y2 + values[o + S2 + b], y3 + values[o + S3 + b]
                    values[o + b], values[o + S + b] = y0, y1
                    values[o + S2 + b], values[o + S3 + b] = y2, y3
        for p in range(whole_p if k < whole_k else ZERO, P):
            weight, f = weights[first + p * column], left + p * S
            for b in range(size):
                y = weight * values[f + b]
                values[o + b] = y + values[o + b] if p > ZERO else y


@inner
def add(kind, values, weights, offsets, target, left, n, m, w, x, y, size):
    """Products with a sparse matrix, or with ones."""
    one = values.dtype.type(1.0)
    for k in range(n):
        t = target + k * S
        for b in range(size):
            values[t + b] = 0.0
    for i in range(m):
        t, f = target + offsets[x + i], left + offsets[y + i]
        weight = weights[w + i] if kind == ADD else one
        for b in range(size):
            values[t + b] += weight * values[f + b]


@inner
def rescale(values, bits, target, power, n, how, suspect, size):
    """The largest product of each row, then its power of two, stand in the first unit of the tile."""
    width, is_risky = values.itemsize // 8, how in (RESCALE_RISKY, LIFT_RISKY)
    smallest, most = values.dtype.type(AFTER_RESCALE[width]), values.dtype.type(1.0)
    bit, bias, risky_top = EXPONENT_BIT[width], BIAS[width], RISKY_TOP[width]
    for b in range(size):
        values[b] = 0.0
    for p in range(n):
        t = target + p * S
        for b in range(size):
            x = values[t + b]
            values[b] = x if x > values[b] else values[b]
    for b in range(size):
        is_zero = bits[b] == 0  # not by `values`: a loop that has both is not vectorised
        taken = 0 if is_zero else (bits[b] >> bit) - bias  # the exponent of a positive number
        bits[suspect + b] |= is_risky & (is_zero | (taken < risky_top))
        bits[power + b] += taken
        bits[b] = (bias - taken) << bit
    for _ in range(n):
        if how == LAST_HERE:
            for b in range(size):
                values[target + b] *= values[b]
        else:
            for b in range(size):
                x = values[target + b] * values[b]
                is_small = (x < smallest) & ((x != 0.0) | is_risky)  # marked ones are negative
                if how < LIFT_HERE:
                    bits[suspect + b] |= is_small
                else:  # an upper bound, marked; one that outgrows the largest makes its row suspect
                    bits[suspect + b] |= x < -most
                    if is_small:
                        x = max(min(x, -smallest), -most)
                values[target + b] = x
        target += S


@inner
def drop(values, bits, target, n, suspect, size):
    """Marked products become zero."""
    zero = values.dtype.type(0.0)
    negligible = values.dtype.type(NEGLIGIBLE[values.itemsize // 8])
    for b in range(size):
        values[b], values[S + b] = zero, zero
    for _ in range(n):
        for b in range(size):
            x = values[target + b]
            values[b], values[S + b] = max(values[b], x), min(values[S + b], x)
            values[target + b] = max(x, zero)
        target += S
    for b in range(size):  # what is dropped might count after all
        bits[suspect + b] |= -values[S + b] > negligible * values[b]


@inner
def mark(values, bits, left, n, suspect, size):
    """What may have lost a part to underflow."""
    lowest = values.dtype.type(LOWEST[values.itemsize // 8])
    for _ in range(n):
        for b in range(size):
            bits[suspect + b] |= values[left + b] < lowest
        left += S


@inner
def divide(values, target, left, right, n, size):
    """Ratios of flows to values."""
    zero = values.dtype.type(0.0)
    for _ in range(n):
        for b in range(size):
            y = values[right + b]
            values[target + b] = values[left + b] / y if y > zero else zero
        target += S
        left += S
        right += S


@inner
def dot(values, edges, left, right, K, P, w, size):
    """Sums over the rows for every pair of units, two by four, and what is left one by one."""
    whole_k, whole_p, zero = K - K % TWO, P - P % FOUR, values.dtype.type(0.0)
    for k in range(K):
        l, i = left + k * S, w + k * P
        if k < whole_k and k % TWO == ZERO:
            for p in range(ZERO, whole_p, FOUR):
                r, j = right + p * S, i + p
                a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = zero
                for b in range(size):
                    x0, x1 = values[r + b], values[r + S + b]
                    x2, x3 = values[r + S2 + b], values[r + S3 + b]
                    y, z = values[l + b], values[l + S + b]
                    a0, a1, a2, a3 = a0 + y * x0, a1 + y * x1, a2 + y * x2, a3 + y * x3
                    b0, b1, b2, b3 = b0 + z * x0, b1 + z * x1, b2 + z * x2, b3 + z * x3
                edges[j] += a0
                edges[j + ONE] += a1
                edges[j + TWO] += a2
                edges[j + THREE] += a3
                j += P
                edges[j] += b0
                edges[j + ONE] += b1
                edges[j + TWO] += b2
                edges[j + THREE] += b3
        for p in range(whole_p if k < whole_k else ZERO, P):
            edges[i + p] += dot_one(values, l, right + p * S, size)


@inner
def dots(values, edges, offsets, left, right, m, w, x, y, size):
    """The same for listed pairs."""
    for i in range(m):
        edges[w + i] += dot_one(values, left + offsets[x + i], right + offsets[y + i], size)


@inner
def dot_one(values, left, right, size):
    """The same for a pair."""
    total = values.dtype.type(0.0)
    for b in range(size):
        total += values[left + b] * values[right + b]
    return total


@inner
def count(values, codes, counts, offsets, left, n, m, x, code, size):
    """Flows of inputs, one code for each row; two units at a time, since additions to one place wait for each other."""
    zero = values.dtype.type(0.0)
    for p in range(ZERO, n, TWO):
        t, u, right = offsets[x + p], offsets[x + p], NOWHERE
        if p + ONE < n:
            u, right = offsets[x + p + ONE], left + S
        if m == BINARY and codes[code + HOLES] == 0:
            a0 = a1 = b0 = b1 = zero
            for b in range(size):
                is_one, y, z = codes[code + b] == 1, values[left + b], values[right + b]
                a0, a1 = a0 + (zero if is_one else y), a1 + (y if is_one else zero)
                b0, b1 = b0 + (zero if is_one else z), b1 + (z if is_one else zero)
            counts[t] += a0
            counts[t + ONE] += a1
            counts[u] += b0
            counts[u + ONE] += b1
        else:
            for b in range(size):
                c = codes[code + b]
                counts[t + c] += values[left + b]
                counts[u + c] += values[right + b]
        left += S2


@inner
def enter(values, bits, target, left, suspect, size):
    """Flow of the root."""
    for b in range(size):
        values[target + b] = values[left + b] if bits[suspect + b] == 0 else 0.0


@inner
def scale(values, bits, target, left, powers, n, size):
    """Powers in two factors: beyond their range every product is 0 anyway."""
    bit, bias = EXPONENT_BIT[values.itemsize // 8], BIAS[values.itemsize // 8]
    for b in range(size):
        bits[b] = 0
    for _ in range(n):
        for b in range(size):
            bits[b] += bits[powers + b]
        powers += S
    for b in range(size):
        power = max(2 - 2 * bias, min(bits[b], 2 * bias))
        half = power >> 1
        bits[b], bits[S + b] = (bias + half) << bit, (bias + power - half) << bit
    for b in range(size):
        values[target + b] = values[left + b] * values[b] * values[S + b]


@inner
def read(values, table, offsets, left, right, n, m, x, y, first, size):
    """Units into columns of a table, row by row: neighbours in memory are written one after the other."""
    for b in range(size):
        row, factor = (first + b) * m, values[right + b]
        for i in range(n):
            table[row + offsets[y + i]] = values[left + offsets[x + i] + b] * factor
