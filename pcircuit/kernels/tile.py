"""Memory in which a program works: a group of tiles of rows, and the codes of their evidence."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from pcircuit.arguments import Evidence, Floats, Ints
from pcircuit.circuit import Circuit, derived
from pcircuit.evidence import check_evidence
from pcircuit.kernels.engine import kernel, machine_code
from pcircuit.kernels.operations import (
    EXPONENT,
    KIND,
    LIMITS,
    NUMBERS,
    ONES,
    ROOT,
    STRIDE,
    SUSPECT,
    TILE_ROWS,
    WEIGHTS,
    run,
)
from pcircuit.kernels.packed import Packed
from pcircuit.kernels.programs import Program
from pcircuit.kernels.rescaling import limits_of
from pcircuit.kernels.transpose import MISSING, transpose

NO_SUMS = np.empty(0)  # of a pass that has none
GROUP_CODES, MOST_TILES = 200_000, 16  # entries of a group, so that they stay in the cache; tiles
BLOCK_CODES = 2_000_000  # entries where a program has parts, which read few columns at a time
WORK = ("root_work", "unit_work", "flow_work")  # kinds of work spaces that circuits keep
LINE = 64  # bytes of a cache line, and of the widest vector: values that straddle two cost twice
MOST_CATEGORIES = 2**16 - 2  # of a variable, for codes of 16 bits and -1; others are left to NumPy


class Work(NamedTuple):
    """Memory of a group of tiles, each of `step` rows, and the kernels that work in it."""

    program: Program
    step: int
    rows: Any  # (tiles * step, V) uint16, the evidence as it comes
    codes: Any  # (tiles, V, STRIDE) uint16, C where missing
    own: Any  # float64 or float32, (tiles, own units, STRIDE) what tiles have of their own
    wrong: Any  # (1,) uint64, whether an entry was out of range
    loaded: list[int]  # which rows of the data are there
    transpose: Callable[[int], None]  # so many rows
    execute: Callable[..., None]  # the program

    def of_rows(self, unit: int, rows: int) -> Floats:
        """What a unit of each tile's own holds for the rows of the group."""
        return self.own[: -(-rows // self.step), unit, : self.step].reshape(-1)[:rows]

    def set_weights(self, weights: Floats) -> None:
        """Let each row count so much."""
        padded = np.zeros(len(self.rows))
        padded[: len(weights)] = weights
        self.own[:, WEIGHTS, : self.step] = padded.reshape(-1, self.step)

    def run(
        self,
        packed: Packed,
        rows: int,
        edges: Floats = NO_SUMS,
        counts: Floats = NO_SUMS,
        table: Any = NO_SUMS,
    ) -> tuple[Floats, Ints, Ints]:
        """Run the program for so many loaded rows; returns values of the root, powers of two, suspect rows.

        Shapes: edges (numbers of the program,), counts (numbers of the program,), table (rows * units that are read,).
        """
        from pcircuit.kernels.jit import place

        self.own[: -(-rows // self.step), (EXPONENT, SUSPECT)] = 0.0
        arrays = packed.weights, packed.tables, edges, counts, table
        self.execute(*map(place, arrays), rows)
        exponents = self.of_rows(EXPONENT, rows).view(f"i{self.own.itemsize}")
        return self.of_rows(ROOT, rows), exponents, np.flatnonzero(self.of_rows(SUSPECT, rows))

    def load(self, circuit: Circuit, data: Evidence, start: int, stop: int) -> None:
        """Put rows start..stop of `data` into the codes; raise if one of them is not evidence."""
        block = data[start:stop]
        valid = block.dtype.itemsize == 1 or not (
            block.min(initial=0) < -1 or block.max(initial=0) >= MISSING
        )
        if valid:
            np.copyto(self.rows[: len(block), : circuit.num_variables], block, casting="unsafe")
            self.wrong[0] = 0
            self.transpose(len(block))
        if not valid or self.wrong[0]:
            check_evidence(circuit, data[:stop])


def new_work(circuit: Circuit, packed: Packed, program: Program) -> Work:
    """A group for a program."""
    from pcircuit.kernels.jit import addresses

    V = circuit.num_variables
    width = -(-V // 4)
    dtype, limits = packed.weights.dtype, limits_of(packed)
    in_parts, step = len(program.ends) > 1, TILE_ROWS
    most = (BLOCK_CODES, program.together) if in_parts else (GROUP_CODES, MOST_TILES)
    tiles = int(np.clip(most[0] // V // step, 1, most[1]))
    common, size = program.common * STRIDE, program.own * STRIDE
    values = _aligned(common + size * tiles, dtype)
    bits = values.view(f"i{dtype.itemsize}")
    values[ONES * STRIDE : (ONES + 1) * STRIDE] = 1.0
    values[LIMITS * STRIDE :][:3] = np.exp2(
        [limits.after_rescale, limits.negligible, limits.lowest]
    )
    bits[LIMITS * STRIDE :][3:6] = limits.risky_top, limits.exponent_bit, limits.bias
    rows = np.zeros((tiles * step, 4 * width), dtype=np.uint16)
    codes = np.zeros((tiles, 4 * width, STRIDE), dtype=np.uint16)
    flat, wrong = codes.reshape(-1), np.zeros(1, dtype=np.uint64)
    words, turned = rows.reshape(-1).view(np.uint64), flat.view(np.uint64)
    transposed = (words, packed.categories.astype(np.uint16), turned, flat, wrong)
    kinds = set(program.lines[::NUMBERS].tolist())
    is_single = dtype == np.float32
    needed = [
        machine_code(one, is_single=is_single) if kind in kinds else None
        for one, kind in KIND.items()
    ]
    sizes = (len(program.ends), common, size, codes[0].size, step, common + SUSPECT * STRIDE)
    numbers = np.zeros(NUMBERS + 2, dtype=np.uint64), np.array(sizes, dtype=np.uint64)
    memory = (flat, values, bits, *numbers)
    return Work(
        program,
        step,
        rows,
        codes,
        values[common:].reshape(tiles, program.own, STRIDE),
        wrong,
        [],
        kernel(transpose, transposed, V, width, step),
        kernel(run, (addresses(needed), *program[:3], *memory)),
    )


def free_work(circuit: Circuit, kind: str) -> list[Any]:
    """Work spaces of a kind (see WORK) that wait for the next call with a circuit, as many as ever worked together."""
    return derived(circuit, kind, list)


def drop_work(circuit: Circuit) -> None:
    """Let go of the work spaces that wait for the next call with a circuit: some megabytes for each thread."""
    for kind in WORK:
        circuit._cache.pop(
            kind, None
        )  # a call that is under way in another thread has its own hold of the list


def groups(
    circuit: Circuit,
    packed: Packed,
    program: Program,
    data: Evidence,
    rows: tuple[int, int],
    free: list[Any],
    *,
    same_rows: bool = False,
) -> Iterator[tuple[Work, int, int]]:
    """Yield a work space with lo..hi of the rows loaded, lo and hi, one group after the other.

    `same_rows`: the work spaces that are free have seen no other data.
    """
    try:  # lists are safe to share between threads
        work = free.pop()
    except IndexError:
        work = None
    if work is None or work.program is not program:
        work = new_work(circuit, packed, program)
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
