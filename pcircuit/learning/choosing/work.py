r"""How much EM a search does, in a unit that is the same on every machine.

The time of a fit is about proportional to

.. math:: \text{rows} \times \text{columns} \times K^2 \times \text{epochs},

with the rows that differ, as equal ones are merged.  A limit in this unit, not in seconds, ends the same search at the
same place whatever else a machine does.  Before a fit its epochs are not known; those of the last one like it are a
fair guess, and no fit is begun whose guess is above a quarter of what is left: so a large size is not tried at the
price of all that would come after it.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pcircuit.learning.choosing.fits import Rows
from pcircuit.learning.choosing.learned import Trial
from pcircuit.learning.choosing.search import LearnSearch

LARGEST_SHARE = 1 / 4  # of what is left, for one fit


class Making(NamedTuple):
    """What a member is made of, who is told of it, and what was made so far."""

    rows: Rows
    search: LearnSearch
    generator: np.random.Generator
    trials: list[Trial]
    note: Callable[[Trial], float]  # adds to them

    def left(self) -> float:
        """What remains of `LearnSearch.max_work`; negative where the last fit took more than was expected of it."""
        return self.search.max_work - sum(work_of(trial, self.rows) for trial in self.trials)

    def affords(self, work: float) -> bool:
        """Whether a fit of so much work is begun: up to LARGEST_SHARE of what is left."""
        return work <= LARGEST_SHARE * self.left()


def work_of(trial: Trial, rows: Rows) -> float:
    """The work of one fit, as in the module's head.

    Parameters
    ----------
    trial : Trial
    rows : Rows

    Returns
    -------
    float
        For a mixture, that of one of its circuits; where each sees its own part of the rows, that is all.
    """
    return float(rows.rows.size) * trial.num_latents ** 2 * float(trial.epochs[-1])


def expected_work(trial: Trial, num_latents: int, rows: Rows) -> float:
    """The work of a fit with so many states, if it takes the epochs of another one.

    Parameters
    ----------
    trial : Trial
    num_latents : int
    rows : Rows

    Returns
    -------
    float
    """
    return work_of(trial, rows) * (num_latents / trial.num_latents) ** 2
