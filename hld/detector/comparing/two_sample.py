r"""Do two batches come from one distribution, whatever it is?

The circuit need not be right, nor need either batch follow it: it only says which features L(x) of a row are compared,
and in which metrics F the difference of two means is measured,

.. math:: d^2 = \| F (\bar L_A - \bar L_B) \|^2 .

*Rows.*  If both batches come from one distribution, all n_A + n_B rows are exchangeable, so that every way to divide
them is equally likely: B random divisions give p = (1 + #{b : d_b >= d}) / (1 + B), exact in finite samples for any
distribution.  Several metrics are combined by the harmonic mean of their ranks among all divisions, the same function
for all divisions, so the combination is exact, too.  No vector is computed twice: d_b^2 needs sums over n_A rows only.

*Summaries.* Where rows stay at their sites and only sums are available, the law of a weighted sum of chi-squares is
used: the covariance of a row is that of the reference, scaled in each metric to the trace that the two batches show
(`Spread`), and that of the difference is S (1/n_A + 1/n_B).  It is right in the limit of many rows, provided that the
reference has the right shape of the covariance, as it has where both batches are nearly as learned.  Where both
together are not (at the level `FOREIGN`), their own spread bounds the p-value: by the law with the cumulants of the
covariance of all their rows, as far as sketches tell them (`hld.testing.summaries.summing`), so that less is found.  Of
batches of one size the sum and the difference of the means are uncorrelated, so that to look at the one first does
not favour the other.  P-values may be too small for fewer than some ten rows, by which the scale is hardly known, and
where nothing tells the spread: with the circuit as reference.  Rows have none of these limits.

References
----------
Phipson and Smyth (2010), Permutation p-values should never be zero, Statistical Applications in Genetics and Molecular
Biology 9, article 39.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import pcircuit
from hld.answers.table_facts import test_rows
from hld.detector.detector import HLDDetector
from hld.laws.joint import JointNull, covariance_factor, harmonic_mean, joint_law
from hld.laws.limit_law import limit_law
from hld.laws.ranks.monte_carlo import TIE
from hld.references.circuit import CircuitReference
from hld.references.covariances import through
from hld.references.reference import MAX_FULL_SPECTRUM
from hld.tables.cells import read_table
from hld.tables.column_names import table_called
from hld.testing.goodness_of_fit import HLDTest
from hld.testing.summaries.summary import BatchSummary
from hld.testing.summaries.summing import check_possible, detector_fingerprint, pooled_by_spread
from hld.testing.summed_batch import judge_summary
from hld.testing.verdict import LEAST_PVALUE
from pcircuit.arguments import check_fraction, check_generator, check_whole_number
from pcircuit.evidence import checked, is_missing

METRICS = ("euclidean", "standardized", "whitened")
_DEPENDENT = (
    "as rows depend on one another, but the two batches are compared as if they did not: a small p-value may "
    "be what ordinary batches differ by"
)
CAUTIONS = {  # by how a model was fitted
    "groups": f"`groups`, {_DEPENDENT}",
    "time": f"`order`='time', {_DEPENDENT}",
    "covariates": "`covariates`, which may move, but the two batches are compared whole, and differ when they do",
}
BLOCK = 200  # divisions at a time
FOREIGN = 0.05  # level at which two summaries together are taken not to be as learned


@dataclass(frozen=True)
class TwoSampleResult:
    """The outcome of comparing two batches.

    Attributes
    ----------
    pvalue : float
        That of all metrics together, in (0, 1].
    reject : bool
        ``pvalue <= alpha``.
    alpha : float
        Level, in (0, 1).
    effect : float
        Distance of the means over the typical distance of a row, less what sampling alone gives.
    metrics : tuple of str
        Names of the metrics in which the batches were compared.
    pvalues : tuple of float
        One for each metric.
    num_rows : tuple of two int
        Rows of the two batches.
    null : str
        "permutation", or "exact" for the law.
    """

    pvalue: float
    reject: bool
    alpha: float
    effect: float
    metrics: tuple[Any, ...]
    pvalues: tuple[Any, ...]
    num_rows: tuple[Any, ...]
    null: str

    def to_dict(self) -> dict[str, Any]:
        """The fields under their names as plain values, ready for JSON: a new dict, with lists for tuples."""
        return {
            **vars(self),
            "metrics": list(self.metrics),
            "pvalues": list(self.pvalues),
            "num_rows": list(self.num_rows),
        }

    def __str__(self) -> Any:
        verdict = "the batches differ" if self.reject else "no difference"
        return (
            f"{verdict}: p = {self.pvalue:.3g} at level {self.alpha:g}, {self.num_rows[0]} and {self.num_rows[1]} "
            f"rows, effect size {self.effect:.2g}"
        )

    __repr__ = __str__


def two_sample(
    model: pcircuit.Circuit | HLDTest | HLDDetector,
    first: object,
    second: object,
    alpha: float = 0.05,
    *,
    num_permutations: int = 999,
    rng: int | np.random.Generator | None = 0,
) -> TwoSampleResult:
    """Test whether two batches come from one distribution.

    Parameters
    ----------
    model : pcircuit.Circuit, HLDTest or HLDDetector
        Supplies the vectors and the metrics; neither batch need follow it.
    first, second : batches
        Rows (n, V) for a circuit or a test, tables for a detector, whose further columns are ignored; or two of its
        summaries, of ten or more rows, and both nearly as learned if they have no spread: with the circuit as
        reference.
    alpha : float
        Level, in (0, 1).
    num_permutations : int
        B.
    rng : int or numpy.random.Generator, optional
        Seed of the divisions.

    Returns
    -------
    TwoSampleResult

    Raises
    ------
    TypeError, ValueError
        If a batch does not fit the model, or has holes that the circuit cannot fill.

    Notes
    -----
    Missing cells are drawn from the circuit given the rest of their row, so that shares of missing cells are not
    compared.
    Rows are taken to be independent and compared whole.  A detector that was fitted with groups, in the order of time,
    or with covariates is warned of: ordinary groups and stretches of time differ, and covariates may.
    O((n_A + n_B) m) for the vectors and B times as much for the divisions.

    Examples
    --------
    >>> circuit = pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0)
    >>> rows = np.random.default_rng(0).integers(0, 2, size=(400, 8))           # nothing that the circuit knows
    >>> two_sample(circuit, rows[:200], rows[200:]).reject
    False
    >>> two_sample(circuit, rows[:200], rows[200:] * rows[:200]).reject
    True
    """
    alpha, rng = check_fraction(alpha, "alpha"), check_generator(rng)
    B = check_whole_number(num_permutations, "num_permutations", 1)
    test = test_of(model)
    caution = CAUTIONS.get(getattr(getattr(model, "judge_", None), "kind", ""))
    if caution is not None:
        warnings.warn(f"`model` was fitted with {caution}", UserWarning, stacklevel=2)
    if isinstance(first, BatchSummary) or isinstance(second, BatchSummary):
        return _by_law(model, test, first, second, alpha)
    parts = [codes_of(model, test, first, "first", 5), codes_of(model, test, second, "second", 6)]
    vectors = [test.vectors.rows(rows) - test.mean for rows in parts]
    every, (n, m) = np.concatenate(vectors), map(len, vectors)
    magnitudes = test.vectors.magnitudes(np.abs(every + test.mean).max(axis=0))
    every -= every[0]  # which no difference sees: sums of rows that are all alike are exact
    metrics = test.calibration.metrics
    squared = _beyond_rounding(metrics, _divisions(metrics, every, n, B, rng), magnitudes)
    ranks = np.stack(
        [1.0 + B - np.searchsorted(np.sort(column), column * (1 - TIE)) for column in squared.T],
        axis=1,
    )
    each = ranks / (1 + B)
    together = harmonic_mean(each)
    value = float((together <= together[0] * (1 + 1e-12)).mean())
    k = len(test.nodes)
    gap = (
        (vectors[0].mean(axis=0) - vectors[1].mean(axis=0))[:k],
        every.var(axis=0, ddof=1)[:k].sum(),
    )
    effect = _effect(*gap, n, m) if squared[0].any() else 0.0
    return TwoSampleResult(
        value,
        value <= alpha,
        alpha,
        effect,
        test.metric_names,
        tuple(map(float, each[0])),
        (n, m),
        "permutation",
    )


def test_of(model: Any) -> HLDTest:
    """The test of a model; one with several metrics for a circuit."""
    if isinstance(model, pcircuit.Circuit):
        return HLDTest(model, metric=METRICS)
    if isinstance(model, HLDDetector):
        if not hasattr(model, "test_"):
            raise ValueError("`model` is not fitted: call `fit(table)` first, or `hld.load(path)`")
        return model.test_
    if not isinstance(model, HLDTest):
        raise TypeError(
            f"`model` must be a circuit, an HLDTest or an HLDDetector, found {type(model).__name__}"
        )
    return model


test_of.__test__ = False  # type: ignore[attr-defined]  # its name must not make a test runner collect it


def codes_of(model: Any, test: HLDTest, rows: Any, name: str, stream: int) -> np.ndarray:
    """(n, V) codes of a batch: by default a row that has holes is filled by draws from the circuit.

    All rows of both batches are filled by one rule, so they stay exchangeable.

    Returns (n, V).
    """
    if isinstance(model, HLDDetector):
        with table_called(name):
            table = read_table(rows)
        rows, _ = model.encoder_.encode(table, name, ignore_extra=True)
        rows = test_rows(model, table, rows)
    rows = checked(test.circuit, rows, name)
    if not len(rows):
        raise ValueError(f"`{name}` has no rows: at least one is needed")
    holes = is_missing(rows).any(axis=1)
    if holes.any():
        rng = np.random.default_rng([test.settings.seed, stream])
        rows = rows.copy()
        rows[holes] = pcircuit.sample(test.circuit, given=rows[holes], rng=rng)
    return rows


def _divisions(metrics: Any, every: Any, n: Any, B: Any, rng: np.random.Generator) -> np.ndarray:
    """(B + 1, q) squared distances of the batches as they are, and of random divisions."""
    N, total = len(every), every.sum(axis=0)
    squared = []
    for start in range(0, B + 1, BLOCK):
        shares = np.zeros((min(BLOCK, B + 1 - start), N))
        for b, own in enumerate(shares, start):
            own[rng.permutation(N)[:n] if b else slice(n)] = 1.0
        sums = shares @ every
        differences = sums / n - (total - sums) / (N - n)
        squared.append(np.stack([metric.squared(differences) for metric in metrics], axis=1))
    return np.concatenate(squared)


def _beyond_rounding(
    metrics: Any, squared: np.ndarray, magnitudes: np.ndarray, additions: int = 1
) -> np.ndarray:
    """Squared distances (..., q), 0 where rounding alone can cause them: it would be ranked, or meet a law of zeros."""
    least = np.array([metric.round_off(magnitudes) for metric in metrics]) * max(additions / 8, 1.0)
    return np.where(squared > least**2, squared, 0.0)


def _effect(delta: Any, variance: Any, n: Any, m: Any) -> float:
    """The distance of two means in units of a row, debiased."""
    if not variance > 0:
        return 0.0
    return float(np.sqrt(max(float(delta @ delta) / variance - 1 / n - 1 / m, 0.0)))


def _by_law(model: Any, test: Any, first: Any, second: Any, alpha: float) -> TwoSampleResult:
    """The comparison of two summaries."""
    own = test.fingerprint
    if isinstance(model, HLDDetector):
        own = detector_fingerprint(own, model.schema_)
    for one, name in ((first, "first"), (second, "second")):
        _check_summary(one, name, own)
        check_possible(test.vectors, test.calibration.metrics, one, name)
    parts, sizes = test.calibration, (first.num_rows, second.num_rows)
    if len(test.mean) > MAX_FULL_SPECTRUM:
        raise ValueError(
            f"`first` and `second` can be compared as summaries for at most {MAX_FULL_SPECTRUM} nodes"
        )
    row = (
        parts.kept.covariance
        if parts.kept is not None
        else CircuitReference(test.circuit, test.nodes, test.mean).covariance()
    )
    rate = 1 / sizes[0] + 1 / sizes[1]
    delta, laws, squared = first.means - second.means, [], []
    for i, metric in enumerate(parts.metrics):
        seen = through(metric, row)
        scale = _stretch(i, metric, (first, second), test.mean, seen.trace)
        laws.append(limit_law(through(metric, row * scale * rate)))
        squared.append(float(metric.squared(delta)))
    magnitudes = test.vectors.magnitudes(np.maximum(np.abs(first.means), np.abs(second.means)))
    beyond = _beyond_rounding(parts.metrics, np.array(squared), magnitudes, max(sizes))
    null = (
        laws[0]
        if len(laws) == 1
        else JointNull(
            tuple(laws),
            joint_law(
                covariance_factor(row),
                parts.metrics,
                np.random.default_rng([test.settings.seed, 6]),
            ),
        )
    )
    found, k = null.pvalue(beyond, 1), len(test.nodes)
    if first.spread is not None and second.spread is not None and min(sizes) > 1:
        both = judge_summary(test, replace(first + second, model=test.fingerprint), FOREIGN)
        if both.reject:  # the reference has another shape of the covariance
            allowed = pooled_by_spread(parts.metrics, (first, second), test.mean, beyond)
            found = null.of_pvalues(tuple(map(max, found.each, allowed)), 1)
    effect = _effect(delta[:k], float(np.trace(row[:k, :k])), *sizes)
    value, *each = (
        max(float(p), LEAST_PVALUE) for p in (found.value, *found.each)
    )  # rows that are all alike have 0
    return TwoSampleResult(
        value, value <= alpha, alpha, effect, test.metric_names, tuple(each), sizes, "exact"
    )


def _check_summary(one: Any, name: str, model: str) -> None:
    """Raise if a batch is no summary that the law can compare."""
    if not isinstance(one, BatchSummary):
        raise TypeError(
            f"`{name}` must be a BatchSummary as the other batch is, found {type(one).__name__}"
        )
    if one.model != model:
        raise ValueError(
            f"`{name}` is for the model {one.model[:8]}, expected {model[:8]}: two summaries are compared "
            "by the model that both were made with"
        )
    if not one.num_rows:
        raise ValueError(f"`{name}` is a summary of no rows: at least one is needed")
    if not one.is_whole:
        raise ValueError(
            f"`{name}` is a summary of rows with holes, of which the law of two summaries knows nothing: "
            "give both batches as rows, or summaries of their rows without missing cells"
        )


def _stretch(i: Any, metric: Any, batches: Any, mean: Any, trace: Any) -> float:
    """How much wider the rows of the batches are in a metric than the reference; 1 where that is not known."""
    if any(one.spread is None for one in batches) or not trace > 0:
        return 1.0
    total = sum(one.num_rows for one in batches)
    if total <= 2:
        return 1.0
    within = sum(
        one.spread.squares[i] - one.num_rows * float(metric.squared(one.means - mean))
        for one in batches
    )
    return max(within / (total - 2) / trace, 0.0)
