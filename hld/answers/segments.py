r"""One test for each segment of a table: each day, country, device; and which of them have shifted.

Rows are grouped by the values of a column (or by given labels), dates and times by a part of their text: "2026-03-07
12:30" belongs to the day "2026-03-07", the month "2026-03", the year "2026".  Each group is tested as a batch of its
own, and the p-values are adjusted for their number:

    "bh"   Benjamini and Hochberg (1995): of the segments called shifted, a share of at most alpha is false on average,
           for segments of different rows, and under the positive dependence that a shared reference causes
    "by"   Benjamini and Yekutieli (2001): the same under any dependence, at the price of 1 + 1/2 + ... + 1/m

If the model knows the grouping column, that column is constant in each segment, which alone would make all of them
shifted.  It is hidden from the test, as if it were missing and had never been there; the question is then whether the
segment's other columns follow the whole table.  To see drift, group by a column that the model does not know; or by a
covariate (`HLDDetector(covariates=...)`), which stays visible: then a segment is compared with what was learned for it.
Columns that the segments determine, as days do their weekday, are hidden as well (`hld.answers.segments`).

The p-value of a segment is the one that `HLDDetector.test` gives for its rows alone, without the grouping column:
distance, missing values, new values, single counts and dependences share the level as they do there.

Which segment each row of a table is in, by the values of a column, and the labels of the segments in order.

Labels ascend: numbers as numbers, also those within texts, so that "day 9" is before "day 10", and texts all of which
are dates, or all durations, as such, so that "10:00:00" is before "1 day, 0:00:00".  Missing cells are the last.

A period (year, month, day, hour, minute) of a date is the beginning of its text in ISO 8601.

Which columns the segments determine, so that they say nothing of a shift: the day of the week where each is a day.

They are hidden from the test of the segments.  A column is determined if

* each segment has one category of it, not all the same, though training mixes them: rows like those of training would
  be so with a probability of at most CHANCE.  A currency that training always had is not determined: a day in another
  one is a shift;
* or it ascends or descends from segment to segment in their order, without overlaps, of FEWEST segments and more: a
  time stamp, a running number;
* or it is what is written of the segment's date, such as its month (`hld.tables.calendar`).
"""

import contextlib
import datetime
import math
import re
import reprlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hld.answers.adjust import benjamini_hochberg, benjamini_yekutieli
from hld.answers.column_shifts import level_texts
from hld.answers.table_facts import (
    batch_profile,
    cells_by_name,
    cells_of,
    evidence_of,
    new_marks,
    test_rows,
)
from hld.answers.words import effect_text, least_text, moved, p_text, what_moved
from hld.tables.calendar import EPOCH, is_written_of
from hld.tables.cells import TIME_TYPES, Columns, plain_value, read_table, unmasked
from hld.tables.column_names import own_names
from hld.tables.factored import whole_cells
from hld.tables.forms import exact_column
from hld.tables.schemas.encoding import report_of
from hld.tables.shown_names import in_one_line, listed, visible
from hld.tables.times import in_iso, in_utc, is_missing, seconds_of_text, times_as_objects
from pcircuit.arguments import check_choice, check_fraction

MISSING = "(missing)"
MIDNIGHT = " 00:00:00"  # days are written without it
NUMBER, DIGITS = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII), re.compile(r"(\d+)", re.ASCII)


def numbered(cells: Any, every: str | None, name: str) -> tuple[Any, ...]:
    """(N,) the number of each row's segment, and the labels of the segments in order."""
    cells = whole_cells(cells)
    cells = (
        times_as_objects(cells) if cells.dtype.kind in "mM" else cells
    )  # nanoseconds would become plain numbers
    if cells.dtype.kind in "biu" and every is None:
        distinct, groups = np.unique(cells, return_inverse=True)
        return groups, tuple(map(str, distinct.tolist()))
    found, numbers = {}, np.empty(len(cells), dtype=np.int64)  # type: ignore[var-annotated]
    for i, cell in enumerate(cells.tolist()):
        if is_missing(cell):
            value = None
        else:
            value = str(in_utc(cell)) if isinstance(cell, TIME_TYPES) else plain_value(cell, name)
            value = value if every is None else period_of(value, every, name)
        numbers[i] = found.setdefault((value, isinstance(value, bool)), len(found))  # true equals 1
    times = _times([value for value, _ in found if isinstance(value, str)])
    keys = sorted(
        found,
        key=lambda key: (
            key[0] is None,
            isinstance(key[0], str),
            _place(key[0], times),
            not key[1],
        ),
    )
    position = np.empty(len(keys), dtype=np.int64)
    position[[found[key] for key in keys]] = np.arange(len(keys))
    return position[numbers], _labels([value for value, _ in keys])


