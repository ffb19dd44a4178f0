"""The five tests, for many batches at a time.

A trial is a row of indices into a pool; `trial_means` of the pool's scores and likelihood vectors is all that HLD and
the scalar tests need.  Each test returns an `Outcome`: which trials it rejects at each level, and what its threshold
was drawn from.

    HLD                      d > threshold of the null law, from the circuit's exact moments alone
    RootLL, TDI              | mean over reference batch - mean over batch |
    Typicality               | -mean log-likelihood - H |
    MMD                      all pairs of the batch and the reference batch

The thresholds of the last four are order statistics of pairs of batches drawn from the circuit, such that
(1 + #{null >= statistic}) / (1 + B) <= alpha is the same as statistic > threshold, as in `hld.baselines`.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

import hld
from hld.baselines.peers import median_bandwidth, rejection_threshold
from hld.witnesses.metrics.maps import RIDGE

from .errors import Outcome, above_ties
from .settings import NODE_SETS
from .spectra import redundancy, spectrum

BANDWIDTH_ROWS = 2_000
MAX_FULL_SPECTRUM, NUM_LEADING = 1500, 128  # nodes, eigenvalues
INDEX_BLOCK = 4_000_000  # indices drawn at a time
SCALARS = {"RootLL": "log_likelihood", "TDI": "log_std", "TDI variation": "variation"}


class Distance(NamedTuple):
    """A norm of T^1/2 (mean of a batch - `mean`) over some `columns`, and its `quantiles` under the null.

    `factor` (m, m) maps the difference first; `num_reference` is n of the scale 1 + T/n of the quantiles, or None.
    """

    columns: np.ndarray
    mean: np.ndarray
    quantiles: list
    factor: np.ndarray | None = None
    num_reference: int | None = None

    def rejects(self, means, T) -> np.ndarray:
        """(levels, trials) whether the batch means (trials, all units) are too far away."""
        difference = means[:, self.columns] - self.mean
        if self.factor is not None:
            difference = difference @ self.factor
        scale = 1 + T / self.num_reference if self.num_reference else 1.0
        return T * (difference**2).sum(axis=1) > scale * np.array(self.quantiles)[:, None]


class HLDLaws:
    """The distances of a circuit by method, "HLD/node set/law", and what their spectra say."""

    def __init__(self, circuit, nodes, settings, num_train):
        kinds, alphas = circuit.nodes.kind[nodes], settings.alphas
        self.distances, self.dims, self.spectra = {}, {}, {}
        for name in settings.node_sets:
            columns = np.flatnonzero(np.isin(kinds, NODE_SETS[name]))
            moments = hld.exact_moments(circuit, nodes[columns])
            law, closed_form = null_law(moments), closed_forms(moments, alphas)
            exact = [float(hld.gchi2.isf(alpha, law)) for alpha in alphas]
            mean, self.dims[name] = np.asarray(moments.mean), len(columns)
            found = {"normal": Distance(columns, mean, closed_form)}
            found["exact"] = Distance(columns, mean, exact)
            if name == "leaf+sum":  # scaled for the estimation error of the circuit
                found["exact, 1+T/n"] = found["exact"]._replace(num_reference=num_train)
            if settings.additions:
                covariance = moments.covariance()
                factor = whitening(covariance)
                quantiles = quantiles_of(factor @ covariance @ factor, alphas)
                found["whitened"] = Distance(columns, mean, quantiles, factor)
                found["whitened, 1+T/n"] = found["whitened"]._replace(num_reference=num_train)
                self.spectra[name] = spectrum(covariance, law, closed_form)
                if name == "leaf+sum+prod":
                    self.spectra["products"] = redundancy(circuit, nodes[columns], covariance)
            self.distances |= {f"HLD/{name}/{kind}": one for kind, one in found.items()}

    def against_rows(self, rows, label, alphas):
        """Two more distances: the plain and the whitened one from the mean of the likelihood vectors of n rows."""
        columns = self.distances["HLD/leaf+sum/exact"].columns
        vectors = rows[:, columns].astype(np.float64)
        mean, covariance = vectors.mean(axis=0), np.cov(vectors, rowvar=False)
        factor = self.distances["HLD/leaf+sum/whitened"].factor
        for metric, norm in (("", None), ("whitened, ", factor)):
            inner = covariance if norm is None else norm @ covariance @ norm
            self.distances[f"HLD/leaf+sum/{metric}{label}"] = Distance(
                columns, mean, quantiles_of(inner, alphas), norm, len(rows)
            )

    def rejections(self, means, T) -> dict:
        """Outcomes by method for (trials, m) batch means."""
        return {
            method: Outcome(distance.rejects(means, T))
            for method, distance in self.distances.items()
        }


class ScalarNulls:
    """Entropy of the circuit, and sorted null statistics of the scalar tests for each T, drawn from a pool."""

    def __init__(self, pool, null_trials, seed):
        self.pool, self.null_trials, self.seed = pool, null_trials, seed
        self.entropy = -float(pool.scores["log_likelihood"].mean())
        self.drawn: dict = {}

    def null(self, T) -> dict:
        """Sorted null statistics by method."""
        if T not in self.drawn:
            rng = np.random.default_rng([*self.seed, T])
            parts = {score: [] for score in SCALARS.values()}
            left = self.null_trials
            while left:
                trials = min(left, max(1, INDEX_BLOCK // (2 * T)))
                left -= trials
                index = rng.integers(0, len(self.pool.codes), (trials, 2, T))
                for score, means in parts.items():
                    means.append(self.pool.scores[score][index].mean(axis=2))
            means = {score: np.concatenate(blocks) for score, blocks in parts.items()}
            null = {
                name: np.sort(distances(means[score][:, 0], means[score][:, 1]))
                for name, score in SCALARS.items()
            }
            null["Typicality"] = np.sort(distances(-means["log_likelihood"][:, 1], self.entropy))
            self.drawn[T] = null
        return self.drawn[T]

    def rejections(self, reference_means, batch_means, T, alphas) -> dict:
        """Outcomes by method for score means {score: (trials,)} of reference batches and of batches."""
        null = self.null(T)
        outcomes = {}
        for name in (*SCALARS, "Typicality"):
            if name == "Typicality":
                statistics = distances(-batch_means["log_likelihood"], self.entropy)
            else:
                statistics = distances(reference_means[SCALARS[name]], batch_means[SCALARS[name]])
            outcomes[name] = compare(statistics, null[name], alphas)
        return outcomes


class MMDBatches:
    """Reference batches with their mean kernels, and sorted null statistics, for each T.

    Rows are vectors with one coordinate for each category of each column ("one-hot"), or category codes as numbers.
    """

    def __init__(self, reference_codes, null_codes, num_categories, encoding, seed):
        self.seed = seed
        if encoding not in ("codes", "one-hot"):
            raise ValueError(f"`mmd_rows` must be 'codes' or 'one-hot', found {encoding!r}")
        if encoding == "one-hot":
            self.rows = lambda codes: one_hot(codes, num_categories)
        else:
            shift = reference_codes.mean(axis=0)  # distances do not change, rounding errors do
            self.rows = lambda codes: codes - shift
        self.reference, self.null_rows = self.rows(reference_codes), self.rows(null_codes)
        self.gamma = -0.5 / median_bandwidth(self.reference[:BANDWIDTH_ROWS]) ** 2
        self.kept: dict = {}
        self.drawn: dict = {}

    def null(self, T, null_trials):
        """(B,) sorted statistics of pairs of batches: reference pool against the pool of FPR_model."""
        if T not in self.drawn:
            rng = np.random.default_rng([*self.seed, T, 1])
            first = rng.integers(0, len(self.reference), (null_trials, T))
            second = rng.integers(0, len(self.null_rows), (null_trials, T))
            statistics = (
                mean_kernels(self.reference, first, self.reference, first, self.gamma)
                + mean_kernels(self.null_rows, second, self.null_rows, second, self.gamma)
                - 2 * mean_kernels(self.reference, first, self.null_rows, second, self.gamma)
            )
            self.drawn[T] = np.sort(statistics)
        return self.drawn[T]

    def rejections(self, codes, reference_index, index, T, alphas, null_trials):
        """Outcome of batches `index` (trials, T) of `codes` against the reference batches, the same for each T."""
        if T not in self.kept:
            self.kept[T] = mean_kernels(
                self.reference, reference_index, self.reference, reference_index, self.gamma
            )
        rows = self.rows(codes)
        statistics = (
            self.kept[T]
            + mean_kernels(rows, index, rows, index, self.gamma)
            - 2 * mean_kernels(self.reference, reference_index, rows, index, self.gamma)
        )
        return compare(statistics, self.null(T, null_trials), alphas)


def one_hot(codes, num_categories) -> np.ndarray:
    """(N, sum of the numbers of categories) uint8: one coordinate for each category of each column."""
    columns = [codes[:, v, None] == np.arange(count) for v, count in enumerate(num_categories)]
    return np.concatenate(columns, axis=1).astype(np.uint8)


def mean_kernels(first, first_index, second, second_index, gamma) -> np.ndarray:
    """(trials,) mean of exp(gamma |x - y|^2) over all pairs of rows of two batches, for indices (trials, T)."""
    means = np.empty(len(first_index))
    for trial, (left, right) in enumerate(zip(first_index, second_index, strict=True)):
        x, y = first[left].astype(np.float64), second[right].astype(np.float64)
        squares = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1) - 2 * x @ y.T
        means[trial] = np.exp(gamma * squares).mean()
    return means


def null_law(moments):
    """The law of T d^2 under the null, a sum of chi-squares with the eigenvalues of S as weights.

    Beyond MAX_FULL_SPECTRUM nodes the leading eigenvalues are exact, and the others one gamma term with their sum and
    sum of squares.
    """
    if len(moments.nodes) <= MAX_FULL_SPECTRUM:
        return hld.gchi2.prepare(np.maximum(moments.eigenvalues(), 0.0))
    values = np.maximum(moments.eigenvalues(NUM_LEADING), 0.0)
    c1, c2 = moments.trace - values.sum(), moments.trace_sq - (values**2).sum()
    return hld.gchi2.prepare(
        np.append(values, c2 / c1), np.append(np.ones(NUM_LEADING), c1**2 / c2)
    )


def closed_forms(moments, alphas) -> list:
    """The paper's thresholds of T d^2: tr(S) + z (2 tr(S^2))^1/2."""
    spread = np.sqrt(2 * moments.trace_sq)
    return [float(moments.trace - ndtri(alpha) * spread) for alpha in alphas]


