r"""A test of whether the rest of a row given its covariates is as learned, while these may move.

    H0: P(Y | X) is that of the reference rows        H1: it is not        P(X) may be anything

The statistic is made of residuals r(x, y) = L(x, y) - E[L(x, Y) | X = x] (`conditional.residuals`), whose mean is
zero under the circuit whatever P(X) is.

**What the circuit gets wrong.**  Real rows have E[r | x] = b(x), not zero, and a batch with other x has another mean of
b.  The part of b that is a sum of functions of single covariates and of pairs of them is subtracted: let phi(x) hold a
constant, the indicators of their values and those of pairs of values, grouped where they are many, for as many pairs as
the reference has rows for (`hld.testing.conditional.covariates`).  The residuals of k reference rows are regressed on
phi.  Then for a batch of T rows

.. math:: Z = \bar r - \hat\beta^t \bar\phi, \qquad
          \mathrm{Cov}(Z) = S \, (1/T + h), \quad h = \bar\phi^t (\Phi^t \Phi)^+ \bar\phi,

where h is the leverage of the batch in the regression: 1/k for a batch like the reference, more for one whose
covariates the reference hardly has.

**Holes** are summed out, and b of a node that is summed out in part is not b.  So a row counts for the nodes all of
whose other variables it shows: in the regression, and in Z, where it is 0 for the others.  What that makes of the
variance of Z, node by node, is in `hld.testing.conditional.residuals`.

**Their covariance** depends on x as well, so that S of a batch is not that of the reference.  In the limit the batch's
own rows give it; S is a weighted average of the two, with weight T / (T + 50) for the batch.  Trace, Frobenius norm and
largest eigenvalue in each metric give the p-value of the widest law with them (`hld.gchi2.three_moments`), its variance
stretched for a finite T as in `hld.laws.ranks.confirmation`.  Several metrics are combined by their joint law.  One
to five rows are judged by their ranks among those of the reference as well, and rows beyond all of the reference are
allowed for (`conditional.few_rows`).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from hld.answers.words import p_text
from hld.features.row_scores import BINS
from hld.features.row_vectors import check_rows, column_units, some_rows
from hld.laws.joint import RESOLVED, JointLaw, factor_of_rows, harmonic_mean, joint_law
from hld.laws.ranks.confirmation import ASKED_BELOW, sample_norms
from hld.testing.conditional.covariates import (
    CovariateFunctions,
    choose_functions,
    event_sizes,
    event_sums,
)
from hld.testing.conditional.few_rows import (
    MOST_TOGETHER,
    column_pvalues,
    column_scores,
    farthest_rows,
    law_tail,
    least_pvalues,
    odd_rows,
    rank_of_single,
    single_pvalues,
    together,
    with_odd_rows,
)
from hld.testing.conditional.residuals import (
    ShownShares,
    are_enough,
    residuals,
    share_shown,
    shown_residuals,
    without_rounding,
)
from hld.testing.goodness_of_fit import HLDTest
from hld.testing.variation.group_test import GroupTest, group_test
from hld.testing.variation.time_test import TimeTest, time_test
from hld.testing.verdict import LEAST_PVALUE, result_of
from hld.witnesses.result import HLDResult
from pcircuit.arguments import check_fraction
from pcircuit.io.archive import finite_array

PRIOR_ROWS = 50  # of the reference's covariance beside that of a batch's own rows
MOST_VECTORS = 2_000  # rows that covariances are computed from
FEWEST_EACH = 10  # reference rows for each function of the regression
MOST_FUNCTIONS, MOST_VALUES = 500, 40_000_000  # and of all reference rows together
ARRAYS = (
    *("beta", "inverse", "events", "norms", "fourth", "stds", "joint", "shown", "wider"),
    *("singles", "farthest", "columns", "bits"),
)


DTYPES = {"events": np.int64, "joint": np.float32, "columns": np.float32, "bits": np.uint8}
RANK = 1e-9  # of the products of functions: smaller eigenvalues are rounding
ASYMMETRY = 1e-6  # relative: so much of a symmetric matrix may be rounding
SLACK = 1 + 1e-6


MOVED = {  # the rest given the covariates, and these
    (False, False): "nothing",
    (False, True): "covariates",
    (True, False): "conditional",
    (True, True): "both",
}


@dataclass(frozen=True)
class CovariateContext:
    """Which part of the distribution moved, at the level of the whole verdict."""

    kind: str
    moved: str
    conditional_pvalue: float
    covariate_pvalue: float
    effect: float
    procedure = "given the covariates, Holm"

    def judged(self, pvalue: float, alpha: float) -> CovariateContext:
        """The same with the p-value of the rest given the covariates, at a level."""
        moved = MOVED[pvalue <= alpha, self.covariate_pvalue <= alpha]
        return replace(self, conditional_pvalue=pvalue, moved=moved)

    def lines(self) -> list[str]:
        """The context in words."""
        said = {
            "nothing": "neither the covariates nor the rest given them moved",
            "covariates": "the covariates moved, the rest given them is as learned (covariate shift)",
            "conditional": "the rest given the covariates changed (concept drift), the covariates are as learned",
            "both": "the covariates moved, and the rest given them changed (concept drift)",
        }[self.moved]
        return [
            f"{said}: rest given covariates {p_text(self.conditional_pvalue)}, covariates "
            f"{p_text(self.covariate_pvalue)}"
        ]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class ConditionalTest:
    """Test of batches given their covariates.

    Shapes: beta (f, m), inverse (f, f), events (E, f), norms, fourth, wider (q, 3), stds, shown (m,), joint (B,),
    singles, bits (s,), columns (V, r).
    """

    inner: HLDTest
    functions: CovariateFunctions
    num_rows: int
    beta: np.ndarray
    inverse: np.ndarray
    events: np.ndarray
    norms: np.ndarray
    fourth: np.ndarray
    stds: np.ndarray
    joint: np.ndarray
    shown: np.ndarray
    wider: np.ndarray
    singles: np.ndarray
    num_ranked: int = 0
    farthest: np.ndarray = field(default_factory=lambda: np.zeros(0))
    columns: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    bits: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.uint8))
    kind = "covariates"
    compared = "rows with such covariates"

    @property
    def given(self) -> np.ndarray:
        """(V,) bool array, which variables are covariates."""
        return np.isin(np.arange(self.inner.circuit.num_variables), self.functions.variables)

    def __call__(self, batch: ArrayLike, alpha: float = 0.05) -> HLDResult:
        """Test a batch (T, V) of codes, -1 for a hole, at a level in (0, 1)."""
        inner, alpha = self.inner, check_fraction(alpha, "alpha")
        batch = check_rows(inner.circuit, batch)
        T, functions = len(batch), self.functions(batch)
        own, shown = _shown(inner, batch, self.given)
        own = _corrected(inner, own, shown, functions @ self.beta)
        own *= are_enough(self.shown, self.num_rows)
        mean, least = own.mean(axis=0), LEAST_PVALUE
        spread, shares, found = self._judged(own, shown, self._leverage(functions))
        leverages = self._leverage(functions[:, None])
        if T <= MOST_TOGETHER and len(self.singles):
            alone = self._combined(self._judged(own[:, None], shown[:, None], leverages)[2])
            seen = shown & are_enough(self.shown, self.num_rows)
            ranks = [
                rank_of_single(p, self.singles, self.bits, row)
                for p, row in zip(alone.tolist(), seen, strict=True)
            ]
            least = together(np.array(ranks), len(self.singles))
        if self.num_ranked >= T > 1 and self._combined(found) <= ASKED_BELOW:

            def of_rows(rows: np.ndarray) -> np.ndarray:
                judged = self._judged(own[rows], shown[rows], self._leverage(functions[rows]))
                return np.asarray(judged[2])

            odd = odd_rows(inner.calibration.metrics, own, leverages, self.farthest)
            found = with_odd_rows(found, odd, self.num_ranked, of_rows)
        each, pvalue = tuple(found.tolist()), max(float(self._combined(found)), least)
        covariates = self.covariate_pvalue(batch)
        variances = (self.stds if self.stds.any() else inner.stds[: len(self.stds)]) ** 2
        context = CovariateContext(
            self.kind, "", pvalue, covariates, shares.effect(mean, variances)
        ).judged(pvalue, alpha)
        return result_of(
            inner,
            pvalue,
            alpha,
            T,
            int((batch < 0).sum()),
            null="conditional",
            inflation=shares.width * T,
            null_error=None,
            pvalues=each,
            deltas=shares.standardised(mean) * inner.shown_weights,
            stds=self.stds * inner.shown_weights,
            context=context,
            column_pvalues=self._columns(spread, mean, shares, own, leverages),
        )

    def covariate_pvalue(self, batch: np.ndarray) -> float:
        """The p-value of the covariates alone: the other columns are hidden from the test."""
        hidden = np.where(self.given, batch.astype(np.int64), -1)
        return self.inner(hidden).pvalue if self.given.any() else 1.0

    def held(self, batch: np.ndarray) -> tuple[int, tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
        """Rows of the reference with the covariates of a batch: how many, and their counts as `row_events` has them.

        Shapes: batch (T, V) -> counts by column, new (V,), odd (S, BINS).
        """
        average = self.functions(batch).mean(axis=0)
        weights = average @ self.inverse
        num_rows = max(round(1 / max(float(weights @ average), 1 / self.num_rows)), 1)
        sizes, found = event_sizes(self.inner.circuit, len(self.events)), []
        for expected in np.split(np.maximum(self.events @ weights, 0.0), np.cumsum(sizes)[:-1]):
            total = float(expected.sum())
            share = np.cumsum(expected) / total if total > 0 else np.zeros(len(expected))
            found.append(np.diff(np.rint(num_rows * share), prepend=0.0).astype(np.int64))
        V = len(self.given)
        new = np.array([one[1] for one in found[V : 2 * V]])
        return num_rows, tuple(found[:V]), new, np.array(found[2 * V :]).reshape(-1, BINS)

    def least_pvalue(self) -> float:
        """None that is not zero; single rows have ranks."""
        return 0.0

    def describe(self) -> str:
        """A line."""
        return (
            f"covariates: {int(self.given.sum())} of {len(self.given)} columns, which may move; the others, given "
            f"these, are compared with {self.num_rows} rows after regression on {len(self.beta)} functions of the "
            "covariates"
        )

    def _judged(self, own: np.ndarray, shown: np.ndarray, leverage: Any) -> tuple[Any, ...]:
        """Of residuals (..., T, m) that are `shown`: some, their part of the covariance, shares, p-values (..., q)."""
        T, mean = own.shape[-2], own.mean(axis=-2)
        shares = ShownShares(shown.mean(axis=-2), self.shown, T, self.num_rows, leverage)
        rows = own[..., some_rows(T, MOST_VECTORS), :] - mean[..., None, :]
        finite = (T**-3.0 + self.num_rows**-3.0) / shares.width**2  # what is left of a row's excess
        spread = rows, T / (T + PRIOR_ROWS) if T > 1 else 0.0, finite
        return spread, shares, self._pvalues(spread, mean, share_shown(shown, self.stds), shares)

    def _leverage(self, functions: np.ndarray) -> np.ndarray:
        """(...) leverage of batches of rows with these functions (..., T, f)."""
        average = functions.mean(axis=-2)
        return np.asarray((average @ self.inverse * average).sum(axis=-1))

    def _pvalues(self, spread: Any, difference: np.ndarray, seen: Any, shares: ShownShares) -> Any:
        """The p-value of each metric for differences (..., m), of rows that show a share of the nodes."""
        rows, share, finite = spread
        width, found = np.asarray(shares.width), []
        wide = np.sqrt(shares.widths / width[..., None])[..., None, :]
        for metric, norms, fourth, wider in zip(
            self.inner.calibration.metrics, self.norms, self.fourth, self.wider, strict=True
        ):
            leverage = np.asarray(shares.leverage)[..., None] * (seen[..., None] * wider)
            ratio = (1 / shares.num_rows + leverage) / width[..., None]
            own, powers = _norms_and_powers(metric, rows)
            own = own * ratio
            # nodes that the reference shows less often, whether or not it varies in them
            if (wide != 1).any():
                widened, more = _norms_and_powers(metric, rows * wide)
                own, powers = np.maximum(own, widened), np.maximum(powers, more)
            least = np.minimum.accumulate(
                share * own + (1 - share) * seen[..., None] * norms * ratio, axis=-1
            )
            powers = share * powers + (1 - share) * seen * fourth
            found.append(law_tail(least, powers, finite, metric.squared(difference) / width))
        return np.stack(found, axis=-1)

    def _columns(
        self, spread: Any, mean: np.ndarray, shares: ShownShares, own: np.ndarray, leverages: Any
    ) -> np.ndarray | None:
        """p-values of the columns given the covariates; None if one has no units of its own."""
        parts = column_units(self.inner.circuit, self.inner.nodes)
        if not all(map(len, parts)):
            return None
        tested = [
            part[:0] if given else part for part, given in zip(parts, self.given, strict=True)
        ]
        rows, share, finite = spread
        least = least_pvalues(self.columns, own, leverages, tested)
        stds, widths = self.stds * np.sqrt(shares.batch), (share, shares.width, finite)
        return column_pvalues(rows, shares.alike(mean), stds, tested, widths, least)

    def _combined(self, each: np.ndarray) -> Any:
        """One p-value for all metrics (..., q)."""
        return (
            each[..., 0] if each.shape[-1] == 1 else JointLaw(self.joint).tail(harmonic_mean(each))
        )

    def to_arrays(self) -> dict[str, Any]:
        """All numbers, for a file."""
        return {
            "given": self.functions.variables,
            "num_rows": np.array([self.num_rows]),
            "groups": np.concatenate([np.zeros(0, np.int64), *self.functions.groups]),
            "num_ranked": np.array([self.num_ranked]),
            **{name: getattr(self, name) for name in ARRAYS},
        }

    @classmethod
    def from_arrays(cls, inner: HLDTest, arrays: dict[str, Any]) -> ConditionalTest:
        """What `to_arrays` gave, checked: numbers that no rows could have given are refused."""
        functions, k = _read_functions(inner, arrays)
        q, m, V = len(inner.calibration.metrics), len(inner.nodes), inner.circuit.num_variables
        shapes: dict[str, tuple[Any, ...]] = {
            "beta": (None, m),
            "inverse": (functions.num_functions, functions.num_functions),
            "events": (None, functions.num_functions),
            "norms": (q, 3),
            "wider": (q, 3),
            "fourth": (q,),
            "farthest": (q,),
            "stds": (m,),
            "shown": (m,),
            "joint": (None,),
            "singles": (None,),
            "columns": (V, None),
            "bits": (None, (m + 7) // 8),
        }
        found = {
            name: finite_array(arrays, name, shape, DTYPES.get(name, np.float64))
            for name, shape in shapes.items()
        }
        num_ranked = int(finite_array(arrays, "num_ranked", (1,), np.int64)[0])
        _refuse("num_ranked", 0 <= num_ranked <= k)
        _check_numbers(inner, found, k)
        return cls(inner, functions, k, **found, num_ranked=num_ranked)


def _read_functions(inner: HLDTest, arrays: dict[str, Any]) -> tuple[CovariateFunctions, int]:
    """The functions of the covariates in the arrays of a file, and the number of rows of the reference."""
    circuit = inner.circuit
    given = finite_array(arrays, "given", (None,), np.int64)
    is_of_circuit = np.isin(given, np.arange(circuit.num_variables)).all()
    _refuse("given", is_of_circuit and (np.diff(given) > 0).all())
    k = int(finite_array(arrays, "num_rows", (1,), np.int64)[0])
    _refuse("num_rows", k >= 2)
    sizes = [circuit.num_categories[v] + 1 for v in given.tolist()]
    flat = finite_array(arrays, "groups", (sum(sizes),), np.int64)
    groups = tuple(np.split(flat, np.cumsum(sizes)[:-1])) if sizes else ()
    for one in groups:
        _refuse("groups", one[:2].tolist() == [0, 1] and np.isin(np.diff(one), (0, 1)).all())
    beta = finite_array(arrays, "beta", (None, len(inner.nodes)))
    functions = CovariateFunctions(given, groups, len(beta))
    _refuse("beta", len(beta) in functions.ends)
    return functions, k


def _check_numbers(inner: HLDTest, found: dict[str, np.ndarray], k: int) -> None:
    """Raise unless arrays of the right shapes can be those of a test against k rows."""
    metrics, m, inverse, events = (
        inner.calibration.metrics,
        len(inner.nodes),
        found["inverse"],
        found["events"],
    )
    starts = np.cumsum(event_sizes(inner.circuit, len(events)))
    _refuse("events", starts[-1] == len(events))
    totals = np.add.reduceat(events[:, 0], np.append(0, starts[:-1]))
    reach = np.array([metric.reach(np.ones(m)) for metric in metrics])
    most, (trace, frobenius, largest) = 4 * m * float(k) ** 2 * reach**2, found["norms"].T
    joint, singles = found["joint"], found["singles"]
    asymmetry = np.abs(inverse - inverse.T).max()
    bounds = {
        "beta": RANK**-0.5,
        "inverse": 1 / (RANK * k),
        "stds": math.sqrt(k),
        "fourth": most**2,
    }
    bounds |= {"shown": 1.0, "joint": 1.0, "singles": 1.0, "events": k}
    for name, bound in bounds.items():
        _refuse(name, (np.abs(found[name]) <= bound * SLACK).all())
    for name in found.keys() - {"beta", "inverse"}:
        _refuse(name, (found[name] >= 0).all())
    for name in ("joint", "singles", "columns"):
        _refuse(name, (np.diff(found[name], axis=-1) >= 0).all())
    fits = {
        "inverse": asymmetry <= ASYMMETRY * np.abs(inverse).max()
        and (np.linalg.eigvalsh(inverse) >= -1e-9).all(),
        "events": np.isin(totals, (0, k)).all(),  # of all rows, or of none, in every block
        "norms": (largest <= frobenius * SLACK).all()
        and (frobenius <= trace * SLACK).all()
        and (frobenius**2 <= trace * largest * SLACK).all()
        and (trace <= most).all(),
        "joint": (len(joint) > RESOLVED if len(metrics) > 1 else not len(joint))
        and (joint > 0).all(),
        "bits": len(found["bits"]) == len(singles),
    }
    for name, one in fits.items():
        _refuse(name, one)


def _refuse(name: str, fits: Any) -> None:
    """Raise unless an array can be that of rows."""
    if not fits:
        raise ValueError(f"array {name!r} of the test given covariates is not that of any rows")


def conditional_test(
    inner: HLDTest, rows: np.ndarray, given: np.ndarray, *, seed: int, events: Any = None
) -> ConditionalTest:
    """The test given covariates, from rows that nothing was learned from, and what is counted in them.

    Shapes: rows (k, V), given (V,), events (k, 2 V + S).
    """
    if inner.vectors.features is not None:
        raise ValueError(
            "`metric` 'score' has no conditional expectation: leave it out with `covariates`"
        )
    metrics, rng = inner.calibration.metrics, np.random.default_rng([seed, 4])
    found, are_shown = _shown(inner, rows, given)
    most = min(len(rows) // FEWEST_EACH, MOST_FUNCTIONS, MOST_VALUES // len(rows))
    chosen = choose_functions(rows, given, inner.circuit.num_categories, most)
    functions = chosen(rows)
    inverse = np.linalg.pinv(functions.T @ functions, rcond=RANK, hermitian=True)
    beta = _regression(functions, found, are_shown)
    found = _corrected(inner, found, are_shown, functions @ beta)
    leverages = (functions @ inverse * functions).sum(axis=1)
    shown, freedom = are_shown.mean(axis=0), round(float(leverages.sum()))
    counts = np.maximum(are_shown.sum(axis=0), 1)
    # variances are those in the rows that show a node, after the regression on so many functions
    scale = np.sqrt(len(rows) / np.maximum(counts - freedom, 1))
    found *= are_enough(shown, len(rows)) * scale
    some = found[(which := rng.permutation(len(found))[:MOST_VECTORS])]
    norms, fourth = _norms_of(metrics, some)
    joint = np.zeros(0, np.float32)
    if len(metrics) > 1:
        joint = joint_law(factor_of_rows(some), metrics, rng).means
    # of what rows add to the errors of the regression, over those of rows
    errors = _norms_of(metrics, some / np.sqrt(counts / len(rows)))[0]
    wider = np.divide(errors, norms, out=np.ones_like(norms), where=norms > 0)
    test = ConditionalTest(
        inner,
        chosen,
        len(rows),
        beta,
        inverse,
        event_sums(inner.circuit, rows, given, functions, events),
        norms,
        fourth,
        found.std(axis=0),
        joint,
        shown,
        wider,
        np.zeros(0),
    )
    found /= scale

    def judge(rows: np.ndarray, seen: np.ndarray, leverage: np.ndarray) -> Any:
        return test._combined(test._judged(rows, seen, leverage)[2])

    num_ranked, farthest = farthest_rows(metrics, found[which], leverages[which])
    singles, ranked = single_pvalues(judge, found, are_shown, leverages)
    return replace(
        test,
        singles=singles,
        bits=np.packbits(are_shown[ranked], axis=1),
        num_ranked=num_ranked,
        farthest=farthest,
        columns=column_scores(found, leverages, column_units(inner.circuit, inner.nodes)),
    )


def _shown(inner: HLDTest, rows: np.ndarray, given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, m) residuals of rows, and which of them are shown."""
    found = residuals(inner.circuit, inner.nodes, rows, given)
    return found, shown_residuals(inner.circuit, inner.nodes, rows, given)


