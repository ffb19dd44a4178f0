r"""Maximum Mean Discrepancy between data and a circuit, without a reference sample.

For a kernel k the squared MMD of two distributions is

.. math:: \mathrm{MMD}^2(Q, P) = E\,k(X, X') - 2\,E\,k(X, Y) + E\,k(Y, Y'), \qquad X, X' \sim Q, \; Y, Y' \sim P.

Usually all three terms are estimated from two samples.  If P is a circuit and the kernel factorises over variables, the
two terms with P are exact by one upward pass each (see the end), and with rows x_1..x_T in place of Q

.. math:: M = \frac1{T^2} \sum_{i,j} k(x_i, x_j) - \frac2T \sum_i w(x_i) + c, \qquad
          w(x) = E\,k(x, Y), \quad c = E\,k(Y, Y'),

has no noise other than that of the rows.  M is the mean of h(x_i, x_j) = k(x_i, x_j) - w(x_i) - w(x_j) + c over all
pairs.

Null distribution, if the rows are draws from P:

* ``"monte-carlo"``: M of batches drawn from the circuit, p = (1 + #{>=}) / (1 + B); valid at every T.
* ``"spectral"``: T M tends to sum_j lambda_j chi2_1 with lambda the eigenvalues of h under P.  The leading ones come
  from the matrix h / n on n = 500 rows drawn from the circuit, the rest is one gamma term that completes the two sums
  that the circuit gives exactly: sum lambda = E h(Y, Y) = 1 - c and sum lambda^2 = E h(Y, Y')^2 = E k^2 - 2 E w^2 +
  c^2.

Public names: `MMDTest`, a test; `mmd_squared`, the number M alone, also between two circuits.

**Kernels.**  A kernel k(x, y) = prod_v k_v(x_v, y_v) is itself a product of functions of one variable each, so its
expectation over X' ~ P is computed by the upward pass of P with other numbers at the inputs:

    E k(x, X') = P with input units p_k replaced by  p'_k(x_v) = sum_c k_v(x_v, c) p_k(c).

Call this circuit P' ("the smoothed circuit"; its units are not normalised).  Then E k(x, X') = P'(x), one upward pass
for a row x, and E k(X, X') = sum_x P(x) P'(x) is an overlap of two circuits on one v-tree.  Nothing is sampled.

    "hamming"   k_v(x, y) = exp(-[x != y] / s)                k(x, y) = exp(-Hamming distance / s)

k(x, x) = 1.  The bandwidth s is by default the median Hamming distance between two rows drawn from the circuit (the
"median heuristic").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import hld.gchi2 as gchi2
import pcircuit
from hld.baselines.peers import BaselineResult
from hld.features.row_vectors import check_rows, complete
from hld.laws.ranks.monte_carlo import monte_carlo_error, monte_carlo_pvalue, rejection_threshold
from pcircuit.arguments import (
    check_choice,
    check_fraction,
    check_number,
    check_seed,
    check_whole_number,
)
from pcircuit.circuit import check_distribution

NULLS = ("monte-carlo", "spectral")
SPECTRAL_ROWS, LEADING = 500, 50
ROUND_OFF = 1e-14  # of M, a difference of numbers up to 1
BLOCK_ROWS = 200_000  # rows drawn at a time
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
        if region.is_input
        else region
        for region in circuit.regions
    ]
    return pcircuit.Circuit(circuit.vtree, regions)


def pair_sum(kernel: HammingKernel, rows: np.ndarray) -> float:
    """sum_{i, j} k(x_i, x_j) over all pairs of complete rows, i = j included; shapes rows (n, V)."""
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


@dataclass(frozen=True, repr=False)
class MMDResult(BaselineResult):
    """The outcome of an MMD test of one batch.

    Attributes
    ----------
    statistic : float
        Squared MMD between the batch and the circuit, all pairs of rows included.
    threshold : float
        Largest statistic that does not reject at level `alpha`.
    pvalue : float
        Probability under the null hypothesis of a statistic at least this large.
    reject : bool
        ``pvalue <= alpha``.
    alpha : float
        Level of the test.
    num_samples : int
        T, the rows of the batch.
    null, kernel : str
        As given to the test.
    bandwidth : float
        Bandwidth of the kernel.
    null_error : float or None
        Standard error of a Monte Carlo p-value; None for "spectral", where it is not estimated.
    num_missing : int
        Missing entries of the batch, which were completed.
    """

    kernel: str
    bandwidth: float
    null_error: float | None
    num_missing: int

    def __str__(self) -> str:
        verdict = "shift" if self.reject else "no shift"
        return (
            f"{verdict}: MMD^2 {self.statistic:.4g} (threshold {self.threshold:.4g}), p = {self.pvalue:.3g}, "
            f"alpha = {self.alpha:g}, T = {self.num_samples}, null {self.null}, "
            f"{self.kernel} kernel of bandwidth {self.bandwidth:.4g}"
        )

    __repr__ = __str__


class MMDTest:
    """One-sample MMD test of batches of rows against a circuit.

    Rejects H0 "the rows are independent draws from the circuit" when M = mean h(x_i, x_j) is too large.

    Parameters
    ----------
    circuit : pcircuit.Circuit
        Normalised.
    kernel : "hamming"
        exp(-Hamming distance / s).
    bandwidth : float, optional
        s; by default the median distance between 500 rows drawn from the circuit.
    null : "monte-carlo" or "spectral"
        Null distribution; see the module.
    rng : int or numpy.random.Generator, optional
        Seed of everything that is drawn; equal seeds give equal results.
    num_resamples : int
        B, batches of the Monte Carlo null.

    Attributes
    ----------
    bandwidth : float
        s, the scale of the kernel: given, or the median that was drawn.
    expected_kernel : float
        c = E k(Y, Y') under the circuit.

    Raises
    ------
    pcircuit.StructureError
        If the circuit is not normalised.
    TypeError, ValueError
        If an argument is of the wrong kind, or an option is unknown or out of range.

    Notes
    -----
    A batch costs T upward passes and T^2 V for its kernel matrix; the Monte Carlo null costs B times that, once for
    each T.  Missing entries (-1) are drawn from the circuit's conditional distribution given the rest of their row.

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

    def __init__(
        self,
        circuit: pcircuit.Circuit,
        kernel: str = "hamming",
        bandwidth: Any = None,
        null: str = "monte-carlo",
        rng: int | None = None,
        *,
        num_resamples: int = 999,
    ) -> None:
        check_distribution(circuit)
        check_choice(null, "null", NULLS)
        self.num_resamples = check_whole_number(num_resamples, "num_resamples", 1)
        self.circuit, self.null = circuit, null
        self._seed = check_seed(rng)
        self._kernel = product_kernel(circuit, kernel, bandwidth, self._seed)
        self.kernel, self.bandwidth = self._kernel.name, self._kernel.bandwidth
        self._smoothed = smoothed(circuit, self._kernel)
        self.expected_kernel = pcircuit.overlap(circuit, self._smoothed)
        self._drawn: dict[int, np.ndarray] = {}
        self._spectrum = self._prepared_spectrum() if null == "spectral" else None

    def __call__(self, batch: ArrayLike, alpha: float = 0.05) -> MMDResult:
        """Test a batch; shapes batch (T, V)."""
        alpha = check_fraction(alpha, "alpha")
        rows, num_missing = complete(self.circuit, batch, self._seed)
        T = len(rows)
        statistic = self._statistic(rows)
        if self._spectrum is not None:
            pvalue, error = (
                float(gchi2.sf(T * max(statistic - ROUND_OFF, 0.0), self._spectrum)),
                None,
            )
            threshold = float(gchi2.isf(alpha, self._spectrum)) / T
        else:
            pvalue, error, threshold = self._monte_carlo(statistic, T, alpha)
        return MMDResult(
            statistic,
            threshold,
            pvalue,
            bool(pvalue <= alpha),
            alpha,
            T,
            self.null,
            self.kernel,
            self.bandwidth,
            error,
            num_missing,
        )

    def __repr__(self) -> str:
        return (
            f"MMDTest({self.circuit.num_variables} variables, {self.kernel} kernel of bandwidth "
            f"{self.bandwidth:.4g}, null {self.null})"
        )

    def _statistic(self, rows: np.ndarray) -> float:
        """M of complete rows."""
        return max(_mmd_of_rows(self._smoothed, self._kernel, rows, self.expected_kernel), 0.0)

    def _monte_carlo(self, statistic: float, T: Any, alpha: float) -> tuple[float, float, float]:
        """p-value, its standard error and the threshold, from batches of T rows drawn once and kept."""
        if T not in self._drawn:
            rng = np.random.default_rng([self._seed, T, 0])
            values: list[float] = []
            while len(values) < self.num_resamples:
                count = min(self.num_resamples - len(values), max(1, BLOCK_ROWS // T))
                rows = pcircuit.sample(self.circuit, count * T, rng=rng).reshape(count, T, -1)
                values += [self._statistic(batch) for batch in rows]
            self._drawn[T] = np.sort(values)
        null = self._drawn[T]
        pvalue = monte_carlo_pvalue(null, statistic, ROUND_OFF)
        return pvalue, monte_carlo_error(pvalue, len(null)), rejection_threshold(null, alpha)

    def _prepared_spectrum(self) -> Any:
        """The law of T M for large T, for `hld.gchi2`: leading eigenvalues, and one gamma term for all others."""
        rows = pcircuit.sample(
            self.circuit, SPECTRAL_ROWS, rng=np.random.default_rng([self._seed, 0])
        )
        witness, c = np.exp(pcircuit.log_likelihood(self._smoothed, rows)), self.expected_kernel
        centred = self._kernel.matrix(rows, rows) - witness[:, None] - witness + c
        leading = np.maximum(np.linalg.eigvalsh(centred / len(rows))[::-1][:LEADING], 0.0)
        squared_kernel = pcircuit.overlap(
            self.circuit, smoothed(self.circuit, self._kernel.squared())
        )
        total = 1.0 - c
        squares = (
            squared_kernel
            - 2 * pcircuit.overlap(self.circuit, self._smoothed, self._smoothed)
            + c**2
        )
        if total <= ROUND_OFF or squares <= ROUND_OFF**2:
            return gchi2.prepare(np.zeros(1))
        for k in range(
            len(leading), -1, -1
        ):  # as many as leave room for the rest, whose eigenvalues are smaller
            c1, c2 = total - leading[:k].sum(), squares - (leading[:k] ** 2).sum()
            if k == 0 or (c1 > 0 and 0 < c2 <= c1 * leading[k - 1]):
                break
        return gchi2.prepare(np.append(leading[:k], c2 / c1), np.append(np.ones(k), c1**2 / c2))


def mmd_squared(
    circuit: pcircuit.Circuit,
    data: list[list[int]],
    *,
    kernel: str = "hamming",
    bandwidth: float | None = None,
    rng: int = 0,
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
    kernel : "hamming"
        exp(-Hamming distance / s).
    bandwidth : float, optional
        s; by default the median distance between 500 rows drawn from `circuit`.
    rng : int or numpy.random.Generator
        Seed, used for the default bandwidth only.

    Returns
    -------
    float
        At least 0; (1 - E k(Y, Y')) / T in expectation if the rows follow the circuit.

    Raises
    ------
    pcircuit.StructureError
        If a circuit is not normalised, or the v-trees differ.
    TypeError, ValueError
        If `data` is not complete evidence or has too few rows, or an option is out of range.

    Notes
    -----
    One upward pass per row, one overlap, and T^2 V for the kernel matrix, in blocks.

    References
    ----------
    Gretton et al. (2012), A kernel two-sample test, JMLR 13.

    Examples
    --------
    A fair coin and the row 0, with k = exp(-1) between different sides: 1 - 2 w + c with w = c = (1 + exp(-1)) / 2.

    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.5, 0.5]])])
    >>> round(mmd_squared(coin, [[0]], bandwidth=1.0), 6), float(round(1 - (1 + np.exp(-1)) / 2, 6))
    (0.31606, 0.31606)
    """
    check_distribution(circuit)
    product = product_kernel(circuit, kernel, bandwidth, rng)
    smooth = smoothed(circuit, product)
    expected = pcircuit.overlap(circuit, smooth)
    if isinstance(data, pcircuit.Circuit):
        check_distribution(data, "data")
        return max(
            pcircuit.overlap(data, smoothed(data, product))
            - 2 * pcircuit.overlap(data, smooth)
            + expected,
            0.0,
        )
    rows = check_rows(circuit, data, name="data")
    if rows.min() < 0:
        raise ValueError(
            "`data` has missing entries: complete them first, for instance with "
            "pcircuit.sample(circuit, given=data)"
        )
    return max(_mmd_of_rows(smooth, product, rows, expected), 0.0)


def _mmd_of_rows(
    smooth: pcircuit.Circuit, kernel: HammingKernel, rows: np.ndarray, expected: float
) -> float:
    """M of complete rows."""
    witness = np.exp(pcircuit.log_likelihood(smooth, rows)).mean()
    return pair_sum(kernel, rows) / len(rows) ** 2 - 2 * float(witness) + expected
