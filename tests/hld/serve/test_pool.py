"""Threads that compute for requests: no more than allowed at a time, and none is waited for too long."""

import asyncio
import json
import threading
import time

import pytest

from hld.apps.serve.limits import Limits, Refusal, check_time
from hld.apps.serve.pool import Pool

CSV = b"colour,visits,income\nred,1,2.5\n"


def test_a_full_pool_sends_clients_away(guarded, monkeypatch):
    client, service = guarded
    monkeypatch.setattr(service.pool, "capacity", 0)
    status, headers, body = client.ask("POST", "/v1/test", CSV, "text/csv", model="a")
    assert (status, headers["retry-after"]) == (503, "1")
    assert json.loads(body)["error"]["field"] == "service"
    assert client.ask("GET", "/healthz")[0] == 200


def used(limits, scenario):
    """What a scenario, a coroutine that takes a pool, returns."""
    pool = Pool(limits, None)
    try:
        return asyncio.run(scenario(pool))
    finally:
        pool.close()


async def until(is_so):
    """Let others run until something is so."""
    for _ in range(1000):
        if is_so():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it did not happen in time")


def test_no_more_run_and_wait_than_allowed():
    async def scenario(pool):
        begun, go_on, seen = [], threading.Event(), []

        def work(i):
            begun.append(i)
            assert go_on.wait(30)
            seen.append(i)
            return i

        tasks = [asyncio.create_task(pool.run(work, i)) for i in range(3)]  # two run, one waits
        await until(lambda: len(begun) == 2)
        for _ in range(2):
            with pytest.raises(
                Refusal, match="all 2 threads are busy and 1 requests wait: try again"
            ) as refused:
                await pool.run(work, 9)
        assert (refused.value.status, refused.value.headers) == (503, {"Retry-After": "1"})
        assert (begun, pool.num_busy) == ([0, 1], 3)
        go_on.set()
        assert await asyncio.gather(*tasks) == [0, 1, 2]
        await until(lambda: pool.num_busy == 0)
        assert await pool.run(work, 4) == 4
        return sorted(seen)

    assert used(Limits(threads=2, queue=1), scenario) == [0, 1, 2, 4]


def test_a_request_out_of_time_is_answered_and_its_thread_is_busy_until_it_is_done():
    async def scenario(pool):
        go_on = threading.Event()
        try:
            with pytest.raises(
                Refusal, match=r"the request took longer than 0.05 s: send fewer rows"
            ) as refused:
                await pool.run(go_on.wait, 30)
            assert (refused.value.status, refused.value.field, pool.num_busy) == (504, "service", 1)
            for _ in range(2):  # what has waited for too long makes room for others
                with pytest.raises(Refusal, match="took longer"):
                    await pool.run(seen.append, "never begun")
                await until(lambda: pool.num_busy == 1)
        finally:
            go_on.set()
        await until(lambda: pool.num_busy == 0)

    seen = []
    used(Limits(threads=1, queue=1, seconds=0.05), scenario)
    assert seen == []


def test_work_that_looks_at_its_deadline_frees_its_thread():
    async def scenario(pool):
        def work(_):
            while True:
                time.sleep(0.01)
                check_time()

        with pytest.raises(Refusal, match="took longer") as refused:
            await pool.run(work, None)
        assert refused.value.status == 504
        start = time.monotonic()
        await until(lambda: pool.num_busy == 0)
        return time.monotonic() - start

    assert used(Limits(threads=1, seconds=0.1), scenario) < 1
    check_time()  # of a thread without a deadline
