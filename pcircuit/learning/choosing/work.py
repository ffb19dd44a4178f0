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
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pcircuit.learning.choosing.fits import Rows
from pcircuit.learning.choosing.learned import Trial
from pcircuit.learning.choosing.search import LearnSearch

LARGEST_SHARE = 1 / 4  # of what is left, for one fit
LOOK_UP = 6  # of a value, in additions to a product
LEAST_EPOCHS = 20  # with fewer a larger size is not begun: two looks at the rows that judge


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
