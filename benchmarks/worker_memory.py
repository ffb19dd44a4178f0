"""Memory of workers that test batches: forked from a process that has loaded the model, or started by themselves.

    python -m benchmarks.worker_memory MODEL.hld

The batch is drawn from the model.  Resident memory counts shared pages in full, the proportional set counts them in
shares, and private memory is what one more worker costs.  Linux only.
"""

from __future__ import annotations

import multiprocessing
import os
import sys

import hld

WORKERS = 4


def main():
    path = sys.argv[1]
    detector = hld.load(path)
    batch = detector.sample(1000, rng=0)
    detector.test(batch)
    print(
        "| worker | resident, MB | proportional, MB | private, MB |\n| :--- | ---: | ---: | ---: |"
    )
    print(f"| the first process | {line(os.getpid())} |")
    for kind, argument in (("fork", detector), ("spawn", path)):
        context = multiprocessing.get_context(kind)
        stop, workers = context.Event(), []
        for _ in range(WORKERS):
            ready = context.Event()
            worker = context.Process(target=work, args=(argument, batch, ready, stop))
            worker.start()
            ready.wait()
            workers.append(worker)
        print(f"| one of {WORKERS}, by {kind} | {line(workers[-1].pid)} |", flush=True)
        stop.set()
        for worker in workers:
            worker.join()


def work(model, batch, ready, stop):
    """Test the batch, say so, and wait."""
    detector = hld.load(model) if isinstance(model, str) else model
    detector.test(batch)
    ready.set()
    stop.wait()


def line(pid) -> str:
    """Resident, proportional and private memory of a process in megabytes."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        sizes = {
            name: int(rest.split()[0]) / 1024
            for name, _, rest in (one.partition(":") for one in file)
            if rest.strip().endswith("kB")
        }
    return f"{sizes['Rss']:.0f} | {sizes['Pss']:.0f} | {sizes['Private_Clean'] + sizes['Private_Dirty']:.0f}"


if __name__ == "__main__":
    main()
