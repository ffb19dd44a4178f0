"""From which size a cluster pays: a batch tested in one process, and by Dask on two workers on the same machine.

    python -m benchmarks.bench_cluster [--rows 100000 1000000] [--columns 20]

The rows are drawn where they are tested, 125,000 to a partition, so that no table is held anywhere.  In one process
the partitions are chunks of `hld.judge_chunks`.  Wall and CPU seconds include those of drawing the rows; memory is the
peak of the largest worker.  Compare within a row: a busy machine
stretches wall seconds.
"""

from __future__ import annotations

import argparse
import os
import resource
import time

import numpy as np

from .measure import machine

PARTITION = 125_000


def rows_of(i: int, rows: int, columns: int) -> np.ndarray:
    """Partition i: sums of neighbouring normal numbers."""
    table = np.random.default_rng([7, i]).normal(size=(rows, columns))
    table[:, 1:] += table[:, :-1]
    return table


def used() -> tuple[int, float, float]:
    """Process, CPU seconds and peak of memory in MB, of a worker."""
    return (
        os.getpid(),
        time.process_time(),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
    )


def main() -> None:
    """Print one line a size."""
    import dask
    import distributed

    import hld
    import hld.dask
    from hld.detector.detector import judge_chunks

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", nargs="*", type=int, default=[100_000, 1_000_000])
    parser.add_argument("--columns", type=int, default=20)
    options = parser.parse_args()
    detector = hld.HLDDetector().fit(rows_of(2**32, 2000, options.columns))
    dask.config.set({"distributed.worker.profile.enabled": False})
    print(machine(), flush=True)
    print(
        "| rows | one process: wall, CPU s | two workers: wall, CPU s | ratio of wall, CPU | workers' memory, MB |"
    )
    print("| ---: | ---: | ---: | ---: | ---: |")
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        for rows in (4 * PARTITION, *options.rows):  # the first makes kernels ready everywhere
            sizes = [min(PARTITION, rows - start) for start in range(0, rows, PARTITION)]
            begun, cpu = time.perf_counter(), time.process_time()
            alone = judge_chunks(
                detector, (rows_of(i, n, options.columns) for i, n in enumerate(sizes))
            )
            own = time.perf_counter() - begun, time.process_time() - cpu
            before = client.run(used)
            begun, cpu = time.perf_counter(), time.process_time()
            pieces = [dask.delayed(rows_of)(i, n, options.columns) for i, n in enumerate(sizes)]
            found = hld.dask.judge(detector, pieces)
            both = [time.perf_counter() - begun, time.process_time() - cpu]
            after = client.run(used)
            both[1] += sum(after[name][1] - before[name][1] for name in after)
            assert abs(found.pvalue - alone.pvalue) <= 0.1 or found.reject == alone.reject
            ratios = [two / one for one, two in zip(own, both, strict=True)]
            print(
                f"| {rows:,} | {own[0]:.2f}, {own[1]:.2f} | {both[0]:.2f}, {both[1]:.2f} | "
                f"{ratios[0]:.2f}, {ratios[1]:.2f} | {max(one[2] for one in after.values()):.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
