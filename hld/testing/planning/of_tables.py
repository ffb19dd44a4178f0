"""Planning for a detector: columns and levels by name, tables as alternatives, and a plan in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import pcircuit
from hld.answers.column_shifts import labels_of, percent
from hld.answers.for_programs import shown_steps
from hld.answers.profile import as_table
from hld.tables.shown_names import in_one_line, listed, printable, visible
from hld.testing.planning.alternatives import Alternative, Edit, read_edits, share_after
from hld.testing.planning.counts import (
    CountDraws,
    EventRows,
    event_rows,
    shared_level,
    shown_rows,
)
from hld.testing.planning.power import MOST_ROWS, Detectable, Planner, rejections
from hld.witnesses.largest_count import count_events
from hld.witnesses.witnesses import has_witnesses
from pcircuit.arguments import check_flag, check_whole_number

DAYS = (1, 7, 30)


def coded_edit(detector: Any, edit: Edit) -> Edit:
    """An edit with a variable and a category in place of names."""
    place = _place(detector.encoder_, edit)
    p = float(pcircuit.marginal_tables(detector.circuit_)[place["column"]][place["level"]])
    if not 0 < p < 1 or share_after(p, edit.by) is None:
        raise ValueError(
            f"`by` of an edit is {edit.by:g}, but level {edit.level!r} of column {edit.column!r} has the "
            f"share {p:.4g}: expected a level that some rows have and some not, and a result from 0 to 1"
        )
    return replace(edit, **place)


def _place(encoder: Any, edit: Edit) -> dict[str, Any]:
    """Variable and category of an edit's column and level."""
    names = encoder.names
    is_number = isinstance(edit.column, (int, np.integer)) and not isinstance(edit.column, bool)
    is_place = is_number and 0 <= edit.column < len(encoder.table_names)  # type: ignore[operator]
    column = encoder.table_names[edit.column] if is_place else edit.column
    if column not in names:
        raise ValueError(
            f"`column` of an edit must be one of {listed(names, 8, near=edit.column)}, found {edit.column!r}"
        )
    v = names.index(column)
    labels = labels_of(encoder.columns[v])[:-1]  # missing cells are no level of the circuit
    if str(edit.level) in labels:
        return {"column": v, "level": labels.index(str(edit.level))}
    folded = [one.casefold() for one in labels]
    if folded.count(str(edit.level).casefold()) == 1:  # as shells and files write true and false
        return {"column": v, "level": folded.index(str(edit.level).casefold())}
    cells = np.full((1, len(names)), None, dtype=object)
    cells[0, v] = _as_number(edit.level)
    try:
        codes, report, _, _ = encoder.encode_counting(as_table(encoder, cells))
        is_known = codes[0, v] >= 0 and not report.num_unseen[v]
    except ValueError:  # the schema refuses what is none of the levels
        is_known = False
    if not is_known:
        raise ValueError(
            f"`level` of an edit must be one of those of column {names[v]!r} ({', '.join(labels[:8])}), found "
            f"{edit.level!r}"
        )
    return {"column": v, "level": int(codes[0, v])}


def _as_number(level: Any) -> Any:
    """A text as the number that it may be, and all else as it is."""
    try:
        return float(level) if isinstance(level, str) else level
    except ValueError:
        return level


