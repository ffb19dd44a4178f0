r"""Do two batches come from one distribution, whatever it is?

The circuit need not be right, nor need either batch follow it: it only says which features L(x) of a row are compared,
and in which metrics F the difference of two means is measured,

.. math:: d^2 = \| F (\bar L_A - \bar L_B) \|^2 .

*Rows.*  If both batches come from one distribution, all n_A + n_B rows are exchangeable, so that every way to divide
them is equally likely: B random divisions give p = (1 + #{b : d_b >= d}) / (1 + B), exact in finite samples for any
distribution.  Several metrics are combined by the harmonic mean of their ranks among all divisions, the same function
for all divisions, so the combination is exact, too.  No vector is computed twice: d_b^2 needs sums over n_A rows only.

*Summaries.* Where rows stay at their sites and only sums are available, the law of a weighted sum of chi-squares is
used, with the cumulants of the covariance of all rows of both batches, as far as sketches tell them
(`hld.testing.summaries.summing`): on average a little too large, so that p-values are, too.  Several metrics are
combined by the law of the harmonic mean under the reference.  With the circuit as reference nothing tells the spread,
and the covariance is that of the circuit: right where both batches are nearly as learned.  P-values may be too small
for fewer than some ten rows.  Rows have none of these limits.

References
----------
Phipson and Smyth (2010), Permutation p-values should never be zero, Statistical Applications in Genetics and Molecular
Biology 9, article 39.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import pcircuit
from hld.answers.for_programs import plain_json
from hld.answers.table_facts import test_rows
from hld.detector.detector import HLDDetector
from hld.laws.joint import covariance_factor, harmonic_mean, joint_law
from hld.laws.limit_law import limit_law
from hld.laws.ranks.monte_carlo import TIE
from hld.references.circuit import CircuitReference
from hld.references.covariances import through
from hld.references.reference import MAX_FULL_SPECTRUM
from hld.tables.cells import read_table
from hld.tables.column_names import table_called
from hld.testing.goodness_of_fit import HLDTest
from hld.testing.summaries.summary import BatchSummary, check_summary, detector_fingerprint
from hld.testing.summaries.summing import check_possible, pooled_by_spread
from hld.testing.verdict import LEAST_PVALUE
from pcircuit.arguments import check_fraction, check_generator, check_whole_number
from pcircuit.evidence import checked, is_missing

METRICS = ("euclidean", "standardized", "whitened")
FITTED_WITH = {"groups": "`groups`", "time": "`order`='time'", "covariates": "`covariates`"}
BLOCK = 200  # divisions at a time


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
        found: dict[str, Any] = plain_json(vars(self))
        return found

    def __str__(self) -> str:
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
    kind = getattr(getattr(model, "judge_", None), "kind", None)
    if kind in FITTED_WITH:
        warnings.warn(
            f"`model` was fitted with {FITTED_WITH[kind]}, but the two batches are compared whole, as independent "
            "rows: a small p-value may be what ordinary batches differ by",
            UserWarning,
            stacklevel=2,
        )
    if isinstance(first, BatchSummary) or isinstance(second, BatchSummary):
        return _by_law(model, test, first, second, alpha)
    parts = [codes_of(model, test, first, "first", 5), codes_of(model, test, second, "second", 6)]
    vectors = [test.vectors.rows(rows) - test.mean for rows in parts]
    every, (n, m) = np.concatenate(vectors), map(len, vectors)
    magnitudes = test.vectors.magnitudes(np.abs(every + test.mean).max(axis=0))
    every -= every[0]  # which no difference sees: sums of rows that are all alike are exact
    metrics, k = test.calibration.metrics, len(test.nodes)
    squared = _beyond_rounding(metrics, _divisions(metrics, every, n, B, rng), magnitudes)
    each = np.empty(squared.shape)
    for i, column in enumerate(squared.T):
        smaller = np.searchsorted(np.sort(column), column * (1 - TIE))
        each[:, i] = (1.0 + B - smaller) / (1 + B)
    together = harmonic_mean(each)
    value = float((together <= together[0] * (1 + 1e-12)).mean())
    delta = (vectors[0].mean(axis=0) - vectors[1].mean(axis=0))[:k]
    is_equal = not squared[0].any()
    effect = 0.0 if is_equal else _effect(delta, every.var(axis=0, ddof=1)[:k].sum(), n, m)
    pvalues = tuple(each[0].tolist())
    return TwoSampleResult(
        value, value <= alpha, alpha, effect, test.metric_names, pvalues, (n, m), "permutation"
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
    """(n, V) codes of a batch, whose holes are filled by draws from the circuit.

    All rows of both batches are filled by one rule, so they stay exchangeable.
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
    metrics, kept = test.calibration.metrics, test.calibration.kept
    for one, name in ((first, "first"), (second, "second")):
        _check_summary(one, name, own)
        check_possible(test, one, name)
    if len(test.mean) > MAX_FULL_SPECTRUM:
        raise ValueError(
            f"`first` and `second` can be compared as summaries for at most {MAX_FULL_SPECTRUM} nodes"
        )
    if kept is not None:
        row = kept.covariance
    else:
        row = CircuitReference(test.circuit, test.nodes, test.mean).covariance()
    n, m = sizes = first.num_rows, second.num_rows
    delta, k = first.means - second.means, len(test.nodes)
    magnitudes = test.vectors.magnitudes(np.maximum(np.abs(first.means), np.abs(second.means)))
    squared = np.array([float(metric.squared(delta)) for metric in metrics])
    squared = _beyond_rounding(metrics, squared, magnitudes, max(sizes))
    if kept is not None and min(sizes) > 1:
        pooled = pooled_by_spread(metrics, (first, second), test.mean, squared)
        each = tuple(np.where(squared > 0, pooled, 1.0).tolist())
    else:
        laws = [limit_law(through(metric, row * (1 / n + 1 / m))) for metric in metrics]
        each = tuple(law.pvalue(squared[i : i + 1], 1).value for i, law in enumerate(laws))
    each = tuple(max(float(p), LEAST_PVALUE) for p in each)  # rows that are all alike have 0
    value = each[0]
    if len(each) > 1:
        rng = np.random.default_rng([test.settings.seed, 6])
        law = joint_law(covariance_factor(row), metrics, rng)
        value = max(float(law.tail(float(harmonic_mean(np.array(each))))), LEAST_PVALUE)
    effect = _effect(delta[:k], float(np.trace(row[:k, :k])), n, m)
    return TwoSampleResult(
        value, value <= alpha, alpha, effect, test.metric_names, each, sizes, "exact"
    )


def _check_summary(one: Any, name: str, model: str) -> None:
    """Raise if a batch is no summary that the law can compare."""
    if not check_summary(one, model, name).is_whole:
        raise ValueError(
            f"`{name}` is a summary of rows with holes, of which the law knows nothing: give both batches as rows, or "
            "summaries of their rows without missing cells"
        )
