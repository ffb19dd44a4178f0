r"""Random cuts: rows divided by the values of columns drawn at random, as cutset networks do.

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

from __future__ import annotations

import numpy as np

from pcircuit.array_types import Evidence, Ints


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
        thresholds, counts = np.unique(column[column >= 0], return_counts=True)
        below = np.cumsum(counts)[:-1]
        above = counts.sum() - below
        enough = np.flatnonzero(np.minimum(below, above) >= least)
        if len(enough):
            k = int(generator.choice(enough))
            flags: np.ndarray = np.where(column >= 0, column <= thresholds[k], below[k] >= above[k])
            return flags
    return None
