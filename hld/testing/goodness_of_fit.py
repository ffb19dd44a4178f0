"""The test: does a batch still follow the distribution of the circuit?

    H0: the rows are independent draws from the circuit's distribution P        H1: they are not

The statistic is the Hierarchical Likelihood Distance between the batch and the reference,

    d = || (1/T) sum_t L(x_t) - mu ||,        mu = E_P[L(X)],

in the paper's plain norm or another one (`hld.witnesses.metrics.named`), and H0 is rejected when d is larger than its
null distribution allows (`hld.laws.named`).  Everything that does not depend on the batch is computed once, when the
test is built, and kept in a `Calibration`; no reference data are needed.  A call looks up one tail probability of the
batch.
In a lecture, with the limit law T d^2 ~ sum_i lambda_i Z_i^2 by simulation:

>>> def plain_test(circuit, batch, rng):
...     moments = pcircuit.exact_moments(circuit)
...     L = pcircuit.node_likelihoods(circuit, batch, nodes=moments.nodes)
...     d = np.linalg.norm(L.mean(axis=0) - moments.mean)
...     eigenvalues = np.linalg.eigvalsh(moments.covariance())
...     drawn = rng.chisquare(1, (20_000, len(eigenvalues))) @ eigenvalues
...     return (drawn >= len(batch) * d**2).mean()                     # the p-value
>>> circuit = pcircuit.rat_spn([2] * 6, num_units=3, depth=2, rng=0)
>>> batch = pcircuit.sample(circuit, 50, rng=1)
>>> pvalue = plain_test(circuit, batch, np.random.default_rng(2))
>>> bool(abs(pvalue - HLDTest(circuit)(batch).pvalue) < 4 * 0.5 / 20_000**0.5)
True
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

import pcircuit
from hld.answers.column_shifts import percent
from hld.answers.words import least_text
from hld.features.linear_maps import LinearMap
from hld.features.row_vectors import RowVectors, check_rows, complete
from hld.features.score_features import ScoreFeatures, score_features
from hld.laws.drawn import MOST_RESAMPLES
from hld.laws.named import NULLS, check_null_choice
from hld.laws.null import NullOptions
from hld.laws.ranks.confirmation import least_pvalue
from hld.references.holes import HolePatterns
from hld.references.kept_rows import KeptRows, kept_rows
from hld.references.reference import Reference
from hld.references.rows import FROM_ROWS, REFERENCES
from hld.testing.summaries.summary import BatchSummary, test_fingerprint
from hld.testing.summaries.summing import RowSums, summarize_rows
from hld.testing.verdict import (
    LEAST_PVALUE,
    Comparison,
    holed_laws,
    judge_rows,
    judge_summary,
    judge_with_holes,
    reaches,
    verdict,
)
from hld.witnesses.metrics.maps import RIDGE
from hld.witnesses.metrics.named import asks_for_scores, build_metric, parse_metric
from hld.witnesses.result import HLDResult
from pcircuit.arguments import (
    check_choice,
    check_fraction,
    check_integers,
    check_number,
    check_numbers,
    check_seed,
    check_whole_number,
)
from pcircuit.circuit import check_distribution
from pcircuit.evidence import checked, is_missing
from pcircuit.inference.densities import bounded
from pcircuit.inference.unit_likelihoods import check_nodes

if TYPE_CHECKING:
    from hld.references.available import Shown
    from hld.testing.planning.power import Detectable


SHOWN_SIZES = (1, 2, 5, 10, 100, 1000, 10_000)  # whose smallest p-values are listed


MISSING = {  # and what each needs, beside null='exact' or 'auto'
    "complete": "",
    "exact": "reference='circuit'",
    "available": "a reference of rows",
}
LEAST_SPREAD, MOST_SPREAD = 1e-70, 1e70  # of a row: its fourth power is in the range of doubles


class HLDTest:
    """Goodness-of-fit test of batches of rows against a circuit: rejects when d = || mean L - mu || is too large.

    Parameters
    ----------
    circuit : pcircuit.Circuit
        Normalised; the model of the in-distribution.
    nodes : (m,) int array_like, optional
        Node ids; by default ``select_nodes(circuit)``, input and sum units.
    metric : str, (m,) float array_like, or sequence of str
        "euclidean" (the paper's), "standardized", "marginals", "ordered", "whitened", "whitened_fine", "score" (for
        ``reference="training"``), positive node weights, or several names, which are combined into one test with one
        p-value: see `hld.witnesses.metrics.named` and `hld.laws.joint`.
    null : "exact", "normal", "monte-carlo" or "auto"
        The generalised chi-square limit law, the paper's closed form, drawn batches (valid at every T), or drawn
        batches for small T and the law, corrected for T, for large T: see `hld.laws.named`.
    reference : "circuit" or "training"
        Where mean and covariance come from: exactly from the circuit, or estimated from `training_data`, which also
        covers what the circuit fails to model.
    num_train : int, optional
        Rows n that the circuit was fitted to; the null is then scaled by 1 + T/n for its estimation error.  For
        ``reference="training"`` n is the number of rows of `training_data`.
    training_data : (n, V) integer array_like, optional
        Rows for ``reference="training"``; none of them is kept.
    rng : int or numpy.random.Generator, optional
        Seed of drawn batches and of the completion of missing values; equal seeds give equal results.
    ridge : float
        Ridge of the whitened metric, relative to the largest eigenvalue; a smaller one finds more shifts, but the law
        needs larger T.
    num_resamples : int
        Batches that are drawn first.  Where the circuit is the reference, more follow while fewer than ten are as
        extreme as the batch, up to a million rows for each T (`hld.laws.drawn`): `least_pvalue` says how small a
        p-value can be.
    tolerance : float
        Tests H0 "at most this share of the rows, in [0, 1), is of another distribution", whichever that is: see
        `hld.witnesses.effects`.
    missing : "complete", "exact" or "available", optional
        How missing entries are treated.  "complete": they are drawn from the circuit's conditional distribution given
        the rest of their row (`hld.features.row_vectors`).  "exact": they are summed out, with the exact null for the
        pattern of holes (`hld.references.holes`; for ``reference="circuit"``, and at sizes where the limit law holds).
        "available": every node is compared using the rows that show its whole scope (`hld.references.available`; for
        ``reference="training"``).  All keep the level if holes do not depend on values, the first two only if the rows
        follow the circuit.  By default "available" where rows are the reference, and "complete" where the circuit is.
    ordered : sequence of int, optional
        For the metric "ordered": variables whose categories ascend; by default all.

    Attributes
    ----------
    circuit : pcircuit.Circuit
        The circuit that was given; where leaves are densities, with its columns in units in which none exceeds 1.
    nodes : (m,) int array
        The node ids whose likelihoods are compared.
    vectors : hld.features.row_vectors.RowVectors
        What the test looks at in a row: likelihoods of the nodes and, with the metric "score", features of the score.
    mean, stds : (m,) float arrays
        Means and standard deviations of these under the reference: more than m numbers with the metric "score".
    null, reference, missing, num_train, tolerance : str, str, str, int or None, float
        The options; `missing` is the one that was chosen where it was left open, `num_train` the n of the null.
    settings, calibration : Settings, Calibration
        The options together with the seed; metrics and null.
    metric_names : tuple of str
        The metrics, in the order of `HLDResult.pvalues`.
    round_offs, are_constant : (q,) float array, (q,) bool array
        For each metric, the distance that rounding alone can make where rows vary, and whether they do not.
    shown_weights : float or (m,) float array
        Weights in which the differences of nodes are reported: those of a single metric that weighs nodes, else 1.

    Raises
    ------
    pcircuit.StructureError
        If the circuit is not normalised.
    TypeError, ValueError
        If `circuit` is not a circuit, an option is unknown, or options contradict each other.

    References
    ----------
    K, S and Krishnan (2026), A Probabilistic Circuit-Induced Pseudo-Metric for Out-of-Distribution Detection,
    "Goodness-of-Fit Test using HLD", algorithms 1 and 2.

    Examples
    --------
    >>> import pcircuit
    >>> circuit = pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0)
    >>> test = HLDTest(circuit)
    >>> test(pcircuit.sample(circuit, 50, rng=1)).reject
    False
    >>> test([[0, 1] * 4] * 50).reject
    True
    """

    def __init__(
        self,
        circuit: pcircuit.Circuit,
        nodes: ArrayLike | None = None,
        metric: Any = "euclidean",
        null: str = "exact",
        reference: str = "circuit",
        num_train: int | None = None,
        training_data: ArrayLike | None = None,
        rng: int | np.random.Generator | None = None,
        *,
        ridge: float = RIDGE,
        num_resamples: int = 999,
        tolerance: float = 0.0,
        missing: str | None = None,
        ordered: Any = None,
    ) -> None:
        circuit = bounded(check_distribution(circuit))
        num_resamples = check_whole_number(num_resamples, "num_resamples", 1, MOST_RESAMPLES)
        if ordered is not None:
            last = circuit.num_variables - 1
            said = f"a list of variables up to {last}"
            ordered = tuple(check_integers(ordered, "ordered", said, 0, last).ravel().tolist())
        ridge = check_number(ridge, "ridge", above=0)
        settings = Settings(null, reference, num_train, tolerance, missing, check_seed(rng))
        if (reference in FROM_ROWS) != (training_data is not None):
            raise ValueError(
                "`training_data` must be given with reference='training' and left out otherwise, found it "
                f"{'left out' if training_data is None else 'given'} with reference={reference!r}"
            )
        nodes = pcircuit.select_nodes(circuit) if nodes is None else check_nodes(circuit, nodes)
        parts = parse_metric(metric, len(nodes))
        check_null_choice(null, reference, len(parts))
        if training_data is not None:
            training_data = check_rows(circuit, training_data, name="training_data")
            if settings.missing == "complete":
                training_data = complete(
                    circuit, training_data, settings.seed, name="training_data"
                )[0]
            settings = replace(settings, num_train=len(training_data))
        more = {"features": score_features(circuit)} if asks_for_scores(parts) else {}
        source = REFERENCES[reference](circuit, nodes, training_data, **more)
        options = {"ridge": ridge, "ordered": ordered}
        calibration = calibrate(source, parts, null, num_resamples, settings.seed, **options)
        self._set(circuit, settings, calibration)

    @classmethod
    def from_parts(
        cls, circuit: pcircuit.Circuit, settings: Settings, calibration: Calibration
    ) -> HLDTest:
        """A test from the `settings` and the `calibration` of another one: nothing is checked or calibrated again."""
        test = object.__new__(cls)
        test._set(circuit, settings, calibration)
        return test

    def _set(self, circuit: pcircuit.Circuit, settings: Settings, calibration: Calibration) -> None:
        """Keep the parts."""
        self.circuit, self.settings, self.calibration = circuit, settings, calibration
        self.nodes, self.mean, self.stds = calibration.nodes, calibration.mean, calibration.stds
        self.vectors = RowVectors(circuit, calibration.nodes, calibration.features)
        self.null, self.reference = settings.null, settings.reference
        self.num_train, self.tolerance = settings.num_train, settings.tolerance
        self.missing = settings.missing
        metrics = calibration.metrics
        self.metric_names = tuple(metric.name for metric in metrics)
        # a law of zeros leaves no room for rounding
        magnitudes = self.vectors.magnitudes(self.mean)
        self.round_offs = np.array([metric.round_off(magnitudes) for metric in metrics])
        self.are_constant = np.array([not metric.reach(self.stds) > 0 for metric in metrics])
        # differences are reported in the metric's own weights where it is a weighting of nodes
        single = metrics[0].node_weights if len(metrics) == 1 else None
        self.shown_weights = 1.0 if single is None else single
        self._patterns = HolePatterns(circuit, self.nodes) if settings.missing == "exact" else None

    def __call__(self, batch: ArrayLike, alpha: float = 0.05) -> HLDResult:
        """Test a batch; shapes batch (T, V)."""
        alpha = check_fraction(alpha, "alpha")
        if isinstance(batch, BatchSummary):
            return judge_summary(self, batch, alpha)
        if self._patterns is not None:
            batch = checked(self.circuit, batch, "batch")
            if is_missing(batch).any():
                return judge_with_holes(self, self._patterns, batch, alpha)
        if self.missing == "available":
            batch = check_rows(self.circuit, batch)
            num_missing = int(is_missing(batch).sum())
        else:
            batch, num_missing = complete(self.circuit, batch, self.settings.seed)
        if self.calibration.kept is not None:
            return judge_rows(self, batch, None, alpha, num_missing)
        found = Comparison(self.vectors.mean(batch) - self.mean, self.calibration.null)
        return verdict(self, found, len(batch), alpha, num_missing, rows=batch)

    def judge(
        self, mean: np.ndarray, num_samples: int, alpha: float = 0.05, *, num_missing: int = 0
    ) -> HLDResult:
        """Test a batch of which only the mean hierarchical likelihood vector is available.

        Means of parts of a batch, weighted by their numbers of rows, add up: machines that each see a part need to send
        only these m numbers.

        Where rows are the reference, calling the test with the rows of a batch checks an alarm by these rows
        (`hld.laws.ranks.confirmation`); without them the p-value may be too small if reference rows are few.

        Parameters
        ----------
        mean : (m,) float array_like
            Mean over the batch of the likelihoods of `nodes`, see `pcircuit.mean_node_likelihoods`; with the metric
            "score" followed by the features of the score: ``test.vectors.mean(rows)`` has all.
        num_samples : int
            T, rows of the batch.
        alpha : float
            Level, in (0, 1).
        num_missing : int
            What the result reports as missing.

        Returns
        -------
        HLDResult
        """
        expected = f"{len(self.mean)} finite numbers such as `test.vectors.mean(rows)`"
        mean = check_numbers(mean, "mean", expected, self.mean.shape)
        T, alpha = check_whole_number(num_samples, "num_samples", 1), check_fraction(alpha, "alpha")
        num_missing = check_whole_number(num_missing, "num_missing", 0)
        found = Comparison(mean - self.mean, self.calibration.null)
        return verdict(self, found, T, alpha, num_missing)

    def judge_sums(self, sums: RowSums, alpha: float = 0.05) -> HLDResult:
        """Test a batch that came in chunks: as in one piece where all of its rows are kept."""
        if not sums.num_rows:
            raise ValueError("`batch` has no rows: at least one is needed")
        if sums.is_whole:
            return replace(self(sums.rows, alpha), num_missing=sums.num_missing)
        shown, num_missing = sums.shown(self.vectors), sums.num_missing
        if self.calibration.kept is None:
            return self.judge(shown.means, sums.num_rows, alpha, num_missing=num_missing)
        return judge_rows(self, sums.rows, shown, check_fraction(alpha, "alpha"), num_missing)

    def summarize(self, rows: Any) -> BatchSummary:
        """The sums sum_t L(x_t) over rows, and a few more, which add up and can be tested in their place.

        Parameters
        ----------
        rows : (T, V) integer array_like
            T at least 0; -1 is missing.

        Returns
        -------
        BatchSummary

        Notes
        -----
        O(T) times the likelihoods of a row; where rows are the reference, also the metrics of at most 20,000 rows.

        Examples
        --------
        >>> import hld, pcircuit
        >>> circuit = pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0)
        >>> test = hld.HLDTest(circuit)
        >>> total = test.summarize([[0, 1] * 4] * 30) + test.summarize([[0, 1] * 4] * 20)
        >>> total.num_rows, test(total).reject
        (50, True)
        """
        return summarize_rows(self, rows)

    def power(self, alternative: Any, T: int, alpha: float = 0.05) -> float:
        """Probability that a batch of T rows from an alternative is called shifted: see `hld.testing.planning.power`.

        From 2,000 draws of the difference of the means, normal with mean E_1[L] - mu and covariance Cov_1(L) / T.

        Parameters
        ----------
        alternative : Edit, pcircuit.Circuit, or (n, V) integer array_like
            Where rows come from: a category that becomes more frequent (`hld.Edit`), a circuit, or rows.
        T : int
            Rows of a batch, at least 1.
        alpha : float
            Level, in (0, 1).

        Returns
        -------
        float
            In [0, 1].

        Notes
        -----
        Some ten milliseconds to a second; standard error at most 0.011.  A guide with two to some ten rows.

        Examples
        --------
        >>> import hld, pcircuit
        >>> test = hld.HLDTest(pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0))
        >>> test.power(hld.Edit(0, 0, 0.1), 50) < test.power(hld.Edit(0, 0, 0.2), 50)
        True
        """
        return self._planner().power(alternative, T, alpha)

    def sample_size(self, alternative: Any, power: float = 0.9, alpha: float = 0.05) -> int | None:
        """The smallest number of rows with which an alternative is called shifted with probability `power`.

        Parameters
        ----------
        alternative : Edit, pcircuit.Circuit, or (n, V) integer array_like
            As for `power`.
        power : float
            In (0, 1).
        alpha : float
            Level, in (0, 1).

        Returns
        -------
        int or None
            T; None where ten million rows are not enough, or as many as the alternative is known by.

        Notes
        -----
        Some twenty powers, by bisection.

        Examples
        --------
        >>> import hld, pcircuit
        >>> test = hld.HLDTest(pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0))
        >>> T = test.sample_size(hld.Edit(0, 0, 0.2))
        >>> test.power(hld.Edit(0, 0, 0.2), T) >= 0.9
        True
        """
        return self._planner().sample_size(alternative, power, alpha)

    def detectable(self, T: int, power: float = 0.9, alpha: float = 0.05) -> tuple[Detectable, ...]:
        """How much more frequent the most frequent categories of each variable have to get to be found in T rows.

        Parameters
        ----------
        T : int
            Rows of a batch, at least 1.
        power : float
            Probability with which the change is to be found, in (0, 1).
        alpha : float
            Level, in (0, 1).

        Returns
        -------
        tuple of hld.testing.planning.power.Detectable
            Each with `column`, `level`, `share` (its probability p) and `by` (the change h, None where even p + h = 1
            is not found so often); the smallest change first, at most three for each variable and 100 in all.

        Notes
        -----
        Some tens of milliseconds for each category.

        Examples
        --------
        >>> import hld, pcircuit
        >>> test = hld.HLDTest(pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0))
        >>> first = test.detectable(400)[0]
        >>> 0 < first.by < 0.4
        True
        """
        return self._planner().detectable(T, power, alpha)

    def _planner(self) -> Any:
        from hld.testing.planning.power import Planner  # with all that only plans need

        return Planner(self)

    @cached_property
    def reaches(self) -> np.ndarray:
        """(q,) by how much, at most, one row that is another moves T times the mean, in each metric."""
        return reaches(self, 1.0)

    def least_distances(self, T: int) -> np.ndarray:
        """(q,) float array: the distance in each metric that rounding alone can make in means of T rows.

        A mean of T equal numbers is off by up to T roundings.  Where rows vary, their own spread is far wider than
        that; the law of a constant is a law of zeros, under which the last digit of a sum would be a shift.
        """
        return np.asarray(self.round_offs * np.where(self.are_constant, T, 1))

    def laws_with_holes(self, batch: Shown, g: np.ndarray) -> tuple[Any, ...]:
        """The law of each metric for what a batch shows, with weights g (size,): see `hld.testing.verdict`."""
        return holed_laws(self, batch, g)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of circuit and calibration: 64 hexadecimal digits (str).

        A summary carries it as `model`; a test with another one refuses the summary.  Equal tests have equal
        digests, in other processes, too.  Computed once, in one pass over the parameters and the calibration.
        """
        return test_fingerprint(self.circuit, self.calibration)

    def describe(self) -> str:
        r"""What the test does, in a few lines: nodes, reference, null, error of the fit, least p-values, tolerance.

        Returns
        -------
        str

        Examples
        --------
        >>> import hld, pcircuit
        >>> test = hld.HLDTest(pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0), num_train=500)
        >>> print("\n".join(test.describe().splitlines()[1:6]))
        nodes: 13 (8 input, 5 sum)
        reference: circuit; total variance tr(S) = 0.150601
        null:
          euclidean: generalised chi-square, 13 eigenvalues (all there are)
        estimation error: null scaled by 1 + T / 500
        """
        kinds, counts = np.unique(self.circuit.nodes.kind[self.nodes], return_counts=True)
        m = len(self.nodes)
        lines = [
            f"HLD test against {self.circuit!r}",
            f"nodes: {len(self.nodes)} ({', '.join(f'{n} {k}' for k, n in zip(kinds, counts, strict=True))})",
            f"reference: {self.reference}; total variance tr(S) = {float(self.stds[:m] @ self.stds[:m]):.6g}",
            "null:",
            *self.calibration.null.describe(self.metric_names),
            "estimation error: ignored (no num_train)"
            if self.num_train is None
            else f"estimation error: null scaled by 1 + T / {self.num_train}",
        ]
        lines.append(
            "smallest p-value: "
            + "; ".join(f"T = {T}: {least_text(self.least_pvalue(T))}" for T in SHOWN_SIZES)
        )
        if self.tolerance:
            lines.append(f"tolerance: {percent(self.tolerance)} of the rows may be others")
        return "\n".join(lines)

    def least_pvalue(self, T: int) -> float:
        """The smallest p-value that a batch of T rows can have, however far from the reference it is.

        Parameters
        ----------
        T : int
            Rows, at least 1.

        Returns
        -------
        float
            1 / (k + 1) for a single row against k rows; with drawn batches, 1 over their largest number.

        Examples
        --------
        >>> import hld, pcircuit
        >>> circuit = pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0)
        >>> hld.HLDTest(circuit, null="monte-carlo", num_resamples=99, rng=0).least_pvalue(10)
        1e-05
        """
        T, kept = check_whole_number(T, "T", 1), self.calibration.kept
        least = max(self.calibration.null.least(T), LEAST_PVALUE)
        is_exact = kept is None or (T == 1 and least > LEAST_PVALUE)
        return least if is_exact else max(least, least_pvalue(kept.num_rows, T))  # type: ignore[union-attr]

    def __repr__(self) -> str:
        return (
            f"HLDTest({self.circuit.num_variables} variables, {len(self.nodes)} nodes, null {self.null}, "
            f"reference {self.reference})"
        )


