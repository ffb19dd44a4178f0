"""Which text computes the moments: the NumPy recursions, or their compiled twins.

The environment variable ``PCIRCUIT_ENGINE`` decides (`pcircuit.engine`).  Without it kernels run, except for circuits
so small that NumPy needs less time for them than a kernel needs to be loaded.

Both sides have the same three products: linear moments, the forms of all regions, and S times vectors.
"""
from __future__ import annotations

import numpy as np

from pcircuit.engine import chosen_engine
from pcircuit.moments.plan import Plan

SMALL_REGIONS, SMALL_UNITS = 64, 8  # up to here NumPy takes less than about a tenth of a second


def prepare(plan: Plan):
    """The flat arrays of a plan for the kernels, or None where NumPy is to run."""
    engine, regions = chosen_engine(), plan.circuit.regions
    is_small = len(regions) <= SMALL_REGIONS and max(region.num_nodes for region in regions) <= 2 * SMALL_UNITS
    if engine == "numpy" or (engine is None and is_small):
        return None
    from pcircuit.moments.compiled.arrays import moment_arrays
    from pcircuit.moments.compiled.masses import fill_masses
    arrays = moment_arrays(plan)
    fill_masses(arrays)
    return arrays


def with_weights(arrays, weights):
    """The same flat arrays with other weights of the coordinates (m,)."""
    return None if arrays is None else arrays._replace(weight=weights)


def linear_moments(plan: Plan, arrays, *, squares: bool):
    """Mean (m,), variances (m,) and tr(S^2) or None; see `moments.traces`."""
    if arrays is None:
        from pcircuit.moments.traces import linear_moments
        return linear_moments(plan, squares=squares)
    from pcircuit.moments.compiled.traces import linear_moments
    mean, variances = np.empty(len(plan.nodes)), np.empty(len(plan.nodes))
    trace_sq = linear_moments(arrays, squares, mean, variances)
    return mean, variances, trace_sq if squares else None


def all_forms(plan: Plan, arrays):
    """The forms of all regions, stored: FlatForms, or a list of (r, RegionForm) for NumPy."""
    if arrays is None:
        from pcircuit.moments.region_forms import region_forms
        return list(region_forms(plan, compress=False))
    from pcircuit.moments.compiled.flat_forms import empty_forms
    from pcircuit.moments.compiled.operator import fill_forms
    forms = empty_forms(plan, arrays)
    fill_forms(arrays, forms)
    return forms


def covariance(plan: Plan, arrays) -> np.ndarray:
    """(m, m) covariance; see `moments.covariance`."""
    from pcircuit.moments.covariance import dense_covariance
    if arrays is None:
        from pcircuit.moments.region_forms import region_forms
        return dense_covariance(plan, region_forms(plan, compress=False))
    from pcircuit.moments.compiled.flat_forms import stored_forms
    return dense_covariance(plan, stored_forms(plan, arrays, all_forms(plan, arrays)))


def apply_covariance(plan: Plan, arrays, forms, vectors) -> np.ndarray:
    """S @ vectors, (m, t) -> (m, t), with `forms` from `all_forms`; see `moments.operator`."""
    if arrays is None:
        from pcircuit.moments.operator import apply_covariance
        return apply_covariance(plan, forms, vectors)
    from pcircuit.moments.compiled.operator import apply_covariance
    result = np.empty((vectors.shape[1], vectors.shape[0]))
    for column, out in zip(np.ascontiguousarray(vectors.T), result, strict=True):
        apply_covariance(arrays, forms, column, out)
    return result.T
