"""Where the values of a region go in a tile: on a stack, or kept for the way down.

What the way down needs of the way up, the sums of every region, may be far larger than a cache: 18 MB at 545 regions of
16 sums.  Written, fetched and evicted again, it costs as much as the arithmetic.  So the regions of a large circuit are
cut into blocks, runs of the post-order whose products and sums fit into the L2 cache, and a tile goes

    up      block by block; only sums that are read by another block ("kept") outlive their own
    down    block by block in reverse: up once more, for products and sums that are not kept, and down the same block

The last block goes down at once.  Several tiles go through a block one after the other, so that its weights and
tables, and their flows, are in the cache, too: each tile has places of its own for kept sums and for their flows.  This
takes a third off an epoch of 4,096 rows at V = 784, K = 4 and 256 categories, a quarter at K = 16 and 2 categories, and
a fifth at V = 2,500, K = 4 and 2 categories (`benchmarks.bench_em`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pcircuit.arguments import Bools, Ints
from pcircuit.circuit import Circuit, derived
from pcircuit.kernels.packed import (
    ARITY,
    CATEGORIES,
    IS_LEAF,
    PRODUCTS,
    SOURCE,
    SUMS,
    VARIABLE,
    WEIGHT,
    Packed,
)
from pcircuit.kernels.packing import pack

TILE_ROWS = 256  # rows of a tile at most: enough to pay for a region's bookkeeping, few enough to stay in the cache
STRIDE = (
    TILE_ROWS + 8
)  # from unit to unit; an odd number of cache lines, so that units do not compete for places
# what the way down finds of a region, the other it computes again; the way up finds none, or what outlived its block
SUMS_KEPT, PRODUCTS_KEPT, BOTH_KEPT, NONE_KEPT, OUTSIDE_KEPT = map(np.int64, range(5))
BLOCK_BYTES = 600_000  # of products, sums, parameters and flows of a block; from 300,000 to 1,000,000 all are as fast
MOST_KEPT = 5_000_000  # bytes of sums, parameters and flows that need no blocks: going up twice costs as much
MOST_PRODUCTS = 32  # of a region: with more, its matrix product costs more than to fetch its sums
MOST_TOGETHER, KEPT_UNITS = 8, 8000  # tiles that go through a block together; what they may keep


class Layout(NamedTuple):
    """Where in a tile each inner region keeps its products and its sums, and the flow of its sums."""

    products: Ints
    sums: Ints
    flows: Ints
    spare: int  # room for the products of one region, beside their place
    num_values: int
    num_flows: int
    keeps: int  # what the way down finds: SUMS_KEPT, PRODUCTS_KEPT or BOTH_KEPT
    kept: int  # from here on there are sums that outlive their block
    ends: Ints  # (blocks,) where each block of inner regions ends
    tile_sums: Ints  # (tiles that are worked on together, inner regions) `sums` of each tile
    tile_flows: Ints  # the same of `flows`


def stack_layout(circuit: Circuit) -> Layout:
    """A layout for evaluation only: sums live on a stack, since a region's values die once its parent is done."""
    return derived(circuit, "stack_layout", lambda: _stack_layout(pack(circuit)))


def full_layout(circuit: Circuit) -> Layout:
    """A layout that keeps the sums, or else the products, of every inner region; the others and flows on stacks."""
    return derived(circuit, "full_layout", lambda: _full_layout(pack(circuit)))


def _stack_layout(packed: Packed) -> Layout:
    """Products in the first rows, shared by all regions; sums where the first inner child's sums were."""
    region = packed.region
    spare = int(region[:, PRODUCTS].max(initial=0))
    scratch = 2 * spare
    leaf, source = packed.child[:, IS_LEAF].tolist(), packed.child[:, SOURCE].tolist()
    sums: list[int] = []
    top = highest = scratch
    for _, num_sums, arity, first, *_ in region.tolist():
        inner = [sums[source[c]] for c in range(first, first + arity) if not leaf[c]]
        sums.append(min(inner, default=top))
        top = sums[-1] + num_sums
        highest = max(highest, top)
    nowhere = np.zeros(len(region), dtype=np.int64)
    return _in_one_block(
        nowhere, np.array(sums, dtype=np.int64), nowhere, spare, (highest, 0), SUMS_KEPT
    )


def _in_one_block(
    products: Ints, sums: Ints, flows: Ints, spare: int, sizes: tuple[int, int], keeps: int
) -> Layout:
    """A layout for one tile at a time."""
    return Layout(
        products,
        sums,
        flows,
        spare,
        *sizes,
        keeps,
        sizes[0],
        np.array([len(sums)]),
        sums[None],
        flows[None],
    )


def _full_layout(packed: Packed) -> Layout:
    """What is kept, one after the other; a region's children take the place of its flow, the last child on top."""
    region = packed.region
    if _is_large(packed):
        return _blocked_layout(packed)
    sums = _sums_layout(packed)
    if not len(region) or not _keeps_products(packed):
        return sums
    stack = _stack_layout(packed)
    ends = stack.num_values + np.cumsum(region[:, PRODUCTS])
    return _in_one_block(
        ends - region[:, PRODUCTS],
        stack.sums,
        sums.flows,
        sums.spare,
        (int(ends[-1]), sums.num_flows),
        PRODUCTS_KEPT,
    )


