"""Memory in which a program works: a group of tiles of rows, and the codes of their evidence."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pcircuit.arguments import Evidence, Floats, Ints
from pcircuit.circuit import Circuit, derived
from pcircuit.evidence import check_evidence
from pcircuit.kernels.packed import Packed
from pcircuit.kernels.programs import (
    EXPONENT,
    ONES,
    ROOT,
    STRIDE,
    SUSPECT,
    TILE_ROWS,
    WEIGHTS,
    Program,
)

T = TypeVar("T")
NO_SUMS = np.empty(0)  # of a pass that has none
GROUP_CODES, MOST_TILES = 200_000, 16  # entries of a group, so that they stay in the cache; tiles
BLOCK_CODES = 2_000_000  # entries where a program has parts, which read few columns at a time
WORK = ("root_work", "unit_work", "flow_work")  # kinds of work spaces that circuits keep
LINE = 64  # bytes of a cache line, and of the widest vector: values that straddle two cost twice
MOST_CATEGORIES = 2**16 - 2  # of a variable, for codes of 16 bits and -1; others are left to NumPy


class Work(NamedTuple):
    """Arrays of a group of tiles, each of `step` rows."""

    program: Program
    step: int
    categories: Any  # (V,) uint16
    rows: Any  # (tiles * step, V) uint16, the evidence as it comes
    codes: Any  # (tiles, V, STRIDE) uint16, C where missing
    values: Any  # float64 or float32, of all units
    own: Any  # (tiles, own units, STRIDE) the same memory, what tiles have of their own
    loaded: list[int]  # which rows of the data are there

    def of_rows(self, unit: int, rows: int) -> Floats:
        """What a unit of each tile's own holds for the rows of the group."""
        return self.own[: -(-rows // self.step), unit, : self.step].reshape(-1)[:rows]

    def set_weights(self, weights: Floats) -> None:
        """Let each row count so much."""
        tiles, rest = divmod(len(weights), self.step)
        whole = tiles * self.step
        self.own[:tiles, WEIGHTS, : self.step] = weights[:whole].reshape(tiles, self.step)
        if rest:
            self.own[tiles, WEIGHTS, :rest] = weights[whole:]

    def run(
        self,
        packed: Packed,
        rows: int,
        edges: Floats = NO_SUMS,
        counts: Floats = NO_SUMS,
        table: Any = None,
    ) -> tuple[Floats, Ints, Ints]:
        """Run the program for so many loaded rows; returns values of the root, powers of two, suspect rows.

        Shapes: edges (numbers of the program,), counts (numbers of the program,), table (rows * units that are read,).
        """
        from pcircuit.kernels.operations import run

        program, bits = self.program, self.values.view(f"i{self.values.itemsize}")
        common, own = program.common * STRIDE, program.own * STRIDE
        self.own[: -(-rows // self.step), (EXPONENT, SUSPECT)] = 0.0
        suspects = common + SUSPECT * STRIDE
        sizes = (common, own, self.codes[0].size, rows, self.step, suspects)
        run(
            *program[:3],
            packed.weights,
            packed.tables,
            edges,
            counts,
            self.values[:0] if table is None else table,
            self.codes.reshape(-1),
            self.values,
            bits,
            np.array(sizes, dtype=np.uint64),
        )
        exponents = self.of_rows(EXPONENT, rows).view(bits.dtype)
        return self.of_rows(ROOT, rows), exponents, np.flatnonzero(self.of_rows(SUSPECT, rows))

    def load(self, circuit: Circuit, data: Evidence, start: int, stop: int) -> None:
        """Put rows start..stop of `data` into the codes; raise if one of them is not evidence."""
        from pcircuit.kernels.transpose import MISSING, transpose

        block, (_, width) = data[start:stop], self.rows.shape
        valid = block.dtype.itemsize == 1 or not (
            block.min(initial=0) < -1 or block.max(initial=0) >= MISSING
        )
        if valid:
            np.copyto(self.rows[: len(block), : circuit.num_variables], block, casting="unsafe")
            codes = self.codes.reshape(-1)
            words, turned = self.rows.reshape(-1).view(np.uint64), codes.view(np.uint64)
            sizes = np.array((len(block), self.step, width // 4), dtype=np.uint64)
            valid = transpose(words, self.categories, turned, codes, sizes)
        if not valid:
            check_evidence(circuit, data[:stop])


def new_work(circuit: Circuit, packed: Packed, program: Program, most_bytes: float) -> Work:
    """A group for a program; a tile's values take no more than `most_bytes`, if half a tile does."""
    V = circuit.num_variables
    width = -(-V // 4) * 4
    size = packed.weights.itemsize * program.units * TILE_ROWS
    step = TILE_ROWS if size <= most_bytes else TILE_ROWS // 2
    in_parts = len(program.ends) > 1
    most = (BLOCK_CODES, program.together) if in_parts else (GROUP_CODES, MOST_TILES)
    tiles = int(np.clip(most[0] // V // step, 1, most[1]))
    values = _aligned((program.common + program.own * tiles) * STRIDE, packed.weights.dtype)
    values[ONES * STRIDE : (ONES + 1) * STRIDE] = 1.0
    own = values[program.common * STRIDE :].reshape(tiles, program.own, STRIDE)
    rows = np.zeros((tiles * step, width), dtype=np.uint16)
    codes = np.zeros((tiles, width, STRIDE), dtype=np.uint16)
    return Work(program, step, packed.categories.astype(np.uint16), rows, codes, values, own, [])


def free_work(circuit: Circuit, kind: str) -> list[Any]:
    """Work spaces of a kind (see WORK) that wait for the next call with a circuit, as many as ever worked together."""
    return derived(circuit, kind, list)


def drop_work(circuit: Circuit) -> None:
    """Let go of the work spaces that wait for the next call with a circuit: some megabytes for each thread."""
    for kind in WORK:
        circuit._cache.pop(
            kind, None
        )  # a call that is under way in another thread has its own hold of the list


def borrow(free: list[Work], program: Program, make: Callable[[], Work]) -> Work:
    """One of the free work spaces for a program, or a new one; lists are safe to share between threads."""
    try:
        work = free.pop()
    except IndexError:
        return make()
    return work if work.program is program else make()


def groups(
    circuit: Circuit,
    packed: Packed,
    program: Program,
    data: Evidence,
    rows: tuple[int, int],
    free: list[Any],
    most_bytes: float,
    *,
    same_rows: bool = False,
) -> Iterator[tuple[Work, int, int]]:
    """Yield a work space with lo..hi of the rows loaded, lo and hi, one group after the other.

    `same_rows`: the work spaces that are free have seen no other data.
    """
    work = borrow(free, program, lambda: new_work(circuit, packed, program, most_bytes))
    start, stop = rows
    for lo in range(start, stop, len(work.rows)):
        hi = min(lo + len(work.rows), stop)
        if not same_rows or work.loaded != [lo, hi]:
            work.load(circuit, data, lo, hi)
            work.loaded[:] = lo, hi
        yield work, lo, hi
    free.append(work)


def _aligned(size: int, dtype: Any) -> Any:
    """(size,) zeros that begin at a cache line."""
    each = LINE // dtype.itemsize
    array = np.zeros(size + each, dtype)
    skipped = -array.__array_interface__["data"][0] % LINE // dtype.itemsize
    return array[skipped : skipped + size]
