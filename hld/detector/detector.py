"""From a table to a test in one object.

`HLDDetector` encodes a table (`schemas.encoder`), learns a Hidden Chow-Liu tree from it, fits its parameters by EM,
and builds the goodness-of-fit test (`HLDTest`), all in `hld.detector.learning`.  The fitted detector holds the encoder,
the circuit and exact moments: averages, no rows.  At deployment a batch is encoded in the same way and tested.

What happens to odd values is decided once and visible in `schema_` and `describe()`: continuous columns are cut at
quantiles, levels that training does not show get a category of their own, rows with holes are compared in all that they
show, and as many holes as in training are no evidence (`schemas.counts`).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import pcircuit
from hld.answers.profile import Profile
from hld.answers.progress import shown_steps
from hld.answers.table_facts import (
    ReadBatch,
    batch_profile,
    held_of,
    quality_of,
    read_batch,
    with_evidence,
)
from hld.detector.estimator import Estimator, check_fitted, sklearn_tags
from hld.detector.file import FORMAT, FORMAT_VERSION, PARTS, detector_parts, read_parts
from hld.detector.options import check_options
from hld.tables.column_names import table_called
from hld.tables.schemas.schema import TableSchema
from hld.tables.shown_names import listed
from hld.testing.goodness_of_fit import HLDTest
from hld.testing.summaries.of_tables import facts_of, summarize_chunks
from hld.testing.summaries.summary import BatchSummary
from hld.witnesses.result import HLDResult, with_quality
from hld.witnesses.witnesses import witnesses_of
from pcircuit.arguments import check_flag, check_fraction
from pcircuit.io.archive import read_object, write_archive

if TYPE_CHECKING:
    from hld.answers.segments import SegmentsResult

MISSING = {
    "complete": "drawn from the circuit given the rest of the row",
    "exact": "summed out",
    "available": "each node is compared by the rows that show its whole scope",
}
MOST_NAMED = 3  # groups in a warning


class HLDDetector(Estimator):
    """Learns the distribution of a table and tests whether later batches still follow it.

    Parameters
    ----------
    num_latents : int, default 4
        K, states of each hidden variable of the Hidden Chow-Liu tree.
    num_epochs : int, default 100
        EM passes over the training rows.
    pseudocount : float, default 1.0
        Smoothing of the Chow-Liu counts and of the EM steps.  With less smoothing a circuit learned from few rows
        overfits them, and fresh rows look shifted.
    num_bins : int, default 8
        Largest number of quantile bins of a continuous column.
    max_categories : int, default 64
        Levels kept for a categorical column; integer columns with more distinct values, or with more than `num_bins`
        and fewer than four rows for each, are treated as continuous.
    categorical, continuous : sequence of column names or positions, optional
        Columns to be treated as such whatever their type.  Columns named here are kept even if they are nearly unique.
        Positions, here and elsewhere, are those in the table that is given to `fit`, whatever is left out of it.
    schema : TableSchema, optional
        What is known of the columns; the rest is learned.
    covariates : sequence of column names or positions, optional
        Columns that may move: batches are then tested for whether the others given these are as learned
        (`hld.testing.conditional`), and results say which of the two moved.
    missingness : bool, default True
        Whether shares of missing values and numbers of new values are tested, too, and count in the p-value
        (`schemas.counts`, `schemas.counts`).
    kinds : tuple of str, default ("input", "sum")
        Kinds of the circuit's units that the test looks at.
    metric : "auto", "likelihoods" or see `HLDTest`, default "auto"
        "auto" combines "euclidean", "standardized", "marginals" and "whitened", and, if 25 or more rows are held out,
        "whitened_fine" and "score"; without input or sum units among `kinds` only those that do not need them.  With
        held-out rows single counts, single dependences and odd rows are tested, too (`hld.witnesses.witnesses`).
        "likelihoods" is the same without "score", which is not exported as C.
    null : see `HLDTest`, default "auto"
        By default drawn batches where T is small.
    reference : "auto", "training", "held-out" or "circuit", default "auto"
        What a batch is compared with.  "held-out": mean and covariance of half of the rows, from which nothing is
        learned, neither circuit nor encoder (kept as averages, no rows): they and the rows of an unshifted batch are
        exchangeable, which is what the p-value rests on.  "training": mean and covariance of all rows, from which the
        circuit learns as well; since it fits them better than fresh ones, the test needs a hundred rows or more for
        each node.  "circuit": its own exact moments, as in the paper.  "auto" takes "held-out", or "training" with
        fewer than four rows.
    estimation_error : bool, default True
        For ``reference="circuit"``: scale the null by 1 + T / n for the n training rows, so that the error of the fit
        does not count as a shift.  The other references always do.
    tolerance : float, default 0.0
        See `HLDTest`; not with `groups`, `order` or `covariates`.
    num_resamples : int, default 999
        See `HLDTest`.
    leaves : "bins", "auto", "gaussian", "atoms" or "histogram", default "bins"
        What the test takes likelihoods of in columns of numbers: their bins, or densities divided by their bounds
        (docs/continuous.md); "auto" gives values that many rows have probabilities beside normal distributions.
        Counts, dependences and odd rows are those of bins in either case, and what both find is much the same.  Only
        bins go with `groups`, `order` and `covariates`, are planned with, and are exported.
    rng : int or numpy.random.Generator, default 0
        Seed of start values and resampling.

    Attributes
    ----------
    schema_ : TableSchema
        What the columns are.
    encoder_ : TableEncoder
        The map from tables to rows of category codes, (T, V) integers.
    circuit_ : pcircuit.Circuit
        The fitted circuit over these V categorical variables.
    densities_ : pcircuit.Circuit or None
        The circuit of densities, over numbers in columns with bins and codes in the others (`encoder_.values`).
    test_ : HLDTest
        The test against independent rows.
    judge_ : HLDTest, GroupTest, TimeTest or ConditionalTest
        What judges batches: `test_`, unless the detector was fitted to groups or a series or has covariates.
    history_ : (epochs + 1,) float array
        Mean training log-likelihood per row, natural.
    num_train_ : int
        n, rows of the training table.
    profile_ : hld.answers.profile.Profile
        Counts of the rows that batches are compared with, by column and by pair of neighbours in the tree.
    values_ : hld.tables.values.ValueTables
        Quantiles of the continuous columns, for values inside bins.
    new_values_ : hld.tables.schemas.counts.KeptValues or None
        How often held-out rows have values that learning did not show; None if no rows were held out.
    watched_ : hld.features.row_scores.WatchedRows or None
        What `Monitor` compares rows of a stream by, and counts of the held-out rows; None if no rows were held out.
    n_features_in_ : int
        Columns of the training table.
    feature_names_in_ : (V,) object array
        Their names, if the table had names.
    offset_ : float
        What `decision_function` subtracts from `score_samples`.

    Notes
    -----
    A fitted detector is not changed by testing and may be shared by threads.

    References
    ----------
    K, S and Krishnan (2026), A Probabilistic Circuit-Induced Pseudo-Metric for Out-of-Distribution Detection; Liu and
    Van den Broeck (2021), Tractable regularization of probabilistic circuits, NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> weather = rng.integers(0, 3, size=2000)
    >>> table = np.column_stack([weather, weather + rng.integers(0, 2, size=2000), rng.normal(size=2000)])
    >>> detector = HLDDetector(num_epochs=20).fit(table[:1500])
    >>> detector.test(table[1500:1600]).reject
    False
    >>> shifted = table[1500:1600].copy()
    >>> shifted[:, 0] = rng.choice(3, size=100, p=[0.1, 0.1, 0.8])     # other weather, and no longer tied to column 1
    >>> detector.test(shifted).reject
    True
    """

    has_tails = True

    schema_: TableSchema
    test_: HLDTest
    judge_: Any
    densities_: pcircuit.Circuit | None
    history_: np.ndarray
    num_train_: int
    offset_: float
    profile_: Profile
    new_values_: Any
    watched_: Any

    def __init__(
        self,
        num_latents: int = 4,
        num_epochs: int = 100,
        pseudocount: float = 1.0,
        num_bins: int = 8,
        max_categories: int = 64,
        *,
        categorical: Any = None,
        continuous: Any = None,
        schema: Any = None,
        covariates: Any = None,
        missingness: bool = True,
        kinds: Sequence[str] = ("input", "sum"),
        metric: Any = "auto",
        null: str = "auto",
        reference: str = "auto",
        estimation_error: bool = True,
        tolerance: float = 0.0,
        num_resamples: int = 999,
        leaves: str = "bins",
        rng: int | np.random.Generator | None = 0,
    ) -> None:
        self.num_latents, self.num_epochs, self.pseudocount = num_latents, num_epochs, pseudocount
        self.num_bins, self.max_categories = num_bins, max_categories
        self.categorical, self.continuous, self.schema = categorical, continuous, schema
        self.covariates, self.missingness = covariates, missingness
        self.kinds, self.metric, self.null, self.reference = kinds, metric, null, reference
        self.tolerance, self.num_resamples, self.estimation_error = (
            tolerance,
            num_resamples,
            estimation_error,
        )
        self.leaves, self.rng = leaves, rng

    def fit(
        self,
        table: Any,
        y: Any = None,
        *,
        groups: Any = None,
        order: str | None = None,
        progress: bool = False,
        learner: Any = None,
    ) -> HLDDetector:
        """Learn the distribution of a table.

        Parameters
        ----------
        table : (n, V) array_like or pandas.DataFrame
            Training rows, at least two.
        y : ignored
            For compatibility with scikit-learn.
        groups : column name or position, or (n,) array_like, optional
            Day, site or customer of each row: a batch is then tested as a group like those before, which differ from
            each other by nature (`testing.variation`).  The column is not learned.  Half of the groups, or 19 if that
            is more, are held out of learning, and a batch is compared with them.
        order : "time", optional
            The rows are in order of time, without gaps, and resemble their neighbours: batches of successive rows are
            compared with stretches of the later half, and the earlier half is learned from.  A warning names gaps that
            a column of dates shows, or dates that are not in order (`hld.testing.variation.dividing`).
        progress : bool
            Show each step and a bar of the epochs on standard error, if that is a terminal.
        learner : callable, optional
            The function that fits the parameters, perhaps to more rows than these (`hld.dask.fit`): called as
            ``learner(start, codes, encoder)`` with start values and the codes to learn from, returns circuit, history
            and the number of rows it learned from.  Default: `pcircuit.fit_em` on `codes`.

        Returns
        -------
        HLDDetector
            The same object, fitted.  If anything fails it stays as it was.

        Raises
        ------
        TypeError, ValueError
            If the table or an option is not usable; the message names the column or option.

        Examples
        --------
        >>> rows = np.random.default_rng(0).integers(0, 3, size=(300, 2))
        >>> HLDDetector(num_epochs=5).fit(rows).num_train_
        300
        """
        check_options(self.get_params())
        if learner is not None and not callable(learner):
            raise TypeError(f"`learner` must be a function, found {type(learner).__name__}")
        from hld.detector.learning import learn_detector

        params = self.get_params()
        with shown_steps(check_flag(progress, "progress")) as show:
            return self._take_over(
                learn_detector(params, table, groups, order, progress, learner, show)
            )

    def test(self, batch: Any, alpha: float = 0.05) -> HLDResult:
        """Test whether a batch follows the distribution of the training table.

        Parameters
        ----------
        batch : (T, V) array_like, pandas.DataFrame or BatchSummary
            Rows with the training table's columns, or what `summarize` made of them.
        alpha : float
            Level, in (0, 1).

        Returns
        -------
        HLDResult

        Raises
        ------
        TypeError, ValueError
            If the detector is not fitted, or the batch has none of the training table's columns.

        Notes
        -----
        ``result.data_quality`` counts what the schema does not know; ``result.pvalue`` is that of the distance, of
        single counts and dependences and, if `missingness` is tested, of the missing and the new values together.

        Examples
        --------
        >>> rows = np.random.default_rng(0).integers(0, 3, size=(400, 2))
        >>> detector = HLDDetector(num_epochs=5).fit(rows[:300])
        >>> detector.test(rows[300:]).reject, detector.test([[2, 2]] * 30).reject
        (False, True)
        """
        check_fitted(self)
        alpha = check_fraction(alpha, "alpha")
        if isinstance(batch, BatchSummary):
            return _judge_summary(self, batch, alpha)
        with table_called("batch"):  # which is how errors about a `table` are to speak of it
            read = read_batch(self, batch)
        warn_of_several(read.groups, stacklevel=2)
        return judge_rows(self, read, alpha)

    def test_by(
        self,
        table: Any,
        by: Any,
        alpha: float = 0.05,
        *,
        every: str | None = None,
        procedure: str = "bh",
    ) -> SegmentsResult:
        """Test each segment of a table, with false discovery control: see `hld.answers.segments`.

        Parameters
        ----------
        table : (N, V) array_like or data frame
            Rows with the training table's columns, and possibly that of `by`.
        by : str, int or sequence of N labels
            The column to group by, by name or position; or the label of each row.  A column that the model knows is
            hidden from the test, unless it is a covariate: segments that differ by nature are called.
        alpha : float
            Bound on the expected share of unshifted segments among those called shifted, in (0, 1).
        every : "year", "month", "day", "hour" or "minute", optional
            For dates, how long a segment is.
        procedure : "bh" or "by"
            Benjamini and Hochberg, or Benjamini and Yekutieli, which allows for any dependence.

        Returns
        -------
        SegmentsResult

        Raises
        ------
        TypeError, ValueError
            If the detector is not fitted, or the table or an option is not usable.

        Examples
        --------
        >>> import hld
        >>> rng = np.random.default_rng(0)
        >>> detector = hld.HLDDetector(num_epochs=5).fit(rng.integers(0, 3, size=(400, 2)))
        >>> rows = rng.integers(0, 3, size=(90, 2))
        >>> rows[60:] = 2
        >>> found = detector.test_by(rows, np.repeat(["a", "b", "c"], 30))
        >>> found.labels, found.reject.tolist()
        (('a', 'b', 'c'), [False, False, True])
        """
        from hld.answers.segments import judge_segments

        check_fitted(self)
        alpha = check_fraction(alpha, "alpha")
        return judge_segments(self, judge_batch, table, by, alpha, every=every, procedure=procedure)

    def summarize(self, table: Any) -> Any:
        """A few sums over the rows of a table, which add up and can be tested in their place.

        Parameters
        ----------
        table : (T, V) array_like or data frame

        Returns
        -------
        BatchSummary

        Raises
        ------
        TypeError, ValueError
            If the detector is not fitted, or the table is not usable.

        Examples
        --------
        >>> import hld
        >>> rows = np.random.default_rng(0).integers(0, 3, size=(300, 2))
        >>> detector = hld.HLDDetector(num_epochs=5).fit(rows[:200])
        >>> total = detector.summarize(rows[200:240]) + detector.summarize(rows[240:])
        >>> total.num_rows, detector.test(total).reject
        (100, False)
        """
        check_fitted(self)
        return summarize_chunks(self, [table])

    def power(self, alternative: Any, T: Any, alpha: float = 0.05) -> float:
        """Probability that T rows of an alternative are called shifted: see `hld.testing.planning.power`.

        Parameters
        ----------
        alternative : Edit, pcircuit.Circuit, or table
            Where rows come from: a level that becomes more frequent, a circuit, or rows (further columns are ignored).
        T : int
            Rows of a batch.
        alpha : float
            Level, in (0, 1).

        Returns
        -------
        float

        Raises
        ------
        TypeError, ValueError
            If the detector is not fitted, or an argument is not usable.

        Examples
        --------
        >>> import hld
        >>> rows = np.random.default_rng(0).integers(0, 3, size=(400, 2))
        >>> detector = hld.HLDDetector(num_epochs=5, num_resamples=99).fit(rows)
        >>> detector.power(hld.Edit("x0", 2, 0.02), 50) < 0.3 < detector.power(hld.Edit("x0", 2, 0.6), 50)
        True
        """
        check_fitted(self)
        return self._planner().power(alternative, T, alpha)

    def sample_size(self, alternative: Any, power: Any = 0.9, alpha: float = 0.05) -> Any:
        """Rows with which an alternative is found: see `hld.testing.planning.power`.

        Parameters
        ----------
        alternative : Edit, pcircuit.Circuit, or table
        power : float
            Probability with which it is to be found, in (0, 1).
        alpha : float
            Level, in (0, 1).

        Returns
        -------
        int or None
            None if no number that can be computed is enough.

        Raises
        ------
        TypeError, ValueError
            If the detector is not fitted, or an argument is not usable.
        """
        check_fitted(self)
        return self._planner().sample_size(alternative, power, alpha)

    def detectable(self, T: Any, power: Any = 0.9, alpha: float = 0.05) -> tuple[Any, ...]:
        """How much more frequent levels have to get: see `hld.testing.planning.power`.

        Parameters
        ----------
        T : int
            Rows of a batch.
        power : float
            Probability with which the change is to be found, in (0, 1).
        alpha : float
            Level, in (0, 1).

        Returns
        -------
        tuple of Detectable

        Raises
        ------
        TypeError, ValueError
            If the detector is not fitted, or an argument is not usable.
        """
        check_fitted(self)
        return self._planner().detectable(T, power, alpha)

    def _planner(self) -> Any:
        from hld.testing.planning.of_tables import planner_of  # with all that only plans need

        return planner_of(self)

    def decision_function(self, table: Any) -> np.ndarray:
        """`score_samples` less `offset_`: negative for the rows that `predict` calls odd.

        Parameters
        ----------
        table : (T, V) array_like or data frame

        Returns
        -------
        (T,) float array

        Raises
        ------
        TypeError, ValueError
            As `score_samples`.
        """
        scores = self.score_samples(table)
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(scores), -np.inf, scores - self.offset_)

    def predict(self, table: Any) -> np.ndarray:
        """1 for ordinary rows, -1 for odd ones: at most 5 % of rows that follow the training distribution.

        Parameters
        ----------
        table : (T, V) array_like or data frame

        Returns
        -------
        (T,) int array

        Raises
        ------
        TypeError, ValueError
            As `score_samples`.
        """
        return np.where(self.decision_function(table) < 0, -1, 1)

    def probability(self, where: str) -> float:
        """Probability of a condition under the circuit, exactly.

        Parameters
        ----------
        where : str
            Such as ``'age > 40 and sex == "F"'`` (`hld.tables.drawing`).

        Returns
        -------
        float

        Raises
        ------
        TypeError, ValueError
            If the detector is not fitted, or the condition cannot be read.

        Examples
        --------
        >>> import hld
        >>> rows = np.random.default_rng(0).integers(0, 2, size=(300, 2))
        >>> detector = hld.HLDDetector(num_epochs=5).fit(rows)
        >>> bool(abs(detector.probability("x0 == 1") + detector.probability("x0 == 0") - 1) < 0.02)
        True
        """
        from hld.tables.drawing import condition_probability

        check_fitted(self)
        return condition_probability(self.circuit_, self.encoder_.columns, self.values_, where)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted detector to one file, atomically and without pickle; read it with `hld.load`.

        Parameters
        ----------
        path : str or path-like
            A file of this name is replaced when the new one is complete.

        Raises
        ------
        TypeError, ValueError, OSError
            If `path` is no path, the detector is not fitted, or the file cannot be written.

        Examples
        --------
        >>> import os
        >>> import tempfile
        >>> import hld
        >>> detector = hld.HLDDetector(num_epochs=5).fit(np.random.default_rng(0).integers(0, 3, size=(200, 2)))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     detector.save(os.path.join(folder, "model.hld"))
        ...     hld.load(os.path.join(folder, "model.hld")).num_train_
        200
        """
        check_fitted(self)
        fitted = {name: getattr(self, f"{name}_") for name in PARTS}
        write_archive(path, *detector_parts(self.get_params(), fitted))

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, Any]) -> HLDDetector:
        """The detector in a file's header and arrays; ValueError if they are not of this format."""
        params, fitted = read_parts(header, arrays, cls().get_params())
        return cls(**params)._take_over(fitted)

    def describe(self) -> str:
        """The columns and how each is treated, the circuit, and the test."""
        check_fitted(self)
        test, is_own = self.test_, self.judge_ is self.test_
        lines = [
            f"HLDDetector fitted to {self.num_train_} rows, mean log-likelihood {self.history_[-1]:.4f}",
            str(self.schema_),
        ]
        if self.densities_ is not None:
            families = [type(region.leaves).__name__ for region in self.densities_.inputs]
            named = ", ".join(f"{families.count(one)} {one}" for one in dict.fromkeys(families))
            lines.append(f"likelihoods of densities, in columns: {named}")
        if not is_own:
            lines.append(
                "against independent rows (`test_`), which is not how `test` judges (see below):"
            )
        lines.append(test.describe())
        if test.reference != "circuit" and test.num_train != self.num_train_:
            lines.append(
                f"reference: {test.num_train} of the {self.num_train_} rows, held out of learning"
            )
        if not is_own:
            lines.append(self.judge_.describe())
        against = "training" if is_own else getattr(self.judge_, "compared", "")
        tested = (
            f"tested against those of {against}" if self.missingness and against else "not tested"
        )
        lines.append(f"missing values: {MISSING[test.missing]}; their shares are {tested}")
        return "\n".join(lines)

    def _take_over(self, fitted: dict[str, Any]) -> HLDDetector:
        """Become fitted: with what `fit` computed, or what a file held."""
        for name in PARTS:
            setattr(self, f"{name}_", fitted[name])
        self.encoder_ = self.schema_.encoder()
        names = self.schema_.table_names
        self.n_features_in_ = len(names)
        if self.schema_.by_name:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator."""
        return sklearn_tags("outlier_detector")


def judge_rows(detector: Any, batch: ReadBatch, alpha: float) -> HLDResult:
    """The result of a batch, with what its counts say of columns and pairs."""
    return with_evidence(detector, *judge_batch(detector, batch, alpha))


def judge_batch(
    detector: Any, batch: ReadBatch, alpha: float, hidden: Sequence[int] = ()
) -> tuple[HLDResult, Profile]:
    """The result of a batch of which some columns are hidden, and its counts."""
    held = held_of(detector, batch.codes)
    quality = quality_of(detector, batch.report, batch.absent, batch.extra, held, hidden)
    counts = batch_profile(detector, batch.codes, batch.marks)
    further = {} if batch.cells is None else {"cells": batch.cells}
    result = with_quality(
        lambda level: detector.judge_(batch.rows, level, **further),
        quality,
        alpha,
        witnesses_of(detector, held, counts),
    )
    return result, counts


def _judge_summary(detector: Any, summary: BatchSummary, alpha: float) -> HLDResult:
    """Test a batch of which a fitted detector has a summary."""
    if detector.judge_ is not detector.test_:
        raise ValueError(
            "`batch` is a summary, which holds what independent rows need: this detector judges groups, a "
            "series, or rows given covariates, and needs the rows"
        )
    summary, quality, evidence = facts_of(detector, summary)
    found = witnesses_of(detector, held_of(detector, None), evidence.batch)
    result = with_quality(lambda level: detector.test_(summary, level), quality, alpha, found)
    return replace(result, evidence=evidence)


def warn_of_several(groups: frozenset[str], stacklevel: int) -> None:
    """Warn of a batch with rows of more than one group: means of several vary less than those of one."""
    if len(groups) > 1:
        names = listed(sorted(groups), MOST_NAMED)
        warnings.warn(
            f"`batch` has rows of {len(groups)} groups ({names}), and is tested as one group: their mean "
            "varies less than that of one, and a shift in one of them is thinned by the others. Test each by "
            "itself (`detector.test_by`, `hld test --by`)",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def save(detector: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted detector to one file, whole or not at all.

    Parameters
    ----------
    detector : HLDDetector
        Fitted.
    path : str or os.PathLike
        The file; an existing one is replaced at the end, and stays as it was if anything fails.

    Raises
    ------
    TypeError, ValueError
        If `detector` is not a fitted HLDDetector.
    OSError
        If the folder does not exist or cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> table = np.random.default_rng(0).integers(0, 2, size=(200, 3))
    >>> detector = HLDDetector(num_epochs=5).fit(table)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(detector, os.path.join(folder, "model.hld"))
    ...     load(os.path.join(folder, "model.hld")).test(table[:50]).pvalue == detector.test(table[:50]).pvalue
    True
    """
    if not isinstance(detector, HLDDetector):
        raise TypeError(
            f"`detector` must be an HLDDetector, found {type(detector).__name__}; save circuits with "
            "pcircuit.save"
        )
    detector.save(path)


def load(path: str | os.PathLike[str]) -> HLDDetector:
    """Read a fitted detector that `save` wrote; safe for files from strangers.

    Parameters
    ----------
    path : str or os.PathLike

    Returns
    -------
    HLDDetector
        Fitted, with the same results on every batch.

    Raises
    ------
    TypeError, ValueError
        If `path` is no path, or the file is damaged, of another kind, or of a newer format version; the message names
        the file and the defect.
    OSError
        If there is no such file or it cannot be opened.

    Notes
    -----
    Costs reading the file and checking its means; the example of `save` shows a round trip.

    Examples
    --------
    >>> load("no-such-file.hld")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no-such-file.hld'
    """
    return read_object(path, FORMAT, FORMAT_VERSION, HLDDetector.from_parts)
