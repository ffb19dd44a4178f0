"""How near evaluation and EM are to what the machine can do: arithmetic, cache or memory, whichever bounds them.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.bench_roofline [--quick] [--circuits NAME ...]

For each circuit of the grid, one thread: nanoseconds a row, and the larger of two lower bounds,

* arithmetic: operations a row, divided by the rate of ``a = a x + y`` over 64 numbers, again and again (the peak that
  compiled code can reach, since nothing moves; a large matrix product of NumPy is printed beside it);
* traffic: bytes a row that values and parameters take between the core and where they live, divided by the rate of
  ``a = b + s c`` over arrays that are together as large as the work space of the circuit, measured for each circuit.
  It is called "cache" where that work space is no larger than the last cache, else "memory".

Operations and bytes are those of the algorithm, region by region, P products, K sums and input tables, tiles of T rows:

    evaluation   P (arity - 1) + 2 P K operations; products and sums written and read once, and a number read for each
                 unit of an input; weights read once a tile
    EM           three matrix products in place of one, K divisions and twice the products; three times the moves of
                 values; weights read twice, and flows read and written, once a tile

so that a ratio of 1 needs every look-up, rescaling and copy to be free.
"""

from __future__ import annotations

import argparse
import pathlib
import time

import numba
import numpy as np

from pcircuit import InputRegion, fit_em, log_likelihood
from pcircuit.compiled.layouts import full_layout, stack_layout
from pcircuit.compiled.tile import STRIDE, TILE_ROWS

from .grid_circuits import CIRCUITS, UNITS, batch_of, named_circuit
from .measure import machine, median_time, peak_flops

LAST_CACHE = pathlib.Path("/sys/devices/system/cpu/cpu0/cache/index3/size")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats and rows")
    parser.add_argument(
        "--circuits", nargs="+", choices=CIRCUITS, default=CIRCUITS, help="circuits to measure"
    )
    options = parser.parse_args()
    peak, cache = max(fma_rate(), peak_flops()), last_cache()
    print(machine() + "\n")
    print(
        f"Arithmetic {peak / 1e9:.1f} GFLOP/s (NumPy {peak_flops() / 1e9:.1f}); last cache {cache / 2**20:.0f} MB; "
        + "traffic, GB/s, by size: "
        + ", ".join(
            f"{size / 2**20:g} MB {traffic_rate(size) / 1e9:.1f}"
            for size in (2**17, 2**19, 2**22, 2**24, 2**27)
        )
        + "\n"
    )
    print(
        "| circuit | K | work space, MB | evaluation, ns | bound | by | ratio | EM, ns | bound | by | ratio |"
    )
    print("| :--- " + "| ---: " * 4 + "| :--- " + "| ---: " * 3 + "| :--- | ---: |")
    for name in options.circuits:
        for K in UNITS:
            if not (options.quick and K == 64 and name.startswith("byte")):
                line(name, K, options.quick, peak, cache)


def line(name, K, quick, peak, cache):
    """Print one line of the table."""
    num_rows = max(4096 if K < 64 else 1024, batch_of(name, K, quick))
    circuit, rows = named_circuit(name, K, num_rows)
    cells = []
    for measured, work in ((evaluation, evaluation_work(circuit)), (epoch, em_work(circuit))):
        seconds = measured(circuit, rows, quick) / len(rows)
        operations, moved, space = work
        bounds = {
            "arithmetic": operations / peak,
            "memory" if space > cache else "cache": moved / traffic_rate(space),
        }
        bound = max(bounds, key=bounds.get)
        cells += [
            f"{1e9 * seconds:,.0f}",
            f"{1e9 * bounds[bound]:,.0f}",
            bound,
            f"{seconds / bounds[bound]:.2f}",
        ]
    print(
        f"| {name} | {K} | {em_work(circuit)[2] / 2**20:.1f} | " + " | ".join(cells) + " |",
        flush=True,
    )


def evaluation(circuit, rows, quick):
    """Seconds of processor time."""
    log_likelihood(circuit, rows[:2], n_jobs=1)
    return median_time(
        lambda: log_likelihood(circuit, rows, n_jobs=1),
        3 if quick else 7,
        least=0.05,
        clock=time.process_time,
    )


def epoch(circuit, rows, quick):
    """Seconds of processor time of one more epoch."""
    times = []
    fit_em(
        circuit,
        rows,
        num_epochs=4 if quick else 10,
        n_jobs=1,
        callback=lambda *_: times.append(time.process_time()),
    )
    return float(np.median(np.diff(times)))


def evaluation_work(circuit):
    """Operations a row, bytes a row, and bytes of the work space."""
    operations = moves = parameters = 0
    for region in circuit.regions:
        if isinstance(region, InputRegion):
            moves += region.num_units
            parameters += region.probs.size
        else:
            operations += (
                region.num_products * (region.products.shape[1] - 1) + 2 * region.weights.size
            )
            moves += 2 * region.num_products + 2 * region.num_units
            parameters += region.weights.size
    weights = sum(
        region.weights.size for region in circuit.regions if not isinstance(region, InputRegion)
    )
    space = 8 * (stack_layout(circuit).num_values * STRIDE + parameters)
    return operations, 8 * (moves + weights / TILE_ROWS), space


def em_work(circuit):
    """The same for an epoch of EM."""
    operations = moves = parameters = weights = 0
    for region in circuit.regions:
        if isinstance(region, InputRegion):
            moves += 3 * region.num_units
            parameters += region.probs.size
        else:
            operations += 2 * region.products.size + 6 * region.weights.size + region.num_units
            moves += 6 * (region.num_products + region.num_units)
            weights += region.weights.size
    layout = full_layout(circuit)
    space = 8 * ((layout.num_values + layout.num_flows) * STRIDE + 2 * (parameters + weights))
    return operations, 8 * (moves + 4 * weights / TILE_ROWS), space


@numba.njit(fastmath=True)
def multiply_add(values, factor, summand, steps):
    """``values = values factor + summand``, so many times."""
    for _ in range(steps):
        for i in range(64):
            values[i] = values[i] * factor + summand


def fma_rate() -> float:
    """Operations a second of `multiply_add`."""
    values, steps = np.ones(64), 100_000
    multiply_add(values, 0.5, 1.0, 1)
    return (
        128
        * steps
        / median_time(
            lambda: multiply_add(values, 0.5, 1.0, steps), 5, least=0.1, clock=time.process_time
        )
    )


@numba.njit(fastmath=True)
def triad(target, first, second, factor):
    """``target = first + factor second``."""
    for i in range(len(target)):
        target[i] = first[i] + factor * second[i]


def traffic_rate(size) -> float:
    """Bytes a second of `triad` over three arrays of together so many bytes."""
    arrays = [np.ones(max(int(size) // 24, 64)) for _ in range(3)]
    triad(*arrays, 2.0)
    seconds = median_time(lambda: triad(*arrays, 2.0), 5, least=0.02, clock=time.process_time)
    return 24 * len(arrays[0]) / seconds


def last_cache() -> int:
    """Bytes of the last cache of the first core; infinite where the system does not say."""
    try:
        text = LAST_CACHE.read_text(encoding="ascii").strip()
    except OSError:
        return np.inf
    return int(text.removesuffix("K")) * 1024


if __name__ == "__main__":
    main()
