r"""How often a detector raises an alarm when nothing has shifted, and how often when something has.

From a table that the detector has not seen, batches of T rows are drawn and judged:

* **random rows** of the table, without an edit.  If the table is like the rows that were learned, nothing has shifted
  and the share of alarms is the level: its 95 % interval by Clopper and Pearson should contain alpha.
* **in order**: successive rows of the table as it stands.  If these raise more alarms than random ones, the reference
  itself drifts: the table is not a sample from one distribution, and its order matters.
* **whole groups**, where a column of groups is given: each group of the table is one batch.
* of detectors fitted with groups or ``order="time"`` random rows do not tell the level: they vary less than the rows of
  one group, or successive ones.  With ``order="time"`` the level is that of rows in order, with groups that of whole
  groups; without a column of them it is not known.  `AuditResult.notes` says so.
* **power**: rows drawn so that a level of a column is more frequent among the cells that are there, as an `Edit` says;
  everything else given that column stays as it is, because whole rows are drawn, and as many cells are missing.

Batches of one size are disjoint while the table has enough rows, and are drawn again from all rows after that: then
they share rows, their alarms are dependent, and the interval is too narrow; `is_reused` says so.  Whether a detector
keeps its level is judged by the first ones, which share no rows, by the binomial law of their alarms, and with all
sizes in mind: so it may keep it although one interval lies above alpha.

References
----------
Clopper and Pearson (1934), The use of confidence or fiducial limits illustrated in the case of the binomial, Biometrika
26, 404.

A level is found in a table by its text, as an edit may come from a shell: 3.0 is written "3", true "True", midnight
of a day as the day.  A missing cell holds no level, whatever stands for it.

Whole groups as the batches of an audit, and how many of them may alarm.

A detector fitted with groups asks whether a batch is a group like those before, so its level is the share of alarms
among fresh groups, each tested as one batch.

All of them are ranked among the same G groups of the reference, so that their alarms depend on one another.  A batch
alarms if it is among the k = floor(alpha (G + 1)) oddest of itself and the G; given the reference it does with a
probability that has the law Beta(k, G + 1 - k), as exceedances of order statistics do.  So of B fresh groups a number
with the law BetaBinomial(B, k, G + 1 - k) alarms, however many there are: with 19 groups in the reference one detector
in eight alarms on more than a tenth of all groups to come, at level 0.05, and keeps its level nonetheless.

A detector may be a function of a batch, or an object with ``test`` or ``predict``.  What it returns may be a number, an
object with an attribute, or a mapping, nested or not, with a p-value under one of the usual names.  Several p-values,
one for each column, are combined by Bonferroni's rule, as the detectors that return them do.  A detector without
p-values may say true or false, alarm or none, itself or under a usual name: p is then 0 or 1.
"""

import reprlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from hld.answers.for_programs import shown_steps
from hld.answers.segments import group_numbers, split_off
from hld.tables.cells import Columns, objects_of, read_table
from hld.tables.column_names import table_called
from hld.tables.factored import object_cells
from hld.tables.shown_names import listed, printable
from hld.tables.times import is_missing
from hld.testing.planning.alternatives import Edit, read_edits, share_after
from pcircuit.arguments import check_flag, check_fraction, check_generator, check_whole_number

NAMES = ("pvalue", "p_value", "p_val", "pval")
ALARMS = ("is_drift", "reject", "alarm", "drift")  # looked for only where no p-value is
SIZES = (10, 50, 200)
RANDOM = "random rows"  # of the table as it is, without an edit
LEVEL, OUTSIDE = 0.95, 0.025  # of intervals of shares of alarms, and what is beyond one end
OWN = {"groups": "whole groups", "time": "in order"}  # the batches that tell the level
DEPENDENT = {  # what random rows do not tell of detectors that know their rows as dependent
    "groups": "fitted with groups: random rows come from many groups and vary less than the rows of one, so they do "
    "not tell its level: that is told by whole groups that it has not seen, with `groups` as in `fit` (--groups in the "
    "shell), of which more may alarm together, as all are compared with the same ones",
    "time": "fitted in order of time: random rows vary less than successive ones, so its level is that of batches in "
    "order",
}


