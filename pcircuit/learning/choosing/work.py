r"""How much EM a search does, in a unit that is the same on every machine.

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
  multiplication counts half, as matrix products do about twice as many in the time of EM (`benchmarks.bench_work`);
* a kernel around every row (`row_kernels`), one member for each of some bandwidths: no learning, and next to nothing
  for most rows, but tens of nats for those that are nearly copies of others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pcircuit.learning.choosing.fits import KERNEL_ROWS, MOST_POINT_EPOCHS, Rows, Size
from pcircuit.learning.choosing.search import LearnSearch, Trial
from pcircuit.learning.continuous_mixture import JUDGED_AFTER, work_of_points
from pcircuit.learning.product_mixtures import CIRCUIT_PRODUCTS

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


def work_of(trial: Trial, rows: Rows) -> float:
    """The work of one fit; of EM for a whole mixture, that of one of its circuits."""
    return work_of_epoch(trial.num_latents, rows) * float(trial.epochs[-1])


def still_gained(trial: Trial, tolerance: float) -> bool:
    """Whether the rows that judge a fit gained by its last epochs, so that it ended for want of more."""
    means = trial.validation.tolist()
    return (
        len(means) > 1 and means[-1] - means[-2] > tolerance
    )  # not where a row is impossible at both looks


def expected_work(trial: Trial, num_latents: int, rows: Rows) -> float:
    """The work of a fit with so many states, if it takes the epochs of another one."""
    return work_of_epoch(num_latents, rows) * float(trial.epochs[-1])


def _sums(rows: Rows) -> int:
    """S: columns that have others below them in the tree, less the root."""
    return max(len(np.unique(rows.tree)) - 2, 0)  # -1, above the root, is no column


def ways(size: Size, search: LearnSearch, shape: tuple[int, ...]) -> list[Way]:
    """The ways to make members of trees that are tried, that of `size` itself first.

    Shapes: shape (int, int).
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


def kernels_of(rows: Rows) -> int:
    """Rows that get a kernel: those that differ, at most 2^14, and so many that their probabilities take 128 MB."""
    return int(min(len(rows.rows), MOST_KERNELS, MOST_LOGITS // int(rows.categories.sum())))


def states_of_kernels(num_kernels: int, rows: Rows) -> int:
    """The states of a tree whose epoch costs as much as to judge so many kernels."""
    return states_of_work(
        float(num_kernels) * (len(rows.held) + KERNEL_ROWS) * rows.rows.shape[1], rows
    )
