"""The metrics by the names that `metric=` takes: add one by writing a function and a line here.

With Z the difference of the mean likelihood vectors of a batch and of its reference, d = |F Z|:

* "euclidean"      F = I: the paper's.  The nodes with the largest likelihoods, mostly inputs, decide.
* "standardized"   F = diag(1 / sigma), sigma under the circuit, even when the reference is rows: every node counts
                   alike, however small its likelihoods are.
* "marginals"      the distances between the marginal distributions of all variables, from the input units alone
                   (`hld.witnesses.metrics.maps`): sees shifts of single variables, none of them favoured.
* "whitened"       F = (S + c I)^(-1/2): all directions in which the reference varies count alike
                   (`hld.witnesses.metrics.maps`): sees changes of dependence.
* "whitened_fine"  the same with a thirtieth of c: sees changes in directions that hardly vary.
* "ordered"        the distances between cumulative distributions of variables whose categories ascend
                   (`hld.witnesses.metrics.maps`): sees a drift.
* "score"          the gradient of the log-likelihood in the parameters, each in units of its standard deviation
                   (`hld.witnesses.metrics.maps`): sees a change of one dependence among many.
* node weights     F = diag(w), any positive w.

A metric is made for a reference before any batch is seen, by a function of the reference and of the options of the
test (as keywords; each takes the ones that it knows).  The null distribution is that of the map in use, so the level
holds whatever the norm.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import pcircuit
from hld.features.linear_maps import LinearMap, Scaled
from hld.references.reference import Reference
from hld.witnesses.metrics.maps import (
    euclidean,
    marginals,
    ordered,
    score,
    standardized,
    whitened,
    whitened_fine,
)
from pcircuit.arguments import check_numbers

METRICS: dict[str, Callable[..., LinearMap]] = {
    "euclidean": euclidean,
    "standardized": standardized,
    "marginals": marginals,
    "ordered": ordered,
    "whitened": whitened,
    "whitened_fine": whitened_fine,
    "score": score,
}
DEFAULT = (
    "euclidean",
    "standardized",
    "marginals",
    "whitened",
)  # of `HLDDetector` where rows were learned from
DEFAULT_OF_FRESH = (
    *DEFAULT,
    "whitened_fine",
    "score",
)  # with enough rows that nothing was learned from
COMBINATIONS = ("auto", "likelihoods")  # of several metrics, depending on the data
OF_INPUTS = ("marginals",)  # those that compare input units
OF_SCORES = ("score",)  # those that compare features of the score
ENOUGH = 25  # rows from which on the default has more metrics


def parse_metric(metric: str | ArrayLike | Sequence[str], m: int) -> tuple[Any, ...]:
    """Names and weight vectors that a `metric` argument asks for."""
    expected = f"one of {', '.join(map(repr, METRICS))}, several different ones, or {m} positive node weights"
    names = names_in(metric, expected)
    return (check_numbers(metric, "metric", expected, (m,), above=0),) if names is None else names


def names_in(metric: Any, expected: str) -> tuple[str, ...] | None:
    """The names of metrics that are given, None for what holds no name: node weights."""
    parts = [metric] if isinstance(metric, str) else metric
    if not isinstance(parts, (list, tuple)) or not any(isinstance(part, str) for part in parts):
        return None
    if not all(isinstance(part, str) and part in METRICS for part in parts) or len(
        set(parts)
    ) < len(parts):
        raise ValueError(f"`metric` must be {expected}, found {metric!r}")
    return tuple(parts)


def asks_for_scores(parts: tuple[Any, ...]) -> bool:
    """Whether one of the entries of `parse_metric` compares features of the score."""
    return any(isinstance(part, str) and part in OF_SCORES for part in parts)


def build_metric(part: str | np.ndarray, reference: Reference, **options: Any) -> LinearMap:
    """The metric of one entry of `parse_metric` for a reference."""
    metric = (
        METRICS[part](reference, **options)
        if isinstance(part, str)
        else Scaled("weights", np.array(part, dtype=np.float64))
    )
    return replace(metric, behind=len(reference.mean) - metric.before - metric.size)


def default_metrics(
    circuit: pcircuit.Circuit, nodes: np.ndarray, num_fresh: int | None, *, scores: bool = True
) -> tuple[Any, ...]:
    """Names of the metrics that `HLDDetector` combines.

    Without input units there are no marginals, and scores are of both kinds of units.  Small ridges and scores see how
    learned rows differ from fresh ones, and what a circuit misses: they are for enough rows, `num_fresh`, that nothing
    was learned from.  Without `scores`, or where leaves are densities, only likelihoods are looked at.

    Shapes: nodes (m,).
    """
    kinds = circuit.nodes.kind[nodes]
    has_inputs, has_sums = (kinds == "input").any(), scores and (kinds == "sum").any()
    if not circuit.is_categorical:  # tables of input units, and scores with a bound
        has_inputs = has_sums = False
    names = DEFAULT if num_fresh is None or num_fresh < ENOUGH else DEFAULT_OF_FRESH
    return tuple(
        name
        for name in names
        if (has_inputs or name not in OF_INPUTS)
        and ((has_inputs and has_sums) or name not in OF_SCORES)
    )
