"""Two trees of this repository compared: what likelihoods, EM, building a test and calling it cost in each.

    python -m benchmarks.before_after FOLDER [--rounds 5]

FOLDER holds the other tree, the earlier one.  Each round runs every measurement once in a process of the other tree and
once in one of this tree, so that whatever else the machine does falls on both alike.  A measurement is the least CPU
time of several calls after one that is not counted; the table has the least over the rounds, as other work only adds to
it, and the ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
MEASURED = """
import json, time
import numpy as np
import hld, pcircuit

def least(call, repeats):
    call()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)

rng = np.random.default_rng(0)
rows = (rng.random((4000, 49)) < rng.random(49)).astype(np.uint8)
rows[:, 1::2] ^= rows[:, ::2][:, :24] & (rng.random((4000, 24)) < 0.7)
small, large = (pcircuit.hclt(rows, num_latents=k, rng=0) for k in (4, 16))
batch = np.tile(rows, (5, 1))
fitted, _ = pcircuit.fit_em(small, rows, num_epochs=3, n_jobs=1)
test = hld.HLDTest(fitted)
hundred = rows[:100]
print(json.dumps({
    "`log_likelihood`, 20,000 rows, 49 variables, K = 16": least(
        lambda: pcircuit.log_likelihood(large, batch, n_jobs=1), 5),
    "`node_likelihoods`, 4,000 rows, K = 4": least(lambda: pcircuit.node_likelihoods(small, rows, n_jobs=1), 9),
    "`fit_em`, 4,000 rows, K = 16, 5 epochs": least(
        lambda: pcircuit.fit_em(large, rows, num_epochs=5, n_jobs=1), 3),
    "`HLDTest(circuit)`, K = 4: moments, law and quantile": least(lambda: hld.HLDTest(fitted)(hundred, alpha=0.01), 3),
    "a call of `HLDTest`, 100 rows": least(lambda: [test(hundred) for _ in range(20)], 9) / 20,
}))
"""


def main() -> None:
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=pathlib.Path, help="the tree before")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    found = [(run(asked.folder.resolve()), run(ROOT)) for _ in range(asked.rounds)]
    print("| CPU seconds of one thread | before | now | now / before |\n| --- | --- | --- | --- |")
    for name in found[0][0]:
        before, now = (min(pair[i][name] for pair in found) for i in (0, 1))
        print(f"| {name} | {before:.2g} | {now:.2g} | {now / before:.2f} |")


def run(tree: pathlib.Path) -> dict[str, float]:
    """The measurements in one process of a tree, by name."""
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(tree)}
    done = subprocess.run(
        [sys.executable, "-c", MEASURED],
        cwd=tree,
        env={**os.environ, **one_thread},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
