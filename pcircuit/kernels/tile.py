"""Work space for one tile of rows, and for the group of rows that one call of a kernel works through.

Unit i of a tile keeps its values in ``values[i * STRIDE + b]`` for the rows b < TILE_ROWS.  Both numbers are
constants, for the compiler's sake (`kernels.mix`); a tile may hold fewer rows, but not more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pcircuit.arguments import Bools, Evidence, Floats, Ints
from pcircuit.circuit import Circuit, derived
from pcircuit.evidence import check_evidence
from pcircuit.kernels.layouts import STRIDE as STRIDE
from pcircuit.kernels.layouts import TILE_ROWS as TILE_ROWS
from pcircuit.kernels.layouts import Layout
from pcircuit.kernels.packed import Packed

T = TypeVar("T")
GROUP_CODES, MOST_TILES = (
    200_000,
    16,
)  # entries of evidence of a group, so that they stay in the cache; its tiles
BLOCK_CODES = (
    2_000_000  # entries where tiles go through blocks of regions, which read few columns at a time
)
WORK = ("root_work", "unit_work", "flow_work")  # kinds of work spaces that circuits keep
LINE = (
    64  # bytes of a cache line and of the widest vector: values that straddle two lines cost twice
)


class Tile(NamedTuple):
    """Arrays of a tile; B is STRIDE where rows are shorter than the tile may be."""

    codes: Evidence  # (V, B) uint16 or int64 categories, C where missing
    values: Floats  # (units * STRIDE,)
    flow: Floats  # (units * STRIDE,) downward pass only
    exponent: Ints  # (regions or 1, B) int64
    suspect: Bools  # (B,) bool, set by the upward pass
    skip: Bools  # (B,) bool, rows that do not count in totals
    scratch: Floats  # (3, B) kernels cannot allocate
    bits: Ints  # the same memory as int64
    counts: Floats  # (most categories + 1,) scratch


class Group(NamedTuple):
    """Arrays of a group of G rows, and how many of them make a tile."""

    codes: Evidence  # (V, G + a few) as in a tile; those of the tile itself where it is all of the group
    block: Evidence  # (8, G + a few) uint8, scratch of the transposition
    rows: Evidence  # (G, V) int64, scratch for evidence of other types
    roots: Floats  # (G,) value of the root, times 2**exponents
    exponents: Ints  # (G,) int64, where the tile has one row of exponents
    suspects: Bools  # (G,) bool
    skip: Bools  # (G,) bool, false between calls
    weights: Floats  # (G,) row weights of flows
    step: int


class Sums(NamedTuple):
    """Flows summed over rows."""

    edges: Floats  # like `Packed.weights`; not yet times them while rows are being added
    counts: Floats  # like `Packed.tables`
    log: Floats  # (1,) weighted sum of log-likelihoods


def new_sums(packed: Packed) -> Sums:
    """Sums over no rows."""
    return Sums(np.zeros_like(packed.weights), np.zeros_like(packed.tables), np.zeros(1))


def new_work(
    circuit: Circuit, layout: Layout, num_exponents: int, most_bytes: float
) -> tuple[Tile, Group]:
    """A tile and a group for a layout; a tile's values take no more than `most_bytes`, if half a tile does."""
    V, step = (
        circuit.num_variables,
        TILE_ROWS if 8 * layout.num_values * TILE_ROWS <= most_bytes else TILE_ROWS // 2,
    )
    most = (
        (GROUP_CODES, MOST_TILES) if len(layout.ends) == 1 else (BLOCK_CODES, len(layout.tile_sums))
    )
    rows = int(np.clip(most[0] // V // step, 1, most[1])) * step
    scratch = np.empty((3, STRIDE))
    dtype = np.uint16 if max(circuit.num_categories) < 2**16 else np.int64
    tile = Tile(
        np.empty((V, STRIDE), dtype=dtype),
        _aligned(layout.num_values * STRIDE),
        _aligned(layout.num_flows * STRIDE),
        np.empty((num_exponents, STRIDE), dtype=np.int64),
        np.zeros(STRIDE, dtype=bool),
        np.zeros(STRIDE, dtype=bool),
        scratch,
        scratch.view(np.int64),
        np.empty(max(circuit.num_categories) + 1),
    )
    stride = rows + STRIDE - TILE_ROWS
    codes = (
        np.empty((V, stride), dtype=dtype) if rows > step else tile.codes
    )  # one tile needs no copy
    group = Group(
        codes,
        np.empty((8, stride), dtype=np.uint8),
        np.empty((rows, V), dtype=np.int64),
        np.empty(rows),
        np.empty(rows, dtype=np.int64),
        np.zeros(rows, dtype=bool),
        np.zeros(rows, dtype=bool),
        np.empty(rows),
        step,
    )
    return tile, group


def groups_of_rows(
    group: Group, start: int, stop: int, per_chunk: int
) -> Iterator[tuple[int, int]]:
    """The groups in which rows start..stop are loaded: each of several chunks as a whole, or of a part of one.

    So every chunk has the same tiles, and its sums the same rounding, whichever chunks come before it.  In a group of
    one tile, whose codes are read where they lie, no second chunk may begin.
    """
    most = len(group.roots)
    together = max(most // per_chunk if most > group.step else 0, 1) * per_chunk
    for first in range(start, stop, together):
        end = min(first + together, stop)
        for lo in range(first, end, most):
            yield lo, min(most, end - lo)


def load_group(
    circuit: Circuit, categories: Ints, data: Evidence, start: int, stop: int, group: Group
) -> None:
    """Put rows start..stop of `data` into the group's codes; raise if one of them is not evidence."""
    from pcircuit.kernels.transpose import transpose_bytes, transpose_rows

    # every other type, order of axes or read-only array would be one more compilation, of a second or so
    if data.dtype.itemsize == 1:
        rows = np.require(data[start:stop], data.dtype, ["C", "W"]).view(np.uint8)
        valid = transpose_bytes(
            rows,
            categories,
            data.dtype.kind == "i",
            group.block,
            group.block.view(np.uint64),
            group.codes,
        )
    else:
        rows = data[start:stop]
        if rows.dtype != np.int64 or not rows.flags.carray:
            rows = group.rows[
                : stop - start
            ]  # no new memory, which the system would fill with zeros for each group
            np.copyto(rows, data[start:stop], casting="unsafe")
        valid = transpose_rows(rows, categories, group.codes)
    if not valid:
        check_evidence(circuit, data[:stop])


def free_work(circuit: Circuit, kind: str) -> list[Any]:
    """Work spaces of a kind (see WORK) that wait for the next call with a circuit, as many as ever worked together."""
    return derived(circuit, kind, list)


def drop_work(circuit: Circuit) -> None:
    """Let go of the work spaces that wait for the next call with a circuit: some megabytes for each thread."""
    for kind in WORK:
        circuit._cache.pop(
            kind, None
        )  # a call that is under way in another thread has its own hold of the list


def borrow(free: list[T], make: Callable[[], T]) -> T:
    """One of the free work spaces, or a new one; lists are safe to share between threads."""
    try:
        return free.pop()
    except IndexError:
        return make()


def _aligned(size: int) -> Floats:
    """(size,) floats that begin at a cache line."""
    array = np.empty(size + LINE // 8)
    skipped = -array.__array_interface__["data"][0] % LINE // 8
    return array[skipped : skipped + size]
