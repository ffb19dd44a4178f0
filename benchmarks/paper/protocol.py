"""The evaluation protocol: one cell from data to counts of rejections.

For a fitted circuit, each batch size T and each *population*

    model       rows drawn from the circuit           rejections are FPR_model
    data        the held-out half B of the ID class   FPR_data
    OOD class   all rows of that class                detection rate

`trials` batches of T rows are drawn from the population's pool, and a reference batch of T circuit rows for each; every
test sees the same batches.  Reference batches are drawn once for each T and serve all populations of the circuit, and
so does the threshold of a test that draws one; `errors` says what that makes of the error of a mean over OOD classes.

Likelihood vectors and scores of the pools are computed once, so that a trial is an index draw and a mean.  A pool is
finite: batches come from it with replacement (`Settings.replacement`), and what is measured is the rate for the pool's
empirical distribution.
"""

import time
import zlib
from dataclasses import replace

import numpy as np

import hld
import pcircuit

from . import datasets
from .errors import Outcome, errors_of_mean
from .methods import HLDLaws, MMDBatches, ScalarNulls, trial_means
from .models import fit_cell, row_scores, row_vectors, selected_nodes

PANEL_SIZES = (10, 50, 100, 1000)


def run_cell(cell, table=None) -> dict:
    """Fit the circuit of a cell and count rejections; a dictionary of plain Python values."""
    clock, cpu = Clock(), time.process_time()
    settings = cell.settings
    table = datasets.load_table(cell.dataset) if table is None else table
    split = datasets.split_class(table, cell.id_class, cell.ood_classes, settings.choices)
    clock.note("data")
    circuit, history = fit_cell(cell.architecture, split.train, split.num_categories, settings)
    clock.note("fit")
    study = _Study(cell, circuit, split, clock)
    populations = {"model": study.model_pool, "data": split.held_out, **split.ood}
    outcomes, means = {}, {}
    for name, codes in populations.items():
        sizes = settings.batch_sizes + (settings.long_sizes if name in ("model", "data") else ())
        pool = row_scores(circuit, codes, settings, study.nodes)
        means[name] = float(pool.scores["log_likelihood"].mean())
        clock.note("scores")
        outcomes[name] = study.population(name, pool, sizes)
        if settings.panel_trials and name != "model":
            study.panel(name, codes, outcomes[name])
    kinds = circuit.nodes.kind
    return {
        "dataset": cell.dataset,
        "id_class": cell.id_class,
        "architecture": cell.architecture,
        "run": cell.run,
        "settings": settings.to_dict(),
        "remark": split.remark,
        "num_variables": circuit.num_variables,
        "units": {kind: int((kinds == kind).sum()) for kind in ("input", "sum", "product")},
        "dims": study.laws.dims,
        "spectra": study.laws.spectra,
        "rows": {"train": len(split.train), **{k: len(v) for k, v in populations.items()}},
        "history": [round(float(value), 4) for value in history],
        "mean_log_likelihood": {k: round(v, 4) for k, v in means.items()},
        **counts_and_errors(outcomes, settings.alphas),
        "seconds": clock.rounded(),
        "cpu_seconds": round(time.process_time() - cpu, 2),
    }


def counts_and_errors(outcomes, alphas) -> dict:
    """What is stored of the outcomes {population: {T: {method: Outcome}}}, one entry for each T and level.

    batch_sizes    {population: [T]}
    rejections     {population: {method: counts}}, None where nothing was measured, and "trials" where they are others
    errors         {population: {method: errors}} where the threshold was drawn; the errors of the mean over the OOD
                   classes, of every method, as population "ood"
    """
    rejections, errors = {}, {}

    def note(table, method, place, sizes, value):
        table.setdefault(method, [None] * len(sizes))[place] = value

    for population, by_size in outcomes.items():
        counts, found = rejections.setdefault(population, {}), errors.setdefault(population, {})
        for place, results in enumerate(by_size.values()):
            for method, outcome in results.items():
                note(counts, method, place, by_size, outcome.rejected.sum(axis=1).tolist())
                if method in ("MMD", "panel"):
                    trials = outcome.rejected.shape[1]
                    note(counts, f"{method} trials", place, by_size, trials)
                if outcome.null is not None:
                    error = _rounded(errors_of_mean([outcome], alphas))
                    note(found, method, place, by_size, error)
    ood = [by_size for name, by_size in outcomes.items() if name not in ("model", "data")]
    errors["ood"] = {}
    for place, T in enumerate(ood[0] if ood else ()):
        for method in ood[0][T]:
            same = [by_size[T][method] for by_size in ood if T in by_size]
            note(errors["ood"], method, place, ood[0], _rounded(errors_of_mean(same, alphas)))
    return {
        "batch_sizes": {name: list(by_size) for name, by_size in outcomes.items()},
        "rejections": rejections,
        "errors": errors,
    }


def _rounded(values) -> list:
    """Errors to five digits."""
    return [round(value, 5) for value in values]


class Clock:
    """Seconds by phase."""

    def __init__(self):
        self.last, self.seconds = time.perf_counter(), {}

    def note(self, phase):
        """Add the time since the last note to a phase."""
        now = time.perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self.last
        self.last = now

    def rounded(self) -> dict:
        """Seconds to two digits."""
        return {phase: round(value, 2) for phase, value in self.seconds.items()}


