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

The p-value of a segment is the one that `HLDDetector.test` gives for its rows alone, without the grouping column:
distance, missing values, new values, single counts and dependences share the level as they do there.

Labels ascend: numbers as numbers, also those within texts, so that "day 9" is before "day 10", and texts all of which
are dates, or all durations, as such.  Missing cells are last.

Columns that the segments determine say nothing of a shift, and are hidden, too.  A column is determined if

* each segment has one category of it, not all the same, though training mixes them: rows like those of training would
  be so with a probability of at most CHANCE.  A currency that training always had is not determined: a day in another
  one is a shift;
* or it ascends or descends from segment to segment in their order, without overlaps, of FEWEST segments and more: a
  time stamp, a running number;
* or it is what is written of the segment's date, such as its month (`hld.tables.derived`).
"""

import contextlib
import datetime
import math
import re
import reprlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hld.answers.adjust import benjamini_hochberg, benjamini_yekutieli
from hld.answers.column_shifts import level_texts
from hld.answers.table_facts import batch_profile, cells_by_name, read_batch, with_evidence
from hld.answers.words import effect_text, least_text, moved, p_text, what_moved
from hld.tables.cells import TIME_TYPES, Columns, column_cells, plain_value, read_table
from hld.tables.column_names import own_names
from hld.tables.derived import EPOCH, is_written_of
from hld.tables.factored import whole_cells
from hld.tables.schemas.encoder import report_of
from hld.tables.shown_names import in_one_line, listed, visible
from hld.tables.times import in_iso, in_utc, is_missing, seconds_of_text, times_as_objects
from pcircuit.arguments import check_choice, check_fraction

MISSING = "(missing)"
MIDNIGHT = " 00:00:00"  # days are written without it
NUMBER, DIGITS = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII), re.compile(r"(\d+)", re.ASCII)
# characters of a date as text
PERIODS = {"year": 4, "month": 7, "day": 10, "hour": 13, "minute": 16}
WHOLE_DAY = 10  # characters of a date without a time of day, which is enough for hours and minutes
DATE = re.compile(  # two letters behind the time are AM or PM
    r"\d{4}(-\d\d(-\d\d([T ]\d\d(:\d\d(:\d\d([.,]\d+)?)?( ?([A-Z]{3,5}|Z|[+-]\d\d(:?\d\d){0,2}))?)?)?)?)?",
    re.ASCII,
)
CHANCE, FEWEST = 1e-6, 5
PROCEDURES = {
    "bh": ("Benjamini-Hochberg", benjamini_hochberg),
    "by": ("Benjamini-Yekutieli", benjamini_yekutieli),
}
MOST_EXPLAINED = 2_000  # segments whose columns are kept


def numbered(cells: Any, every: str | None, name: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """(N,) the number of each row's segment, and the labels of the segments in order."""
    cells = whole_cells(cells)
    if cells.dtype.kind in "mM":  # nanoseconds would become plain numbers
        cells = times_as_objects(cells)
    if cells.dtype.kind in "biu" and every is None:
        distinct, groups = np.unique(cells, return_inverse=True)
        return groups, tuple(map(str, distinct.tolist()))
    found: dict[Any, int] = {}
    numbers = np.empty(len(cells), dtype=np.int64)
    for i, cell in enumerate(cells.tolist()):
        value = None
        if not is_missing(cell):
            value = str(in_utc(cell)) if isinstance(cell, TIME_TYPES) else plain_value(cell, name)
            value = value if every is None else period_of(value, every, name)
        numbers[i] = found.setdefault((value, isinstance(value, bool)), len(found))  # true equals 1
    texts = [value for value, _ in found if isinstance(value, str)]
    times: dict[str, Any] = {}
    for kind in ("duration", "date"):
        seconds = {text: seconds_of_text(text, kind) for text in texts}
        if None not in seconds.values():
            times = seconds  # which all of them stand for
    keys = sorted(found, key=lambda key: _place(key[0], key[1], times))
    position = np.empty(len(keys), dtype=np.int64)
    position[[found[key] for key in keys]] = np.arange(len(keys))
    return position[numbers], _labels([value for value, _ in keys])


