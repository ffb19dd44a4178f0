"""Which code computes the moments: the NumPy recursions, or their compiled twins.

`pcircuit.kernels.engine` decides, by the size of the circuit.
Both sides have the same three products: linear moments, the parts of all regions, and S times vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pcircuit.arguments import Floats
from pcircuit.circuit import Circuit
from pcircuit.inference.likelihood import tiny_circuit
from pcircuit.kernels.engine import Kernels
from pcircuit.moments.plan import Plan, make_plan

TOGETHER = 32  # vectors that the kernel applies S to at a time
OPERATOR_WORK = 3.0  # the parts of all regions and some ten products with S, in linear moments
REGION_SECONDS, PAIR_SECONDS = (
    5e-4,
    2e-7,
)  # of NumPy: for a region, and for a pair of its nodes and one below


def prepare(plan: Plan, work: float = 1.0) -> Any:
    """The arrays of a plan for the kernels, or None where NumPy is to run: always where some leaves are no tables."""
    if not plan.circuit.is_categorical or MOMENTS.in_numpy(work * _seconds(plan.circuit)):
        return None
    from pcircuit.moments.kernels.arrays import moment_arrays
    from pcircuit.moments.kernels.masses import fill_masses

    arrays = moment_arrays(plan)
    fill_masses(arrays)
    return arrays


def _seconds(circuit: Circuit) -> float:
    """About what NumPy takes for the moments of a circuit, by its regions and the pairs of units in them."""
    nodes = np.array([region.num_nodes for region in circuit.regions])
    return REGION_SECONDS * len(nodes) + PAIR_SECONDS * float((nodes**3).sum())


def _compute_something() -> None:
    """By the kernels: mean and variances, the trace of the square, and the covariance times a vector."""
    circuit = tiny_circuit()
    plan = make_plan(circuit, np.arange(circuit.num_nodes), np.ones(circuit.num_nodes))
    arrays = prepare(plan)
    means_and_traces(plan, arrays, squares=True)
    apply_covariance(plan, arrays, all_parts(plan, arrays), np.ones((circuit.num_nodes, 1)))


MOMENTS = Kernels("exact moments", _compute_something)


def with_weights(arrays: Any, weights: Floats) -> Any:
    """The same arrays with other weights of the coordinates (m,).

    Shapes: weights (m,).
    """
    return None if arrays is None else arrays._replace(weight=weights.copy())


def means_and_traces(
    plan: Plan, arrays: Any, *, squares: bool
) -> tuple[Floats, Floats, float | None]:
    """Mean (m,), variances (m,) and tr(S^2) or None; see `moments.traces`.

    Returns mean, variances (m,).
    """
    if arrays is None:
        from pcircuit.moments import traces

        return traces.means_and_traces(plan, squares=squares)
    from pcircuit.moments.kernels import traces as kernels
    from pcircuit.moments.kernels.stored_parts import no_parts

    mean, variances = np.empty(len(plan.nodes)), np.empty(len(plan.nodes))
    trace_sq = kernels.linear_moments(arrays, squares, no_parts(arrays), mean, variances)
    return mean, variances, trace_sq if squares else None


def finite_moments(
    plan: Plan, arrays: Any, *, squares: bool
) -> tuple[Floats, Floats, float | None]:
    """Mean, variances and tr(S^2) or None, as `means_and_traces`; node weights that make them overflow are refused.

    Returns mean, variances (m,).
    """
    with np.errstate(over="ignore", invalid="ignore"):  # is found here
        moments = means_and_traces(plan, arrays, squares=squares)
        is_finite = all(np.isfinite(np.sum(part)) for part in moments if part is not None)
    if not is_finite:
        raise ValueError(
            f"`node_weights` up to {plan.weights.max():g} make the moments overflow: divide all weights "
            "by one number, only their ratios matter to a test"
        )
    return moments


def all_parts(plan: Plan, arrays: Any) -> Any:
    """The covariance parts of all regions, stored: StoredParts, or a list of (r, CovarianceParts) for NumPy."""
    if arrays is None:
        from pcircuit.moments.covariance_parts import covariance_parts

        return list(covariance_parts(plan, compress=False))
    from pcircuit.moments.kernels.stored_parts import empty_parts
    from pcircuit.moments.kernels.traces import linear_moments

    stored, m = empty_parts(plan, arrays), len(plan.nodes)
    linear_moments(arrays, False, stored, np.empty(m), np.empty(m))
    return stored


def covariance(plan: Plan, arrays: Any) -> Floats:
    """(m, m) covariance; see `moments.covariance`.

    Returns (m, m).
    """
    from pcircuit.moments.covariance import dense_covariance

    if arrays is None:
        from pcircuit.moments.covariance_parts import covariance_parts

        return dense_covariance(plan, covariance_parts(plan, compress=False))
    from pcircuit.moments.kernels.stored_parts import stored_parts

    return dense_covariance(plan, stored_parts(plan, arrays, all_parts(plan, arrays)))


def apply_covariance(plan: Plan, arrays: Any, parts: Any, vectors: Floats) -> Floats:
    """S @ vectors, (m, t) -> (m, t), with `parts` from `all_parts`; see `moments.operator`.

    Shapes: vectors (m, t) -> (m, t).
    """
    if arrays is None:
        from pcircuit.moments import operator

        return operator.apply_covariance(plan, parts, vectors)
    from pcircuit.moments.kernels import operator as kernels

    result = np.empty(vectors.shape)
    for start in range(0, vectors.shape[1], TOGETHER):
        some = np.ascontiguousarray(vectors[:, start : start + TOGETHER])
        out = np.empty_like(some)
        kernels.apply_covariance(arrays, parts, some, out)
        result[:, start : start + TOGETHER] = out
    return result
