"""Which columns the segments determine, so that they say nothing of a shift: the day of the week where each is a day.

They are hidden from the test of the segments.  A column is determined if

* each segment has one category of it, not all the same, though training mixes them: rows like those of training would
  be so with a probability of at most CHANCE.  A currency that training always had is not determined: a day in another
  one is a shift;
* or it ascends or descends from segment to segment in their order, without overlaps, of FEWEST segments and more: a
  time stamp, a running number;
* or it is what is written of the segment's date, such as its month (`hld.tables.calendar`).
"""

from __future__ import annotations

import contextlib
import datetime
import math
from typing import Any

import numpy as np

from hld.answers.table_facts import cells_by_name
from hld.tables.calendar import EPOCH, is_written_of
from hld.tables.factored import whole_cells

CHANCE = 1e-6
FEWEST = 5


def determined_columns(
    detector: Any, columns: Any, codes: np.ndarray, groups: np.ndarray, labels: tuple[str, ...]
) -> list[int]:
    """Positions of the columns of the encoder that the segments determine; shapes codes (N, V), groups (N,)."""
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(len(labels)))
    low, high = (one.reduceat(codes[order], starts) for one in (np.minimum, np.maximum))
    is_one = (low == high).all(axis=0)
    numbers = detector.encoder_.numbers(columns)[order]
    days = _days(labels)
    names, cells = detector.encoder_.names, cells_by_name(detector.encoder_, columns)
    return [
        v
        for v in range(codes.shape[1])
        if (is_one[v] and len({*low[:, v].tolist()}) > 1 and _is_mixed(detector, v, codes, labels))
        or _ascends(numbers[:, v], starts)
        or (is_one[v] and days and _is_of_days(cells.get(names[v]), days, order[starts]))
    ]


def _is_mixed(detector: Any, v: int, codes: np.ndarray, labels: tuple[str, ...]) -> bool:
    """Whether rows as in training would hardly have one category of column v in each segment."""
    counts = detector.profile_.counts[v]
    most = counts.max() / max(counts.sum(), 1)
    return most == 0 or (len(codes) - len(labels)) * math.log(most) <= math.log(CHANCE)


def _ascends(numbers: np.ndarray, starts: np.ndarray) -> bool:
    """Whether the numbers (N,) of successive segments ascend without overlaps, or descend."""
    if len(starts) < FEWEST or np.isnan(numbers).any():
        return False
    low, high = (one.reduceat(numbers, starts) for one in (np.minimum, np.maximum))
    up = (low[1:] > low[:-1]) & (low[1:] >= high[:-1])
    down = (high[1:] < high[:-1]) & (high[1:] <= low[:-1])
    return bool(up.all() or down.all())


def _days(labels: tuple[str, ...]) -> list[float]:
    """The days since 1970 of labels that are dates, or begin with one; empty where some are none."""
    with contextlib.suppress(ValueError):
        return [float((datetime.date.fromisoformat(one[:10]) - EPOCH).days) for one in labels]
    return []


def _is_of_days(cells: Any, days: list[float], first: np.ndarray) -> bool:
    """Whether the cells of the first rows of segments are written of their days."""
    return cells is not None and is_written_of(
        list(zip(days, whole_cells(cells)[first].tolist(), strict=True))
    )
