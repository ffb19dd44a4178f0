"""Compilation in a background thread that stops when the process ends or forks.

A thread that is inside the compiler must not be there while the interpreter, or LLVM, is torn down, nor may a fork
copy the locks that it holds.  So it can be stopped: Numba announces each of its passes to listeners, and the listener
here raises in this thread once it is asked to stop, at the next pass, hence at the latest after the longest one (the
optimisation of one kernel, a second or two).  Locks are released on the way, and finished kernels are kept.

    at exit       stopped, and waited for; none begins after
    at a fork     stopped before, restarted in the parent; the child has no thread and starts its own when it must
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from typing import Any

KINDS = ("numba:run_pass", "numba:compile")


class Stopped(BaseException):
    """Raised inside the compiler; not an Exception, so that nothing there takes it for an error of the kernel."""


class _Worker:
    """The thread, its jobs and whether it is to stop; one for the process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.jobs: list[tuple[Callable[[], None], threading.Event]] = []
        self.thread: threading.Thread | None = None
        self.stopping = self.listens = self.registered = self.ended = False

    def add(self, job: Callable[[], None]) -> threading.Event:
        """Queue a job; the thread lives as long as there are any."""
        done = threading.Event()
        with self.lock:
            if self.ended:
                done.set()
                return done
            if not self.registered:
                atexit.register(self.end)
                if hasattr(os, "register_at_fork"):
                    os.register_at_fork(
                        before=self.before_fork,
                        after_in_parent=self.after_fork,
                        after_in_child=self.forget,
                    )
                self.registered = True
            self.jobs.append((job, done))
            self.resume()
        return done

    def resume(self) -> None:
        """Start the thread if there is something to do and none is at work."""
        with self.lock:
            self.stopping = False
            if self.jobs and self.thread is None and not self.ended:
                thread = self.thread = threading.Thread(
                    target=self.work, name="pcircuit-compiler", daemon=True
                )
                try:
                    thread.start()
                except RuntimeError:  # the interpreter is ending, or the system has no more threads
                    self.thread = None
                    self.release()

    def work(self) -> None:
        """Do the jobs, which raise nothing of their own; one that is stopped stays queued."""
        try:
            self.listen()
            while True:
                with self.lock:
                    if not self.jobs or self.stopping:
                        self.thread = None
                        return
                    job, done = self.jobs[0]
                job()
                with self.lock:
                    self.jobs.pop(0)
                done.set()
        except Stopped:
            self.thread = None

    def listen(self) -> None:
        """Ask Numba, if it is there, to announce its passes."""
        if self.listens:
            return
        try:
            from numba.core import event
        except ModuleNotFoundError:  # who compiles says so
            return

        class Listener(event.Listener):  # type: ignore[misc,no-any-unimported,unused-ignore]
            """Raises in the background thread that is to stop."""

            def on_start(self, event: Any) -> None:
                if worker.stopping and threading.current_thread() is worker.thread:
                    raise Stopped

            def on_end(self, event: Any) -> None:
                """Nothing: an exception would hide another."""

        listener: Any = Listener()
        for kind in KINDS:
            event.register(kind, listener)  # type: ignore[no-untyped-call,unused-ignore]
        self.listens = True

    def stop(self) -> None:
        """Stop the thread and wait for its end."""
        self.stopping, thread = True, self.thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def end(self) -> None:
        """At exit: stop, and begin nothing more; what is called at exit after this may compile by itself."""
        with self.lock:
            self.ended = True
        self.stop()
        self.release()

    def release(self) -> None:
        """Drop the jobs; whoever waits for them may compile."""
        for _, done in self.jobs:
            done.set()
        self.jobs = []

    def before_fork(self) -> None:
        """Stop, so that no lock is held, and let nobody begin."""
        self.stop()
        self.lock.acquire()

    def after_fork(self) -> None:
        """In the parent: go on."""
        self.lock.release()
        self.resume()

    def forget(self) -> None:
        """In the child: no thread, no jobs; whoever waits may compile."""
        self.lock = threading.RLock()
        self.thread, self.stopping = None, False
        self.release()


worker = _Worker()


def compile_in_background(job: Callable[[], None]) -> threading.Event:
    """Do a job after those that were given before; the event is set when it has ended, whether or not it failed."""
    return worker.add(job)