def _labels(values: list[Any]) -> tuple[str, ...]:
    """The texts of distinct values, in quotes where a text looks like another value: 1 and '1'.

    Whole numbers are written as such, also where missing ones among them have made floats of them.
    """
    if all(
        value.is_integer() and abs(value) < 2**53 for value in values if isinstance(value, float)
    ):
        values = [int(value) if isinstance(value, float) else value for value in values]
    if values and all(value is None or str(value).endswith(MIDNIGHT) for value in values):
        values = [value and value.removesuffix(MIDNIGHT) for value in values]
    known = iter(
        level_texts([value for value in values if value is not None], [MISSING] * (None in values))
    )
    return tuple(MISSING if value is None else next(known) for value in values)


def group_numbers(cells: Any, name: str) -> np.ndarray:
    """(N,) the number of each row's group, 0..G - 1 in the order of the labels."""
    missing = sum(map(is_missing, whole_cells(cells).tolist()))
    if missing:
        raise ValueError(
            f"`groups` has {missing} rows without a group: leave them out, or give them one"
        )
    return np.asarray(numbered(cells, None, name)[0])


def _times(texts: list[str]) -> dict[str, Any]:
    """What texts are in order by if all stand for durations, or all for dates; nothing for others."""
    for kind in ("duration", "date"):
        found = {text: seconds_of_text(text, kind) for text in texts}
        if None not in found.values():
            return found
    return {}


def _place(value: Any, times: dict[str, Any]) -> Any:
    """What labels are sorted by: texts as a person would, "9" before "10" and "day 9" before "day 10"."""
    if not isinstance(value, str):
        return 0 if value is None else value
    if times:
        return times[value], value
    if NUMBER.fullmatch(value):
        return (0, float(value), value)
    parts = enumerate(DIGITS.split(value))  # numbers of any length
    return (1, [(len(one := part.lstrip("0")), one) if k % 2 else part for k, part in parts], value)


