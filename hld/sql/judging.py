r"""A table in a database, tested by counts: one p-value for all columns and the pairs along the edges of the tree.

Counts of every column, and of the most strongly dependent pairs of columns, are GROUP BY queries (`hld.sql.tables`).
They say less than the means of likelihoods that `HLDDetector.test` compares, in which many columns act together, but no
row leaves the database, and the database does the work.  These are the tests, and the part w_i of the level each has:

=====================================  ======  ================================================================
test                                   weight  p-value
=====================================  ======  ================================================================
distance of all columns                0.30    law of a sum of weighted chi-squares (`hld.results.count_law`)
distance of all pairs                  0.30    likewise
largest difference of a single count   0.14    exact, hypergeometric (`hld.results.largest_count`)
the same of a cell of a pair           0.04    exact
largest change of a dependence         0.10    a bound, at every number of rows (`hld.results.largest_dependence`)
shares of missing cells                0.10    exact (`schemas.counts`)
new values                             0.02    exact (`schemas.counts`)
=====================================  ======  ================================================================

where the weights of the tests that apply are divided by their sum, so that the others have the part of those that do
not.  One p-value for all of them, valid under any dependence, is that of `hld.results.shared_level`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from hld.answers.evidence import Evidence
from hld.answers.profile import Profile
from hld.answers.table_facts import evidence_of
from hld.detector.detector import HLDDetector
from hld.results.count_law import merged_counts
from hld.results.distances import count_distances
from hld.results.effects import effect_of, left_of, tolerant_pvalue
from hld.results.largest_count import largest_count
from hld.results.largest_dependence import largest_dependence
from hld.results.result import OfColumns
from hld.results.shared_level import combined
from hld.results.witnesses import Witness
from hld.sql.tables import TableInDatabase, count
from hld.tables.schemas.counts import KeptValues
from hld.tables.schemas.quality import DataQuality, data_quality
from pcircuit.arguments import check_fraction

WEIGHTS = {
    "columns": 0.30,
    "pairs": 0.30,
    "largest column": 0.14,
    "largest pair": 0.04,
    "dependence": 0.10,
    "missing": 0.10,
    "new": 0.02,
}
WITNESSES = {
    "columns": "levels",
    "largest column": "largest_count",
    "dependence": "largest_dependence",
}


@dataclass(frozen=True, eq=False, repr=False)
class CountsResult(OfColumns):
    """The outcome of a test of a table in a database."""

    pvalue: float
    reject: bool
    alpha: float
    num_samples: int
    metrics: tuple[str, ...]
    pvalues: tuple[float, ...]
    parts: tuple[float, ...]
    effect: float
    effect_interval: tuple[float, float]
    num_missing: int
    num_queries: int
    evidence: Evidence = field(repr=False)
    data_quality: DataQuality = field(repr=False)
    witnesses: dict[str, Witness] = field(repr=False)
    context = None  # no covariates, groups or stretches of time

    @property
    def statistic(self) -> float:
        """-log10 of the p-value."""
        return self._log(self.pvalue)

    @property
    def threshold(self) -> float:
        """-log10 of the level."""
        return self._log(self.alpha)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain Python values, ready for JSON: the fields of `HLDResult.to_dict`, and the parts."""
        names = (
            "statistic",
            "threshold",
            "pvalue",
            "reject",
            "alpha",
            "num_samples",
            "num_missing",
            "effect",
            "effect_interval",
            "num_queries",
        )
        values = {name: getattr(self, name) for name in names} | {
            "null": "counts",
            "inflation": 1.0,
            "null_error": None,
        }
        values |= {name: list(getattr(self, name)) for name in ("metrics", "pvalues", "parts")}
        return values | self.parts_to_dict()

    @staticmethod
    def _log(number: float) -> float:
        """-log10 of a number that may be 0."""
        return -math.log10(max(number, 1e-300)) + 0.0


def judge(
    detector: HLDDetector, source: Any, query: str | None = None, alpha: float = 0.05
) -> CountsResult:
    """Test a table in a database: its counts are fetched, never its rows.

    Parameters
    ----------
    detector : HLDDetector
        Fitted, to independent rows, without covariates.
    source : ibis table, connection (of ibis, duckdb or psycopg), or str
        A table of ibis, and no `query`; or a connection or the URL of a database, such as "duckdb://orders.db",
        "sqlite://orders.db" or "postgres://user@host/base" ("" is DuckDB in memory), and a `query`.  A third slash
        before the path of a file makes it absolute.
    query : str, optional
        Name of a table, or a query whose result is the table.
    alpha : float
        Level, in (0, 1).

    Returns
    -------
    CountsResult

    Raises
    ------
    ImportError
        If ibis is not installed.
    TypeError, ValueError
        If the detector is of another kind, or the table cannot be counted.

    Notes
    -----
    One query for 48 pairs of columns reads the table once.  Rare levels count as
    unseen ones.

    Examples
    --------
    >>> import pytest
    >>> duckdb, pandas = pytest.importorskip("duckdb"), pytest.importorskip("pandas")
    >>> _ = pytest.importorskip("ibis")
    >>> rng = np.random.default_rng(0)
    >>> table = pandas.DataFrame({"kind": rng.choice(["a", "b"], size=1500), "size": rng.normal(size=1500)})
    >>> detector = HLDDetector(num_latents=2, num_epochs=5, num_resamples=99).fit(table[:1000])
    >>> orders = table[1000:]
    >>> connection = duckdb.connect()
    >>> _ = connection.register("orders", orders)
    >>> judge(detector, connection, "orders", alpha=0.001).reject
    False
    >>> judge(detector, connection, "SELECT kind, size + 0.5 AS size FROM orders").reject
    True
    """
    alpha = check_fraction(alpha, "alpha")
    if isinstance(detector, HLDDetector) and getattr(detector, "judge_", None) is not getattr(
        detector, "test_", None
    ):
        raise ValueError(
            "`detector` judges groups, a series, or rows given covariates, which counts cannot tell: test "
            "the rows"
        )
    return judge_counts(detector, count(detector, source, query), alpha)


