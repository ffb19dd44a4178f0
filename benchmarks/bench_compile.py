"""What compilation costs: CPU seconds, memory and compiled functions, group by group.

    python -m benchmarks.bench_compile [GROUP]

Each group of kernels is compiled in a process of its own, with an empty cache: evaluation, EM (with its evaluation),
and everything.  CPU time counts more on a busy machine.
"""

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
        measure(wanted[0])
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


def measure(group: str) -> None:
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
    event.Listener.register(Compiled)  # an abstract class, known only now
    listener = Compiled(event)
    event.register("numba:compile", listener)
    started = time.process_time()
    calls[group]()
    taken = time.process_time() - started
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    files = len(list(pathlib.Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nbc")))
    print(f"| {group} | {taken:.1f} | {megabytes:.0f} | {listener.count} | {files} |", flush=True)


class Compiled:
    """Listener of Numba's compilation events: how many functions were compiled."""

    def __init__(self, event):
        self.count, self._end = 0, event.EventStatus.END

    def notify(self, event):
        """Receive an event: the beginning or the end of a compilation."""
        self.count += event.status == self._end


if __name__ == "__main__":
    main()
