r"""The tests that the HLD paper compares with: root likelihood, typicality, dropout uncertainty, kernels.

Each compares a batch y_1..y_T with the circuit by one number,

    root likelihood    | mean ln p(x) - mean ln p(y) |                x_1..x_T reference rows drawn from the circuit
    typicality         | -mean ln p(y) - H |                          H the entropy of the circuit
    dropout (TDI)      | mean u(x) - mean u(y) |                      u the uncertainty of a row
    MMD                mean k(x, x') + mean k(y, y') - 2 mean k(x, y) Gaussian kernel k, all pairs, also equal ones

and rejects when that number is large among those of batches drawn from the circuit: with B of them,
p = (1 + #{statistic_b >= statistic}) / (1 + B), which is valid at every T.

`root_likelihood_test`, `typicality_test`, `dropout_test` and `mmd_test` make a `BaselineTest`, called like
`hld.HLDTest`; `mmd_squared`, `median_bandwidth` and `dropout_scores` are what they need.

Tractable dropout: how uncertain is a likelihood when edges of the circuit fail at random?

Each edge of each sum unit below the root keeps its weight with probability q = 1 - rate, independently, and is cut
otherwise; kept weights are divided by q, so that nothing changes on average.  For a fixed row x every unit then is a
random variable N_i.  Its mean is the ordinary likelihood; one upward pass also gives the variance (Ventola et al.
2023).  In terms of relative variances C_a = Var N_a / (E N_a)^2,

    inputs      C = 0
    products    1 + C_p = prod_c (1 + C_c[u(p,c)])                                children are independent
    sums        C_a = sum_i r_ai^2 (C_i + (rate/q) (1 + C_i))

with the responsibilities r_ai = w_ai E P_i / sum_j w_aj E P_j; the root sum has no mask and so no term with rate/q.
Nothing is subtracted, so nothing cancels, and ln(1 + C) is carried, so nothing overflows.

This is the published method, which drops the covariances of different units.  It is exact where no unit has two
parents; otherwise the variance is too small, because both children of a sum may depend on the same masks further down.

References: Nalisnick et al. (2019), Do deep generative models know what they don't know?, ICLR, and Detecting
out-of-distribution inputs to deep generative models using typicality, arXiv:1906.02994; Ventola et al. (2023),
Probabilistic circuits that know what they don't know, UAI; Gretton et al. (2012), A kernel two-sample test, JMLR 13;
K, S and Krishnan (2026), appendix, "Baselines".
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import pcircuit
from hld.features.row_vectors import check_rows
from hld.laws.null import check_verdict
from hld.laws.ranks.monte_carlo import monte_carlo_pvalue, rejection_threshold
from pcircuit.arguments import (
    check_choice,
    check_fraction,
    check_generator,
    check_number,
    check_numbers,
    check_seed,
    check_whole_number,
)
from pcircuit.circuit import check_distribution
from pcircuit.evidence import check_evidence

CHUNK_VALUES = 2_000_000  # numbers in the largest array of a chunk of rows


def dropout_moments(
    circuit: pcircuit.Circuit, data: ArrayLike, *, rate: float = 0.1
) -> tuple[np.ndarray, np.ndarray]:
    r"""Mean and relative spread of the likelihood of rows under dropout of the edges of sums.

    With S(x) the random root value, E S = p(x), and c^2 = Var S / (E S)^2 by the recursion of the module.

    Shapes: data (N, V) -> log_mean (N,), log_spread (N,).
    O(N R K P) in plain NumPy.
    """
    check_distribution(circuit)
    rate = check_number(rate, "rate", least=0, below=1)
    data = check_evidence(circuit, data)
    width = max(region.num_nodes for region in circuit.regions)
    blocks = np.array_split(data, 1 + len(data) * width**2 // CHUNK_VALUES)
    found = np.concatenate([_upward(circuit, block, rate) for block in blocks], axis=1)
    return found[0], found[1]


def _upward(circuit: pcircuit.Circuit, data: np.ndarray, rate: float) -> np.ndarray:
    """(2, N) ln E and ln(1 + C) of the root for a block of rows."""
    waiting: dict[int, Any] = {}  # of finished regions: (N, K) ln E, (N, K) ln(1 + C)
    for r, region in enumerate(circuit.regions):
        if region.is_input:
            log_values = _inputs(region, data[:, region.variable])
            waiting[r] = log_values, np.zeros(log_values.shape)
            continue
        log_products, spreads = 0.0, 0.0
        for a, c in enumerate(circuit.vtree.children(r).tolist()):
            units = region.products[:, a]
            log_child, child_spread = waiting.pop(c)
            log_products = log_products + log_child[:, units]
            spreads = spreads + child_spread[:, units]
        cut = 0.0 if r == len(circuit.regions) - 1 else rate / (1 - rate)
        waiting[r] = _sums(region.dense_weights(), log_products, spreads, cut)
    log_root, spread = waiting[len(circuit.regions) - 1]
    return np.stack([log_root[:, 0], spread[:, 0]])


def _inputs(region: pcircuit.InputRegion, column: np.ndarray) -> np.ndarray:
    """ln p(x) (N, K) of an input region, 0 where x is missing."""
    with np.errstate(divide="ignore"):
        table = np.log(region.probs)
    return np.where(column[:, None] < 0, 0.0, table.T[column])


def _sums(
    weights: np.ndarray, log_products: Any, spreads: Any, cut: float
) -> tuple[np.ndarray, np.ndarray]:
    """ln E (N, K) and ln(1 + C) of the sums; `cut` is rate/q, or 0 where edges are safe."""
    from scipy.special import logsumexp

    with np.errstate(divide="ignore"):
        terms = np.log(weights) + log_products[:, None, :]  # (N, K, P)
        log_sums = logsumexp(terms, axis=2)
        # ln(C + cut (1 + C)), with C = exp(spread) - 1
        grown = spreads + np.log(cut - np.expm1(-spreads))
        # ln responsibilities
        shares = terms - np.maximum(log_sums, np.finfo(float).min)[:, :, None]
        return log_sums, np.logaddexp(0.0, logsumexp(2 * shares + grown[:, None, :], axis=2))


ENTROPY_ROWS = 20_000  # rows drawn to estimate the entropy of a circuit
BANDWIDTH_ROWS = 1000
SCORES = ("log_std", "variation")


def _distance_of_means(reference: np.ndarray, batch: np.ndarray) -> float:
    """| mean of reference numbers - mean of a batch's |: infinite if one mean is, 0 if both are the same infinity."""
    first, second = _mean_of(reference), _mean_of(batch)
    return 0.0 if first == second else abs(first - second)