def judge_counts(detector: HLDDetector, found: TableInDatabase, alpha: float) -> CountsResult:
    """Test a table that was counted."""
    profile, T = found.profile, found.profile.num_rows
    quality = data_quality(
        found.columns,
        detector.schema_.trained,
        found.report,
        found.absent,
        found.extra,
        kept=_kept_values(detector, found.columns),
        is_tested=detector.missingness,
    )
    distances = count_distances(detector, profile)
    largest = _largest(detector, profile)
    laws = (
        {}
        if distances is None
        else {
            name: one.pvalue
            for name, one in zip(("columns", "pairs"), distances, strict=True)
            if one.expected > 0
        }
    )
    counted = {
        name: one
        for name, one in zip(
            ("largest column", "largest pair", "dependence", "missing", "new"),
            (*largest, quality.missingness, quality.new_values),
            strict=True,
        )
        if one is not None and one.share
    }
    if not laws and not counted:
        raise ValueError(
            f"the table has {T} rows, too few to compare with a detector that kept no rows from learning: "
            "give at least 50"
        )
    pvalue, weights, counted = _together(laws, counted)
    afters = {name: one.after for name, one in counted.items()} | {
        name: one.after
        for name, one in zip(("columns", "pairs"), distances or (), strict=False)
        if name in laws
    }
    lefts = [partial(left_of, after, weights[name]) for name, after in afters.items()]
    effect = effect_of(lefts, pvalue, alpha, T)
    if detector.tolerance:
        pvalue = tolerant_pvalue(lefts, T, detector.tolerance)
    tested = dict(counted)
    if "columns" in laws and distances:
        tested["columns"] = replace(distances[0], share=weights["columns"])
    quality = replace(
        quality,
        missingness=counted.get("missing", quality.missingness),
        new_values=counted.get("new", quality.new_values),
    )
    evidence = replace(
        evidence_of(detector, profile, quality),
        fitted=found.columns,
        reference=_merged_profile(detector),
    )
    return CountsResult(
        pvalue,
        bool(pvalue <= alpha),
        alpha,
        T,
        tuple(weights),
        (*(float(p) for p in laws.values()), *(float(one.pvalue) for one in counted.values())),
        tuple(weights.values()),
        effect.size,
        (effect.low, 1.0),
        int(found.report.num_missing.sum()),
        found.num_queries,
        evidence,
        quality,
        {name: tested[own] for own, name in WITNESSES.items() if own in tested},
    )


def _together(
    laws: dict[str, float], counted: dict[str, Any]
) -> tuple[float, dict[str, float], dict[str, Any]]:
    """The p-value of all tests, the weights of those that apply, and those of counts with their weights as shares."""
    weights = {name: WEIGHTS[name] for name in (*laws, *counted)}
    total = sum(weights.values())
    weights = {name: weight / total for name, weight in weights.items()}
    counted = {name: replace(one, share=weights[name]) for name, one in counted.items()}
    # the laws reach every level, so two of them are as one with the sum of their weights
    rest = 1.0 - sum(one.share for one in counted.values())
    smallest = min((p / weights[name] for name, p in laws.items()), default=math.inf)
    return combined(rest * smallest if laws else math.inf, *counted.values()), weights, counted


def _kept_values(detector: Any, columns: Any) -> KeptValues | None:
    """What held-out rows show of new values; nothing of columns that cannot distinguish them from rare ones."""
    kept = detector.new_values_
    if kept is None:
        return None
    tells = np.array([not getattr(column, "merged", False) for column in columns])
    return KeptValues(kept.shown, kept.new * tells)


def _largest(detector: Any, profile: Profile) -> tuple[Any, ...]:
    """The largest difference of a single count of a column and of a pair, and the largest change of a dependence.

    None without held-out rows.
    """
    if detector.new_values_ is None or detector.test_.reference == "circuit":
        return None, None, None
    kept = detector.profile_
    singles, pairs = merged_counts(detector.encoder_.columns, kept)
    columns = [(_as_profile(singles), _as_profile([one[:-1] for one in profile.counts]))]
    columns += [
        (
            _as_profile([one.ravel() for one in pairs]),
            _as_profile([one.ravel() for one in profile.pairs]),
        )
    ]
    ordered = (detector.encoder_.ordered, ())
    found = [
        largest_count(one, batch, own) if one.counts else None
        for (one, batch), own in zip(columns, ordered, strict=True)
    ]
    if kept.associations is None:
        return *found, None
    # any number for each cell gives a valid p-value: unseen levels have that of rare ones, with which they are counted
    numbers = tuple(
        one[: len(table), : table.shape[1]]
        for one, table in zip(kept.associations, pairs, strict=True)
    )
    kept = replace(kept, pairs=tuple(pairs), associations=numbers)
    return *found, largest_dependence(kept, profile)


def _as_profile(counts: Any) -> Profile:
    """Counts of single columns as a profile, nothing missing."""
    return Profile(
        0, tuple(np.append(one, 0) for one in counts), np.zeros((0, 2), dtype=np.int64), ()
    )


def _merged_profile(detector: Any) -> Profile:
    """The reference's counts as a database counts: for a circuit those of the rows it learned from."""
    own = detector.profile_
    singles, pairs = merged_counts(detector.encoder_.columns, own)
    counts = tuple(np.append(one, old[-1]) for one, old in zip(singles, own.counts, strict=True))
    return Profile(own.num_rows, counts, own.edges, tuple(pairs))
