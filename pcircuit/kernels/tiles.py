"""Many tiles in one call, compiled.

A call of compiled code gives up the interpreter lock and asks for it again afterwards.  If another thread holds it at
that moment, the wait is as long as a whole tile (20 microseconds at V = 49, K = 4): two threads do no more than one.
So evidence is transposed for a group of tiles at a time, and the loop over the tiles of a group is compiled too.
"""

from __future__ import annotations

import numpy as np

from pcircuit.kernels.downward import downward_regions, enter_root
from pcircuit.kernels.jit import inlined, inner, jit
from pcircuit.kernels.layouts import NONE_KEPT, OUTSIDE_KEPT, Layout
from pcircuit.kernels.packed import ARITY, FIRST_CHILD, IS_LEAF, VARIABLE
from pcircuit.kernels.tile import STRIDE
from pcircuit.kernels.units import REGION, read_inputs, read_region
from pcircuit.kernels.upward import upward_regions

LOG_2 = float(np.log(2.0))


@jit
def upward_tiles(packed, layout, tile, group, rows, wanted):
    """The upward pass over the rows of a group, tile by tile; see `kernels.upward.upward_regions`."""
    for start in range(0, rows, group.step):
        count = min(group.step, rows - start)
        enter_rows(packed, tile, group, start, count, 0, len(packed.region))
        for e in range(len(tile.exponent)):
            for b in range(count):
                tile.exponent[e, b] = 0
        reader = read_inputs(packed, tile, count, wanted, start)
        region = np.int64(0)
        while region < len(packed.region):  # up to the next one that is read
            reads = reader < len(wanted.readers)
            end = wanted.readers[reader, REGION] + 1 if reads else len(packed.region)
            upward_regions(packed, layout, tile, count, region, end, NONE_KEPT)
            if reads:
                reader = read_region(layout, tile, count, wanted, start, reader)
            region = end
        note_rows(tile, group, start, count, False)
        root, first = np.uintp(layout.sums[-1] * STRIDE), np.uintp(start)
        for b in range(np.uintp(count)):
            group.roots[first + b] = tile.values[root + b]


@jit
def flow_tiles(packed, layout, tile, group, rows, chunk, sums):
    """Both passes over the rows of a group; returns how many of them are suspect.

    With `chunk` = (row, first, stop, per_chunk) and `sums` = (part, whole) the group begins at `row` of the data, and
    the first of all groups, with `whole` still zero, at `first`.  The flows of `per_chunk` rows, or of those before
    `stop`, are summed in `part`, which is zero between chunks, and then added to `whole`; those of the first chunk in
    `whole` at once, which is the same and cheaper where tables are large.  Suspect rows do not count.
    """
    row, first, stop, per_chunk = chunk
    part, whole = sums
    suspects, start = 0, 0
    while start < rows:
        end = min(rows, start + per_chunk - row % per_chunk)
        is_first = row < first + per_chunk
        suspects += _add_rows(packed, layout, tile, group, start, end, whole if is_first else part)
        row, start = row + end - start, end
        if not is_first and (row % per_chunk == 0 or row == stop):
            _move(part.edges, whole.edges)
            _move(part.counts, whole.counts)
            _move(part.log, whole.log)
    return suspects


@inlined
def _add_rows(packed, layout, tile, group, begin, stop, part):
    """Both passes over rows begin..stop of a group, block by block; returns how many of them are suspect."""
    suspects, last = 0, len(layout.ends) - 1
    for i in range(2 * last + 1):  # all blocks upwards, then all but the last downwards
        block = i if i <= last else 2 * last - i
        first, end = layout.ends[block - 1] if block else np.int64(0), layout.ends[block]
        for start in range(begin, stop, group.step):
            count, place = (
                min(group.step, stop - start),
                _places(layout, (start - begin) // group.step),
            )
            enter_rows(packed, tile, group, start, count, first, end)
            upward_regions(
                packed, place, tile, count, first, end, OUTSIDE_KEPT if i > last else NONE_KEPT
            )
            if i <= last:
                note_rows(tile, group, start, count, block > 0)
            if i == last:
                suspects += _turn(place, tile, group, start, count, part.log)
            if i >= last:
                downward_regions(packed, place, tile, count, first, end, part.edges, part.counts)
    return suspects


@inlined
def _places(layout, number):
    """The layout of one of the tiles that go through blocks together."""
    t = number if len(layout.ends) > 1 else 0
    return Layout(
        layout.products,
        layout.tile_sums[t],
        layout.tile_flows[t],
        layout.spare,
        layout.num_values,
        layout.num_flows,
        layout.keeps,
        layout.kept,
        layout.ends,
        layout.tile_sums,
        layout.tile_flows,
    )


@inlined
def note_rows(tile, group, start, count, is_more):
    """What a block, and those before it, say of the rows."""
    first = np.uintp(start)
    for b in range(np.uintp(count)):
        group.exponents[first + b] = tile.exponent[0, b] + (
            group.exponents[first + b] if is_more else 0
        )
        group.suspects[first + b] = tile.suspect[b] or (is_more and group.suspects[first + b])


@inlined
def _turn(layout, tile, group, start, count, log):
    """At the root: log-likelihood, and flow of the rows; returns how many are suspect, which have neither."""
    suspects, root, first = 0, np.uintp(layout.sums[-1] * STRIDE), np.uintp(start)
    for b in range(np.uintp(count)):
        group.roots[first + b] = tile.values[root + b]
        if group.suspects[first + b]:
            group.weights[first + b] = 0.0
            suspects += 1
    log[0] += _weighted_log(group, start, count)
    enter_root(layout, tile, count, group.weights[start:])
    return suspects


@inner
def _weighted_log(group, start, count):
    """Weighted sum of the log-likelihoods of a tile; rows of weight 0 do not count, whatever they are."""
    total = 0.0
    for b in range(np.uintp(start), np.uintp(start + count)):
        if group.weights[b] > 0.0:
            total += group.weights[b] * (np.log(group.roots[b]) + LOG_2 * group.exponents[b])
    return total


@inner
def _move(part, whole):
    """Add a part to the whole, and begin the next."""
    for i in range(len(part)):
        whole[i] += part[i]
        part[i] = 0.0


@inlined
def enter_rows(packed, tile, group, start, count, begin, end):
    """Copy what regions begin..end read of the evidence, which costs less than reading it with an offset everywhere."""
    region, child, first = packed.region, packed.child, np.uintp(start)
    children = (
        region[end - 1, FIRST_CHILD] + region[end - 1, ARITY]
        if len(group.roots) > group.step
        else 0
    )
    for c in range(region[begin, FIRST_CHILD], children):
        if child[c, IS_LEAF]:
            v = child[c, VARIABLE]
            for b in range(np.uintp(count)):
                tile.codes[v, b] = group.codes[v, first + b]
    for b in range(np.uintp(count)):
        tile.skip[b], tile.suspect[b], tile.exponent[0, b] = group.skip[first + b], False, 0
