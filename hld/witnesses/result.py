"""What a test says: one frozen object, and what it says about the columns of a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

import pcircuit
from hld.answers.evidence import Evidence
from hld.features.odd_rows import ODDNESS
from hld.laws.null import check_verdict
from hld.witnesses.effects import Effect, Left, effect_of, tolerant_pvalue
from hld.witnesses.witnesses import LEAST_REST, WITNESSES, Witness, combined, scaled_level
from pcircuit.arguments import check_whole_number

if TYPE_CHECKING:
    from hld.tables.schemas.quality import DataQuality
    from hld.witnesses.localization import Localization
from hld.answers.words import headline, in_words

FEW_COLUMNS = 9  # that a picture shows by default
SINGLE = (
    *("statistic", "threshold", "pvalue", "reject", "alpha", "num_samples", "null", "inflation"),
    *("null_error", "num_missing", "effect"),
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class OfColumns:
    """What all results of tables have: see `HLDResult`."""

    further: ClassVar[tuple[str, ...]] = ()  # of its attributes that `to_dict` shows

    pvalue: float
    reject: bool
    alpha: float
    num_samples: int
    evidence: Evidence | None = None
    data_quality: DataQuality | None = None
    witnesses: Mapping[str, Witness] = field(default_factory=dict)
    context: Any = None
    _after: Left | None = None  # the p-value of the distance where so many rows are others
    _tolerance: float = 0.0

    @property
    def largest_count(self) -> Any:
        """Where a batch differs most in a single count, a `largest_count.LargestCount`, if it is known."""
        return self.witnesses.get("largest_count")

    @property
    def largest_dependence(self) -> Any:
        """The pair of columns whose dependence changed most, of `hld.witnesses.largest_dependence`, if it is known."""
        return self.witnesses.get("largest_dependence")

    @property
    def not_heard(self) -> tuple[str, ...]:
        """Names of the witnesses that had no part in the verdict on a table: a tuple of str."""
        known = () if self.data_quality is None else (*WITNESSES, *ODDNESS)
        return tuple(name for name in known if name not in self.witnesses)

    @property
    def beside(self) -> tuple[Any, ...]:
        """The tests, beside that of the distance, that have a share of the level."""
        return tested_beside(self.data_quality, self.witnesses)

    @cached_property
    def scaled_alpha(self) -> float:
        """The level over which a test beside the distance rejects by itself, times its share: at least `alpha`."""
        return scaled_level(self.alpha, *self.beside)

    @property
    def effect(self) -> float:
        """The share of rows, from 0 to 1, that would have to be others for chance to explain the batch.

        See `hld.witnesses.effects`.  Among groups, in time order and given covariates: the size of `context.effect`.
        """
        return self._effect.size if self.context is None else self.context.effect

    @property
    def effect_interval(self) -> tuple[float, float] | None:
        """(low, 1.0): that no smaller share of rows than `low` are others is sure at the level `alpha`.

        `low` is above 0 exactly where the batch is rejected with no tolerance; None with a context.
        """
        return (self._effect.low, 1.0) if self.context is None else None

    @cached_property
    def _effect(self) -> Effect:
        return effect_of(self.lefts(), self.pvalue, self.alpha, self.num_samples)

    def lefts(self) -> list[Left]:
        """What each witness leaves of the p-value, as functions of the number of rows that are others."""
        rest = max(1 - sum(one.share for one in self.beside), LEAST_REST)

        def left_of(after: Left, share: float) -> Left:
            return lambda rows: after(rows) / share

        lefts = [left_of(one.after, one.share) for one in self.beside]
        return lefts if self._after is None else [*lefts, left_of(self._after, rest)]

    @property
    def columns(self) -> tuple[Any, ...]:
        """How each column moved, the smallest p-value first: `hld.answers.column_shifts.ColumnShift`.

        Where the batch is rejected and no column moved by itself, those come first that most likely moved, by the
        dependences on others that changed and those that stayed (`hld.answers.dependences`).

        Empty without a table, that is for results of `HLDTest` and of model files without counts.  With a context
        `expected` are the frequencies of the reference rows, and the p-values those of `column_pvalues`.
        """
        if self.evidence is None:
            return ()
        if not self.reject:
            return tuple(self.evidence.columns)
        return tuple(self.evidence.moved_first(self.alpha))

    @property
    def pairs(self) -> tuple[Any, ...]:
        """Where dependence changed, the smallest p-value first: `hld.answers.pair_shifts.PairShift`; or empty.

        Among groups and in order of time these are the strongest pairs, with the p-values of `pair_pvalues`; given
        covariates there are none.
        """
        return () if self.evidence is None else self.evidence.pairs

    def to_frame(self) -> Any:
        """The columns as a pandas data frame, the smallest p-value first.

        Returns
        -------
        pandas.DataFrame
            A row for each column that the result knows frequencies of; none for a result of `HLDTest`.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        from hld.answers.for_programs import columns_frame

        return columns_frame(self.columns)

    def parts_to_dict(self) -> dict[str, Any]:
        """The parts, columns and pairs that are known as plain Python values, ready for JSON.

        Returns
        -------
        dict
        """
        parts = {"data_quality": self.data_quality, "context": self.context}
        lists = {} if self.evidence is None else {"columns": self.columns, "pairs": self.pairs}
        found = {name: one.to_dict() for name, one in parts.items() if one is not None}
        if self.data_quality is not None:
            heard = {name: one.to_dict() for name, one in self.witnesses.items()}
            found |= {"witnesses": heard, "not_heard": list(self.not_heard)}
        return found | {name: [one.to_dict() for one in ones] for name, ones in lists.items()}

    def to_dict(self) -> dict[str, Any]:
        """The result as plain Python values, ready for JSON, the output of ``hld test --json``.

        Returns
        -------
        dict
            The numbers and words among the attributes under their names, but for arrays; `context`, `data_quality`,
            `columns`, `pairs` and the like where they are known.
        """
        values = {name: _plain(getattr(self, name)) for name in (*SINGLE, *self.further)}
        for name in ("effect_interval", "metrics", "pvalues"):
            several = getattr(self, name)
            values[name] = None if several is None else [_plain(value) for value in several]
        return values | self.parts_to_dict()

    def __str__(self) -> str:
        return in_words(self)

    def __repr__(self) -> str:
        return headline(self)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class HLDResult(OfColumns):
    """The outcome of a test of one batch.

    Attributes
    ----------
    statistic : float
        d = || mean HLV of the batch - mean HLV of the reference ||, the distance in the metric of
        the test; with several metrics, -log10 of the combined p-value.
    threshold : float
        Largest statistic that does not reject at level `alpha`; with several metrics, -log10 of `alpha`.
    pvalue : float
        Probability under the null hypothesis of a statistic at least this large.
    reject : bool
        ``pvalue <= alpha``: the batch departs from the circuit.
    alpha : float
        Level of the test.
    num_samples : int
        T, the rows of the batch.
    null : str
        Null distribution used: "exact", "normal" or "monte-carlo" (drawn batches); "groups" or "time" where the batch
        was compared with groups or with stretches of time; "conditional" where it was judged given covariates.
    inflation : float
        Factor by which the null was scaled for estimation error: 1 + T / num_train, or 1; with G groups or stretches
        1 + 1 / G, given covariates 1 + T h for the leverage h of the batch.
    null_error : float or None
        Estimated absolute error of `pvalue`: of the numerical method, and of the spectrum where it was not computed
        in full; for "monte-carlo" its standard error; for "normal" and "conditional" None, as it is not estimated.
    num_missing : int
        Missing entries of the batch: drawn from the circuit given the rest of their row, with ``missing="exact"``
        integrated out, with "available" left out of the nodes that would need them.
    metrics : tuple of str
        Names of the metrics.
    pvalues : tuple of float
        One for each metric; `pvalue` is their combination.
    deltas : (m,) float array
        Differences of the node means, batch minus reference, times the node weights if the metric has such weights.
    stds : (m,) float array
        Standard deviations of the node likelihoods under the reference, weighted in the same way.
    nodes : (m,) int array
        Node ids.
    evidence : hld.answers.evidence.Evidence or None
        Counts of the batch and of the reference, where the columns of a table are known: behind `columns` and `pairs`.
    data_quality : hld.DataQuality or None
        What a batch of a detector has that the schema of its training table does not know, and the test of its missing
        values, which is part of `pvalue`.
    witnesses : mapping of str to hld.witnesses.witnesses.Witness
        What else is tested of a batch of a detector with the default metrics, by name; part of `pvalue`, too.
    context : GroupContext, CovariateContext or None
        What the batch was judged by, where that is more than independent rows: groups, stretches of time
        (`variation.group_test`), covariates that may move (`hld.testing.conditional.conditional_test`).  Then
        `statistic` is -log10 of `pvalue`.
    column_pvalues : (2, V) float array or None
        With a context, p-values of the columns and adjusted ones, by what the batch was judged by; NaN for a covariate.
    pair_pvalues : dict or None
        Among groups or stretches of time, p-value and adjusted p-value of the strongest pairs, by numbers of columns.

    Examples
    --------
    >>> import hld, pcircuit
    >>> circuit = pcircuit.rat_spn([2] * 6, num_units=2, depth=1, rng=0)
    >>> batch = pcircuit.sample(circuit, 20, rng=1)
    >>> result = hld.HLDTest(circuit)(batch)
    >>> result.reject, abs(float(result.contributions @ result.contributions - result.statistic ** 2)) < 1e-12
    (False, True)
    """

    statistic: float
    threshold: float
    null: str
    inflation: float
    null_error: float | None
    num_missing: int
    metrics: tuple[Any, ...]
    pvalues: tuple[Any, ...]
    deltas: np.ndarray
    stds: np.ndarray
    nodes: np.ndarray
    _circuit: pcircuit.Circuit
    column_pvalues: np.ndarray | None = None
    pair_pvalues: Any = None
    _own: Any = None  # rows of the batch
    _weights: np.ndarray | None = None  # of differences, where cells are missing
    _covariance: Callable[..., Any] | None = None  # of differences, where cells are missing
    _node_pvalues: np.ndarray | None = None  # among groups or stretches of time

    def __post_init__(self) -> None:
        check_verdict(self.statistic, self.pvalue)

    @property
    def contributions(self) -> np.ndarray:
        """|delta_j| of each node, an (m,) float array; in the plain metric, or with weights, the squares sum to d^2."""
        return np.abs(self.deltas)

    @cached_property
    def node_pvalues(self) -> np.ndarray:
        """(m,) p-values of the means of the nodes, adjusted for their number: see `hld.witnesses.localization`.

        Among groups or stretches of time by rank, as those of columns (`hld.laws.exchangeable`); given covariates by
        the normal law of the z-scores.
        """
        from hld.answers.adjust import benjamini_hochberg
        from hld.witnesses.localization import adjusted_pvalues, node_pvalues, z_scores

        if self._node_pvalues is not None:
            return self._node_pvalues
        if self.context is not None:
            return adjusted_pvalues(
                z_scores(self.deltas, self.stds, self.num_samples / self.inflation)
            )
        return benjamini_hochberg(node_pvalues(self))

    def localize(self, *, top: Any = 10) -> Localization:
        """Nodes and variables that carry the shift: see `hld.witnesses.localization.localize`.

        Parameters
        ----------
        top : int or None
            How many nodes to list, the largest differences first; None for all.

        Returns
        -------
        Localization

        Raises
        ------
        TypeError, ValueError
            If `top` is neither None nor a whole number of at least 1.
        """
        from hld.witnesses.localization import localize

        is_known = self.context is None and (self._weights is None or self._covariance is not None)
        return localize(
            self._circuit,
            self.nodes,
            self.deltas,
            self.stds,
            self.num_samples / self.inflation,
            top=top,
            pvalues=self.node_pvalues,
            covariance_of=self._covariance,
            is_known=is_known,
        )

    def plot(self, *, top: Any = None) -> Any:
        """Expected and observed frequencies of the columns that moved most, as a matplotlib figure.

        Parameters
        ----------
        top : int, optional
            How many columns; at least 1.  By default those that moved, by themselves or in a pair, at most nine; the
            first one if none did.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        TypeError, ValueError
            If the columns are not known, or `top` is not a whole number of at least 1.
        ImportError
            Without matplotlib.
        """
        from hld.answers.plots import draw_columns, new_figure

        if not self.columns:
            raise ValueError(
                "`columns` of the batch are not known: test a table with an `HLDDetector`"
            )
        columns = self.columns
        if top is None:
            pairs = {name for one in self.pairs if one.adjusted <= self.alpha for name in one.names}
            moved = [one for one in columns if one.adjusted <= self.alpha or one.name in pairs]
            columns = tuple(moved or columns[:1])
            top = FEW_COLUMNS
        count = min(check_whole_number(top, "top", 1), len(columns))
        return draw_columns(new_figure((3.6 * min(count, 3), 2.8 * -(-count // 3))), columns, count)

    def _repr_html_(self) -> Any:
        from hld.answers.reports import notebook_view

        return notebook_view(self)


def _plain(value: Any) -> Any:
    """A NumPy scalar as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def tested_beside(quality: Any, witnesses: Mapping[str, Any]) -> tuple[Any, ...]:
    """The tests, beside that of the distance, that have a share of the level."""
    own = () if quality is None else (quality.missingness, quality.new_values)
    return tuple(one for one in (*own, *witnesses.values()) if one is not None and one.share)


def with_quality(
    test: Callable[..., Any],
    quality: Any,
    alpha: float,
    witnesses: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    """The result of a batch with its data quality, and all that is tested beside the distance in the p-value."""
    tested = tested_beside(quality, witnesses)
    if not tested:
        found = test(alpha)
        return replace(found, data_quality=quality, witnesses={**found.witnesses, **witnesses})
    rest = 1 - sum(one.share for one in tested)
    found = test(
        max(rest * scaled_level(alpha, *tested), math.ulp(0.0))
    )  # a part of the least level is no level
    pvalue = combined(found.pvalue, *tested)
    if found._tolerance:
        lefts = replace(found, data_quality=quality, witnesses=witnesses).lefts()
        pvalue = tolerant_pvalue(lefts, found.num_samples, found._tolerance)
    context = found.context
    error = None if found.null_error is None else found.null_error / rest
    changes = {
        "pvalue": pvalue,
        "alpha": alpha,
        "reject": bool(pvalue <= alpha),
        "null_error": error,
        "context": None if context is None else context.judged(pvalue, alpha),
    }
    if len(found.metrics) > 1:
        changes |= {
            "statistic": -math.log10(max(pvalue, 1e-300)) + 0.0,
            "threshold": -math.log10(alpha),
        }
    return replace(found, data_quality=quality, witnesses=witnesses, **changes)