def _mean_of(numbers: np.ndarray) -> float:
    """Their mean; infinite where one is, and +inf outweighs -inf."""
    return np.inf if np.isposinf(numbers).any() else float(numbers.mean())


def mmd_squared(first: ArrayLike, second: ArrayLike, bandwidth: float) -> float:
    """Squared maximum mean discrepancy of two samples, all pairs included (V-statistic).

    (1/n^2) sum k(x_i, x_j) + (1/m^2) sum k(y_i, y_j) - (2/nm) sum k(x_i, y_j), k = exp(-||x - y||^2 / (2 sigma^2)).

    Parameters
    ----------
    first, second : (n, V) and (m, V) arrays
        Rows as numbers: category codes.
    bandwidth : float
        sigma > 0.

    Returns
    -------
    float
        At least 0, up to rounding.

    Examples
    --------
    >>> round(mmd_squared([[0, 0]], [[1, 0]], 1.0), 4)              # 2 - 2 exp(-1/2)
    0.7869
    """
    first, second = _rows_of_numbers(first, "first"), _rows_of_numbers(second, "second")
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"`second` must have {first.shape[1]} columns as `first` has, found {second.shape[1]}"
        )
    bandwidth = check_number(bandwidth, "bandwidth", above=0)
    within = _mean_kernel(first, first, bandwidth) + _mean_kernel(second, second, bandwidth)
    return within - 2 * _mean_kernel(first, second, bandwidth)


def median_bandwidth(rows: ArrayLike) -> float:
    """Median Euclidean distance between different rows of a sample; 1 where that is 0.

    Parameters
    ----------
    rows : (n, V) array
        n at least 2; the cost is O(n^2 V).

    Returns
    -------
    float
        Positive.

    Examples
    --------
    >>> median_bandwidth([[0, 0], [3, 4], [6, 8]])
    5.0
    """
    from scipy.spatial.distance import pdist

    rows = _rows_of_numbers(rows, "rows")
    if len(rows) < 2:
        raise ValueError(f"`rows` must be a table of at least two rows, found shape {rows.shape}")
    return float(np.median(pdist(rows))) or 1.0


def dropout_scores(
    circuit: pcircuit.Circuit, data: ArrayLike, *, rate: float = 0.1, score: str = "log_std"
) -> np.ndarray:
    """Uncertainty u(x) of the likelihood of each row under tractable dropout.

    With mean p(x) and relative variance c^2 of the root: "log_std" is ln sqrt(Var) = ln p(x) + ln c, "variation" is
    ln c.  The method's authors define a score for classifiers only, and the HLD paper none for densities.

    Parameters
    ----------
    circuit : pcircuit.Circuit
        Normalised.
    data : (N, V) integer array_like
        Evidence, -1 missing.
    rate : float
        Probability that an edge below a sum unit is cut, in (0, 1).
    score : "log_std" or "variation"

    Returns
    -------
    (N,) float64 array
        -inf for "log_std" where p(x) = 0, and +inf for "variation" there; -inf where a row has no uncertainty.

    Examples
    --------
    >>> import pcircuit
    >>> circuit = pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0)
    >>> dropout_scores(circuit, [[0, 0, 0, 0], [1, 1, 1, 1]]).shape
    (2,)
    """
    check_choice(score, "score", SCORES)
    log_mean, log_spread = dropout_moments(circuit, data, rate=rate)
    with np.errstate(divide="ignore"):  # ln c^2 = ln(e^s - 1) = s + ln(1 - e^-s)
        log_variation = 0.5 * (log_spread + np.log(-np.expm1(-log_spread)))
    if score == "log_std":
        return log_mean + log_variation
    return np.where(np.isneginf(log_mean), np.inf, log_variation)


