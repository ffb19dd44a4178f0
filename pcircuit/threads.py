"""Work in plain threads: kernels release the interpreter lock, and results never depend on the number of threads.

Threads live for one call.  So a process may fork between calls, and while other threads are in a call, and no thread is
left behind when a call ends, by an exception or by Ctrl-C as well.
"""
from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def map_in_threads(function: Callable, arguments: Sequence, n_jobs: int | None) -> Iterator[Iterator]:
    """Context of an iterator over ``function(argument)`` in the order of `arguments`, `n_jobs` at a time.

    Work is cut by the caller without looking at `n_jobs` (None: all CPUs), and results are combined in order, so that
    no result ever depends on the number of threads.  No more than ``n_jobs + 1`` results exist at once.  At the end of
    the context no thread is left; what has not begun then is dropped.

    Examples
    --------
    >>> with map_in_threads(abs, [-1, 2, -3], 2) as results:
    ...     list(results)
    [1, 2, 3]
    """
    n_jobs = min(count_jobs(n_jobs), len(arguments))
    if n_jobs <= 1:
        yield map(function, arguments)
        return
    pool = ThreadPoolExecutor(n_jobs)
    try:
        yield _in_order(pool, function, arguments, n_jobs)
    finally:
        pool.shutdown(cancel_futures=True)


def _in_order(pool, function, arguments, n_jobs):
    """Yield the results, with one more than `n_jobs` asked for in advance."""
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
