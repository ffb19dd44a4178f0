"""What an epoch of EM costs in a search, by the definition: n K (S K + 6 V)."""

import numpy as np

from pcircuit import chow_liu_tree


def epoch_work(rows, num_latents):
    """Of the rows that differ; S + 1 columns have others below them in the tree of all rows."""
    tree = np.asarray(chow_liu_tree(rows))
    sums = max(len({int(parent) for parent in tree if parent >= 0}) - 1, 0)
    return len(np.unique(rows, axis=0)) * num_latents * (sums * num_latents + 6 * len(tree))


def work_done(trials, rows):
    """Of all fits."""
    return sum(epoch_work(rows, trial.num_latents) * int(trial.epochs[-1]) for trial in trials)