class _Study:
    """What all populations of a circuit share: nodes, null laws, reference pool, null statistics."""

    def __init__(self, cell, circuit, split, clock):
        settings = cell.settings
        self.settings, self.clock = settings, clock
        self.seed = [settings.seed, zlib.crc32(cell.name.encode())]
        self.nodes = selected_nodes(circuit, settings.node_sets)
        self.laws = HLDLaws(circuit, self.nodes, settings, len(split.train))
        self.half = _half(cell, split) if settings.additions else None
        if settings.additions:
            rows = row_vectors(circuit, split.train, self.nodes)
            self.laws.against_rows(rows, "training rows", settings.alphas)
        clock.note("moments")
        rows = pcircuit.sample(
            circuit, settings.pool_rows, rng=np.random.default_rng([*self.seed, 1])
        )
        rows = rows.astype(np.uint8)
        reference, self.model_pool = rows[: len(rows) // 2], rows[len(rows) // 2 :]
        clock.note("sampling")
        self.reference = row_scores(circuit, reference, settings)
        self.scalars = ScalarNulls(self.reference, settings.null_trials, [*self.seed, 2])
        self.mmd = (
            MMDBatches(
                reference, self.model_pool, split.num_categories, settings.mmd_rows, [*self.seed, 3]
            )
            if settings.mmd_trials
            else None
        )
        self.reference_index, self.detector = {}, None
        if settings.panel_trials:
            columns = list(range(split.train.shape[1]))
            self.detector = hld.HLDDetector(categorical=columns, rng=settings.seed).fit(split.train)
        clock.note("scores")

    def batches(self, name, num_rows, T):
        """(trials, T) indices of the batches of a population."""
        rng = np.random.default_rng([*self.seed, 4, zlib.crc32(name.encode()), T])
        settings = self.settings
        return draw_batches(rng, num_rows, settings.trials, T, replacement=settings.replacement)

    def panel(self, name, codes, found):
        """Add what `hld.HLDDetector` says of the first batches; of OOD classes half as many, and no large ones."""
        alphas = np.array(self.settings.alphas)[:, None] * (1 + 1e-12)
        trials = self.settings.panel_trials // (1 if name == "data" else 2)
        for T in PANEL_SIZES if name == "data" else PANEL_SIZES[:-1]:
            index = self.batches(name, len(codes), T)[:trials]
            pvalues = np.array([self.detector.test(codes[rows]).pvalue for rows in index])
            found[T]["panel"] = Outcome(pvalues <= alphas)
        self.clock.note("panel")

    def population(self, name, pool, sizes):
        """Outcomes {T: {method: Outcome}} of batches from a pool."""
        settings = self.settings
        found = {}
        if self.half:
            half_vectors = row_vectors(self.half[0], pool.codes, self.half[1])
        for T in sizes:
            if not settings.replacement and len(pool.codes) < T:
                continue
            index = self.batches(name, len(pool.codes), T)
            found[T] = self.laws.rejections(trial_means(pool.vectors, index), T)
            if self.half:
                found[T] |= self.half[2].rejections(trial_means(half_vectors, index), T)
            self.clock.note("HLD")
            reference = self._reference(T)
            found[T].update(
                self.scalars.rejections(
                    {
                        score: trial_means(values, reference)
                        for score, values in self.reference.scores.items()
                    },
                    {score: trial_means(values, index) for score, values in pool.scores.items()},
                    T,
                    settings.alphas,
                )
            )
            self.clock.note("scalars")
            mmd_trials = (
                settings.mmd_long_trials if T in settings.long_sizes else settings.mmd_trials
            )
            if mmd_trials:
                found[T]["MMD"] = self.mmd.rejections(
                    pool.codes,
                    reference[:mmd_trials],
                    index[:mmd_trials],
                    T,
                    settings.alphas,
                    settings.mmd_null_trials(T),
                )
                self.clock.note("MMD")
        return found

    def _reference(self, T):
        """(trials, T) indices of the reference batches."""
        if T not in self.reference_index:
            rng = np.random.default_rng([*self.seed, 5, T])
            self.reference_index[T] = rng.integers(
                0, len(self.reference.codes), (self.settings.trials, T)
            )
        return self.reference_index[T]


def _half(cell, split):
    """Circuit, nodes and distances where half of the training rows teach and the other half is the reference."""
    middle = len(split.train) // 2
    settings = replace(cell.settings, node_sets=("leaf+sum",))
    circuit, _ = fit_cell(cell.architecture, split.train[:middle], split.num_categories, settings)
    nodes = selected_nodes(circuit, settings.node_sets)
    laws = HLDLaws(circuit, nodes, settings, middle)
    kept = set(laws.distances)
    laws.against_rows(
        row_vectors(circuit, split.train[middle:], nodes), "held-out half", settings.alphas
    )
    for method in kept:  # those from the circuit's own moments
        del laws.distances[method]
    return circuit, nodes, laws


def draw_batches(rng, num_rows, trials, T, *, replacement) -> np.ndarray:
    """(trials, T) indices below `num_rows`; without replacement no index twice in a batch."""
    if replacement:
        return rng.integers(0, num_rows, (trials, T))
    return np.stack([rng.choice(num_rows, T, replace=False, shuffle=False) for _ in range(trials)])
