"""How good drawn rows are: close to the real ones in every column and pair, hard to tell apart, and no copies.

====================  =====================================================================================
columns               1 - total variation distance of the frequencies of levels and bins, for each column
pairs                 the same for pair tables, for all pairs (evenly chosen ones if they are many)
test                  the detector's own test of the drawn rows
classifier            two-sample test: how well trees tell drawn rows from real ones, as the area under the ROC curve
                      of predictions on rows not learned from; 0.5 is not at all (Lopez-Paz and Oquab 2017)
closest row           distance of drawn rows to the closest training row, beside that of real rows that training did
                      not have: drawn rows that are closer were copied
====================  =====================================================================================

They are compared with real rows if given, otherwise with the counts of the reference rows that the model keeps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hld.answers.profile import profile_of
from hld.answers.table_facts import as_table, cells_by_name, numbers_of
from hld.tables.cells import read_table
from hld.tables.values import is_binned

MOST_PAIRS = 500
CLASSIFIED = 5_000  # rows of each side that trees learn from
MEASURED, CLOSE_TO = 1_000, 20_000  # rows whose distance is measured, and training rows
FOLDS, FEWEST_VALUES = (
    5,
    20,
)  # parts of the rows that are predicted from the others; values that trees look at


@dataclass(frozen=True, eq=False)
class SampleQuality:
    """How good drawn rows are.

    Shapes: closest, real_closest (n,).
    """

    num_rows: int
    columns: dict[str, Any]
    pairs: dict[str, Any]
    result: Any
    auc: float | None
    closest: np.ndarray | None
    real_closest: np.ndarray | None

    @property
    def shape(self) -> float:
        """Mean agreement of the columns."""
        return float(np.mean(list(self.columns.values())))

    @property
    def trend(self) -> float | None:
        """Mean agreement of the pairs; None for a single column."""
        return float(np.mean(list(self.pairs.values()))) if self.pairs else None

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain Python values."""

        def told(distances: Any) -> Any:
            return (
                None
                if distances is None
                else {
                    "median": float(np.median(distances)),
                    "share_identical": float((distances == 0).mean()),
                }
            )

        return {
            "num_rows": self.num_rows,
            "shape": self.shape,
            "trend": self.trend,
            "auc": self.auc,
            "columns": self.columns,
            "pairs": [
                {"columns": list(key), "agreement": value} for key, value in self.pairs.items()
            ],
            "test": self.result.to_dict(),
            "closest": told(self.closest),
            "real_closest": told(self.real_closest),
        }


def sample_quality(
    detector: Any, rows: Any, *, real: Any = None, training: Any = None, rng: Any = 0
) -> SampleQuality:
    """Compare drawn rows with real ones.

    Shapes: rows (N, V).
    """
    encoder, rng = detector.encoder_, np.random.default_rng(rng)
    if isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.shape[1] == len(encoder.names):
        rows = as_table(encoder, rows)
    for name, table in (("rows", rows), ("real", real), ("training", training)):
        if (
            table is not None and not read_table(table).num_rows
        ):  # nothing agrees with nothing by a half
            raise ValueError(f"`{name}` has no rows, expected at least one to compare")
    codes = encoder.encode(rows)[0]
    other = None if real is None else encoder.encode(real, "real", ignore_extra=True)[0]
    edges = _chosen_pairs(codes.shape[1], rng) if other is not None else detector.profile_.edges
    own = profile_of(codes, encoder.num_categories, edges)
    theirs = (
        detector.profile_ if other is None else profile_of(other, encoder.num_categories, edges)
    )
    names = encoder.names
    columns = {
        name: _agreement(a[:-1], b[:-1])
        for name, a, b in zip(names, own.counts, theirs.counts, strict=True)
    }
    pairs = {
        (names[u], names[v]): _agreement(a, b)
        for (u, v), a, b in zip(edges.tolist(), own.pairs, theirs.pairs, strict=True)
    }
    features = None if real is None else [_features(encoder, table) for table in (rows, real)]
    auc = None if features is None else classifier_auc(*features, rng)  # type: ignore[arg-type, call-arg]
    closest = [None, None]
    if training is not None:
        learned = _features(encoder, training)
        shown = [_features(encoder, rows)] + ([] if features is None else [features[1]])
        closest[: len(shown)] = [closest_rows(encoder, one, learned, rng) for one in shown]  # type: ignore[misc]
    return SampleQuality(len(codes), columns, pairs, detector.test(rows), auc, *closest)  # type: ignore[arg-type]


