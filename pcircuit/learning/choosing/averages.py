r"""Averages of models that err in different ways, and the best mixture of such averages.

.. math:: p(x) = \sum_k w_k \frac{1}{M_k} \sum_m p_{km}(x)

An average has a mean log-likelihood above the mean of those of its members (Jensen's inequality), by the more the less
these agree.  Ways k to make them disagree:

* trees of bootstrap samples of the rows, with parameters from all rows (bagging, Breiman 1996; mixtures of trees,
  Meila and Jordan 2000), with K and with 2K states, where K is the best number for one tree: members that overfit
  a little disagree more;
* a tree for each part of a random division of the rows (`random_parts`) into up to P = 4, 16, 64 and 256 parts, with
  2K / sqrt(P) states, since a part has fewer rows, or twice as many, four times, ... as long as one member gains by it,
  and the first of the pseudocounts, and with half as many, a quarter, ... where that is all that the search affords
  and one tree still gained by its last epochs; not where parts could have fewer rows than columns, from which no tree
  can be learned (and P trees would cost more than all of EM);
* mixtures over a continuous hidden variable (`pcircuit.learning.continuous`), whose members differ in start values,
  batches and points: they see what is a matter of degree, and no dependence between two columns alone.  A single one
  may be worth more than many trees, so it may take half of what is left of the search, and fewer epochs where that is
  needed; then it ends after eight if it is too far behind the best model so far to make up for it (`promised`).  A
  multiplication counts half, as matrix products do about twice as many in the time of EM (`benchmarks.bench_work`).

The members of one way are equal but for chance and have equal weights; the ways are not, and the validation rows weigh
them (`stacking`).  Each way starts with two members, and these tell how it will go on.  If l_1 is the mean
log-likelihood of a member and l_2 that of the average of two, that of M is about

.. math:: l_M = l_1 + 2 (1 - 1/M) (l_2 - l_1),

as the loss to the limit falls with 1/M, like the variance of an average of M.  To the mixture a way is worth its share:
w_k (l_M - l_now).  The ways take turns, each as long as it promises more than its part of the tolerance, since one
member more or less may gain or lose by chance.  All together take at most as much work as `num_trees` members of the
costliest way, and no more than is left of the whole search (`pcircuit.learning.choosing.work`).

EM for the average of the trees of bootstrap samples (`fit_mixture`), which lets each tree specialise in the rows that
it explains best, gains on some tables and overfits on others.  Where these trees have the largest weight it is tried,
as one way more.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pcircuit.array_types import Floats
from pcircuit.circuit import Circuit
from pcircuit.circuit_mixture import Mixture
from pcircuit.compiled.tile import drop_work
from pcircuit.inference.likelihood import log_likelihood
from pcircuit.learning.choosing.fits import (
    JOINT_BETWEEN_LOOKS,
    MOST_POINT_EPOCHS,
    PATIENCE,
    Rows,
    Size,
    fitted_parts,
    fitted_points,
    fitted_together,
    fitted_tree,
)
from pcircuit.learning.choosing.learned import Trial
from pcircuit.learning.choosing.search import LearnSearch
from pcircuit.learning.choosing.stacking import best_weights, chosen_weights
from pcircuit.learning.choosing.work import (
    LARGEST_SHARE,
    Making,
    expected_work,
    still_gained,
    work_of,
    work_of_epoch,
)
from pcircuit.learning.chow_liu import chow_liu_tree
from pcircuit.learning.continuous.continuous_mixture import CIRCUIT_POINTS, JUDGED_AFTER, work_of_points

LARGEST_POINT_SHARE = 1 / 2  # of what is left, for a continuous mixture
MULTIPLICATIONS = 2  # in its matrix products, which take about the time of one in EM
MOST_LOGITS = 2 ** 24  # of all points of a continuous mixture: 64 MB, of which there are some copies for a time


class Way(NamedTuple):
    """How the members of an average are made."""

    num_parts: int  # 1: trees of bootstrap samples
    size: Size
    num_points: int = 0  # of a mixture over a continuous variable, and then as many states as a tree of equal cost


class Average(NamedTuple):
    """Members so far, their mean log-likelihoods, log(sum of their likelihoods) of each validation row, their work."""

    way: Way
    members: tuple[Circuit | Mixture, ...]
    means: tuple[float, ...]
    total: Floats
    work: float

    @property
    def logs(self) -> Floats:
        """(n,) log-likelihoods of the validation rows under the average."""
        logs: Floats = self.total - np.log(len(self.members))
        return logs

    def promise(self, num_members: int) -> float:
        """Nats per row that more members will gain, up to so many; from two or more.

        With l_1 and l_M of the module's head, M = `num_members` and m those there are:
        (l_m - l_1) ((1 - 1/M) / (1 - 1/m) - 1).
        """
        known = len(self.members)
        if known == 1:  # of a way that could not afford two
            return 0.0
        gain = float(self.logs.mean()) - sum(self.means) / known
        return max(gain, 0.0) * max((1 - 1 / num_members) / (1 - 1 / known) - 1, 0.0)


def averaged(circuit: Circuit, trial: Trial, making: Making) -> Mixture | None:
    """The best mixture of averages for the validation rows; None if it is no better than the circuit.

    Parameters
    ----------
    circuit : Circuit
        The best tree of all rows, a member of the average of trees of its size.
    trial : Trial
        How it was fitted: its states, its smoothing, and its mean log-likelihood of the validation rows.
    making : Making

    Returns
    -------
    Mixture or None
    """
    rows, search = making.rows, making.search
    size = Size(trial.num_latents, trial.pseudocount)
    own = Average(Way(1, size), (circuit,), (trial.best,), log_likelihood(circuit, rows.held, n_jobs=rows.n_jobs),
                  work_of(trial, rows))
    averages = [own]
    for way in ways(size, search, rows.table.shape):
        affordable = _affordable(way, trial, making)
        if affordable == own.way:
            averages[0] = _with(own, making)
        elif affordable:
            averages.append(_with(_begun(affordable, making), making))
    averages += [_of_points(way, making)
                 for way in continuous_ways(rows, search) if point_epochs(way.size.num_latents, making)]
    if averages[0] is own and not averages[1:]:
        return None
    averages = _grown(averages, making)
    models = [_equal(average) for average in averages]
    logs = [average.logs for average in averages]
    largest = int(np.argmax(best_weights(np.array(logs), search.tolerance)[0]))
    joint = averages[largest]
    size, members = joint.way.size, len(joint.members)
    first_looks = JOINT_BETWEEN_LOOKS * (PATIENCE + 1) * members * work_of_epoch(size.num_latents, rows)
    are_trees = members > 1 and joint.way.num_parts == 1 and not joint.way.num_points
    if search.joint and are_trees and making.affords(first_looks):
        together, joint_trial = fitted_together(rows, models[largest], size, making.limited(size.num_latents, members))
        making.note(joint_trial)
        models.append(together)
        logs.append(log_likelihood(together, rows.held, n_jobs=rows.n_jobs))
    weights, mean = chosen_weights(np.array(logs), search.tolerance)
    return _flat(models, weights) if mean - trial.best > search.tolerance else None


def ways(size: Size, search: LearnSearch, shape: tuple[int, ...]) -> list[Way]:
    """The ways to make members of trees that are tried, that of `size` itself first.

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
        The states behind cuts are those with which `averaged` begins.

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


