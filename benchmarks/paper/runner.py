"""Cells in several processes, with progress on standard error.

Processes are started afresh (not forked: NumPy and Numba keep threads), one cell at a time each.
"""

import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from . import datasets, protocol, store


def run_cells(cells, jobs=1, folder=None) -> int:
    """Run the cells that have no result yet; returns how many failed."""
    waiting = [cell for cell in cells if store.read(cell, folder) is None]
    say(f"{len(cells)} cells, {len(cells) - len(waiting)} finished before")
    for name in dict.fromkeys(cell.dataset for cell in waiting):
        try:
            datasets.load_table(name)
        except ImportError as error:  # says what to install
            say(f"no data for {name}: {error}")
            return len(waiting)
        except OSError as error:
            say(
                f"no data for {name} ({error}): name the folder that holds them by HLD_DATA, or leave it unset and "
                "`pip install 'hld[data]'`, which downloads them from the original archives"
            )
            return len(waiting)
    start, failed = time.perf_counter(), 0
    for done, (cell, outcome) in enumerate(_outcomes(waiting, jobs, folder), 1):
        elapsed = time.perf_counter() - start
        failed += outcome is not None and outcome.startswith("failed")
        say(
            f"[{done}/{len(waiting)}] {cell.group}/{cell.name}: {outcome}; {elapsed:.0f} s so far, about "
            f"{elapsed / done * (len(waiting) - done):.0f} s to go"
        )
    say(f"{time.perf_counter() - start:.0f} s, {sum(os.times()[:4]):.0f} s of processors")
    return failed


def _outcomes(cells, jobs, folder):
    """Yield (cell, what happened) as cells end."""
    if jobs <= 1 or len(cells) <= 1:
        for cell in cells:
            yield cell, run_and_store(cell, folder)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(run_and_store, cell, folder): cell for cell in cells}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def run_and_store(cell, folder=None) -> str:
    """Run one cell and keep its result; says how long its phases took, or why it failed."""
    try:
        result = protocol.run_cell(cell)
        store.write(cell, result, folder)
    except (ValueError, OSError, ImportError, MemoryError) as error:
        return f"failed: {type(error).__name__}: {error}"
    return ", ".join(
        f"{phase} {seconds:.1f}" for phase, seconds in result["seconds"].items() if seconds >= 0.1
    )


def say(text):
    """A line of progress, at once."""
    print(text, file=sys.stderr, flush=True)
