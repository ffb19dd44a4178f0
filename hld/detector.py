"""From a table to a test in one object.

`HLDDetector` encodes a table (`hld.schemas.encoder`), learns a Hidden Chow-Liu tree from it, fits its parameters by EM,
and builds the goodness-of-fit test (`HLDTest`), all in `hld.fitting.learning`.  The fitted detector holds the encoder,
the circuit and exact moments: averages, no rows.  At deployment a batch is encoded in the same way and tested.

What happens to odd values is decided once and visible in `schema_` and `describe()`: continuous columns are cut at
quantiles, levels that training does not show get a category of their own, rows with holes are compared in all that they
show, and as many holes as in training are no evidence (`hld.schemas.counts.missingness`).
"""
from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import pcircuit
from hld.answers.table_facts import batch_profile, evidence_of
from hld.checks import check_alpha
from hld.detector_options import check_options
from hld.detector_parts import batch_as_named, describe, judge_table_summary
from hld.estimator import check_fitted, feature_names, predictions, sklearn_tags, width_as_expected
from hld.files.detector import detector_parts, read_parts
from hld.fitting.learning import learn_detector
from hld.planning.of_tables import detectable_of_table, power_of_table, sample_size_of_table
from hld.results.largest import largest_of
from hld.results.with_quality import with_quality
from hld.summaries.of_tables import summarize_table
from hld.summaries.summary import BatchSummary
from hld.synthetic.drawing import condition_probability, draw_rows

if TYPE_CHECKING:
    from hld.answers.segments import SegmentsResult
    from hld.results.result import HLDResult


