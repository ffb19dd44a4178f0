r"""Monitoring a stream: rows as they come, ranked among reference rows.

    H0: the rows of the stream and the reference rows are exchangeable

(as independent rows from one distribution are).  The circuit only says which numbers of a row to compare
(`hld.features.row_scores`); the reference rows show what is usual, and bets on ranks find what is not.
So

    P(any alarm, ever)  <=  alpha

for any circuit, good or bad, any number of reference rows, and streams of any length.

**The reference.**  A detector has counts of its held-out rows, which are all that a monitor needs; other rows may be
given.  With a circuit alone the reference is drawn from it: H0 is then that the rows follow the circuit, which real
rows never quite do, so that a long stream raises the alarm in the end.

**One martingale.**  A number s(x) of a row is fixed.  The bag holds those of the reference rows and of the stream's
rows so far.  A new row enters the bag of N and gets its rank in it, ties divided at random,

.. math:: p_t = (\#\{s > s_t\} + U_t \#\{s = s_t\}) / N, \qquad U_t \text{ uniform on } (0, 1).

If reference and stream are exchangeable, p_1, p_2, ... are independent and uniform (Vovk, Gammerman and Shafer 2005),
whatever the law of the rows is and however few reference rows there are: no mean is estimated, so no estimation error
is bet on.  A density f on (0, 1) is a fair bet on p_t, and the product W_t of such factors, each chosen from earlier
p-values, reaches c with probability at most 1 / c, ever (Ville 1939).

**The bets.**  (0, 1) is divided into 18 cells of widths pi, narrow at the ends, and a fair bet is a density that is
constant on each.  Some are fixed: what a normal score becomes when its mean moves by theta or its spread is multiplied
by s, and what gross errors make, a share of ranks at one end,

.. math:: f(p) = P_{\theta, s}(c) / \pi_c .

Others are learned.  An expert counts the cells of earlier p-values, older ones with less weight, and bets

.. math:: f(p) = \frac{N_c + \kappa \pi_c}{(M + \kappa)\, \pi_c}, \qquad M = \sum_c N_c,

which integrates to one whatever the counts are: it finds tails, middles, or any other reshuffle, but must learn 18
numbers first.  A fifth of the money is not bet.  After row t a share 1 / (2 (t + 1)) of all money is collected and
given out again in the initial proportions, so that bets are alive when a shift comes late.

**Many.**  Each number has a race of its own with a weight w, and the weights sum to 1.  The alarm is raised when
w W >= 1 / alpha in one of them; by the union bound its probability, ever, is at most

    sum over races of P(W >= 1 / (alpha w))  <=  sum of alpha w  =  alpha.

Races need not know of each other, so the numbers of a row may be as dependent as they are.
"""

from __future__ import annotations

import os
import threading
import warnings
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

import pcircuit
from hld.answers.words import p_text
from hld.features.row_scores import (
    RowScores,
    WatchedRows,
    bin_edges,
    binned,
    counted,
    padded,
    watched_rows,
)
from hld.tables.column_names import table_called
from hld.tables.schemas.quality import column_lines
from hld.tables.shown_names import listed
from hld.testing.summaries.summary import arrays_digest
from pcircuit.arguments import check_fraction, check_whole_number
from pcircuit.circuit import check_distribution
from pcircuit.evidence import check_evidence
from pcircuit.io.archive import (
    check_names,
    finite_array,
    read_object,
    saved_count,
    saved_number,
    under_prefix,
    with_prefix,
    write_archive,
)
from pcircuit.io.circuit_file import to_arrays

LOW_CUTS = [0.0005, 0.002, 0.01, 0.03, 0.07, 0.15, 0.25, 0.375]
CUTS = np.array([*LOW_CUTS, 0.5, *(1 - cut for cut in reversed(LOW_CUTS))])
WIDTHS = np.diff(CUTS, prepend=0.0, append=1.0)
MOVES = [(theta, 1.0) for theta in (-2.0, -1.0, -0.5, -0.25, 0.25, 0.5, 1.0, 2.0)]
SPREADS = [(0.0, s) for s in (0.5, 0.75, 1.5, 2.5)]
GROSS = (0.01, 0.05)  # of the ranks, evenly in the first or the last few cells
MOST_GROSS = 4  # cells
RATES = np.array([0.0, 1 / 64, 1 / 16])  # of forgetting
EXPERTS = ((6.0, 0), (40.0, 0), (40.0, 1), (6.0, 2))  # kappa, and the place of its rate
KAPPA = np.array([kappa for kappa, _ in EXPERTS])
RATE_OF = np.array([rate for _, rate in EXPERTS])