@dataclass(frozen=True)
class AuditRow:
    """Alarms of one detector in one situation."""

    detector: str
    situation: str
    num_rows: int
    num_batches: int
    num_alarms: int
    rate: float
    low: float
    high: float
    is_reused: bool
    disjoint: tuple[int, int] | None = (
        None  # alarms and number of the batches that share no rows, if not all
    )


@dataclass(frozen=True)
class AuditResult:
    """What an audit found.

    Attributes
    ----------
    rows : tuple of AuditRow
        One for each detector, situation and batch size.
    alpha : float
        Level at which every batch was tested, in (0, 1).
    num_held_out : int
        Rows of the table.
    kinds : dict of str to str
        Of detectors that were fitted to groups or a series: "groups" or "time".
    num_groups : dict of str to int
        Of detectors that were fitted to groups: how many batches are compared with.
    """

    rows: tuple[Any, ...]
    alpha: float
    num_held_out: int
    kinds: dict[str, str] = field(default_factory=dict)
    num_groups: dict[str, int] = field(default_factory=dict)

    @property
    def keeps_level(self) -> dict[str, bool | None]:
        """For each detector whether its alarms on batches without an edit are no more than its level explains; None
        where that is not known.

        A detector of level alpha is said not to keep it with a probability of at most 0.025, over all sizes together
        and also where batches share rows (see the module).  The level is that of random rows; of a
        detector that was fitted with ``order="time"`` that of batches in order, and of one fitted with groups that of
        whole groups, of which no more may alarm than the few groups that they are compared with explain.  It is not
        known where no groups were given.
        """
        found: dict[str, bool | None] = {}
        for name in dict.fromkeys(row.detector for row in self.rows):
            situation = OWN.get(self.kinds.get(name, ""), RANDOM)
            own = [row for row in self.rows if (row.detector, row.situation) == (name, situation)]
            found[name] = not any(self._is_too_often(row, len(own)) for row in own) if own else None
        return found

    def _is_too_often(self, row: AuditRow, num_tests: int) -> bool:
        """Whether the alarms are too many, as one of the sizes that are looked at."""
        if row.detector in self.num_groups:
            num_groups = self.num_groups[row.detector]
            return too_many(row.num_alarms, row.num_batches, self.alpha, num_groups)
        from scipy.stats import binom

        alarms, batches = row.disjoint or (row.num_alarms, row.num_batches)
        return bool(binom.sf(alarms - 1, batches, self.alpha) < OUTSIDE / num_tests)

    @property
    def notes(self) -> dict[str, str]:
        """What is to be known of the numbers of detectors that were fitted to groups or a series, by their names."""
        return {name: DEPENDENT[kind] for name, kind in self.kinds.items()}

    def verdict(self, name: str) -> str:
        """Whether a detector keeps its level, in words.

        Parameters
        ----------
        name : str
            Of the detector, a key of `keeps_level`.

        Returns
        -------
        str
            "keeps its level", "alarms too often" or "its level is not told by random rows".

        Raises
        ------
        KeyError
            If there is no such detector.
        """
        words: dict[bool | None, str] = {True: "keeps its level", False: "alarms too often"}
        return words.get(self.keeps_level[name], "its level is not told by random rows")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON.

        Returns
        -------
        dict
            "alpha", "num_held_out", "keeps_level" and "notes", which are dicts by the detector's name, and "rows", a
            list with one dict for each `AuditRow`.
        """
        return {
            "alpha": self.alpha,
            "num_held_out": self.num_held_out,
            "keeps_level": self.keeps_level,
            "notes": self.notes,
            "rows": [asdict(row) for row in self.rows],
        }

    def __str__(self) -> str:
        lines = [f"audit on {self.num_held_out} rows at level {self.alpha:g}:"]
        for name in self.keeps_level:
            lines.append(f"{printable(str(name))}: {self.verdict(name)}")
            lines += [f"  {self.notes[name]}"] if name in self.notes else []
            lines += [
                f"  {printable(row.situation)}, {row.num_rows} rows: {row.num_alarms} of {row.num_batches} "
                f"batches alarmed ({100 * row.low:.3g} to {100 * row.high:.3g} %)"
                for row in self.rows
                if row.detector == name
            ]
        return "\n".join(lines)


def audit(
    detectors: Any,
    held_out: Any,
    sizes: Sequence[int] = SIZES,
    edits: Sequence[Any] = (),
    alpha: float = 0.05,
    *,
    num_batches: int = 200,
    groups: Any = None,
    rng: int | np.random.Generator | None = 0,
    progress: bool = False,
) -> AuditResult:
    """Measure level, power and drift of detectors on rows that they have not seen.

    Parameters
    ----------
    detectors : detector, or mapping of name to detector
        A function from a batch to a p-value, or to true for an alarm and false for none, or an object with ``test``
        (or ``predict``) that returns one of these, itself or under a usual name.
    held_out : table
        Rows from the distribution that the detectors learned, in their order.
    sizes : sequence or array of int
        T, batch sizes.
    edits : sequence of Edit or str
        Shifts to measure the power against; a text is read as ``sex=F:+0.05``.
    alpha : float
        Level: a p-value of at most alpha is an alarm.
    num_batches : int
        For each size and situation.
    groups : column name, or (N,) array_like, optional
        Each group of rows is also tested as one batch, at most `num_batches` of them; the detectors must not have seen
        these groups.
    rng : int or numpy.random.Generator, optional
    progress : bool
        Show which batch is tested, on standard error if that is a terminal.

    Returns
    -------
    AuditResult

    Raises
    ------
    TypeError, ValueError
        If there is no detector, a batch is larger than the table, or a detector returns neither a p-value nor true or
        false.

    Notes
    -----
    Costs ``len(sizes) (2 + len(edits)) num_batches`` tests of each detector.

    Examples
    --------
    >>> coins = np.random.default_rng(0).integers(0, 2, size=(2000, 1))
    >>> def sign_test(batch):
    ...     z = abs(np.sum(batch) - len(batch) / 2) / np.sqrt(len(batch) / 4)
    ...     return float(np.exp(-z * z / 2))
    >>> audit(sign_test, coins, sizes=[50], num_batches=40).keeps_level
    {'detector': True}
    """
    alpha, rng = check_fraction(alpha, "alpha"), check_generator(rng)
    B = check_whole_number(num_batches, "num_batches", 1)
    with table_called("held_out"):
        columns = read_table(held_out)
    n = columns.num_rows
    if isinstance(sizes, str) or np.ndim(sizes) != 1:
        raise TypeError(f"`sizes` must be a sequence of batch sizes, found {sizes!r}")
    sizes = [check_whole_number(T, "sizes", 1) for T in sizes]
    named = detectors if isinstance(detectors, Mapping) else {"detector": detectors}
    if not named:
        raise ValueError("`detectors` is empty: give at least one detector")
    run = {name: pvalue_function(one) for name, one in named.items()}
    edits, progress, rows = read_edits(edits), check_flag(progress, "progress"), []
    fresh: list[np.ndarray] = []
    if groups is not None:
        fresh = whole_groups(columns, groups, B, np.random.default_rng(rng.integers(2**63)))
    if not sizes or max(sizes) > n:
        raise ValueError(
            f"`sizes` must be at least one batch size of at most the {n} rows of `held_out`, found "
            f"{sizes}: give smaller `sizes`, or more rows"
        )
    with shown_steps(progress) as show:

        def judge(situation: str, batches: list[np.ndarray], is_reused: bool) -> None:
            """Alarms of each detector on batches, with the interval of Clopper and Pearson."""
            from scipy.stats import binomtest

            T, count = int(np.median(list(map(len, batches)))), len(batches)
            tables = [take(held_out, one) for one in batches]
            for name, test in run.items():
                alarms = []
                for k, table in enumerate(tables):
                    where = f"{printable(str(name))}, {printable(situation)}, {T} rows"
                    show(f"{where}: batch {k + 1} of {count}")
                    alarms.append(bool(test(table) <= alpha))
                total, first = sum(alarms), alarms[: n // T]
                low, high = map(float, binomtest(total, count).proportion_ci(LEVEL))
                numbers = T, count, total, total / count, low, high
                disjoint = None
                if is_reused and situation == RANDOM:
                    disjoint = sum(first), len(first)
                rows.append(AuditRow(name, situation, *numbers, is_reused, disjoint))

        for T in sizes:
            random = _drawn(n, T, B, rng)
            judge(RANDOM, random, len(random) * T > n)
            judge(OWN["time"], _windows(n, T, B), False)
            for edit in edits:
                judge(str(edit), edited_batches(columns, edit, T, B, rng), True)
        if fresh:
            judge(OWN["groups"], fresh, False)
    kinds = {name: kind_of(one) for name, one in named.items() if kind_of(one) in DEPENDENT}
    num_groups = {
        name: named[name].judge_.num_groups for name, kind in kinds.items() if kind == "groups"
    }
    return AuditResult(tuple(rows), alpha, n, kinds, num_groups)


def kind_of(detector: Any) -> str:
    """What batches of a detector are: "groups", "time", another kind, or nothing."""
    return getattr(getattr(detector, "judge_", None), "kind", "")


def _drawn(n: int, T: int, B: int, rng: np.random.Generator) -> list[np.ndarray]:
    """B batches of T of n rows: disjoint ones while there are rows left."""
    batches: list[np.ndarray] = []
    while len(batches) < B:
        order = rng.permutation(n)
        batches += [order[start : start + T] for start in range(0, n - T + 1, T)]
    return batches[:B]


def _windows(n: int, T: int, B: int) -> list[np.ndarray]:
    """At most B windows of T successive rows that do not overlap, with gaps that are drawn, the same at every call.

    At equal distances they might all begin on the same day of the week, or at the same hour.
    """
    count = min(B, n // T)
    # rows of the gaps up to each
    before = np.sort(np.random.default_rng(T).integers(n - count * T + 1, size=count))
    return [np.arange(start, start + T) for start in before + T * np.arange(count)]


def edited_batches(
    columns: Columns, edit: Edit, T: int, B: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Positions of the rows of B batches, drawn with replacement inside the three groups."""
    cells = column_of(columns, edit.column)
    has = has_level(cells, edit.level)
    is_hole = np.array(list(map(is_missing, cells)), dtype=bool)
    share = float(has.sum() / max((~is_hole).sum(), 1))
    after = share_after(share, edit.by)
    if not 0 < share < 1 or after is None:
        raise ValueError(
            f"`edits` has {edit}, but the level has a share of {share:.4g} of the cells in `held_out`: "
            "expected one that some rows have and others not, and a result from 0 to 1"
        )
    parts = [np.flatnonzero(one) for one in (has, ~has & ~is_hole, is_hole)]
    batches = []
    for _ in range(B):
        without = rng.binomial(T, is_hole.mean())
        h = rng.binomial(T - without, after)
        sizes = h, T - without - h, without
        drawn = [rng.choice(rows, size) for rows, size in zip(parts, sizes, strict=True) if size]
        batches.append(np.concatenate(drawn))
    return batches