def classifier_auc(drawn: Any, real: np.ndarray, rng: np.random.Generator) -> float | None:
    """Area under the ROC curve of boosted trees that tell drawn rows from real ones; None without scikit-learn.

    Shapes: drawn, real (N, V).
    """
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.metrics import roc_auc_score
        from sklearn.model_selection import cross_val_predict
    except ImportError:
        return None
    n = min(len(drawn), len(real), CLASSIFIED)
    if n < 2 * FOLDS:
        return None
    X = np.concatenate([one[rng.choice(len(one), n, replace=False)] for one in (drawn, real)])
    few = (~np.isnan(X)).sum(axis=0) < FEWEST_VALUES
    X[:, few] = ~np.isnan(
        X[:, few]
    )  # trees refuse a column without values, as this may be in one of the folds
    y = np.repeat([0, 1], n)
    trees = HistGradientBoostingClassifier(max_iter=60, random_state=0)
    predicted = cross_val_predict(trees, X, y, cv=FOLDS, method="predict_proba")[:, 1]
    return float(roc_auc_score(y, predicted))


def closest_rows(encoder: Any, rows: np.ndarray, learned: np.ndarray, rng: Any) -> np.ndarray:
    """(n,) distances to the closest training row: mean over the columns of 1 for other levels, |x - y| / range.

    Shapes: rows (N, V), learned (n, V).
    """
    rows = rows[rng.choice(len(rows), min(len(rows), MEASURED), replace=False)]
    learned = learned[rng.choice(len(learned), min(len(learned), CLOSE_TO), replace=False)]
    binned = np.array([is_binned(column) for column in encoder.columns])
    scale = np.array(
        [
            max(column.high - column.low, 1e-300) if is_binned(column) else 1.0
            for column in encoder.columns
        ]
    )
    found = np.empty(len(rows))
    for i, row in enumerate(rows):
        apart = np.where(binned, np.minimum(np.abs(learned - row) / scale, 1.0), learned != row)
        apart[np.isnan(apart)] = 1.0
        apart[:, np.isnan(row)] = np.where(np.isnan(learned[:, np.isnan(row)]), 0.0, 1.0)
        found[i] = apart.mean(axis=1).min()
    return found


def _features(encoder: Any, table: Any) -> np.ndarray:
    """(N, V) numbers: values in columns with bins, categories in the others, NaN where missing."""
    parts = read_table(table)
    codes = encoder.encode(table, ignore_extra=True)[0]
    numbers = np.where(codes < 0, np.nan, codes.astype(np.float64))
    cells = cells_by_name(encoder, parts)
    for v, column in enumerate(encoder.columns):
        if is_binned(column):
            numbers[:, v] = numbers_of(column, cells[column.name])
    return numbers


def _agreement(a: np.ndarray, b: np.ndarray) -> float:
    """1 - total variation distance of counts; those of no rows agree only with others of none."""
    if (a.sum() > 0) != (b.sum() > 0):
        return 0.0
    return 1 - float(np.abs(a / max(a.sum(), 1) - b / max(b.sum(), 1)).sum() / 2)


def _chosen_pairs(V: int, rng: Any) -> np.ndarray:
    """All pairs of columns, or some of them."""
    pairs = np.array([(u, v) for u in range(V) for v in range(u + 1, V)], dtype=np.int64).reshape(
        -1, 2
    )
    return (
        pairs
        if len(pairs) <= MOST_PAIRS
        else pairs[np.sort(rng.choice(len(pairs), MOST_PAIRS, replace=False))]
    )