def _place(value: Any, is_truth: bool, times: dict[str, Any]) -> tuple[Any, ...]:
    """What labels are sorted by: texts as a person would, "9" before "10" and "day 9" before "day 10"."""
    if not isinstance(value, str):
        return value is None, False, value or 0, not is_truth
    if times:
        return False, True, (times[value], value)
    if NUMBER.fullmatch(value):
        return False, True, (0, float(value), value)
    parts = []
    for k, part in enumerate(DIGITS.split(value)):
        digits = part.lstrip("0")  # numbers of any length
        parts.append((len(digits), digits) if k % 2 else part)
    return False, True, (1, parts, value)


def _labels(values: list[Any]) -> tuple[str, ...]:
    """The texts of distinct values, in quotes where a text looks like another value: 1 and '1'.

    Whole numbers are written as such, also where missing ones among them have made floats of them.
    """
    numbers = [value for value in values if isinstance(value, float)]
    if all(value.is_integer() and abs(value) < 2**53 for value in numbers):
        values = [int(value) if isinstance(value, float) else value for value in values]
    known = [value for value in values if value is not None]
    if known and all(str(value).endswith(MIDNIGHT) for value in known):
        known = [value.removesuffix(MIDNIGHT) for value in known]
    missing = (MISSING,) * (len(values) - len(known))
    return (*level_texts(known, missing), *missing)  # the last


def group_numbers(cells: Any, name: str) -> np.ndarray:
    """(N,) the number of each row's group, 0..G - 1 in the order of the labels."""
    missing = sum(map(is_missing, whole_cells(cells).tolist()))
    if missing:
        raise ValueError(
            f"`groups` has {missing} rows without a group: leave them out, or give them one"
        )
    return numbered(cells, None, name)[0]


def period_of(cell: Any, every: str, name: str) -> str | None:
    """The label of the period of one date, None for an empty text."""
    text = f"{cell:.15g}" if isinstance(cell, float) else in_iso(str(cell).strip())
    if not text:
        return None
    if DATE.fullmatch(text) and len(text) >= min(PERIODS[every], WHOLE_DAY):
        with contextlib.suppress(ValueError):  # such as a 30th of February
            np.datetime64(text[: PERIODS["minute"]])
            return text[: PERIODS[every]].replace("T", " ")
    raise ValueError(
        f"`every` needs dates such as 2026-01-31 12:30, found {reprlib.repr(cell)} in {name!r}: write "
        "them so"
    )


def determined_columns(
    detector: Any, columns: Any, codes: np.ndarray, groups: np.ndarray, labels: tuple[str, ...]
) -> list[int]:
    """Positions of the columns of the encoder that the segments determine; shapes codes (N, V), groups (N,)."""
    encoder = detector.encoder_
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(len(labels)))
    first = codes[order][starts]
    numbers = encoder.numbers(columns)[order]
    cells = cells_by_name(encoder, columns)
    days: list[float] = []  # since 1970, of labels that begin with a date
    with contextlib.suppress(ValueError):
        days = [float((datetime.date.fromisoformat(one[:10]) - EPOCH).days) for one in labels]
    found = []
    for v, name in enumerate(encoder.names):
        is_one = bool((codes[:, v] == first[groups, v]).all())
        is_varied = is_one and len({*first[:, v].tolist()}) > 1
        if (is_varied and _is_mixed(detector.profile_.counts[v], len(codes) - len(labels))) or (
            _ascends(numbers[:, v], starts)
        ):
            found.append(v)
        elif is_one and days and name in cells:
            written = whole_cells(cells[name])[order[starts]].tolist()
            if is_written_of(list(zip(days, written, strict=True))):
                found.append(v)
    return found


