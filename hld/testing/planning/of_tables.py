"""Planning for a detector: columns and levels by name, tables as alternatives, and a plan in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import pcircuit
from hld.answers.column_shifts import labels_of, percent
from hld.answers.progress import shown_steps
from hld.answers.table_facts import as_table
from hld.features.row_vectors import some_rows
from hld.tables.shown_names import in_one_line, listed, printable, visible
from hld.testing.planning.alternatives import (
    NUM_DRAWN,
    SEED,
    Alternative,
    Edit,
    alternative_of,
    read_edits,
    share_after,
    under_level,
)
from hld.testing.planning.counts import DetectorDraws, EventRows, event_rows, shared_level
from hld.testing.planning.power import (
    MOST_ROWS,
    Detectable,
    detectable,
    detectable_levels,
    power,
    smallest_batch,
)
from hld.witnesses.largest_count import count_events
from hld.witnesses.witnesses import has_witnesses
from pcircuit.arguments import check_flag, check_fraction, check_whole_number

DAYS = (1, 7, 30)
NUM_ROWS = 2_000  # rows of the circuit, or of a table, from which counts and vectors are known to vary together


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
    for level in _readings(edit.level):
        cells = np.full((1, len(names)), None, dtype=object)
        cells[0, v] = level
        try:
            codes, report, _, _ = encoder.encode_counting(as_table(encoder, cells))
        except ValueError:
            if encoder.columns[v].unseen != "refuse":
                raise
            continue  # the schema refuses what is none of the levels, such as the text of a number
        if codes[0, v] >= 0 and not report.num_unseen[v]:
            return {"column": v, "level": int(codes[0, v])}
    if str(edit.level) in labels:
        return {"column": v, "level": labels.index(str(edit.level))}
    raise ValueError(
        f"`level` of an edit must be one of those of column {names[v]!r} ({', '.join(labels[:8])}), found "
        f"{edit.level!r}"
    )


def _readings(level: Any) -> list[Any]:
    """A level as it is, and a text as the number or the truth value that it may be."""
    if not isinstance(level, str):
        return [level]
    if level.lower() in ("true", "false"):  # as shells and files write them
        return [level, level.lower() == "true"]
    try:
        return [level, float(level)]
    except ValueError:
        return [level]


def power_of_table(detector: Any, alternative: object, T: int, alpha: float = 0.05) -> float:
    """`planning.power.power` for a fitted detector: the alternative may name columns and levels, or be a table.

    What the counts of single columns find is included (`hld.testing.planning.counts`).
    """
    T, alpha = (
        check_whole_number(T, "T", 1, MOST_ROWS),
        check_fraction(alpha, "alpha"),
    )
    _check_independent(detector)
    return _power_of(detector, alternative_of_table(detector, alternative), T, alpha)


def sample_size_of_table(
    detector: Any, alternative: object, power: float = 0.9, alpha: float = 0.05
) -> int | None:
    """`hld.testing.planning.power.sample_size` for a fitted detector."""
    least, alpha = check_fraction(power, "power"), check_fraction(alpha, "alpha")
    _check_independent(detector)
    known = alternative_of_table(detector, alternative)
    return smallest_batch(
        lambda T: _power_of(detector, known, T, alpha), least, known.moments.num_rows
    )


def _check_independent(detector: Any) -> None:
    """Raise if batches are judged by another test than the one of independent rows, whose power is computed here."""
    if detector.judge_ is not detector.test_:
        raise ValueError(
            "`detector` judges groups, a series, or rows given covariates, whose power is not known: test "
            "batches of your own with the change made in them"
        )
    if detector.densities_ is not None:
        raise ValueError(
            "`detector` has leaves that are densities, whose power is not known: fit with leaves='bins'"
        )


def _power_of(detector: Any, known: TableAlternative, T: int, alpha: float) -> float:
    """The power for an alternative whose moments are known."""
    if known.rows is None or T == 1:  # in a single row no count can be conspicuous
        return power(detector.test_, known.moments, T, shared_level(detector, T, alpha).distance)
    draws = DetectorDraws(
        detector,
        known.moments.covariance,
        T,
        alpha,
        known.rows,
        is_relative=known.moments.is_relative,
    )
    return draws.along(known.moments.delta, known.moved)(1.0)


def detectable_of_table(
    detector: Any, T: int, power: float = 0.9, alpha: float = 0.05, *, per_column: int = 3
) -> tuple[Any, ...]:
    """`hld.testing.planning.power.detectable` for a fitted detector, with the names of columns and levels."""
    T, alpha = (
        check_whole_number(T, "T", 1, MOST_ROWS),
        check_fraction(alpha, "alpha"),
    )
    _check_independent(detector)
    if has_witnesses(detector):
        found = detectable_levels(detector.test_, power, per_column, _draws_of(detector, T, alpha))
    else:
        found = detectable(
            detector.test_,
            T,
            power,
            shared_level(detector, T, alpha).distance,
            per_column=per_column,
        )
    columns = detector.encoder_.columns
    return tuple(
        replace(
            one, column=columns[one.column].name, level=labels_of(columns[one.column])[one.level]
        )
        for one in found
    )


def _draws_of(detector: Any, T: int, alpha: float) -> Callable[..., Any]:
    """How `hld.testing.planning.power` draws batches of a detector, and moves their vectors and counts."""
    events = count_events(detector.profile_.counts, detector.encoder_.ordered)

    def draws(
        covariance: np.ndarray, is_relative: bool, num_draws: int, rows: np.ndarray
    ) -> Callable[..., Any]:
        batches = DetectorDraws(
            detector,
            covariance,
            T,
            alpha,
            event_rows(detector, rows[:NUM_ROWS]),
            is_relative=is_relative,
            num_draws=num_draws,
        )
        before = _shares_of_circuit(detector, events)

        def shares(slope: np.ndarray, inside: np.ndarray, p: float) -> Callable[[float], float]:
            return batches.along(slope, (events.indicators(inside).mean(axis=0) - before) / (1 - p))

        return shares

    return draws


@dataclass(frozen=True, eq=False)
class TableAlternative:
    """What a detector's test needs to know of an alternative; shapes moved (E,)."""

    moments: Alternative
    moved: np.ndarray | None
    rows: EventRows | None


