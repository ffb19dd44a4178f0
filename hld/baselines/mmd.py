r"""Maximum Mean Discrepancy between data and a circuit, without a reference sample.

For a kernel k the squared MMD of two distributions is

.. math:: \mathrm{MMD}^2(Q, P) = E\,k(X, X') - 2\,E\,k(X, Y) + E\,k(Y, Y'), \qquad X, X' \sim Q, \; Y, Y' \sim P.

Usually all three terms are estimated from two samples.  If P is a circuit and the kernel factorises over variables, the
two terms with P are exact by one upward pass each (see the end), and with rows x_1..x_T in place of Q

.. math:: M = \frac1{T^2} \sum_{i,j} k(x_i, x_j) - \frac2T \sum_i w(x_i) + c, \qquad
          w(x) = E\,k(x, Y), \quad c = E\,k(Y, Y'),

has no noise other than that of the rows.  `MMDTest` compares it with M of batches drawn from the circuit,
p = (1 + #{>=}) / (1 + B), which is valid at every T; `mmd_squared` is the number M alone, also between two circuits.

**The kernel** is exp(-Hamming distance / s), a product of functions of one variable each,

    k(x, y) = prod_v k_v(x_v, y_v),        k_v(x, y) = exp(-[x != y] / s),

so its expectation over X' ~ P is computed by the upward pass of P with other numbers at the inputs:

    E k(x, X') = P with input units p_k replaced by  p'_k(x_v) = sum_c k_v(x_v, c) p_k(c).

Call this circuit P' ("the smoothed circuit"; its units are not normalised).  Then E k(x, X') = P'(x), one upward pass
for a row x, and E k(X, X') = sum_x P(x) P'(x) is an overlap of two circuits on one v-tree.  Nothing is sampled.  The
bandwidth s is by default the median Hamming distance between two rows drawn from the circuit (the "median heuristic").
"""

from __future__ import annotations

from typing import Any

import numpy as np

import pcircuit
from hld.baselines.peers import BaselineTest
from hld.features.row_vectors import check_rows, complete
from pcircuit.arguments import check_number
from pcircuit.circuit import check_distribution

ROUND_OFF = 1e-14  # of M, a difference of numbers up to 1
MEDIAN_ROWS = 500
BLOCK_PAIRS = 4_000_000  # entries of a kernel matrix held at once


def smoothed(circuit: pcircuit.Circuit, bandwidth: float) -> pcircuit.Circuit:
    """The circuit of x -> E k(x, X'), X' from `circuit`; not normalised."""
    regions = [
        pcircuit.InputRegion(
            region.variable,
            region.probs @ np.exp((np.eye(region.num_categories) - 1.0) / bandwidth),
        )
        if region.is_input
        else region
        for region in circuit.regions
    ]
    return pcircuit.Circuit(circuit.vtree, regions)


