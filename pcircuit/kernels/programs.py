"""Programs: the passes over a tile of rows, operation by operation, with the place of each value in the tile.

`evaluation` goes up to the root, `units` reads units on the way, `flows` goes up and down.  The lines of a program are
the operations of `kernels.operations`.  What a pass up needs no longer is overwritten: sums live on a stack, and die
once their parent is done; all regions share the place of their products.  The pass down follows, region by region,

    ratio_k = F_k / s_k       edge (k, p) += sum_b ratio_k product_p     (times weights[k, p], once, at the end)
    G_p = product_p * sum_k weights[k, p] ratio_k      flow of product p, handed to the units it multiplies

The powers of two taken out upward cancel in ratio_k product_p.

What the way down needs of the way up, products and sums of every region, may be far larger than a cache: 36 MB at 545
regions of 16 sums.  Written, fetched and evicted again, it costs as much as the arithmetic.  So the regions of a large
circuit are cut into blocks, runs of the post-order whose products and sums fit into the L2 cache, and a tile goes

    up      block by block; only sums that are read by another block ("kept") outlive their own
    down    block by block in reverse: up once more, for products and sums that are not kept, and down the same block

The last block goes down at once.  Several tiles go through a block one after the other, so that its weights and
tables, and their flows, are in the cache, too: kept sums and their flows are a tile's own.  This
takes a third off an epoch of 4,096 rows at V = 784, K = 4 and 256 categories, a quarter at K = 16 and 2 categories, and
a fifth at V = 2,500, K = 4 and 2 categories (`benchmarks.bench_em`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pcircuit.arguments import Ints
from pcircuit.circuit import Circuit
from pcircuit.kernels import operations as ops
from pcircuit.kernels.operations import (
    EXPONENT,
    KIND,
    NUMBERS,
    ONES,
    OWN,
    ROOT,
    SPARE,
    STRIDE,
    WEIGHTS,
)
from pcircuit.kernels.packed import (
    ARITY,
    CATEGORIES,
    IS_LEAF,
    PRODUCTS,
    SOURCE,
    SPARSE,
    SUMS,
    UNIT_LIST,
    WEIGHT,
    Packed,
)
from pcircuit.kernels.rescaling import LIFT_HERE, LIFT_RISKY, NO_RESCALE

BLOCK_BYTES = (
    900_000  # of products, sums, flows and parameters of a block; 2 MB take a tenth longer
)
MOST_KEPT = 750_000  # bytes of a tile, for each product of the widest region, that cost less than to go up twice
MOST_TOGETHER, KEPT_UNITS = 8, 8000  # tiles that go through a block together; what they may keep


class Program(NamedTuple):
    """Operations, where each part of them ends, and the size of a tile in units."""

    lines: Any  # (operations * NUMBERS,) uint64
    ends: Any  # (parts,) uint64
    offsets: Any  # uint64, places within tables, and of units among others
    common: int  # units that all tiles share
    own: int  # units that each tile has
    together: int  # tiles that go through one part, if there are several

    @property
    def units(self) -> int:
        """What is in the cache while a group of such tiles is worked on."""
        return self.common + self.own * self.together


class _Writer:
    """Lines of a program; places are units of a tile, the tile's own ones counted from `own` on."""

    def __init__(self, packed: Packed) -> None:
        child, regions = packed.child, packed.region
        lengths = np.diff(child[:, UNIT_LIST], append=len(packed.unit))
        leaf = np.repeat(child[:, IS_LEAF] == 1, lengths)
        width, start = (np.repeat(child[:, c], lengths) for c in (CATEGORIES, SOURCE))
        self.packed, self.regions, self.children = packed, regions.tolist(), child.tolist()
        self.lines: list[tuple[int, ...]] = []
        self.offsets = [np.where(leaf, start + packed.unit * (width + 1), packed.unit * STRIDE)]
        self.num_offsets = len(packed.unit)
        self.most, self.widest = (int(regions[:, c].max(initial=1)) for c in (PRODUCTS, SUMS))
        self.in_order = self.listed(np.arange(max(self.most, self.widest)) * STRIDE)
        self.stored = np.diff(regions[:, WEIGHT], append=len(packed.weights)).tolist()
        if regions[:, SPARSE].any():
            self.rows, self.columns = (
                self.listed(part * STRIDE) for part in (packed.row, packed.column)
            )

    def listed(self, offsets: Ints) -> int:
        """Where a list of offsets begins."""
        self.offsets.append(offsets)
        self.num_offsets += len(offsets)
        return self.num_offsets - len(offsets)

    def write(self, operation: Any, target: int, left: int, right: int, *numbers: int) -> None:
        """Add an operation, whose places are in units."""
        line = (KIND[operation], target * STRIDE, left * STRIDE, right * STRIDE, *numbers)
        self.lines.append(line + (0,) * (NUMBERS - len(line)))

    def multiply(self, r: int, first: int, spare: int, sums: list[int], powers: list[int]) -> None:
        """Products of region r at `first`, rescaled where the plan says so, child by child with a unit of powers."""
        P, _, arity, child = self.regions[r][:4]
        left, step, lifted = ONES, 0, False  # where the factors so far are
        for a, c in enumerate(range(child, child + arity)):
            is_leaf, source, units, categories, variable, one_to_one = self.children[c]
            how = int(self.packed.rescale[c])
            target = (
                first if (arity - a) % 2 == 1 else spare
            )  # not in place, and `first` in the end
            if is_leaf:
                code = variable * STRIDE
                self.write(ops.look_up, target, left, 0, P, categories + 1, step, units, code)
            elif a == 0 and arity > 1 and one_to_one and how == NO_RESCALE:
                target = sums[source]  # needs no copy
            else:
                self.write(ops.multiply, target, left, sums[source], P, 0, step, units)
            left, step = target, STRIDE
            if how != NO_RESCALE:
                self.write(ops.rescale, target, powers[c], 0, P, how)
                lifted |= how in (LIFT_HERE, LIFT_RISKY)
        if lifted:
            self.write(ops.drop, first, 0, 0, P)

    def mix(self, r: int, first: int, target: int) -> None:
        """Sums of region r."""
        P, K, _, _, w, is_sparse = self.regions[r]
        if is_sparse:
            rows, columns = self.rows + w, self.columns + w
            self.write(ops.add, target, first, 0, K, self.stored[r], w, rows, columns)
        else:
            self.write(ops.mix, target, first, 0, K, P, w, P, 1)
        if self.packed.check_sums[r]:
            self.write(ops.mark, 0, target, 0, K)

    def add_edges(self, r: int, ratio: int, first: int, target: int) -> None:
        """Flows of the edges of region r, and at `target` what its products have of its ratios."""
        P, K, _, _, w, is_sparse = self.regions[r]
        if is_sparse:
            size, rows, columns = self.stored[r], self.rows + w, self.columns + w
            self.write(ops.dots, 0, ratio, first, 0, size, w, rows, columns)
            self.write(ops.add, target, ratio, 0, P, size, w, columns, rows)
        else:
            self.write(ops.dot, 0, ratio, first, K, P, w)
            self.write(ops.mix, target, ratio, 0, P, K, w, 1, P)

    def hand_down(
        self, c: int, P: int, flow: int, spare: int, flows: list[int], sums: list[int]
    ) -> None:
        """Flow of the products to child c: to an inner region as ratios."""
        is_leaf, source, units, categories, variable, one_to_one = self.children[c]
        if is_leaf:
            self.write(ops.count, 0, flow, 0, P, categories + 1, 0, units, variable * STRIDE)
            return
        K = self.regions[source][SUMS]
        if not one_to_one:
            self.write(ops.add, spare, flow, ONES, K, P, 0, units, self.in_order)
            flow = spare
        self.write(ops.divide, flows[source], flow, sums[source], K)

    def program(self, ends: list[int], common: int, own: int, together: int = 1) -> Program:
        """What was written."""
        lines = np.array(self.lines, dtype=np.uint64).reshape(-1)
        offsets = np.concatenate(self.offsets).astype(np.uint64)
        return Program(lines, np.array(ends, dtype=np.uint64), offsets, common, own, together)