def quantiles_of(covariance, alphas) -> list:
    """Quantiles of |Z|^2 for Z normal with this covariance."""
    law = hld.gchi2.prepare(np.maximum(np.linalg.eigvalsh(covariance), 0.0))
    return [float(hld.gchi2.isf(alpha, law)) for alpha in alphas]


def whitening(covariance) -> np.ndarray:
    """(S + c I)^(-1/2) with c a share RIDGE of the largest eigenvalue: the metric "whitened" of `hld`."""
    values, vectors = np.linalg.eigh(covariance)
    return (vectors / np.sqrt(np.maximum(values, 0.0) + RIDGE * values[-1])) @ vectors.T


def trial_means(values, index) -> np.ndarray:
    """Means (trials, m) or (trials,) over the rows `index` (trials, T) of `values` (N, m) or (N,)."""
    if values.ndim == 1:
        return values[index].mean(axis=1)
    T = index.shape[1]
    ones = np.ones(T, values.dtype)
    means = np.empty((len(index), values.shape[1]))
    for trial, rows in enumerate(index):
        means[trial] = ones @ values[rows]
    return means / T


def distances(first, second) -> np.ndarray:
    """| first - second |, 0 for equal infinities: rows without any uncertainty, or impossible ones."""
    with np.errstate(invalid="ignore"):
        return np.where(first == second, 0.0, np.abs(first - second))


def compare(statistics, null, alphas) -> Outcome:
    """Which statistics exceed the threshold of each level, an order statistic of `null`."""
    thresholds = np.array([rejection_threshold(null, alpha) for alpha in alphas])[:, None]
    return Outcome(statistics > above_ties(thresholds), statistics, null)
