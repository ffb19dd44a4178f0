"""Work in plain threads: kernels release the interpreter lock, and results never depend on the number of threads.

Threads live for one call of the library.  So a process may fork between calls, and while other threads are in a call,
and no thread is left behind when a call ends, even if an exception or Ctrl-C ends it.

The thread that calls is one of them, and works where it would only wait for the others.  A thread less is begun, and
none waits, for milliseconds at times, in the queue of a busy processor while the one that the caller left is idle.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from pcircuit.arguments import check_whole_number

T = TypeVar("T")
Result = TypeVar("Result")
MOST_UNITS, FEW_UNITS = 16, 8  # of work: of many rows, and of few
LEAST_ROWS, TILE, STEP = 512, 256, 32  # of a unit of many, and of few; all have a multiple of rows
UNIT_WORK = 8_000_000  # parameters times rows of a unit of few: half a millisecond and more


@contextmanager
def workers(n_jobs: int | None) -> Iterator[ThreadPoolExecutor | None]:
    """Context of threads for several calls of `map_in_threads`, which else begins and ends its own in each."""
    n_jobs = count_jobs(n_jobs)
    if n_jobs == 1:
        yield None
        return
    pool = ThreadPoolExecutor(n_jobs - 1)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def map_in_threads(
    function: Callable[[T], Result],
    arguments: Sequence[T],
    n_jobs: int | None,
    pool: ThreadPoolExecutor | None = None,
) -> Iterator[Iterator[Result]]:
    """Context of an iterator over ``function(argument)`` in the order of `arguments`, `n_jobs` at a time.

    Work is cut by the caller without looking at `n_jobs` (None: all CPUs), and results are combined in order, so that
    no result ever depends on the number of threads.  No more than ``2 n_jobs`` results exist at once.  At the end of
    the context no thread is left, and what has not begun then is dropped; threads of a `pool` go on until that ends.
    """
    n_jobs = min(count_jobs(n_jobs), len(arguments))
    if n_jobs <= 1:
        yield map(function, arguments)
        return
    if pool is not None:
        yield _in_order(pool, function, arguments, n_jobs)
        return
    with workers(n_jobs) as own:
        assert own is not None
        yield _in_order(own, function, arguments, n_jobs)


def rows_per_unit(num_rows: int, arithmetic: int, most_categories: int) -> int:
    """Rows of a unit of work whose results are arrays as large as the parameters, and are added up.

    Units are alike, and their number is a power of two, so that threads end together; it does not depend on theirs,
    since sums are rounded once for each unit.  One pays with so much arithmetic, with the rows of a tile, and with so
    many rows for each category that its sums cost little beside it.  Two, for two threads, pay with fewer.
    """
    few = min(max(arithmetic // UNIT_WORK, 2), FEW_UNITS)
    most = max(
        min(num_rows // TILE, num_rows // (8 * most_categories)),
        2 if num_rows > 3 * most_categories else 1,
    )
    units = min(max(num_rows // LEAST_ROWS, few), MOST_UNITS, most)
    units = 1 << units.bit_length() - 1
    return max(-(-num_rows // (units * STEP)), 1) * STEP


def _in_order(
    pool: ThreadPoolExecutor, function: Callable[[T], Result], arguments: Sequence[T], n_jobs: int
) -> Iterator[Result]:
    """Yield the results; at most 2 `n_jobs` pieces of work are begun, waiting for a thread, or done and not yielded."""
    left = deque(arguments)
    asked: deque[tuple[Future[Result], T]] = deque()
    while left or asked:
        while left and len(asked) < 2 * n_jobs:
            argument = left.popleft()
            asked.append((_submitted(pool, function, argument), argument))
        if asked[0][0].done() or not _help(function, asked):
            yield asked.popleft()[0].result()


def _submitted(
    pool: ThreadPoolExecutor, function: Callable[[T], Result], argument: T
) -> Future[Result]:
    """The work given to the pool; while the interpreter ends no pool takes any, and it is left to `_help`."""
    try:
        return pool.submit(function, argument)
    except RuntimeError as error:
        if "after interpreter shutdown" not in str(
            error
        ):  # which is raised before the work is in the pool's queue
            raise
        return Future()


def _help(function: Callable[[T], Result], asked: deque[tuple[Future[Result], T]]) -> bool:
    """Do the first piece of work that no thread has begun, in the caller's; returns whether there was one."""
    for i, (future, argument) in enumerate(asked):
        if future.cancel():
            own: Future[Result] = Future()
            try:
                own.set_result(function(argument))
            except Exception as error:  # raised when its turn comes
                own.set_exception(error)
            asked[i] = own, argument
            return True
    return False


def count_jobs(n_jobs: int | None) -> int:
    """`n_jobs` as a positive number of threads; None stands for the CPUs this process may use."""
    n_jobs = check_whole_number(n_jobs, "n_jobs", 1, none="all CPUs")
    if n_jobs is None:
        return (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
    return n_jobs
