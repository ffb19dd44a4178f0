"""``hld serve`` over real connections: requests per second, waiting times at 1 to 64 clients, memory over minutes.

    python -m benchmarks.bench_serve [--quick] [--minutes M] [--model FILE]

The service runs in a process of its own, the clients in threads of another one, on the same machine: with few cores
they take time from each other, so the numbers are lower bounds.  Every client sends its next request when it has
received the answer to the last one.  The processor time that the service takes for a request depends least on what else
runs; its inverse is what one core can serve.  Requests that are turned away (503) are counted separately.  Memory is
the resident set of the service, read before, during and after M minutes of 16 clients.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

import hld

from .measure import machine

CLIENTS = (1, 2, 4, 8, 16, 32, 64)
COLUMNS = 12


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="1.5 seconds for each setting instead of eight"
    )
    parser.add_argument("--minutes", type=float, default=0.0, help="of memory (default: none)")
    parser.add_argument("--model", help="file of the model: read if it is there, else written")
    options = parser.parse_args()
    seconds, rng = 1.5 if options.quick else 8.0, np.random.default_rng(0)
    print(machine() + "\n")
    with tempfile.TemporaryDirectory() as folder:
        model = options.model or os.path.join(folder, "bench.hld")
        if not os.path.exists(model):
            hld.HLDDetector(num_epochs=20).fit(table(rng, 5000)).save(model)
        with served(model, folder) as (port, process):
            settings = [
                ("/v1/test?detail=verdict", 100),
                ("/v1/test", 100),
                ("/v1/test?detail=verdict", 5000),
                ("/v1/observe", 100),
                ("/healthz", 0),
            ]
            print(
                "| request | rows | clients | a second | p50, ms | p99, ms | processor, ms | sent away |"
            )
            print("| :--- " + "| ---: " * 7 + "|")
            for path, rows in settings:
                body = csv_of(table(rng, rows)) if rows else None
                for count in CLIENTS if (path, rows) == settings[0] else (1, 16, 64):
                    found = line((port, process.pid), path, body, count, seconds)
                    print(f"| `{path}` | {rows:,} | {count} | {found} |", flush=True)
            if options.minutes:
                memory(port, process.pid, csv_of(table(rng, 1000)), options.minutes)


def table(rng, number) -> dict:
    """Dependent columns of a table: half of them levels, half of them numbers."""
    kind = rng.integers(0, 4, number)
    levels = np.array(["red", "green", "blue", "white", "black", "brown", "grey", "pink"])
    return {
        f"x{j}": levels[(kind + rng.integers(0, 3, number)) % 8]
        if j % 2
        else (kind + rng.normal(size=number)).round(3)
        for j in range(COLUMNS)
    }


def csv_of(columns) -> bytes:
    """Columns in CSV."""
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    return "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows), ""]).encode()


@contextlib.contextmanager
def served(model, folder):
    """The port and the process of a service."""
    command = [
        sys.executable,
        "-m",
        "hld",
        "serve",
        model,
        "--port",
        "0",
        "--state",
        folder,
        "--watch",
        "0",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            port = int(re.search(r":(\d+)/", process.stdout.readline())[1])
            while ask(http.client.HTTPConnection("127.0.0.1", port), "/readyz", None)[0] != 200:
                time.sleep(0.1)
            yield port, process
        finally:
            process.terminate()


def ask(connection, path, body) -> tuple:
    """Status of an answer, and its bytes."""
    connection.request(
        "GET" if body is None else "POST", path, body, {"Content-Type": "text/csv"} if body else {}
    )
    answer = connection.getresponse()
    return answer.status, answer.read()


def load(port, path, body, count, seconds) -> tuple:
    """Seconds of every answered request, and the number of those turned away, of so many clients."""
    times, away, end = [], [], time.perf_counter() + seconds

    def client():
        connection = http.client.HTTPConnection("127.0.0.1", port)
        while time.perf_counter() < end:
            start = time.perf_counter()
            status, content = ask(connection, path, body)
            assert status in (200, 503), content
            (times if status == 200 else away).append(time.perf_counter() - start)
        connection.close()

    threads = [threading.Thread(target=client) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return np.array(times), len(away)


def line(service, path, body, count, seconds) -> str:
    """A row of the table, for the port and the process of a service."""
    port, pid = service
    load(port, path, body, count, 0.2)
    before = processor_seconds(pid)
    times, away = load(port, path, body, count, seconds)
    spent = 1000 * (processor_seconds(pid) - before) / (len(times) + away)
    p50, p99 = 1000 * np.quantile(times, (0.5, 0.99))
    return f"{len(times) / seconds:,.0f} | {p50:.1f} | {p99:.1f} | {spent:.1f} | {away}"


def memory(port, pid, body, minutes) -> None:
    """Memory of the service under load: batches to test, to observe, in turns."""
    print("\n| minute | requests | memory, MB |\n| ---: | ---: | ---: |")
    start, total, turn = time.perf_counter(), 0, 0
    paths = ("/v1/test", "/v1/observe", "/v1/test?detail=verdict")
    while (passed := (time.perf_counter() - start) / 60) < minutes:
        print(f"| {passed:.1f} | {total:,} | {resident(pid):.0f} |", flush=True)
        total += len(load(port, paths[turn % len(paths)], body, 16, 15.0)[0])
        turn += 1
    print(f"| {passed:.1f} | {total:,} | {resident(pid):.0f} |")


def processor_seconds(pid) -> float:
    """Processor seconds that a process has used."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid) -> float:
    """Megabytes that a process holds in memory."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
