"""Monitoring a stream: a test that stays valid however often and however long one looks at it.

    H0: every row is an independent draw from the circuit's distribution P

A test of fixed size that is repeated after every 50 rows is wrong far more often than its level says.  A *test
martingale* is not.  It is the wealth W_t of a gambler who starts with 1 and bets against H0, at odds that H0 makes
fair: before row t the gambler names a direction a_t and a stake lambda_t in (0, 1), from earlier rows only, and the
money is multiplied by

    1 + lambda_t a_t . (L(x_t) - mu) / b_t,        b_t >= a_t . mu - min_x a_t . L(x).

The circuit gives mu = E[L] exactly, so the factor has expectation 1 under H0, and it gives the bound b_t, so the factor
is never negative.  Hence (Ville 1939)

    P_H0( W_t >= 1/alpha  for any t )  <=  alpha:

the monitor may raise the alarm as soon as W_t >= 1/alpha, and its false-alarm probability stays below alpha over an
endless stream.  W_t is an *e-value*: evidence against H0 in units of money won.  The least 1/W_s over all s up to t is
a p-value that is valid at any t, whenever one stops.

Which bets are good is a separate question from which are fair: `monitoring.bets` mixes many, so none has to be chosen.

**The null hypothesis is the circuit, not the source of its training data.**  Evidence accumulates, so a long enough
stream of unshifted real rows is rejected for what the circuit fails to model.  With a `margin` the hypothesis becomes

    H0: given the past, the mean of L(x_t) is within `margin` of mu, in the Euclidean norm,

that is, rows may come from any distribution within Hierarchical Likelihood Distance `margin` of the circuit.  Every
bet then pays margin ||a|| first, and W_t is a supermartingale under all of these distributions.
"""

from __future__ import annotations

import copy
import math
import os
import sys
import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import pcircuit
from hld.monitoring import monitor_file as _monitor_files
from hld.monitoring.bets import make_bets, new_wealth, whitening_matrix
from hld.monitoring.rows import completed_rows
from pcircuit.arguments import check_fraction, check_number, check_seed
from pcircuit.circuit import check_distribution
from pcircuit.engine import NUMPY, Kernels, engine_set_to
from pcircuit.evidence import check_evidence
from pcircuit.files.archive import read_object, write_archive
from pcircuit.inference.node_selection import check_nodes

BLOCK_VALUES = 2_000_000  # node likelihoods held at once
ROW_SECONDS, NODE_SECONDS = 5e-5, 3e-7  # of NumPy, for a row, and for a node of it