class TablePlanner(Planner):
    """What a detector finds: what the counts of single columns find is included (`planning.counts`)."""

    def __init__(self, detector: Any) -> None:
        super().__init__(detector.test_)
        self.detector, self.events = detector, None
        if has_witnesses(detector):
            self.events = count_events(detector.profile_.counts, detector.encoder_.ordered)

    def means(self, rows: np.ndarray) -> np.ndarray:
        """Means of the vector and of the events that are counted."""
        own = super().means(rows)
        if self.events is None:
            return own
        return np.append(own, self.events.indicators(rows).mean(axis=0))

    def own_mean(self) -> np.ndarray:
        """The same under the circuit."""
        if self.events is None:
            return super().own_mean()
        tables = [np.append(one, 0.0) for one in pcircuit.marginal_tables(self.test.circuit)]
        return np.append(super().own_mean(), self.events.of(tables))

    def reference_mean(self) -> np.ndarray:
        """The same under the reference."""
        if self.events is None:
            return super().reference_mean()
        counts = self.detector.profile_.counts
        shares = self.events.of(counts) / np.maximum(shown_rows(self.events, counts), 1)
        return np.append(super().reference_mean(), shares)

    def together(self, rows: np.ndarray) -> EventRows | None:
        """How events vary together with the vectors."""
        return None if self.events is None else event_rows(self.test, self.events, rows)

    def alternative(self, what: Any) -> Alternative:
        """The alternative of a circuit, a table, or an edit that names a column and a level."""
        if isinstance(what, Edit):
            what = coded_edit(self.detector, what)
        elif not isinstance(what, (Alternative, pcircuit.Circuit)):
            rows, _ = self.detector.encoder_.encode(what, "alternative", ignore_extra=True)
            what = rows[(rows >= 0).all(axis=1)]
        return super().alternative(what)

    def level(self, T: int, alpha: float) -> tuple[int, float]:
        """How many rows may be others, and the part of the level that the distance has."""
        level = shared_level(self.detector, T, alpha)
        return level.others, level.distance

    def batches(
        self, found: Alternative, T: int, alpha: float, num_draws: int
    ) -> Callable[[np.ndarray], Callable[[float], np.ndarray]]:
        """Which draws are rejected by the distance or by a count."""
        level, size = shared_level(self.detector, T, alpha), len(self.test.mean)
        distance = rejections(self.test, found, T, level.others, level.distance, num_draws)
        if self.events is None or level.law is None:
            return lambda shift: distance.along(shift[:size])
        counts = CountDraws(self.detector, level, distance, found)

        def along(shift: np.ndarray) -> Callable[[float], np.ndarray]:
            by_distance = distance.along(shift[:size])

            def rejected(h: float) -> np.ndarray:
                counted = counts.rejected(h * shift[size:])
                return counted if counted.all() else counted | by_distance(h)

            return rejected

        return along

    def detectable(
        self, T: int, power: float = 0.9, alpha: float = 0.05, *, per_column: int = 3
    ) -> tuple[Detectable, ...]:
        """With the names of columns and levels."""
        columns = self.detector.encoder_.columns
        return tuple(
            replace(
                one,
                column=columns[one.column].name,
                level=labels_of(columns[one.column])[one.level],
            )
            for one in super().detectable(T, power, alpha, per_column=per_column)
        )


def planner_of(detector: Any) -> TablePlanner:
    """What a fitted detector finds; ValueError where it judges batches by a test whose power is not computed here."""
    if detector.judge_ is not detector.test_:
        raise ValueError(
            "`detector` judges groups, a series, or rows given covariates, whose power is not known: test "
            "batches of your own with the change made in them"
        )
    if detector.densities_ is not None:
        raise ValueError(
            "`detector` has leaves that are densities, whose power is not known: fit with leaves='bins'"
        )
    return TablePlanner(detector)