def _is_mixed(counts: np.ndarray, num_rows: int) -> bool:
    """Whether so many rows would hardly have the category of others, if categories were as frequent as in counts."""
    most = counts.max() / max(counts.sum(), 1)
    return bool(most == 0 or num_rows * math.log(most) <= math.log(CHANCE))


def _ascends(numbers: np.ndarray, starts: np.ndarray) -> bool:
    """Whether the numbers (N,) of successive segments ascend without overlaps, or descend."""
    if len(starts) < FEWEST or np.isnan(numbers).any():
        return False
    low, high = (one.reduceat(numbers, starts) for one in (np.minimum, np.maximum))
    up = (low[1:] > low[:-1]) & (low[1:] >= high[:-1])
    down = (high[1:] < high[:-1]) & (high[1:] <= low[:-1])
    return bool(up.all() or down.all())


@dataclass(frozen=True, eq=False)
class SegmentsResult:
    """The outcome of testing each segment; shapes num_rows, pvalues, adjusted, reject (m,)."""

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
    def procedure_name(self) -> str:
        """Of the adjustment of the p-values."""
        return PROCEDURES[self.procedure][0]

    @property
    def least_adjusted(self) -> float:
        """The smallest adjusted p-value that one odd segment among the others can have."""
        alone = np.ones(len(self.labels))
        alone[0] = self.smallest
        return float(PROCEDURES[self.procedure][1](alone).min())

    @property
    def can_call(self) -> bool:
        """Whether one odd segment among the others can be called."""
        return self.least_adjusted <= self.alpha

    @property
    def cautions(self) -> list[str]:
        """What is to be known of columns that are not tested, and where no odd segment can be called."""
        found = []
        if self.determined:
            found.append(f"not tested, as the segments determine them: {listed(self.determined)}")
        if not self.can_call:
            found.append(
                f"one odd segment among {len(self.labels)} cannot be called at level {self.alpha:g}: p-values of this "
                f"model are at least {least_text(self.smallest)}, adjusted {self.least_adjusted:.2g}; fit with more "
                "groups, or test fewer segments together"
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain Python values, ready for JSON, with the columns that moved in shifted segments."""
        segments = []
        for i, result in enumerate(self.results):
            what = moved(result) if self.reject[i] else ()
            segments.append(
                {
                    "label": self.labels[i],
                    "num_rows": int(self.num_rows[i]),
                    "pvalue": float(self.pvalues[i]),
                    "adjusted_pvalue": float(self.adjusted[i]),
                    "reject": bool(self.reject[i]),
                    "effect": result.effect,
                    "moved": [
                        {
                            "columns": list(names),
                            "adjusted_pvalue": one.adjusted,
                            "description": one.describe(),
                        }
                        for names, one in what
                    ],
                }
            )
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

        names = ["label", "num_rows", "pvalue", "adjusted_pvalue", "reject", "effect"]
        return data_frame(self.to_dict()["segments"], names)

    def worst_first(self, called: bool = True) -> list[int]:
        """Places of the segments that are called, or of all, the smallest adjusted p-value first."""
        order = np.lexsort(([-result.effect for result in self.results], self.adjusted))
        return order[self.reject[order]].tolist() if called else order.tolist()

    def _repr_html_(self) -> str:
        from hld.answers.reports import segments_view

        return segments_view(self)

    def plot(self, ax: Any = None) -> Any:
        """The adjusted p-values of the segments in order, on a logarithmic axis of matplotlib; by default a new one."""
        from hld.answers.plots import draw_segments

        return draw_segments(self, ax)

    def __str__(self) -> str:
        lines = [repr(self)]
        for i in self.worst_first():
            label, p = visible(self.labels[i]), p_text(float(self.adjusted[i]), self.alpha)
            lines.append(
                f"  {label}  adjusted {p}  {self.num_rows[i]} row{'s' * int(self.num_rows[i] != 1)}  "
                f"effect size {effect_text(self.results[i])}"
            )
            lines += [f"    {line}" for line in what_moved(self.results[i])]
        return "\n".join([*lines, *self.cautions])

    def __repr__(self) -> str:
        return (
            f"{int(self.reject.sum())} of {len(self.labels)} segments of {in_one_line(self.by)} shifted "
            f"(false discovery rate {self.alpha:g}, {self.procedure_name})"
        )


def judge_segments(
    detector: Any,
    judge: Callable[..., Any],
    table: Any,
    by: Sequence[Any] | str,
    alpha: float,
    *,
    every: str | None = None,
    procedure: str = "bh",
) -> SegmentsResult:
    """Test each segment of a table (N, V), which is encoded once, by `judge(detector, batch, alpha, hidden)`."""
    alpha = check_fraction(alpha, "alpha")
    check_choice(procedure, "procedure", tuple(PROCEDURES))
    if every is not None:
        check_choice(every, "every", tuple(PERIODS))
    encoder, read = detector.encoder_, read_table(table)
    columns, cells, name = split_off(read, by, encoder)
    if not columns.num_rows:
        raise ValueError("`table` has no rows: give at least one")
    batch = read_batch(detector, columns)
    groups, labels = numbered(cells, every, name)
    known = name if columns is read and isinstance(by, (str, int, np.integer)) else None
    hidden, determined = _hidden(detector, columns, known, batch.codes, groups, labels)
    batch.codes[:, hidden] = -1
    batch.rows[:, hidden] = -1 if batch.rows is batch.codes else np.nan
    order, sizes = np.argsort(groups, kind="stable"), np.bincount(groups)
    starts = np.cumsum(sizes) - sizes
    places = np.split(order, starts[1:])
    reports, results = [], []
    for some in places:
        reports.append(report_of(encoder.columns, batch.codes[some], batch.marks[some]))
        results.append(judge(detector, batch.part(some, reports[-1], hidden), alpha, hidden)[0])
    pvalues = np.array([result.pvalue for result in results])
    adjusted = PROCEDURES[procedure][1](pvalues)
    called = adjusted <= alpha
    for i in np.argsort(adjusted, kind="stable")[: int(called.sum())][:MOST_EXPLAINED].tolist():
        counts = batch_profile(detector, batch.codes[places[i]])
        results[i] = with_evidence(detector, results[i], counts, hidden)
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
        tuple(encoder.names[v] for v in determined),
    )


def _hidden(
    detector: Any, columns: Any, known: str | None, codes: Any, groups: np.ndarray, labels: Any
) -> tuple[list[int], list[int]]:
    """Positions of the columns that are hidden: what is known of the grouping column, and those determined by it."""
    encoder = detector.encoder_
    given = getattr(detector.judge_, "given", np.zeros(len(encoder.names), dtype=bool))
    grouping = {known, *(one.name for one in encoder.derived if one.source == known)}
    own = [v for v, one in enumerate(encoder.names) if one in grouping and not given[v]]
    if len(own) == len(encoder.names):
        raise ValueError(
            f"`by` is {known!r}, and the model knows nothing else: group by a column that it does not know"
        )
    found = determined_columns(detector, columns, codes, groups, labels)
    determined = [v for v in found if v not in own and not given[v]]  # covariates may move
    if len(own) + len(determined) == len(encoder.names):
        determined = []  # else there were nothing to test
    return sorted(own + determined), determined


def split_off(
    columns: Columns, by: Any, encoder: Any = None, argument: str = "by"
) -> tuple[Any, ...]:
    """The table without the column to group by (unless the encoder reads it), that column (N,), and its name.

    Returns cells (N,).
    """
    if not isinstance(by, (str, int, np.integer)) or isinstance(by, bool):
        if hasattr(by, "__len__") and not isinstance(by, (list, tuple)):
            with contextlib.suppress(ValueError):  # whose shape is refused below
                by = whole_cells(column_cells(by))
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
