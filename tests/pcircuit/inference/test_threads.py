"""Work in threads: as many at a time as asked for, results in order, errors in their turn, no thread left behind."""
import threading

import pytest

from pcircuit.inference.threads import map_in_threads


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
    with pytest.raises(ZeroDivisionError), map_in_threads(lambda x: 1 / x, [1, 2, 0, 4], n_jobs) as results:
        found.extend(results)
    assert found == [1, 0.5]
    assert threading.active_count() == before
