"""The thread that compiles: it ends, and it stops for an exit and for a fork."""
import os
import subprocess
import sys
import threading

import pytest
from engines import needs_numba

from pcircuit.engines.background import compile_in_background

ENDLESS = """
import os, sys, threading, time
import numba
from pcircuit.engines.background import compile_in_background, worker

begun = threading.Event()

def compile_for_ever():
    while True:
        numba.njit(lambda x: x + 1)(1)
        begun.set()

done = compile_in_background(compile_for_ever)
begun.wait()
thread = worker.thread
"""
EXIT = ENDLESS + """
print(thread.is_alive(), thread.daemon)
"""
FORK = ENDLESS + """
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


def run(program):
    """Output of a program in a new process, which must end by itself, in silence."""
    result = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True,
                            timeout=200)
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


@pytest.mark.thorough
@needs_numba
def test_a_process_may_end_while_kernels_compile():
    assert run(EXIT) == ["True True"]


@pytest.mark.thorough
@needs_numba
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_process_may_fork_while_kernels_compile():
    assert run(FORK) == ["7", "True True"]
