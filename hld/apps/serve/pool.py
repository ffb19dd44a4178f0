"""Work in a bounded number of threads, or of processes that load the same model files; a bounded number waits.

NumPy and the kernels release the interpreter's lock, but most of a small request is Python, so the threads of one
process keep little more than one processor busy, and several processes (`--workers`) as many as there are.  HTTP,
monitors and metrics stay in the first process, so every request meets the same state.  Work cannot be stopped from
outside: it looks at its deadline between its pieces (`check_time`), and counts as busy until it is done.
"""

import asyncio
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

from hld.apps.serve.limits import Limits, OutOfTime, Refusal, busy, set_deadline
from hld.apps.serve.models import LoadedModel, Models, Stored
from hld.apps.serve.work import warm_up


class Pool:
    """What computes for requests; used from one event loop."""

    def __init__(self, limits: Limits, models: Models) -> None:
        self.limits, self.models = limits, models
        self._busy: set[Any] = set()  # what is computed, or waits
        self.is_one_process = limits.workers == 1
        self.size = limits.threads if self.is_one_process else limits.workers
        self.capacity = self.size + limits.queue
        self._executor = self._started()

    def _started(self) -> Executor:
        """Threads, or processes each of which loads the models and tries them first."""
        if self.is_one_process:
            return ThreadPoolExecutor(self.size)
        stored = [one.stored for one in self.models.loaded.values()]
        executor = ProcessPoolExecutor(
            self.size,
            multiprocessing.get_context("spawn"),
            initializer=_begin,
            initargs=(stored, self.limits),
        )
        for _ in range(self.size):
            executor.submit(int)  # nothing: a process is there when it is done
        return executor

    @property
    def num_busy(self) -> int:
        """Requests that are computed or wait, those among them that nobody waits for any more."""
        return len(self._busy)

    async def run(self, function: Callable[..., Any], model: LoadedModel, *arguments: Any) -> Any:
        """What a function of a model returns; `Refusal` if there is no room or no time left."""
        if self.num_busy >= self.capacity:
            raise busy(f"all {self.size} threads are busy and {self.limits.queue} requests wait")
        where = model if self.is_one_process else model.stored
        deadline = time.monotonic() + self.limits.seconds
        try:
            work = self._executor.submit(_timed, deadline, function, where, *arguments)
            self._busy.add(work)
            work.add_done_callback(self._busy.discard)
            result = asyncio.wrap_future(work)
            # an error would refer to itself through them, and hold a body until it is collected
            del work, arguments
            return await asyncio.wait_for(result, self.limits.seconds)
        except (asyncio.TimeoutError, OutOfTime):
            raise Refusal(
                504,
                "service",
                f"the request took longer than {self.limits.seconds:g} s: send fewer rows, "
                "or start the service with a larger --seconds",
            ) from None
        except BrokenExecutor:
            self._executor = self._started()
            raise busy("a process that computes was ended") from None

    def close(self) -> None:
        """Let threads and processes end when their work is done."""
        self._executor.shutdown(wait=not self.num_busy, cancel_futures=True)


def _timed(deadline: float, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns that has to end in time."""
    set_deadline(deadline)
    return function(*arguments)


def _begin(models: list[Stored], limits: Limits) -> None:
    """Prepare a process that computes: it ends with the one that began it, and only then."""
    for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for model in models:
        warm_up(model, limits)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(0)