@dataclass(frozen=True)
class Plan:
    """What a detector will find, and when.

    Attributes
    ----------
    rows_per_day : int
        T, the rows that arrive in a day.
    power, alpha : float
        Probability with which a change is to be found, and level of each test; both in (0, 1).
    detectable : dict of int to tuple of Detectable
        By days of rows in a batch.
    edits : tuple of (Edit, float, int or None)
        Probability of being found with the rows of a day, and the number of rows needed to be found with `power`.
    """

    rows_per_day: int
    power: float
    alpha: float
    detectable: dict[int, tuple[Detectable, ...]]
    edits: tuple[tuple[Edit, float, int | None], ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: the output of ``hld plan --json`` (docs/json/plan.schema.json)."""
        edits = [
            {
                "edit": str(edit),
                "power_per_day": daily,
                "rows_needed": rows,
                "days_needed": None if rows is None else -(-rows // self.rows_per_day),
            }
            for edit, daily, rows in self.edits
        ]
        found = {
            str(days): [
                {"column": one.column, "level": str(one.level), "share": one.share, "by": one.by}
                for one in several
            ]
            for days, several in self.detectable.items()
        }
        return {
            "rows_per_day": self.rows_per_day,
            "power": self.power,
            "alpha": self.alpha,
            "edits": edits,
            "detectable_by_days": found,
        }

    def __str__(self) -> Any:
        lines = [
            f"{self.rows_per_day} rows a day, level {self.alpha:g}: found with probability {self.power:g}"
        ]
        for days, several in self.detectable.items():
            lines.append(
                f"in a batch of {days} day{'s' * (days != 1)} ({days * self.rows_per_day} rows):"
            )
            for one in _one_a_column(several):
                change = (
                    "no change is found, not even to all cells"
                    if one.by is None
                    else (f"from {percent(one.share)} to {percent(one.share + one.by)} of cells")
                )
                lines.append(
                    f"  {in_one_line(str(one.column))} = {visible(str(one.level))}: {change}"
                )
        for edit, daily, rows in self.edits:
            days = 0 if rows is None else -(-rows // self.rows_per_day)
            when = "never" if rows is None else f"after {days} day{'s' * (days != 1)} ({rows} rows)"
            lines.append(
                f"{printable(str(edit))}: found on {percent(daily)} of single days; {when} with probability "
                f"{self.power:g}"
            )
        return "\n".join(lines)


def plan(
    detector: Any,
    rows_per_day: int,
    edits: Sequence[Any] = (),
    power: float = 0.9,
    alpha: float = 0.05,
    *,
    progress: bool = False,
) -> Plan:
    """What a fitted detector will find with a given number of rows a day, and when.

    Parameters
    ----------
    detector : HLDDetector
        Fitted.
    rows_per_day : int
    edits : sequence of Edit or str
        Changes to ask about; a text is read as ``sex=F:+0.05``.
    power : float
        Probability with which a change is to be found, in (0, 1).
    alpha : float
        Level of the test.
    progress : bool
        Show what is computed, on standard error if that is a terminal.

    Returns
    -------
    Plan

    Notes
    -----
    See `planning.power` and `hld.testing.planning.counts` for what is computed and its limits; it takes some seconds,
    more with more columns: a bisection for each of up to 100 levels, for each number of days.

    Examples
    --------
    >>> import hld, numpy as np
    >>> table = np.random.default_rng(0).integers(0, 2, size=(400, 2))
    >>> detector = hld.HLDDetector(num_latents=2, num_epochs=5, metric="likelihoods").fit(table)
    >>> print(str(plan(detector, 50)).splitlines()[0])
    50 rows a day, level 0.05: found with probability 0.9
    """
    rows_per_day = check_whole_number(rows_per_day, "rows_per_day", 1, MOST_ROWS // max(DAYS))
    if not hasattr(detector, "test_"):
        raise TypeError(
            f"`detector` must be a fitted HLDDetector, found {type(detector).__name__}: fit or "
            "load one"
        )
    planner, edits = planner_of(detector), read_edits(edits)
    asked = []
    found = {}
    with shown_steps(check_flag(progress, "progress")) as show:
        for edit in edits:
            show(f"power against {printable(str(edit))}")
            known = planner.alternative(edit)
            daily = planner.power(known, rows_per_day, alpha)
            asked.append((edit, daily, planner.sample_size(known, power, alpha)))
        for days in DAYS:
            show(f"what {days * rows_per_day} rows find, {len(detector.encoder_.names)} columns")
            found[days] = planner.detectable(days * rows_per_day, power, alpha, per_column=2)
    return Plan(rows_per_day, power, alpha, found, tuple(asked))


def _one_a_column(several: tuple[Any, ...]) -> list[Detectable]:
    """The first of each column."""
    first: dict[str, Any] = {}
    for one in several:
        first.setdefault(one.column, one)
    return list(first.values())
