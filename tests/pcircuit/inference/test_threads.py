"""Work in threads: as many at a time as asked for, results in order, errors in their turn, no thread left behind."""

import subprocess
import sys
import threading

import pytest

from pcircuit.inference.threads import map_in_threads, workers


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_so_many_calls_run_at_the_same_time(n_jobs):
    together = threading.Barrier(n_jobs)  # passed only by so many threads at once

    def work(i):
        together.wait(timeout=20)
        return i

    with map_in_threads(work, range(2 * n_jobs), n_jobs) as results:
        assert list(results) == list(range(2 * n_jobs))


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_an_error_comes_in_its_turn_and_no_thread_is_left(n_jobs):
    before, found = threading.active_count(), []
    with (
        pytest.raises(ZeroDivisionError),
        map_in_threads(lambda x: 1 / x, [1, 2, 0, 4], n_jobs) as results,
    ):
        found.extend(results)
    assert found == [1, 0.5]
    assert threading.active_count() == before


def test_threads_for_several_calls_are_the_same_and_end_with_their_context():
    before = threading.active_count()
    with workers(2) as pool:
        for _ in range(3):
            with map_in_threads(
                lambda x: (x, threading.get_ident()), range(20), 2, pool
            ) as results:
                values, idents = zip(*results, strict=True)
            assert values == tuple(range(20))
            assert set(idents) <= {thread.ident for thread in pool._threads} | {
                threading.get_ident()
            }
            assert len(pool._threads) == 1  # beside the caller's
    assert threading.active_count() == before
    with workers(1) as none:
        assert none is None


ENDING = """
import atexit, threading
from pcircuit.inference.threads import map_in_threads

def squares():
    with map_in_threads(lambda x: x * x, range(9), 3) as results:
        return list(results)

def late():
    threading.main_thread().join()                # the interpreter ends, and waits for this thread
    print(squares())

squares()
atexit.register(lambda: print(squares()))
threading.Thread(target=late).start()
"""


def test_works_while_the_interpreter_ends():
    """No pool takes work then: the caller's thread does it all."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", ENDING],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (result.stdout, result.stderr) == (f"{[x * x for x in range(9)]}\n" * 2, "")
