"""Learning in one call: sizes, smoothing and stopping are chosen on rows that EM does not see.

    1. *Size.*  A Hidden Chow-Liu tree (`hclt`) with K = 8 states, then 16, 32, ... is fitted by EM.  The validation
       rows are evaluated every ten epochs; two evaluations without a gain end a fit, and the best parameters are kept.
       The first K that is no better than the one before ends the search.
    2. *Smoothing.*  The same with other pseudocounts, at the best K.
    3. *Other trees.*  The Chow-Liu tree of a sample is one of many that are nearly as good.  Trees of bootstrap samples
       of the rows, each with parameters from all rows, err differently, and their average p = sum_m p_m / M has the
       higher likelihood (bagging, Breiman 1996; of Chow-Liu trees, mixtures of trees, Meila and Jordan 2000).  Trees
       are added until two in a row bring no gain.
    4. *Jointly.*  EM for the whole mixture (`fit_mixture`) lets each circuit specialise in the rows that it explains
       best.  On large tables this gains much, on small ones it overfits: again the validation rows decide.

Steps 1 and 2 give a circuit with one v-tree: exact moments and the test need that, and get the best one.
Steps 3 and 4 give a `Mixture`, for likelihoods and samples.
"""
from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import check_flag, check_generator
from pcircuit.array_types import Evidence, Floats, Ints, Seed
from pcircuit.circuit import Circuit
from pcircuit.circuit_mixture import Mixture
from pcircuit.inference.likelihood import log_likelihood
from pcircuit.inference.threads import count_jobs
from pcircuit.learning.chow_liu import chow_liu_tree
from pcircuit.learning.em import fit_em
from pcircuit.learning.em_options import EMWatch
from pcircuit.learning.hidden_chow_liu import hclt
from pcircuit.learning.learned import Learned, Trial
from pcircuit.learning.mixture_em import fit_mixture
from pcircuit.learning.pair_counts import checked_table
from pcircuit.learning.search import LearnSearch

LOG = logging.getLogger(__name__)
EPOCHS_BETWEEN_LOOKS, JOINT_BETWEEN_LOOKS, PATIENCE = 10, 2, 2
HELD_SHARE, MOST_HELD = 0.1, 10_000  # of the rows, where no validation rows are given


class Rows(NamedTuple):
    """What a fit sees: different rows and how often each occurs, the rows that judge it, and the threads."""

    table: Evidence  # all training rows
    rows: Evidence
    counts: Floats
    held: Evidence
    categories: Ints
    n_jobs: int | None


