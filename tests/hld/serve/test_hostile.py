"""Requests that mean no good: none ends the process, none gets more than its share, and others are still served."""

import random
import socket
import statistics
import threading
import time

import numpy as np
import pytest
from hostile_requests import hostile, raw, request
from live_server import Client, arrow, bodies, csv_bytes, served

from hld.serve.limits import Limits

pytestmark = pytest.mark.thorough

LIMITS = Limits(workers=2, max_bytes=100_000, max_rows=2000, body_seconds=0.5, head_seconds=0.5)


def attack(shop, number, seed, make=hostile):
    """Send requests that `make` makes from four clients, while one asks as it should.

    Returns the beginnings of the answers, the seconds that the one client waited each time, and the metrics.
    """
    forms = {name: (body, kind) for name, (body, kind) in bodies(shop["calm"][:60]).items()}
    forms["zstd"] = (
        arrow(
            shop["calm"][:60], options=__import__("pyarrow").ipc.IpcWriteOptions(compression="zstd")
        ),
        "application/vnd.apache.arrow.stream",
    )
    statuses, seconds, done = [], [], threading.Event()
    good = csv_bytes(shop["calm"])
    with served({"orders": shop["orders"]}, limits=LIMITS) as (address, _):
        client = Client(address)
        expected = client.json("POST", "/v1/test", good, "text/csv")[1]["pvalue"]

        def send(own):
            chance = random.Random(own)
            for _ in range(number // 4):
                statuses.append(
                    raw(
                        address,
                        make(chance, forms),
                        close=make is hostile and chance.random() < 0.3,
                    )[:12]
                )

        def ask():
            while not done.is_set():
                start = time.perf_counter()
                status, answer = client.json("POST", "/v1/test", good, "text/csv")
                seconds.append(time.perf_counter() - start)
                assert (status, answer["pvalue"]) == (200, expected)
                time.sleep(0.01)

        threads = [threading.Thread(target=send, args=(seed + i,)) for i in range(4)]
        asking = threading.Thread(target=ask)
        for thread in (*threads, asking):
            thread.start()
        for thread in threads:
            thread.join()
        done.set()
        asking.join()
        status, answer = client.json("POST", "/v1/test", good, "text/csv")
        assert (status, answer["pvalue"]) == (200, expected)
        assert client.ask("GET", "/readyz")[0] == 200
        text = client.ask("GET", "/metrics")[2].decode()
        client.close()
    return statuses, seconds, text


def check_attack(statuses, seconds, text, number):
    """Every hostile request was refused or was one that is right, none met an error of the service."""
    assert len(statuses) == number // 4 * 4
    assert not [one for one in statuses if one.startswith(b"HTTP/1.1 500")]
    assert 'status="500"' not in text
    assert sum(one.startswith(b"HTTP/1.1 4") for one in statuses) > number / 3
    assert len(seconds) > 3
    assert statistics.median(seconds) < 5


def test_hundreds_of_hostile_requests(shop):
    check_attack(*attack(shop, 200, 1), 200)


@pytest.mark.slow
def test_ten_thousand_hostile_requests(shop):
    """They are all refused, and delay a client at most twice as long as four clients that ask what it asks."""
    statuses, attacked, text = attack(shop, 10_000, 100)
    check_attack(statuses, attacked, text, 10_000)
    good = csv_bytes(shop["calm"])
    statuses, usual, _ = attack(shop, 800, 100, lambda chance, forms: request(good, "text/csv"))
    assert set(statuses) == {b"HTTP/1.1 200"}
    quantiles = {
        name: np.quantile(seconds, (0.5, 0.99)).round(4).tolist()
        for name, seconds in (("attacked", attacked), ("usual", usual))
    }
    print(quantiles)
    assert quantiles["attacked"][1] <= 2 * quantiles["usual"][1], quantiles


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
            (name, "application/vnd.apache.parquet"),
        ):
            assert client.json("POST", "/v1/test", body, kind)[0] == 400
        assert client.json("GET", f"/..%2f..{secret}")[0] == 404
        assert client.json("GET", "/v1/report", id=str(secret))[0] == 404
        assert client.json("GET", "/v1/model", model=str(secret))[0] == 404
        watching[0] = False
        client.close()
    assert [name for name in opened if "secret" in str(name)] == []
