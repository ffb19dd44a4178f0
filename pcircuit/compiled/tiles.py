"""Many tiles in one call, compiled.

A call of compiled code gives up the interpreter lock and asks for it again afterwards.  If another thread holds it at
that moment, the wait is as long as a whole tile (20 microseconds at V = 49, K = 4): two threads do no more than one.
So evidence is transposed for a group of tiles at a time, and the loop over the tiles of a group is compiled too.
"""
from __future__ import annotations

import numpy as np

from pcircuit.compiled.downward import downward_tile
from pcircuit.compiled.jit import jit
from pcircuit.compiled.readers import Wanted
from pcircuit.compiled.tile import STRIDE
from pcircuit.compiled.upward import upward_tile

LOG_2 = float(np.log(2.0))


@jit
def upward_tiles(packed, layout, tile, group, rows, wanted):
    """The upward pass over the rows of a group, tile by tile; see `compiled.upward.upward_tile`."""
    for start in range(0, rows, group.step):
        count = min(group.step, rows - start)
        _enter(tile, group, start, count)
        upward_tile(packed, layout, tile, count, Wanted(wanted.readers, wanted.table[start:], wanted.totals))
        _leave(layout, tile, group, start, count)


@jit
def flow_tiles(packed, layout, tile, group, rows, nothing, chunk, sums):
    """Both passes over the rows of a group; returns how many of them are suspect.

    With `chunk` = (row, stop, per_chunk) and `sums` = (part, whole) the group begins at `row` of the data.  The flows
    of `per_chunk` rows, or of those before `stop`, are summed in `part`, which is zero between chunks, and then added
    to `whole`.  Suspect rows do not count.  `nothing` is `compiled.readers.NOTHING`: as a constant it would be of
    another type than in the other calls, and the pass be compiled twice.
    """
    row, stop, per_chunk = chunk
    part, whole = sums
    suspects = 0
    for start in range(0, rows, group.step):
        count = min(group.step, rows - start)
        _enter(tile, group, start, count)
        upward_tile(packed, layout, tile, count, nothing)
        _leave(layout, tile, group, start, count)
        for b in range(np.uintp(start), np.uintp(start + count)):
            if group.suspects[b]:
                group.weights[b] = 0.0
                suspects += 1
        part.log[0] += _weighted_log(group, start, count)
        downward_tile(packed, layout, tile, count, group.weights[start:], part.edges, part.counts)
        row += count
        if row % per_chunk == 0 or row == stop:
            _move(part.edges, whole.edges)
            _move(part.counts, whole.counts)
            _move(part.log, whole.log)
    return suspects


@jit
def _weighted_log(group, start, count):
    """Weighted sum of the log-likelihoods of a tile; rows of weight 0 do not count, whatever they are."""
    total = 0.0
    for b in range(np.uintp(start), np.uintp(start + count)):
        if group.weights[b] > 0.0:
            total += group.weights[b] * (np.log(group.roots[b]) + LOG_2 * group.exponents[b])
    return total


@jit
def _move(part, whole):
    """Add a part to the whole, and begin the next."""
    for i in range(len(part)):
        whole[i] += part[i]
        part[i] = 0.0


@jit
def _enter(tile, group, start, count):
    """Copy the evidence of one tile, which costs less than reading it with an offset everywhere."""
    first = np.uintp(start)
    for v in range(len(tile.codes) if len(group.roots) > group.step else 0):
        for b in range(np.uintp(count)):
            tile.codes[v, b] = group.codes[v, first + b]
    for b in range(np.uintp(count)):
        tile.skip[b] = group.skip[first + b]


@jit
def _leave(layout, tile, group, start, count):
    """Keep what the caller asks of each row."""
    root, first = np.uintp(layout.sums[-1] * STRIDE), np.uintp(start)
    for b in range(np.uintp(count)):
        group.roots[first + b] = tile.values[root + b]
        group.exponents[first + b] = tile.exponent[0, b]
        group.suspects[first + b] = tile.suspect[b]
