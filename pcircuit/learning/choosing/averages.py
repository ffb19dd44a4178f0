r"""Averages of models that err in different ways, and the best mixture of such averages.

.. math:: p(x) = \sum_k w_k \frac{1}{M_k} \sum_m p_{km}(x)

An average has a mean log-likelihood above the mean of those of its members (Jensen's inequality), by the more the less
these agree.  The ways to make members that do not agree are those of `pcircuit.learning.choosing.work`.

The members of one way are equal but for chance and have equal weights; the ways are not, and the validation rows weigh
them (`best_weights`).  Each way starts with two members, and these tell how it will go on.  If l_1 is the mean
log-likelihood of a member and l_2 that of the average of two, that of M is about

.. math:: l_M = l_1 + 2 (1 - 1/M) (l_2 - l_1),

as the loss to the limit falls with 1/M, like the variance of an average of M.  To the mixture a way is worth its share:
w_k (l_M - l_now), with the weights that it would have if it ended now.  The next member is of the way that gains most
by one more for its work, among those that promise more than their part of the tolerance with all their members, since
one member more or less may gain or lose by chance.  All together take no more work than is left of the whole search
(`pcircuit.learning.choosing.work`), and have no more parameters than `max_parameters`.

EM for the average of the trees of bootstrap samples (`fit_mixture`), which lets each tree specialise in the rows that
it explains best, gains on some tables and overfits on others.  Where these trees have the largest weight it is tried,
as one way more.

Weights of models in their mixture, chosen on rows that none of them learned from (stacking).

.. math:: \max_w \; \frac1n \sum_i \log \sum_k w_k \, p_k(x_i), \qquad w \ge 0, \; \sum_k w_k = 1 .

The models are given, so that only the weights are unknown.  The mean is concave in them, and EM finds its maximum: the
new weight of model k is the mean share that it has in the likelihood of a row,

.. math:: w_k \leftarrow w_k \, g_k, \qquad g_k = \frac1n \sum_i \frac{p_k(x_i)}{\sum_j w_j \, p_j(x_i)} .

The g are also the gradient of the mean, and max_k g_k - 1 bounds how far below the maximum it is (a concave function
lies below its tangents, and sum_k w_k g_k = 1), so that the steps end with a guarantee.

They begin with equal weights and end as soon as no more than a tolerance can be gained, so that models that are equally
good keep equal weights.

Models with less than a tenth of an equal share are left out (`chosen_weights`): they make the mixture slower to use,
for next to nothing; but not the only one under which some row is possible.  That others gain little on these rows is no
reason to leave them out.  That was tried, and lost on test rows: models that agree on the whole still err in different
places.
"""

from __future__ import annotations

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
    Size,
    fitted_kernels,
    fitted_parts,
    fitted_points,
    fitted_together,
    fitted_tree,
)
from pcircuit.learning.choosing.search import LearnSearch, Trial
from pcircuit.learning.choosing.work import (
    LARGEST_POINT_SHARE,
    LARGEST_SHARE,
    Making,
    Way,
    continuous_ways,
    expected_work,
    kernels_of,
    point_epochs,
    states_of_kernels,
    still_gained,
    ways,
    work_of,
    work_of_epoch,
)
from pcircuit.learning.chow_liu import chow_liu_tree

