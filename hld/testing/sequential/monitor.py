"""Monitoring a stream: rows as they come, ranked among reference rows.

    H0: the rows of the stream and the reference rows are exchangeable

(as independent rows from one distribution are).  The circuit only says which numbers of a row to compare
(`hld.features.row_scores`); the reference rows show what is usual, and bets on ranks find what is not
(`hld.testing.sequential.races`).  So

    P(any alarm, ever)  <=  alpha

for any circuit, good or bad, any number of reference rows, and streams of any length.

**The reference.**  A detector has counts of its held-out rows, which are all that a monitor needs; other rows may be
given.  With a circuit alone the reference is drawn from it: H0 is then that the rows follow the circuit, which real
rows never quite do, so that a long stream raises the alarm in the end.
"""

from __future__ import annotations

import os
import threading
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

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
from hld.tables.schemas.quality import column_lines
from hld.tables.shown_names import listed
from hld.testing.sequential.races import Races, advance, first_races, uniform_numbers
from hld.testing.summaries.summing import arrays_digest
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
        self.alpha = check_fraction(alpha, "alpha")
        self.seed = check_whole_number(seed, "seed", 0, MOST_SEED)
        if groups is not None and reference is None:
            raise ValueError("`groups` are those of `reference` rows: give both, or neither")
        watched = getattr(model, "watched_", None)
        if watched is None:
            watched = _drawn(self.circuit, self.seed)
        if reference is None:
            self._scores, self._bags, self._unit = watched.scores, watched.counts, "row"
        else:
            self._scores, self._bags, self._unit = self._among(watched.scores, reference, groups)
        _warn_of_kind(model, self._unit)
        self._lock = threading.Lock()
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

    def _among(self, scores: RowScores, reference: Any, groups: Any) -> tuple[Any, ...]:
        """Scores, bags and unit of a reference that is given."""
        from hld.answers.segments import group_numbers, split_off
        from hld.tables.cells import read_table

        try:
            labels = None
            if self._encoder is not None:
                reference = read_table(reference)
                if groups is not None:
                    reference, cells, name = split_off(
                        reference, groups, self._encoder, argument="groups"
                    )
                    labels = group_numbers(cells, name)
            codes, marks, absent, extra = self.encode(reference, "reference")
        except (TypeError, ValueError) as error:
            raise type(error)(str(error).replace("`table`", "`reference`", 1)) from None
        if absent:
            warnings.warn(
                f"`reference`: {'; '.join(column_lines(absent, extra))}", UserWarning, stacklevel=4
            )
        rng = np.random.default_rng([self.seed, 6])
        if labels is None:
            _check_number(len(codes), "reference", "rows")
            chosen = rng.permutation(len(codes))[:MOST_ROWS]
            marked = None if marks is None else marks[chosen]
            return scores, counted(scores.bins(codes[chosen], marked)), "row"
        values = scores.values(codes, marks)
        sizes = np.bincount(labels)
        _check_number(len(sizes), "groups", "groups")
        means = np.stack(
            [np.bincount(labels, weights=column) / sizes for column in values.T], axis=1
        ).astype(np.float32)[rng.permutation(len(sizes))]
        quarter = max(len(means) // 4, 2)  # which edges come from, and no ranks
        scores = replace(scores, edges=padded([bin_edges(one) for one in means[:quarter].T]))
        return scores, counted(binned(means[quarter:], scores.edges)), "batch"

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
        races = under_prefix("races.", arrays)
        rest = {name: array for name, array in arrays.items() if not name.startswith("races.")}
        watched = WatchedRows.from_arrays(monitor.circuit, rest)
        monitor._scores, monitor._bags, monitor._unit = (
            watched.scores,
            watched.counts,
            header["unit"],
        )
        monitor.alpha = check_fraction(saved_number(header, "alpha"), "alpha")
        monitor.seed = saved_count(header, "seed", 0)
        monitor._lock = threading.Lock()
        monitor.reset()
        for name in ("num_rows", "num_missing", "leader"):
            setattr(monitor, name, saved_count(header, name, 0))
        monitor.best, monitor.alarm_row = saved_number(header, "best"), header["alarm_row"]
        if monitor.alarm_row is not None:
            saved_count(header, "alarm_row", 1, max(monitor.num_rows, 1))
        fresh = monitor._races._asdict()
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
