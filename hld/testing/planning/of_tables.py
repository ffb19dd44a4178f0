"""Planning for a detector: a plan in words and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hld.answers.column_shifts import percent
from hld.answers.progress import shown_steps
from hld.tables.shown_names import in_one_line, printable, visible
from hld.testing.planning.alternatives import Edit, read_edits
from hld.testing.planning.power import MOST_ROWS, Detectable, Planner
from pcircuit.arguments import check_flag, check_whole_number

DAYS = (1, 7, 30)


def planner_of(detector: Any) -> Planner:
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
    return Planner(detector.test_, detector)


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
    See `hld.testing.planning.power` for what is computed and its limits; it takes some seconds, more with more columns:
    a bisection for each of up to 100 levels, for each number of days.

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
