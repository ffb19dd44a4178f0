"""From a table to a test in one object.

`HLDDetector` encodes a table (`hld.tables.encoder`), learns a Hidden Chow-Liu tree of it, fits its parameters by EM,
and builds the goodness-of-fit test (`HLDTest`).  The fitted detector holds the encoder, the circuit and exact
moments: averages, no rows.  At deployment a batch is encoded in the same way and tested.

What happens to odd values is decided once and visible in `describe()`: continuous columns are cut at quantiles of the
rows that are learned from, a level that they do not show goes to a category of its own, and of a row with holes
everything is compared that it shows (so that missing entries alone never alarm).
"""
from __future__ import annotations

import inspect
import math
import os
import warnings
from dataclasses import replace

import numpy as np

import pcircuit
from hld.answers.evidence import Evidence
from hld.answers.profile import profile_of, tree_edges
from hld.checks import check_alpha
from hld.detector_options import check_options
from hld.files.detector import FORMAT, FORMAT_VERSION, check_storable, detector_parts, read_parts
from hld.goodness_of_fit import LEAST_PVALUE, HLDTest
from hld.metrics.named import default_metrics
from hld.references.held_out import split_rows
from hld.references.outside import outside_counts
from hld.synthetic.drawing import condition_probability, draw_rows
from hld.synthetic.values import value_tables
from hld.tables.cells import as_numbers, read_table
from hld.tables.encoder import fit_encoder

MISSING = {"complete": "drawn from the circuit given the rest of the row", "exact": "summed out",
           "available": "each node is compared by the rows that show its whole scope"}
SUPPORTED_LEVEL = 0.05  # below the smallest p-value of a single row `fit` warns