@dataclass(frozen=True)
class Settings:
    """The options of a test, checked; each attribute means what it means in `HLDTest`."""

    null: str
    reference: str
    num_train: int | None
    tolerance: float
    missing: Any  # str; None is chosen
    seed: int

    def __post_init__(self) -> None:
        check_choice(self.null, "null", tuple(NULLS))
        check_choice(self.reference, "reference", tuple(REFERENCES))
        allowed = {"complete"}
        if NULLS[self.null].is_checked:
            allowed.add("available" if self.reference in FROM_ROWS else "exact")
        if self.missing is None:
            usual = "available" if "available" in allowed else "complete"
            object.__setattr__(self, "missing", usual)
        check_choice(self.missing, "missing", tuple(MISSING))
        if self.missing not in allowed:
            raise ValueError(
                f"`missing` {self.missing!r} needs {MISSING[self.missing]} and null='exact' or 'auto', found "
                f"reference={self.reference!r} and null={self.null!r}"
            )
        check_null_choice(self.null, self.reference, 1)
        check_whole_number(self.num_train, "num_train", 1, none="a reference that is exact")
        check_number(self.tolerance, "tolerance", least=0, below=1)
        check_whole_number(self.seed, "seed", 0)


@dataclass(frozen=True, eq=False)
class Calibration:
    """What is known about the statistics under the null hypothesis.

    Shapes: nodes (m,), mean, stds (size,).
    """

    nodes: np.ndarray
    mean: np.ndarray
    stds: np.ndarray
    metrics: tuple[Any, ...]
    null: Any
    kept: KeptRows | None = None
    features: ScoreFeatures | None = None
    holed_laws: dict[Any, Any] = field(default_factory=dict, repr=False)  # of `verdict`

    def __post_init__(self) -> None:
        for array in (self.nodes, self.mean, self.stds):
            array.flags.writeable = False

    def differences(self, vectors: Any, rows: np.ndarray) -> np.ndarray:
        """(n, size) vectors of rows (n, V) less the mean of the reference."""
        # the rounding of the mean of rows that are all alike is no difference: any row would be farther out than all
        found: np.ndarray = vectors.rows(rows) - self.mean
        if self.kept is not None and not self.kept.farthest.all():
            found[np.abs(found) <= vectors.rounding(self.mean, self.kept.num_rows)] = 0.0
        return found


