r"""A fit that stops where rows that it does not see gain no more: of a tree, a tree for each part, a mixture, points.

Each takes the training rows and those that judge (`Rows`), and returns the model as it was at its best look at the
latter, with the curve (`Trial`).

Random cuts: rows divided by the values of columns drawn at random, as cutset networks do.

A tree of Chow and Liu has one order of dependences for all rows.  Which column depends on which may itself depend on
a third one: a plant of the desert has other neighbours than one of the coast.  A cutset network (Rahman, Kothalkar and
Gogate 2014) therefore asks the value of a column first, of another one within each answer, and so on, and has a tree
of its own for the rows of each answer:

.. math:: p(x) = \sum_l w_l \, p_l(x), \qquad w_l = n_l / N,

the sum over the parts l into which the questions cut the N training rows.  Which questions are best is hard to say
and matters little where many such models are averaged: drawn at random they take no time, and their models err in
different ways (Di Mauro et al. 2021).

Here a part's model is learned from its rows and remains a distribution over *all* columns, smoothed like any other,
so that the cuts decide only from which rows it is learned, and the sum above is a plain mixture.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pcircuit.arguments import Evidence, Floats, Ints
from pcircuit.circuit import Circuit, Mixture
from pcircuit.inference.likelihood import log_likelihood
from pcircuit.learning.choosing.search import LearnSearch, Trial
from pcircuit.learning.chow_liu import chow_liu_tree
from pcircuit.learning.continuous_mixture import continuous_mixture
from pcircuit.learning.em import fit_em, fit_mixture
from pcircuit.learning.product_mixtures import row_kernels
from pcircuit.learning.start_circuits import hclt

EPOCHS_BETWEEN_LOOKS, JOINT_BETWEEN_LOOKS, PATIENCE = 10, 2, 2
MOST_POINT_EPOCHS = 40  # of a continuous mixture
KERNEL_ROWS = 256  # of training, whose kernels are looked at


class Rows(NamedTuple):
    """What a fit sees: different rows and how often each occurs, the rows that judge it, and the threads."""

    table: Evidence  # all training rows
    rows: Evidence
    counts: Floats
    held: Evidence
    categories: Ints
    tree: Ints  # Chow-Liu tree of all training rows: parents of the columns
    n_jobs: int | None


class Size(NamedTuple):
    """How large a model is and how smooth."""

    num_latents: int
    pseudocount: float


def merged(table: Evidence) -> tuple[Evidence, Floats]:
    """Different rows (n, V) of a table, and how often each occurs (n,)."""
    rows, counts = np.unique(table, axis=0, return_counts=True)
    return rows, counts.astype(np.float64)


def em_steps(
    table: Any, weights: Floats | None, pseudocount: float, n_jobs: int | None, fit: Any = fit_em
) -> Callable[[Any, int], tuple[Any, Floats]]:
    """What fits a model for some epochs more; shapes table (N, V), weights (N,)."""

    def step(model: Any, epochs: int) -> tuple[Any, Floats]:
        options = {"weights": weights, "pseudocount": pseudocount, "n_jobs": n_jobs}
        found: tuple[Any, Floats] = fit(model, table, num_epochs=epochs, **options)
        return found

    return step


def fitted_tree(
    rows: Rows,
    tree: Ints,
    size: Size,
    search: LearnSearch,
    generator: np.random.Generator,
    name: str,
) -> tuple[Circuit, Trial]:
    """A Hidden Chow-Liu tree of all rows; shapes tree (V,)."""
    start = hclt(rows.table, size.num_latents, rows.categories, rng=generator, tree=tree)
    return fitted_from(rows, start, size, search, name)


def fitted_from(
    rows: Rows, start: Circuit, size: Size, search: LearnSearch, name: str
) -> tuple[Circuit, Trial]:
    """A circuit of all rows, from given start values."""
    step = em_steps(rows.rows, rows.counts, size.pseudocount, rows.n_jobs)
    return until_worse(
        start, step, rows.held, rows.n_jobs, search, EPOCHS_BETWEEN_LOOKS, (name, *size)
    )


def fitted_parts(
    rows: Rows,
    num_parts: int,
    size: Size,
    search: LearnSearch,
    generator: np.random.Generator,
    name: str,
) -> tuple[Mixture, Trial]:
    """A Hidden Chow-Liu tree for each part of a random division of the rows, all trained for equally many epochs.

    The training mean of the trial counts each row under its own part alone, a lower bound on that of the mixture.
    """
    tables = [rows.table[part] for part in random_parts(rows.table, num_parts, generator)]
    shares = np.array([len(table) for table in tables]) / len(rows.table)
    steps = [em_steps(*merged(table), size.pseudocount, rows.n_jobs) for table in tables]
    start = Mixture(
        [
            hclt(
                table,
                size.num_latents,
                rows.categories,
                rng=generator,
                tree=chow_liu_tree(table, num_categories=rows.categories),
            )
            for table in tables
        ],
        shares,
    )

    def step(model: Mixture, epochs: int) -> tuple[Mixture, Floats]:
        fits = [
            step_of_part(circuit, epochs)
            for circuit, step_of_part in zip(model.circuits, steps, strict=True)
        ]
        mean = sum(
            share * (history[-1] + np.log(share))
            for share, (_, history) in zip(shares, fits, strict=True)
        )
        return Mixture([circuit for circuit, _ in fits], shares), np.array([mean])

    return until_worse(
        start, step, rows.held, rows.n_jobs, search, EPOCHS_BETWEEN_LOOKS, (name, *size)
    )


def fitted_together(
    rows: Rows, mixture: Mixture, size: Size, search: LearnSearch
) -> tuple[Mixture, Trial]:
    """A mixture all of whose circuits learn from all rows, each mostly from those that it explains best."""
    step = em_steps(rows.rows, rows.counts, size.pseudocount, rows.n_jobs, fit_mixture)
    return until_worse(
        mixture,
        step,
        rows.held,
        rows.n_jobs,
        search,
        JOINT_BETWEEN_LOOKS,
        ("all trees together", *size),
    )


def fitted_points(
    rows: Rows,
    num_points: int,
    size: Size,
    search: LearnSearch,
    generator: np.random.Generator,
    name: str,
    least: float = -np.inf,
) -> tuple[Mixture, Trial]:
    """A mixture over a continuous hidden variable, at so many points."""
    epochs = min(search.num_epochs, MOST_POINT_EPOCHS)
    mixture, training, validation = continuous_mixture(
        rows.table,
        rows.held,
        rows.categories,
        num_points,
        generator,
        num_epochs=epochs,
        tolerance=search.tolerance,
        least=least,
    )
    return mixture, Trial(name, *size, np.arange(1, len(training) + 1), training, validation)


def fitted_kernels(
    rows: Rows, num_kernels: int, size: Size, generator: np.random.Generator
) -> tuple[Mixture, Trial, Floats]:
    """A kernel around each of so many different rows.

    Returns logs (n,).
    """
    n = len(rows.rows)
    some = (
        np.arange(n)
        if num_kernels == n
        else np.sort(generator.choice(n, num_kernels, replace=False))
    )
    model = row_kernels(rows.rows[some], rows.counts[some], rows.categories, size.pseudocount)
    training, logs = (
        log_likelihood(model, judging, n_jobs=rows.n_jobs)
        for judging in (rows.rows[some[:KERNEL_ROWS]], rows.held)
    )
    return (
        model,
        Trial(
            "kernels", *size, np.array([1]), training.mean(keepdims=True), logs.mean(keepdims=True)
        ),
        logs,
    )


def until_worse(
    model: Any,
    step: Callable[[Any, int], tuple[Any, Floats]],
    held: Any,
    n_jobs: int | None,
    search: LearnSearch,
    between: int,
    what: tuple[str, int, float],
) -> tuple[Any, Trial]:
    """EM until the validation rows gain no more; the model of the best look, and the curve."""
    best, highest, passed, misses = model, -np.inf, -np.inf, 0
    looks: list[tuple[int, float, float]] = []
    for epochs in range(0, search.num_epochs, between):
        model, history = step(model, min(between, search.num_epochs - epochs))
        mean = float(model.log_likelihood(held, n_jobs=n_jobs).mean())
        looks.append((min(epochs + between, search.num_epochs), float(history[-1]), mean))
        best, highest = (model, mean) if mean > highest or not looks[:-1] else (best, highest)
        passed, misses = (
            (mean, 0) if mean - passed > search.tolerance else (passed, misses + 1)
        )  # small gains add up
        if misses == PATIENCE:
            break
    epochs_done, training, validation = (np.array(column) for column in zip(*looks, strict=True))
    return best, Trial(*what, epochs_done, training, validation)


def random_parts(table: Evidence, num_parts: int, generator: np.random.Generator) -> list[Ints]:
    """Rows divided by thresholds on columns drawn at random, until no part can be cut again.

    A part is cut at ``x_v <= t``, with v uniform among the columns that have such a t, and t uniform among those of v
    that leave at least N / num_parts rows on either side.  Rows without x_v go with the larger side.

    Shapes: table (N, V).
    O(N V log num_parts).
    """
    least = -(-len(table) // num_parts)
    waiting, done = [np.arange(len(table))], []
    while waiting:
        part = waiting.pop()
        below = _cut(table[part], least, generator)
        if below is None:
            done.append(part)
        else:
            waiting += [part[~below], part[below]]
    return done


def _cut(rows: Evidence, least: int, generator: np.random.Generator) -> np.ndarray | None:
    """(n,) flags of the rows below a random threshold; None if every cut leaves fewer than `least` on a side."""
    if len(rows) < 2 * least:
        return None
    for v in generator.permutation(rows.shape[1]).tolist():
        column = rows[:, v]
        seen = np.sort(column[column >= 0])
        possible = np.unique(seen[least - 1 : len(seen) - least])  # that leave enough on both sides
        possible = possible[np.searchsorted(seen, possible, side="right") <= len(seen) - least]
        if len(possible):
            below = column <= generator.choice(possible)
            return np.where(column >= 0, below, below[column >= 0].mean() >= 0.5)
    return None