class HLDDetector:
    """Learns the distribution of a table and tests whether later batches still follow it.

    Parameters
    ----------
    num_latents : int
        K, states of each hidden variable of the Hidden Chow-Liu tree.
    num_epochs : int
        EM passes over the training rows.
    pseudocount : float
        Smoothing of the Chow-Liu counts and of the EM steps.  With less of it a circuit learned from few rows
        overfits them, and fresh rows look shifted.
    num_bins : int
        Quantile bins of a continuous column, at most.
    max_categories : int
        Levels kept of a categorical column; integer columns with more distinct values are treated as continuous.
    categorical, continuous : sequence of column names or positions, optional
        Columns to treat so whatever their type.
    kinds : tuple of str
        Kinds of the circuit's units that the test looks at.
    metric : "auto" or see `HLDTest`
        "auto" combines all four named metrics; without input units among `kinds` the three that do not need them.
    null : see `HLDTest`
        By default drawn batches where T is small.
    reference : "auto", "training", "held-out" or "circuit"
        What a batch is compared with.  "held-out": mean and covariance of half of the rows, from which nothing is
        learned, neither circuit nor encoder (kept as averages, no rows): they and the rows of an unshifted batch are
        exchangeable, which is what the p-value rests on.  "training": the same of all rows, from which the circuit
        learns as well; since it fits them better than fresh ones, the test needs a hundred rows and more for each
        node.  "circuit": its own exact moments, as in the paper.  "auto" takes "held-out", and of fewer than four rows
        "training".
    estimation_error : bool
        For ``reference="circuit"``: scale the null by 1 + T / n for the n training rows, so that the error of the fit
        does not count as a shift.  The other references always do.
    tolerance, num_resamples : see `HLDTest`
    rng : int or numpy.random.Generator
        Seed of start values and resampling.

    Attributes
    ----------
    encoder_ : TableEncoder
    circuit_ : pcircuit.Circuit
    test_ : HLDTest
    history_ : (epochs + 1,) float array
        Mean training log-likelihood per row, natural.
    num_train_ : int
        n, rows of the training table.
    profile_ : hld.answers.profile.Profile or None
        Counts of the rows that batches are compared with, by column and by pair of columns that belong together; None
        from model files without.
    values_ : hld.synthetic.values.ValueTables or None
        Quantiles of the continuous columns, for values inside bins.

    Notes
    -----
    A fitted detector is not changed by testing and may be shared by threads.

    References
    ----------
    K, S and Krishnan (2026), Hierarchical Likelihood Distance; Liu and Van den Broeck (2021), Tractable regularization
    of probabilistic circuits (Hidden Chow-Liu trees), NeurIPS.

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

    def __init__(self, num_latents=4, num_epochs=100, pseudocount=1.0, num_bins=8, max_categories=64, *,
                 categorical=None, continuous=None, kinds=("input", "sum"), metric="auto",
                 null="auto", reference="auto", estimation_error=True, tolerance=0.0, num_resamples=999, rng=0):
        self.num_latents = num_latents
        self.num_epochs = num_epochs
        self.pseudocount = pseudocount
        self.num_bins = num_bins
        self.max_categories = max_categories
        self.categorical = categorical
        self.continuous = continuous
        self.kinds = kinds
        self.metric = metric
        self.null = null
        self.reference = reference
        self.tolerance = tolerance
        self.num_resamples = num_resamples
        self.estimation_error = estimation_error
        self.rng = rng

    def fit(self, table, y=None, *, progress=False):
        """Learn the distribution of a table.

        Parameters
        ----------
        table : (n, V) array_like or pandas.DataFrame
            Training rows, at least two.
        y : ignored
            For compatibility with scikit-learn.
        progress : bool
            Draw a progress bar on standard error where a person looks.

        Returns
        -------
        HLDDetector
            The same object, fitted.  If anything fails it stays as it was.

        Raises
        ------
        TypeError, ValueError
            If the table or an option is not usable; the message names column or option.
        """
        check_options(self.get_params())
        rng, progress = pcircuit.check_generator(self.rng), pcircuit.check_flag(progress, "progress")
        columns = read_table(table)
        if columns.num_rows == 1:
            raise ValueError("`table` has 1 row: learning a distribution needs at least two")
        learned, kept = rows, _ = split_rows(columns.num_rows, self.reference, rng)
        encoder = fit_encoder(columns, num_bins=self.num_bins, max_categories=self.max_categories, rows=learned,
                              categorical=self.categorical, continuous=self.continuous)
        check_storable(self.get_params(), encoder)
        data, odd = encoder.encode_training(columns)
        if kept is not None:  # rows that nothing was learned from are read as a batch is
            kept = (data if len(kept) == len(data) else encoder.encode(columns)[0])[kept]
        apart = kept is not None and len(kept) < len(data)
        outside = outside_counts(encoder.columns, kept, odd.num_out_of_range) if apart else None
        learned = data[learned]
        edges = tree_edges(learned, encoder.num_categories, self.pseudocount)
        profile = profile_of(learned if kept is None else kept, encoder.num_categories, edges)
        values = value_tables(encoder.columns, [
            as_numbers(cells, column.name)[rows] if column.kind == "continuous" else None
            for column, cells in zip(encoder.columns, columns.arrays, strict=True)])
        start = pcircuit.hclt(learned, self.num_latents, encoder.num_categories, self.pseudocount, rng)
        circuit, history = pcircuit.fit_em(start, learned, num_epochs=self.num_epochs, pseudocount=self.pseudocount,
                                           progress=progress)
        test = self._build_test(circuit, kept, len(learned), int(rng.integers(2 ** 53)))
        _warn_of_few_rows(test, len(data))
        history.flags.writeable = False
        return self._take_over({"encoder": encoder, "test": test, "history": history, "num_train": len(data),
                                "profile": profile, "values": values, "outside": outside})

    def test(self, batch, alpha=0.05):
        """Test whether a batch follows the distribution of the training table.

        Parameters
        ----------
        batch : (T, V) array_like or pandas.DataFrame
            Rows with the training table's columns.
        alpha : float
            Level, in (0, 1).

        Returns
        -------
        HLDResult

        Raises
        ------
        TypeError, ValueError
            If the detector is not fitted, or the batch does not have the training table's columns.
        """
        self._check_fitted()
        alpha = check_alpha(alpha)
        codes, odd = self.encoder_.encode(batch)
        result = self._with_outside(self.test_(codes, alpha), codes, odd)
        return replace(result, evidence=self.evidence(codes, odd))

    def _with_outside(self, result, codes, odd):
        """The result, with values beyond the range of all that was learned from as evidence, too."""
        if self._outside is None:
            return result
        pvalue = self._outside.joined(result.pvalue, odd.num_out_of_range, (codes >= 0).sum(axis=0))
        statistic = 0.0 - math.log10(max(pvalue, LEAST_PVALUE)) if len(result.metrics) > 1 else result.statistic
        return replace(result, pvalue=max(pvalue, LEAST_PVALUE), reject=bool(pvalue <= result.alpha),
                       statistic=statistic)

    def evidence(self, codes, odd=None):
        """Counts of an encoded batch (T, V) beside those of the reference, or None from model files without counts."""
        if self.profile_ is None:
            return None
        batch = profile_of(codes, self.encoder_.num_categories, self.profile_.edges)
        none = np.zeros(codes.shape[1], dtype=np.int64)
        return Evidence(self.encoder_.columns, self.profile_, batch, none if odd is None else odd.num_unseen,
                        none if odd is None else odd.num_out_of_range, self.test_.settings.seed)

    def test_by(self, table, by, alpha=0.05, *, every=None, procedure="bh"):
        """Test each segment of a table, with false discovery control: see `hld.segments.judge_segments`.

        Parameters
        ----------
        table : (N, V) array_like or data frame
            Rows with the training table's columns, and possibly that of `by`.
        by : str, int or sequence of N labels
            The column to group by, by name or position; or the label of each row.
        alpha : float
            Bound on the expected share of unshifted segments among those called shifted, in (0, 1).
        every : "year", "month", "day", "hour" or "minute", optional
            For dates and times, how long a segment is.
        procedure : "bh" or "by"
            Benjamini-Hochberg, or Benjamini-Yekutieli for any dependence.

        Returns
        -------
        hld.segments.SegmentsResult
        """
        from hld.segments import judge_segments
        self._check_fitted()
        return judge_segments(self, table, by, alpha, every=every, procedure=procedure)

    def score_samples(self, table) -> np.ndarray:
        """Natural log-likelihood of each row under the circuit; larger is more typical."""
        self._check_fitted()
        return pcircuit.log_likelihood(self.circuit_, self.encoder_.encode(table)[0])

    def sample(self, num_samples, *, where=None, rng=None):
        """(num_samples, V) object array of rows drawn from the circuit, numbers inside their bins, types kept.

        `where` is a condition that all rows fulfil, as ``'age > 40 and sex == "F"'`` (`hld.synthetic.expressions`).
        A rare level, or one that training did not show, has no value to write: it becomes None, a missing value.
        """
        self._check_fitted()
        return draw_rows(self.circuit_, self.encoder_.columns, self.values_, num_samples, where=where, rng=rng)

    def probability(self, where) -> float:
        """Probability of a condition under the circuit, such as ``'age > 40 and sex == "F"'``."""
        self._check_fitted()
        return condition_probability(self.circuit_, self.encoder_.columns, self.values_, where)

    def save(self, path) -> None:
        """Write the fitted detector to one file, atomically and without pickle; read it with `hld.load`."""
        save(self, path)

    def describe(self) -> str:
        """The columns and how each is treated, the circuit, and the test."""
        self._check_fitted()
        return "\n".join([f"HLDDetector fitted to {self.num_train_} rows, mean log-likelihood {self.history_[-1]:.4f}",
                          self.encoder_.describe(), self.test_.describe(), *self._kept_rows(),
                          f"missing values: {MISSING[self.test_.missing]}"])

    def get_params(self, deep=True) -> dict:
        """Constructor parameters, as scikit-learn expects."""
        return {name: getattr(self, name) for name in inspect.signature(type(self).__init__).parameters
                if name != "self"}

    def set_params(self, **params):
        """Change constructor parameters; takes effect at the next `fit`."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"`{name}` is not a parameter of HLDDetector: expected one of {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self):
        state = f"fitted to {self.num_train_} rows" if hasattr(self, "circuit_") else "not fitted"
        return f"HLDDetector(num_latents={self.num_latents}, {state})"

    def _kept_rows(self) -> list:
        """A line about the rows of the reference, if they were kept from learning."""
        if self.test_.reference == "circuit" or self.test_.num_train == self.num_train_:
            return []
        return [f"reference: {self.test_.num_train} of the {self.num_train_} rows, kept from learning"]

    def _build_test(self, circuit, kept, num_learned, seed) -> HLDTest:
        """The test of a fitted circuit against the rows `kept`, or against the circuit."""
        nodes, metric = pcircuit.select_nodes(circuit, self.kinds), self.metric
        if isinstance(metric, str) and metric == "auto":
            metric = default_metrics(circuit, nodes)
        return HLDTest(circuit, nodes=nodes, metric=metric, null=self.null,
                       reference="circuit" if kept is None else "training", training_data=kept,
                       num_train=num_learned if self.estimation_error and kept is None else None,
                       rng=seed, num_resamples=self.num_resamples, tolerance=self.tolerance)

    def _take_over(self, fitted):
        """Become fitted: with what `fit` computed, or what a file held."""
        self.encoder_, self.test_, self.circuit_ = fitted["encoder"], fitted["test"], fitted["test"].circuit
        self.history_, self.num_train_, self.profile_ = fitted["history"], fitted["num_train"], fitted["profile"]
        self.values_, self._outside = fitted["values"], fitted["outside"]
        self.n_features_in_ = self.circuit_.num_variables
        return self

    def _check_fitted(self):
        """Raise unless `fit` has run."""
        if not hasattr(self, "circuit_"):
            raise ValueError("this HLDDetector is not fitted: call `fit(table)` first, or `hld.load(path)`")