def evaluation(packed: Packed) -> Program:
    """The pass up to the root."""

    def make() -> Program:
        writer = _Writer(packed)
        spare = SPARE + writer.most
        sums, common = _stack(packed, spare + writer.most)
        sums[-1] = common + ROOT
        powers = [common + EXPONENT] * len(packed.child)
        for r in range(len(sums)):
            writer.multiply(r, SPARE, spare, sums, powers)
            writer.mix(r, SPARE, sums[r])
        return writer.program([len(writer.lines)], common, OWN)

    return _kept(packed, "evaluation", make)


def units(circuit: Circuit, packed: Packed, ids: Ints, *, summed: bool) -> Program:
    """The pass up that reads units: row by row into a table with a column each, or summed over the rows.

    Sums of inner units are in the order of their ids.  Instead of input units the categories of their variables are
    counted.  The last program is kept.
    """
    kept: tuple[Ints, bool, Program] | None = packed.programs.get("units")
    if kept is None or kept[1] != summed or not np.array_equal(kept[0], ids):
        kept = packed.programs["units"] = ids.copy(), summed, _units(circuit, packed, ids, summed)
    return kept[2]


def _units(circuit: Circuit, packed: Packed, ids: Ints, summed: bool) -> Program:
    """The same, anew."""
    writer, order = _Writer(packed), np.argsort(ids, kind="stable")
    spare, inputs = SPARE + writer.most, max(region.num_units for region in circuit.inputs)
    scale, read = spare + writer.most, spare + writer.most + 1
    powers, points = read + inputs, np.cumsum(packed.rescale != NO_RESCALE)
    num_points, of_child = int(points[-1]), (powers + points - 1).tolist()
    sums, common = _stack(packed, powers + num_points)
    sums[-1] = common + ROOT
    factor = common + WEIGHTS if summed else ONES
    places, columns = writer.listed(np.arange(inputs) * STRIDE), writer.listed(order)
    nowhere = writer.listed(np.zeros(len(ids), dtype=np.int64))
    count_start = np.cumsum(packed.categories + 1) - packed.categories - 1
    writer.write(ops.add, powers, 0, 0, num_points)  # no power yet
    ends = np.cumsum([region.num_nodes for region in circuit.regions])
    bounds = np.searchsorted(ids[order], ends).tolist()
    first_point: list[int] = []
    r = low = start = 0
    for region, high, end in zip(circuit.regions, bounds, ends.tolist(), strict=True):
        numbers = ids[order[low:high]] - start
        if region.is_input:
            v, size = region.variable, int(packed.categories[region.variable]) + 1
            if summed and high > low:
                at = writer.listed(count_start[v : v + 1])
                writer.write(ops.count, 0, factor, 0, 1, size, 0, at, v * STRIDE)
            elif high > low:
                at = writer.listed(packed.table_start[v] + numbers * size)
                writer.write(ops.look_up, read, ONES, 0, high - low, size, 0, at, v * STRIDE)
                numbers_read = (high - low, len(ids), 0, places, columns + low)
                writer.write(ops.read, 0, read, ONES, *numbers_read)
        else:
            P, _, arity, child = writer.regions[r][:4]
            inner = [
                writer.children[c][1]
                for c in range(child, child + arity)
                if not writer.children[c][0]
            ]
            before = int(points[child - 1]) if child else 0
            first_point.append(min((first_point[c] for c in inner), default=before))
            writer.multiply(r, SPARE, spare, sums, of_child)
            writer.mix(r, SPARE, sums[r])
            n = int(points[child + arity - 1]) - first_point[r]
            times = factor
            if n and high > low:
                times = scale
                writer.write(ops.scale, scale, factor, powers + first_point[r], n)
            cut = low + int(np.searchsorted(numbers, P))
            for a, b, at, number in ((low, cut, SPARE, 0), (cut, high, sums[r], P)):
                if b > a:
                    x = writer.listed((numbers[a - low : b - low] - number) * STRIDE)
                    if summed:
                        writer.write(ops.dots, 0, at, times, 0, b - a, a, x, nowhere)
                    else:
                        writer.write(ops.read, 0, at, times, b - a, len(ids), 0, x, columns + a)
            r += 1
        low, start = high, end
    return writer.program([len(writer.lines)], common, OWN)


