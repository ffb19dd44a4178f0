"""The five tests, for many batches at a time.

A trial is a row of indices into a pool; `trial_means` of the pool's scores and likelihood vectors is all that HLD and
the scalar tests need.  Rejections are counted for every level at once and returned as lists, one count per level.

    HLD                      d > threshold of the null law, from the circuit's exact moments alone
    RootLL, TDI              | mean over reference batch - mean over batch |
    Typicality               | -mean log-likelihood - H |
    MMD                      all pairs of the batch and the reference batch

The thresholds of the last four are order statistics of pairs of batches drawn from the circuit, such that
(1 + #{null >= statistic}) / (1 + B) <= alpha is the same as statistic > threshold, as in `hld.baselines`.
"""
from __future__ import annotations

import functools

import numpy as np

import hld
from hld.baselines.peers import median_bandwidth, rejection_threshold

from .kernels import mean_kernels, pack_rows
from .settings import NODE_SETS

BANDWIDTH_ROWS = 1000
MAX_FULL_SPECTRUM, NUM_LEADING = 1500, 128  # nodes, eigenvalues
INDEX_BLOCK = 4_000_000  # indices drawn at a time
SCALARS = {"RootLL": "log_likelihood", "TDI": "log_std", "TDI variation": "variation"}


class HLDLaws:
    """Means, columns and null quantiles of the node sets of a circuit."""

    def __init__(self, circuit, nodes, node_sets, alphas, num_train):
        self.num_train = num_train
        kinds = circuit.nodes.kind[nodes]
        self.parts = {}
        for name in node_sets:
            columns = np.flatnonzero(np.isin(kinds, NODE_SETS[name]))
            moments = hld.exact_moments(circuit, nodes[columns])
            self.parts[name] = columns, np.asarray(moments.mean), null_quantiles(moments, alphas)
        self.dims = {name: len(columns) for name, (columns, _, _) in self.parts.items()}

    def rejections(self, means, T) -> dict:
        """Counts by method "HLD/node set/null" for (trials, m) batch means."""
        counts = {}
        for name, (columns, mean, laws) in self.parts.items():
            squared = T * ((means[:, columns] - mean) ** 2).sum(axis=1)
            for law, quantiles in laws.items():
                counts[f"HLD/{name}/{law}"] = [int(np.sum(squared > q)) for q in quantiles]
            if name == "leaf+sum":  # the exact law, scaled for the estimation error of the circuit
                counts[f"HLD/{name}/exact, 1+T/n"] = [int(np.sum(squared > q * (1 + T / self.num_train)))
                                                      for q in laws["exact"]]
        return counts


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
            null = {name: np.sort(distances(means[score][:, 0], means[score][:, 1])) for name, score in SCALARS.items()}
            null["Typicality"] = np.sort(distances(-means["log_likelihood"][:, 1], self.entropy))
            self.drawn[T] = null
        return self.drawn[T]

    def rejections(self, reference_means, batch_means, T, alphas) -> dict:
        """Counts by method for score means {score: (trials,)} of reference batches and of batches."""
        null = self.null(T)
        counts = {}
        for name in (*SCALARS, "Typicality"):
            if name == "Typicality":
                statistics = distances(-batch_means["log_likelihood"], self.entropy)
            else:
                statistics = distances(reference_means[SCALARS[name]], batch_means[SCALARS[name]])
            counts[name] = count_rejections(statistics, null[name], alphas)
        return counts


class MMDBatches:
    """Reference batches with their mean kernels, and sorted null statistics, for each T."""

    def __init__(self, reference_codes, null_codes, num_categories, encoding, seed):
        self.seed = seed
        encode = functools.partial(encode_rows, num_categories=num_categories, encoding=encoding)
        reference = encode(reference_codes)
        self.gamma = -0.5 / median_bandwidth(reference[:BANDWIDTH_ROWS]) ** 2
        shift = reference[:BANDWIDTH_ROWS].mean(axis=0)  # distances do not change, rounding errors do
        if encoding == "one-hot" or max(num_categories) == 2:
            self.rows = lambda codes: pack_rows(encode(codes))
        else:
            self.rows = lambda codes: encode(codes) - shift
        self.reference, self.null_rows = self.rows(reference_codes), self.rows(null_codes)
        self.kept: dict = {}
        self.drawn: dict = {}

    def null(self, T, null_trials):
        """(B,) sorted statistics of pairs of batches: reference pool against the pool of FPR_model."""
        if T not in self.drawn:
            rng = np.random.default_rng([*self.seed, T, 1])
            first = rng.integers(0, len(self.reference), (null_trials, T))
            second = rng.integers(0, len(self.null_rows), (null_trials, T))
            statistics = (mean_kernels(self.reference, first, self.reference, first, self.gamma)
                          + mean_kernels(self.null_rows, second, self.null_rows, second, self.gamma)
                          - 2 * mean_kernels(self.reference, first, self.null_rows, second, self.gamma))
            self.drawn[T] = np.sort(statistics)
        return self.drawn[T]

    def rejections(self, codes, reference_index, index, T, alphas, null_trials):
        """Counts for batches `index` (trials, T) of `codes` against reference batches; drawn once for each T."""
        if T not in self.kept:
            self.kept[T] = mean_kernels(self.reference, reference_index, self.reference, reference_index, self.gamma)
        rows = self.rows(codes)
        statistics = (self.kept[T] + mean_kernels(rows, index, rows, index, self.gamma)
                      - 2 * mean_kernels(self.reference, reference_index, rows, index, self.gamma))
        return count_rejections(statistics, self.null(T, null_trials), alphas)


def null_quantiles(moments, alphas) -> dict:
    """Quantiles of T d^2 under the null: "normal", the paper's closed form, and "exact".

    Beyond MAX_FULL_SPECTRUM nodes the leading eigenvalues are exact, and the others one gamma term with their sum and
    sum of squares.
    """
    from scipy.special import ndtri
    if len(moments.nodes) <= MAX_FULL_SPECTRUM:
        values, counts = np.maximum(moments.eigenvalues(), 0.0), None
    else:
        values = np.maximum(moments.eigenvalues(NUM_LEADING), 0.0)
        c1, c2 = moments.trace - values.sum(), moments.trace_sq - (values ** 2).sum()
        values, counts = np.append(values, c2 / c1), np.append(np.ones(NUM_LEADING), c1 ** 2 / c2)
    law = hld.gchi2.prepare(values, counts)
    return {"normal": [float(moments.trace - ndtri(alpha) * np.sqrt(2 * moments.trace_sq)) for alpha in alphas],
            "exact": [float(hld.gchi2.isf(alpha, law)) for alpha in alphas]}


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


def count_rejections(statistics, null, alphas) -> list:
    """How many statistics exceed the threshold of each level; a hair's breadth above it is a tie."""
    return [int(np.sum(statistics > rejection_threshold(null, alpha) * (1 + 1e-9) + 1e-12)) for alpha in alphas]


def encode_rows(codes, num_categories, encoding) -> np.ndarray:
    """Rows as vectors: "codes" as they are, or "one-hot", one coordinate for each category of each column."""
    if encoding == "codes":
        return codes.astype(np.float64)
    if encoding != "one-hot":
        raise ValueError(f"`mmd_rows` must be 'codes' or 'one-hot', found {encoding!r}")
    columns = [codes[:, v, None] == np.arange(count) for v, count in enumerate(num_categories)]
    return np.concatenate(columns, axis=1).astype(np.float64)