def _fixed_bets() -> np.ndarray:
    """(cells, bets) densities of the fixed bets."""
    normal = NormalDist()
    cuts = [normal.inv_cdf(1 - cut) for cut in CUTS]
    found = []
    for theta, s in MOVES + SPREADS:
        above = [1 - normal.cdf((cut - theta) / s) for cut in cuts]
        found.append(np.diff(above, prepend=0.0, append=1.0) / WIDTHS)
    for cells in range(1, MOST_GROSS + 1):
        odd = np.where(np.arange(len(WIDTHS)) < cells, 1 / CUTS[cells - 1], 0.0)
        found += [1 - share + share * one for share in GROSS for one in (odd, odd[::-1])]
    return np.stack(found, axis=1)


FIXED = _fixed_bets()
NUM_FIXED = FIXED.shape[1]
FIRST = np.array([0.2] + [0.4 / NUM_FIXED] * NUM_FIXED + [0.4 / len(EXPERTS)] * len(EXPERTS))
SHARE = 0.5
BLOCK = 1024  # uniform numbers made at a time


class Races(NamedTuple):
    """F races.

    Shapes: counts (F, BINS) of the bag, seen (F, 3, cells), money (F, bets) in shares of W, log (F,) of W.
    """

    counts: np.ndarray
    seen: np.ndarray
    money: np.ndarray
    log: np.ndarray

    def copy(self) -> Races:
        """The same numbers in arrays of their own."""
        return Races(*(array.copy() for array in self))


def first_races(counts: np.ndarray) -> Races:
    """Races that have not begun, with bags of reference rows; shapes counts (F, BINS)."""
    F = len(counts)
    return Races(
        counts.copy(),
        np.zeros((F, len(RATES), len(WIDTHS))),
        np.tile(FIRST, (F, 1)),
        np.zeros(F),
    )


def advance(
    bins: np.ndarray, uniforms: np.ndarray, races: Races, log_weights: np.ndarray, num_rows: int
) -> tuple[np.ndarray, np.ndarray]:
    """Process rows, one after the other: the largest log w W after each, and the race that has it.

    Shapes: bins (n, F), uniforms (n,), log_weights (F,) -> (n,), (n,).
    O(F (BINS + 64)) a row.
    """
    every = np.arange(len(log_weights))
    evidence, leaders = np.empty(len(bins)), np.zeros(len(bins), np.int64)
    kept = (1.0 - RATES)[:, None]
    for t, row in enumerate(bins):
        races.counts[every, row] += 1
        below = np.cumsum(races.counts, axis=1)
        same, total = races.counts[every, row], below[:, -1]
        ranks = (total - below[every, row] + uniforms[t] * same) / total
        cells = np.searchsorted(CUTS, ranks, side="left")
        counts, sums = races.seen[every, :, cells], races.seen.sum(axis=2)
        width = WIDTHS[cells][:, None]
        paid = (counts[:, RATE_OF] + KAPPA * width) / ((sums[:, RATE_OF] + KAPPA) * width)
        races.money[:, 1 : 1 + NUM_FIXED] *= FIXED[cells]
        races.money[:, 1 + NUM_FIXED :] *= paid
        won = races.money.sum(axis=1)
        races.log[:] += np.log(won)
        moved = SHARE / (num_rows + t + 1.0)
        races.money[:] = races.money * ((1 - moved) / won)[:, None] + moved * FIRST
        races.seen[:] *= kept
        races.seen[every, :, cells] += 1
        weighted = races.log + log_weights
        leaders[t] = int(weighted.argmax())
        evidence[t] = weighted[leaders[t]]
    return evidence, leaders


