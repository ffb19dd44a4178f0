"""What compilation costs: CPU seconds, memory and compiled functions, group by group.

    python -m benchmarks.bench_compile [--all | GROUP]

Each group of kernels is compiled in a process of its own, with an empty cache: evaluation, EM (with its evaluation),
and everything.  With ``--all`` each function has a line of its own, too, with the seconds that it
takes without those of the functions that it calls, which are compiled first.  CPU time counts more on a busy machine.
"""

from __future__ import annotations

import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

GROUPS = ("evaluation", "EM", "everything")


def main() -> None:
    """Print a Markdown table, or that of one group."""
    wanted = [argument for argument in sys.argv[1:] if argument in GROUPS]
    if wanted and "--inside" in sys.argv:
        measure(wanted[0], "--all" in sys.argv)
        return
    print(
        "| kernels | CPU s | MB at the peak | functions | files |\n| :--- | ---: | ---: | ---: | ---: |"
    )
    for group in wanted or GROUPS:
        with tempfile.TemporaryDirectory() as folder:
            environment = os.environ | {"NUMBA_CACHE_DIR": folder, "PCIRCUIT_ENGINE": "numba"}
            command = [
                sys.executable,
                "-m",
                "benchmarks.bench_compile",
                group,
                "--inside",
                *sys.argv[1:],
            ]
            subprocess.run(command, env=environment, check=True)


def measure(group: str, lists_functions: bool) -> None:
    """Compile a group in this process and print its line."""
    from numba.core import event

    import pcircuit

    circuit = pcircuit.rat_spn([2] * 4, num_units=2, depth=2, rng=0)
    rows = [[0] * 4]
    calls = {
        "evaluation": lambda: pcircuit.log_likelihood(circuit, rows),
        "EM": lambda: pcircuit.fit_em(circuit, rows, num_epochs=1),
        "everything": lambda: pcircuit.warm_up(),
    }
    event.Listener.register(Seconds)  # an abstract class, known only now
    listener = Seconds(event)
    event.register("numba:compile", listener)
    started = time.process_time()
    calls[group]()
    taken = time.process_time() - started
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    files = len(list(pathlib.Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nbc")))
    functions = sum(count for count, _ in listener.found.values())
    print(f"| {group} | {taken:.1f} | {megabytes:.0f} | {functions} | {files} |", flush=True)
    if lists_functions:
        for name, (count, own) in sorted(listener.found.items(), key=lambda item: -item[1][1]):
            print(f"| - {name} | {own:.2f} | | {count} | |", flush=True)


class Seconds:
    """Listener of Numba's compilation events: {function: [times compiled, own seconds]}."""

    def __init__(self, event):
        self.found: dict = {}
        self._start, self._open = event.EventStatus.START, []

    def notify(self, event):
        """Receive an event: the beginning or the end of a compilation."""
        if event.status == self._start:
            self._open.append([time.process_time(), 0.0])
            return
        began, of_callees = self._open.pop()
        taken = time.process_time() - began
        if self._open:
            self._open[-1][1] += taken
        function = event.data["dispatcher"].py_func
        row = self.found.setdefault(f"{function.__module__}.{function.__name__}", [0, 0.0])
        row[0], row[1] = row[0] + 1, row[1] + taken - of_callees


if __name__ == "__main__":
    main()
