"""Memory in which a program works: a group of tiles of rows, and the codes of their evidence."""

from collections.abc import Callable
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
    values: Floats  # of all units
    own: Floats  # (tiles, own units, STRIDE) the same memory, what tiles have of their own
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
        self, packed: Packed, rows: int, edges: Floats, counts: Floats
    ) -> tuple[Floats, Ints, Ints]:
        """Run the program for so many loaded rows; returns values of the root, powers of two, suspect rows.

        Shapes: edges (numbers of the program,), counts (numbers of the program,).
        """
        from pcircuit.kernels.operations import run

        program, bits = self.program, self.values.view(np.int64)
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
            self.codes.reshape(-1),
            self.values,
            bits,
            np.array(sizes, dtype=np.uint64),
        )
        exponents = self.of_rows(EXPONENT, rows).view(np.int64)
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
    step = TILE_ROWS if 8 * program.units * TILE_ROWS <= most_bytes else TILE_ROWS // 2
    in_parts = len(program.ends) > 1
    most = (BLOCK_CODES, program.together) if in_parts else (GROUP_CODES, MOST_TILES)
    tiles = int(np.clip(most[0] // V // step, 1, most[1]))
    values = _aligned((program.common + program.own * tiles) * STRIDE)
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


def _aligned(size: int) -> Floats:
    """(size,) zeros that begin at a cache line."""
    array = np.zeros(size + LINE // 8)
    skipped = -array.__array_interface__["data"][0] % LINE // 8
    return array[skipped : skipped + size]
