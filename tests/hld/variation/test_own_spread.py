"""Rare levels among groups and stretches: p-values below the ranks, columns that were constant, single nodes."""

import numpy as np
import pytest
from binomial_bounds import at_most

from hld import HLDTest
from hld.variation.group_test import group_test
from hld.variation.own_spread import own_spread
from hld.variation.time_test import time_test
from pcircuit import Circuit, InnerRegion, InputRegion, VTree, sample

RARE = (0.002, 0.005, 0.01, 0.02, 0.03, 0.3, 0.5)


def flags(shares):
    """Independent columns that are 1 in so many rows, each with a unit that likes the 1 and one that likes the 0."""
    V = len(shares)
    leaves = [InputRegion(v, [[1 - p, p], [p, 1 - p]]) for v, p in enumerate(shares)]
    return Circuit(
        VTree([V] * V + [-1], [*range(V), -1]), [*leaves, InnerRegion([[0] * V], [[1.0]])]
    )


TEST = HLDTest(flags(RARE), metric=("euclidean", "standardized", "whitened"))


def rows_of(num_rows, seed):
    return sample(TEST.circuit, num_rows, rng=seed)


def groups_of(G, T, seed):
    return group_test(TEST, rows_of(G * T, seed), np.repeat(np.arange(G), T), seed=seed)


def is_called(result):
    return min(node.pvalue for node in result.localize(top=None).nodes) <= 0.05


def test_few_rare_rows_do_not_go_far_below_the_ranks():
    small = []
    for seed in range(30):
        test = groups_of(100, 20, seed)
        small += [
            test(batch).pvalue <= 1e-4 for batch in rows_of(2000, 100 + seed).reshape(100, 20, -1)
        ]
    assert sum(small) <= at_most(len(small), 1e-4)


@pytest.mark.parametrize("T", [2, 3])
def test_two_or_three_rows_do_not_go_far_below_the_ranks(T):
    small = []
    for seed in range(20):
        test = groups_of(150, 16, seed)
        found = [test(batch) for batch in rows_of(100 * T, 100 + seed).reshape(100, T, -1)]
        small += [min(one.pvalue, one.column_pvalues[1].min()) <= 1e-4 for one in found]
    assert sum(small) <= at_most(len(small), 2e-4)  # of the batch and of columns


def test_what_most_rows_show_does():
    rows = rows_of(20, 1)
    rows[:16, 1] = 1
    found = groups_of(100, 20, 0)(rows)
    assert found.pvalue < 1e-6
    assert found.column_pvalues[1].argmin() == 1
    assert found.column_pvalues[1, 1] < 1e-6
    assert found.node_pvalues.min() < 1e-6


def test_columns_without_variation_are_not_called_too_often_among_stretches():
    """200 reference rows often show no 1 where a batch of 50 does: its column had a p-value of 0."""
    found = [time_test(TEST, rows_of(200, seed))(rows_of(50, 1000 + seed)) for seed in range(200)]
    least = np.array([one.column_pvalues[1].min() for one in found])
    assert (least <= 0.05).sum() <= at_most(len(found), 0.05)
    assert (least <= 0.001).sum() <= at_most(len(found), 0.001)


def test_unshifted_nodes_are_seldom_called_among_groups():
    """By the normal law in a third of the batches."""
    called = [is_called(groups_of(19, 20, seed)(rows_of(20, 1000 + seed))) for seed in range(200)]
    assert sum(called) <= at_most(200, 0.05)


@pytest.mark.parametrize("T", [10, 50])
def test_unshifted_nodes_are_seldom_called_among_stretches(T):
    called = [
        is_called(time_test(TEST, rows_of(200, seed))(rows_of(T, 1000 + seed)))
        for seed in range(200)
    ]
    assert sum(called) <= at_most(200, 0.05)


@pytest.mark.parametrize("first", [0, 1])
def test_a_long_batch_in_which_two_sorts_of_rows_alternate_varies_as_both_do(first):
    rows, look = rows_of(4_000, 0), TEST.vectors
    rows[first::2] = 0
    nothing = np.zeros(look.size)
    found = (own_spread(look, rows, nothing, look.rows(rows).mean(axis=0), len(rows))() ** 2).sum()
    assert found == pytest.approx(look.rows(rows).var(axis=0).sum() / len(rows), rel=0.15)