def _warn_of_few_rows(test, num_rows) -> None:
    """A warning if single rows cannot be rejected at the default level, so few rows there are to compare them with."""
    least = test.least_pvalue(1)
    if least > SUPPORTED_LEVEL:
        warnings.warn(f"`table` has {num_rows} rows, so the smallest p-value of a single row is {least:.2g}: a test at "
                      "a lower level never rejects one; `describe()` lists the smallest p-values of larger batches",
                      UserWarning, stacklevel=3)


def save(detector, path) -> None:
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
        raise TypeError(f"`detector` must be an HLDDetector, found {type(detector).__name__}; save circuits with "
                        "pcircuit.save")
    detector._check_fitted()
    fitted = {"encoder": detector.encoder_, "test": detector.test_, "history": detector.history_,
              "num_train": detector.num_train_, "profile": detector.profile_, "values": detector.values_,
              "outside": detector._outside}
    pcircuit.write_archive(path, *detector_parts(detector.get_params(), fitted))


def load(path) -> HLDDetector:
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
    ValueError
        If the file is damaged, of another kind, or of a newer format version: its name and what is wrong.
    OSError
        If there is no such file or it cannot be opened.

    Notes
    -----
    Costs reading the file, and checking its means; `save` has a round trip.

    Examples
    --------
    >>> load("no-such-file.hld")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no-such-file.hld'
    """
    header, arrays = pcircuit.read_archive(path, FORMAT, FORMAT_VERSION)
    try:
        return from_parts(header, arrays)
    except ValueError as error:
        raise ValueError(f"cannot read {os.fspath(path)!r}: {error}") from error


def from_parts(header: dict, arrays: dict) -> HLDDetector:
    """The detector of a file's header and arrays; ValueError if they are not of this format."""
    params, fitted = read_parts(header, arrays, HLDDetector().get_params())
    return HLDDetector(**params)._take_over(fitted)
