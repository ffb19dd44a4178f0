"""The upward pass over one tile of rows, compiled.  Its readable twin is `pcircuit.inference.likelihood.upward`.

Values are stored unit by unit, rows contiguous: ``values[unit's row * STRIDE + b]`` for the rows b of the tile, so
that every inner loop runs over rows and turns into vector instructions.  Input units are never stored: a leaf child
is multiplied into the products straight from its table.

Values of single units (`readers`) are read as soon as their region is done, while they are in the cache and before
its parent overwrites them: keeping all units of a tile for later costs three times as much.
"""

from __future__ import annotations

import numpy as np

from pcircuit.kernels.jit import inlined, inner
from pcircuit.kernels.layouts import OUTSIDE_KEPT, PRODUCTS_KEPT, SUMS_KEPT
from pcircuit.kernels.mix import ONE, THREE, TWO, UNIT_STEP, mix
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
from pcircuit.kernels.rescaling import (
    AFTER_RESCALE,
    LIFT_HERE,
    LIFT_RISKY,
    LOWEST,
    NEGLIGIBLE,
    NO_RESCALE,
    RECOVERED,
    RESCALE_RISKY,
    RISKY_TOP,
)

SMALLEST = 2.0**LOWEST
SMALLEST_RESCALED = 2.0**AFTER_RESCALE
NEGLIGIBLE_SHARE = 2.0**NEGLIGIBLE
RECOVERED_SHARE = 2.0**RECOVERED


@inner
def upward_regions(packed, layout, tile, rows, start, stop, there):
    """Values of the inner regions start..stop, whose other children have theirs: values times 2**exponent.

    `layout` says where in `tile.values` a region's products and sums go.  `tile.exponent` (regions or 1, B) collects
    the powers of two taken out; with one row it is the total at the root, with one row per region that of the
    region's own subtree.  `there` is what need not be computed again: SUMS_KEPT, PRODUCTS_KEPT, NONE_KEPT, or
    OUTSIDE_KEPT, the sums that outlive their block.
    """
    region, values = packed.region, tile.values
    per_region = len(tile.exponent) > 1
    for r in range(start, stop):
        P, K, w, first, out = (
            region[r, PRODUCTS],
            region[r, SUMS],
            region[r, WEIGHT],
            layout.products[r],
            layout.sums[r],
        )
        if there != PRODUCTS_KEPT:
            _multiply_children(packed, layout, tile, rows, r, r if per_region else 0)
        if there == SUMS_KEPT or (there == OUTSIDE_KEPT and out >= layout.kept):
            continue
        if region[r, SPARSE]:
            _mix_sparse(
                packed.weights,
                packed.columns,
                w,
                packed.row_pointer,
                region[r, ROW_POINTER],
                K,
                values,
                first,
                out,
                rows,
            )
        else:
            mix(packed.weights, w, P, UNIT_STEP, K, P, values, first, values, out, rows)
        if packed.check_sums[r]:
            _mark_small(values, out, K, rows, tile.suspect)
        if per_region:
            _add_exponents(packed, r, tile.exponent, rows)


@inlined
def _multiply_children(packed, layout, tile, rows, r, e):
    """Products of region r, rescaled where the plan says so; powers of two go to ``tile.exponent[e]``."""
    children, unit, rescales, tables = packed.child, packed.unit, packed.rescale, packed.tables
    values, codes, scratch, suspect = tile.values, tile.codes, tile.scratch, tile.suspect
    sums, first, spare = layout.sums, layout.products[r], layout.spare
    P, arity = packed.region[r, PRODUCTS], packed.region[r, ARITY]
    lifted = False
    origin = first  # where the products so far are; the first inner child's own sums need no copy
    for a in range(arity):
        c = packed.region[r, FIRST_CHILD] + a
        u, rescale = children[c, UNIT_LIST], rescales[c]
        # alternating between two places, ending at `first`: a loop that may work in place stays scalar
        target = first if (arity - a) % 2 == 1 else spare
        if children[c, IS_LEAF]:
            _times_leaf(
                tables,
                children[c, SOURCE],
                children[c, CATEGORIES],
                unit,
                u,
                P,
                codes,
                children[c, VARIABLE],
                rows,
                values,
                origin,
                target,
                a == 0,
            )
            origin = target
        elif a == 0 and arity > 1 and children[c, ONE_TO_ONE] and rescale == NO_RESCALE:
            origin = sums[children[c, SOURCE]]
        else:
            _times_inner(
                unit, u, P, rows, values, sums[children[c, SOURCE]], origin, target, a == 0
            )
            origin = target
        if rescale != NO_RESCALE:
            lifts = rescale >= LIFT_HERE
            _rescale(
                values,
                origin,
                P,
                rows,
                rescale in (RESCALE_RISKY, LIFT_RISKY),
                lifts,
                scratch,
                tile.bits,
                tile.exponent,
                e,
                suspect,
            )
            lifted = lifted or lifts
    if lifted:
        _drop_lifted(values, first, P, rows, scratch, suspect)


