r"""How often a detector raises an alarm when nothing has shifted, and how often when something has.

From a table that the detector has not seen, batches of T rows are drawn and judged:

* **random rows** of the table, without an edit.  If the table is like the rows that were learned, nothing has shifted
  and the share of alarms is the level: its 95 % interval by Clopper and Pearson should contain alpha.
* **in order**: successive rows of the table as it stands.  If these raise more alarms than random ones, the reference
  itself drifts: the table is not a sample from one distribution, and its order matters.
* **whole groups**, where a column of groups is given: each group of the table is one batch.
* of detectors fitted with groups or ``order="time"`` random rows do not tell the level: they vary less than the rows of
  one group, or successive ones.  With ``order="time"`` the level is that of rows in order, with groups that of whole
  groups (`hld.detector.comparing.audit`); without a column of them it is not known.  `AuditResult.notes` says so.
* **power**: rows drawn so that a level of a column is more frequent among the cells that are there, as an `Edit` says;
  everything else given that column stays as it is, because whole rows are drawn, and as many cells are missing.

Batches of one size are disjoint while the table has enough rows, and are drawn again from all rows after that: then
they share rows, their alarms are dependent, and the interval is too narrow; `is_reused` says so.  Whether a detector
keeps its level is judged with both in mind, that batches share rows and that there are several sizes: so it may keep it
although one interval lies above alpha.  Where the table has rows for m < B disjoint batches, it is divided at random
J = ceil(B / m) times; with S_j the alarms of division j, Hölder's inequality gives

.. math:: E\, e^{\lambda (S_1 + \dots + S_J)} \le \prod_j \big(E\, e^{\lambda J S_j}\big)^{1/J}
          = (1 - \alpha + \alpha e^{\lambda J})^{B/J},

so that Chernoff's bound is that of B / J independent batches, however the divisions depend on each other:

.. math:: P(\text{share} \ge r) \le e^{-(B/J)\, k(r, \alpha)}, \qquad
          k(r, \alpha) = r \ln \frac{r}{\alpha} + (1 - r) \ln \frac{1 - r}{1 - \alpha} \quad (r > \alpha).

References
----------
Clopper and Pearson (1934), The use of confidence or fiducial limits illustrated in the case of the binomial, Biometrika
26, 404.
Hoeffding (1963), Probability inequalities for sums of bounded random variables, Journal of the American Statistical
Association 58, section 5.

Batches of the rows of a table in which a level of a column is more frequent, or less.

Whole rows are drawn, so that everything else given the column stays as it is.  The change is one of the share p of the
level among the cells that are there, as in plans (`planning.alternatives.Edit`): of T rows as many lack the cell as
in the table, on average, and of the others p + h have the level.

An edit may come from a shell, where every level is text, and a table from anywhere, with numbers or texts for the same
thing.  So a level is looked for in three steps, and the first one that finds cells decides:

1. what equals it and is of its kind, so that text "1" is not the number 1, nor true, where a column holds both;
2. what is written as it is: ``1`` finds "1" and not "1.0", which are two versions of a program, say;
3. what means the same: 3.0 and "3", true and "true", the midnight of a day and the day, 1e16 and its digits.

A missing cell holds no level, whatever stands for it.

Whole groups as the batches of an audit, and how many of them may alarm.

A detector fitted with groups asks whether a batch is a group like those before, so its level is the share of alarms
among fresh groups, each tested as one batch.

All of them are ranked among the same G groups of the reference, so that their alarms depend on one another.  A batch
alarms if it is among the k = floor(alpha (G + 1)) oddest of itself and the G; given the reference it does with a
probability that has the law Beta(k, G + 1 - k), as exceedances of order statistics do.  So of B fresh groups a number
with the law BetaBinomial(B, k, G + 1 - k) alarms, however many there are: with 19 groups in the reference one detector
in eight alarms on more than a tenth of all groups to come, at level 0.05, and keeps its level nonetheless.
"""

import contextlib
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np

from hld.answers.progress import shown_steps
from hld.answers.segments import group_numbers, split_off
from hld.detector.comparing.adapters import column_of, num_rows, pvalue_function, take
from hld.tables.cells import read_table
from hld.tables.column_names import table_called
from hld.tables.shown_names import printable
from hld.tables.times import is_missing
from hld.testing.planning.alternatives import Edit, read_edits, share_after
from pcircuit.arguments import check_flag, check_fraction, check_generator, check_whole_number


