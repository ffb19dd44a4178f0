"""The first second: what an import costs, and how soon a new process has tested its first batch.

    python -m benchmarks.bench_start [--quick]

Every line is a process of its own, started several times; the medians of the wall-clock seconds from start to end
are printed as a Markdown table.  "Test a batch" loads a saved detector of 14 columns and tests 100 rows, held in a
NumPy file; "fit and test" learns 1,000 rows of 50 columns with the defaults.  The compilation cache is a fresh folder,
"empty" for every process or "warm" from one before.  "Nowhere to write" is a container with a read-only file system and
no home.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from .measure import machine, markdown, median_time

MODEL = """
import sys, numpy as np, hld
table = np.random.default_rng(0).integers(0, 5, size=(2000, 14))
hld.HLDDetector(num_epochs=5).fit(table).save(sys.argv[1])
np.save(sys.argv[2], table[:100])
"""
TEST_A_BATCH = "import sys, numpy as np, hld; hld.load(sys.argv[1]).test(np.load(sys.argv[2]))"
FIT_AND_TEST = """
import numpy as np, hld
table = np.random.default_rng(0).normal(size=(1100, 50))
table[:, 1:] += table[:, :-1]
hld.HLDDetector().fit(table[:1000]).test(table[1000:])
"""
NOWHERE = {
    "NUMBA_CACHE_DIR": "/proc/none",
    "HOME": os.devnull,
    "XDG_CACHE_HOME": f"{os.devnull}/cache",
}
REFUSE_NUMBA = "import sys; sys.modules['numba'] = None; "  # importing it would now fail


def main():
    repeats = 3 if "--quick" in sys.argv else 9
    print(machine() + "\n")
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(pathlib.Path(folder) / name) for name in ("model.hld", "batch.npy")]
        run(MODEL, paths, folder, "made", {})
        fresh = iter(range(100))

        def seconds(program, cache=lambda: "warm", times=repeats, **environment):
            return median_time(lambda: run(program, paths, folder, cache(), environment), times)

        bare = seconds("import numpy")
        rows = [
            ("import numpy", bare),
            ("import pcircuit", seconds("import numpy, pcircuit")),
            ("import hld", seconds("import numpy, hld")),
            ("test a batch, empty cache", seconds(TEST_A_BATCH, lambda: f"empty{next(fresh)}", 3)),
            ("test a batch, nowhere to write", seconds(TEST_A_BATCH, times=3, **NOWHERE)),
            ("fit and test, empty cache", seconds(FIT_AND_TEST, lambda: f"empty{next(fresh)}", 3)),
        ]
        run(TEST_A_BATCH, paths, folder, "warm", {"PCIRCUIT_ENGINE": "numba"})
        rows += [
            ("test a batch, warm cache", seconds(TEST_A_BATCH)),
            (
                "test a batch, PCIRCUIT_ENGINE=numpy",
                seconds(REFUSE_NUMBA + TEST_A_BATCH, PCIRCUIT_ENGINE="numpy"),
            ),
        ]
    cells = [[name, f"{taken:.2f}", f"{taken - bare:.2f}"] for name, taken in rows]
    print(markdown(["process", "seconds", "more than bare NumPy"], cells))


def run(program, arguments, folder, cache, environment):
    """Run a program in a new process with a compilation cache of its own."""
    plain = {name: value for name, value in os.environ.items() if name != "PCIRCUIT_ENGINE"}
    variables = {**plain, "NUMBA_CACHE_DIR": str(pathlib.Path(folder) / cache), **environment}
    subprocess.run([sys.executable, "-c", program, *arguments], env=variables, check=True)


if __name__ == "__main__":
    main()
