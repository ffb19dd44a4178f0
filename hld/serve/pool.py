"""Work in a bounded number of threads, with a bounded number of requests that wait for one.

NumPy and the kernels release the interpreter's lock, so a thread for each processor keeps all of them busy; more would
only take turns.  A thread cannot be stopped from outside: a request that is out of time is answered, and its thread
counts as busy until it is done, so that the number of threads bounds what the service does at any moment.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from hld.serve.limits import Limits
from hld.serve.refusals import Refusal, busy


class Pool:
    """Threads that compute for requests; used from one event loop."""

    def __init__(self, limits: Limits):
        self.limits, self.num_busy = limits, 0
        self.capacity = limits.threads + limits.queue
        self._threads = ThreadPoolExecutor(limits.threads, thread_name_prefix="hld-serve")

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function returns, computed by one of the threads; `Refusal` if there is no room or no time left."""
        if self.num_busy >= self.capacity:
            raise busy(
                f"all {self.limits.threads} threads are busy and {self.limits.queue} requests wait"
            )
        loop = asyncio.get_running_loop()
        self.num_busy += 1
        work = self._threads.submit(function, *arguments)
        work.add_done_callback(lambda _: self._release(loop))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(work), self.limits.seconds)
        except asyncio.TimeoutError:
            raise Refusal(
                504,
                "service",
                f"the request took longer than {self.limits.seconds:g} s: send fewer rows, "
                "or start the service with a larger --seconds",
            ) from None

    def close(self) -> None:
        """Let the threads end when their work is done."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _release(self, loop: asyncio.AbstractEventLoop) -> None:
        """One more may come; called in the thread that has become free."""
        with contextlib.suppress(RuntimeError):  # the loop has ended before the thread
            loop.call_soon_threadsafe(self._count_down)

    def _count_down(self) -> None:
        self.num_busy -= 1