def edited_batches(
    table: Any, edit: Edit, T: int, B: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Positions of the rows of B batches, drawn with replacement inside the three groups."""
    cells = column_of(table, edit.column)
    has, is_hole = (
        has_level(cells, edit.level),
        np.array([is_missing(cell) for cell in cells], dtype=bool),
    )
    share = float(has.sum() / max((~is_hole).sum(), 1))
    after = share_after(share, edit.by)
    if not 0 < share < 1 or after is None:
        raise ValueError(
            f"`edits` has {edit}, but the level has a share of {share:.4g} of the cells in `held_out`: "
            "expected one that some rows have and others not, and a result from 0 to 1"
        )
    with_level, others, holes = map(np.flatnonzero, (has, ~has & ~is_hole, is_hole))
    batches = []
    for _ in range(B):
        without = rng.binomial(T, len(holes) / len(cells)) if len(holes) else 0
        h = rng.binomial(T - without, after)
        parts = ((with_level, h), (others, T - without - h), (holes, without))
        batches.append(
            np.concatenate([rng.choice(rows, size) for rows, size in parts if len(rows)])
        )
    return batches


def has_level(cells: Any, level: object) -> np.ndarray:
    """(N,) whether cells hold a level, by the first of three ways that finds any."""
    found = np.zeros(len(cells), dtype=bool)
    for holds in (_is_equal, lambda cell, level: str(cell) == str(level), _means):
        for i, cell in enumerate(cells):
            found[i] = not is_missing(cell) and holds(cell, level)
        if found.any():
            break
    return found


def _is_equal(cell: Any, level: Any) -> bool:
    """Whether values are equal, and neither only one of them is text nor a truth."""
    kinds = [(isinstance(one, str), isinstance(one, (bool, np.bool_))) for one in (cell, level)]
    return kinds[0] == kinds[1] and bool(cell == level)


def _means(cell: Any, level: Any) -> bool:
    """Whether a cell means the same as a level: numbers by their value, of texts "1e3" and "1000" are two."""
    if not isinstance(cell, str):
        with contextlib.suppress(ArithmeticError):
            return Decimal(str(cell)) == Decimal(str(level))
    return _text(cell) == _text(level)


def _text(cell: Any) -> str:
    """The text of a value, shared by the forms of whole numbers, truths and midnights."""
    text = str(cell)
    if re.fullmatch(r"[+-]?\d+\.0", text):
        return text[:-2]
    is_truth = text.lower() in ("true", "false")
    return text.capitalize() if is_truth else text.removesuffix(" 00:00:00")


WORDS = {
    "groups": "groups",
    "time": "order",
}  # kind of `judge_`: the argument of `fit` that made it
OUTSIDE = 0.025  # as beyond one end of an interval of 95 %


def whole_groups(table: Any, groups: Any, most: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Positions of the rows of each group, of a random choice of them where there are too many."""
    with table_called("held_out"):
        _, cells, name = split_off(read_table(table), groups, argument="groups")
    labels = group_numbers(cells, name)
    order = np.argsort(labels, kind="stable")
    found = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    return (
        found
        if len(found) <= most
        else [found[g] for g in np.sort(rng.permutation(len(found))[:most])]
    )


def as_judged(table: Any, groups: Any) -> Any:
    """A table as detectors of groups test it: without the column of groups, where columns have no names."""
    columns = read_table(table) if isinstance(groups, (str, int, np.integer)) else None
    if columns is None or columns.names is not None:
        return table
    names = [f"x{v}" for v in range(len(columns.arrays))]
    at = names.index(groups) if isinstance(groups, str) else int(groups)
    keep = [v for v in range(len(names)) if v != at]
    if hasattr(table, "iloc"):
        return table.iloc[:, keep]
    return (
        table[:, keep]
        if isinstance(table, np.ndarray)
        else [[row[v] for v in keep] for row in table]
    )


def fit_all(detectors: Mapping[str, Any], train: Any, fitting: Mapping[str, Any]) -> None:
    """Fit those that have ``fit``, in the words that it knows.

    What a detector says of its `table` is said of `train`.
    """
    for name, one in detectors.items():
        word = WORDS.get(kind_of(one))  # type: ignore[arg-type]
        if word is not None and fitting.get(word) is None:
            raise ValueError(
                f"`{word}` must be given with `train`, as detector {name!r} was fitted with it: repeat it "
                "as in `fit`"
            )
    groups = fitting.get("groups")
    if groups is not None and not isinstance(groups, (str, int, np.integer)):
        raise ValueError(
            f"`groups` must be a column of both tables with `train`, found {type(groups).__name__}: add "
            "the labels to the tables as a column"
        )
    for one in detectors.values():
        if callable(getattr(one, "fit", None)):
            words = {word: value for word, value in fitting.items() if _knows(one.fit, word)}
            with table_called("train"):
                one.fit(train if "groups" in words else as_judged(train, groups), **words)


def _knows(function: Callable[..., Any], argument: str) -> bool:
    """Whether a function has an argument of this name."""
    try:
        return argument in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def kind_of(detector: Any) -> str | None:
    """What batches of a detector are: "groups", "time", another kind, or None."""
    return getattr(getattr(detector, "judge_", None), "kind", None)


def too_many(num_alarms: int, num_batches: int, alpha: float, num_groups: int) -> bool:
    """Whether so many groups alarm of B only once in forty detectors that keep their level."""
    from scipy.stats import betabinom

    k = int(alpha * (num_groups + 1) + 1e-9)
    if k == 0:
        return num_alarms > 0
    law = betabinom(num_batches, k, num_groups + 1 - k)
    return bool(law.sf(num_alarms - 1) < OUTSIDE)


SIZES = (10, 50, 200)
RANDOM = "random rows"  # of the table as it is, without an edit
LEVEL = 0.95  # of intervals of shares of alarms
OWN = {
    "groups": "whole groups",
    "time": "in order",
}  # kinds of `judge_`: the batches that tell the level
DEPENDENT = {  # what random rows do not tell of detectors that know their rows as dependent
    "groups": "fitted with groups: random rows come from many groups and vary less than the rows of one, so they do "
    "not tell its level",
    "time": "fitted in order of time: random rows vary less than successive ones, so its level is that of batches in "
    "order",
}
GIVE = ": give whole groups that it has not seen, with `groups` as in `fit` (--groups in the shell)"
COMPARED = (
    ", which is that of whole groups; all are compared with the same {G} groups, so that of {B} up to {most} "
    "may alarm"
)


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
        names = dict.fromkeys(row.detector for row in self.rows)
        return {
            name: all(self._is_kept(row, len(own)) for row in own)
            if (own := self._own(name))
            else None
            for name in names
        }

    def _own(self, name: str) -> list[AuditRow]:
        """The rows that tell the level of a detector."""
        own = OWN.get(self.kinds.get(name, ""), RANDOM)
        return [row for row in self.rows if row.detector == name and row.situation == own]

    def _is_kept(self, row: AuditRow, num_tests: int) -> bool:
        """Whether the alarms are not too many, as one of the sizes that are looked at."""
        if row.detector in self.num_groups:
            return not too_many(
                row.num_alarms, row.num_batches, self.alpha, self.num_groups[row.detector]
            )
        return not too_often(
            row.num_alarms,
            row.num_batches,
            self.num_held_out // row.num_rows,
            self.alpha,
            OUTSIDE / num_tests,
        )

    @property
    def notes(self) -> dict[str, str]:
        """What is to be known of the numbers of detectors that were fitted to groups or a series.

        A dict from the name of each of them to sentences; detectors of rows that were drawn independently have none.
        """
        found = {name: DEPENDENT[kind] for name, kind in self.kinds.items()}
        for name, G in self.num_groups.items():
            own = self._own(name)
            most = (
                0
                if not own
                else next(
                    a
                    for a in range(own[0].num_batches, -1, -1)
                    if not too_many(a, own[0].num_batches, self.alpha, G)
                )
            )
            found[name] += COMPARED.format(G=G, B=own[0].num_batches, most=most) if own else GIVE
        return found

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
        return {
            True: "keeps its level",
            False: "alarms too often",
            None: "its level is not told by random rows",
        }[self.keeps_level[name]]

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
            lines += [
                f"{printable(str(name))}: {self.verdict(name)}",
                *(f"  {note}" for note in [self.notes.get(name)] if note),
            ]
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
    train: Any = None,
    rng: int | np.random.Generator | None = 0,
    progress: bool = False,
    **fitting: Any,
) -> AuditResult:
    """Measure level, power and drift of detectors on rows that they have not seen.

    Parameters
    ----------
    detectors : detector, or mapping of name to detector
        A function from a batch to a p-value, or to true for an alarm and false for none, or an object with ``test``
        (or ``predict``) that returns one of these, itself or under a usual name: see `hld.detector.comparing.adapters`.
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
    train : table, optional
        Objects with ``fit`` are fitted to it first.
    rng : int or numpy.random.Generator, optional
    progress : bool
        Show which batch is tested, on standard error if that is a terminal.
    **fitting
        ``groups`` and ``order``, in the words of `HLDDetector.fit`.  With ``groups`` (a column of `held_out` by name
        or position, or a label for each row) each group is also tested as one batch, at most `num_batches` of them;
        the detectors must not have seen these groups.  Objects that are fitted to `train` and know the word are
        fitted with it; it is a column of both tables then.

    Returns
    -------
    AuditResult

    Raises
    ------
    TypeError, ValueError
        If there is no detector, a batch is larger than the table, a detector returns neither a p-value nor true or
        false, or `train` would make a detector of groups or series one of rows.

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
    B, n = check_whole_number(num_batches, "num_batches", 1), num_rows(held_out)
    if isinstance(sizes, str) or (
        not isinstance(sizes, Sequence) and getattr(sizes, "ndim", 0) != 1
    ):
        raise TypeError(f"`sizes` must be a sequence of batch sizes, found {sizes!r}")
    sizes = [check_whole_number(T, "sizes", 1) for T in sizes]
    edits, named = (
        read_edits(edits),
        dict(detectors) if isinstance(detectors, Mapping) else {"detector": detectors},
    )
    if not named:
        raise ValueError("`detectors` is empty: give at least one detector")
    run = {
        name: pvalue_function(one, "detectors" if one is detectors else f"detectors[{name!r}]")
        for name, one in named.items()
    }
    progress, groups = check_flag(progress, "progress"), _checked(fitting).get("groups")
    fresh = (
        None
        if groups is None
        else whole_groups(held_out, groups, B, np.random.default_rng(rng.integers(2**63)))
    )
    if not sizes or max(sizes) > n:
        raise ValueError(
            f"`sizes` must be at least one batch size of at most the {n} rows of `held_out`, found "
            f"{sizes}: give smaller `sizes`, or more rows"
        )
    if train is not None:
        fit_all(named, train, fitting)
    judged, rows = as_judged(held_out, groups), []
    with shown_steps(progress) as show:
        for T in sizes:
            plans = [(RANDOM, _drawn(n, T, B, rng)), ("in order", _windows(n, T, B))]
            plans += [(str(edit), edited_batches(held_out, edit, T, B, rng)) for edit in edits]
            for situation, batches in plans:
                reused = sum(map(len, batches)) > n or situation not in (RANDOM, "in order")
                cells = [take(judged, one) for one in batches]
                for name, test in run.items():
                    rows.append(_judged(name, situation, test, cells, alpha, reused, show))
        cells = [take(judged, one) for one in fresh or ()]
        for name, test in run.items() if cells else ():
            rows.append(_judged(name, OWN["groups"], test, cells, alpha, False, show))
    kinds = {name: kind for name, one in named.items() if (kind := kind_of(one)) in DEPENDENT}
    return AuditResult(
        tuple(rows),
        alpha,
        n,
        kinds,
        {name: named[name].judge_.num_groups for name, kind in kinds.items() if kind == "groups"},
    )


def _checked(fitting: Mapping[str, Any]) -> Mapping[str, Any]:
    """The words of the fit; TypeError for others, ValueError for another order than that of time."""
    for word in fitting:
        if word not in WORDS.values():
            raise TypeError(
                f"`{word}` is no argument of `audit`, expected `groups` or `order` as in `fit`"
            )
    if fitting.get("order") not in (None, "time"):
        raise ValueError(f"`order` must be 'time' or None, found {fitting['order']!r}")
    return fitting


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
    before = np.sort(
        np.random.default_rng(T).integers(n - count * T + 1, size=count)
    )  # rows of the gaps up to each
    return [np.arange(start, start + T) for start in before + T * np.arange(count)]


def _judged(
    name: str,
    situation: str,
    test: Callable[[Any], float],
    batches: list[Any],
    alpha: float,
    is_reused: bool,
    show: Callable[[str], None],
) -> AuditRow:
    """Alarms of a detector on batches, with the interval of Clopper and Pearson."""
    from scipy.stats import binomtest

    alarms, T = 0, int(np.median([num_rows(batch) for batch in batches]))
    for k, batch in enumerate(batches):
        show(
            f"{printable(str(name))}, {printable(situation)}, {T} rows: batch {k + 1} of {len(batches)}"
        )
        alarms += test(batch) <= alpha
    low, high = map(float, binomtest(alarms, len(batches)).proportion_ci(LEVEL))
    return AuditRow(
        name,
        situation,
        T,
        len(batches),
        int(alarms),
        alarms / len(batches),
        low,
        high,
        bool(is_reused),
    )


def too_often(
    num_alarms: int, num_batches: int, num_disjoint: int, alpha: float, chance: float
) -> bool:
    """Whether so many batches alarm that a detector of level alpha explains it with a probability below `chance`."""
    if num_batches <= num_disjoint:
        from scipy.stats import binom

        return bool(binom.sf(num_alarms - 1, num_batches, alpha) < chance)
    share, divisions = num_alarms / num_batches, -(-num_batches // num_disjoint)
    if share <= alpha:
        return False
    distance = share * math.log(share / alpha)
    if share < 1:
        distance += (1 - share) * math.log((1 - share) / (1 - alpha))
    return num_batches / divisions * distance > -math.log(chance)