@dataclass(frozen=True, eq=False)
class MonitorResult:
    """Where a monitor stands after an update.

    Attributes
    ----------
    e_value : float
        W_t, the wealth after the last row; at most the largest float.
    log_e_value : float
        Its natural logarithm.
    pvalue : float
        1 over the largest wealth so far, at most 1; valid at any time.
    alarm : bool
        Whether W_s >= 1/alpha at some row s so far; stays on until `Monitor.reset`.
    alarm_row : int or None
        The first such s, counted from 1.
    num_rows : int
        t, rows so far.
    num_missing : int
        Missing entries so far, which were completed.
    alpha, margin : float
        As given to the monitor.
    log_e_values : (n,) float array
        log W after each row of this update.
    """

    e_value: float
    log_e_value: float
    pvalue: float
    alarm: bool
    alarm_row: int | None
    num_rows: int
    num_missing: int
    alpha: float
    margin: float
    log_e_values: np.ndarray = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The fields under their names as plain Python values, ready for JSON: a new dict without `log_e_values`."""
        return {
            "e_value": self.e_value,
            "log_e_value": self.log_e_value,
            "pvalue": self.pvalue,
            "alarm": self.alarm,
            "alarm_row": self.alarm_row,
            "num_rows": self.num_rows,
            "num_missing": self.num_missing,
            "alpha": self.alpha,
            "margin": self.margin,
        }

    def __str__(self) -> str:
        verdict = f"alarm at row {self.alarm_row}" if self.alarm else "no alarm"
        p = f"p = {self.pvalue:.3g}" if self.pvalue else "p < 1e-300"  # rounded to 0
        return (
            f"{verdict}: e-value {self.e_value:.4g}, anytime-valid {p}, alpha = {self.alpha:g}, "
            f"{self.num_rows} rows" + (f", margin {self.margin:g}" if self.margin else "")
        )

    __repr__ = __str__


class Monitor:
    """Anytime-valid sequential test of a stream of rows against a circuit.

    Raises the alarm when the wealth W_t = prod_s (1 + lambda_s a_s . (L(x_s) - mu) / b_s), mixed over many bets,
    reaches 1/alpha.  P(any false alarm, ever) <= alpha.

    Parameters
    ----------
    circuit : pcircuit.Circuit
        Normalised; the null hypothesis.
    alpha : float
        Bound on the probability of ever raising a false alarm, in (0, 1).
    nodes : (m,) int array_like, optional
        Node ids, ascending; by default ``select_nodes(circuit)``, input and sum units.
    margin : float
        Hierarchical Likelihood Distance (Euclidean, on `nodes`) to the circuit that does not yet count as a shift; 0 by
        default.
    rng : int or numpy.random.Generator, optional
        Seed of the completion of missing entries; equal seeds give equal results.

    Attributes
    ----------
    nodes : (m,) int array
        The node ids whose likelihoods are bet on.
    mean, stds : (m,) float arrays
        Means mu and standard deviations of the node likelihoods under the circuit.
    num_rows : int
        Rows so far.

    Raises
    ------
    pcircuit.StructureError
        If the circuit is not normalised.
    TypeError, ValueError
        If an option is out of range or `nodes` are not node ids.

    Notes
    -----
    Results do not depend on how the stream is divided into updates, up to rounding.
    Missing entries (-1) are drawn from the circuit's conditional distribution given the rest of their row, which is
    valid if entries are missing at random.

    Construction costs the exact covariance of the nodes (only their variances beyond 1000 nodes), a row O(m) plus one
    upward pass, and every 16th row O(m^2 + number of parameters).

    A monitor has a state: it belongs to one stream.  A lock inside makes updates from several threads safe; their
    order is then the order of arrival.

    References
    ----------
    Ville (1939), Etude critique de la notion de collectif; Shekhar and Ramdas (2023), Nonparametric two-sample testing
    by betting, IEEE Transactions on Information Theory; Herbster and Warmuth (1998), Tracking the best expert, Machine
    Learning 32; K, S and Krishnan (2026), A Probabilistic Circuit-Induced Pseudo-Metric for Out-of-Distribution
    Detection, for L and mu.

    Examples
    --------
    >>> import pcircuit
    >>> circuit = pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0)
    >>> monitor = Monitor(circuit)
    >>> monitor.update(pcircuit.sample(circuit, 500, rng=1)).alarm
    False
    >>> result = monitor.update([[0, 1] * 4] * 100)
    >>> result.alarm, 500 < result.alarm_row < 550
    (True, True)
    """

    def __init__(
        self,
        circuit: pcircuit.Circuit,
        alpha: float = 0.05,
        nodes: Any = None,
        *,
        margin: float = 0.0,
        rng: Any = None,
    ) -> None:
        check_distribution(circuit)
        alpha, margin = (
            check_fraction(alpha, "alpha"),
            check_number(margin, "margin", least=0),
        )
        nodes = check_nodes(circuit, pcircuit.select_nodes(circuit) if nodes is None else nodes)
        moments = pcircuit.exact_moments(circuit, nodes)
        stds = np.sqrt(moments.diagonal())
        whitening = whitening_matrix(circuit, moments)
        self._set(
            circuit,
            alpha,
            margin,
            check_seed(rng),
            (nodes, np.array(moments.mean), stds, whitening),
        )

    def _set(self, circuit: Any, alpha: float, margin: Any, seed: int, arrays: Any) -> Monitor:
        """Take over what the constructor computed, or what a file held, and start anew."""
        for array in arrays:
            array.flags.writeable = False
        self.circuit, self.alpha, self.margin, self._seed = circuit, alpha, margin, seed
        self.nodes, self.mean, self.stds, self._whitening = arrays
        self._bets = make_bets(circuit, *arrays, margin)  # type: ignore[call-arg]
        self._lock = threading.Lock()
        self._start()
        return self

    def _start(self) -> None:
        """The state before the first row."""
        self._wealth = new_wealth(self._bets)
        self._best, self._alarm_row, self._num_missing = 0.0, None, 0
        self._rng = np.random.Generator(np.random.PCG64(self._seed))

    @property
    def num_rows(self) -> int:
        """Rows that `update` has taken so far (int)."""
        return int(self._wealth.num_rows[0])

    def update(self, rows: Any) -> MonitorResult:
        """Process the next rows, in their order.

        Parameters
        ----------
        rows : (n, V) or (V,) integer array_like
            The next n rows of the stream, or one; -1 is missing.

        Returns
        -------
        MonitorResult

        Raises
        ------
        TypeError, ValueError
            If `rows` is not evidence for the circuit; the monitor is then unchanged, as it is after Ctrl-C.
        """
        is_one = (
            rows.ndim == 1
            if hasattr(rows, "ndim")
            else isinstance(rows, (list, tuple))
            and (len(rows) > 0 and not hasattr(rows[0], "__len__"))
        )
        rows = [rows] if is_one else rows
        rows = check_evidence(self.circuit, rows, name="rows")
        advance = self._advance(len(rows))
        with (
            self._lock
        ):  # all is done on copies and taken over at the end, so that nothing is ever half done
            rng = copy.deepcopy(self._rng) if rows.min(initial=0) < 0 else self._rng
            rows, num_missing = completed_rows(self.circuit, rows, rng)
            wealth, log_values = self._wealth.copy(), np.empty(len(rows))
            step = max(1, BLOCK_VALUES // len(self.nodes))
            for start in range(0, len(rows), step):
                advance(
                    pcircuit.node_likelihoods(
                        self.circuit, rows[start : start + step], nodes=self.nodes
                    ),
                    self._bets,
                    wealth,
                    log_values[start : start + step],
                )
            log_values.flags.writeable = False
            best, alarm_row = (
                max(self._best, float(log_values.max(initial=-np.inf))),
                self._alarm_row,
            )
            crossed = np.flatnonzero(log_values >= -np.log(self.alpha))
            if alarm_row is None and len(crossed):
                alarm_row = self.num_rows + int(crossed[0]) + 1
            num_missing += self._num_missing
            self._wealth, self._best, self._num_missing, self._rng = wealth, best, num_missing, rng
            self._alarm_row = alarm_row  # type: ignore[assignment]
            return self._result(log_values)

    def reset(self) -> None:
        """Forget all rows and the alarm.

        The bound on false alarms holds from each reset to the next; it does not cover many runs together.
        """
        with self._lock:
            self._start()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the monitor with its circuit and its state to one file, whole or not at all.

        Parameters
        ----------
        path : str or os.PathLike
            An existing file is replaced at the end, and stays as it was if anything fails.

        Raises
        ------
        OSError
            If the folder does not exist or cannot be written.
        """
        with self._lock:
            header, arrays = _monitor_files.to_parts(self)
        write_archive(path, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Monitor:
        """Read a monitor that `save` wrote; it continues where that one stood.

        Parameters
        ----------
        path : str or os.PathLike

        Returns
        -------
        Monitor

        Raises
        ------
        ValueError
            If the file is damaged, of another kind or of a newer format version.
        OSError
            If there is no such file or it cannot be opened.
        """
        return read_object(path, _monitor_files.FORMAT, _monitor_files.VERSION, cls.from_parts)

    @classmethod
    def from_parts(cls, header: Any, arrays: Any) -> Monitor:
        """The monitor in a file's header and arrays; ValueError if they are not of this format."""
        with np.errstate(
            all="ignore"
        ):  # numbers of a file may be anything, and what comes of them is checked
            monitor = cls.__new__(cls)._set(*_monitor_files.fixed_parts(header, arrays))
            monitor._wealth, rest = _monitor_files.moving_parts(
                header, arrays, monitor.circuit, monitor._bets, monitor._wealth
            )
        monitor._best, monitor._alarm_row, monitor._num_missing, monitor._rng = rest
        return monitor

    def describe(self) -> str:
        """What the monitor does, in three lines (str): circuit, nodes and their directions, alarm and margin."""
        whitened = len(self._bets.kept)
        return "\n".join(
            [
                f"monitor of {self.circuit!r}",
                f"nodes: {len(self.nodes)}, {whitened} of them in whitened directions"
                + (
                    ""
                    if len(self._whitening) or not whitened
                    else " (variances only: too many for correlations)"
                ),
                f"alarm at an e-value of {1 / self.alpha:g} (alpha = {self.alpha:g}), margin {self.margin:g}",
            ]
        )

    def __repr__(self) -> str:
        return (
            f"Monitor({self.circuit.num_variables} variables, {len(self.nodes)} nodes, alpha {self.alpha:g}, "
            f"{self.num_rows} rows so far)"
        )

    def __getstate__(self) -> Any:  # a copy has its own lock
        with self._lock:
            return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def _advance(self, num_rows: int) -> Any:
        """The function that bets on so many rows, changes the wealth and fills log W."""
        if BETS.in_numpy(num_rows * (ROW_SECONDS + NODE_SECONDS * len(self.nodes))):
            from hld.monitoring.betting import advance
        else:
            from hld.monitoring.kernel import advance
        return advance

    def _result(self, log_values: np.ndarray) -> MonitorResult:
        """The result of an update."""
        log_value = float(self._wealth.log[0])
        if math.isnan(log_value):  # the p-value is one in any case: the best is at least 0
            raise ArithmeticError(
                "the wealth is nan, which is no verdict: please report the circuit and the rows"
            )
        e_value = (
            float(np.exp(log_value))
            if log_value < np.log(sys.float_info.max)
            else sys.float_info.max
        )
        return MonitorResult(
            e_value,
            log_value,
            float(np.exp(-self._best)),
            self._alarm_row is not None,
            self._alarm_row,
            self.num_rows,
            self._num_missing,
            self.alpha,
            self.margin,
            log_values,
        )


def _bet_once() -> None:
    """A row's bets by the kernels; the monitor itself need not be made by kernels."""
    with engine_set_to(NUMPY):
        monitor = Monitor(pcircuit.rat_spn([2, 2], num_units=2, depth=1, rng=0), rng=0)
    monitor.update([[0, 0]])


BETS = Kernels("monitors", _bet_once)