def _corrected(
    inner: HLDTest, found: np.ndarray, shown: np.ndarray, wrong: np.ndarray
) -> np.ndarray:
    """(n, m) residuals less what the circuit gets `wrong`, 0 where they are not shown."""
    return without_rounding(np.where(shown, found - wrong, 0.0), inner.circuit, inner.nodes)


def _norms_and_powers(metric: Any, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(..., 3) norms of the covariance of rows (..., r, m) in a metric, and (...) mean fourth powers."""
    mapped = metric.apply(rows.reshape(-1, rows.shape[-1])).reshape(*rows.shape[:-1], -1)
    return sample_norms(mapped), ((mapped**2).sum(axis=-1) ** 2).mean(axis=-1)


def _norms_of(metrics: tuple[Any, ...], rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(q, 3) and (q,) the same of all metrics, for rows (r, m)."""
    found = [_norms_and_powers(metric, rows) for metric in metrics]
    return np.array([norms for norms, _ in found]), np.array([powers for _, powers in found])


def _regression(functions: np.ndarray, found: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """(f, m) coefficients of residuals (k, m) on functions (k, f), of each node from the rows that show it."""
    beta = np.empty((functions.shape[1], found.shape[1]))
    masks, which = np.unique(np.packbits(shown, axis=0), axis=1, return_inverse=True)
    for mask in range(masks.shape[1]):
        nodes = np.flatnonzero(which.ravel() == mask)
        rows = shown[:, nodes[0]]
        some = functions[rows]
        own = np.linalg.pinv(some.T @ some, rcond=RANK, hermitian=True)
        beta[:, nodes] = own @ (some.T @ found[np.ix_(rows, nodes)])
    return beta


def build_judge(
    test: HLDTest,
    kept: np.ndarray | None,
    labels: np.ndarray | None,
    given: np.ndarray | None,
    order: str | None,
    **further: Any,
) -> HLDTest | GroupTest | TimeTest | ConditionalTest:
    """The test itself, or where there are covariates, groups or an order of time, one of those.

    Shapes: kept (n, V), labels (n,), given (V,).
    """
    rows = cast("np.ndarray", kept)  # None only where the test itself judges
    if given is not None:
        return conditional_test(test, rows, given, seed=test.settings.seed, **further)
    if order is not None:
        return time_test(test, rows, **further)
    if labels is None:
        return test
    return group_test(test, rows, labels, seed=test.settings.seed, **further)
