"""Work in plain threads: kernels release the interpreter lock, and results never depend on the number of threads."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from pcircuit.arguments import check_whole_number

T = TypeVar("T")
Result = TypeVar("Result")


def map_in_threads(function: Callable[[T], Result], arguments: Sequence[T], n_jobs: int | None) -> Iterator[Result]:
    """Yield ``function(argument)`` in the order of `arguments`, at most `n_jobs` at a time (None: all CPUs).

    Work is cut by the caller without looking at `n_jobs`, and results are combined in order, so that no result
    ever depends on the number of threads.  No more than ``n_jobs + 1`` results exist at once.
    """
    n_jobs = min(count_jobs(n_jobs), len(arguments))
    if n_jobs <= 1:
        yield from map(function, arguments)
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        waiting: list[Future[Result]] = []
        for argument in arguments:
            waiting.append(pool.submit(function, argument))
            if len(waiting) > n_jobs:
                yield waiting.pop(0).result()
        while waiting:
            yield waiting.pop(0).result()


def count_jobs(n_jobs: int | None) -> int:
    """`n_jobs` as a positive number of threads; None stands for the CPUs this process may use."""
    n_jobs = check_whole_number(n_jobs, "n_jobs", 1, none="all CPUs")
    if n_jobs is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return n_jobs
