r"""Averages of models that err in different ways: trees of bootstrap samples, or trees behind random cuts.

.. math:: p(x) = \frac1M \sum_m p_m(x)

has a mean log-likelihood above the mean of those of its members (Jensen's inequality), by the more the less these
agree.  Two ways to make them disagree are tried:

* trees of bootstrap samples of the rows, with parameters from all rows (bagging, Breiman 1996; mixtures of trees,
  Meila and Jordan 2000), with K and with 2K states, where K is the best number for one tree: members that overfit
  a little disagree more;
* a tree for each part of a random division of the rows (`random_parts`) into up to P = 4, 16 and 64 parts, with
  2K / sqrt(P) states, since a part has fewer rows, and the first of the pseudocounts; not where parts could have
  fewer rows than columns, from which no tree can be learned (and P trees would cost more than all of EM).

Two members of each way tell how it will go on.  If l_1 is the mean log-likelihood of a member and l_2 that of the
average of two, that of M is about

.. math:: l_M = l_1 + 2 (1 - 1/M) (l_2 - l_1),

as the loss to the limit falls with 1/M, like the variance of an average of M.  The way with the largest l_M goes on
with new members, as long as l_M promises more than the tolerance: one member more or less may gain or lose by chance.
EM for the whole average (`fit_mixture`), which lets each tree specialise in the rows that it explains best, gains on
some tables and overfits on others: the validation rows decide.  It is left out behind cuts, where each tree has its own
rows already.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pcircuit.array_types import Floats
from pcircuit.circuit import Circuit
from pcircuit.circuit_mixture import Mixture
from pcircuit.inference.likelihood import log_likelihood
from pcircuit.learning.choosing.fits import Rows, Size, fitted_parts, fitted_together, fitted_tree
from pcircuit.learning.choosing.learned import Trial
from pcircuit.learning.choosing.search import LearnSearch
from pcircuit.learning.chow_liu import chow_liu_tree


class Making(NamedTuple):
    """What a member is made of, and who is told of it."""

    rows: Rows
    search: LearnSearch
    generator: np.random.Generator
    note: Callable[[Trial], float]


class Way(NamedTuple):
    """How the members of an average are made."""

    num_parts: int  # 1: trees of bootstrap samples
    size: Size


class Average(NamedTuple):
    """Members so far, their mean log-likelihoods, and log(sum of their likelihoods) for each validation row."""

    members: tuple[Circuit | Mixture, ...]
    means: tuple[float, ...]
    total: Floats

    @property
    def mean(self) -> float:
        """The mean log-likelihood of the validation rows."""
        return float((self.total - np.log(len(self.members))).mean())

    def expected(self, num_members: int) -> float:
        """What it will be with so many members, from two or more."""
        alone = sum(self.means) / len(self.means)
        return alone + (self.mean - alone) * (1 - 1 / num_members) / (1 - 1 / len(self.members))


def averaged(circuit: Circuit, single: float, size: Size, making: Making) -> Mixture | None:
    """The best average for the validation rows; None if it is no better than the circuit.

    Parameters
    ----------
    circuit : Circuit
        The best tree of all rows, a member of the average of trees of its size.
    single : float
        Its mean log-likelihood of the validation rows.
    size : Size
        Its states and smoothing.
    making : Making

    Returns
    -------
    Mixture or None
    """
    rows, search = making.rows, making.search
    start = Average((circuit,), (single,), log_likelihood(circuit, rows.held, n_jobs=rows.n_jobs))
    tried = [(_with(start if way.size == size and way.num_parts == 1 else _with(None, way, making), way, making), way)
             for way in ways(size, search, rows.table.shape)]
    average, way = max(tried, key=lambda one: one[0].expected(search.num_trees))
    while average.expected(search.num_trees) - average.mean > search.tolerance:
        average = _with(average, way, making)
    mixture, mean = _flat(average), average.mean
    if search.joint and way.num_parts == 1:
        together, trial = fitted_together(rows, mixture, way.size, search)
        making.note(trial)
        mixture, mean = (together, trial.best) if trial.best > mean else (mixture, mean)
    return mixture if mean - single > search.tolerance else None


def ways(size: Size, search: LearnSearch, shape: tuple[int, ...]) -> list[Way]:
    """The ways to make members that are tried, that of `size` itself first.

    Parameters
    ----------
    size : Size
        Of the best single tree.
    search : LearnSearch
    shape : (int, int)
        Rows and columns of the table.

    Returns
    -------
    list of Way

    Examples
    --------
    >>> [(way.num_parts, way.size.num_latents) for way in ways(Size(16, 0.1), LearnSearch(), (9000, 100))]
    [(1, 16), (1, 32), (4, 16), (16, 8), (64, 4)]
    >>> [(way.num_parts, way.size.num_latents) for way in ways(Size(16, 0.1), LearnSearch(), (9000, 1000))]
    [(1, 16), (1, 32), (4, 16)]
    """
    found = [Way(1, size)]
    if 2 * size.num_latents <= max(search.num_latents):
        found.append(Way(1, size._replace(num_latents=2 * size.num_latents)))
    for parts in search.num_parts:
        if shape[0] < parts * shape[1]:
            continue
        states = max(2 * size.num_latents // math.isqrt(parts), 1)
        found.append(Way(parts, Size(states, search.pseudocounts[0])))
    return found


def _with(average: Average | None, way: Way, making: Making) -> Average:
    """The average with one more member."""
    rows, search, generator, note = making
    number = 1 if average is None else len(average.members) + 1
    member: Circuit | Mixture
    if way.num_parts == 1:
        drawn = rows.table[generator.integers(len(rows.table), size=len(rows.table))]
        tree = chow_liu_tree(drawn, num_categories=rows.categories)
        member, trial = fitted_tree(rows, tree, way.size, search, generator, f"tree {number}")
    else:
        member, trial = fitted_parts(rows, way.num_parts, way.size, search, generator,
                                     f"up to {way.num_parts} parts, {number}")
    mean, logs = note(trial), log_likelihood(member, rows.held, n_jobs=rows.n_jobs)
    if average is None:
        return Average((member,), (mean,), logs)
    return Average((*average.members, member), (*average.means, mean), np.logaddexp(average.total, logs))


def _flat(average: Average) -> Mixture:
    """The average as one mixture of circuits."""
    circuits: list[Circuit] = []
    weights: list[float] = []
    for member in average.members:
        circuits += member.circuits if isinstance(member, Mixture) else (member,)
        weights += member.weights.tolist() if isinstance(member, Mixture) else [1.0]
    return Mixture(circuits, np.array(weights) / len(average.members))
