"""Kernels of the moments made ready before they are needed."""

from engines import needs_numba

import pcircuit
from pcircuit.kernels.engine import engine_set_to
from pcircuit.moments.routes import MOMENTS


@needs_numba
def test_kernels_made_ready_are_all_that_moments_call():
    from pcircuit.moments.kernels import operator, traces

    kernels = [traces.linear_moments, operator.apply_covariance]
    MOMENTS.make_ready()
    ready = [list(kernel.signatures) for kernel in kernels]
    assert all(ready)
    with engine_set_to("numba"):
        moments = pcircuit.exact_moments(
            pcircuit.rat_spn([2] * 6, num_units=2, depth=2, rng=0), [0, 3, 5]
        )
        moments.operator() @ [1.0, 2.0, 3.0]
        assert moments.trace_sq > 0
    assert [
        list(kernel.signatures) for kernel in kernels
    ] == ready  # nothing was compiled for other arguments
