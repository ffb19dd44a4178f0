"""The thread that compiles: it ends, and it stops for an exit and for a fork."""

import os
import subprocess
import sys
import threading

import pytest
from engines import needs_numba

from pcircuit.compiled.engines import background
from pcircuit.compiled.engines.background import compile_in_background

ENDLESS = """
import os, sys, threading, time
import numba
from pcircuit.compiled.engines.background import compile_in_background, worker

begun = threading.Event()

def compile_for_ever():
    while True:
        numba.njit(lambda x: x + 1)(1)
        begun.set()

done = compile_in_background(compile_for_ever)
begun.wait()
thread = worker.thread
"""
EXIT = (
    ENDLESS
    + """
print(thread.is_alive(), thread.daemon)
"""
)
FORK = (
    ENDLESS
    + """
child = os.fork()
if child == 0:
    # the locks of the compiler are free, no thread is left, and one may begin
    assert worker.thread is None and done.is_set()
    assert numba.njit(lambda x: 2 * x)(21) == 42
    ready = threading.Event()
    compile_in_background(ready.set).wait()
    os._exit(7 if ready.is_set() else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
begun.clear()
begun.wait()                                      # the parent goes on compiling
print(worker.thread is not thread, worker.thread.is_alive())
"""
)


AT_EXIT = """
import atexit, threading

def wait():
    print(done.is_set(), compile_in_background(print).wait(10))

atexit.register(wait)                             # before the thread's, hence called after it
from pcircuit.compiled.engines.background import compile_in_background, worker
done = compile_in_background(lambda: None)
done.wait()
while worker.thread is not None:
    pass
with worker.lock:
    worker.thread = threading.current_thread()    # as if it were busy
    done = compile_in_background(print)
    worker.thread = None
"""
LATE = """
import atexit, threading
from pcircuit.compiled.engines.background import compile_in_background

begun = threading.Event()
compile_in_background(begun.set)
begun.wait()
atexit.register(lambda: print(compile_in_background(lambda: None).wait(10)))
"""


def run(program):
    """Output of a program in a new process, which must end by itself, in silence."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=200
    )
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.split("\n")[:-1]


def test_jobs_are_done_one_after_the_other_and_the_thread_ends():
    found, threads = [], []

    def job(name):
        threads.append(threading.current_thread())
        found.append(name)

    for done in [compile_in_background(lambda name=name: job(name)) for name in "abc"]:
        assert done.wait(60)
    assert found == ["a", "b", "c"]
    for thread in threads:
        thread.join(60)
        assert thread.name == "pcircuit-compiler"
        assert not thread.is_alive()


@pytest.fixture
def endless(monkeypatch):
    """A worker of its own that compiles until it is told to; (worker, event of the job, event of each beginning)."""
    import numba

    worker, begun, enough = background._Worker(), threading.Event(), threading.Event()
    worker.registered = True  # this process is neither forked nor ended
    monkeypatch.setattr(background, "worker", worker)

    def compile_until_enough():
        begun.set()
        while not enough.is_set():
            numba.njit(lambda x: x + 1)(1)

    done = compile_in_background(compile_until_enough)
    assert begun.wait(60)
    yield worker, done, begun
    enough.set()
    assert done.wait(60)


@needs_numba
def test_around_a_fork_nothing_is_compiled_and_the_parent_goes_on(endless):
    worker, done, begun = endless
    thread = worker.thread
    worker.before_fork()
    assert not thread.is_alive()
    assert not done.is_set()
    added = threading.Thread(target=lambda: worker.add(lambda: None))
    added.start()
    added.join(0.2)
    assert added.is_alive()  # nobody may begin while the process forks
    begun.clear()
    worker.after_fork()
    added.join(60)
    assert begun.wait(60)  # the job that was stopped begins again
    assert worker.thread is not thread


@needs_numba
def test_a_child_has_no_jobs_and_nobody_waits_there(endless):
    worker, done, _ = endless
    worker.before_fork()
    worker.forget()
    assert done.is_set()
    assert worker.thread is None
    assert compile_in_background(lambda: None).wait(60)


def test_without_numba_jobs_are_done_all_the_same(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba.core", None)
    monkeypatch.setattr(background, "worker", background._Worker())
    background.worker.registered = True
    assert compile_in_background(lambda: None).wait(60)


@pytest.mark.thorough
@needs_numba
def test_a_process_may_end_while_kernels_compile():
    assert run(EXIT) == ["True True"]


@pytest.mark.thorough
@needs_numba
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_process_may_fork_while_kernels_compile():
    assert run(FORK) == ["7", "True True"]


def test_nobody_waits_at_exit_for_what_will_not_be_compiled():
    assert run(AT_EXIT) == ["True True"]


def test_a_job_may_come_when_no_thread_can_begin():
    """From Python 3.12 none begins once the interpreter ends."""
    assert run(LATE) == ["True"]
