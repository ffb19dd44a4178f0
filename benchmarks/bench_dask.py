"""What a cluster costs: batches and epochs on a Dask cluster of processes, beside the same rows here.

    python -m benchmarks.bench_dask [--rows 1e6 4e6] [--columns 50] [--workers 1 2] [--folder FOLDER]
                                     [--keep-memory]

Rows are written to Parquet files of 250,000, half of the columns numbers, half text of ten levels, all of them
depending on one hidden number.  A detector is fitted to 20,000 of them.  Then, for each number of rows and of workers
(one thread each):

    batch   `hld.dask.judge`, beside `hld.judge_chunks` over the same files in this process
    epoch   one E-step over the codes that the workers hold, beside `pcircuit.expected_flows` on one thread

Dask starts its workers with MALLOC_TRIM_THRESHOLD_=65536: freed memory goes back to the system at once, and every array
of NumPy is new memory, which the system fills with zeros first.  With --keep-memory they keep it, as this process does.

Time is given as wall-clock seconds and as processor seconds of all processes that take part, as wall-clock time on a
busy machine says little; overhead is the ratio of processor seconds per row.  Memory is the largest resident size of a
worker.
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

FILE_ROWS = 250_000
TRAINING = 20_000


def main():
    """Print one line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, nargs="*", default=[1e6, 4e6])
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--folder")
    parser.add_argument("--keep-memory", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(options.folder or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        most = int(max(options.rows))
        files = written(folder, most, options.columns)
        detector = hld.HLDDetector(num_epochs=10, metric="likelihoods").fit(read(files[0])[:TRAINING])
        print("| rows | where | batch: s | processor s | rows / processor s | epoch: s | processor s | "
              "rows / processor s | peak MB a worker |")
        print("|---" * 9 + "|")
        for rows in map(int, options.rows):
            some = files[:max(1, rows // FILE_ROWS)]
            here(detector, some)
            for workers in options.workers:
                on_cluster(detector, some, workers, options.keep_memory)


def here(detector, files):
    """The same in this process, one thread."""
    batch = timed(lambda: hld.judge_chunks(detector, map(read, files)))
    codes = [detector.encoder_.encode(read(file))[0] for file in files]
    epoch = timed(lambda: [pcircuit.expected_flows(detector.circuit_, one, n_jobs=1) for one in codes])
    report("here", len(files) * FILE_ROWS, batch, epoch, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def on_cluster(detector, files, workers, keeps_memory):
    """A cluster of processes."""
    import dask
    import distributed

    from hld.dask.fitting import fit_flows
    if keeps_memory:
        most = str(2 ** 30)
        dask.config.set({"distributed.nanny.pre-spawn-environ": {"MALLOC_TRIM_THRESHOLD_": most,
                                                                "MALLOC_MMAP_THRESHOLD_": most}})
    options = {"n_workers": workers, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        client.run(warm, detector, files[0])        # imports and kernels, once a worker
        pieces = [dask.delayed(read)(str(file)) for file in files]
        before = spent(client)
        batch = timed(lambda: hld.dask.judge(detector, pieces))
        between = spent(client)
        batch = batch[0], batch[1] + between - before
        encoder = dask.delayed(detector.encoder_)
        parts = dask.persist(*[dask.delayed(codes_of)(encoder, piece) for piece in pieces])
        distributed.wait(parts)
        before = spent(client)
        epoch = timed(lambda: fit_flows(detector.circuit_, parts, num_epochs=1, pseudocount=1.0))
        epoch = epoch[0] / 2, (epoch[1] + spent(client) - before) / 2  # an epoch and the last evaluation
        peak = max(client.run(peak_memory).values())
    report(f"{workers} worker{'s' * (workers > 1)}", len(files) * FILE_ROWS, batch, epoch, peak)


def report(where, rows, batch, epoch, peak):
    """A line."""
    print(f"| {rows:,} | {where} | {batch[0]:.1f} | {batch[1]:.1f} | {rows / batch[1]:,.0f} | {epoch[0]:.1f} | "
          f"{epoch[1]:.1f} | {rows / epoch[1]:,.0f} | {peak:.0f} |", flush=True)


def timed(run):
    """Wall-clock seconds, and processor seconds of this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - cpu


def spent(client) -> float:
    """Processor seconds of all workers so far."""
    return sum(client.run(time.process_time).values())


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


def written(folder, rows, columns) -> list:
    """Parquet files of so many rows altogether, those written before where they exist."""
    import pyarrow as pa
    import pyarrow.parquet
    files = [folder / f"part-{i:05d}.parquet" for i in range(max(1, rows // FILE_ROWS))]
    levels = pa.array([f"level {k}" for k in range(10)])
    for i, file in enumerate(files):
        if file.exists():
            continue
        rng = np.random.default_rng(i)
        hidden = rng.integers(4, size=FILE_ROWS)
        data = {f"n{v}": rng.normal(size=FILE_ROWS) + hidden for v in range(columns // 2)}
        for v in range(columns - columns // 2):
            data[f"t{v}"] = pa.DictionaryArray.from_arrays(
                pa.array((2 * hidden + rng.integers(4, size=FILE_ROWS)).astype(np.int8)), levels)
        pyarrow.parquet.write_table(pa.table(data), file)
    return files


if __name__ == "__main__":
    main()
