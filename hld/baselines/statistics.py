r"""The statistics of the baseline tests, as functions of numbers and rows.

    mean_difference       | mean a - mean b |, for log-likelihoods and for dropout scores
    typicality            | -mean ln p - H |
    two_sample_mmd_squared   squared maximum mean discrepancy with a Gaussian kernel, and its `median_bandwidth`;
                          `mmd_squared` is its short name
    dropout_scores        uncertainty of each row, from the moments of `hld.baselines.dropout`

`hld.baselines` makes tests of them.
"""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import pcircuit
from hld.baselines.dropout import dropout_moments
from pcircuit.arguments import check_choice, check_number
from pcircuit.arrays import check_numbers

SCORES = ("log_std", "variation")


def mean_difference(reference: ArrayLike, batch: ArrayLike) -> float:
    """Distance of two means, | mean of `reference` - mean of `batch` |.

    Parameters
    ----------
    reference, batch : (n,) and (T,) float array_like
        One number for each row, for instance log-likelihoods; -inf where a row is impossible.  Where +inf and -inf
        meet, as the variations of impossible rows and of rows without uncertainty do, their mean is +inf.

    Returns
    -------
    float
        Infinite if one mean is infinite, 0 if both are the same infinity.

    Examples
    --------
    >>> mean_difference([1.0, 2.0], [4.0])
    2.5
    """
    first, second = _mean_of(reference, "reference"), _mean_of(batch, "batch")
    return 0.0 if first == second else abs(first - second)


def typicality(log_likelihoods: ArrayLike, entropy: float) -> float:
    """How far the mean surprise of a batch is from the entropy, | -mean ln p - H |.

    Parameters
    ----------
    log_likelihoods : (T,) float array_like
        Natural logarithms.
    entropy : float
        H in nats.

    Returns
    -------
    float
        In nats; infinite if a row is impossible.

    Examples
    --------
    >>> typicality([-2.0, -4.0], 2.5)
    0.5
    """
    entropy = check_number(entropy, "entropy")
    return float(np.abs(-_mean_of(log_likelihoods, "log_likelihoods") - entropy))


def two_sample_mmd_squared(first: ArrayLike, second: ArrayLike, bandwidth: float) -> float:
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
    >>> round(two_sample_mmd_squared([[0, 0]], [[1, 0]], 1.0), 4)              # 2 - 2 exp(-1/2)
    0.7869
    """
    first, second = _rows_of_numbers(first, "first"), _rows_of_numbers(second, "second")
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"`second` must have {first.shape[1]} columns as `first` has, found {second.shape[1]}"
        )
    bandwidth = check_number(bandwidth, "bandwidth", above=0)
    return float(
        _mean_kernel(first, first, bandwidth)
        + _mean_kernel(second, second, bandwidth)
        - 2 * _mean_kernel(first, second, bandwidth)
    )


mmd_squared = two_sample_mmd_squared  # its public name, as hld.baselines.mmd_squared


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

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, or there are fewer than two rows.

    Examples
    --------
    >>> median_bandwidth([[0, 0], [3, 4], [6, 8]])
    5.0
    """
    rows = _rows_of_numbers(rows, "rows")
    if len(rows) < 2:
        raise ValueError(f"`rows` must be a table of at least two rows, found shape {rows.shape}")
    squared = _squared_distances(rows, rows)[np.triu_indices(len(rows), 1)]
    return float(np.sqrt(np.median(squared))) or 1.0


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

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, `score` is unknown, or as `hld.baselines.dropout.dropout_moments` says.

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


def _mean_of(values: Any, name: str) -> float:
    """Mean of one or more numbers, not NaN; infinite where one is, and +inf outweighs -inf."""
    expected = "a sequence of at least one number, none of them NaN"
    numbers = check_numbers(values, name, expected, finite=False)
    if numbers.ndim != 1 or not numbers.size or np.isnan(numbers).any():
        raise ValueError(f"`{name}` must be {expected}, found {reprlib.repr(values)}")
    if np.isposinf(numbers).any():
        return np.inf
    return float(np.mean(numbers))


def _rows_of_numbers(rows: Any, name: str) -> np.ndarray:
    """`rows` as a table of finite numbers with at least one row."""
    expected = "a table (n, V) of finite numbers with at least one row"
    numbers = check_numbers(rows, name, expected)
    if numbers.ndim != 2 or not len(numbers):
        raise ValueError(f"`{name}` must be {expected}, found shape {numbers.shape}")
    return numbers


def _mean_kernel(first: np.ndarray, second: np.ndarray, bandwidth: float) -> float:
    """Mean of k over all pairs."""
    with np.errstate(over="ignore"):  # of distances in tiny bandwidths, whose kernel is 0
        return np.exp(-0.5 * (np.sqrt(_squared_distances(first, second)) / bandwidth) ** 2).mean()


def _squared_distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(n, m) squared Euclidean distances; exact for whole numbers that are within 2^25 of the first."""
    first, second = first - first[0], second - first[0]  # what all have in common would cost digits
    squares = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1)
    return np.maximum(squares - 2 * first @ second.T, 0.0)