MOST_STEPS, SMALL_SHARE = 1000, 0.1


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
    """The best mixture of averages for the validation rows; None if it is no better than the circuit."""
    rows, search = making.rows, making.search
    size = Size(trial.num_latents, trial.pseudocount)
    own = Average(
        Way(1, size),
        (circuit,),
        (trial.best,),
        log_likelihood(circuit, rows.held, n_jobs=rows.n_jobs),
        work_of(trial, rows),
    )
    averages = [own]
    for way in ways(size, search, rows.table.shape):
        affordable = _affordable(way, trial, making)
        if affordable == own.way:
            averages[0] = _with(own, making)
        elif affordable:
            averages.append(_with(_begun(affordable, making), making))
    averages += [
        _of_points(way, making)
        for way in continuous_ways(rows, search)
        if point_epochs(way.size.num_latents, making)
    ]
    averages += _of_kernels(making)
    if averages[0] is own and not averages[1:]:
        return None
    averages = _grown(averages, making)
    models = [_equal(average) for average in averages]
    logs = [average.logs for average in averages]
    shares, _ = chosen_weights(np.array(logs), search.tolerance)
    largest = int(np.argmax(shares))
    joint = averages[largest]
    size, members = joint.way.size, len(joint.members)
    first_looks = (
        JOINT_BETWEEN_LOOKS * (PATIENCE + 1) * members * work_of_epoch(size.num_latents, rows)
    )
    are_trees = members > 1 and joint.way.num_parts == 1 and not joint.way.num_points
    taken = sum(
        model.num_parameters for model, share in zip(models, shares, strict=True) if share > 0
    )
    holds = taken + models[largest].num_parameters <= search.max_parameters
    if search.joint and are_trees and holds and making.affords(first_looks):
        together, joint_trial = fitted_together(
            rows, models[largest], size, making.limited(size.num_latents, members)
        )
        making.note(joint_trial)
        models.append(together)
        logs.append(log_likelihood(together, rows.held, n_jobs=rows.n_jobs))
    weights, mean = chosen_weights(np.array(logs), search.tolerance)
    return _flat(models, weights) if mean - trial.best > search.tolerance else None


def _affordable(way: Way, trial: Trial, making: Making) -> Way | None:
    """The way, if it can afford the epochs of a fit; behind cuts with fewer states, where that fit still gained."""
    states = way.size.num_latents
    goes_down = way.num_parts > 1 and still_gained(trial, making.search.tolerance)
    while not (
        making.affords(expected_work(trial, states, making.rows))
        and _holds(way.num_parts, states, making)
    ):
        if not goes_down or states == 1:
            return None
        states //= 2
    return way._replace(size=way.size._replace(num_latents=states))


def _grown(averages: list[Average], making: Making) -> list[Average]:
    """The averages with more members, that first which gains most for its work, as long as one promises enough."""
    search, averages = making.search, list(averages)
    while True:
        weights, _ = best_weights(
            np.array([average.logs for average in averages]), search.tolerance
        )
        weights[weights < SMALL_SHARE / len(weights)] = 0.0
        counts = np.array([len(average.members) for average in averages])
        works = np.array([average.work for average in averages]) / counts
        sizes = np.array(
            [sum(member.num_parameters for member in average.members) for average in averages]
        )
        holds = sizes / counts <= search.max_parameters - sizes[weights > 0].sum()
        promises = weights * [average.promise(search.num_trees) for average in averages]
        goes_on = (
            holds
            & (works <= making.left())
            & (promises > search.tolerance / max((counts > 1).sum(), 1))
        )
        if not goes_on.any():
            return averages
        rates = (
            weights * [average.promise(len(average.members) + 1) for average in averages] / works
        )
        k = int(np.argmax(np.where(goes_on, rates, -1.0)))
        averages[k] = _with(averages[k], making)


def _holds(num_parts: int, num_latents: int, making: Making) -> bool:
    """Whether two members have `max_parameters` at most: in each part K^2 weights for each column, and its inputs."""
    rows = making.rows
    of_one = (
        num_parts * num_latents * (num_latents * rows.table.shape[1] + int(rows.categories.sum()))
    )
    return bool(2 * of_one <= making.search.max_parameters)


def _begun(way: Way, making: Making) -> Average:
    """The first member; behind cuts, with twice as many states as long as it gains by them."""
    best = _one(way, 1, making)
    while (
        way.num_parts > 1
        and 2 * best.way.size.num_latents <= max(making.search.num_latents)
        and making.affords(4 * best.work)
        and _holds(way.num_parts, 2 * best.way.size.num_latents, making)
    ):
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


