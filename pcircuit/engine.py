"""Which engine runs: compiled kernels, or plain NumPy.

Every query is written twice.  The NumPy text in the public modules is what a reader reads; the Numba kernels in
the modules ``_*_kernel.py`` do the same faster, over tiles of rows that fit the cache.  Setting the environment
variable ``PCIRCUIT_ENGINE=numpy`` selects the former everywhere, and then Numba is never imported.

Compiled code is kept on disk where a folder is writable (Numba's cache), so that a process compiles only what
no process before it has compiled.  A service that must not stall on its first request calls `warm_up` at start.
"""
from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

ENGINE_VARIABLE = "PCIRCUIT_ENGINE"


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
    from . import (
        Circuit,
        InnerRegion,
        InputRegion,
        VTree,
        expected_flows,
        fit_em,
        log_likelihood,
        mean_node_likelihoods,
        node_likelihoods,
        sample,
    )
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


def engine_is_numpy() -> bool:
    """Whether ``PCIRCUIT_ENGINE=numpy`` asks for the NumPy text; any value but "numpy" and "numba" is refused."""
    engine = os.environ.get(ENGINE_VARIABLE, "numba")
    if engine not in ("numpy", "numba"):
        raise ValueError(f"environment variable {ENGINE_VARIABLE} is {engine!r}: expected 'numpy' or 'numba'")
    return engine == "numpy"


def map_in_threads(function, arguments, n_jobs: int | None):
    """Yield ``function(argument)`` in the order of `arguments`, at most `n_jobs` at a time (None: all CPUs).

    Work is cut by the caller without looking at `n_jobs`, and results are combined in order, so that no result
    ever depends on the number of threads.  No more than ``n_jobs + 1`` results exist at once.
    """
    n_jobs = min(count_jobs(n_jobs), len(arguments))
    if n_jobs <= 1:
        yield from map(function, arguments)
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        waiting = []
        for argument in arguments:
            waiting.append(pool.submit(function, argument))
            if len(waiting) > n_jobs:
                yield waiting.pop(0).result()
        while waiting:
            yield waiting.pop(0).result()


def count_jobs(n_jobs: int | None) -> int:
    """`n_jobs` as a positive number of threads; None stands for the CPUs this process may use."""
    if n_jobs is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if int(n_jobs) != n_jobs or n_jobs < 1:
        raise ValueError(f"`n_jobs` must be a whole number of at least 1, or None for all CPUs, found {n_jobs!r}")
    return int(n_jobs)
