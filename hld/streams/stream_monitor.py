"""Monitoring a service: rows of a table as they come, ranked among held-out rows.

    H0: the rows of the stream and the reference rows are exchangeable

(as independent rows from one distribution are).  `hld.Monitor` bets that rows do not follow the circuit; real rows
never quite do, so that it raises an alarm in the end unless it is given a margin.  Here the circuit only says which
features of a row to compare; the held-out rows show what is usual (`hld.streams.races`).  So

    P(any alarm, ever)  <=  alpha

for any circuit, good or bad, any number of reference rows, and streams of any length.
"""

from __future__ import annotations

import copy
import os
import threading
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import pcircuit
from hld.answers.words import p_text
from hld.schemas.quality import column_lines
from hld.streams.detectors import check_fitted_detector, warn_of_kind
from hld.streams.directions import (
    FORGETTING,
    LIVE,
    first_races,
    next_start,
    scores_of,
    start_directions,
    starts_at,
)
from hld.streams.races import FACTORS, FIRST, SHARE, THRESHOLDS, advance, uniform_numbers
from hld.tables.shown_names import listed
from pcircuit.arguments import check_fraction, check_whole_number
from pcircuit.engine import Kernels
from pcircuit.files.archive import write_archive

FEWEST_ROWS = 40
MOST_ROWS = 9_000  # of the reference that are used
MOST_SEED = 2**53
SHOWN = 4  # columns that a line names
RACE_SECONDS = 1.5e-6  # of NumPy, for a race and a row


