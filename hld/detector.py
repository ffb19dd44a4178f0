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
from typing import Any

import numpy as np

from hld.answers.table_facts import batch_profile, evidence_of
from hld.detector_options import check_options
from hld.detector_parts import (
    batch_as_named,
    describe,
    judge_table_summary,
    warn_of_several,
    with_groups,
)
from hld.detector_questions import DetectorQuestions
from hld.estimator import check_fitted, feature_names, sklearn_tags
from hld.files.detector import detector_parts, read_parts
from hld.fitting.learning import learn_detector
from hld.results.largest import largest_of
from hld.results.result import HLDResult
from hld.results.with_quality import with_quality
from hld.summaries.summary import BatchSummary
from pcircuit.arguments import check_fraction
from pcircuit.files.archive import write_archive


class HLDDetector(DetectorQuestions):
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
        (`hld.conditional`), and results say which of the two moved.
    missingness : bool, default True
        Whether shares of missing values and numbers of new values are tested, too, and count in the p-value
        (`hld.schemas.counts.missingness`, `hld.schemas.counts.new_values`).
    kinds : tuple of str, default ("input", "sum")
        Kinds of the circuit's units that the test looks at.
    metric : "auto", "likelihoods" or see `HLDTest`, default "auto"
        "auto" combines "euclidean", "standardized", "marginals" and "whitened", and, if 25 or more rows are held out,
        "whitened_fine" and "score"; without input or sum units among `kinds` only those that do not need them.  With
        held-out rows the counts of single columns (`hld.results.largest_count`) and the dependences along the tree
        (`hld.results.largest_dependence`) are tested, too.  "likelihoods" is the same without "score", which is not
        exported as C.
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
    values_ : hld.synthetic.values.ValueTables
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
        self.rng = rng

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

        Examples
        --------
        >>> rows = np.random.default_rng(0).integers(0, 3, size=(300, 2))
        >>> HLDDetector(num_epochs=5).fit(rows).num_train_
        300
        """
        check_options(self.get_params())
        if learner is not None and not callable(learner):
            raise TypeError(f"`learner` must be a function, found {type(learner).__name__}")
        return self._take_over(
            learn_detector(self.get_params(), table, groups, order, progress, learner)
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
            return judge_table_summary(self, batch, alpha)
        alone = (
            self.judge_ is self.test_
        )  # shares and counts are tested as those of independent rows
        with batch_as_named():
            batch, groups = with_groups(self, batch)
            rows, quality = self.encoder_.check(
                batch,
                self.schema_.trained,
                self.tolerance,
                kept=self.new_values_ if alone else None,
                is_tested=self.missingness and alone,
            )
        warn_of_several(groups, stacklevel=2)
        counts = batch_profile(self, rows)
        result = with_quality(
            lambda level: self.judge_(rows, level),
            quality,
            alpha,
            largest_of(self, counts) if alone else {},
        )
        return replace(result, evidence=evidence_of(self, counts, quality, result.column_pvalues))

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
        fitted = {
            "schema": self.schema_,
            "test": self.test_,
            "judge": self.judge_,
            "history": self.history_,
            "num_train": self.num_train_,
            "offset": self.offset_,
            "profile": self.profile_,
            "values": self.values_,
            "new_values": self.new_values_,
        }
        write_archive(path, *detector_parts(self.get_params(), fitted))

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
        """Constructor parameters, as scikit-learn expects.

        Parameters
        ----------
        deep : bool
            Ignored: no parameter is an estimator.

        Returns
        -------
        dict of str to object
        """
        return {
            name: getattr(self, name)
            for name in inspect.signature(type(self).__init__).parameters
            if name != "self"
        }

    def set_params(self, **params: Any) -> HLDDetector:
        """Change constructor parameters; takes effect at the next `fit`.

        Parameters
        ----------
        **params
            Values by name.

        Returns
        -------
        HLDDetector
            The same object.

        Raises
        ------
        ValueError
            If a name is not that of a parameter.
        """
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ValueError(
                    f"`{name}` is not a parameter of HLDDetector, expected one of {', '.join(known)}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        state = f"fitted to {self.num_train_} rows" if hasattr(self, "circuit_") else "not fitted"
        return f"HLDDetector(num_latents={self.num_latents}, {state})"

    def _take_over(self, fitted: dict[str, Any]) -> HLDDetector:
        """Become fitted: with what `fit` computed, or what a file held."""
        self.schema_, self.encoder_ = fitted["schema"], fitted["schema"].encoder()
        self.test_, self.judge_, self.circuit_ = (
            fitted["test"],
            fitted["judge"],
            fitted["test"].circuit,
        )
        self.history_, self.num_train_, self.offset_ = (
            fitted["history"],
            fitted["num_train"],
            fitted["offset"],
        )
        self.profile_, self.values_, self.new_values_ = (
            fitted[name] for name in ("profile", "values", "new_values")
        )
        self.n_features_in_, names = len(self.schema_.table_names), feature_names(self.schema_)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator."""
        return sklearn_tags()
