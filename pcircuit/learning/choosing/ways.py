"""The ways to make the members of a mixture, so that they err differently.

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
  multiplication counts half, as matrix products do about twice as many in the time of EM;
* a kernel around every row (`row_kernels`), one member for each of some bandwidths: no learning, and next to nothing
  for most rows, but tens of nats for those that are nearly copies of others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pcircuit.learning.choosing.fits import KERNEL_ROWS, MOST_POINT_EPOCHS, Rows, Size
from pcircuit.learning.choosing.search import LearnSearch
from pcircuit.learning.choosing.work import Making, states_of_work, work_of_epoch
from pcircuit.learning.continuous.continuous_mixture import JUDGED_AFTER, work_of_points
from pcircuit.learning.products.product_mixture import CIRCUIT_PRODUCTS

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
