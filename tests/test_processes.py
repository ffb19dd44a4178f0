"""Threads, processes and signals: the same bits everywhere, no deadlock after a fork, nothing half done by Ctrl-C."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.thorough

SHARED = """
import hashlib, os, signal, sys, threading
import numpy as np
import pcircuit
import pcircuit.inference.flows
from hld import Monitor

pcircuit.inference.flows.LEAST_WORK = 0  # threads even for so few rows
rng = np.random.default_rng(0)
rows = rng.integers(0, 3, size=(1000, 12))
circuit = pcircuit.hclt(rows[:500], 3, rng=1)

def answers(n_jobs=2):
    '''A digest of what every kind of kernel computes.'''
    digest = hashlib.sha256()
    fitted, history = pcircuit.fit_em(circuit, rows, num_epochs=2, n_jobs=n_jobs)
    moments = pcircuit.exact_moments(fitted)
    monitor = Monitor(fitted, seed=3)
    for part in (history, pcircuit.log_likelihood(fitted, rows, n_jobs=n_jobs),
                 pcircuit.mean_node_likelihoods(fitted, rows, n_jobs=n_jobs), pcircuit.sample(fitted, 50, rng=2),
                 moments.mean, moments.diagonal(), monitor.update(rows[:100]).log_e_values):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()

"""


def run(program, timeout=200, **environment):
    """Output lines of a program after SHARED in a new process, under the engine of the test; it must end by itself."""
    result = subprocess.run(
        [sys.executable, "-c", SHARED + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.split("\n")[:-1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forks_while_other_threads_compute(engine):
    """Children of a process whose other threads are inside kernels compute the same, and end."""
    lines = run("""
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)             # of forks beside threads, from Python 3.12
        expected, stop = answers(), threading.Event()
        def busy():
            while not stop.is_set():
                pcircuit.log_likelihood(circuit, rows, n_jobs=2)
        threads = [threading.Thread(target=busy) for _ in range(2)]
        for thread in threads: thread.start()
        children = []
        for _ in range(6):
            child = os.fork()
            if child == 0:
                signal.alarm(60)                                         # a deadlock ends the child by a signal
                os._exit(0 if answers() == expected else 1)
            children.append(child)
        print([os.waitpid(child, 0)[1] for child in children])
        stop.set()
        for thread in threads: thread.join()
    """)
    assert lines == ["[0, 0, 0, 0, 0, 0]"]


INTERRUPT = """
    import time
    def interrupt_soon():
        time.sleep({delay})
        os.kill(os.getpid(), signal.SIGINT)
    before = circuit.regions[0].probs.copy()
    expected = answers()
    threading.Thread(target=interrupt_soon).start()
    try:
        {call}
        print("not interrupted")
    except KeyboardInterrupt:
        for _ in range(2000):                      # a thread that was just being started ends by itself
            if threading.active_count() == 1: break
            time.sleep(0.01)
        print("interrupted", [thread for thread in threading.enumerate() if thread.is_alive()][1:])
    print((circuit.regions[0].probs == before).all(), answers() == expected)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT of POSIX")
@pytest.mark.parametrize("delay", [0.3, 0.45])
def test_ctrl_c_inside_fit_em(engine, delay):
    """No thread is left running, the circuit is as it was, and the next fit is right."""
    lines = run(
        INTERRUPT.format(
            delay=delay, call="pcircuit.fit_em(circuit, rows, num_epochs=10**6, n_jobs=2)"
        )
    )
    assert lines == ["interrupted []", "True True"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT of POSIX")
def test_ctrl_c_inside_a_monitor_leaves_it_as_it_was():
    lines = run(
        """
        import time
        monitor, same = Monitor(circuit, seed=4), Monitor(circuit, seed=4)
        holes = np.where(rng.random(rows.shape) < 0.1, -1, rows)
        for m in (monitor, same):
            m.update(holes[:50])
        def interrupt_soon():
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt_soon).start()
        try:
            monitor.update(np.tile(holes, (500, 1)))
            print("not interrupted")
        except KeyboardInterrupt:
            print("interrupted", monitor.num_rows)
        one, other = monitor.update(holes[50:80]), same.update(holes[50:80])
        print(one.to_dict() == other.to_dict(), (one.log_e_values == other.log_e_values).all())
    """,
        PCIRCUIT_ENGINE="numpy",
    )
    assert lines == ["interrupted 50", "True True"]


def test_signals_are_left_alone():
    """The library installs no handler of its own."""
    assert run(
        "answers(); print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)",
        PCIRCUIT_ENGINE="numpy",
    ) == ["True"]
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