def _sums_layout(packed: Packed) -> Layout:
    """Products in the first rows, shared by all regions, and sums one after the other."""
    region, spare = packed.region, int(packed.region[:, PRODUCTS].max(initial=0))
    flows, highest = _flow_places(packed, spare, np.zeros(len(region), dtype=bool))
    ends = 2 * spare + np.cumsum(region[:, SUMS])
    return _in_one_block(
        np.zeros(len(region), dtype=np.int64),
        ends - region[:, SUMS],
        flows,
        spare,
        (int(ends[-1]) if len(ends) else 0, highest),
        SUMS_KEPT,
    )


def _flow_places(packed: Packed, spare: int, is_kept: Bools) -> tuple[Ints, int]:
    """Where flows are, on a stack, and its height; those of kept regions are elsewhere."""
    region, leaf, source = (
        packed.region,
        packed.child[:, IS_LEAF].tolist(),
        packed.child[:, SOURCE].tolist(),
    )
    flows, highest = np.full(len(region), spare), spare + 1
    for r in range(len(region) - 1, -1, -1):
        _, num_sums, arity, first, *_ = region[r].tolist()
        top = flows[r]
        highest = max(highest, top + num_sums)
        for c in range(first, first + arity):
            if not leaf[c] and not is_kept[source[c]]:
                flows[source[c]] = top
                top += region[source[c], SUMS]
        highest = max(highest, top)
    return flows, int(highest)


def _blocked_layout(packed: Packed) -> Layout:
    """A block's products and sums take the places of the block before; kept sums have their own, tile by tile."""
    region = packed.region
    spare = int(region[:, PRODUCTS].max(initial=0))
    block = _blocks(packed)
    inner = packed.child[:, IS_LEAF] == 0
    owner = np.repeat(np.arange(len(region)), region[:, ARITY])
    parent = np.arange(len(region))
    parent[packed.child[inner, SOURCE]] = owner[inner]
    is_kept = block[parent] != block
    sizes = region[:, PRODUCTS] + np.where(is_kept, 0, region[:, SUMS])
    ends = np.cumsum(sizes)
    starts = ends - sizes
    products = spare + starts - starts[np.searchsorted(block, block)]
    sums, top = products + region[:, PRODUCTS], int((products + sizes).max())
    flows, highest = _flow_places(packed, spare, is_kept)
    kept = np.cumsum(np.where(is_kept, region[:, SUMS], 0))
    together = int(np.clip(KEPT_UNITS // max(int(kept[-1]), 1), 1, MOST_TOGETHER))
    tiles = np.arange(together)[:, None] * kept[-1]
    place = kept - region[:, SUMS] + tiles
    more = int(kept[-1]) * together
    tile_sums, tile_flows = (
        np.where(is_kept, top + place, sums),
        np.where(is_kept, highest + place, flows),
    )
    return Layout(
        products,
        tile_sums[0],
        tile_flows[0],
        0,
        top + more,
        highest + more,
        BOTH_KEPT,
        top,
        np.append(np.flatnonzero(np.diff(block)) + 1, len(region)),
        tile_sums,
        tile_flows,
    )


def _blocks(packed: Packed) -> Ints:
    """(inner regions,) number of each region's block: as many in a row as the cache has room for."""
    owner = np.repeat(np.arange(len(packed.region)), packed.region[:, ARITY])
    leaf = packed.child[:, IS_LEAF] == 1
    tables = np.diff(packed.table_start, append=len(packed.tables))[packed.child[leaf, VARIABLE]]
    numbers = np.bincount(owner[leaf], weights=tables, minlength=len(packed.region))
    numbers += np.diff(packed.region[:, WEIGHT], append=len(packed.weights))
    size = 8 * STRIDE * (packed.region[:, PRODUCTS] + packed.region[:, SUMS]) + 16 * numbers
    blocks, number, filled = [], 0, 0.0
    for more in size.tolist():
        if filled and filled + more > BLOCK_BYTES:
            number, filled = number + 1, 0.0
        blocks.append(number)
        filled += more
    return np.array(blocks)


def _is_large(packed: Packed) -> bool:
    """Whether what a tile keeps leaves the cache, and it is cheaper to compute it once more."""
    kept = 8 * STRIDE * int(packed.region[:, SUMS].sum()) + 16 * (
        len(packed.weights) + len(packed.tables)
    )
    return kept > MOST_KEPT and 0 < int(packed.region[:, PRODUCTS].max(initial=0)) <= MOST_PRODUCTS


def _keeps_products(packed: Packed) -> bool:
    """Whether products are kept and sums computed again on the way down, or sums kept and products multiplied again.

    Counted in multiplications of a matrix product; a look-up, which is scalar, costs 16, a multiplication of what is
    not in registers 4.  With 256 categories keeping products saves a fifth of an epoch at V = 784 and K = 16.
    """
    num_products, num_sums = packed.region[:, PRODUCTS], packed.region[:, SUMS]
    factors = np.where(packed.child[:, CATEGORIES] > 2, 16, 4)
    again = int(factors @ np.repeat(num_products, packed.region[:, ARITY]))
    return len(packed.weights) <= again and num_products.sum() <= 2 * num_sums.sum()
