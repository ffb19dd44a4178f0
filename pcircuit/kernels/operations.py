"""The operations of a program over tiles of rows, and the loop that runs them; `kernels.programs` writes programs.

A tile holds one number of each unit for up to TILE_ROWS rows b: that of the unit at place t is ``values[t + b]``, and
the next unit is at t + STRIDE.  With rows innermost, every loop turns into vector instructions by itself.  `bits` is
the same memory as whole numbers.  Where values are float32, sums over the rows of a tile are, too, and added up
in float64.  An operation is a line (kind, target, left, right, and five numbers n, m, w, x, y):

    look_up    target p = left p * tables[offsets[x + p] + code]        p < n; codes from y on, of m numbers
    count      counts[offsets[x + p] + code] += left p, row by row      p < n; the same
    multiply   target p = left p * right at offsets[x + p]              p < n
    mix        target k = sum_p weights[w + x k + y p] left p           k < n, p < m
    add        target at offsets[x + i] += weights[w + i] * left at offsets[y + i]     i < m; n targets begin at 0
               the same without weights where right is not 0
    rescale    target p times the power of two that brings their largest to [1, 2)     p < n, counted in row left
    drop       target p = 0 where it is marked                          p < n
    mark       a row where left p is below 2**LOWEST is suspect         p < n
    divide     target p = left p / right p, 0 where right p is          p < n
    dot        edges[w + k m + p] += sum_b left k * right p             k < n, p < m
    dots       edges[w + i] += sum_b left at offsets[x + i] * right at offsets[y + i]  i < m
    enter      target = left, 0 in suspect rows
    scale      target = left * 2**(sum of the n rows right)
    read       table[row * m + offsets[y + i]] = left at offsets[x + i] * right        i < n

`inference.likelihood.upward` and `inference.flows.downward` are what it comes to, in NumPy.  `left p` of `look_up` and
`multiply` is one and the same row of ones for a first factor: then w, the step from p to p + 1, is 0.

All operations have the same arguments, so that `run` calls each by its address: none is compiled into another function,
and only those that a program has are compiled at all.  Six arguments fit into registers; what else there is to know
stands in `line`.  `numbers` are the one array that an operation needs beside values: `sums` where it is of flows, which
are float64, `table` where units are read.

Sixteen products at a time keep sums in registers (`mix`, `dot`): a unit at a time reaches a quarter of the machine's
peak.  STRIDE is a constant, so that the compiler sees which of the streams overlap; indices are unsigned, since what is
signed becomes a float beside them.  No loop works in place on what it reads with another index: such loops stay scalar.
"""

import numpy as np

from pcircuit.kernels.rescaling import LAST_HERE, LIFT_HERE, LIFT_RISKY, RESCALE_RISKY

TILE_ROWS = (
    256  # of a tile at most: enough to pay for an operation, few enough to stay in the cache
)
STRIDE = TILE_ROWS + 8  # an odd number of cache lines, so that units do not compete for places
HOLES = np.uint64(TILE_ROWS)  # behind the codes of a variable: whether one of them is missing
TOP, LEAST, ONES, ZEROS, LIMITS, SPARE = range(
    6
)  # of a tile: two of scratch, constants, all others
EXPONENT, SUSPECT, ROOT, WEIGHTS, OWN = range(5)  # and a tile's own
NUMBERS = 9  # of a line
ZERO, ONE, TWO, THREE, FOUR = (np.uint64(n) for n in range(5))
COUNT, READ, LINE = (np.uint64(n) for n in (1, 4, NUMBERS))
TARGET, LEFT, RIGHT, N, M, W, X, Y, SIZE, ROWS = range(1, 11)  # of a line at work
S, S2, S3 = (np.uint64(n) for n in (STRIDE, 2 * STRIDE, 3 * STRIDE))
NOWHERE, UNITY = np.uint64(ZEROS * STRIDE), np.uint64(ONES * STRIDE)
# what depends on whether values are float32 or float64: three of `values`, three of `bits`
SMALLEST, NEGLIGIBLE, LOWEST, RISKY_TOP, BIT, BIAS = (
    np.uint64(LIMITS * STRIDE + n) for n in range(6)
)
BINARY = 3  # numbers of a unit of two categories: theirs, and that of a missing value


def call(operation, *arguments):
    """Call an operation; in machine code, where it is an address, see `kernels.jit`."""
    operation(*arguments)


