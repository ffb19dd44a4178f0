"""Kernels that factorise over variables, and their exact expectations under a circuit.

A kernel k(x, y) = prod_v k_v(x_v, y_v) is itself a product of functions of one variable each, so its expectation over
X' ~ P is computed by the upward pass of P with other numbers at the inputs:

    E k(x, X') = P with input units p_k replaced by  p'_k(x_v) = sum_c k_v(x_v, c) p_k(c).

Call this circuit P' ("the smoothed circuit"; its units are not normalised).  Then E k(x, X') = P'(x), one upward pass
for a row x, and E k(X, X') = sum_x P(x) P'(x) is an overlap of two circuits on one v-tree.  Nothing is sampled.

    "hamming"   k_v(x, y) = exp(-[x != y] / s)                k(x, y) = exp(-Hamming distance / s)

k(x, x) = 1.  The bandwidth s is by default the median Hamming distance between two rows drawn from the circuit (the
"median heuristic").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import pcircuit
from pcircuit.arguments import check_choice, check_number

KERNELS = ("hamming",)
MEDIAN_ROWS = 500
BLOCK_PAIRS = 4_000_000  # entries of a kernel matrix held at once


@dataclass(frozen=True)
class HammingKernel:
    """k(x, y) = exp(-Hamming distance / bandwidth)."""

    bandwidth: float
    name = "hamming"

    def table(self, num_categories: int) -> np.ndarray:
        """(C, C) values k_v of one variable."""
        return np.exp((np.eye(num_categories) - 1.0) / self.bandwidth)

    def matrix(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """(n, n') values k(x_i, y_j) for complete rows (n, V) and (n', V)."""
        return np.exp(-_distances(left, right) / self.bandwidth)

    def squared(self) -> HammingKernel:
        """The kernel k^2."""
        return HammingKernel(self.bandwidth / 2)


def product_kernel(
    circuit: pcircuit.Circuit, kernel: str, bandwidth: float | None, rng: int
) -> HammingKernel:
    """The kernel of a name, with the median heuristic where no bandwidth is given."""
    check_choice(kernel, "kernel", KERNELS)
    if bandwidth is None:
        rows = pcircuit.sample(circuit, MEDIAN_ROWS, rng=rng)
        median = float(np.median(_distances(rows, rows)[np.triu_indices(len(rows), 1)]))
        return HammingKernel(median if median > 0 else 1.0)  # a circuit with (nearly) one state
    return HammingKernel(check_number(bandwidth, "bandwidth", above=0))


def smoothed(circuit: pcircuit.Circuit, kernel: HammingKernel) -> pcircuit.Circuit:
    """The circuit of x -> E k(x, X'), X' from `circuit`; not normalised."""
    regions = [
        pcircuit.InputRegion(region.variable, region.probs @ kernel.table(region.num_categories))
        if isinstance(region, pcircuit.InputRegion)
        else region
        for region in circuit.regions
    ]
    return pcircuit.Circuit(circuit.vtree, regions)


def pair_sum(kernel: HammingKernel, rows: np.ndarray) -> float:
    """sum_{i, j} k(x_i, x_j) over all pairs of complete rows, i = j included.

    Shapes: rows (n, V).
    """
    total, step = 0.0, max(1, BLOCK_PAIRS // max(1, len(rows)))
    for start in range(0, len(rows), step):
        stop = min(start + step, len(rows))
        total += float(kernel.matrix(rows[start:stop], rows[start:stop]).sum())
        if stop < len(rows):  # pairs of this block with later rows, in both orders
            total += 2 * float(kernel.matrix(rows[start:stop], rows[stop:]).sum())
    return total


def _distances(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(n, n') Hamming distances."""
    from scipy.spatial.distance import cdist

    left, right = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    return cdist(left, right, "hamming") * left.shape[1]
