"""Work space for one tile of rows, and the evidence of the tile in it.

Unit i of a tile keeps its values in ``values[i * STRIDE + b]`` for the rows b < TILE_ROWS.  Both numbers are
constants, for the compiler's sake (`_mix_kernel`); a tile may hold fewer rows, but not more.
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._packed import STRIDE, TILE_ROWS
from .evidence import check_evidence

LINE = 64  # bytes of a cache line and of the widest vector: values that straddle two lines cost twice


class Tile(NamedTuple):
    """Arrays of a tile; B is STRIDE where rows are shorter than the tile may be."""

    codes: np.ndarray  # (V, B) uint16 or int64 categories, C where missing
    block: np.ndarray  # (8, B) uint8, scratch of the transposition
    values: np.ndarray  # (units * STRIDE,)
    flow: np.ndarray  # (units * STRIDE,) downward pass only
    exponent: np.ndarray  # (regions or 1, B) int64
    suspect: np.ndarray  # (B,) bool, set by the upward pass
    skip: np.ndarray  # (B,) bool, rows that do not count in totals
    scratch: np.ndarray  # (3, B) kernels cannot allocate
    bits: np.ndarray  # the same memory as int64
    counts: np.ndarray  # (most categories + 1,) scratch


def new_tile(circuit, num_values: int, num_flows: int, num_exponents: int) -> Tile:
    """A tile with room for so many units and exponents."""
    scratch = np.empty((3, STRIDE))
    dtype = np.uint16 if max(circuit.num_categories) < 2 ** 16 else np.int64
    return Tile(np.empty((circuit.num_variables, STRIDE), dtype=dtype), np.empty((8, STRIDE), dtype=np.uint8),
                _aligned(num_values * STRIDE), _aligned(num_flows * STRIDE),
                np.empty((num_exponents, STRIDE), dtype=np.int64), np.zeros(STRIDE, dtype=bool),
                np.zeros(STRIDE, dtype=bool), scratch, scratch.view(np.int64),
                np.empty(max(circuit.num_categories) + 1))


def load_tile(circuit, categories, data, start: int, stop: int, tile: Tile) -> None:
    """Put rows start..stop of `data` into the tile's codes; raise if one of them is not evidence."""
    from ._transpose_kernel import transpose_bytes, transpose_rows
    if data.dtype.itemsize == 1:
        valid = transpose_bytes(data.view(np.uint8), start, stop, categories, data.dtype.kind == "i", tile.block,
                                tile.block.view(np.uint64), tile.codes)
    else:
        valid = transpose_rows(data, start, stop, categories, tile.codes)
    if not valid:
        check_evidence(circuit, data[:stop])


def tile_rows(num_units: int, rows: int, most_bytes: int) -> int:
    """Rows of a tile: all it can hold, or half of them if its units would take more than `most_bytes`."""
    return max(1, min(rows, TILE_ROWS if 8 * num_units * TILE_ROWS <= most_bytes else TILE_ROWS // 2))


def free_tiles(circuit, kind: str) -> list:
    """Tiles of one kind that wait for the next call with this circuit: as many as ever worked at the same time."""
    return circuit._cache.setdefault(kind, [])


def borrow(free: list, make):
    """One of the free tiles, or a new one; lists are safe to share between threads."""
    try:
        return free.pop()
    except IndexError:
        return make()


def _aligned(size: int) -> np.ndarray:
    """(size,) floats that begin at a cache line."""
    array = np.empty(size + LINE // 8)
    skipped = -array.__array_interface__["data"][0] % LINE // 8
    return array[skipped:skipped + size]
