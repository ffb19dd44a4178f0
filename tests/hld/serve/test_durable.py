"""What was acknowledged survives a kill; models are replaced under load; a stop loses no request."""

import contextlib
import http.client
import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
from live_server import ROOT, Client, csv_bytes, orders, process, served, wait_until

import hld
from hld.apps.serve.server import check_token

pytestmark = pytest.mark.thorough


def test_a_kill_at_any_moment_loses_nothing_that_was_acknowledged(shop, tmp_path):
    """Two processes, each killed at a chance moment of a stream; the second goes on where the first stood."""
    rng, told = np.random.default_rng(11), 0
    batches = [csv_bytes(orders(rng, 7)) for _ in range(400)]
    for delay in (0.3, 0.45):
        with process(shop["orders"], "--state", tmp_path, "--watch", 0) as (run, address):
            client = Client(address)
            rows = client.json("GET", "/v1/monitor")[1]["num_rows"]
            assert rows in (told, told + 7)  # the one that nobody was told of may be there
            told = rows
            killer = threading.Timer(delay, run.kill)
            killer.start()
            with contextlib.suppress(OSError, http.client.HTTPException):  # when it is killed
                while True:
                    status, answer = client.json(
                        "POST", "/v1/observe", batches[told // 7], "text/csv", after=told
                    )
                    assert (status, answer["num_rows"]) == (200, told + 7)
                    told = answer["num_rows"]
            killer.join()
            assert told > rows
            client.close()
    (state,) = tmp_path.glob("orders-*.monitor")
    detector = hld.load(shop["orders"])
    found = hld.Monitor.load(state, detector)
    assert found.num_rows in (told, told + 7)
    again = hld.Monitor(detector)
    for text in batches[: found.num_rows // 7]:
        last = again.update(pd.read_csv(io.BytesIO(text)))
    found = found.update_codes(np.zeros((0, 3), dtype=int))
    assert found.log_e_value == pytest.approx(last.log_e_value, rel=1e-9)


@pytest.mark.parametrize("with_state", [True, False])
def test_a_request_that_began_before_a_model_came_back_counts_too(shop, tmp_path, with_state):
    """A model is replaced and comes back while rows are sent slowly: they join those sent after its return."""
    path, state = tmp_path / "orders.hld", tmp_path if with_state else None
    shutil.copy(shop["orders"], path)
    body = csv_bytes(shop["calm"])
    with served({"orders": path}, state=state) as (address, service):
        client = Client(address)
        with socket.create_connection((client.host, client.port)) as line:
            line.sendall(
                b"POST /v1/observe HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
                b"Content-Length: %d\r\n\r\n" % len(body) + body[:-10]
            )
            wait_until(lambda: service.bodies.held > 0)  # it has begun, and holds the model of now
            for name in ("other", "orders"):
                shutil.copy(shop[name], tmp_path / "new")
                os.replace(tmp_path / "new", path)
                assert service.models.reload() == {"orders": "loaded"}
            assert (
                client.json("POST", "/v1/observe", body, "text/csv", after=0)[1]["num_rows"] == 300
            )
            line.sendall(body[-10:])
            assert line.makefile("rb").readline().startswith(b"HTTP/1.1 200")
        assert client.json("GET", "/v1/monitor")[1]["num_rows"] == 600
        client.close()
    if with_state:
        digest = service.models.loaded["orders"].digest
        (written,) = tmp_path.glob(f"*-{digest[:16]}.monitor")
        assert hld.Monitor.load(written, hld.load(shop["orders"])).num_rows == 600


def test_two_services_do_not_share_a_state(shop, tmp_path):
    """The second is refused while the first lives; a kill that nothing can catch makes room for it."""
    arguments = shop["orders"], "--state", tmp_path, "--watch", 0
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PCIRCUIT_ENGINE": "numpy"}
    with process(*arguments) as (run, address):
        client = Client(address)
        client.json("POST", "/v1/observe", csv_bytes(shop["calm"]), "text/csv")
        second = subprocess.run(
            [sys.executable, "-m", "hld", "serve", "--port", "0", *map(str, arguments)],
            text=True,
            capture_output=True,
            env=environment,
            timeout=60,
            check=False,
        )
        assert (second.returncode, second.stdout) == (2, "")
        said = "is used for the model 'orders' by another service: stop that one first"
        assert said in second.stderr
        assert client.json("GET", "/v1/monitor")[1]["num_rows"] == 300
        client.close()
        run.send_signal(signal.SIGKILL)
        run.wait(30)
    with process(*arguments) as (_, address):
        client = Client(address)
        assert client.json("GET", "/v1/monitor")[1]["num_rows"] == 300
        client.close()


def test_models_are_replaced_without_dropping_a_request(shop, tmp_path):
    """Files change every 50 ms while clients ask without a pause: every answer is of one of the two versions."""
    path = tmp_path / "orders.hld"
    shutil.copy(shop["orders"], path)
    digests, failures, done = set(), [], threading.Event()
    body = csv_bytes(shop["calm"])
    with served({"orders": path}, watch_seconds=0.02) as (address, service):

        def ask():
            client = Client(address)
            while not done.is_set():
                status, answer = client.json("POST", "/v1/test", body, "text/csv", detail="verdict")
                digests.add((answer.get("digest"), answer.get("pvalue")))
                if status != 200:
                    failures.append(answer)
            client.close()

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for turn in range(6):
            before = service.models.loaded["orders"]
            source = shop["other" if turn % 2 == 0 else "orders"]
            shutil.copy(source, tmp_path / "new")
            os.replace(tmp_path / "new", path)
            wait_until(lambda before=before: service.models.loaded["orders"] is not before)
        good = service.models.loaded["orders"]
        path.write_bytes(b"half a fi")
        wait_until(lambda: "orders" in service.models.errors)
        assert service.models.loaded["orders"] is good
        client = Client(address)
        assert "half a fi" not in str(client.json("GET", "/v1/model"))
        assert client.json("GET", "/v1/model")[1]["models"][0]["reload_error"].startswith(
            "ValueError"
        )
        assert (
            'hld_model_reload_failed{model="orders"} 1.0'
            in client.ask("GET", "/metrics")[2].decode()
        )
        client.close()
        done.set()
        for thread in threads:
            thread.join(30)
    assert failures == []
    assert len(digests) == 2  # two versions, each with its one p-value


def test_signals_reload_and_stop(shop, tmp_path):
    """SIGHUP reads the file again; at SIGTERM a request that is being sent is still answered, then the process ends."""
    path = tmp_path / "orders.hld"
    shutil.copy(shop["orders"], path)
    body = csv_bytes(shop["calm"])
    with process(path, "--watch", 0) as (run, address):
        client = Client(address)
        first = client.json("GET", "/v1/model")[1]["models"][0]["digest"]
        shutil.copy(shop["other"], path)
        run.send_signal(signal.SIGHUP)
        wait_until(lambda: client.json("GET", "/v1/model")[1]["models"][0]["digest"] != first)
        client.close()
        with socket.create_connection((client.host, client.port)) as line:
            head = (
                "POST /v1/test HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            )
            line.sendall(head.encode() + body[:100])
            time.sleep(0.3)
            run.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            line.sendall(body[100:])
            assert line.makefile("rb").readline().startswith(b"HTTP/1.1 200")
        assert run.wait(30) == 0
        assert run.stderr.read() == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_that_is_forced_answers_what_it_gives_up(shop, number):
    """A second Ctrl-C does not wait for a body that never ends: its client is told, and the log has no traceback."""
    with process(shop["orders"], "--watch", 0) as (run, address):
        client = Client(address)
        wait_until(lambda: client.ask("GET", "/readyz")[0] == 200)
        client.close()
        with socket.create_connection((client.host, client.port)) as line:
            line.sendall(
                b"POST /v1/test HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
                b"Content-Length: 1000\r\n\r\ncolour"
            )
            for one in (number, signal.SIGINT):
                time.sleep(0.3)
                run.send_signal(one)
            answer = line.makefile("rb").read()
        assert run.wait(30) == 0
        assert run.stderr.read() == ""
    assert answer.startswith(b"HTTP/1.1 503")
    assert b"the service is stopping" in answer


def test_the_command_refuses_what_it_cannot_serve(shop, tmp_path, capsys, monkeypatch):
    from hld.apps.command.parser import main

    monkeypatch.delenv("HLD_TOKEN", raising=False)
    with pytest.raises(
        ValueError, match=r"`host` is '0\.0\.0\.0', which others can reach: set HLD_TOKEN"
    ):
        check_token(None, "0.0.0.0")
    assert main(["serve", str(shop["orders"]), "--host", "0.0.0.0"]) == 2
    assert "HLD_TOKEN" in capsys.readouterr().err
    (tmp_path / "token").write_text("short")
    assert main(["serve", str(shop["orders"]), "--token-file", str(tmp_path / "token")]) == 2
    assert "at least 16" in capsys.readouterr().err
    assert main(["serve", str(tmp_path / "nothing.hld")]) == 2
    assert main(["serve", str(shop["orders"]), "--state", str(tmp_path / "nothing")]) == 2
    assert "`state`" in capsys.readouterr().err
    with served({"orders": shop["orders"]}) as (address, _):
        assert (
            main(["serve", str(shop["orders"]), "--port", address.rpartition(":")[2].strip("/")])
            == 2
        )
        assert "cannot listen" in capsys.readouterr().err
    check_token("x" * 16, "0.0.0.0")