def mean_kernel(rows: np.ndarray, bandwidth: float) -> float:
    """The mean of k(x_i, x_j) over all pairs of complete rows (n, V), i = j included."""
    from scipy.spatial.distance import cdist

    rows = rows.astype(np.float64)
    n, V = rows.shape
    total, step = 0.0, max(1, BLOCK_PAIRS // n)
    for start in range(0, n, step):
        distances = V * cdist(rows[start : start + step], rows, "hamming")
        total += float(np.exp(-distances / bandwidth).sum())
    return total / n**2


def kernel_bandwidth(circuit: pcircuit.Circuit, bandwidth: Any, rng: Any) -> float:
    """The bandwidth as given, checked, or by the median heuristic."""
    from scipy.spatial.distance import pdist

    if bandwidth is not None:
        return check_number(bandwidth, "bandwidth", above=0)
    rows = pcircuit.sample(circuit, MEDIAN_ROWS, rng=rng)
    distances = rows.shape[1] * pdist(rows.astype(np.float64), "hamming")
    return float(np.median(distances)) or 1.0  # a circuit with (nearly) one state


class MMDTest(BaselineTest):
    """One-sample MMD test of batches of rows against a circuit.

    Rejects H0 "the rows are independent draws from the circuit" when M = mean h(x_i, x_j) is too large, with
    h(x, y) = k(x, y) - w(x) - w(y) + c.

    Parameters
    ----------
    circuit : pcircuit.Circuit
        Normalised.
    bandwidth : float, optional
        s; by default the median distance between 500 rows drawn from the circuit.
    rng : int or numpy.random.Generator, optional
        Seed of everything that is drawn; equal seeds give equal results.
    num_resamples : int
        B, batches of the null distribution.

    Attributes
    ----------
    bandwidth : float
        s, the scale of the kernel: given, or the median that was drawn.
    expected_kernel : float
        c = E k(Y, Y') under the circuit.

    Notes
    -----
    A batch costs T upward passes and T^2 V for its kernel matrix; the null costs B times that, once for each T.
    Missing entries (-1) are drawn from the circuit's conditional distribution given the rest of their row.

    References
    ----------
    Gretton et al. (2012), A kernel two-sample test, JMLR 13; Jitkrittum et al. (2017), A linear-time kernel
    goodness-of-fit test, NeurIPS; K, S and Krishnan (2026), A Probabilistic Circuit-Induced Pseudo-Metric for
    Out-of-Distribution Detection, section "Experiments", where MMD with a reference sample is a baseline.

    Examples
    --------
    >>> import pcircuit
    >>> circuit = pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0)
    >>> test = MMDTest(circuit, rng=0)
    >>> test(pcircuit.sample(circuit, 50, rng=1)).reject
    False
    >>> test([[0, 1] * 4] * 50).reject
    True
    """

    round_off = ROUND_OFF

    def __init__(
        self,
        circuit: pcircuit.Circuit,
        bandwidth: Any = None,
        rng: Any = None,
        *,
        num_resamples: int = 999,
    ) -> None:
        super().__init__(circuit, self._completed, self._distance, num_resamples, rng)
        self.bandwidth = kernel_bandwidth(circuit, bandwidth, self.seed)
        self._smoothed = smoothed(circuit, self.bandwidth)
        self.expected_kernel = pcircuit.overlap(circuit, self._smoothed)

    def _completed(self, rows: np.ndarray) -> np.ndarray:
        """The rows with their missing entries drawn."""
        return complete(self.circuit, rows, self.seed)[0]

    def _distance(self, _: np.ndarray, rows: np.ndarray) -> float:
        """M of complete rows, whatever the reference rows are."""
        return _mmd_of_rows(self._smoothed, self.bandwidth, rows, self.expected_kernel)


def mmd_squared(
    circuit: pcircuit.Circuit, data: Any, *, bandwidth: float | None = None, rng: Any = 0
) -> float:
    """Squared Maximum Mean Discrepancy between data, or another circuit, and a circuit.

    M = (1/T^2) sum_{i,j} k(x_i, x_j) - (2/T) sum_i E k(x_i, Y) + E k(Y, Y'), Y and Y' from the circuit, exactly.

    Parameters
    ----------
    circuit : pcircuit.Circuit
        Normalised.
    data : (T, V) integer array_like or pcircuit.Circuit
        Complete rows, T at least 1; or a normalised circuit with the v-tree and categories of `circuit`, and then all
        three terms are exact.
    bandwidth : float, optional
        s; by default the median distance between 500 rows drawn from `circuit`.
    rng : int or numpy.random.Generator
        Seed, used for the default bandwidth only.

    Returns
    -------
    float
        At least 0; (1 - E k(Y, Y')) / T in expectation if the rows follow the circuit.

    Examples
    --------
    A fair coin and the row 0, with k = exp(-1) between different sides: 1 - 2 w + c with w = c = (1 + exp(-1)) / 2.

    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.5, 0.5]])])
    >>> round(mmd_squared(coin, [[0]], bandwidth=1.0), 6), float(round(1 - (1 + np.exp(-1)) / 2, 6))
    (0.31606, 0.31606)
    """
    bandwidth = kernel_bandwidth(check_distribution(circuit), bandwidth, rng)
    smooth = smoothed(circuit, bandwidth)
    expected = pcircuit.overlap(circuit, smooth)
    if isinstance(data, pcircuit.Circuit):
        check_distribution(data, "data")
        within = pcircuit.overlap(data, smoothed(data, bandwidth))
        return max(within - 2 * pcircuit.overlap(data, smooth) + expected, 0.0)
    rows = check_rows(circuit, data, name="data")
    if rows.min() < 0:
        raise ValueError(
            "`data` has missing entries: complete them first, for instance with "
            "pcircuit.sample(circuit, given=data)"
        )
    return _mmd_of_rows(smooth, bandwidth, rows, expected)


def _mmd_of_rows(
    smooth: pcircuit.Circuit, bandwidth: float, rows: np.ndarray, expected: float
) -> float:
    """M of complete rows."""
    witness = float(np.exp(pcircuit.log_likelihood(smooth, rows)).mean())
    return max(mean_kernel(rows, bandwidth) - 2 * witness + expected, 0.0)
