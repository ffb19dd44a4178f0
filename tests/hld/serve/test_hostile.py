"""Requests that mean no good: none ends the process, none gets more than its share, and others are still served."""

import collections
import os
import pathlib
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hostile_requests import hostile, largest, mutated, raw, request
from live_server import ROOT, Client, bodies, csv_bytes, process, served

from hld.apps.serve.limits import Limits
from hld.apps.serve.watches import lock_states

pytestmark = pytest.mark.thorough

LIMITS = Limits(threads=2, max_bytes=100_000, max_rows=2000, body_seconds=0.5, head_seconds=0.5)
MOST_SECONDS, MOST_MEMORY = (
    5.0,
    256.0,
)  # of a thread, and MB above an idle service, for any body within the limits


def used(run):
    """Seconds of processors that a process has used, and the most memory that it had, in MB."""
    fields = pathlib.Path(f"/proc/{run.pid}/stat").read_text().rpartition(")")[2].split()
    status = pathlib.Path(f"/proc/{run.pid}/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), peak


def attack(address, shop, num_bodies, num_requests, seed):
    """Send broken bodies and requests from four clients, while a fifth asks as it should; count answers by status."""
    forms, good = bodies(shop["calm"][:60]), csv_bytes(shop["calm"])
    found, done, seconds = collections.Counter(), threading.Event(), []
    client = Client(address)
    expected = client.json("POST", "/v1/test", good, "text/csv")[1]["pvalue"]

    def send(own):
        chance, client = random.Random(own), Client(address)
        for _ in range(num_bodies // 4):
            found[client.ask("POST", "/v1/test", *mutated(chance, forms), detail="verdict")[0]] += 1
        for _ in range(num_requests // 4):
            answer = raw(address, hostile(chance, forms), close=chance.random() < 0.3)
            found[answer[:12] or b"closed"] += 1
        client.close()

    def ask():
        client = Client(address)
        while not done.is_set():
            start = time.perf_counter()
            status, answer = client.json("POST", "/v1/test", good, "text/csv")
            seconds.append(time.perf_counter() - start)
            assert (status, answer["pvalue"]) == (200, expected)
            time.sleep(0.05)
        client.close()

    with ThreadPoolExecutor(5) as threads:
        asking = threads.submit(ask)
        try:
            for sent in [threads.submit(send, seed + i) for i in range(4)]:
                sent.result()
        finally:
            done.set()
        asking.result()
    assert client.json("POST", "/v1/test", good, "text/csv")[1]["pvalue"] == expected
    assert not re.findall(
        r'hld_requests_total.*status="(?:5|0).*', client.ask("GET", "/metrics")[2].decode()
    )
    client.close()
    assert sum(found.values()) == num_bodies // 4 * 4 + num_requests // 4 * 4
    assert {one for one in found if isinstance(one, int)} <= {200, 400, 413}
    assert not [one for one in found if isinstance(one, bytes) and one.startswith(b"HTTP/1.1 5")]
    assert statistics.median(seconds) < 5


def test_a_hundred_broken_bodies_and_requests(shop):
    with process(shop["orders"]) as (run, address):
        attack(address, shop, 100, 32, 1)
        assert run.poll() is None


@pytest.mark.slow
def test_the_largest_bodies_take_no_more_than_is_allowed(shop):
    """None ends the process or meets an error of it, and what they take is given back."""
    with process(shop["orders"], "--seconds", 50) as (run, address):
        client, folder = Client(address), pathlib.Path(f"/proc/{run.pid}")
        client.json("POST", "/v1/test", csv_bytes(shop["calm"]), "text/csv")
        idle = used(run)[1]
        for name, (body, kind) in largest(Limits().max_bytes):
            (folder / "clear_refs").write_text("5")  # the most memory is counted anew
            before = used(run)[0]
            answer = client.ask("POST", "/v1/test", body, kind, detail="verdict")
            seconds, memory = used(run)[0] - before, used(run)[1] - idle
            assert len(body) <= Limits().max_bytes
            assert answer[0] in (200, 400, 413), name
            assert (seconds < MOST_SECONDS, memory < MOST_MEMORY) == (True, True), name
        assert run.poll() is None
        client.close()


STUCK = """
import sys, time
from hld.apps.serve import app, server
from hld.apps.serve.limits import Limits
from hld.apps.serve.models import Models
app.judge = lambda *_: (print("begun", flush=True), time.sleep(600))
assert server.STOP_SECONDS < 25
server.STOP_SECONDS = 1
models = Models({"orders": sys.argv[1]}, sys.argv[2])
serve = {"host": "127.0.0.1", "port": 0, "token": None, "watch_seconds": 0}
server.serve(models, Limits(threads=2), told=lambda address: print(address, flush=True), **serve)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_does_not_wait_for_threads_and_frees_the_states(shop, tmp_path, number):
    """The end of the process waited for a thread however long it computed: 118 s were seen."""
    arguments = [sys.executable, "-c", STUCK, str(shop["orders"]), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PCIRCUIT_ENGINE": "numpy"}
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment) as run:
        try:
            address = run.stdout.readline().strip()
            body = request(csv_bytes(shop["calm"]), "text/csv")
            with ThreadPoolExecutor(1) as threads:
                answer = threads.submit(raw, address, body, seconds=60)
                assert run.stdout.readline() == "begun\n"
                run.send_signal(number)
                start = time.monotonic()
                assert run.wait(20) == 0
                assert time.monotonic() - start < 15
                assert answer.result().startswith(b"HTTP/1.1 503")
        finally:
            run.kill()
    os.close(lock_states(tmp_path, "orders"))


def test_slow_clients_are_hung_up_on_and_delay_nobody(shop):
    """Half a head, half a body, and a letter at a time: each is closed within its time, others are served meanwhile."""
    body = csv_bytes(shop["calm"])
    with served({"orders": shop["orders"]}, limits=LIMITS) as (address, service):
        answers = {}

        def slow(name, data, letters):
            host, port = address[len("http://") :].strip("/").split(":")
            start = time.perf_counter()
            with socket.create_connection((host, int(port)), timeout=20) as line:
                try:
                    line.sendall(data)
                    for letter in letters:
                        time.sleep(0.05)
                        line.sendall(letter)
                    answer = line.recv(4096)
                except ConnectionError:
                    answer = b""
            answers[name] = answer[:12], time.perf_counter() - start

        whole = request(body, "text/csv")
        cases = {
            "head": (whole[:30], []),
            "body": (whole[:-50], []),
            "nothing": (b"", []),
            "letters": (b"", [bytes([one]) for one in whole[:60]]),
            "letters of a body": (whole[:-60], [bytes([one]) for one in whole[-60:]]),
        }
        threads = [
            threading.Thread(target=slow, args=(name, *case)) for name, case in cases.items()
        ]
        for thread in threads:
            thread.start()
        client = Client(address)
        for _ in range(5):
            assert client.json("POST", "/v1/test", body, "text/csv")[0] == 200
        for thread in threads:
            thread.join()
        client.close()
        assert service.bodies.held == 0
    for name, (answer, seconds) in answers.items():
        # who goes on talking is hung up on before the answer is read
        assert answer == b"HTTP/1.1 408" if name == "body" else answer in (b"", b"HTTP/1.1 408"), (
            name
        )
        assert seconds < 15, name


def test_no_path_of_a_request_is_opened(shop, monkeypatch, tmp_path):
    """Names of files in every part of a request: nothing is opened while it is answered."""
    import sys

    secret = tmp_path / "secret.csv"
    secret.write_text("colour,visits,income\nred,1,2.0\n")
    opened = []
    with served({"orders": shop["orders"]}) as (address, _):
        client = Client(address)
        client.json("POST", "/v1/test", csv_bytes(shop["calm"]), "text/csv")
        watching = [True]
        sys.addaudithook(
            lambda event, args: opened.append(args[0]) if event == "open" and watching[0] else None
        )
        name = str(secret).encode()
        for body, kind in (
            (name, "text/csv"),
            (b'{"rows": "%s"}' % name, "application/json"),
            (name, "application/json"),
        ):
            assert client.json("POST", "/v1/test", body, kind)[0] == 400
        assert client.json("GET", f"/..%2f..{secret}")[0] == 404
        assert client.json("GET", "/v1/report", id=str(secret))[0] == 404
        assert client.json("GET", "/v1/model", model=str(secret))[0] == 404
        watching[0] = False
        client.close()
    assert [name for name in opened if "secret" in str(name)] == []
