"""What compilation costs: CPU seconds, memory and compiled functions, group by group.

    python -m benchmarks.bench_compile [GROUP]

Each group of kernels is compiled in a process of its own, with an empty cache: evaluation of a circuit that never
rescales, and of one that does; EM of either, with its evaluation; and everything.  CPU seconds are those of the whole
call, Numba's import among them, and more on a busy machine.
"""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

GROUPS = ("evaluation", "evaluation, rescaled", "EM", "EM, rescaled", "everything")


def main() -> None:
    """Print a Markdown table, or that of one group."""
    wanted = [argument for argument in sys.argv[1:] if argument in GROUPS]
    if wanted and "--inside" in sys.argv:
        measure(wanted[0])
        return
    print("| kernels | CPU s | MB at the peak | functions |\n| :--- | ---: | ---: | ---: |")
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
    import pcircuit

    from .grid_circuits import circuit_and_rows

    circuit, rows = circuit_and_rows(28 if "rescaled" in group else 3, 4, 2, 1)
    started = time.process_time()
    if group == "everything":
        pcircuit.warm_up()
    elif "EM" in group:
        pcircuit.fit_em(circuit, rows, num_epochs=1)
    else:
        pcircuit.log_likelihood(circuit, rows)
    taken = time.process_time() - started
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    files = len(list(pathlib.Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nbc")))
    print(f"| {group} | {taken:.1f} | {megabytes:.0f} | {files} |", flush=True)


if __name__ == "__main__":
    main()
