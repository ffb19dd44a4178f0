"""What a process does once before its first request: compile the kernels, or load them from the on-disk cache."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pcircuit.engine import engine_is_numpy


def warm_up() -> None:
    """Compile, or load from the on-disk cache, the kernels that likelihoods, EM and sampling need.

    Does nothing with ``PCIRCUIT_ENGINE=numpy``.  A few seconds with an empty cache, tenths of a second after.

    Examples
    --------
    >>> import pcircuit
    >>> pcircuit.warm_up()
    """
    if engine_is_numpy():
        return
    from pcircuit.circuit import Circuit, InnerRegion, InputRegion
    from pcircuit.inference.flows import expected_flows
    from pcircuit.inference.likelihood import log_likelihood
    from pcircuit.inference.sampling import sample
    from pcircuit.inference.unit_likelihoods import mean_node_likelihoods, node_likelihoods
    from pcircuit.learning.em import fit_em
    from pcircuit.vtree import VTree
    circuit = Circuit(VTree.from_nested([0, 1]), [
        InputRegion(0, [[0.5, 0.5]]), InputRegion(1, [[0.2, 0.3, 0.5]]), InnerRegion([[0, 0]], [[1.0]])])
    for dtype in (np.uint8, np.int64):
        rows = np.zeros((1, 2), dtype=dtype)
        log_likelihood(circuit, rows)
    node_likelihoods(circuit, rows)
    mean_node_likelihoods(circuit, rows)
    expected_flows(circuit, rows)
    fit_em(circuit, rows, num_epochs=1)
    sample(circuit, 2, rng=0)


def compile_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` compiled by Numba at its first call, without fast-math, cached on disk where a folder is writable.

    For kernels of packages built on this one, so that the options of compilation stand in one place.

    Parameters
    ----------
    function : callable
        In the subset of Python that Numba compiles; called with arrays and numbers.

    Returns
    -------
    callable
        Releases the interpreter lock while it runs.

    Raises
    ------
    ModuleNotFoundError
        If Numba is not installed.

    Notes
    -----
    Costs nothing until the first call, which compiles or reads the cache.

    Examples
    --------
    >>> import os
    >>> if os.environ.get("PCIRCUIT_ENGINE") != "numpy":        # else this would be the first to import Numba
    ...     twice = compile_kernel(lambda x: 2 * x)
    """
    if not callable(function):
        raise TypeError(f"`function` must be a function, found {function!r}")
    from pcircuit.compiled.jit import compile_kernel as compiled
    return compiled(function)
