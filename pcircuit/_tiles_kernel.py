"""Many tiles in one call, compiled.

A call of compiled code gives up the interpreter lock and asks for it again afterwards.  If the other thread has it just
then, that takes as long as a whole tile (20 microseconds at V = 49, K = 4), and two threads get no more done than one.
So evidence is turned for a group of tiles at a time, and the loop over the tiles of a group is compiled too.
"""
from __future__ import annotations

from ._compile import jit
from ._downward_kernel import downward_tile
from ._packed import STRIDE
from ._upward_kernel import upward_tile


@jit
def upward_tiles(packed, layout, tile, group, rows, readers, table, totals):
    """The upward pass over the rows of a group, tile by tile; see `_upward_kernel.upward_tile`."""
    for start in range(0, rows, group.step):
        count = min(group.step, rows - start)
        _enter(tile, group, start, count)
        upward_tile(packed, layout, tile, count, readers, table[start:], totals)
        _leave(layout, tile, group, start, count)


@jit
def flow_tiles(packed, layout, tile, group, rows, readers, table, totals, edge_flow, input_flow):
    """Both passes; the flows count the rows by `group.weights`, but not suspect ones.  The readers read nothing."""
    for start in range(0, rows, group.step):
        count = min(group.step, rows - start)
        _enter(tile, group, start, count)
        upward_tile(packed, layout, tile, count, readers, table, totals)
        _leave(layout, tile, group, start, count)
        for b in range(start, start + count):
            if group.suspects[b]:
                group.weights[b] = 0.0
        downward_tile(packed, layout, tile, count, group.weights[start:], edge_flow, input_flow)


@jit
def _enter(tile, group, start, count):
    """Copy the evidence of one tile, which costs less than reading it with an offset everywhere."""
    for v in range(len(tile.codes) if len(group.roots) > group.step else 0):
        for b in range(count):
            tile.codes[v, b] = group.codes[v, start + b]
    for b in range(count):
        tile.skip[b] = group.skip[start + b]


@jit
def _leave(layout, tile, group, start, count):
    """Keep what the caller asks of each row."""
    root = layout.sums[-1] * STRIDE
    for b in range(count):
        group.roots[start + b] = tile.values[root + b]
        group.exponents[start + b] = tile.exponent[0, b]
        group.suspects[start + b] = tile.suspect[b]