def flows(packed: Packed) -> Program:
    """Both passes."""
    return _kept(packed, "flows", lambda: _flows(packed))


def _flows(packed: Packed) -> Program:
    """A part of the program up for each block, and down but for the last, which turns at the root."""
    writer = _Writer(packed)
    spare = SPARE + writer.most
    through, flow, ratio = (spare + i * writer.most for i in (1, 2, 3))
    products, sums, down, stops, sizes = _places(packed, ratio + writer.widest + 1)
    common = sizes[0]
    counted = [common + EXPONENT] * len(packed.child)
    unread = [ratio + writer.widest] * len(packed.child)  # powers of two that were counted before
    last = len(stops) - 1
    ends = []
    for i in range(2 * last + 1):  # all blocks upwards, then all but the last downwards
        block = min(i, 2 * last - i)
        begin, end = stops[block - 1] if block else 0, stops[block]
        for r in range(begin, end):
            writer.multiply(r, products[r], spare, sums, counted if i <= last else unread)
            if i <= last or sums[r] < common:
                writer.mix(r, products[r], sums[r])
        if i == last:
            writer.write(ops.enter, ratio, common + WEIGHTS, 0)
            writer.write(ops.divide, down[-1], ratio, sums[-1], 1)
        for r in range(end - 1, begin - 1, -1) if i >= last else ():
            P, _, arity, child = writer.regions[r][:4]
            writer.add_edges(r, down[r], products[r], through)
            writer.write(ops.multiply, flow, through, products[r], P, 0, STRIDE, writer.in_order)
            for c in range(child, child + arity):
                writer.hand_down(c, P, flow, ratio, down, sums)
        ends.append(len(writer.lines))
    return writer.program(ends, *sizes)