def run(
    operations,
    lines,
    ends,
    offsets,
    codes,
    values,
    bits,
    line,
    sizes,
    weights,
    tables,
    edges,
    counts,
    table,
    rows,
):
    """Each part of a program, up to its end, for one tile after the other.

    Places from `common` on are a tile's own, and so many places, `own`, further on for the next tile; its codes
    `width`.  There are `step` rows in a tile; suspect ones are at the place `suspects`.  `line` is the one at work.
    """
    parts, common, own = sizes[ZERO], sizes[ONE], sizes[TWO]
    width, step, suspects = sizes[THREE], sizes[FOUR], sizes[FOUR + ONE]
    begin = ZERO
    for part in range(parts):
        for tile in range((rows + step - ONE) // step):
            done, shift = tile * step, tile * own
            size = rows - done
            line[SIZE], line[ROWS] = size if size < step else step, suspects + shift
            for i in range(LINE * begin, LINE * ends[part], LINE):
                kind = lines[i]
                for j in range(ONE, FOUR):
                    place = lines[i + j]
                    line[j] = place + shift if place >= common else place
                for j in range(FOUR, LINE):
                    line[j] = lines[i + j]
                numbers = weights
                if kind <= COUNT:
                    numbers = tables if kind == ZERO else counts
                    line[Y] += tile * width
                elif kind <= READ:
                    numbers = table if kind == READ else edges
                    line[W] += done if kind == READ else ZERO
                call(operations[kind], values, bits, codes, numbers, offsets, line)
        begin = ends[part]


def look_up(values, bits, codes, numbers, offsets, line):
    """Inputs of n units, one code for each row; a first factor, whose step is 0, is not multiplied by ones."""
    target, left, size = line[TARGET], line[LEFT], line[SIZE]
    w, x, y = line[W], line[X], line[Y]
    is_binary = line[M] == BINARY and codes[y + HOLES] == 0
    for p in range(line[N]):
        t = offsets[x + p]
        if is_binary:  # a choice runs in vector lanes, a look-up hardly
            zero, one = numbers[t], numbers[t + ONE]
            for b in range(size):
                values[target + b] = one if codes[y + b] == 1 else zero
        else:
            for b in range(size):
                values[target + b] = numbers[t + codes[y + b]]
        if w > ZERO:
            for b in range(size):
                values[target + b] *= values[left + b]
        target += S
        left += w


def count(values, bits, codes, sums, offsets, line):
    """Flows of inputs, one code for each row; two units at a time, since additions to one place wait for each other."""
    left, n, m = line[LEFT], line[N], line[M]
    x, y, size = line[X], line[Y], line[SIZE]
    zero = values[NOWHERE]
    for p in range(ZERO, n, TWO):
        t, u, right = offsets[x + p], offsets[x + p], NOWHERE
        if p + ONE < n:
            u, right = offsets[x + p + ONE], left + S
        if m == BINARY and codes[y + HOLES] == 0:
            a0 = a1 = b0 = b1 = zero
            for b in range(size):
                is_one, f, g = codes[y + b] == 1, values[left + b], values[right + b]
                a0, a1 = a0 + (zero if is_one else f), a1 + (f if is_one else zero)
                b0, b1 = b0 + (zero if is_one else g), b1 + (g if is_one else zero)
            sums[t] += a0
            sums[t + ONE] += a1
            sums[u] += b0
            sums[u + ONE] += b1
        else:
            for b in range(size):
                c = codes[y + b]
                sums[t + c] += values[left + b]
                sums[u + c] += values[right + b]
        left += S2


def read(values, bits, codes, table, offsets, line):
    """Units into columns of a table, from row w on: neighbours in memory are written one after the other."""
    left, right, m = line[LEFT], line[RIGHT], line[M]
    row, x, y = line[W] * m, line[X], line[Y]
    for b in range(line[SIZE]):
        factor = values[right + b]
        for i in range(line[N]):
            table[row + offsets[y + i]] = values[left + offsets[x + i] + b] * factor
        row += m


def multiply(values, bits, codes, numbers, offsets, line):
    """Units of a child multiplied in."""
    target, left, right = line[TARGET], line[LEFT], line[RIGHT]
    w, x, size = line[W], line[X], line[SIZE]
    for p in range(line[N]):
        r = right + offsets[x + p]
        for b in range(size):
            values[target + b] = values[left + b] * values[r + b]
        target += S
        left += w


def mix(values, bits, codes, numbers, offsets, line):
    """A matrix product over the units, n by m; what is left of four by four comes first, one by one."""
    target, left, size = line[TARGET], line[LEFT], line[SIZE]
    n, m = line[N], line[M]
    w, x, y = line[W], line[X], line[Y]
    whole_n, whole_m = n - n % FOUR, m - m % FOUR
    x2, x3 = TWO * x, THREE * x
    for k in range(n):
        t = target + k * S
        for b in range(size):
            values[t + b] = 0.0
        for p in range(whole_m if k < whole_n else ZERO, m):
            weight, f = numbers[w + k * x + p * y], left + p * S
            for b in range(size):
                values[t + b] += weight * values[f + b]
    for k in range(ZERO, whole_n, FOUR):
        t = target + k * S
        for p in range(ZERO, whole_m, FOUR):
            f, i = left + p * S, w + k * x + p * y
            a0, b0 = numbers[i], numbers[i + x]
            c0, d0 = numbers[i + x2], numbers[i + x3]
            i += y
            a1, b1 = numbers[i], numbers[i + x]
            c1, d1 = numbers[i + x2], numbers[i + x3]
            i += y
            a2, b2 = numbers[i], numbers[i + x]
            c2, d2 = numbers[i + x2], numbers[i + x3]
            i += y
            a3, b3 = numbers[i], numbers[i + x]
            c3, d3 = numbers[i + x2], numbers[i + x3]
            for b in range(size):
                f0, f1 = values[f + b], values[f + S + b]
                f2, f3 = values[f + S2 + b], values[f + S3 + b]
                values[t + b] += a0 * f0 + a1 * f1 + a2 * f2 + a3 * f3
                values[t + S + b] += b0 * f0 + b1 * f1 + b2 * f2 + b3 * f3
                values[t + S2 + b] += c0 * f0 + c1 * f1 + c2 * f2 + c3 * f3
                values[t + S3 + b] += d0 * f0 + d1 * f1 + d2 * f2 + d3 * f3


def add(values, bits, codes, numbers, offsets, line):
    """Products with a sparse matrix; with ones, if right is not 0."""
    target, left, right = line[TARGET], line[LEFT], line[RIGHT]
    w, x, y = line[W], line[X], line[Y]
    size = line[SIZE]
    for k in range(line[N]):
        for b in range(size):
            values[target + k * S + b] = 0.0
    for i in range(line[M]):
        t, f = target + offsets[x + i], left + offsets[y + i]
        weight = values[UNITY] if right else numbers[w + i]
        for b in range(size):
            values[t + b] += weight * values[f + b]


def rescale(values, bits, codes, numbers, offsets, line):
    """The largest product of each row, then its power of two, stand in the first unit of the tile; m says how."""
    target, left, n = line[TARGET], line[LEFT], line[N]
    m, size, suspect = line[M], line[SIZE], line[ROWS]
    is_risky = (m == RESCALE_RISKY) | (m == LIFT_RISKY)
    smallest, most = values[SMALLEST], values[UNITY]
    risky_top, bit, bias = bits[RISKY_TOP], bits[BIT], bits[BIAS]
    for b in range(size):
        values[b] = 0.0
    for p in range(n):
        t = target + p * S
        for b in range(size):
            f = values[t + b]
            values[b] = f if f > values[b] else values[b]
    for b in range(size):
        is_zero = bits[b] == 0  # not by `values`: a loop that has both is not vectorised
        taken = 0 if is_zero else (bits[b] >> bit) - bias  # the exponent of a positive number
        bits[suspect + b] |= is_risky & (is_zero | (taken < risky_top))
        bits[left + b] += taken
        bits[b] = (bias - taken) << bit
    for _ in range(n):
        if m == LAST_HERE:
            for b in range(size):
                values[target + b] *= values[b]
        else:
            for b in range(size):
                f = values[target + b] * values[b]
                is_small = (f < smallest) & ((f != 0.0) | is_risky)  # marked ones are negative
                if m < LIFT_HERE:
                    bits[suspect + b] |= is_small
                else:  # an upper bound, marked; one that outgrows the largest makes its row suspect
                    bits[suspect + b] |= f < -most
                    if is_small:
                        f = f if f < -smallest else -smallest
                        f = f if f > -most else -most
                values[target + b] = f
        target += S


def drop(values, bits, codes, numbers, offsets, line):
    """Marked products become zero."""
    target, size, suspect = line[TARGET], line[SIZE], line[ROWS]
    zero, negligible = values[NOWHERE], values[NEGLIGIBLE]
    for b in range(size):
        values[b], values[S + b] = zero, zero
    for _ in range(line[N]):
        for b in range(size):
            f, highest, lowest = values[target + b], values[b], values[S + b]
            values[b] = f if f > highest else highest
            values[S + b] = f if f < lowest else lowest
            values[target + b] = f if f > zero else zero
        target += S
    for b in range(size):  # what is dropped might count after all
        bits[suspect + b] |= -values[S + b] > negligible * values[b]


def mark(values, bits, codes, numbers, offsets, line):
    """What may have lost a part to underflow."""
    left, size, suspect = line[LEFT], line[SIZE], line[ROWS]
    lowest = values[LOWEST]
    for _ in range(line[N]):
        for b in range(size):
            bits[suspect + b] |= values[left + b] < lowest
        left += S


def divide(values, bits, codes, numbers, offsets, line):
    """Ratios of flows to values."""
    target, left, right = line[TARGET], line[LEFT], line[RIGHT]
    size, zero = line[SIZE], values[NOWHERE]
    for _ in range(line[N]):
        for b in range(size):
            f = values[right + b]
            values[target + b] = values[left + b] / f if f > zero else zero
        target += S
        left += S
        right += S


def dot(values, bits, codes, sums, offsets, line):
    """Sums over the rows for every pair of units, two by four, and what is left one by one."""
    left, right, size = line[LEFT], line[RIGHT], line[SIZE]
    n, m, w = line[N], line[M], line[W]
    whole_n, whole_m = n - n % TWO, m - m % FOUR
    zero = values[NOWHERE]
    for k in range(n):
        f, i = left + k * S, w + k * m
        if k < whole_n and k % TWO == ZERO:
            for p in range(ZERO, whole_m, FOUR):
                r, j = right + p * S, i + p
                a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = zero
                for b in range(size):
                    r0, r1 = values[r + b], values[r + S + b]
                    r2, r3 = values[r + S2 + b], values[r + S3 + b]
                    f0, f1 = values[f + b], values[f + S + b]
                    a0, a1 = a0 + f0 * r0, a1 + f0 * r1
                    a2, a3 = a2 + f0 * r2, a3 + f0 * r3
                    b0, b1 = b0 + f1 * r0, b1 + f1 * r1
                    b2, b3 = b2 + f1 * r2, b3 + f1 * r3
                sums[j] += a0
                sums[j + ONE] += a1
                sums[j + TWO] += a2
                sums[j + THREE] += a3
                j += m
                sums[j] += b0
                sums[j + ONE] += b1
                sums[j + TWO] += b2
                sums[j + THREE] += b3
        for p in range(whole_m if k < whole_n else ZERO, m):
            r, total = right + p * S, zero
            for b in range(size):
                total += values[f + b] * values[r + b]
            sums[i + p] += total


def dots(values, bits, codes, sums, offsets, line):
    """The same for m listed pairs."""
    left, right, size = line[LEFT], line[RIGHT], line[SIZE]
    w, x, y = line[W], line[X], line[Y]
    for i in range(line[M]):
        f, r, total = left + offsets[x + i], right + offsets[y + i], values[NOWHERE]
        for b in range(size):
            total += values[f + b] * values[r + b]
        sums[w + i] += total


def enter(values, bits, codes, numbers, offsets, line):
    """Flow of the root."""
    target, left = line[TARGET], line[LEFT]
    size, suspect = line[SIZE], line[ROWS]
    for b in range(size):
        values[target + b] = values[left + b] if bits[suspect + b] == 0 else 0.0


def scale(values, bits, codes, numbers, offsets, line):
    """Powers in two factors: beyond their range every product is 0 anyway."""
    target, left, right = line[TARGET], line[LEFT], line[RIGHT]
    size, bit, bias = line[SIZE], bits[BIT], bits[BIAS]
    for b in range(size):
        bits[b] = 0
    for _ in range(line[N]):
        for b in range(size):
            bits[b] += bits[right + b]
        right += S
    for b in range(size):
        power = bits[b] if bits[b] < 2 * bias else 2 * bias
        power = power if power > 2 - 2 * bias else 2 - 2 * bias
        half = power >> 1
        bits[b], bits[S + b] = (bias + half) << bit, (bias + power - half) << bit
    for b in range(size):
        values[target + b] = values[left + b] * values[b] * values[S + b]


OPERATIONS = (
    look_up,
    count,
    dot,
    dots,
    read,
    multiply,
    mix,
    add,
    rescale,
    drop,
    mark,
    divide,
    enter,
    scale,
)
KIND = {operation: number for number, operation in enumerate(OPERATIONS)}
