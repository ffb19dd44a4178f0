"""Which text computes the moments: the NumPy recursions, or their compiled twins.

The environment variable ``PCIRCUIT_ENGINE`` decides (`pcircuit.engine`).  Without it kernels run, except for circuits
so small that NumPy needs less time for them than a kernel needs to be loaded.

Both sides have the same three products: linear moments, the parts of all regions, and S times vectors.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from pcircuit.array_types import Floats
from pcircuit.engine import chosen_engine
from pcircuit.moments.plan import Plan

SMALL_REGIONS, SMALL_UNITS = 64, 8  # up to here NumPy takes less than about a tenth of a second


def prepare(plan: Plan) -> Any:
    """The arrays of a plan for the kernels, or None where NumPy is to run."""
    engine, regions = chosen_engine(), plan.circuit.regions
    is_small = len(regions) <= SMALL_REGIONS and max(region.num_nodes for region in regions) <= 2 * SMALL_UNITS
    if engine == "numpy" or (engine is None and is_small):
        return None
    from pcircuit.moments.compiled.arrays import moment_arrays
    from pcircuit.moments.compiled.masses import fill_masses
    arrays = moment_arrays(plan)
    fill_masses(arrays)
    return arrays


def with_weights(arrays: Any, weights: Floats) -> Any:
    """The same arrays with other weights of the coordinates (m,)."""
    return None if arrays is None else arrays._replace(weight=weights)


def linear_moments(plan: Plan, arrays: Any, *, squares: bool) -> tuple[Floats, Floats, float | None]:
    """Mean (m,), variances (m,) and tr(S^2) or None; see `moments.traces`."""
    if arrays is None:
        from pcircuit.moments import traces
        return traces.linear_moments(plan, squares=squares)
    from pcircuit.moments.compiled import traces as kernels
    mean, variances = np.empty(len(plan.nodes)), np.empty(len(plan.nodes))
    trace_sq = kernels.linear_moments(arrays, squares, mean, variances)
    return mean, variances, trace_sq if squares else None


def all_parts(plan: Plan, arrays: Any) -> Any:
    """The covariance parts of all regions, stored: StoredParts, or a list of (r, CovarianceParts) for NumPy."""
    if arrays is None:
        from pcircuit.moments.covariance_parts import covariance_parts
        return list(covariance_parts(plan, compress=False))
    from pcircuit.moments.compiled.operator import fill_parts
    from pcircuit.moments.compiled.stored_parts import empty_parts
    stored = empty_parts(plan, arrays)
    fill_parts(arrays, stored)
    return stored


def covariance(plan: Plan, arrays: Any) -> Floats:
    """(m, m) covariance; see `moments.covariance`."""
    from pcircuit.moments.covariance import dense_covariance
    if arrays is None:
        from pcircuit.moments.covariance_parts import covariance_parts
        return dense_covariance(plan, covariance_parts(plan, compress=False))
    from pcircuit.moments.compiled.stored_parts import stored_parts
    return dense_covariance(plan, stored_parts(plan, arrays, all_parts(plan, arrays)))


def apply_covariance(plan: Plan, arrays: Any, parts: Any, vectors: Floats) -> Floats:
    """S @ vectors, (m, t) -> (m, t), with `parts` from `all_parts`; see `moments.operator`."""
    if arrays is None:
        from pcircuit.moments import operator
        return operator.apply_covariance(plan, parts, vectors)
    from pcircuit.moments.compiled import operator as kernels
    result = np.empty((vectors.shape[1], vectors.shape[0]))
    for column, out in zip(np.ascontiguousarray(vectors.T), result, strict=True):
        kernels.apply_covariance(arrays, parts, column, out)
    return np.transpose(result)