def continuous_ways(rows: Rows, search: LearnSearch) -> list[Way]:
    """The way of mixtures over a continuous variable, with about as many points as there are rows; none with few rows.

    Parameters
    ----------
    rows : Rows
    search : LearnSearch

    Returns
    -------
    list of Way
        One, or none: with fewer than 256 rows, one column, columns of one category, or too many categories.
    """
    (N, V), num_logits = rows.table.shape, int((rows.categories - 1).sum())
    most = min(search.num_points, N, MOST_LOGITS // max(num_logits, 1))
    if most < CIRCUIT_POINTS or V == 1 or not num_logits:
        return []
    points = 2 ** (most.bit_length() - 1)
    work = work_of_points(points, N, len(rows.held), num_logits) // MULTIPLICATIONS
    return [Way(1, Size(math.isqrt(work // rows.rows.size) + 1, 0.0), points)]


def point_epochs(num_latents: int, making: Making) -> int:
    """The epochs that a continuous mixture of such a cost may take: all if they are affordable, half of what is left.

    Parameters
    ----------
    num_latents : int
        States of a tree that costs as much.
    making : Making

    Returns
    -------
    int
        0 where a continuous mixture would end before it has learned much.
    """
    work, most = work_of_epoch(num_latents, making.rows), min(MOST_POINT_EPOCHS, making.search.num_epochs)
    if making.affords(most * work):
        return most
    epochs = min(int(LARGEST_POINT_SHARE * making.left() / work), most)
    return epochs if epochs >= JUDGED_AFTER else 0


def _affordable(way: Way, trial: Trial, making: Making) -> Way | None:
    """The way, if it can afford the epochs of a fit; behind cuts with fewer states, where that fit still gained."""
    states = way.size.num_latents
    goes_down = way.num_parts > 1 and still_gained(trial, making.search.tolerance)
    while not making.affords(expected_work(trial, states, making.rows)):
        if not goes_down or states == 1:
            return None
        states //= 2
    return way._replace(size=way.size._replace(num_latents=states))


def _grown(averages: list[Average], making: Making) -> list[Average]:
    """The averages with more members, in turns, of those ways that promise enough and can be afforded."""
    search, averages = making.search, list(averages)
    budget = search.num_trees * max(average.work / len(average.members) for average in averages)
    while True:
        weights, _ = best_weights(np.array([average.logs for average in averages]), search.tolerance)
        works = np.array([average.work / len(average.members) for average in averages])
        promises = weights * [average.promise(search.num_trees) for average in averages]
        left = min(budget - sum(average.work for average in averages), making.left())
        goes_on = np.flatnonzero((promises > search.tolerance / len(averages)) & (works <= left))
        if not len(goes_on):
            return averages
        k = min(goes_on.tolist(), key=lambda way: len(averages[way].members))
        averages[k] = _with(averages[k], making)


def _begun(way: Way, making: Making) -> Average:
    """The first member; behind cuts, with twice as many states as long as it gains by them."""
    best = _one(way, 1, making)
    while (way.num_parts > 1 and 2 * best.way.size.num_latents <= max(making.search.num_latents)
           and making.affords(4 * best.work)):
        size = best.way.size._replace(num_latents=2 * best.way.size.num_latents)
        larger = _one(Way(way.num_parts, size), 1, making)
        if not larger.means[0] - best.means[0] > making.search.tolerance:
            break
        best = larger
    return best


def _of_points(way: Way, making: Making) -> Average:
    """The first continuous mixture, with a second one if that is affordable as well and the first was good enough.

    One that stays behind the best model so far has too little weight for a second one to count.
    """
    least = _least(way, making)
    first = _begun(way, making)
    goes_on = first.means[0] >= least and first.work <= LARGEST_POINT_SHARE * making.left()
    return _with(first, making) if goes_on else first


def _with(average: Average, making: Making) -> Average:
    """The average with one more member."""
    one = _one(average.way, len(average.members) + 1, making)
    return Average(average.way, average.members + one.members, average.means + one.means,
                   np.logaddexp(average.total, one.total), average.work + one.work)


def _one(way: Way, number: int, making: Making) -> Average:
    """A new member, alone."""
    rows, _, generator, _, note = making
    search = _limited(way, number, making)
    member: Circuit | Mixture
    if way.num_points:
        least = _least(way, making) if number == 1 else -np.inf
        member, trial = fitted_points(rows, way.num_points, way.size, search, generator, f"continuous, {number}", least)
    elif way.num_parts == 1:
        drawn = rows.table[generator.integers(len(rows.table), size=len(rows.table))]
        tree = chow_liu_tree(drawn, num_categories=rows.categories)
        member, trial = fitted_tree(rows, tree, way.size, search, generator, f"tree {number}")
    else:
        member, trial = fitted_parts(rows, way.num_parts, way.size, search, generator,
                                     f"up to {way.num_parts} parts, {number}")
    logs = log_likelihood(member, rows.held, n_jobs=rows.n_jobs)
    for circuit in member.circuits if isinstance(member, Mixture) else (member,):
        drop_work(circuit)  # there may be hundreds
    return Average(way, (member,), (note(trial),), logs, work_of(trial, rows))


def _limited(way: Way, number: int, making: Making) -> LearnSearch:
    """The search with the epochs that a member may take: the first two of trees leave most of the work to others."""
    states = way.size.num_latents
    if way.num_points and number == 1:
        return replace(making.search, num_epochs=point_epochs(states, making))
    return making.limited(states, share=1.0 if way.num_points or number > 2 else LARGEST_SHARE)


def _least(way: Way, making: Making) -> float:
    """What the first continuous mixture must promise early: where all its epochs are costly, the best model so far."""
    all_epochs = min(MOST_POINT_EPOCHS, making.search.num_epochs)
    is_costly = not making.affords(all_epochs * work_of_epoch(way.size.num_latents, making.rows))
    return max(trial.best for trial in making.trials) if is_costly else -np.inf


def _equal(average: Average) -> Mixture:
    """The average as one mixture of circuits."""
    return _flat(average.members, np.full(len(average.members), 1 / len(average.members)))


def _flat(models: Sequence[Circuit | Mixture], shares: Floats) -> Mixture:
    """Circuits, and mixtures of circuits, as one mixture of circuits; without those of weight zero."""
    circuits: list[Circuit] = []
    weights: list[float] = []
    for model, share in zip(models, shares.tolist(), strict=True):
        if share > 0:
            parts = model if isinstance(model, Mixture) else Mixture([model])
            circuits += parts.circuits
            weights += (share * parts.weights).tolist()
    return Mixture(circuits, weights)
