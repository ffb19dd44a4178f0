r"""A table in a database, tested by counts: one p-value for all columns and the pairs along the edges of the tree.

Counts of every column, and of the most strongly dependent pairs of columns, are GROUP BY queries (`hld.sql.tables`).
They say less than the means of likelihoods that `HLDDetector.test` compares, in which many columns act together, but no
row leaves the database, and the database does the work.  In place of the distance of likelihoods there are those of the
counts of all columns and of all pairs, by the law of a sum of weighted chi-squares (`hld.witnesses.count_law`); their
p-value is twice the smaller one.  The witnesses and their parts of the level are those of any batch that was counted
(`hld.witnesses.witnesses`), but that rare and unseen levels are one category.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hld.answers.profile import Held
from hld.answers.table_facts import evidence_of, held_of
from hld.detector.detector import HLDDetector
from hld.sql.tables import TableInDatabase, count
from hld.tables.schemas.counts import KeptValues
from hld.tables.schemas.quality import data_quality
from hld.witnesses.count_law import merged_counts
from hld.witnesses.distances import count_distances
from hld.witnesses.effects import tolerant_pvalue
from hld.witnesses.result import OfColumns, with_quality
from hld.witnesses.witnesses import heard_of
from pcircuit.arguments import check_fraction


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CountsResult(OfColumns):
    """The outcome of a test of a table in a database: `pvalues` are those of the distances of columns and of pairs."""

    further = ("num_queries",)
    metrics: tuple[str, ...]
    pvalues: tuple[float, ...]
    num_missing: int
    num_queries: int
    null: str = "counts"
    inflation: float = 1.0
    null_error: None = None
    statistic: float = 0.0
    threshold: float = 0.0


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
    held = _merged(detector, found.columns)
    quality = data_quality(
        found.columns,
        detector.schema_.trained,
        found.report,
        found.absent,
        found.extra,
        missing=held.missing,
        kept=held.new,
    )
    witnesses = {} if detector.new_values_ is None else heard_of(held, profile)
    found_laws = zip(("columns", "pairs"), count_distances(detector, profile) or (), strict=False)
    laws = {name: one for name, one in found_laws if one.expected > 0}
    if not laws and not any(one.share for one in (quality.new_values, *witnesses.values()) if one):
        raise ValueError(
            f"the table has {T} rows, too few to compare with a detector that kept no rows from learning: "
            "give at least 50"
        )

    def smallest(pvalues: Any) -> float:
        return min(1.0, len(laws) * min(pvalues, default=math.inf))

    result: CountsResult = with_quality(
        lambda level: CountsResult(
            pvalue=smallest(one.pvalue for one in laws.values()) if laws else math.inf,
            reject=False,
            alpha=level,
            num_samples=T,
            metrics=tuple(laws),
            pvalues=tuple(float(one.pvalue) for one in laws.values()),
            num_missing=int(found.report.num_missing.sum()),
            num_queries=found.num_queries,
            _after=(lambda rows: smallest(one.after(rows) for one in laws.values()))
            if laws
            else None,
            _tolerance=detector.tolerance,
        ),
        quality,
        alpha,
        witnesses,
    )
    pvalue = result.pvalue
    if detector.tolerance and not result.beside:
        pvalue = tolerant_pvalue(result.lefts(), T, detector.tolerance)
    evidence = evidence_of(detector, profile, quality)
    return replace(
        result,
        pvalue=pvalue,
        reject=bool(pvalue <= alpha),
        statistic=-math.log10(max(pvalue, 1e-300)) + 0.0,
        threshold=-math.log10(alpha),
        evidence=replace(evidence, fitted=found.columns, reference=held.counts),
    )


def _merged(detector: Any, columns: tuple[Any, ...]) -> Held:
    """What the counts of a table are compared with, as a database counts; nothing odd where no rows were held out.

    New values of columns that cannot distinguish them from rare ones are left out.
    """
    own: Any = held_of(detector, None)
    singles, pairs = merged_counts(own.columns, own.counts)
    numbers = own.counts.associations
    if numbers is not None:
        # any number for each cell gives a valid p-value: unseen levels have that of rare ones
        numbers = tuple(
            one[: len(table), : table.shape[1]] for one, table in zip(numbers, pairs, strict=True)
        )
    counts = tuple(
        np.append(one, old[-1]) for one, old in zip(singles, own.counts.counts, strict=True)
    )
    tells = np.array([not getattr(column, "merged", False) for column in columns])
    return replace(
        own,
        columns=columns,
        counts=replace(own.counts, counts=counts, pairs=tuple(pairs), associations=numbers),
        new=None if own.new is None else KeptValues(own.new.shown, own.new.new * tells),
    )
