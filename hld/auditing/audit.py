r"""How often a detector raises an alarm when nothing has shifted, and how often when something has.

From a table that the detector has not seen, batches of T rows are drawn and judged:

* **level**: rows drawn at random, so that nothing has shifted.  The share of alarms has a 95 % interval by Clopper and
  Pearson; for a detector of level alpha it should contain alpha.
* **in order**: successive rows of the table as it stands.  If these raise more alarms than random ones, the reference
  itself drifts: the table is not a sample from one distribution, and its order matters.
* of detectors fitted with groups or ``order="time"`` random rows do not tell the level: they vary less than the rows of
  one group, or successive ones.  `AuditResult.notes` says so; with ``order="time"`` the level is that of rows in order.
* **power**: rows drawn so that a level of a column is more frequent, as an `Edit` says; everything else given that
  column stays as it is, because whole rows are drawn.

Batches of one size are disjoint while the table has enough rows, and are drawn again from all rows after that: then
they share rows, their alarms are dependent, and the interval is too narrow; `is_reused` says so.

References
----------
Clopper and Pearson (1934), The use of confidence or fiducial limits illustrated in the case of the binomial, Biometrika
26, 404.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

import pcircuit
from hld.auditing.adapters import column_of, level_text, num_rows, pvalue_function, take
from hld.checks import check_alpha
from hld.planning.alternatives import Edit, read_edits

SIZES = (10, 50, 200)
DEPENDENT = {  # kinds of `judge_`: what random rows do not tell of detectors that know their rows as dependent
    "groups": "fitted with groups: random rows come from many groups and vary less than the rows of one, so they do "
              "not tell its level: count p-values of whole groups that it has not seen (test_by)",
    "time": "fitted in order of time: random rows vary less than successive ones, so its level is that of batches in "
            "order"}


@dataclass(frozen=True)
class AuditRow:
    """Alarms of one detector in one situation.

    Attributes
    ----------
    detector, situation : str
        "unshifted", "in order", or an edit.
    num_rows : int
        T.
    num_batches, num_alarms : int
        Batches that were judged, and how many of them were called shifted.
    rate, low, high : float
        Share of alarms, and its 95 % interval.
    is_reused : bool
        Whether batches share rows.
    """

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
    """

    rows: tuple[Any, ...]
    alpha: float
    num_held_out: int
    kinds: dict[str, str] = field(default_factory=dict)

    @property
    def keeps_level(self) -> dict[str, Any]:
        """For each detector whether alpha is no smaller than every interval of its level.

        The level is that of unshifted batches; of a detector that was fitted with ``order="time"`` that of batches in
        order.  Of one fitted with groups it is not known from random rows, see `notes`.
        """
        situations = {row.detector: "in order" if self.kinds.get(row.detector) == "time" else "unshifted"
                      for row in self.rows}
        return {name: all(row.low <= self.alpha for row in self.rows
                          if row.detector == name and row.situation == own) for name, own in situations.items()}

    @property
    def notes(self) -> dict[str, str]:
        """What is to be known of the numbers of detectors that were fitted to groups or a series."""
        return {name: DEPENDENT[kind] for name, kind in self.kinds.items()}

    def verdict(self, name: str) -> str:
        """Whether a detector keeps its level, in words."""
        if not self.keeps_level[name]:
            return "alarms too often"
        return "its level is not told by random rows" if self.kinds.get(name) == "groups" else "keeps its level"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"alpha": self.alpha, "num_held_out": self.num_held_out, "keeps_level": self.keeps_level,
                "notes": self.notes, "rows": [asdict(row) for row in self.rows]}

    def __str__(self) -> str:
        lines = [f"audit on {self.num_held_out} rows at level {self.alpha:g}:"]
        for name in self.keeps_level:
            lines += [f"{name}: {self.verdict(name)}", *(f"  {note}" for note in [self.notes.get(name)] if note)]
            lines += [f"  {row.situation}, {row.num_rows} rows: {row.num_alarms} of {row.num_batches} batches alarmed "
                      f"({100 * row.low:.3g} to {100 * row.high:.3g} %)" for row in self.rows if row.detector == name]
        return "\n".join(lines)