@dataclass(frozen=True, eq=False)
class StreamResult:
    """Where a stream stands after an update.

    Attributes
    ----------
    log_e_value : float
        Largest log(w W) of all races after the last row.
    pvalue : float
        1 over the largest w W so far, at most 1; valid at any time.
    alarm : bool
        ``pvalue <= alpha``; stays on until `StreamMonitor.reset`.
    alarm_row : int or None
        The first row with an alarm, counted from 1; the first batch, where the reference has groups.
    num_rows, num_missing : int
        Rows, or batches, and missing entries so far.
    alpha : float
        Bound on the probability of any false alarm, from one reset to the next.
    columns : tuple of str
        Columns of the node whose race is ahead; all columns if it is the race of a direction.
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
    columns: tuple[str, ...]
    log_e_values: np.ndarray = field(repr=False)
    absent: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    _units: tuple[str, str] = field(default=("row", "rows"), repr=False)

    @property
    def e_value(self) -> float:
        """w W of the race that is ahead; at most the largest float."""
        return float(np.exp(min(self.log_e_value, 709.0)))

    def to_dict(self) -> dict[str, Any]:
        """The fields but `log_e_values` as plain values, ready for JSON, with `e_value` and a "margin" of 0: a dict."""
        return {
            "e_value": self.e_value,
            "log_e_value": self.log_e_value,
            "pvalue": self.pvalue,
            "alarm": self.alarm,
            "alarm_row": self.alarm_row,
            "num_rows": self.num_rows,
            "num_missing": self.num_missing,
            "alpha": self.alpha,
            "margin": 0.0,
            "columns": list(self.columns),
            "absent": list(self.absent),
            "extra": list(self.extra),
        }

    def __str__(self) -> str:
        one, several = self._units
        ahead = listed(self.columns, SHOWN, is_quoted=False)
        verdict = f"alarm at {one} {self.alarm_row} ({ahead})" if self.alarm else "no alarm"
        first = f"{verdict}: anytime-valid {p_text(self.pvalue)}, alpha = {self.alpha:g}, "
        first += f"{self.num_rows} {one if self.num_rows == 1 else several}"
        return "\n".join([first, *column_lines(self.absent, self.extra)])

    __repr__ = __str__


class StreamMonitor:
    """Anytime-valid test of a stream of rows of a table against held-out rows.

    Raises the alarm when a conformal test martingale reaches 1 / (alpha w) for its weight w; P(any false alarm, ever)
    is at most alpha if reference rows and stream are exchangeable.

    Parameters
    ----------
    detector : HLDDetector
        Fitted; says which features of a row to compare. It must not have learned from the reference rows.
    reference : array_like or data frame
        At least 40 rows, in any order; of more than 9,000 only some are used. They are kept in the monitor's file,
        encoded.
    alpha : float
        Bound on the probability of ever raising a false alarm, in (0, 1).
    groups : column name or position, or (n,) array_like, optional
        Groups of the reference rows: its units are then groups, and every update is one batch, a group like those.
    seed : int
        Seed of the order of the reference and of ties, at most 2^53, as files hold no larger one; equal seeds give
        equal results.

    Raises
    ------
    TypeError, ValueError
        If `detector` is not fitted, or the reference has too few rows or groups or is not a table.

    Notes
    -----
    A row costs its likelihoods and some tens of microseconds; every 64th also a pass over the reference. Memory for
    9,000 vectors.

    References
    ----------
    Vovk, Gammerman and Shafer (2005), Algorithmic Learning in a Random World; Ville (1939); Herbster and Warmuth
    (1998), Tracking the best expert.

    Examples
    --------
    >>> import hld
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.integers(0, 2, size=(900, 1)) ^ (rng.random((900, 4)) < 0.2)
    >>> detector = hld.HLDDetector(num_latents=2, num_epochs=5, null="exact").fit(rows[:300].astype(int))
    >>> monitor = StreamMonitor(detector, rows[300:700].astype(int))
    >>> monitor.update(rows[700:].astype(int)).alarm
    False
    >>> monitor.update(rng.integers(0, 2, size=(300, 4))).alarm                   # no longer alike
    True
    """

    def __init__(
        self,
        detector: Any,
        reference: Any,
        alpha: float = 0.05,
        *,
        groups: Any = None,
        seed: int = 0,
    ) -> None:
        check_fitted_detector(detector)
        alpha, seed = (
            check_fraction(alpha, "alpha"),
            check_whole_number(seed, "seed", 0, MOST_SEED),
        )
        rng = np.random.default_rng([seed, 6])
        codes, labels = _encoded(detector, reference, groups)
        warn_of_kind(detector, labels is not None)
        if labels is None:
            if len(codes) < FEWEST_ROWS:
                raise ValueError(
                    f"`reference` has {len(codes)} rows, expected at least {FEWEST_ROWS}"
                )
            kept, sizes = codes[rng.permutation(len(codes))[:MOST_ROWS]], np.zeros(0, np.int64)
        else:
            order = rng.permutation(int(labels.max(initial=-1)) + 1)
            in_order = np.split(
                np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1]
            )
            places = [in_order[g] for g in order]
            if len(places) < FEWEST_ROWS:
                raise ValueError(
                    f"`groups` names {len(places)} groups, expected at least {FEWEST_ROWS}"
                )
            kept, sizes = (
                codes[np.concatenate(places)],
                np.array([len(one) for one in places], dtype=np.int64),
            )
        self.set_parts(detector, alpha, seed, kept, sizes)

    def set_parts(
        self, detector: Any, alpha: float, seed: int, codes: np.ndarray, sizes: np.ndarray
    ) -> None:
        """Take over checked parts, and start anew: used by the constructor and by `hld.streams.stream_file`."""
        test = detector.test_
        self.detector, self.alpha, self.seed, self.codes, self.sizes = (
            detector,
            alpha,
            seed,
            codes,
            sizes,
        )
        self.circuit, self.nodes = test.circuit, test.nodes
        self.scores = scores_of(self._units(codes, sizes))
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Forget the stream and the alarm; the bound on false alarms holds from each reset to the next."""
        with self._lock:
            m = len(self.nodes)
            self.races, self.directions = first_races(self.scores), np.zeros((m, LIVE))
            self.means = np.zeros((2, m))
            self.num_rows, self.num_starts, self.num_missing, self.best, self.leader = (
                0,
                0,
                0,
                0.0,
                0,
            )
            self.alarm_row: int | None = None

    def update(self, table: Any) -> StreamResult:
        """Process the next rows, in their order; with groups, process one batch.

        Parameters
        ----------
        table : array_like or data frame
            The next rows, with the columns of training.  As in `HLDDetector.test`, a column that is not there counts
            as missing and others are ignored: the result names both.

        Returns
        -------
        StreamResult

        Raises
        ------
        TypeError, ValueError
            If `table` is not usable; the monitor is then unchanged.
        """
        codes, _, absent, extra = self.detector.encoder_.encode_counting(table)
        return replace(self.update_codes(codes), absent=tuple(absent), extra=tuple(extra))

    def update_codes(self, codes: np.ndarray) -> StreamResult:
        """The same as `update`, for rows that are encoded.

        Parameters
        ----------
        codes : (n, V) int array
            What ``detector.encoder_.encode`` makes of rows; -1 is a hole.

        Returns
        -------
        StreamResult
        """
        sizes = np.array([len(codes)] if len(self.sizes) and len(codes) else [], dtype=np.int64)
        vectors = self._units(codes, sizes) if len(codes) else np.zeros((0, len(self.nodes)))
        in_numpy = RACES.in_numpy(len(vectors) * RACE_SECONDS * len(self.races.log))
        with self._lock:
            evidence = np.empty(len(vectors))
            done = 0
            while done < len(vectors):
                size = min(len(vectors) - done, next_start(self.num_rows) - self.num_rows)
                part = slice(done, done + size)
                self._segment(vectors[part], evidence[part], in_numpy)
                done += size
            self.num_missing += int((codes < 0).sum())
            return self._result(evidence)

    def __getstate__(self) -> dict[str, Any]:  # a copy has its own lock and its own state
        with self._lock:
            state = {
                name: copy.deepcopy(self.__dict__[name])
                for name in ("races", "directions", "means")
            }
            return {
                name: value for name, value in {**self.__dict__, **state}.items() if name != "_lock"
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def _segment(self, vectors: np.ndarray, evidence: np.ndarray, in_numpy: bool) -> None:
        """Rows up to the next start of races, and that start."""
        n, leaders = len(vectors), np.zeros(len(vectors), np.int64)
        scores = np.concatenate([vectors[:, self.scores.fixed], self._projected(vectors)], axis=1)
        uniforms = uniform_numbers(self.seed, self.num_rows, n)
        if in_numpy:
            advance(scores, uniforms, self.races, evidence, leaders)
        else:
            _advance_by_kernel(scores, uniforms, self.races, evidence, leaders)
        crossed = np.flatnonzero(evidence >= -np.log(self.alpha))
        if self.alarm_row is None and len(crossed):
            self.alarm_row = self.num_rows + int(crossed[0]) + 1
        self.best, self.leader = max(self.best, float(evidence.max())), int(leaders[-1])
        for row in (vectors - self.scores.mean) * self.scores.scale:
            self.num_rows += 1
            rates = np.maximum([[0.0], [FORGETTING]], 1.0 / self.num_rows)
            self.means += rates * (row - self.means)
        if starts_at(self.num_rows):
            self.num_starts += 1
            start_directions(self.scores, self.races, self.directions, self.means, self.num_starts)

    def _projected(self, vectors: np.ndarray) -> np.ndarray:
        """(n, LIVE) scores of rows in the directions, in an order of additions that does not depend on the rows."""
        live = np.isfinite(self.races.log_weights[len(self.scores.fixed) :])
        found = np.zeros((len(vectors), LIVE))
        for i in np.flatnonzero(live):
            found[:, i] = (vectors * self.directions[:, i]).sum(axis=1)
        return found

    def _units(self, codes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """(n, m) vectors of rows, or mean vectors of groups of rows."""
        vectors = pcircuit.node_likelihoods(self.circuit, codes, nodes=self.nodes)
        if not len(sizes):
            return vectors
        ends = np.cumsum(sizes)
        return np.stack(
            [vectors[end - size : end].mean(axis=0) for size, end in zip(sizes, ends, strict=True)]
        )

    def _result(self, evidence: np.ndarray) -> StreamResult:
        """Where the stream stands."""
        evidence.flags.writeable = False
        names, F = self.detector.encoder_.names, len(self.scores.fixed)
        scope = (
            self.circuit.scope(int(self.nodes[self.scores.fixed[self.leader]]))
            if self.leader < F
            else None
        )
        columns = tuple(map(str, names if scope is None else [names[v] for v in scope]))
        now = float((self.races.log + self.races.log_weights).max())
        return StreamResult(
            float(evidence[-1]) if len(evidence) else now,
            float(min(1.0, np.exp(-self.best))),
            self.alarm_row is not None,
            self.alarm_row,
            self.num_rows,
            self.num_missing,
            self.alpha,
            columns,
            evidence,
            _units=("batch", "batches") if len(self.sizes) else ("row", "rows"),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the reference rows and the state to one file; the detector is not in it (`StreamMonitor.load`).

        Parameters
        ----------
        path : str or path-like
            A file of this name is replaced when the new one is complete.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        from hld.streams.stream_file import stream_parts

        with self._lock:
            parts = stream_parts(self)
        write_archive(path, *parts)

    @classmethod
    def load(cls, path: str | os.PathLike[str], detector: Any) -> StreamMonitor:
        """Continue where the monitor in a file stood, to the last bit.

        Parameters
        ----------
        path : str or path-like
            What `save` wrote.
        detector : HLDDetector
            The one that the monitor was built from.

        Returns
        -------
        StreamMonitor

        Raises
        ------
        ValueError
            If the file is not that of a monitor of this detector.
        OSError
            If it cannot be read.
        """
        from hld.streams.stream_file import read_stream

        return read_stream(cls, path, detector)


def _encoded(detector: Any, reference: Any, groups: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Codes of the reference, and its groups as numbers or None."""
    from hld.answers.segment_labels import group_numbers
    from hld.answers.segments import split_off
    from hld.tables.cells import read_table

    try:
        columns, labels = read_table(reference), None
        if groups is not None:
            columns, cells, name = split_off(columns, groups, detector.encoder_, argument="groups")
            labels = group_numbers(cells, name)
        codes, _, absent, extra = detector.encoder_.encode_counting(columns)
    except (TypeError, ValueError) as error:
        raise type(error)(str(error).replace("`table`", "`reference`", 1)) from None
    if absent:
        warnings.warn(
            f"`reference`: {'; '.join(column_lines(absent, extra))}", UserWarning, stacklevel=3
        )
    return codes, labels


def _advance_by_kernel(*arrays: Any) -> None:
    """`advance`, compiled."""
    from hld.streams.kernel import advance as compiled

    compiled(*arrays[:3], THRESHOLDS, FACTORS, FIRST, SHARE, *arrays[3:])


def _race_once() -> None:
    """A row of races by the kernel."""
    races = first_races(scores_of(np.eye(FEWEST_ROWS, 2)))
    scores = np.zeros((1, len(races.log)))
    _advance_by_kernel(scores, np.zeros(1), races, np.empty(1), np.zeros(1, np.int64))


RACES = Kernels("streams", _race_once)
