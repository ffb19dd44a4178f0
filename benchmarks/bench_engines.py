"""What `auto` costs beside the better engine, and where its threshold lies: ten sessions, each a process of its own.

    python -m benchmarks.bench_engines [session ...]

CPU seconds from start to end, on one thread; "cold" is `auto` with an empty compilation cache.  "Just below" and "just
above" are sixty calls with a tenth fewer and a tenth more rows than `pcircuit.kernels.engine.SMALL_JOB` has NumPy
seconds for.  The compilation cache of the others is that of this checkout, filled by a run that does not count.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

from .measure import machine

START = """
import sys, numpy as np, pcircuit
from pcircuit.kernels.engine import SMALL_JOB
from pcircuit.inference.flows import flow_seconds
from pcircuit.inference.likelihood import upward_seconds
rng = np.random.default_rng(0)

def table(n, V, C=4):
    return (rng.integers(0, C, (n, 1)) + rng.integers(0, 2, (n, V))) % C

def loop(call, seconds, share):
    circuit = pcircuit.hclt(table(500, 20), 4, rng=0)
    n = next(n for n in range(100, 10**6, 20) if seconds(circuit, n) > share * SMALL_JOB)
    rows = table(n, 20)
    for _ in range(60):
        call(circuit, rows, n_jobs=1)
"""
NOTEBOOK = """
rows = table(300, 8)
circuit = pcircuit.hclt(rows, 2, rng=0)
for i in range(12):
    fitted, _ = pcircuit.fit_em(circuit, rows, num_epochs=2, n_jobs=1)
    fitted.log_likelihood(rows, n_jobs=1), fitted.sample(100, rng=i), fitted.marginal_tables()
    pcircuit.most_probable_state(fitted, np.full(8, -1))
"""
TEST = """
import hld
circuit = pcircuit.hclt(table(2000, 14), 4, rng=0)
test, monitor, rows = hld.HLDTest(circuit), hld.Monitor(circuit), table(1000, 14)
"""
SESSIONS = {
    "a notebook of sixty small calls": NOTEBOOK,
    "likelihoods just below": "loop(pcircuit.log_likelihood, upward_seconds, 0.9)",
    "likelihoods just above": "loop(pcircuit.log_likelihood, upward_seconds, 1.1)",
    "flows just below": "loop(pcircuit.expected_flows, flow_seconds, 0.9)",
    "flows just above": "loop(pcircuit.expected_flows, flow_seconds, 1.1)",
    "fit of 2,000 x 20": "rows = table(2000, 20)\n"
    "pcircuit.fit_em(pcircuit.hclt(rows, 4, rng=0), rows, n_jobs=1)",
    "fit of 100,000 x 50, ten epochs": "rows = table(100_000, 50)\n"
    "pcircuit.fit_em(pcircuit.hclt(rows, 4, rng=0), rows, num_epochs=10, n_jobs=1)",
    "a service: 200 batches of 100 rows": TEST + "for _ in range(200): test(rows[:100])",
    "a monitor: 1,000 single rows": TEST + "for row in rows: monitor.update(row[None])",
    "first `hld test` of a million rows": "from hld.apps.command import main\n"
    "main(['test', sys.argv[1], sys.argv[2]])",
}
MADE = """
import hld
hld.HLDDetector(num_epochs=3).fit(table(2000, 8)).save(sys.argv[1])
np.savetxt(sys.argv[2], table(1_000_000, 8), "%d", ",", header=",".join(f"x{i}" for i in range(8)), comments="")
"""
ENGINES = ("numpy", "numba", "auto")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sessions", nargs="*", help="parts of their names; all by default")
    options = parser.parse_args()
    columns = *ENGINES, "auto / better", "cold", "cold - better"
    print(f"{machine()}\n\n| session | {' | '.join(columns)} |")
    print("| :--- |" + " ---: |" * len(columns))
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(pathlib.Path(folder, name)) for name in ("model.hld", "batch.csv")]
        chosen = {
            name: program
            for name, program in SESSIONS.items()
            if not options.sessions or any(part in name for part in options.sessions)
        }
        if any("argv" in program for program in chosen.values()):
            cpu_seconds(MADE, paths, "numpy")
        for name, program in chosen.items():
            found = []
            for engine in ENGINES:
                if engine != "numpy":
                    cpu_seconds(program, paths, engine)
                found.append(cpu_seconds(program, paths, engine))
            better = min(found[:2])
            with tempfile.TemporaryDirectory() as cache:
                cold = cpu_seconds(program, paths, "auto", NUMBA_CACHE_DIR=cache)
            found += [found[2] / better, cold, cold - better]
            print(f"| {name} | {' | '.join(f'{one:.2f}' for one in found)} |", flush=True)


def cpu_seconds(program: str, paths: list[str], engine: str, **environment: str) -> float:
    """CPU seconds of a process, user and system."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", START + program, *paths],
        stdout=subprocess.DEVNULL,
        env={
            **os.environ,
            "PCIRCUIT_ENGINE": engine,
            "OPENBLAS_NUM_THREADS": "1",
            **environment,
        },
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"exit status {os.waitstatus_to_exitcode(status)} of: {program}")
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