def audit(detectors: Any, held_out: Any, sizes: Sequence[int] = SIZES, edits: Sequence[Any] = (),
          alpha: float = 0.05, *, num_batches: int = 200, train: Any = None,
          rng: int | np.random.Generator | None = 0) -> AuditResult:
    """Measure level, power and drift of detectors on rows that they have not seen.

    Parameters
    ----------
    detectors : detector, or mapping of name to detector
        A function from a batch to a p-value, or to true for an alarm and false for none, or an object with ``test``
        (or ``predict``) that returns one of these, itself or under a usual name: see `hld.auditing.adapters`.
    held_out : table
        Rows from the distribution that the detectors learned, in their order.
    sizes : sequence or array of int
        T, batch sizes.
    edits : sequence of Edit, mapping or str
        Shifts to measure the power against; a text is read as ``sex=F:+0.05``.
    alpha : float
        Level: a p-value of at most alpha is an alarm.
    num_batches : int
        For each size and situation.
    train : table, optional
        Objects with ``fit`` are fitted to it first.
    rng : int or numpy.random.Generator, optional

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
    alpha, rng = check_alpha(alpha), pcircuit.check_generator(rng)
    B, n = pcircuit.check_whole_number(num_batches, "num_batches", 1), num_rows(held_out)
    if isinstance(sizes, str) or (not isinstance(sizes, Sequence) and getattr(sizes, "ndim", 0) != 1):
        raise TypeError(f"`sizes` must be a sequence of batch sizes, found {sizes!r}")
    sizes = [pcircuit.check_whole_number(T, "sizes", 1) for T in sizes]
    edits, named = read_edits(edits), dict(detectors) if isinstance(detectors, Mapping) else {"detector": detectors}
    if not named:
        raise ValueError("`detectors` is empty: give at least one detector")
    run = {name: pvalue_function(one, "detectors" if one is detectors else f"detectors[{name!r}]")
           for name, one in named.items()}
    if not sizes or max(sizes) > n:
        raise ValueError(f"`sizes` must be at least one batch size of at most the {n} rows of `held_out`, found "
                         f"{sizes}")
    if train is not None:
        for one in named.values():
            if callable(getattr(one, "fit", None)):
                one.fit(train)
    rows = []
    for T in sizes:
        plans = {"unshifted": _drawn(n, T, B, rng), "in order": _windows(n, T, B)}
        plans |= {str(edit): _edited(held_out, edit, T, B, rng) for edit in edits}
        for situation, batches in plans.items():
            reused = sum(map(len, batches)) > n or situation not in ("unshifted", "in order")
            for name, test in run.items():
                rows.append(_judged(name, situation, test, [take(held_out, one) for one in batches], alpha, reused))
    kinds = {name: getattr(getattr(one, "judge_", None), "kind", None) for name, one in named.items()}
    return AuditResult(tuple(rows), alpha, n, {name: kind for name, kind in kinds.items() if kind in DEPENDENT})


def _drawn(n: int, T: int, B: int, rng: np.random.Generator) -> list[np.ndarray]:
    """B batches of T of n rows: disjoint ones while there are rows left."""
    batches: list[np.ndarray] = []
    while len(batches) < B:
        order = rng.permutation(n)
        batches += [order[start:start + T] for start in range(0, n - T + 1, T)]
    return batches[:B]


def _windows(n: int, T: int, B: int) -> list[np.ndarray]:
    """At most B windows of T successive rows, evenly spread."""
    starts = np.unique(np.linspace(0, n - T, min(B, max(n // T, 1))).astype(int))
    return [np.arange(start, start + T) for start in starts]


def _edited(table: Any, edit: Edit, T: int, B: int, rng: np.random.Generator) -> list[np.ndarray]:
    """B batches of T rows among which a level has another share, drawn with replacement inside the two groups."""
    has = column_of(table, edit.column) == level_text(edit.level)
    share = has.mean()
    if not 0 < share < 1 or not 0 <= share + edit.by <= 1:
        raise ValueError(f"`edits` has {edit}, but the level has a share of {share:.4g} in `held_out`: expected one "
                         "that some rows have and others not, and a result from 0 to 1")
    with_level, others, batches = np.flatnonzero(has), np.flatnonzero(~has), []
    for _ in range(B):
        h = rng.binomial(T, share + edit.by)
        batches.append(np.concatenate([rng.choice(with_level, h), rng.choice(others, T - h)]))
    return batches


def _judged(name: str, situation: str, test: Callable[[Any], float], batches: list[Any], alpha: float,
            is_reused: bool) -> AuditRow:
    """Alarms of a detector on batches."""
    alarms = sum(test(batch) <= alpha for batch in batches)
    low, high = clopper_pearson(alarms, len(batches))
    return AuditRow(name, situation, num_rows(batches[0]), len(batches), int(alarms), alarms / len(batches), low, high,
                    bool(is_reused))


def clopper_pearson(count: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Interval of the probability of an event that occurred in `count` of `trials`.

    Parameters
    ----------
    count : int
        0..trials.
    trials : int
        At least 1.
    level : float
        Probability with which the interval covers, at least.

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> [round(end, 4) for end in clopper_pearson(0, 10)]
    [0.0, 0.3085]
    """
    from scipy.special import betaincinv
    outside = (1 - level) / 2
    low = 0.0 if count == 0 else float(betaincinv(count, trials - count + 1, outside))
    high = 1.0 if count == trials else float(betaincinv(count + 1, trials - count, 1 - outside))
    return low, high
