"""Work in a bounded number of threads, with a bounded number of requests that wait for one.

NumPy and the kernels release the interpreter's lock, so a thread for each processor keeps all of them busy; more would
only take turns.  A thread cannot be stopped from outside: work looks at its deadline between its pieces (`check_time`),
and its thread counts as busy until it is done.  The end of the process waits for no thread.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

from hld.apps.serve.limits import Limits, Refusal, busy

_own = threading.local()  # the deadline of the work of a thread


class OutOfTime(Exception):
    """The request that work is done for has been answered, or will be in a moment."""


def check_time() -> None:
    """Raise `OutOfTime` after the deadline of what this thread works at."""
    if time.monotonic() > getattr(_own, "deadline", float("inf")):
        raise OutOfTime


class Pool:
    """Threads that compute for requests; used from one event loop."""

    def __init__(self, limits: Limits):
        self.limits, self.num_busy = limits, 0
        self.capacity = limits.threads + limits.queue
        self._waiting: SimpleQueue[Any] = SimpleQueue()
        for _ in range(limits.threads):
            threading.Thread(target=self._work, daemon=True, name="hld-serve").start()

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function returns, computed by one of the threads; `Refusal` if there is no room or no time left."""
        if self.num_busy >= self.capacity:
            raise busy(
                f"all {self.limits.threads} threads are busy and {self.limits.queue} requests wait"
            )
        loop, work = asyncio.get_running_loop(), Future[Any]()
        self.num_busy += 1
        work.add_done_callback(lambda _: self._release(loop))
        self._waiting.put((time.monotonic() + self.limits.seconds, work, function, arguments))
        result = asyncio.wrap_future(work)
        del (
            work,
            arguments,
        )  # an error would refer to itself through them, and hold a body until it is collected
        try:
            return await asyncio.wait_for(result, self.limits.seconds)
        except (asyncio.TimeoutError, OutOfTime):
            raise Refusal(
                504,
                "service",
                f"the request took longer than {self.limits.seconds:g} s: send fewer rows, "
                "or start the service with a larger --seconds",
            ) from None

    def close(self) -> None:
        """Let the threads end when their work is done."""
        for _ in range(self.limits.threads):
            self._waiting.put(None)

    def _work(self) -> None:
        """Do what waits, one after the other."""
        while (waiting := self._waiting.get()) is not None:
            _own.deadline, *work = waiting
            _do(*work)
            del waiting, work  # with the body of a request

    def _release(self, loop: asyncio.AbstractEventLoop) -> None:
        """One more may come; called in the thread that has become free."""
        with contextlib.suppress(RuntimeError):  # the loop has ended before the thread
            loop.call_soon_threadsafe(self._count_down)

    def _count_down(self) -> None:
        self.num_busy -= 1


async def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns, computed by a thread of its own, for which the end of the process does not wait."""
    work = Future[Any]()
    threading.Thread(target=_do, args=(work, function, arguments), daemon=True).start()
    return await asyncio.wrap_future(work)


def _do(work: Future[Any], function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Compute a result, unless nobody waits for it any more."""
    if work.set_running_or_notify_cancel():
        try:
            work.set_result(function(*arguments))
        except BaseException as error:
            work.set_exception(error)
            del work, arguments
