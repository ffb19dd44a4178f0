r"""Averages of models that err in different ways, and the best mixture of such averages.

.. math:: p(x) = \sum_k w_k \frac{1}{M_k} \sum_m p_{km}(x)

An average has a mean log-likelihood above the mean of those of its members (Jensen's inequality), by the more the less
these agree.  The ways to make members that do not agree are below.

The members of one way are equal but for chance and have equal weights; the ways are not, and the validation rows weigh
them (`best_weights`).  Each way starts with two members, and these tell how it will go on.  If l_1 is the mean
log-likelihood of a member and l_2 that of the average of two, that of M is about

.. math:: l_M = l_1 + 2 (1 - 1/M) (l_2 - l_1),

as the loss to the limit falls with 1/M, like the variance of an average of M.  To the mixture a way is worth its share:
w_k (l_M - l_now), with the weights that it would have if it ended now.  The next member is of the way that gains most
by one more for its work, among those that promise more than their part of the tolerance with all their members, since
one member more or less may gain or lose by chance.  All together take no more work than is left of the whole search,
and have no more parameters than `max_parameters`.

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

How much EM a search does, in a unit that is the same on every machine.

The time of a fit is about proportional to

.. math:: n \, K (S K + 6 V) \times \text{epochs}

with the n rows that differ, as equal ones are merged, and for each of them S hidden variables with K sums of K
products each, and V columns with K values that are looked up, multiplied and counted.  S is one less than the columns
that have others below them in the Chow-Liu tree: .4 to .7 of all in the binary sets, on which the six was fitted, so
that all of them do about as much in a second with 8 states as with 64.  Trees of samples and
of parts are taken to be like that of all rows.  A limit in this unit, not in seconds, ends the same search at the
same place whatever else a machine does.  Before a fit its epochs are not known; those of the last one like it are a
fair guess, and no fit is begun whose guess is above a quarter of what is left: so a large size is not tried at the
price of all that would come after it.  Where the last size still gained when its epochs were used up, a larger one may
be worth more with few epochs than it with many: so that is begun, too, if a quarter of what is left pays for twenty.
A size that gained no more has begun to overfit, and more states rarely help.  Whatever was guessed, single trees and
the first two members of a way end with a quarter of what is left, all others where nothing is left.

The ways to make the members of a mixture, so that they err differently.

* trees of bootstrap samples of the rows, with parameters from all rows (bagging, Breiman 1996; mixtures of trees,
  Meila and Jordan 2000), with K and with 2K states, where K is the best number for one tree: members that overfit
  a little disagree more;
* a tree for each part of a random division of the rows (`random_parts`) into up to P = 4, 16, 64 and 256 parts, with
  2K / sqrt(P) states, since a part has fewer rows, or twice as many, four times, ... as long as one member gains by it,
  and the first of the pseudocounts, and with half as many, a quarter, ... where that is all that the search affords
  and one tree still gained by its last epochs; not where parts could have fewer rows than columns, from which no tree
  can be learned (and P trees would cost more than all of EM);
* mixtures over a continuous hidden variable (`continuous_mixture`), whose members differ in start values,
  batches and points: they see what is a matter of degree, and no dependence between two columns alone.  A single one
  may be worth more than many trees, so it may take half of what is left of the search, and fewer epochs where that is
  needed; then it ends after eight if it is too far behind the best model so far to make up for it (`promised`).  A
  multiplication counts half, as matrix products do about twice as many in the time of EM;
* a kernel around every row (`row_kernels`), one member for each of some bandwidths: no learning, and next to nothing
  for most rows, but tens of nats for those that are nearly copies of others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pcircuit.arguments import Floats
from pcircuit.circuit import Circuit, Mixture
from pcircuit.inference.likelihood import log_likelihood
from pcircuit.kernels.tile import drop_work
from pcircuit.learning.choosing.fits import (
    JOINT_BETWEEN_LOOKS,
    KERNEL_ROWS,
    MOST_POINT_EPOCHS,
    PATIENCE,
    Rows,
    Size,
    fitted_kernels,
    fitted_parts,
    fitted_points,
    fitted_together,
    fitted_tree,
)
from pcircuit.learning.choosing.search import LearnSearch, Trial
from pcircuit.learning.chow_liu import chow_liu_tree
from pcircuit.learning.continuous_mixture import JUDGED_AFTER, work_of_points
from pcircuit.learning.product_mixtures import CIRCUIT_PRODUCTS

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
        return self.total - np.log(len(self.members))

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
    models = [
        flat(average.members, np.full(len(average.members), 1 / len(average.members)))
        for average in averages
    ]
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
    return flat(models, weights) if mean - trial.best > search.tolerance else None


def _affordable(way: Way, trial: Trial, making: Making) -> Way | None:
    """The way, if it can afford the epochs of a fit; behind cuts with fewer states, where that fit still gained."""
    states = way.size.num_latents
    goes_down = way.num_parts > 1 and still_gained(trial, making.search.tolerance)
    while not (
        making.affords(work_of(trial, making.rows, states))
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
    # rows that differ, so many that to judge them and to hold their probabilities takes no more than it may
    count = int(min(len(rows.rows), MOST_KERNELS, MOST_LOGITS // int(rows.categories.sum())))
    judged = float(count) * (len(rows.held) + KERNEL_ROWS) * rows.rows.shape[1]
    states = states_of_work(judged, rows)
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
    states = way.size.num_latents
    if way.num_points and number == 1:
        search = replace(making.search, num_epochs=point_epochs(states, making))
    else:  # the first two of trees leave most of the work to others
        search = making.limited(
            states, share=1.0 if way.num_points or number > 2 else LARGEST_SHARE
        )
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


def _least(way: Way, making: Making) -> float:
    """What the first continuous mixture must promise early: where it may not have all its epochs, the best so far."""
    all_epochs = min(MOST_POINT_EPOCHS, making.search.num_epochs)
    is_costly = (
        all_epochs * work_of_epoch(way.size.num_latents, making.rows)
        > LARGEST_POINT_SHARE * making.left()
    )
    return max(trial.best for trial in making.trials) if is_costly else -np.inf


def flat(models: Sequence[Circuit | Mixture], shares: Iterable[float]) -> Mixture:
    """Circuits, and mixtures of circuits, as one mixture of circuits, each once; without those of weight zero."""
    circuits: dict[int, Circuit] = {}
    weights: dict[int, float] = {}
    for model, share in zip(models, shares, strict=True):
        parts = model if isinstance(model, Mixture) else Mixture([model])
        for circuit, weight in zip(parts.circuits, share * parts.weights, strict=True):
            if weight > 0:
                circuits[id(circuit)] = circuit
                weights[id(circuit)] = weights.get(id(circuit), 0.0) + float(weight)
    return Mixture(list(circuits.values()), list(weights.values()))


def chosen_weights(logs: Floats, tolerance: float) -> tuple[Floats, float]:
    """The best weights, 0 for models that have next to none; the mean log-likelihood with them.

    Shapes: logs (W, n) -> weights (W,).
    O(W n) for each of at most a thousand steps of EM, and again for each model that is left out.
    """
    weights, mean = best_weights(logs, tolerance)
    kept = np.arange(len(logs))
    while weights.min() < SMALL_SHARE / len(logs):
        fewer = np.delete(kept, weights.argmin())
        if not _are_possible(logs[fewer]):
            break
        kept = fewer
        weights, mean = best_weights(logs[kept], tolerance)
    spread = np.zeros(len(logs))
    spread[kept] = weights
    return spread, mean


def best_weights(logs: Floats, tolerance: float) -> tuple[Floats, float]:
    """The weights with the largest mean log-likelihood, and that mean; shapes logs (W, n) -> weights (W,)."""
    if not _are_possible(logs):
        return np.full(len(logs), 1 / len(logs)), -np.inf
    top = logs.max(axis=0)
    likelihoods = np.exp(logs - top)  # in units of the best model of each row
    weights = np.full(len(logs), 1 / len(logs))
    for _ in range(MOST_STEPS):
        total = weights @ likelihoods
        gradient = (likelihoods / total).mean(axis=1)
        if gradient.max() - 1 <= tolerance:
            break
        weights = weights * gradient
    return weights / weights.sum(), float((np.log(total) + top).mean())


def _are_possible(logs: Floats) -> bool:
    """Whether each row is possible under some model."""
    return not np.isneginf(logs.max(axis=0)).any()


LARGEST_SHARE = 1 / 4  # of what is left, for one fit
LOOK_UP = 6  # of a value, in additions to a product
LEAST_EPOCHS = 20  # with fewer a larger size is not begun: two looks at the rows that judge
LARGEST_POINT_SHARE = 1 / 2  # of what is left, for a continuous mixture
MULTIPLICATIONS = 2  # in its matrix products, which take about the time of one in EM
MOST_KERNELS = 2**14  # as many as take about as long to evaluate as two continuous mixtures
MOST_LOGITS = (
    2**24
)  # of all points of a continuous mixture: 64 MB, of which there are some copies for a time


class Way(NamedTuple):
    """How the members of an average are made."""

    num_parts: int  # 1: trees of bootstrap samples
    size: Size
    num_points: int = (
        0  # of a continuous mixture, or kernels; then as many states as a tree of equal cost
    )


class Making(NamedTuple):
    """What a member is made of, who is told of it, and what was made so far."""

    rows: Rows
    search: LearnSearch
    generator: np.random.Generator
    trials: list[Trial]
    note: Callable[[Trial], float]  # adds to them

    def left(self) -> float:
        """What remains of `LearnSearch.max_work`; negative where the first fit took more than all."""
        return self.search.max_work - sum(work_of(trial, self.rows) for trial in self.trials)

    def affords(self, work: float) -> bool:
        """Whether a fit of so much work is begun: up to LARGEST_SHARE of what is left."""
        return work <= LARGEST_SHARE * self.left()

    def begins(self, num_latents: int, last: Trial) -> bool:
        """Whether a larger size is begun: for the epochs of the last one, or for LEAST_EPOCHS if that still gained."""
        epochs = float(last.epochs[-1])
        if still_gained(last, self.search.tolerance):
            epochs = min(epochs, LEAST_EPOCHS)
        return self.affords(epochs * work_of_epoch(num_latents, self.rows))

    def limited(self, num_latents: int, num_circuits: int = 1, share: float = 1.0) -> LearnSearch:
        """The search with no more epochs for the next fit than this share of what is left pays for; one at least.

        The first fit of all is not limited: something must be found.
        """
        if not self.trials:
            return self.search
        epochs = share * self.left() / (num_circuits * work_of_epoch(num_latents, self.rows))
        return replace(self.search, num_epochs=int(np.clip(epochs, 1, self.search.num_epochs)))


def work_of_epoch(num_latents: int, rows: Rows) -> float:
    """The work of one epoch of one circuit, n K (S K + 6 V)."""
    return (
        float(len(rows.rows)) * num_latents * (_sums(rows) * num_latents + LOOK_UP * len(rows.tree))
    )


def states_of_work(work: float, rows: Rows) -> int:
    """The fewest states of a circuit whose epoch takes so much work."""
    each, sums, inputs = work / len(rows.rows), _sums(rows), LOOK_UP * len(rows.tree)
    states = (np.sqrt(inputs**2 + 4 * sums * each) - inputs) / (2 * sums) if sums else each / inputs
    return max(int(np.ceil(states - 1e-9)), 1)


def work_of(trial: Trial, rows: Rows, num_latents: int | None = None) -> float:
    """The work of one fit, or of one like it with so many states; of EM for a mixture, that of one of its circuits."""
    return work_of_epoch(num_latents or trial.num_latents, rows) * float(trial.epochs[-1])


def still_gained(trial: Trial, tolerance: float) -> bool:
    """Whether the rows that judge a fit gained by its last epochs, so that it ended for want of more."""
    means = trial.validation.tolist()
    return (
        len(means) > 1 and means[-1] - means[-2] > tolerance
    )  # not where a row is impossible at both looks


def _sums(rows: Rows) -> int:
    """S: columns that have others below them in the tree, less the root."""
    return max(len(np.unique(rows.tree)) - 2, 0)  # -1, above the root, is no column


def ways(size: Size, search: LearnSearch, shape: tuple[int, ...]) -> list[Way]:
    """The ways to make members of trees that are tried, that of `size` itself first; shapes shape (int, int)."""
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
    """The way of mixtures over a continuous variable, with about as many points as rows; none with few rows."""
    (N, V), num_logits = rows.table.shape, int((rows.categories - 1).sum())
    of_point = int(rows.categories.sum()) + 1  # parameters: probabilities, and a weight
    most = min(
        search.num_points,
        N,
        MOST_LOGITS // max(num_logits, 1),
        int(search.max_parameters // (2 * of_point)),
    )
    if most < CIRCUIT_PRODUCTS or V == 1 or not num_logits:
        return []
    points = 2 ** (most.bit_length() - 1)
    work = work_of_points(points, N, len(rows.held), num_logits) // MULTIPLICATIONS
    return [Way(1, Size(states_of_work(work, rows), 0.0), points)]


def point_epochs(num_latents: int, making: Making) -> int:
    """The epochs that a continuous mixture of such a cost may take: all if affordable, half of what is left."""
    work, most = (
        work_of_epoch(num_latents, making.rows),
        min(MOST_POINT_EPOCHS, making.search.num_epochs),
    )
    if making.affords(most * work):
        return most
    epochs = min(int(LARGEST_POINT_SHARE * making.left() / work), most)
    return epochs if epochs >= JUDGED_AFTER else 0