def calibrate(
    reference: Reference,
    parts: tuple[Any, ...],
    null: str,
    num_resamples: int,
    seed: int,
    **options: Any,
) -> Calibration:
    """Compute a calibration."""
    stds = np.sqrt(np.maximum(reference.diagonal(), 0.0))
    metrics = tuple(build_metric(part, reference, **options) for part in parts)
    for metric in metrics:
        refuse_scale(metric, stds, reference.mean)
    rng = np.random.default_rng([seed, 0])
    law = NULLS[null].make(reference, metrics, NullOptions(num_resamples, seed, rng))
    kept = kept_rows(reference, metrics, law.laws) if NULLS[null].is_checked else None
    return Calibration(
        reference.nodes,
        np.array(reference.mean),
        stds,
        metrics,
        law,
        kept,
        reference.vectors.features,
    )


def refuse_scale(metric: LinearMap, stds: np.ndarray, mean: np.ndarray) -> None:
    """Raise if squares of the statistic, or of its variance, would leave the range of doubles; shapes (m,)."""
    # then the null would be a law of zeros and every batch would look unshifted
    with np.errstate(over="ignore"):
        spread = metric.reach(stds)
    if not stds.any():  # nodes that cannot vary, or whose variance underflows
        if 0 < mean.max() < LEAST_SPREAD:
            raise ValueError(
                f"`nodes` have likelihoods of at most {mean.max():.3g}, whose variance underflows: select "
                "nodes with smaller scopes, too"
            )
    elif not LEAST_SPREAD <= spread <= MOST_SPREAD and metric.reach((stds > 0).astype(np.float64)):
        # a metric that looks at constants alone, as at scores where every row has a hole, has p-values of 1
        raise ValueError(
            f"`metric` {metric.name!r} makes deviations of {spread:.3g} of the node likelihoods, expected "
            f"{LEAST_SPREAD:g} to {MOST_SPREAD:g}, which double precision can square twice: multiply all "
            "weights by one number, or use metric='standardized'"
        )
