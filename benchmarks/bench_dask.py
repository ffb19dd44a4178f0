"""What a cluster costs: batches and epochs on a Dask cluster of processes, beside the same rows here.

    python -m benchmarks.bench_dask [--rows 1e6 4e6] [--columns 50] [--workers 1 2] [--folder FOLDER]
                                     [--partition ROWS] [--rounds R] [--keep-memory] [--no-profile]

Rows are written to Parquet files of a million, half of the columns numbers, half text of ten levels, all of them
depending on one hidden number.  A detector is fitted to 20,000 of them.  Then, for each number of rows and of workers
(one thread each):

    batch   `hld.dask.judge`, beside `hld.judge_chunks` over the same files in this process
    epoch   an E-step over the codes that the workers hold, and the last evaluation, which is another one, beside
            `pcircuit.expected_flows` twice on one thread

Dask starts its workers with MALLOC_TRIM_THRESHOLD_=65536: freed memory goes back to the system at once, and every array
of NumPy is new memory, which the system fills with zeros first.  With --keep-memory they keep it, as this process does.
Dask also looks a hundred times a second at what a worker is doing, for its dashboard; with --no-profile it does not.

Both ways run in turns, R times each.  Time is given as wall-clock seconds and as processor seconds of all processes
that take part, as wall-clock time on a busy machine says little; medians over the rounds.  Overhead is the median ratio
of the processor seconds of a round.  Memory is the largest resident size of a worker.
"""

from __future__ import annotations

import argparse
import pathlib
import resource
import tempfile
import time
import warnings

import numpy as np

import hld
import hld.dask
import pcircuit

TRAINING = 20_000


def main():
    """Print one line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, nargs="*", default=[1e6, 4e6])
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--partition", type=float, default=1e6, help="rows of a file")
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--folder")
    parser.add_argument("--keep-memory", action="store_true")
    parser.add_argument("--no-profile", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(options.folder or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        most = int(max(options.rows))
        size = int(options.partition)
        files = written(folder, most, options.columns, size)
        detector = hld.HLDDetector(num_epochs=10, metric="likelihoods").fit(
            read(files[0])[:TRAINING]
        )
        print(
            "| rows | workers | rounds | batch here: s | there: wall s | processor s | overhead | epoch here: s | "
            "there: wall s | processor s | overhead | peak MB a worker |"
        )
        print("|---" * 12 + "|")
        for rows in map(int, options.rows):
            for workers in options.workers:
                compare(detector, files[: max(1, rows // size)], workers, options)


def compare(detector, files, workers, options):
    """A line: batch and epoch here and on a cluster, in turns, medians over the rounds."""
    import dask
    import distributed

    from hld.dask.fitting import fit_flows

    if options.keep_memory:
        most = str(2**30)
        dask.config.set(
            {
                "distributed.nanny.pre-spawn-environ": {
                    "MALLOC_TRIM_THRESHOLD_": most,
                    "MALLOC_MMAP_THRESHOLD_": most,
                }
            }
        )
    if options.no_profile:
        dask.config.set({"distributed.worker.profile.enabled": False})
    warm(detector, files[0])
    arguments = {
        "n_workers": workers,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": ":0",
    }
    with distributed.LocalCluster(**arguments) as cluster, distributed.Client(cluster) as client:
        client.run(warm, detector, files[0])  # imports and kernels, once a worker
        pieces = [dask.delayed(read)(str(file)) for file in files]
        batches = [
            (
                timed(lambda: hld.judge_chunks(detector, map(read, files))),
                timed(lambda: hld.dask.judge(detector, pieces), client),
            )
            for _ in range(options.rounds)
        ]
        encoder = dask.delayed(detector.encoder_)
        parts = dask.persist(*[dask.delayed(codes_of)(encoder, piece) for piece in pieces])
        distributed.wait(parts)
        codes = [codes_of(detector.encoder_, read(file)) for file in files]
        epochs = [
            (
                timed(lambda: flows_here(detector.circuit_, codes)),
                timed(
                    lambda: fit_flows(detector.circuit_, parts, num_epochs=1, pseudocount=1.0),
                    client,
                ),
            )
            for _ in range(options.rounds)
        ]
        peak = max(client.run(peak_memory).values())
    rows = len(files) * int(options.partition)
    print(
        f"| {rows:,} | {workers} | {options.rounds} | {cells(batches)} | {cells(epochs)} | {peak:.0f} |",
        flush=True,
    )


def flows_here(circuit, codes):
    """Two passes over the rows, as `fit_flows` makes for an epoch and the last evaluation."""
    for _ in range(2):
        for one in codes:
            pcircuit.expected_flows(circuit, one, n_jobs=1)


def cells(pairs) -> str:
    """Processor seconds here; wall-clock and processor seconds there; the median ratio of the latter to the first."""
    here, there = np.median(pairs, axis=0)
    ratio = np.median([cluster[1] / own[1] for own, cluster in pairs])
    return f"{here[1]:.2f} | {there[0]:.2f} | {there[1]:.2f} | {ratio:.2f}"


def timed(run, client=None):
    """Wall-clock seconds, and processor seconds of this process and of the workers of a client."""
    before = spent(client)
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return wall, cpu + spent(client) - before


def spent(client) -> float:
    """Processor seconds of all workers so far."""
    return 0.0 if client is None else sum(client.run(time.process_time).values())


def warm(detector, file):
    """Do everything once, with as many rows as there will be: fewer are left to NumPy, and kernels load later."""
    table = read(file)
    detector.summarize(table)
    pcircuit.expected_flows(detector.circuit_, detector.encoder_.encode(table)[0], n_jobs=1)


def codes_of(encoder, table):
    """Codes of a piece."""
    return encoder.encode(table)[0]


def peak_memory() -> float:
    """Largest resident size of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def read(file):
    """A file as a table of Arrow."""
    import pyarrow.parquet

    return pyarrow.parquet.read_table(file)


def written(folder, rows, columns, size) -> list:
    """Parquet files of `size` rows, so many rows altogether; those written before where they exist."""
    import pyarrow as pa
    import pyarrow.parquet

    files = [folder / f"{size}x{columns}-{i:05d}.parquet" for i in range(max(1, rows // size))]
    levels = pa.array([f"level {k}" for k in range(10)])
    for i, file in enumerate(files):
        if file.exists():
            continue
        rng = np.random.default_rng(i)
        hidden = rng.integers(4, size=size)
        data = {f"n{v}": rng.normal(size=size) + hidden for v in range(columns // 2)}
        for v in range(columns - columns // 2):
            data[f"t{v}"] = pa.DictionaryArray.from_arrays(
                pa.array((2 * hidden + rng.integers(4, size=size)).astype(np.int8)), levels
            )
        pyarrow.parquet.write_table(pa.table(data), file)
    return files


if __name__ == "__main__":
    main()
