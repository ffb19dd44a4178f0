r"""Numbers to categories, as step functions.

Whatever a column of numbers does (look its levels up, or cut the line into bins), the category of x is a
function of x that is constant between finitely many breaks :math:`b_0 \le b_1 \le \dots`:

.. math:: c(x) = s_{p(x)}, \qquad p(x) = \#\{i : b_i \le x\}.

* Bins with edges :math:`e_1 < \dots < e_E` seen on [low, high]: breaks low, :math:`e_1, \dots, e_E`, high+
  and slots 0, 0, 1, ..., E, E. The first and the last slot are the values beyond the training range.
* Levels :math:`v_0 < v_1 < \dots`: breaks :math:`v_0, v_0^+, v_1, v_1^+, \dots` and slots n, 0, n, 1, ..., n:
  between two levels lies nothing but the unseen level n.

Levels that are no whole numbers, edges, low and high are taken with what four bytes make of them
(`hld.schemas.single_precision`).

Here v+ is the next double after v. NaN sorts after every number, so one more break at NaN gives missing
values a slot of their own (-1) and no test for them is needed. The slots of all columns are laid one after
the other; a block of rows then costs one binary search per column and two gathers for the whole block.

Integers are compared as doubles. Beyond 2^53 distinct integers share a double, so levels as large as that
have no step function and are looked up as Python numbers instead.

`step_tables` prepares the breaks, `step_codes` encodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hld.schemas.columns import BINNED
from hld.schemas.single_precision import spans

if TYPE_CHECKING:
    from hld.schemas.columns import BinColumn, LevelColumn

LARGEST = 2**53  # below this magnitude every integer is a double
_BLOCK_CELLS = 2**15  # cells encoded at a time: the positions of a block stay in the cache


@dataclass(frozen=True, eq=False)
class StepTables:
    """Breaks of each column (None: no step function); codes and flags of the slots of all columns."""

    breaks: tuple[Any, ...]
    first_slot: np.ndarray
    slot_code: np.ndarray
    slot_beyond: np.ndarray


def step_tables(columns: tuple[Any, ...]) -> StepTables:
    """Step functions of V columns: `LevelColumn` with `levels`, `BinColumn` with `edges`, `low`, `high`."""
    steps = [(_bin_steps if column.kind in BINNED else _level_steps)(column) for column in columns]
    lengths = [len(slots) for _, slots, _ in steps]
    first_slot = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.intp)
    slot_code = np.array([code for _, slots, _ in steps for code in slots], dtype=np.int32)
    slot_beyond = np.array([flag for _, _, beyond in steps for flag in beyond], dtype=bool)
    for array in (first_slot, slot_code, slot_beyond):
        array.flags.writeable = False
    return StepTables(tuple(breaks for breaks, _, _ in steps), first_slot, slot_code, slot_beyond)


def _bin_steps(column: BinColumn) -> tuple[Any, ...]:
    """Breaks (E + 3,), slot codes and beyond-the-range flags (E + 4) of a binned column."""
    last = len(column.edges)
    *starts, high = column.marks
    breaks = np.array([*starts, math.nextafter(high, np.inf), np.nan])
    return breaks, [0, *range(last + 1), last, -1], [True, *[False] * (last + 1), True, False]


def _level_steps(column: LevelColumn) -> tuple[Any, ...]:
    """Breaks (2n + 1,), slot codes and flags (2n + 2) of n levels; None, [], [] where doubles cannot tell."""
    if column.rare or any(
        isinstance(level, str) or abs(level) >= LARGEST for level in column.levels
    ):
        return None, [], []
    unseen, taken = len(column.levels), spans(column.levels)
    breaks, slots = [], [unseen]
    # Levels of mixed types are kept by type name first; the breaks have to ascend by value.
    for code in sorted(range(unseen), key=column.levels.__getitem__):
        first, last = taken[code]
        breaks += [first, math.nextafter(last, np.inf)]
        slots += [code, unseen]
    return np.array([*breaks, np.nan]), [*slots, -1], [False] * (len(slots) + 1)


def step_codes(
    tables: StepTables,
    which: list[int],
    values: list[np.ndarray],
    codes: np.ndarray,
    is_beyond: np.ndarray | None = None,
) -> np.ndarray:
    """Write the categories of the columns `which`, given as number arrays (N,), into codes (N, V).

    Returns, for each of these columns, how many values lie beyond the training range (len(which),).

    Shapes: codes (N, V), is_beyond (N, V).
    """
    beyond = np.zeros(len(which), dtype=np.int64)
    target = (
        slice(None) if which == list(range(codes.shape[1])) else which
    )  # a slice is faster than a list
    first_slot = tables.first_slot[which, None]
    num_rows = min(len(codes), max(1, _BLOCK_CELLS // len(which)))
    positions = np.empty(
        (len(which), num_rows), dtype=np.intp
    )  # one for all blocks: new memory costs as much
    for start in range(0, len(codes), max(1, num_rows)):
        rows = slice(start, start + num_rows)
        position = positions[:, : len(codes[rows])]
        for i, (v, column) in enumerate(zip(which, values, strict=True)):
            position[i] = tables.breaks[v].searchsorted(column[rows], side="right")
        position += first_slot
        codes[rows, target] = tables.slot_code[position].T
        flags = tables.slot_beyond[position]
        beyond += np.count_nonzero(flags, axis=1)
        if is_beyond is not None:
            is_beyond[rows, target] = flags.T
    return beyond
