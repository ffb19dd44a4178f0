r"""What is exported from a detector, as flat arrays that every target can hold.

The input is the codes of a batch of T rows, one for each column as the encoder gives them, without holes.  The output
is

* the mean vector of the batch, in the order of ``detector.test_.nodes``,
* the distance d = |F (mean - mu)| of each metric,
* the p-value of each metric and of all together, where a *law* gives them: T at least `least_rows`.

That is ``detector.test_.judge(mean, T)`` for those T, to 1e-9.  It is not ``detector.test``: an alarm is not checked by
the batch's own rows (`hld.nulls.ranks.confirmation`), which only raises p-values, so an alarm of the exported test
should be confirmed by the library; missing values are not tested; and below `least_rows`, where the library has tails
of drawn batches, the p-value is NaN.  Detectors fitted to groups, to a series or with covariates are refused: for them
``detector.test`` compares a batch with others like it, and the law of independent rows, which is all that is exported,
would reject most batches that differ only as groups do.

The circuit becomes one list of nodes, children first, in the order of node ids: an input node looks up the code of its
column, a product multiplies, a sum adds up with weights.  A metric becomes the nonzero entries of the rows of its
matrix F.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import pcircuit
from hld.nulls.limit_law import MOST_SCALED, LimitLaw

MOST_NUMBERS = 2**22  # of a matrix F, so that the file can be compiled
INPUT, PRODUCT, SUM = 0, 1, 2
KINDS = {"input": INPUT, "product": PRODUCT, "sum": SUM}


@dataclass(frozen=True, eq=False)
class MetricPlan:
    """One metric.

    Shapes: eigenvalues, multiplicities (k,).
    """

    name: str
    starts: np.ndarray
    places: np.ndarray
    values: np.ndarray
    round_off: float
    eigenvalues: np.ndarray
    multiplicities: np.ndarray
    excess: float
    most_scale: float


@dataclass(frozen=True, eq=False)
class Plan:
    """All that is exported.

    Shapes: kinds (N,), starts (N + 1,), children (n,), weights (n,), chosen (m,), mean (m,), joint (B,).
    """

    columns: tuple[Any, ...]
    kinds: np.ndarray
    starts: np.ndarray
    children: np.ndarray
    weights: np.ndarray
    chosen: np.ndarray
    mean: np.ndarray
    metrics: tuple[Any, ...]
    num_train: int
    least_rows: int
    joint: np.ndarray


def plan_of(detector: Any) -> Plan:
    """The plan of a fitted detector."""
    test = detector.test_
    if detector.judge_ is not test:
        raise ValueError(
            "`detector` judges groups, a series, or rows given covariates, but only the test of "
            "independent rows is exported: fit without `groups`, `order` and `covariates`"
        )
    if test.vectors.features is not None:
        raise ValueError(
            "`detector` tests the metric 'score', which is not exported: fit with "
            "metric='likelihoods' (hld fit --metric likelihoods on the command line)"
        )
    if test.tolerance:
        raise ValueError(
            f"`detector` tolerates that {test.tolerance:.2%} of the rows are others, which is not "
            "exported: fit without `tolerance`"
        )
    null = test.calibration.null
    laws, joint = _laws(null)
    least = 0 if not laws else getattr(null, "switch", 1) or 0
    metrics = tuple(
        _metric_plan(metric, test.mean, law)
        for metric, law in zip(
            test.calibration.metrics,
            laws or [None] * len(test.calibration.metrics),
            strict=True,
        )
    )
    kinds, starts, children, weights = _nodes(test.circuit)
    return Plan(
        detector.encoder_.columns,
        kinds,
        starts,
        children,
        weights,
        np.asarray(test.nodes),
        np.asarray(test.mean),
        metrics,
        test.num_train or 0,
        least,
        joint,
    )


def _laws(null: Any) -> tuple[Any, ...]:
    """The limit laws of a null, or none, and the draws of their joint law."""
    none = np.zeros(0, dtype=np.float32)
    if not all(isinstance(one, LimitLaw) for one in null.laws):
        return (), none
    return null.laws, null.limit.law.means if len(null.laws) > 1 else none


def _nodes(circuit: pcircuit.Circuit) -> tuple[Any, ...]:
    """Kinds, starts, children and weights of all nodes of a circuit, in the order of their ids."""
    kinds = np.array([KINDS[str(kind)] for kind in circuit.nodes.kind])
    first = {}  # the id of the first unit that a region shows its parent
    counts, children, weights = [], [], []
    base = 0
    for r, region in enumerate(circuit.regions):
        if region.is_input:
            K, C = region.probs.shape
            first[r] = base
            counts += [C] * K
            children.append(np.full(K * C, region.variable))
            weights.append(region.probs.ravel())
            base += K
            continue
        products = np.asarray(region.products) + np.array(
            [first[child] for child in circuit.vtree.children(r)]
        )
        P, A = products.shape
        matrix = (
            region.weights.toarray()
            if hasattr(region.weights, "toarray")
            else np.asarray(region.weights)
        )
        rows, columns = np.nonzero(matrix)
        counts += [A] * P + np.bincount(rows, minlength=len(matrix)).tolist()
        children += [products.ravel(), base + columns]
        weights += [np.ones(P * A), matrix[rows, columns]]
        first[r] = base + P
        base += P + len(matrix)
    return (
        kinds,
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate(children),
        np.concatenate(weights),
    )


def _metric_plan(metric: Any, mean: Any, law: Any) -> MetricPlan:
    """The plan of one metric."""
    m = len(mean)
    if m * m > MOST_NUMBERS:
        raise ValueError(
            f"`detector` compares {m} nodes, which is more than a file can hold a metric of: "
            f"at most {int(MOST_NUMBERS**0.5)} are exported"
        )
    matrix = np.asarray(metric.apply(np.eye(m))).T
    rows, columns = np.nonzero(matrix)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(matrix)))])
    values = np.zeros(0) if law is None else law.eigenvalues
    is_there = values > 0
    order = np.argsort(-values[is_there], kind="stable")
    counts = values if law is None else law.multiplicities
    most = 1.0 if law is None or not is_there.any() else MOST_SCALED * law.spectrum.degrees
    return MetricPlan(
        metric.name,
        starts,
        columns,
        matrix[rows, columns],
        float(metric.round_off(mean)),
        values[is_there][order],
        counts[is_there][order],
        0.0 if law is None else law.excess,
        most,
    )
