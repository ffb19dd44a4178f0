"""Time and memory of exact moments, against one product circuit per pair of nodes and against dense S.

    python -m benchmarks.bench_moments [--quick]

prints Markdown tables.

1. Mean and variances of all input and sum units in linear time (`hld.exact_moments`), and with tr(S^2) where K <= 16,
   for circuits in the shape of Hidden Chow-Liu trees with binary variables, K latent states and random tables, on
   chains and balanced trees.
2. The same three numbers computed in two other ways, on chains with K = 4 and sizes that each can finish:
   "pairs" is algorithm 1 of the HLD paper (K, S and Krishnan 2026), for every pair of nodes the circuit marginalised to
   their common scope, multiplied by the two (`pcircuit.multiply`) and summed over all states (`pcircuit.overlap`);
   "dense S" is `Moments.covariance`.

The last lines give the exponents b of time = a V^b, fitted to the logarithms over all sizes of a column.  Seconds are
CPU seconds of the process, all threads together, medians of several calls after one that is not counted: on a quiet
machine the wall-clock time is the same for the linear-time recursion and for pairs, which use one thread, and less
for dense S.  MB is the largest growth of the process during one call, without the circuit (Linux only).
"""

import argparse
import ctypes
import functools
import pathlib
import time

import numpy as np

import hld
import pcircuit

from .grid_circuits import tree_circuit
from .measure import markdown, median_time, show

VARIABLES = {4: (100, 1_000, 10_000), 16: (100, 1_000), 64: (100, 1_000)}  # by latent states
DENSE, PAIRS = (100, 200, 400, 800), (4, 6, 8, 12)  # variables, for the other two ways
TREES = {"chain": lambda V: np.arange(V) - 1, "balanced": lambda V: (np.arange(V) + 1) // 2 - 1}


def main():
    """Measure and print; `--quick` has small sizes only: some seconds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes only: some seconds")
    is_quick = parser.parse_args().quick
    linear_moments(latent_tree_circuit("chain", 100, 4))  # imports
    times = {}
    heads = ["tree", "V", "K", "nodes", "CPU seconds", "MB", "with tr(S^2)", "MB"]
    print(markdown(heads), end="")
    for name in TREES:
        for K, numbers in VARIABLES.items():
            column = times[f"linear, {name}, K = {K}"] = {}
            for V in (n for n in numbers if not is_quick or n * K <= 4_000):
                circuit = latent_tree_circuit(name, V, K)
                cells = []
                for function in (hld.exact_moments, linear_moments)[: 1 + (K <= 16)]:
                    run = functools.partial(function, circuit)
                    cells += [cpu_seconds(run), f"{peak_megabytes(run):.1f}"]
                column[V] = cells[0]
                show(name, f"{V:,}", K, f"{len(hld.select_nodes(circuit)):,}", *cells)
    heads = ["V", "K", "nodes", "way", "CPU seconds", "linear time", "ratio"]
    print("\n" + markdown(heads), end="")
    for way, function, numbers in (
        ("dense S", dense_moments, DENSE),
        ("pairs", pair_moments, PAIRS),
    ):
        column = times[f"{way}, chain, K = 4"] = {}
        for V in numbers[: 2 if is_quick else None]:
            circuit = latent_tree_circuit("chain", V, 4)
            np.testing.assert_allclose(function(circuit), linear_moments(circuit), rtol=1e-9)
            fast = cpu_seconds(functools.partial(linear_moments, circuit))
            column[V] = cpu_seconds(functools.partial(function, circuit))
            nodes = f"{len(hld.select_nodes(circuit)):,}"
            show(V, 4, nodes, way, column[V], fast, f"{column[V] / fast:,.0f}")
    rows = [
        [name, min(column), max(column), f"{np.polyfit(*np.log([*column.items()]).T, 1)[0]:.2f}"]
        for name, column in times.items()
        if len(column) > 1
    ]
    print("\n" + markdown(["CPU seconds of", "V from", "to", "exponent"], rows))


# -- the three ways ----------------------------------------------------------------------------------------------------


def linear_moments(circuit):
    """Sum of the means, tr(S), tr(S^2), without S."""
    moments = hld.exact_moments(circuit)
    return moments.mean.sum(), moments.trace, moments.trace_sq


def dense_moments(circuit):
    """The same from S itself."""
    moments = hld.exact_moments(circuit)
    S = moments.covariance()
    return moments.mean.sum(), np.trace(S), np.sum(S * S)


def pair_moments(circuit):
    """The same by algorithm 1 of the paper: a product circuit for every pair of nodes."""
    vtree, nodes = circuit.vtree, hld.select_nodes(circuit)
    regions = circuit.nodes.region[nodes].tolist()
    marginals = {
        r: pcircuit.marginalize(circuit, keep=vtree.scope(r)) for r in range(vtree.num_nodes)
    }
    mean = np.array(
        [
            pcircuit.overlap(marginals[r], pcircuit.subcircuit(circuit, n))
            for n, r in zip(nodes, regions, strict=True)
        ]
    )
    S = np.empty((len(nodes), len(nodes)))
    for i, (n, r) in enumerate(zip(nodes, regions, strict=True)):
        for j, (o, s) in enumerate(zip(nodes[: i + 1], regions[: i + 1], strict=True)):
            top = vtree.lowest_common_ancestor(r, s)
            left, right = (pcircuit.subcircuit(circuit, node, top) for node in (n, o))
            S[i, j] = S[j, i] = (
                pcircuit.overlap(pcircuit.multiply(marginals[top], left), right) - mean[i] * mean[j]
            )
    return mean.sum(), np.trace(S), np.sum(S * S)


# -- circuits and measuring --------------------------------------------------------------------------------------------


def latent_tree_circuit(tree, num_variables, num_latents) -> pcircuit.Circuit:
    """A circuit in the shape of a Hidden Chow-Liu tree over binary variables, with random tables."""
    parents, categories = TREES[tree](num_variables), np.full(num_variables, 2)
    circuit = tree_circuit(parents, num_latents, categories)
    assert circuit.is_normalized  # checked once and kept: not part of what is measured
    return circuit


def cpu_seconds(function) -> float:
    """Median CPU seconds of three calls, after one that is not counted."""
    function()
    return round(median_time(function, 3, clock=time.process_time), 4)


def peak_megabytes(function) -> float:
    """Growth of the resident memory during a call, at its highest."""
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # gives back what earlier calls have freed
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark
    before = resident("VmRSS")
    function()
    return resident("VmHWM") - before


def resident(name) -> float:
    """Resident memory, MB: now ("VmRSS"), or at its highest ("VmHWM")."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


if __name__ == "__main__":
    main()
