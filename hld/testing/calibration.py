"""Building a test: everything that can be computed before a batch is seen.

    reference   what a batch is compared with       `hld.references`    mean mu, covariance S, rows to draw
    metrics     how a difference becomes a number   `hld.witnesses.metrics`       d = |F (mean of the batch - mu)|
    null        how large it is without a shift     `hld.laws`         p-value and threshold at every T

A `Calibration` is what is kept of them once the test is built, and what a model file stores.

The options of a test that it keeps: each is checked by itself, then those that contradict each other are refused.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hld.features.linear_maps import LinearMap
from hld.features.score_features import ScoreFeatures
from hld.laws.named import NULLS, NullOptions, check_null_choice
from hld.references.kept_rows import KeptRows, kept_rows
from hld.references.reference import Reference
from hld.references.rows import FROM_ROWS, REFERENCES
from hld.witnesses.metrics.named import build_metric
from pcircuit.arguments import check_choice, check_number, check_whole_number

SUMMED_OUT = (
    ("circuit", "exact"),
    ("circuit", "auto"),
)  # references and nulls with which holes are summed out
MISSING = ("complete", "exact", "available")


@dataclass(frozen=True)
class Settings:
    """The options of a test, checked; each attribute means what it means in `HLDTest`."""

    null: str
    reference: str
    num_train: int | None
    tolerance: float
    missing: str
    seed: int

    def __post_init__(self) -> None:
        for name, known in (("null", NULLS), ("reference", REFERENCES), ("missing", MISSING)):
            check_choice(getattr(self, name), name, tuple(known))
        if self.missing == "exact" and (self.reference, self.null) not in SUMMED_OUT:
            raise ValueError(
                "`missing` 'exact' needs reference='circuit' and null='exact' or 'auto', found "
                f"reference={self.reference!r} and null={self.null!r}"
            )
        if self.missing == "available" and (
            self.reference not in FROM_ROWS or not NULLS[self.null].is_checked
        ):
            raise ValueError(
                "`missing` 'available' needs a reference of rows and null='exact' or 'auto', found "
                f"reference={self.reference!r} and null={self.null!r}"
            )
        check_null_choice(self.null, self.reference, 1)
        check_whole_number(self.num_train, "num_train", 1, none="a reference that is exact")
        check_number(self.tolerance, "tolerance", least=0, below=1)
        check_whole_number(self.seed, "seed", 0)


def usual_missing(null: str, reference: str) -> str:
    """How rows with holes are compared unless it is said."""
    check_choice(null, "null", tuple(NULLS))
    check_choice(reference, "reference", tuple(REFERENCES))
    return "available" if reference in FROM_ROWS and NULLS[null].is_checked else "complete"


LEAST_SPREAD, MOST_SPREAD = (
    1e-70,
    1e70,
)  # of a row's statistic: its fourth power is in the range of doubles


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
    holed_laws: dict[Any, Any] = field(default_factory=dict, repr=False)  # of `row_batches`

    def __post_init__(self) -> None:
        for array in (self.nodes, self.mean, self.stds):
            array.flags.writeable = False

    def differences(self, vectors: Any, rows: np.ndarray) -> np.ndarray:
        """(n, size) vectors of rows (n, V) less the mean of the reference.

        Where a metric sees reference rows that are all alike, the rounding of their mean is no difference: any row
        would be farther out than all of them.

        Shapes: rows (n, V).
        """
        found: np.ndarray = vectors.rows(rows) - self.mean
        if self.kept is not None and not self.kept.farthest.all():
            found[np.abs(found) <= vectors.rounding(self.mean, self.kept.num_rows)] = 0.0
        return found


def calibrate(
    reference: Reference,
    parts: tuple[Any, ...],
    null: str,
    *,
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
    """Raise if squares of the statistic, or of its variance, would leave the range of doubles.

    Then the null would be a law of zeros and every batch would look unshifted.

    Shapes: stds, mean (m,).
    """
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
