"""A service on a free port, in a thread of this process or in a process of its own, and a client for it."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
from urllib.parse import urlencode, urlsplit

import numpy as np
import pandas as pd

ROOT = pathlib.Path(__file__).resolve().parents[1]
IDLE = 5.0  # seconds after which a connection is opened anew: the service closes one that is idle for fifteen


def orders(rng, number, shift=0.0):
    """Rows of a small table of three columns."""
    kind = rng.integers(0, 3, number)
    return pd.DataFrame(
        {
            "colour": np.array(["red", "green", "<b>blue"])[kind],
            "visits": kind + rng.integers(0, 2, number),
            "income": (rng.normal(3 * kind) + shift).round(2),
        }
    )


def csv_bytes(frame):
    """A frame in CSV."""
    return frame.to_csv(index=False).encode()


def bodies(frame):
    """The same table in every form, with its media type."""
    plain = json.loads(frame.to_json(orient="records"))
    return {
        "csv": (csv_bytes(frame), "text/csv"),
        "rows": (json.dumps({"rows": plain}).encode(), "application/json"),
        "columns": (
            json.dumps({"columns": frame.to_dict("list")}).encode(),
            "application/json; charset=utf-8",
        ),
    }


class Client:
    """One connection to a service, opened when it is needed."""

    def __init__(self, address, token=None):
        parts = urlsplit(address)
        self.host, self.port, self.token, self._line, self._used = (
            parts.hostname,
            parts.port,
            token,
            None,
            0.0,
        )

    def ask(self, method, path, body=None, kind=None, headers=(), **parameters):
        """Status, headers and bytes of an answer."""
        if time.monotonic() - self._used > IDLE:
            self.close()
        if self._line is None:
            self._line = http.client.HTTPConnection(self.host, self.port, timeout=60)
        sent = dict(headers) | ({"Content-Type": kind} if kind else {})
        if self.token is not None:
            sent.setdefault("Authorization", f"Bearer {self.token}")
        try:
            self._line.request(
                method, path + (f"?{urlencode(parameters)}" if parameters else ""), body, sent
            )
            answer = self._line.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            self.close()  # or every later request would fail, too
            raise
        self._used = time.monotonic()
        if answer.getheader("connection") == "close":
            self.close()
        return answer.status, answer.headers, content

    def json(self, method, path, body=None, kind=None, **parameters):
        """Status and value of an answer in JSON."""
        status, headers, content = self.ask(method, path, body, kind, **parameters)
        assert headers["content-type"] == "application/json", content
        return status, json.loads(content)

    def close(self):
        """Close the connection."""
        if self._line is not None:
            self._line.close()
            self._line = None


@contextlib.contextmanager
def served(paths, *, token=None, limits=None, watch_seconds=0.0, **options):
    """The address of a service in a thread, and its `Service`."""
    from hld.apps.serve.app import Service
    from hld.apps.serve.limits import Limits
    from hld.apps.serve.models import Models
    from hld.apps.serve.server import address_of, opened_socket, server_of
    from hld.apps.serve.work import warm_up

    limits = limits or Limits(threads=2)
    service = Service(Models(paths, **options), limits, token)
    for model in service.models.loaded.values():
        warm_up(model, Limits())
    server = server_of(service, watch_seconds)
    with opened_socket("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        wait_until(lambda: server.started)
        try:
            yield address_of(listening), service
        finally:
            server.should_exit = True
            thread.join(60)
            assert not thread.is_alive()


@contextlib.contextmanager
def process(*arguments, environment=()):
    """``hld serve`` in a process of its own, and its address; killed in the end if it still runs."""
    variables = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PCIRCUIT_ENGINE": "numpy",
        **dict(environment),
    }
    command = [sys.executable, "-m", "hld", "serve", "--port", "0", *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables
    ) as run:
        try:
            line = run.stdout.readline()
            found = re.search(r"http://\S+", line)
            assert found, (line, run.stderr.read() if not line else "")
            yield run, found[0]
        finally:
            run.kill()


def wait_until(is_so, seconds=60):
    """Wait for something to be so."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