def _of_kernels(making: Making) -> list[Average]:
    """The kernels around rows with each bandwidth, averages of one member; none where they cost or hold too much."""
    rows, search = making.rows, making.search
    count = kernels_of(rows)
    states = states_of_kernels(count, rows)
    found: list[Average] = []
    for bandwidth in search.bandwidths:
        work, size = work_of_epoch(states, rows), Size(states, bandwidth)
        holds = len(search.bandwidths) * count * rows.categories.sum() <= search.max_parameters
        if not (count and making.affords(work) and holds):
            break
        model, trial, logs = fitted_kernels(rows, count, size, making.generator)
        found.append(Average(Way(1, size, count), (model,), (making.note(trial),), logs, work))
    return found


def _with(average: Average, making: Making) -> Average:
    """The average with one more member."""
    one = _one(average.way, len(average.members) + 1, making)
    return Average(
        average.way,
        average.members + one.members,
        average.means + one.means,
        np.logaddexp(average.total, one.total),
        average.work + one.work,
    )


def _one(way: Way, number: int, making: Making) -> Average:
    """A new member, alone."""
    rows, _, generator, _, note = making
    search = _limited(way, number, making)
    member: Circuit | Mixture
    if way.num_points:
        least = _least(way, making) if number == 1 else -np.inf
        member, trial = fitted_points(
            rows, way.num_points, way.size, search, generator, f"continuous, {number}", least
        )
    elif way.num_parts == 1:
        drawn = rows.table[generator.integers(len(rows.table), size=len(rows.table))]
        tree = chow_liu_tree(drawn, num_categories=rows.categories)
        member, trial = fitted_tree(rows, tree, way.size, search, generator, f"tree {number}")
    else:
        member, trial = fitted_parts(
            rows,
            way.num_parts,
            way.size,
            search,
            generator,
            f"up to {way.num_parts} parts, {number}",
        )
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
    """What the first continuous mixture must promise early: where it may not have all its epochs, the best so far."""
    all_epochs = min(MOST_POINT_EPOCHS, making.search.num_epochs)
    is_costly = (
        all_epochs * work_of_epoch(way.size.num_latents, making.rows)
        > LARGEST_POINT_SHARE * making.left()
    )
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


def chosen_weights(logs: Floats, tolerance: float) -> tuple[Floats, float]:
    """The best weights, 0 for models that have next to none; the mean log-likelihood with them.

    Shapes: logs (W, n) -> weights (W,).
    O(W n) for each of at most a thousand steps of EM, and again for each model that is left out.
    """
    weights, mean = best_weights(logs, tolerance)
    kept = np.arange(len(logs))
    while len(small := np.flatnonzero(weights < SMALL_SHARE / len(logs))):
        without = (
            np.delete(kept, place) for place in small[np.argsort(weights[small], kind="stable")]
        )
        fewer = next((some for some in without if _are_possible(logs[some])), None)
        if fewer is None:
            break
        kept = fewer
        weights, mean = best_weights(logs[kept], tolerance)
    spread = np.zeros(len(logs))
    spread[kept] = weights
    return spread, mean


def best_weights(logs: Floats, tolerance: float) -> tuple[Floats, float]:
    """The weights with the largest mean log-likelihood, and that mean.

    Shapes: logs (W, n) -> weights (W,).
    """
    if not _are_possible(logs):
        return np.full(len(logs), 1 / len(logs)), -np.inf
    top = logs.max(axis=0)
    likelihoods = np.exp(logs - top)  # in units of the best model of each row
    weights = np.full(len(logs), 1 / len(logs))
    for _ in range(MOST_STEPS):
        total = (weights[:, None] * likelihoods).sum(axis=0)
        gradient = (likelihoods / total).mean(axis=1)
        if gradient.max() - 1 <= tolerance:
            break
        weights = weights * gradient
    total = (weights[:, None] * likelihoods).sum(axis=0)
    return weights / weights.sum(), float((np.log(total) + top).mean())


def _are_possible(logs: Floats) -> bool:
    """Whether each row is possible under some model."""
    return not np.isneginf(logs.max(axis=0)).any()
