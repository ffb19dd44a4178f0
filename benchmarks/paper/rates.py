"""Rejection rates out of stored results, and their means over pairs.

A rate is rejections / trials of one cell (circuit, population, method, T, alpha), averaged over the runs of a cell that
was repeated with other splits and starts.  The false-positive rates of a circuit belong to all of its pairs, so a mean
over pairs counts them once for each pair, as in the paper.  Besides the mean there are three spreads:

    sd             standard deviation over the pairs (or data sets), mean over runs: how much they differ
    error          standard error of the mean, sqrt(sum_c w_c^2 e_c^2), c running over circuits with weight w_c in the
                   mean and e_c the error of the mean over the circuit's pairs.  For a repeated cell e_c is the standard
                   error over its runs; else that of its trials and its threshold (`errors`), and what another split or
                   start would change is not in it
    range          smallest and largest mean over the runs of the whole study: run r takes split and start r of every
                   circuit.  With a single run it is the mean and three errors to both sides
"""

from typing import NamedTuple

import numpy as np

HLD_NORMAL = "HLD/leaf+sum/normal"
ADDED = {  # what the project adds to the paper's test
    "HLD exact": "HLD/leaf+sum/exact",
    "HLD exact, 1+T/n": "HLD/leaf+sum/exact, 1+T/n",
    "whitened": "HLD/leaf+sum/whitened",
    "whitened, 1+T/n": "HLD/leaf+sum/whitened, 1+T/n",
    "HLD, training rows": "HLD/leaf+sum/training rows",
    "whitened, training rows": "HLD/leaf+sum/whitened, training rows",
    "HLD, held-out half": "HLD/leaf+sum/held-out half",
    "whitened, held-out half": "HLD/leaf+sum/whitened, held-out half",
    "panel": "panel",
}
COLUMNS = {"HLD": HLD_NORMAL, **ADDED}


class Rate(NamedTuple):
    """Rate of one pair: where it comes from, its value, and the error of the mean over the pairs of its circuit."""

    dataset: str
    id_class: str
    population: str
    value: float
    error: float


class Mean(NamedTuple):
    """Mean of rates, standard deviation over them, error; range of the mean, and of the deviation, over runs."""

    mean: float
    sd: float
    error: float
    range: tuple
    sd_range: tuple


def rates(results, kind, method, T, alpha=0.05) -> list:
    """Rates of all pairs: `kind` is "model", "data" or "ood"; [] where nothing was measured."""
    method = COLUMNS.get(method, method)
    found = []
    for runs in circuits(results).values():
        pairs = ood_classes(runs[0])
        table = [
            [_rate(run, name if kind == "ood" else kind, method, T, alpha) for name in pairs]
            for run in runs
        ]
        table = np.array([row for row in table if None not in row], float)
        if len(table) and pairs:
            error = (
                _error_of_runs(table)
                if len(table) > 1
                else _stored_error(runs[0], kind, method, T, alpha)
            )
            found += [
                Rate(runs[0]["dataset"], runs[0]["id_class"], name, float(value), error)
                for name, value in zip(pairs, table.mean(axis=0), strict=True)
            ]
    return found


def mean_rate(results, kind, method, T, alpha=0.05, over="pairs") -> Mean | None:
    """Mean over "pairs", or over "datasets" of the means over their pairs; None where nothing was measured.

    Of circuits with different numbers of runs the first ones are taken, as many as all have.
    """
    results = [result for run in _runs(results) for result in run]
    found = rates(results, kind, method, T, alpha)
    if not found:
        return None
    value, weight = _mean(found, over)
    errors: dict = {}
    for rate in found:
        circuit = rate.dataset, rate.id_class
        errors[circuit] = errors.get(circuit, 0.0) + weight[rate.dataset] * rate.error
    error = float(np.sqrt(sum(error**2 for error in errors.values())))
    runs = [rates(run, kind, method, T, alpha) for run in _runs(results)]
    means = [_mean(run, over)[0] for run in runs if len(run) == len(found)]
    deviations = [_deviation(run, over) for run in runs if len(run) == len(found)]
    if len(means) < 2:
        means, deviations = [value - 3 * error, value + 3 * error], [_deviation(found, over)]
    return Mean(
        value,
        float(np.mean(deviations)),
        error,
        (min(means), max(means)),
        (min(deviations), max(deviations)),
    )


def _runs(results) -> list:
    """The results of the first split and start of every circuit, of the second, ..., as many as all have."""
    return [list(runs) for runs in zip(*circuits(results).values(), strict=False)]


def _mean(found, over) -> tuple:
    """The mean, and the weight of a pair of each data set."""
    datasets = {rate.dataset for rate in found}
    sizes = {name: sum(rate.dataset == name for rate in found) for name in datasets}
    weight = {
        name: 1 / len(found) if over == "pairs" else 1 / (len(datasets) * sizes[name])
        for name in datasets
    }
    return float(sum(weight[rate.dataset] * rate.value for rate in found)), weight


def _deviation(found, over) -> float:
    """Standard deviation over pairs, or over the means of data sets."""
    values: dict = {}
    for rate in found:
        key = rate.dataset if over == "datasets" else (rate.dataset, rate.id_class, rate.population)
        values.setdefault(key, []).append(rate.value)
    return float(np.std([np.mean(part) for part in values.values()]))


def run_means(results, kind, method, T) -> list:
    """Mean over the pairs of a circuit, for each of its runs; `results` are runs of one cell."""
    return [mean.mean for run in results if (mean := mean_rate([run], kind, method, T)) is not None]


def circuits(results) -> dict:
    """Results by circuit: {(data set, ID class, architecture): runs}."""
    found: dict = {}
    for result in sorted(results, key=lambda result: result["run"]):
        found.setdefault(
            (result["dataset"], result["id_class"], result["architecture"]), []
        ).append(result)
    return dict(sorted(found.items()))


def ood_classes(result) -> list:
    """Names of the OOD classes of a result."""
    return [name for name in result["rejections"] if name not in ("model", "data")]


def _error_of_runs(table) -> float:
    """Standard error of the mean over the runs (runs, pairs)."""
    return float(table.mean(axis=1).std(ddof=1) / np.sqrt(len(table)))


def _stored_error(result, kind, method, T, alpha) -> float:
    """Error of the mean over the pairs of one run: stored, or binomial for a single population."""
    position = result["batch_sizes"][kind if kind != "ood" else ood_classes(result)[0]].index(T)
    level = result["settings"]["alphas"].index(alpha)
    stored = result["errors"][kind].get(method)
    if stored is not None:
        return stored[position][level]
    rate, trials = _rate(result, kind, method, T, alpha), _trials(result, kind, method, position)
    return float(np.sqrt(rate * (1 - rate) / trials))


def _rate(result, population, method, T, alpha):
    """The rate of one cell, or None."""
    counts = result["rejections"][population].get(method)
    sizes = result["batch_sizes"][population]
    if (
        counts is None
        or T not in sizes
        or sizes.index(T) >= len(counts)
        or counts[sizes.index(T)] is None
        or alpha not in result["settings"]["alphas"]
    ):
        return None
    position = sizes.index(T)
    trials = _trials(result, population, method, position)
    return counts[position][result["settings"]["alphas"].index(alpha)] / trials


def _trials(result, population, method, position) -> int:
    """Trials of one method: those of the slow ones are fewer."""
    own = result["rejections"].get(population, {}).get(f"{method} trials")
    return own[position] if own else result["settings"]["trials"]