def _rows_of_numbers(rows: Any, name: str) -> np.ndarray:
    """`rows` as a table of finite numbers with at least one row."""
    expected = "a table (n, V) of finite numbers with at least one row"
    numbers = check_numbers(rows, name, expected)
    if numbers.ndim != 2 or not len(numbers):
        raise ValueError(f"`{name}` must be {expected}, found shape {numbers.shape}")
    return numbers


def _mean_kernel(first: np.ndarray, second: np.ndarray, bandwidth: float) -> float:
    """Mean of k over all pairs."""
    from scipy.spatial.distance import cdist

    with np.errstate(over="ignore"):  # of distances in tiny bandwidths, whose kernel is 0
        return float(np.exp(-0.5 * (cdist(first, second) / bandwidth) ** 2).mean())


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
    num_missing : int
        Missing entries of the batch.
    """

    statistic: float
    threshold: float
    pvalue: float
    reject: bool
    alpha: float
    num_samples: int
    num_missing: int

    def __post_init__(self) -> None:
        check_verdict(self.statistic, self.pvalue)

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain Python values."""
        return asdict(self)


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

    round_off = 0.0  # what rounding may add to a statistic

    def __init__(
        self,
        circuit: pcircuit.Circuit,
        summary: Callable[[np.ndarray], np.ndarray],
        statistic: Callable[[np.ndarray, np.ndarray], float],
        num_resamples: int,
        rng: Any,
    ) -> None:
        self.circuit, self.summary, self.statistic = check_distribution(circuit), summary, statistic
        self.num_resamples = check_whole_number(num_resamples, "num_resamples", 1)
        self.seed = check_seed(rng)
        self._drawn: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def __call__(self, batch: ArrayLike, alpha: float = 0.05) -> BaselineResult:
        """Test a batch; shapes batch (T, V)."""
        alpha = check_fraction(alpha, "alpha")
        rows = check_rows(self.circuit, batch)
        reference, null = self.drawn(len(rows))
        statistic = float(self.statistic(reference, self.summary(rows)))
        pvalue = monte_carlo_pvalue(null, statistic, self.round_off)
        return BaselineResult(
            statistic,
            rejection_threshold(null, alpha),
            pvalue,
            bool(pvalue <= alpha),
            alpha,
            len(rows),
            int((rows < 0).sum()),
        )

    def drawn(self, T: int) -> tuple[np.ndarray, np.ndarray]:
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

    Examples
    --------
    >>> circuit = pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0)
    >>> test = root_likelihood_test(circuit, rng=0)
    >>> test(pcircuit.sample(circuit, 50, rng=1)).reject
    False
    """
    summary = partial(pcircuit.log_likelihood, circuit)
    return BaselineTest(circuit, summary, _distance_of_means, num_resamples, rng)


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

    Examples
    --------
    >>> circuit = pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0)
    >>> typicality_test(circuit, rng=0)(pcircuit.sample(circuit, 50, rng=1)).reject
    False
    """
    check_distribution(circuit)
    rng = check_generator(rng)
    summary = partial(pcircuit.log_likelihood, circuit)
    if entropy is not None:
        entropy = check_number(entropy, "entropy")
    else:
        entropy = -float(summary(pcircuit.sample(circuit, ENTROPY_ROWS, rng=rng)).mean())

    def statistic(_: np.ndarray, batch: np.ndarray) -> float:
        return abs(_mean_of(batch) + entropy)

    return BaselineTest(circuit, summary, statistic, num_resamples, rng)


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

    Examples
    --------
    >>> circuit = pcircuit.rat_spn([2] * 8, num_units=4, depth=2, rng=0)
    >>> dropout_test(circuit, num_resamples=99, rng=0)(pcircuit.sample(circuit, 50, rng=1)).reject
    False
    """
    check_distribution(circuit)
    summary = partial(dropout_scores, circuit, rate=rate, score=score)
    # refuses wrong options now, not at the first batch
    summary(np.zeros((0, circuit.num_variables), np.int64))
    return BaselineTest(circuit, summary, _distance_of_means, num_resamples, rng)


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
                "instance with pcircuit.sample(circuit, given=batch), or use another test"
            )
        return rows

    statistic = partial(mmd_squared, bandwidth=bandwidth)
    return BaselineTest(circuit, summary, statistic, num_resamples, rng)