def alternative_of_table(detector: Any, alternative: Any) -> TableAlternative:
    """An alternative of a table as the detector's tests see it."""
    if isinstance(alternative, TableAlternative):
        return alternative
    if isinstance(alternative, Mapping) and set(alternative) == {"column", "level", "by"}:
        (alternative,) = read_edits([alternative])
    circuit = detector.circuit_
    if isinstance(alternative, Edit):
        edit = coded_edit(detector, alternative)
        found = alternative_of(detector.test_, edit)
        if not has_witnesses(detector):
            return TableAlternative(found, None, None)
        rows = pcircuit.sample(circuit, NUM_ROWS, rng=np.random.default_rng([SEED, 1]))
        return TableAlternative(found, _moved_by(detector, edit), event_rows(detector, rows))
    if isinstance(alternative, pcircuit.Circuit):
        found = alternative_of(detector.test_, alternative)  # checks the circuit first
        rows = pcircuit.sample(alternative, NUM_DRAWN, rng=np.random.default_rng([SEED, 0]))
    else:
        rows, _ = detector.encoder_.encode(alternative, "alternative", ignore_extra=True)
        rows = rows[(rows >= 0).all(axis=1)]
        found = alternative_of(detector.test_, rows)
    if not has_witnesses(detector):
        return TableAlternative(found, None, None)
    together, kept = (
        event_rows(detector, rows[some_rows(len(rows), NUM_ROWS)]),
        detector.profile_.counts,
    )
    shown = np.array([max(int(one[:-1].sum()), 1) for one in kept])[together.events.columns]
    moved = together.events.indicators(rows).mean(axis=0) - together.events.of(kept) / shown
    return TableAlternative(found, moved, together)


def _moved_by(detector: Any, edit: Edit) -> np.ndarray:
    """(E,) how an edit changes the share of each event: h / (1 - p) (P(event | level) - P(event))."""
    variable, level = int(edit.column), int(edit.level)  # type: ignore[call-overload]
    events = count_events(detector.profile_.counts, detector.encoder_.ordered)
    p = float(pcircuit.marginal_tables(detector.circuit_)[variable][level])
    inside = events.indicators(under_level(detector.circuit_, variable, level, NUM_DRAWN)).mean(
        axis=0
    )
    return np.asarray(edit.by / (1 - p) * (inside - _shares_of_circuit(detector, events)))


def _shares_of_circuit(detector: Any, events: Any) -> np.ndarray:
    """(E,) probability of each event under the circuit."""
    tables = pcircuit.marginal_tables(detector.circuit_)
    return np.asarray(events.of([np.append(table, 0.0) for table in tables]))


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
    edits : sequence of Edit, mapping or str
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
    _check_independent(detector)
    edits = read_edits(edits)
    asked = []
    found = {}
    with shown_steps(check_flag(progress, "progress")) as show:
        for edit in edits:
            show(f"power against {printable(str(edit))}")
            known = alternative_of_table(detector, edit)
            asked.append(
                (
                    edit,
                    power_of_table(detector, known, rows_per_day, alpha),
                    sample_size_of_table(detector, known, power, alpha),
                )
            )
        for days in DAYS:
            show(f"what {days * rows_per_day} rows find, {len(detector.encoder_.names)} columns")
            found[days] = detectable_of_table(
                detector, days * rows_per_day, power, alpha, per_column=2
            )
    return Plan(rows_per_day, power, alpha, found, tuple(asked))


def _one_a_column(several: tuple[Any, ...]) -> list[Detectable]:
    """The first of each column."""
    first: dict[str, Any] = {}
    for one in several:
        first.setdefault(one.column, one)
    return list(first.values())