def has_level(cells: Any, level: object) -> np.ndarray:
    """(N,) whether cells hold a level, by its text."""
    wanted = _text(level)
    return np.array([not is_missing(cell) and _text(cell) == wanted for cell in cells], dtype=bool)


def _text(value: Any) -> str:
    """The text of a value, shared by the forms of whole numbers, truths and midnights."""
    if isinstance(value, str):
        return value.capitalize() if value.lower() in ("true", "false") else value
    return str(value).removesuffix(".0").removesuffix(" 00:00:00")


def whole_groups(
    columns: Columns, groups: Any, most: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Positions of the rows of each group, of a random choice of them where there are too many."""
    if isinstance(groups, (str, int)) and columns.names is None:
        raise ValueError(
            f"`groups` is {groups!r}, but `held_out` has no names: give the label of each row in a list"
        )
    _, cells, name = split_off(columns, groups, argument="groups")
    labels = group_numbers(cells, name)
    order = np.argsort(labels, kind="stable")
    found = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    chosen = np.sort(rng.permutation(len(found))[:most])
    return [found[g] for g in chosen]


def too_many(num_alarms: int, num_batches: int, alpha: float, num_groups: int) -> bool:
    """Whether so many groups alarm of B only once in forty detectors that keep their level."""
    from scipy.stats import betabinom

    k = int(alpha * (num_groups + 1) + 1e-9)
    if k == 0:
        return num_alarms > 0
    tail = betabinom.sf(num_alarms - 1, num_batches, k, num_groups + 1 - k)
    return bool(tail < OUTSIDE)


def pvalue_function(detector: Any) -> Callable[[Any], float]:
    """A function from a batch to a p-value."""
    found = [getattr(detector, name, None) for name in ("test", "predict")]
    run = next((one for one in (*found, detector) if callable(one)), None)
    if run is None:
        raise TypeError(
            "`detectors` must be a function of a batch or have a method `test`, found "
            f"{type(detector).__name__}"
        )

    def judged(batch: Any) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # such as of rows of several groups
            return pvalue_of(run(batch))

    return judged


def pvalue_of(result: Any) -> float:
    """The p-value in what a detector returned; ValueError where there is neither one nor a verdict."""
    is_truth = isinstance(result, (bool, np.bool_))
    found = _find(result, NAMES)
    if found is None and isinstance(result, (int, float, np.number)) and not is_truth:
        found = result
    if found is not None:
        values = np.asarray(found, dtype=np.float64).ravel()
        if values.size and ((values >= 0) & (values <= 1)).all():
            return float(min(values.min() * values.size, 1.0))
    else:
        alarm = result if is_truth else _find(result, ALARMS)
        if isinstance(alarm, (bool, np.bool_, int, np.integer)) and alarm in (0, 1):
            return 0.0 if alarm else 1.0
    raise ValueError(
        f"the detector returned {reprlib.repr(result)}, expected p-values from 0 to 1 (numbers, or named "
        f"{', '.join(NAMES)}), or true or false (or one named {', '.join(ALARMS)})"
    )


def _find(result: Any, names: tuple[str, ...]) -> Any:
    """What stands under one of the names."""
    if not isinstance(result, Mapping):
        return next((getattr(result, name) for name in names if hasattr(result, name)), None)
    inner = (_find(value, names) for value in result.values() if isinstance(value, Mapping))
    own = [result[name] for name in names if name in result]
    return own[0] if own else next((one for one in inner if one is not None), None)


def take(table: Any, index: np.ndarray) -> Any:
    """The rows of a table, or cells of a column, at some positions (n,), as something of the same kind."""
    if isinstance(table, Mapping):
        return {name: take(column, index) for name, column in table.items()}
    if isinstance(table, Sequence):
        return [table[i] for i in index.tolist()]
    if hasattr(table, "to_pylist"):  # of Arrow
        return table.take(index)
    return getattr(table, "iloc", table)[index]


def column_of(columns: Columns, name: Any) -> np.ndarray:
    """(n,) the cells of a column, given by its name or position, as plain values."""
    names = columns.names or tuple(f"x{v}" for v in range(len(columns.arrays)))
    at = names.index(str(name)) if str(name) in names else name
    if isinstance(at, bool) or not isinstance(at, (int, np.integer)) or not 0 <= at < len(names):
        raise ValueError(
            f"`edits` names the column {name!r}, expected one of {listed(names, near=name)}, or a "
            f"position from 0 to {len(names) - 1}"
        )
    return object_cells(objects_of(columns.arrays[at]).tolist())
