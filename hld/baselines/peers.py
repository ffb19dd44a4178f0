r"""The tests that the HLD paper compares with: root likelihood, typicality, dropout uncertainty, kernels.

Each compares a batch y_1..y_T with the circuit by one number,

    root likelihood    | mean ln p(x) - mean ln p(y) |                x_1..x_T reference rows drawn from the circuit
    typicality         | -mean ln p(y) - H |                          H the entropy of the circuit
    dropout (TDI)      | mean u(x) - mean u(y) |                      u the uncertainty of a row
    MMD                mean k(x, x') + mean k(y, y') - 2 mean k(x, y) Gaussian kernel k, all pairs, also equal ones

and rejects when that number is large among those of batches drawn from the circuit: with B of them,
p = (1 + #{statistic_b >= statistic}) / (1 + B), which is valid at every T.

==============================================  ==================================================================
`root_likelihood_test`, `typicality_test`,      make a `BaselineTest`, called like `hld.HLDTest`, which returns a
`dropout_test`, `mmd_test`                      `BaselineResult`
`mean_difference`, `typicality`, `mmd_squared`  the statistics, of numbers and of rows
`median_bandwidth`, `dropout_scores`            what they need
==============================================  ==================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

import pcircuit
from hld.baselines.statistics import (
    dropout_scores,
    mean_difference,
    median_bandwidth,
    mmd_squared,
    two_sample_mmd_squared,
    typicality,
)
from hld.nulls.null import check_verdict
from hld.nulls.ranks.monte_carlo import monte_carlo_pvalue, rejection_threshold
from pcircuit.arguments import (
    check_fraction,
    check_generator,
    check_number,
    check_seed,
    check_whole_number,
)
from pcircuit.circuit import check_distribution
from pcircuit.evidence import check_evidence

__all__ = [
    "BaselineResult",
    "BaselineTest",
    "dropout_scores",
    "dropout_test",
    "mean_difference",
    "median_bandwidth",
    "mmd_squared",
    "mmd_test",
    "rejection_threshold",
    "root_likelihood_test",
    "typicality",
    "typicality_test",
]
ENTROPY_ROWS = 20_000  # rows drawn to estimate the entropy of a circuit
BANDWIDTH_ROWS = 1000


@dataclass(frozen=True)
class BaselineResult:
    """The outcome of a baseline test of one batch; the fields mean what they mean in `hld.HLDResult`.

    Attributes
    ----------
    statistic : float
        Larger is further from the circuit.
    threshold : float
        Largest statistic that does not reject at level `alpha`; infinite where B is too small to reject at all.
    pvalue : float
        (1 + number of null statistics at least as large) / (1 + B).
    reject : bool
        ``pvalue <= alpha``.
    alpha : float
        Level of the test.
    num_samples : int
        T, the rows of the batch.
    null : str
        "monte-carlo".
    """

    statistic: float
    threshold: float
    pvalue: float
    reject: bool
    alpha: float
    num_samples: int
    null: str = "monte-carlo"

    def __post_init__(self) -> None:
        check_verdict(self.statistic, self.pvalue)

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain Python values."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class BaselineTest:
    """A baseline test of batches against a circuit; made by the functions of the module.

    Attributes
    ----------
    circuit : pcircuit.Circuit
    summary : callable
        ``summary(rows)`` is the array, one entry per row, that the statistic looks at.
    statistic : callable
        ``statistic(summary of reference rows, summary of the batch)``, a float.
    num_resamples : int
        B, pairs of batches behind the null distribution.
    seed : int
        The reference rows for a batch size T, and the null, are a function of seed and T.
    """

    circuit: pcircuit.Circuit
    summary: Any
    statistic: Any
    num_resamples: int
    seed: int
    _drawn: dict[str, Any] = field(default_factory=dict, repr=False)

    def __call__(self, batch: np.ndarray, alpha: float = 0.05) -> BaselineResult:
        """Test a batch.

        Shapes: batch (T, V).
        """
        alpha = check_fraction(alpha, "alpha")
        batch = check_evidence(self.circuit, batch, name="batch")
        if not len(batch):
            raise ValueError("`batch` has no rows: a test needs at least one")
        reference, null = self.drawn(len(batch))
        statistic = float(self.statistic(reference, self.summary(batch)))
        pvalue = monte_carlo_pvalue(null, statistic)
        return BaselineResult(
            statistic,
            rejection_threshold(null, alpha),
            pvalue,
            bool(pvalue <= alpha),
            alpha,
            len(batch),
        )

    def drawn(self, T: Any) -> tuple[np.ndarray, np.ndarray]:
        """Summary of T reference rows, and the (B,) sorted null statistics of pairs of batches of T rows."""
        if T not in self._drawn:
            rng = np.random.default_rng([self.seed, T])
            reference = self.summary(pcircuit.sample(self.circuit, T, rng=rng))
            null = np.empty(self.num_resamples)
            for b in range(self.num_resamples):
                pair = self.summary(pcircuit.sample(self.circuit, 2 * T, rng=rng))
                null[b] = self.statistic(pair[:T], pair[T:])
            self._drawn[T] = reference, np.sort(null)
        return self._drawn[T]


def root_likelihood_test(
    circuit: pcircuit.Circuit, *, num_resamples: int = 999, rng: int | None = None
) -> BaselineTest:
    """Test by the mean log-likelihood: | mean ln p(x) - mean ln p(y) |, x drawn from the circuit.

    Parameters
    ----------
    circuit : pcircuit.Circuit
        Normalised.
    num_resamples : int
        B of the null distribution.
    rng : int or numpy.random.Generator, optional
        Seed of reference rows and null.

    Returns
    -------
    BaselineTest

    References
    ----------
    E. Nalisnick, A. Matsukawa, Y. W. Teh, D. Gorur and B. Lakshminarayanan (2019), Do deep generative models know what
    they don't know?, ICLR.  K, S and Krishnan (2026), A Probabilistic Circuit-Induced Pseudo-Metric for
    Out-of-Distribution Detection, appendix, "Baselines".

    Examples
    --------
    >>> circuit = pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0)
    >>> test = root_likelihood_test(circuit, rng=0)
    >>> test(pcircuit.sample(circuit, 50, rng=1)).reject
    False
    """
    return _test(
        circuit,
        lambda rows: pcircuit.log_likelihood(circuit, rows),
        mean_difference,
        num_resamples,
        rng,
    )


def typicality_test(
    circuit: pcircuit.Circuit, *, entropy: Any = None, num_resamples: int = 999, rng: Any = None
) -> BaselineTest:
    """Test whether a batch is typical: | -mean ln p(y) - H |.

    Parameters
    ----------
    circuit : pcircuit.Circuit
        Normalised.
    entropy : float, optional
        H in nats; by default the mean of -ln p over `ENTROPY_ROWS` rows drawn from the circuit.
    num_resamples : int
        B of the null distribution.
    rng : int or numpy.random.Generator, optional
        Seed of H and the null.

    Returns
    -------
    BaselineTest
        It draws reference rows like the others, but does not look at them.

    References
    ----------
    E. Nalisnick, A. Matsukawa, Y. W. Teh and B. Lakshminarayanan (2019), Detecting out-of-distribution inputs to deep
    generative models using typicality, arXiv:1906.02994.

    Examples
    --------
    >>> circuit = pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0)
    >>> typicality_test(circuit, rng=0)(pcircuit.sample(circuit, 50, rng=1)).reject
    False
    """
    check_distribution(circuit)
    rng = check_generator(rng)
    if entropy is not None:
        entropy = check_number(entropy, "entropy")
    else:
        entropy = -float(
            pcircuit.log_likelihood(circuit, pcircuit.sample(circuit, ENTROPY_ROWS, rng=rng)).mean()
        )
    return _test(
        circuit,
        lambda rows: pcircuit.log_likelihood(circuit, rows),
        lambda reference, batch: typicality(batch, entropy),
        num_resamples,
        rng,
    )


def dropout_test(
    circuit: pcircuit.Circuit,
    *,
    rate: float = 0.1,
    score: str = "log_std",
    num_resamples: int = 999,
    rng: int | None = None,
) -> BaselineTest:
    """Test by the mean uncertainty under tractable dropout: | mean u(x) - mean u(y) |, x drawn from the circuit.

    Parameters
    ----------
    circuit : pcircuit.Circuit
        Normalised.
    rate, score
        See `dropout_scores`.
    num_resamples : int
        B of the null distribution.
    rng : int or numpy.random.Generator, optional
        Seed of reference rows and null.

    Returns
    -------
    BaselineTest

    References
    ----------
    F. Ventola, S. Braun, Z. Yu, M. Mundt and K. Kersting (2023), Probabilistic circuits that know what they don't
    know, UAI.

    Examples
    --------
    >>> circuit = pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0)
    >>> dropout_test(circuit, num_resamples=99, rng=0)(pcircuit.sample(circuit, 50, rng=1)).reject
    False
    """

    def summary(rows: np.ndarray) -> np.ndarray:
        return dropout_scores(circuit, rows, rate=rate, score=score)

    check_distribution(circuit)
    summary(
        np.zeros((0, circuit.num_variables), np.int64)
    )  # refuses wrong options now, not at the first batch
    return _test(circuit, summary, mean_difference, num_resamples, rng)


def mmd_test(
    circuit: pcircuit.Circuit, *, bandwidth: Any = None, num_resamples: int = 199, rng: Any = None
) -> BaselineTest:
    """Test by the maximum mean discrepancy between the batch and T rows drawn from the circuit.

    Parameters
    ----------
    circuit : pcircuit.Circuit
        Normalised.
    bandwidth : float, optional
        sigma of the kernel; by default the median heuristic on `BANDWIDTH_ROWS` rows drawn from the circuit.
    num_resamples : int
        B of the null distribution; each costs O(T^2 V).
    rng : int or numpy.random.Generator, optional
        Seed of bandwidth, reference rows and null.

    Returns
    -------
    BaselineTest
        Missing entries are refused: the kernel has no value for them.

    References
    ----------
    A. Gretton, K. Borgwardt, M. Rasch, B. Schoelkopf and A. Smola (2012), A kernel two-sample test, JMLR 13.

    Examples
    --------
    >>> circuit = pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0)
    >>> mmd_test(circuit, rng=0)(pcircuit.sample(circuit, 50, rng=1)).reject
    False
    """
    check_distribution(circuit)
    rng = check_generator(rng)
    if bandwidth is not None:
        bandwidth = check_number(bandwidth, "bandwidth", above=0)
    else:
        bandwidth = median_bandwidth(pcircuit.sample(circuit, BANDWIDTH_ROWS, rng=rng))

    def summary(rows: np.ndarray) -> np.ndarray:
        if rows.size and rows.min() < 0:
            raise ValueError(
                "`batch` has missing entries (-1), for which the kernel has no value: complete them, for "
                "instance with pcircuit.sample(circuit, evidence=batch), or use another test"
            )
        return rows

    def statistic(first: np.ndarray, second: np.ndarray) -> float:
        return two_sample_mmd_squared(first, second, bandwidth)

    return _test(circuit, summary, statistic, num_resamples, rng)


def _test(
    circuit: pcircuit.Circuit,
    summary: Callable[..., Any],
    statistic: Callable[..., Any],
    num_resamples: int,
    rng: Any,
) -> BaselineTest:
    """A BaselineTest after the checks that all share."""
    num_resamples = check_whole_number(num_resamples, "num_resamples", 1)
    circuit, seed = check_distribution(circuit), check_seed(rng)
    return BaselineTest(circuit, summary, statistic, num_resamples, seed)