@inner
def _times_leaf(tables, start, C, unit, u, P, codes, v, rows, values, origin, target, is_first):
    """Target p = origin p * tables[start + unit[u + p], code of v], without origin where this is the first child."""
    width = C + 1
    is_binary = C == 2 and not has_missing(codes, v, C, rows)
    for p in range(0, P - 3, 4):
        t0, t1 = start + unit[u + p] * width, start + unit[u + p + 1] * width
        t2, t3 = start + unit[u + p + 2] * width, start + unit[u + p + 3] * width
        if is_binary:  # a choice between two runs in vector lanes, a look-up hardly
            _choose_four(
                tables[t0],
                tables[t0 + 1],
                tables[t1],
                tables[t1 + 1],
                tables[t2],
                tables[t2 + 1],
                tables[t3],
                tables[t3 + 1],
                codes,
                v,
                rows,
                values,
                origin + p,
                target + p,
                is_first,
            )
        else:
            _look_up_four(
                tables, t0, t1, t2, t3, codes, v, rows, values, origin + p, target + p, is_first
            )
    for p in range(P // 4 * 4, P):
        f, o, t = (
            np.uintp(target + p) * ONE,
            np.uintp(origin + p) * ONE,
            np.uintp(start + unit[u + p] * width),
        )
        for b in range(np.uintp(rows)):
            x = tables[t + np.uintp(codes[v, b])]
            values[f + b] = x if is_first else x * values[o + b]


@inlined
def _choose_four(x0, y0, x1, y1, x2, y2, x3, y3, codes, v, rows, values, origin, target, is_first):
    """Four targets = origins * (y where the code is 1, else x)."""
    f, o = np.uintp(target) * ONE, np.uintp(origin) * ONE
    for b in range(np.uintp(rows)):
        c = codes[v, b] == 1
        t0, t1, t2, t3 = y0 if c else x0, y1 if c else x1, y2 if c else x2, y3 if c else x3
        values[f + b] = t0 if is_first else t0 * values[o + b]
        values[f + ONE + b] = t1 if is_first else t1 * values[o + ONE + b]
        values[f + TWO + b] = t2 if is_first else t2 * values[o + TWO + b]
        values[f + THREE + b] = t3 if is_first else t3 * values[o + THREE + b]


@inlined
def _look_up_four(tables, t0, t1, t2, t3, codes, v, rows, values, origin, target, is_first):
    """Four targets = origins * tables[t + code]: the code is read once."""
    f, o = np.uintp(target) * ONE, np.uintp(origin) * ONE
    t0, t1, t2, t3 = np.uintp(t0), np.uintp(t1), np.uintp(t2), np.uintp(t3)
    for b in range(np.uintp(rows)):
        c = np.uintp(codes[v, b])
        x0, x1, x2, x3 = tables[t0 + c], tables[t1 + c], tables[t2 + c], tables[t3 + c]
        values[f + b] = x0 if is_first else x0 * values[o + b]
        values[f + ONE + b] = x1 if is_first else x1 * values[o + ONE + b]
        values[f + TWO + b] = x2 if is_first else x2 * values[o + TWO + b]
        values[f + THREE + b] = x3 if is_first else x3 * values[o + THREE + b]


@inlined
def has_missing(codes, v, C, rows):
    """Whether variable v is missing in any row."""
    missing = False
    for b in range(rows):
        missing |= codes[v, b] == C
    return missing


@inner
def _times_inner(unit, u, P, rows, values, source, origin, target, is_first):
    """Target = origin * sums of an inner child (without origin where this is the first child)."""
    for p in range(P):
        f, o, s = (
            np.uintp(target + p) * ONE,
            np.uintp(origin + p) * ONE,
            np.uintp(source + unit[u + p]) * ONE,
        )
        for b in range(np.uintp(rows)):
            x = values[s + b]
            values[f + b] = x if is_first else x * values[o + b]


@inner
def _rescale(values, first, P, rows, risky, lifts, scratch, bits, exponent, e, suspect):
    """Multiply each row's products by the power of two that brings their maximum to [1, 2): `kernels.rescaling`."""
    for b in range(np.uintp(rows)):
        scratch[0, b], scratch[1, b] = 0.0, np.inf
    for p in range(P):
        f = np.uintp(first + p) * ONE
        for b in range(np.uintp(rows)):
            x = values[f + b]
            scratch[0, b] = max(scratch[0, b], x)
            scratch[1, b] = min(
                scratch[1, b], x if x != 0.0 or risky else np.inf
            )  # marked values are negative
    some_small = False
    for b in range(np.uintp(rows)):
        power = (bits[0, b] >> 52) - 1023  # the exponent field of a positive double
        if scratch[0, b] == 0.0:
            power = 0
        if risky and power < RISKY_TOP:
            suspect[b] = 1
        exponent[e, b] += power
        bits[0, b] = (1023 - power) << 52  # now top is 2**-power
        if scratch[1, b] * scratch[0, b] < SMALLEST_RESCALED:
            some_small = True
            if not lifts:
                suspect[b] = 1
    for p in range(P):
        f = np.uintp(first + p) * ONE
        for b in range(np.uintp(rows)):
            values[f + b] *= scratch[0, b]
    if lifts and some_small:
        _lift(values, first, P, rows, risky, suspect)


@inlined
def _lift(values, first, P, rows, risky, suspect):
    """Replace what is too small by a marked upper bound; a marked product that has grown makes its row suspect."""
    for p in range(P):
        f = np.uintp(first + p) * ONE
        for b in range(np.uintp(rows)):
            x = values[f + b]
            if x < -RECOVERED_SHARE:
                suspect[b], values[f + b] = 1, -RECOVERED_SHARE
            elif x < 0.0 or (x < SMALLEST_RESCALED and (x > 0.0 or risky)):
                values[f + b] = -SMALLEST_RESCALED


@inner
def _drop_lifted(values, first, P, rows, scratch, suspect):
    """Set marked products to zero; rows in which one might count after all are suspect."""
    for b in range(np.uintp(rows)):
        scratch[0, b], scratch[1, b] = 0.0, 0.0
    for p in range(P):
        f = np.uintp(first + p) * ONE
        for b in range(np.uintp(rows)):
            scratch[0, b] = max(scratch[0, b], values[f + b])
            scratch[1, b] = min(scratch[1, b], values[f + b])
            values[f + b] = max(values[f + b], 0.0)
    for b in range(np.uintp(rows)):
        if -scratch[1, b] > NEGLIGIBLE_SHARE * scratch[0, b]:
            suspect[b] = 1


@inner
def _mix_sparse(weights, columns, w, row_pointer, pointer, K, values, first, out, rows):
    """Sums = weights @ products with CSR weights, which begin at w and pointer."""
    for k in range(K):
        o = np.uintp(out + k) * ONE
        for b in range(np.uintp(rows)):
            values[o + b] = 0.0
        for i in range(w + row_pointer[pointer + k], w + row_pointer[pointer + k + 1]):
            weight, f = weights[i], np.uintp(first + columns[i]) * ONE
            for b in range(np.uintp(rows)):
                values[o + b] += weight * values[f + b]


@inlined
def _add_exponents(packed, r, exponent, rows):
    """Add the exponents of a region's children to its own."""
    for c in range(
        packed.region[r, FIRST_CHILD], packed.region[r, FIRST_CHILD] + packed.region[r, ARITY]
    ):
        if not packed.child[c, IS_LEAF]:
            for b in range(rows):
                exponent[r, b] += exponent[packed.child[c, SOURCE], b]


@inner
def _mark_small(values, out, K, rows, suspect):
    """Rows in which a sum may have lost a part to underflow are suspect."""
    for k in range(K):
        o = np.uintp(out + k) * ONE
        for b in range(np.uintp(rows)):
            if values[o + b] < SMALLEST:
                suspect[b] = 1
