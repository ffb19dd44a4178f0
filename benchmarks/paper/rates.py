"""Rejection rates out of stored results, and their means over pairs.

A rate is rejections / trials of one cell (circuit, population, method, T, alpha).  The false-positive rates of a
circuit belong to all of its pairs, so a mean over pairs counts them once for each pair, as in the paper.  Besides the
mean there are two spreads:

    sd             standard deviation over the pairs (or data sets): how much they differ
    error          binomial standard error of the mean, sqrt(sum_c w_c^2 p_c (1 - p_c) / n_c): how well it is measured,
                   c running over the different cells, with weight w_c in the mean
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

HLD_NORMAL, HLD_EXACT, HLD_TRAINED = "HLD/leaf+sum/normal", "HLD/leaf+sum/exact", "HLD/leaf+sum/exact, 1+T/n"
COLUMNS = {"HLD": HLD_NORMAL, "HLD exact": HLD_EXACT, "HLD exact, 1+T/n": HLD_TRAINED}


class Rate(NamedTuple):
    """Rate of one pair: where it comes from, its value, and the number of trials."""

    dataset: str
    id_class: str
    population: str
    value: float
    trials: int


class Mean(NamedTuple):
    """Mean of rates, standard deviation over them, binomial error."""

    mean: float
    sd: float
    error: float


def rates(results, kind, method, T, alpha) -> list:
    """Rates of all pairs: `kind` is "model", "data" or "ood"; [] where nothing was measured."""
    method = COLUMNS.get(method, method)
    found = []
    for result in results:
        ood = [name for name in result["rejections"] if name not in ("model", "data")]
        for name in ood:
            rate = _rate(result, name if kind == "ood" else kind, method, T, alpha)
            if rate is not None:
                found.append(rate)
    return found


def mean_rate(found, over="pairs") -> Mean | None:
    """Mean over "pairs", or over "datasets" of the means over their pairs."""
    if not found:
        return None
    datasets = sorted({rate.dataset for rate in found})
    sizes = {name: sum(rate.dataset == name for rate in found) for name in datasets}
    weight = {name: 1 / len(found) if over == "pairs" else 1 / (len(datasets) * sizes[name]) for name in datasets}
    mean = sum(weight[rate.dataset] * rate.value for rate in found)
    if over == "pairs":
        spread = np.std([rate.value for rate in found])
    else:
        spread = np.std([np.mean([rate.value for rate in found if rate.dataset == name]) for name in datasets])
    cells: dict = {}
    for rate in found:  # the same cell may count for several pairs
        cells[rate] = cells.get(rate, 0.0) + weight[rate.dataset]
    error = np.sqrt(sum(w ** 2 * rate.value * (1 - rate.value) / rate.trials for rate, w in cells.items()))
    return Mean(float(mean), float(spread), float(error))


def _rate(result, population, method, T, alpha):
    """The rate of one cell, or None."""
    counts = result["rejections"][population].get(method)
    sizes = result["batch_sizes"][population]
    if counts is None or T not in sizes or sizes.index(T) >= len(counts) or alpha not in result["settings"]["alphas"]:
        return None
    position = sizes.index(T)
    trials = result["settings"]["trials"]
    if method == "MMD":
        trials = result["rejections"][population]["MMD trials"][position]
    count = counts[position][result["settings"]["alphas"].index(alpha)]
    return Rate(result["dataset"], result["id_class"], population, count / trials, trials)