class HLDDetector:
    """Learns the distribution of a table and tests whether later batches still follow it.

    Parameters
    ----------
    num_latents : int
        K, states of each hidden variable of the Hidden Chow-Liu tree.
    num_epochs : int
        EM passes over the training rows.
    pseudocount : float
        Smoothing of the Chow-Liu counts and of the EM steps.  With less smoothing a circuit learned from few rows
        overfits them, and fresh rows look shifted.
    num_bins : int
        Largest number of quantile bins of a continuous column.
    max_categories : int
        Levels kept for a categorical column; integer columns with more distinct values, or with more than `num_bins`
        and fewer than four rows for each, are treated as continuous.
    categorical, continuous : sequence of column names or positions, optional
        Columns to be treated as such whatever their type.  Columns named here are kept even if they are nearly unique.
    schema : TableSchema, optional
        What is known of the columns; the rest is learned.
    covariates : sequence of column names or positions, optional
        Columns that may move: batches are then tested for whether the others given these are as learned
        (`hld.conditional`), and results say which of the two moved.
    missingness : bool
        Whether shares of missing values and numbers of new values are tested, too, and count in the p-value
        (`hld.schemas.counts.missingness`, `hld.schemas.counts.new_values`).
    kinds : tuple of str
        Kinds of the circuit's units that the test looks at.
    metric : "auto", "likelihoods" or see `HLDTest`
        "auto" combines "euclidean", "standardized", "marginals" and "whitened", and, if 25 or more rows are held out,
        "whitened_fine" and "score"; without input or sum units among `kinds` only those that do not need them.  With
        held-out rows the counts of single columns (`hld.results.largest_count`) and the dependences along the tree
        (`hld.results.largest_dependence`) are tested, too.  "likelihoods" is the same without "score", which is not
        exported as C.
    null : see `HLDTest`
        By default drawn batches where T is small.
    reference : "auto", "training", "held-out" or "circuit"
        What a batch is compared with.  "held-out": mean and covariance of half of the rows, from which nothing is
        learned, neither circuit nor encoder (kept as averages, no rows): they and the rows of an unshifted batch are
        exchangeable, which is what the p-value rests on.  "training": mean and covariance of all rows, from which the
        circuit learns as well; since it fits them better than fresh ones, the test needs a hundred rows or more for
        each node.  "circuit": its own exact moments, as in the paper.  "auto" takes "held-out", or "training" with
        fewer than four rows.
    estimation_error : bool
        For ``reference="circuit"``: scale the null by 1 + T / n for the n training rows, so that the error of the fit
        does not count as a shift.  The other references always do.
    tolerance, num_resamples : see `HLDTest`
    rng : int or numpy.random.Generator
        Seed of start values and resampling.

    Attributes
    ----------
    schema_ : TableSchema
        What the columns are.
    encoder_ : TableEncoder
    circuit_ : pcircuit.Circuit
    test_ : HLDTest
        The test against independent rows.
    judge_ : HLDTest, GroupTest, TimeTest or ConditionalTest
        What judges batches: `test_`, unless the detector was fitted to groups or a series or has covariates.
    history_ : (epochs + 1,) float array
        Mean training log-likelihood per row, natural.
    num_train_ : int
        n, rows of the training table.
    profile_ : hld.answers.profile.Profile or None
        Counts of the rows that batches are compared with, by column and by pair of neighbours in the tree; None
        from model files without them.
    values_ : hld.synthetic.values.ValueTables or None
        Quantiles of the continuous columns, for values inside bins.
    new_values_ : hld.schemas.counts.new_values.KeptValues or None
        How often held-out rows have values that learning did not show; None if no rows were held out.
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

    def __init__(self, num_latents: int = 4, num_epochs: int = 100, pseudocount: float = 1.0, num_bins: int = 8,
                 max_categories: int = 64, *, categorical: Any = None, continuous: Any = None, schema: Any = None,
                 covariates: Any = None, missingness: bool = True, kinds: Sequence[str] = ("input", "sum"),
                 metric: Any = "auto", null: str = "auto", reference: str = "auto", estimation_error: bool = True,
                 tolerance: float = 0.0, num_resamples: int = 999, rng: int | np.random.Generator | None = 0) -> None:
        self.num_latents, self.num_epochs, self.pseudocount = num_latents, num_epochs, pseudocount
        self.num_bins, self.max_categories = num_bins, max_categories
        self.categorical, self.continuous, self.schema = categorical, continuous, schema
        self.covariates, self.missingness = covariates, missingness
        self.kinds, self.metric, self.null, self.reference = kinds, metric, null, reference
        self.tolerance, self.num_resamples, self.estimation_error = tolerance, num_resamples, estimation_error
        self.rng = rng

    def fit(self, table: Any, y: Any = None, *, groups: Any = None, order: str | None = None, progress: bool = False,
            learner: Any = None) -> HLDDetector:
        """Learn the distribution of a table.

        Parameters
        ----------
        table : (n, V) array_like or pandas.DataFrame
            Training rows, at least two.
        y : ignored
            For compatibility with scikit-learn.
        groups : column name or position, or (n,) array_like, optional
            Day, site or customer of each row: a batch is then tested as a group like those before, which differ from
            each other by nature (`hld.variation`).  The column is not learned.  Half of the groups, or 19 if that is
            more, are held out of learning, and a batch is compared with them.
        order : "time", optional
            The rows are in order of time, without gaps, and resemble their neighbours: batches of successive rows are
            compared with stretches of the later half, and the earlier half is learned from.  A warning names gaps that
            a column of dates shows, or dates that are not in order (`hld.variation.clock`).
        progress : bool
            Draw a progress bar on standard error if that is a terminal.
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
        """
        check_options(self.get_params())
        return self._take_over(learn_detector(self.get_params(), table, groups, order, progress, learner))

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
        ``result.data_quality`` counts what the schema does not know; ``result.pvalue`` is that of the distance and, if
        `missingness` is tested, of the missing and the new values together.
        """
        check_fitted(self)
        alpha = check_alpha(alpha)
        if isinstance(batch, BatchSummary):
            return judge_table_summary(self, batch, alpha)
        with batch_as_named():
            alone = self.judge_ is self.test_  # shares and counts are tested as those of independent rows
            rows, quality = self.encoder_.check(batch, self.schema_.trained, self.tolerance,
                                                kept=self.new_values_ if alone else None,
                                                is_tested=self.missingness and alone)
        counts = batch_profile(self, rows)
        result = with_quality(lambda level: self.judge_(rows, level), quality, alpha,
                              largest_of(self, counts) if alone else {})
        return replace(result, evidence=evidence_of(self, counts, quality, result.column_pvalues))

    def summarize(self, table: Any, *, epsilon: Any = None, delta: Any = 1e-6,
                  rng: np.random.Generator | None = None) -> Any:
        """A few sums over the rows of a table, which add up and can be tested in their place: see `hld.BatchSummary`.

        With `epsilon`, noise makes them (epsilon, delta)-differentially private: see `hld.summaries.privacy`.
        """
        check_fitted(self)
        return summarize_table(self, table, epsilon=epsilon, delta=delta, rng=rng)

    def power(self, alternative: Any, T: Any, alpha: float = 0.05) -> float:
        """Probability that T rows of an alternative are called shifted: see `hld.planning.of_tables.power_of_table`."""
        check_fitted(self)
        return power_of_table(self, alternative, T, alpha)

    def sample_size(self, alternative: Any, power: Any = 0.9, alpha: float = 0.05) -> Any:
        """Rows with which an alternative is found: see `hld.planning.power.sample_size`."""
        check_fitted(self)
        return sample_size_of_table(self, alternative, power, alpha)

    def detectable(self, T: Any, power: Any = 0.9, alpha: float = 0.05) -> tuple[Any, ...]:
        """How much more frequent levels have to get: see `hld.planning.detectable.detectable`."""
        check_fitted(self)
        return detectable_of_table(self, T, power, alpha)

    def test_by(self, table: Any, by: Any, alpha: float = 0.05, *, every: str | None = None,
                procedure: str = "bh") -> SegmentsResult | None:
        """Test each segment of a table, with false discovery control: see `hld.answers.segments.judge_segments`."""
        from hld.answers.segments import judge_segments
        check_fitted(self)
        alpha = check_alpha(alpha)
        return judge_segments(self, lambda rows, quality: with_quality(
            lambda level: self.judge_(rows, level), quality, alpha,
            largest_of(self, batch_profile(self, rows)) if self.judge_ is self.test_ else {}),
            table, by, alpha, every=every, procedure=procedure)

    def score_samples(self, table: Any) -> np.ndarray:
        """Natural log-likelihood of each row under the circuit; larger is more typical."""
        check_fitted(self)
        with width_as_expected():
            return pcircuit.log_likelihood(self.circuit_, self.encoder_.encode(table)[0])

    def decision_function(self, table: Any) -> np.ndarray:
        """`score_samples` less `offset_`: negative for the rows that `predict` calls odd."""
        return predictions(self, table)[0]

    def predict(self, table: Any) -> np.ndarray:
        """1 for ordinary rows, -1 for odd ones: at most 5 % of rows that follow the training distribution."""
        return predictions(self, table)[1]

    def sample(self, num_samples: int, *, where: str | None = None,
               rng: int | np.random.Generator | None = None) -> Any:
        """(num_samples, V) object array of rows drawn from the circuit; None for rare, new and missing values.

        Numbers are drawn inside their bins and types kept; `where` is a condition that all rows satisfy, such as
        ``'age > 40 and sex == "F"'`` (`hld.synthetic.expressions`).
        """
        check_fitted(self)
        return draw_rows(self.circuit_, self.encoder_.columns, self.values_, num_samples, where=where, rng=rng)

    def probability(self, where: str) -> float:
        """Probability of a condition under the circuit, such as ``'age > 40 and sex == "F"'``."""
        check_fitted(self)
        return condition_probability(self.circuit_, self.encoder_.columns, self.values_, where)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted detector to one file, atomically and without pickle; read it with `hld.load`."""
        check_fitted(self)
        fitted = {"schema": self.schema_, "test": self.test_, "judge": self.judge_, "history": self.history_,
                  "num_train": self.num_train_, "offset": self.offset_, "profile": self.profile_,
                  "values": self.values_, "new_values": self.new_values_}
        pcircuit.write_archive(path, *detector_parts(self.get_params(), fitted))

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, Any]) -> HLDDetector:
        """The detector in a file's header and arrays; ValueError if they are not of this format."""
        params, fitted = read_parts(header, arrays, cls().get_params())
        return cls(**params)._take_over(fitted)

    def describe(self) -> str:
        """The columns and how each is treated, the circuit, and the test."""
        check_fitted(self)
        return describe(self)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor parameters, as scikit-learn expects."""
        return {name: getattr(self, name) for name in inspect.signature(type(self).__init__).parameters
                if name != "self"}

    def set_params(self, **params: Any) -> HLDDetector:
        """Change constructor parameters; takes effect at the next `fit`."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"`{name}` is not a parameter of HLDDetector, expected one of {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        state = f"fitted to {self.num_train_} rows" if hasattr(self, "circuit_") else "not fitted"
        return f"HLDDetector(num_latents={self.num_latents}, {state})"

    def _take_over(self, fitted: dict[str, Any]) -> HLDDetector:
        """Become fitted: with what `fit` computed, or what a file held."""
        self.schema_, self.encoder_ = fitted["schema"], fitted["schema"].encoder()
        self.test_, self.circuit_ = fitted["test"], fitted["test"].circuit
        self.judge_ = fitted["judge"]
        self.history_, self.num_train_, self.offset_ = fitted["history"], fitted["num_train"], fitted["offset"]
        self.profile_, self.values_, self.new_values_ = (fitted[name] for name in ("profile", "values", "new_values"))
        self.n_features_in_, names = len(self.schema_.table_names), feature_names(self.schema_)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator."""
        return sklearn_tags()