def uniform_numbers(seed: int, first: int, n: int) -> np.ndarray:
    """(n,) U_t of the rows from `first` on, each a function of the seed and its own number."""
    blocks = range(first // BLOCK, (first + n - 1) // BLOCK + 1) if n else ()
    numbers = [np.random.default_rng([seed, 7, block]).random(BLOCK) for block in blocks]
    return np.concatenate([*numbers, np.zeros(0)])[first % BLOCK :][:n]


FEWEST_ROWS = 40
MOST_ROWS = 9_000  # of a reference that are used
NUM_EXAMPLES, NUM_DRAWN = (
    1_000,
    5_000,
)  # rows drawn from a circuit: to choose the numbers by, and to compare with
MOST_SEED = 2**53
SHOWN = 4  # columns that a line names
FORMAT, VERSION = "hld.monitor", 1
STATE = ("num_rows", "num_missing", "best", "leader", "alarm_row")
SLACK = 1e-6


@dataclass(frozen=True, eq=False)
class MonitorResult:
    """Where a stream stands after an update.

    Attributes
    ----------
    log_e_value : float
        Largest log(w W) of all races after the last row.
    pvalue : float
        1 over the largest w W so far, at most 1; valid at any time.
    alarm : bool
        ``pvalue <= alpha``; stays on until `Monitor.reset`.
    alarm_row : int or None
        The first row with an alarm, counted from 1; the first batch, where the reference has groups.
    num_rows, num_missing : int
        Rows, or batches, and missing entries so far.
    alpha : float
        Bound on the probability of any false alarm, from one reset to the next.
    witness : str
        What the race ahead ranks: "column", "pair", "information", "unit", "direction", or one of
        `hld.features.odd_rows.ODDNESS`.
    columns : tuple of str
        Columns of the race that is ahead, or, if it is one of whole rows, of the best of the others; may be empty.
    log_e_values : (n,) float array
        After each row of this update.
    absent, extra : tuples of str
        Columns that the table of this update did not have, which counted as missing, and others, which were ignored.
    """

    log_e_value: float
    pvalue: float
    alarm: bool
    alarm_row: int | None
    num_rows: int
    num_missing: int
    alpha: float
    witness: str
    columns: tuple[str, ...]
    log_e_values: np.ndarray = field(repr=False)
    absent: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    _unit: str = field(default="row", repr=False)

    @property
    def e_value(self) -> float:
        """w W of the race that is ahead; at most the largest float."""
        return float(np.exp(min(self.log_e_value, 709.0)))

    def to_dict(self) -> dict[str, Any]:
        """The fields but `log_e_values` as plain values, ready for JSON, with `e_value`: a dict."""
        found = {"e_value": self.e_value} | vars(self)
        listed = {name: list(found[name]) for name in ("columns", "absent", "extra")}
        return {
            name: listed.get(name, value)
            for name, value in found.items()
            if name not in ("log_e_values", "_unit")
        }

    def __str__(self) -> str:
        one, several = self._unit, "batches" if self._unit == "batch" else "rows"
        ahead = listed(self.columns, SHOWN, is_quoted=False) if self.columns else "whole rows"
        verdict = f"alarm at {one} {self.alarm_row} ({ahead})" if self.alarm else "no alarm"
        first = f"{verdict}: anytime-valid {p_text(self.pvalue)}, alpha = {self.alpha:g}, "
        first += f"{self.num_rows} {one if self.num_rows == 1 else several}"
        return "\n".join([first, *column_lines(list(self.absent), list(self.extra))])

    __repr__ = __str__


class Monitor:
    """Anytime-valid test of a stream of rows against reference rows.

    Raises the alarm when a conformal test martingale of weight w reaches 1 / (alpha w); P(any false alarm, ever) is at
    most alpha if reference rows and stream are exchangeable.

    Parameters
    ----------
    model : HLDDetector or pcircuit.Circuit
        A fitted detector, or a normalised circuit, whose rows are category codes.
    alpha : float
        Bound on the probability of ever raising a false alarm, in (0, 1).
    reference : array_like or data frame, optional
        At least 40 rows that the model did not learn from, in any order; of more than 9,000 only some are used.  By
        default the held-out rows, of which a detector keeps counts; rows drawn from the circuit where there are none.
    groups : column name or position, or (n,) array_like, optional
        Groups of the reference rows: the monitor's units are then groups, and every update is one batch like those.
    seed : int
        Seed of ties and of rows that are drawn, at most 2^53; equal seeds give equal results.

    Attributes
    ----------
    num_rows : int
        Rows so far, or batches.
    alarm_row : int or None
        The first with an alarm, counted from 1.

    Raises
    ------
    TypeError, ValueError
        If `model` is neither, or not fitted, or the reference has too few rows or groups or is not a table.

    Notes
    -----
    A row costs its likelihoods and about a microsecond for each of its numbers, some ten for each column.  Results do
    not depend on how a stream is divided into updates.  A lock inside makes updates from several threads safe.

    References
    ----------
    Vovk, Gammerman and Shafer (2005), Algorithmic Learning in a Random World; Ville (1939); Herbster and Warmuth
    (1998), Tracking the best expert.

    Examples
    --------
    >>> import pcircuit
    >>> circuit = pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0)
    >>> monitor = Monitor(circuit)
    >>> monitor.update(pcircuit.sample(circuit, 500, rng=1)).alarm
    False
    >>> result = monitor.update([[0, 1] * 4] * 100)
    >>> result.alarm, 500 < result.alarm_row < 540
    (True, True)
    """

    def __init__(
        self,
        model: Any,
        alpha: float = 0.05,
        *,
        reference: Any = None,
        groups: Any = None,
        seed: int = 0,
    ) -> None:
        self._take_model(model)
        alpha, seed = check_fraction(alpha, "alpha"), check_whole_number(seed, "seed", 0, MOST_SEED)
        if groups is not None and (reference is None or self._encoder is None):
            raise ValueError(
                "`groups` are those of `reference` rows of a detector: give both, or none"
            )
        watched = getattr(model, "watched_", None)
        if watched is None:
            watched = _drawn(self.circuit, seed)
        if reference is not None:
            watched = self._among(watched.scores, reference, groups, seed)
        unit = "row" if groups is None else "batch"
        _warn_of_kind(model, unit)
        self._begin(watched, unit, alpha, seed)

    def _begin(self, watched: WatchedRows, unit: str, alpha: float, seed: int) -> None:
        """Be a monitor that has seen nothing."""
        self._scores, self._bags, self._unit = watched.scores, watched.counts, unit
        self.alpha, self.seed, self._lock = alpha, seed, threading.Lock()
        self.reset()

    def _take_model(self, model: Any) -> None:
        """Keep the parts of a model."""
        if isinstance(model, pcircuit.Circuit):
            self.circuit, self._encoder = check_distribution(model, "model"), None
            return
        circuit, self._encoder = (getattr(model, name, None) for name in ("circuit_", "encoder_"))
        if circuit is None or self._encoder is None:
            raise TypeError(
                f"`model` must be a fitted HLDDetector or a Circuit, found {type(model).__name__}: fit "
                "or load one"
            )
        self.circuit = circuit

    def reset(self) -> None:
        """Forget the stream and the alarm; the bound on false alarms holds from each reset to the next."""
        with self._lock:
            self._races = first_races(self._bags)
            self.num_rows, self.num_missing, self.best, self.leader = 0, 0, 0.0, 0
            self.alarm_row: int | None = None

    def update(self, table: Any) -> MonitorResult:
        """Process the next rows, in their order; with groups, process one batch.

        Parameters
        ----------
        table : array_like or data frame
            The next rows, with the columns of training: a column that is not there counts as missing, others are
            ignored, and the result names both.  For a circuit, rows of codes, -1 or NaN where missing.

        Returns
        -------
        MonitorResult
        """
        codes, marks, absent, extra = self.encode(table)
        return replace(self.update_codes(codes, marks), absent=tuple(absent), extra=tuple(extra))

    def update_codes(self, codes: np.ndarray, marks: np.ndarray | None = None) -> MonitorResult:
        """The same as `update`, for rows (n, V) that `encode` has encoded; -1 is a hole."""
        values = self._scores.values(codes, marks)
        if self._unit == "batch" and len(values):
            values = values.mean(axis=0, dtype=np.float64, keepdims=True).astype(np.float32)
        bins = binned(values, self._scores.edges)
        with self._lock:
            races, n = self._races.copy(), len(bins)
            uniforms = uniform_numbers(self.seed, self.num_rows, n)
            evidence, leaders = advance(
                bins, uniforms, races, self._scores.log_weights(), self.num_rows
            )
            crossed = np.flatnonzero(evidence >= -np.log(self.alpha))
            if self.alarm_row is None and len(crossed):
                self.alarm_row = self.num_rows + int(crossed[0]) + 1
                self.leader = int(leaders[crossed[0]])
            elif self.alarm_row is None and n:
                self.leader = int(leaders[-1])
            self._races, self.num_rows = races, self.num_rows + n
            self.best = max(self.best, float(evidence.max(initial=0.0)))
            self.num_missing += int((codes < 0).sum())
            return self._result(evidence)

    def encode(self, table: Any, name: str = "table") -> tuple[Any, ...]:
        """Codes (n, V) and marks of rows for `update_codes`, and names of absent and of unknown columns."""
        if self._encoder is None:
            return check_evidence(self.circuit, table, name=name), None, [], []
        parts = self._encoder.read(table)
        marks = np.zeros((parts.num_rows, len(self._encoder.columns)), np.uint8)
        codes, _, absent, extra = self._encoder.encode_counting(table, marks)
        return codes, marks, absent, extra

    def _among(self, scores: RowScores, reference: Any, groups: Any, seed: int) -> WatchedRows:
        """What is watched among the rows, or the groups of rows, of a reference that is given."""
        from hld.answers.segments import group_numbers, split_off
        from hld.tables.cells import read_table

        with table_called("reference"):
            if self._encoder is not None:
                reference = read_table(reference)
            if groups is not None:
                reference, cells, name = split_off(
                    reference, groups, self._encoder, argument="groups"
                )
                labels = group_numbers(cells, name)
            codes, marks, absent, extra = self.encode(reference, "reference")
        if absent:
            lines = "; ".join(column_lines(absent, extra))
            warnings.warn(f"`reference`: {lines}", UserWarning, stacklevel=4)
        rng = np.random.default_rng([seed, 6])
        if groups is None:
            _check_number(len(codes), "reference", "rows")
            chosen = rng.permutation(len(codes))[:MOST_ROWS]
            marked = None if marks is None else marks[chosen]
            return WatchedRows(scores, counted(scores.bins(codes[chosen], marked)))
        sizes = np.bincount(labels)
        _check_number(len(sizes), "groups", "groups")
        sums = [np.bincount(labels, weights=one) for one in scores.values(codes, marks).T]
        means = (np.stack(sums, axis=1) / sizes[:, None]).astype(np.float32)
        means = means[rng.permutation(len(sizes))]
        quarter = max(len(means) // 4, 2)  # which edges come from, and no ranks
        scores = replace(scores, edges=padded([bin_edges(one) for one in means[:quarter].T]))
        return WatchedRows(scores, counted(binned(means[quarter:], scores.edges)))

    def has_reference_of(self, other: Monitor) -> bool:
        """Whether another monitor compares with the same counts: a bool."""
        return self._unit == other._unit and np.array_equal(self._bags, other._bags)

    def copy(self) -> Monitor:
        """A monitor that goes on from here by itself: a `Monitor`."""
        with self._lock:  # arrays are replaced, not changed
            other = object.__new__(Monitor)
            other.__dict__.update(self.__dict__, _lock=threading.Lock())
        return other

    def _result(self, evidence: np.ndarray) -> MonitorResult:
        """Where the stream stands."""
        evidence.flags.writeable = False
        kind = self._scores.kinds[self.leader]
        names = [f"x{v}" for v in range(self.circuit.num_variables)]
        names = names if self._encoder is None else list(self._encoder.names)
        weighted = self._races.log + self._scores.log_weights()
        variables, now = kind.variables, float(weighted.max())
        if not variables:  # of the races that speak of columns, the one that is ahead
            speaks = np.array([bool(one.variables) for one in self._scores.kinds])
            first = int(np.where(speaks, weighted, -np.inf).argmax())
            variables = self._scores.kinds[first].variables if weighted[first] > 0 else ()
        return MonitorResult(
            float(evidence[-1]) if len(evidence) else now,
            float(min(1.0, np.exp(-self.best))),
            self.alarm_row is not None,
            self.alarm_row,
            self.num_rows,
            self.num_missing,
            self.alpha,
            kind.name,
            tuple(names[v] for v in variables),
            evidence,
            _unit=self._unit,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to one file, atomically and without pickle; the model is not in it (`Monitor.load`).

        Parameters
        ----------
        path : str or path-like
            A file of this name is replaced when the new one is complete.
        """
        write_archive(path, *self.to_parts())

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Header and arrays of a file: two dicts."""
        with self._lock:
            header = {
                "format": FORMAT,
                "version": VERSION,
                "alpha": self.alpha,
                "seed": self.seed,
                "unit": self._unit,
                "circuit": _fingerprint(self.circuit),
                **{name: getattr(self, name) for name in STATE},
            }
            arrays = WatchedRows(self._scores, self._bags).to_arrays()
            return header, arrays | with_prefix("races.", self._races._asdict())

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: Any) -> Monitor:
        """The monitor of a file, which goes on where it stood.

        Parameters
        ----------
        path : str or path-like
            What `save` wrote.
        model : HLDDetector or pcircuit.Circuit
            The one that the monitor was made for.

        Returns
        -------
        Monitor
        """
        return read_object(path, FORMAT, VERSION, lambda *parts: cls.from_parts(model, *parts))

    @classmethod
    def from_parts(cls, model: Any, header: dict[str, Any], arrays: dict[str, Any]) -> Monitor:
        """A monitor of a model from what `to_parts` returned, checked; ValueError where it does not fit."""
        monitor = object.__new__(cls)
        monitor._take_model(model)
        known = {"format", "version", "library", "alpha", "seed", "unit", "circuit", *STATE}
        check_names(header, known, "the header")
        if header["circuit"] != _fingerprint(monitor.circuit):
            raise ValueError("the monitor is of another model")
        rest = {name: array for name, array in arrays.items() if not name.startswith("races.")}
        monitor._begin(
            WatchedRows.from_arrays(monitor.circuit, rest),
            header["unit"],
            check_fraction(saved_number(header, "alpha"), "alpha"),
            saved_count(header, "seed", 0),
        )
        for name in ("num_rows", "num_missing", "leader"):
            setattr(monitor, name, saved_count(header, name, 0))
        monitor.best, monitor.alarm_row = saved_number(header, "best"), header["alarm_row"]
        if monitor.alarm_row is not None:
            saved_count(header, "alarm_row", 1, max(monitor.num_rows, 1))
        races, fresh = under_prefix("races.", arrays), monitor._races._asdict()
        check_names(races, set(fresh), "the races")
        monitor._races = Races(
            *(finite_array(races, name, one.shape, one.dtype) for name, one in fresh.items())
        )
        counts, seen, money, _ = monitor._races
        fits = [
            monitor._unit in ("row", "batch"),
            monitor.leader < len(monitor._bags),
            (counts >= monitor._bags).all() and (seen >= 0).all() and (money >= 0).all(),
            ((counts - monitor._bags).sum(axis=1) == monitor.num_rows).all(),
            (seen.sum(axis=2) <= monitor.num_rows * (1 + SLACK)).all(),
            (np.abs(money.sum(axis=1) - 1) <= SLACK).all(),
            (monitor.best >= -np.log(monitor.alpha)) == (monitor.alarm_row is not None),
        ]
        now = float((monitor._races.log + monitor._scores.log_weights()).max())
        if not all(fits) or now > monitor.best + SLACK:
            raise ValueError(
                f"the races in the file are not those of a stream of {monitor.num_rows} rows"
            )
        return monitor


def _drawn(circuit: pcircuit.Circuit, seed: int) -> WatchedRows:
    """A reference of rows drawn from a circuit."""
    rows = pcircuit.sample(circuit, NUM_EXAMPLES + NUM_DRAWN, rng=np.random.default_rng([seed, 8]))
    tree = pcircuit.chow_liu_tree(rows[:NUM_EXAMPLES], num_categories=circuit.num_categories)
    return watched_rows(circuit, tree, rows[:NUM_EXAMPLES], rows[NUM_EXAMPLES:])


def _check_number(found: int, name: str, what: str) -> None:
    """Raise if a reference is too small."""
    if found < FEWEST_ROWS:
        raise ValueError(f"`{name}` has {found} {what}, expected at least {FEWEST_ROWS}")


def _warn_of_kind(model: Any, unit: str) -> None:
    """Warn where rows one by one are not what a detector was fitted to judge."""
    kind = getattr(getattr(model, "judge_", None), "kind", None)
    said = {
        "groups": "`groups`, whose rows resemble one another: give `groups`, and a batch in each update",
        "time": "`order`='time', so its rows resemble their neighbours, and false alarms are not bounded",
        "covariates": "`covariates`, which may move, but the monitor raises its alarm when they do",
    }.get(kind or "")
    if said and (unit == "row" or kind == "covariates"):
        warnings.warn(f"`model` was fitted with {said}", UserWarning, stacklevel=3)


def _fingerprint(circuit: pcircuit.Circuit) -> str:
    """A digest of a circuit's numbers."""
    return arrays_digest(to_arrays(circuit), FORMAT)
