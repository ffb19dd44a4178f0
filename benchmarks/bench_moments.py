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
from typing import NamedTuple

import numpy as np

import hld
import pcircuit
from pcircuit import Circuit, InnerRegion, InputRegion, VTree

from .measure import markdown, median_time, show


class Sizes(NamedTuple):
    """What to measure: numbers of variables by number of latent states, and for the other two ways."""

    variables: dict
    dense: tuple
    pairs: tuple


FULL = Sizes(
    {4: (100, 1_000, 10_000), 16: (100, 1_000), 64: (100, 1_000)},
    (100, 200, 400, 800),
    (4, 6, 8, 12),
)
QUICK = Sizes({4: (100, 1_000), 16: (30, 100), 64: (10, 30)}, (50, 100), (3, 4))
TREES = {"chain": lambda V: np.arange(V) - 1, "balanced": lambda V: (np.arange(V) + 1) // 2 - 1}


def main():
    """Parse the command line, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes only: some seconds")
    options = parser.parse_args()
    sizes = QUICK if options.quick else FULL
    linear = linear_table(sizes)
    others = comparison_table(sizes)
    print_exponents(
        {f"linear, {name}, K = {K}": times for (name, K), times in linear.items()} | others
    )


def linear_table(sizes: Sizes) -> dict:
    """Print table 1; {(tree, K): {V: seconds}}."""
    heads = ["tree", "V", "K", "nodes", "CPU seconds", "MB", "with tr(S^2)", "MB"]
    print(markdown(heads), end="")
    linear_moments(latent_tree_circuit(np.arange(100) - 1, 4))  # imports
    times = {}
    for name, tree in TREES.items():
        for K, numbers in sizes.variables.items():
            for V in numbers:
                circuit = latent_tree_circuit(tree(V), K)
                cells = []
                for function in (hld.exact_moments, linear_moments)[: 1 + (K <= 16)]:
                    run = functools.partial(function, circuit)
                    seconds = cpu_seconds(run)
                    if not cells:
                        times.setdefault((name, K), {})[V] = seconds
                    cells += [f"{seconds:.4f}", peak_megabytes(run)]
                show(name, f"{V:,}", K, f"{len(hld.select_nodes(circuit)):,}", *cells)
    return times


def comparison_table(sizes: Sizes) -> dict:
    """Print table 2; {method: {V: seconds}}."""
    heads = ["V", "K", "nodes", "linear, CPU s", "dense S", "ratio", "pairs", "ratio"]
    print("\n" + markdown(heads), end="")
    times = {"dense S, chain, K = 4": {}, "pairs, chain, K = 4": {}}
    dense_moments(latent_tree_circuit(TREES["chain"](40), 4))  # loads its kernels
    for V in sorted({*sizes.pairs, *sizes.dense}):
        circuit = latent_tree_circuit(TREES["chain"](V), 4)
        expected = linear_moments(circuit)
        fast = cpu_seconds(functools.partial(linear_moments, circuit))
        cells = []
        for column, function, finished in zip(
            times.values(), (dense_moments, pair_moments), (sizes.dense, sizes.pairs), strict=True
        ):
            if V not in finished:
                cells += ["", ""]
                continue
            start = time.process_time()
            found = function(circuit)
            column[V] = time.process_time() - start
            np.testing.assert_allclose(found, expected, rtol=1e-9)  # the three ways must agree
            cells += [f"{column[V]:.3f}", f"{column[V] / fast:,.0f}"]
        show(V, 4, f"{len(hld.select_nodes(circuit)):,}", f"{fast:.5f}", *cells)
    return times


def print_exponents(times):
    """Print the slope of log seconds against log V of each column."""
    rows = [
        [name, min(column), max(column), f"{np.polyfit(*np.log([*column.items()]).T, 1)[0]:.2f}"]
        for name, column in times.items()
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


def latent_tree_circuit(parent, num_latents) -> Circuit:
    """A circuit in the shape of a Hidden Chow-Liu tree over binary variables, with random tables."""
    rng = np.random.default_rng(0)
    vtree = VTree.from_tree(parent)
    inputs = rng.dirichlet(np.ones(2), (vtree.num_variables, num_latents))
    weights = rng.dirichlet(np.ones(num_latents), (vtree.num_nodes, num_latents))
    regions = []
    for r, variable in enumerate(vtree.variables.tolist()):
        if variable >= 0:
            regions.append(InputRegion(variable, inputs[variable]))
        else:
            products = np.repeat(np.arange(num_latents)[:, None], len(vtree.children(r)), axis=1)
            regions.append(InnerRegion(products, weights[r, :1] if r == vtree.root else weights[r]))
    circuit = Circuit(vtree, regions)
    assert circuit.is_normalized  # checked once and kept: not part of what is measured
    return circuit


def cpu_seconds(function) -> float:
    """Median CPU seconds of three calls, after one that is not counted."""
    function()
    return median_time(function, 3, clock=time.process_time)


def peak_megabytes(function) -> str:
    """Growth of the resident memory during a call, at its highest; "-" where the system does not report it."""
    status, clear = pathlib.Path("/proc/self/status"), pathlib.Path("/proc/self/clear_refs")
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)  # gives back what earlier calls have freed
        clear.write_text("5")  # resets the high-water mark
    except (OSError, AttributeError):
        return "-"
    before = _status(status, "VmRSS")
    function()
    return f"{(_status(status, 'VmHWM') - before) / 1024:.1f}"


def _status(path, name) -> int:
    """One entry of a Linux status file, kB."""
    return next(
        int(line.split()[1]) for line in path.read_text().splitlines() if line.startswith(name)
    )


if __name__ == "__main__":
    main()