PERIODS = {
    "year": 4,
    "month": 7,
    "day": 10,
    "hour": 13,
    "minute": 16,
}  # characters of a date as text
WHOLE_DAY = 10  # characters of a date without a time of day, which is enough for hours and minutes
ZONE = r" ?([A-Z]{3,5}|Z|[+-]\d{2}(:?\d{2}(:\d{2})?)?)"  # two letters are AM or PM
PERIOD_DATE = re.compile(
    r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01])([T ]([01]\d|2[0-3])(:[0-5]\d(:\d{2}([.,]\d+)?)?"
    rf"({ZONE})?)?)?)?)?",
    re.ASCII,
)


def period_of(cell: Any, every: str, name: str) -> str | None:
    """The label of the period of one date, None for an empty text."""
    text = f"{cell:.15g}" if isinstance(cell, float) else in_iso(str(cell).strip())
    if not text:
        return None
    if PERIOD_DATE.fullmatch(text) and len(text) >= min(PERIODS[every], WHOLE_DAY):
        with contextlib.suppress(ValueError):  # such as a 30th of February
            datetime.date(int(text[:4]), int(text[5:7] or 1), int(text[8:10] or 1))
            return text[: PERIODS[every]].replace("T", " ")
    raise ValueError(
        f"`every` needs dates such as 2026-01-31 12:30, found {reprlib.repr(cell)} in {name!r}: write "
        "them so"
    )


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


ADJUST = {"bh": benjamini_hochberg, "by": benjamini_yekutieli}
MOST_EXPLAINED = 2_000  # segments whose columns are kept


@dataclass(frozen=True, eq=False)
class SegmentsResult:
    """The outcome of testing each segment; shapes num_rows (m,), pvalues, adjusted (m,), reject (m,)."""

    by: str
    labels: tuple[Any, ...]
    num_rows: np.ndarray
    results: tuple[Any, ...]
    pvalues: np.ndarray
    adjusted: np.ndarray
    reject: np.ndarray
    alpha: float
    procedure: str
    smallest: float = 0.0
    determined: tuple[str, ...] = ()

    @property
    def least_adjusted(self) -> float:
        """The smallest adjusted p-value that one odd segment among the others can have."""
        alone = np.ones(len(self.labels))
        alone[0] = self.smallest
        return float(ADJUST[self.procedure](alone).min())  # type: ignore[arg-type]

    @property
    def can_call(self) -> bool:
        """Whether one odd segment among the others can be called."""
        return self.least_adjusted <= self.alpha

    @property
    def caution(self) -> str:
        """What is to be known where no odd segment can be called."""
        return (
            f"one odd segment among {len(self.labels)} cannot be called at level {self.alpha:g}: p-values of this "
            f"model are at least {least_text(self.smallest)}, adjusted {self.least_adjusted:.2g}; fit with more "
            "groups, or test fewer segments together"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain Python values, ready for JSON, with the columns that moved in shifted segments."""
        segments = [
            {
                "label": label,
                "num_rows": int(T),
                "pvalue": float(p),
                "adjusted_pvalue": float(q),
                "reject": bool(called),
                "effect": result.effect,
                "moved": [
                    {
                        "columns": list(names),
                        "adjusted_pvalue": one.adjusted,
                        "description": one.describe(),
                    }
                    for names, one in (moved(result) if called else ())
                ],
            }
            for label, T, p, q, called, result in zip(
                self.labels,
                self.num_rows,
                self.pvalues,
                self.adjusted,
                self.reject,
                self.results,
                strict=True,
            )
        ]
        return {
            "by": self.by,
            "alpha": self.alpha,
            "procedure": self.procedure,
            "num_segments": len(self.labels),
            "num_shifted": int(self.reject.sum()),
            "reject": bool(self.reject.any()),
            "can_call": self.can_call,
            "least_adjusted_pvalue": self.least_adjusted,
            "determined": list(self.determined),
            "segments": segments,
        }

    def to_frame(self) -> Any:
        """One row per segment as a pandas data frame, in the order of the labels; ImportError without pandas."""
        from hld.answers.for_programs import data_frame

        return data_frame(
            {
                "segment": self.labels,
                "rows": self.num_rows,
                "pvalue": self.pvalues,
                "adjusted_pvalue": self.adjusted,
                "shift": self.reject,
                "effect": [result.effect for result in self.results],
            }
        )

    @property
    def worst_first(self) -> np.ndarray:
        """(m,) places of the segments, the smallest adjusted p-value first, of equal ones the largest effect."""
        return np.lexsort(([-result.effect for result in self.results], self.adjusted))

    def _repr_html_(self) -> str:
        from hld.answers.html import segments_view

        return segments_view(self)

    def plot(self, ax: Any = None) -> Any:
        """The adjusted p-values of the segments in order, on a logarithmic axis of matplotlib; by default a new one."""
        from hld.answers.plots import draw_segments

        return draw_segments(self, ax)

    def __str__(self) -> str:
        lines = [repr(self)]
        for i in self.worst_first[self.reject[self.worst_first]].tolist():
            label, p = visible(self.labels[i]), p_text(float(self.adjusted[i]), self.alpha)
            lines.append(
                f"  {label}  adjusted {p}  {self.num_rows[i]} row{'s' * int(self.num_rows[i] != 1)}  "
                f"effect size {effect_text(self.results[i])}"
            )
            lines += [f"    {line}" for line in what_moved(self.results[i])]
        if self.determined:
            lines.append(f"not tested, as the segments determine them: {listed(self.determined)}")
        return "\n".join(lines if self.can_call else [*lines, self.caution])

    def __repr__(self) -> str:
        name = {"bh": "Benjamini-Hochberg", "by": "Benjamini-Yekutieli"}[self.procedure]
        return (
            f"{int(self.reject.sum())} of {len(self.labels)} segments of {in_one_line(self.by)} shifted "
            f"(false discovery rate {self.alpha:g}, {name})"
        )


def judge_segments(
    detector: Any,
    judge: Callable[..., Any],
    table: Any,
    by: list[str] | str,
    alpha: float,
    *,
    every: str | None = None,
    procedure: Any = "bh",
) -> SegmentsResult:
    """Test each segment of a table.

    Shapes: table (N, V).
    The table is encoded once; each segment costs one call of the test.  The results have each segment's
    `hld.DataQuality`, without columns that are hidden from it.
    """
    alpha = check_fraction(alpha, "alpha")
    check_choice(procedure, "procedure", tuple(ADJUST))
    if every is not None:
        check_choice(every, "every", tuple(PERIODS))
    encoder, read = detector.encoder_, read_table(table)
    columns, cells, name = split_off(read, by, encoder)
    known = (
        name if columns is read and isinstance(by, (str, int, np.integer)) else None
    )  # to the model
    if not columns.num_rows:
        raise ValueError("`table` has no rows: give at least one")
    marks = new_marks(detector, columns.num_rows)
    codes, _, absent, extra = encoder.encode_counting(columns, marks)
    further = cells_of(detector, columns, marks)
    parts = {one.name for one in encoder.derived if one.source == known}
    given = getattr(
        detector.judge_, "given", np.zeros(len(encoder.names), dtype=bool)
    )  # covariates may move
    hidden = [
        v for v, one in enumerate(encoder.names) if (one == known or one in parts) and not given[v]
    ]
    groups, labels = numbered(cells, every, name)
    own = determined_columns(detector, columns, codes, groups, labels)
    own = [v for v in own if v not in hidden and not given[v]]
    if len(hidden) + len(own) == len(encoder.names):
        own = []  # else there were nothing to test
    if len(hidden) == len(encoder.names):
        raise ValueError(
            f"`by` is {name!r}, and the model knows nothing else: group by a column that it does not know"
        )
    hidden = sorted(hidden + own)
    if hidden:
        codes = codes.copy()
        codes[:, hidden] = -1
    values = test_rows(detector, columns, codes)
    order, sizes = np.argsort(groups, kind="stable"), np.bincount(groups)
    codes, marks, starts = codes[order], marks[order], np.cumsum(sizes) - sizes
    rows, own_marks = np.split(codes, starts[1:]), np.split(marks, starts[1:])
    judged = np.split(values[order], starts[1:])
    reports = [report_of(encoder.columns, *one) for one in zip(rows, own_marks, strict=True)]
    places = np.split(order, starts[1:])
    results = [
        judge(
            read_rows,
            one,
            own,
            (report, absent, extra),
            {name: cells.rows(some, hidden) for name, cells in further.items()},
            hidden=hidden,
        )[0]
        for read_rows, one, own, report, some in zip(
            judged, rows, own_marks, reports, places, strict=True
        )
    ]
    pvalues = np.array([result.pvalue for result in results])
    adjusted = ADJUST[procedure](pvalues)  # type: ignore[arg-type]
    called = adjusted <= alpha
    shown = [v for v in range(len(encoder.names)) if v not in hidden]
    for i in [i for i in np.argsort(adjusted, kind="stable").tolist() if called[i]][
        :MOST_EXPLAINED
    ]:
        evidence = evidence_of(
            detector,
            batch_profile(detector, rows[i]),
            results[i].data_quality,
            results[i].column_pvalues,
            results[i].pair_pvalues,
        )
        results[i] = replace(
            results[i], evidence=None if evidence is None else evidence.of_columns(shown)
        )
    smallest = getattr(detector.judge_, "smallest_pvalue", None)
    least = min(map(smallest, sizes.tolist())) if smallest is not None else 0.0
    return SegmentsResult(
        name,
        labels,
        sizes,
        tuple(results),
        pvalues,
        adjusted,
        called,
        alpha,
        procedure,
        least,
        tuple(encoder.names[v] for v in own),
    )


def split_off(
    columns: Columns, by: Any, encoder: Any = None, argument: str = "by"
) -> tuple[Any, ...]:
    """The table without the column to group by (unless the encoder reads it), that column (N,), and its name.

    Returns cells (N,).
    """
    if not isinstance(by, (str, int, np.integer)) or isinstance(by, bool):
        by = unmasked(by) if isinstance(by, np.ma.MaskedArray) else whole_cells(exact_column(by))
        labels = np.asarray(by, dtype=object) if isinstance(by, (list, tuple)) else np.asarray(by)
        if labels.shape != (columns.num_rows,):
            found = f"has shape {labels.shape}" if labels.ndim else f"is {reprlib.repr(by)}"
            raise ValueError(
                f"`{argument}` {found}, expected a column, or {columns.num_rows} labels, one for each row "
                f"of `table`{'' if labels.ndim else ', in a list'}"
            )
        return columns, labels, "labels"
    own = own_names(columns, encoder)
    names = columns.names or tuple(name or f"x{v}" for v, name in enumerate(own))
    if isinstance(by, str) and by not in names:
        raise ValueError(
            f"`{argument}` names the column {by!r}, expected one of {listed(names, near=by)}"
        )
    if not isinstance(by, str) and not 0 <= by < len(names):
        raise ValueError(f"`{argument}` is position {by}, expected 0..{len(names) - 1}")
    at = names.index(by) if isinstance(by, str) else int(by)
    if own[at] is not None:
        return columns, columns.arrays[at], own[at]
    return columns.keep([v for v in range(len(names)) if v != at]), columns.arrays[at], names[at]