def learn(data: ArrayLike, validation: ArrayLike | None = None, *, num_categories: ArrayLike | None = None,
          search: LearnSearch | None = None, rng: Seed = 0, n_jobs: int | None = None,
          progress: bool = False) -> Learned:
    """Learn a circuit, or a mixture of circuits, from a table: structure, size, smoothing and parameters.

    Maximises the mean log-likelihood of the validation rows over Hidden Chow-Liu trees and mixtures of them, in the
    four steps of the module's head.

    Parameters
    ----------
    data : (N, V) array_like
        Categories 0..C-1; -1, NaN or masked where an entry is missing; N at least 2, or 1 with `validation`.
    validation : (M, V) array_like, optional
        Rows to choose by.  Default: a random tenth of `data`, at most 10,000 rows, which EM then does not see.
    num_categories : int or (V,) ints, optional
        Categories of each variable.  Default: the largest entry of both tables plus one, and at least two.
    search : LearnSearch, optional
        What is tried.  Default: up to 64 states, three pseudocounts, up to 16 trees.
    rng : int or numpy.random.Generator
        Seed or generator of start values, bootstrap samples and held-out rows.  Default 0.
    n_jobs : int, optional
        Threads; None uses all CPUs.  The result does not depend on it, to the last bit.
    progress : bool
        Draw a progress bar on standard error (needs `rich`; silent without it, and if that is not a terminal).  Each
        trial is also logged, at level INFO.

    Returns
    -------
    Learned
        With `circuit`, `mixture` (or None), `model` (the better one), the validation curve of each trial, and `plot`.

    Raises
    ------
    TypeError, ValueError
        If a table or an option is not as described.

    Notes
    -----
    Costs (3 + trees) times the fit of the largest circuit: up to `num_epochs` epochs of EM each.  On the binary sets,
    with 1,600 to 290,000 rows of 16 to 500 columns, see `benchmarks/learning.py`.

    References
    ----------
    A. Liu and G. Van den Broeck (2021), Tractable regularization of probabilistic circuits, NeurIPS 34; L. Breiman
    (1996), Bagging predictors, Machine Learning 24; M. Meila and M. Jordan (2000), Learning with mixtures of trees,
    JMLR 1.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> group = generator.integers(2, size=(400, 1))
    >>> rows = (generator.random((400, 5)) < 0.1 + 0.8 * group).astype(int)   # five noisy copies of a hidden bit
    >>> learned = learn(rows, search=LearnSearch(num_latents=[1, 2, 4], num_trees=2, num_epochs=40))
    >>> learned.circuit.num_variables, learned.validation_log_likelihood > -3
    (5, True)
    """
    generator, _, search = check_generator(rng), count_jobs(n_jobs), LearnSearch() if search is None else search
    if not isinstance(search, LearnSearch):
        raise TypeError(f"`search` must be a pcircuit.LearnSearch, or None, found {type(search).__name__}")
    rows = _split(data, validation, num_categories, generator, n_jobs)
    trials: list[Trial] = []
    fits = len(search.num_latents) + len(search.pseudocounts) + search.num_trees - 2
    with EMWatch(progress=check_flag(progress, "progress")).bar(fits) as (advance, _):
        def note(trial: Trial) -> float:
            LOG.info("%s, %d states, pseudocount %g: validation %.4f", trial.name, trial.num_latents, trial.pseudocount,
                     trial.best)
            trials.append(trial)
            advance(trial.best)
            return trial.best

        circuit, best = _single(rows, search, generator, note)
        mixture = _bagged(rows, circuit, best, search, generator, note) if search.num_trees > 1 else None
    model = circuit if mixture is None else mixture
    logs = log_likelihood(model, rows.held, n_jobs=n_jobs)
    error = float(logs.std(ddof=1) / np.sqrt(len(logs))) if len(logs) > 1 else float("inf")
    return Learned(circuit, mixture, float(logs.mean()), error, tuple(trials))


def _split(data: ArrayLike, validation: ArrayLike | None, num_categories: ArrayLike | None,
           generator: np.random.Generator, n_jobs: int | None) -> Rows:
    """Checked tables, equal training rows merged."""
    table, categories = checked_table(data, num_categories)
    if validation is None:
        if len(table) < 2:
            raise ValueError("`data` must have at least two rows, one of them to choose by, found one: give "
                             "`validation`")
        order = generator.permutation(len(table))
        held_rows = min(max(int(HELD_SHARE * len(table)), 1), MOST_HELD)
        held, table = table[np.sort(order[:held_rows])], table[np.sort(order[held_rows:])]
    else:
        held, held_categories = checked_table(validation, num_categories, "validation")
        if held.shape[1] != table.shape[1]:
            raise ValueError(f"`validation` must have the {table.shape[1]} columns of `data`, found {held.shape[1]}")
        categories = np.maximum(categories, held_categories)
    rows, counts = np.unique(table, axis=0, return_counts=True)
    return Rows(table, rows, counts.astype(np.float64), held, categories, n_jobs)


def _single(rows: Rows, search: LearnSearch, generator: np.random.Generator,
            note: Callable[[Trial], float]) -> tuple[Circuit, tuple[float, int, float]]:
    """The best circuit on the Chow-Liu tree of all rows; its validation mean, states and pseudocount."""
    tree = chow_liu_tree(rows.table, num_categories=rows.categories)
    best: tuple[Any, tuple[float, int, float]] = (None, (-np.inf, 0, 0.0))

    def better(num_latents: int, pseudocount: float, name: str) -> bool:
        nonlocal best
        circuit, trial = _fitted(rows, tree, num_latents, pseudocount, search, generator, name)
        mean, gain = note(trial), trial.best - best[1][0]
        if best[0] is None or gain > search.tolerance:
            best = circuit, (mean, num_latents, pseudocount)
            return True
        return False

    for num_latents in search.num_latents:
        if not better(num_latents, search.pseudocounts[0], "size"):
            break
    for pseudocount in search.pseudocounts[1:]:
        better(best[1][1], pseudocount, "smoothing")
    return best