def _kept(packed: Packed, name: str, make: Callable[[], Program]) -> Program:
    """A program, made once for a structure and a plan."""
    if name not in packed.programs:
        packed.programs[name] = make()
    program: Program = packed.programs[name]
    return program


def _stack(packed: Packed, top: int) -> tuple[list[int], int]:
    """Sums where the first inner child's sums were, and the height of the stack, which begins at `top`."""
    leaf, source = packed.child[:, IS_LEAF].tolist(), packed.child[:, SOURCE].tolist()
    sums: list[int] = []
    highest = top
    for _, num_sums, arity, first, *_ in packed.region.tolist():
        inner = [sums[source[c]] for c in range(first, first + arity) if not leaf[c]]
        sums.append(min(inner, default=top))
        top = sums[-1] + num_sums
        highest = max(highest, top)
    return sums, highest


def _places(packed: Packed, start: int) -> tuple[Any, ...]:
    """Places of products, sums and flows, where each block of regions ends, and the sizes of a `Program`.

    Products and sums of one block take the place of those of another, but for the sums that are kept.
    """
    num_products, num_sums = packed.region[:, PRODUCTS], packed.region[:, SUMS]
    R, block = len(packed.region), _blocks(packed)
    inner = packed.child[:, IS_LEAF] == 0
    parent = np.arange(R)
    parent[packed.child[inner, SOURCE]] = np.repeat(parent, packed.region[:, ARITY])[inner]
    is_kept = block[parent] != block
    kept = np.where(is_kept, num_sums, 0)
    sizes = num_products + 2 * (num_sums - kept)
    begin = np.cumsum(sizes) - sizes
    products = start + begin - begin[np.searchsorted(block, block)]
    common, num_kept = int((products + sizes).max()), int(kept.sum())
    sums = np.where(is_kept, common + OWN + np.cumsum(kept) - kept, products + num_products)
    flows = sums + np.where(is_kept, num_kept, num_sums)
    sums[-1] = common + ROOT
    together = int(np.clip(KEPT_UNITS // num_kept, 1, MOST_TOGETHER)) if num_kept else 1
    ends = np.append(np.flatnonzero(np.diff(block)) + 1, R)
    lists = (part.tolist() for part in (products, sums, flows, ends))
    return *lists, (common, OWN + 2 * num_kept, together)


def _blocks(packed: Packed) -> Ints:
    """(inner regions,) number of each region's block: as many in a row as the cache has room for, or all."""
    owner = np.repeat(np.arange(len(packed.region)), packed.region[:, ARITY])
    num_products, num_sums = packed.region[:, PRODUCTS], packed.region[:, SUMS]
    numbers = np.bincount(owner, weights=packed.child[:, CATEGORIES] * num_products[owner])
    numbers += np.diff(packed.region[:, WEIGHT], append=len(packed.weights))
    size = 8 * STRIDE * (num_products + 2 * num_sums) + 16 * numbers
    is_large = size.sum() > MOST_KEPT * num_products.max()
    blocks, number, filled = [], 0, 0.0
    for more in size.tolist():
        if is_large and filled and filled + more > BLOCK_BYTES:
            number, filled = number + 1, 0.0
        blocks.append(number)
        filled += more
    return np.array(blocks)