def _bagged(rows: Rows, circuit: Circuit, best: tuple[float, int, float], search: LearnSearch,
            generator: np.random.Generator, note: Callable[[Trial], float]) -> Mixture | None:
    """Average of circuits on trees of bootstrap samples; None if it is no better than the circuit."""
    single, num_latents, pseudocount = best
    members, total = [circuit], log_likelihood(circuit, rows.held, n_jobs=rows.n_jobs)
    mean, misses = single, 0
    while len(members) < search.num_trees and misses < PATIENCE:
        drawn = rows.table[generator.integers(len(rows.table), size=len(rows.table))]
        tree = chow_liu_tree(drawn, num_categories=rows.categories)
        member, trial = _fitted(rows, tree, num_latents, pseudocount, search, generator, f"tree {len(members) + 1}")
        note(trial)
        members.append(member)
        total = np.logaddexp(total, log_likelihood(member, rows.held, n_jobs=rows.n_jobs))
        before, mean = mean, float((total - np.log(len(members))).mean())
        misses = 0 if mean - before > search.tolerance else misses + 1
    mixture = Mixture(members)
    if search.joint:
        mixture, mean = _together(rows, mixture, mean, (num_latents, pseudocount), search, note)
    return mixture if mean - single > search.tolerance else None


def _fitted(rows: Rows, tree: Ints, num_latents: int, pseudocount: float, search: LearnSearch,
            generator: np.random.Generator, name: str) -> tuple[Circuit, Trial]:
    """A Hidden Chow-Liu tree at its best look at the validation rows."""
    start = hclt(rows.table, num_latents, rows.categories, rng=generator, tree=tree)

    def step(circuit: Circuit, epochs: int) -> tuple[Circuit, Floats]:
        return fit_em(circuit, rows.rows, weights=rows.counts, num_epochs=epochs, pseudocount=pseudocount,
                      n_jobs=rows.n_jobs)

    return _until_worse(start, step, rows, search, EPOCHS_BETWEEN_LOOKS, (name, num_latents, pseudocount))


def _together(rows: Rows, mixture: Mixture, mean: float, sizes: tuple[int, float], search: LearnSearch,
              note: Callable[[Trial], float]) -> tuple[Mixture, float]:
    """EM for the whole mixture, as long as it helps; the mixture as it was if it never does."""
    def step(model: Mixture, epochs: int) -> tuple[Mixture, Floats]:
        return fit_mixture(model, rows.rows, weights=rows.counts, num_epochs=epochs, pseudocount=sizes[1],
                           n_jobs=rows.n_jobs)

    found, trial = _until_worse(mixture, step, rows, search, JOINT_BETWEEN_LOOKS, ("all trees together", *sizes))
    note(trial)
    return (found, trial.best) if trial.best > mean else (mixture, mean)


def _until_worse(model: Any, step: Callable[[Any, int], tuple[Any, Floats]], rows: Rows, search: LearnSearch,
                 between: int, what: tuple[str, int, float]) -> tuple[Any, Trial]:
    """EM until the validation rows gain no more; the model of the best look, and the curve."""
    best, highest, passed, misses = model, -np.inf, -np.inf, 0
    looks: list[tuple[int, float, float]] = []
    for epochs in range(0, search.num_epochs, between):
        model, history = step(model, min(between, search.num_epochs - epochs))
        mean = float(log_likelihood(model, rows.held, n_jobs=rows.n_jobs).mean())
        looks.append((min(epochs + between, search.num_epochs), float(history[-1]), mean))
        best, highest = (model, mean) if mean > highest else (best, highest)
        passed, misses = (mean, 0) if mean - passed > search.tolerance else (passed, misses + 1)  # small gains add up
        if misses == PATIENCE:
            break
    epochs_done, training, validation = (np.array(column) for column in zip(*looks, strict=True))
    return best, Trial(*what, epochs_done, training, validation)
