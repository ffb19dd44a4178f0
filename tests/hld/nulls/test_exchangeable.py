"""A vector among exchangeable ones: ranks that keep every level, and p-values between two ranks."""

import numpy as np
import pytest

from hld.features.linear_maps import Scaled
from hld.laws.exchangeable import exchangeable_pvalue
from tests import binomial_bounds

PLAIN = (Scaled("euclidean", np.ones(3)),)


def pvalues(rng, G, trials, **options):
    """Of trials in which the batch is one of G + 1 alike."""
    found = []
    for _ in range(trials):
        drawn = rng.standard_t(4, size=(G + 1, 3))
        found.append(exchangeable_pvalue(drawn[0], drawn[1:], PLAIN, **options).value)
    return np.array(found)


def test_between_two_ranks_p_lies_between_theirs():
    rng = np.random.default_rng(0)
    for _ in range(200):
        drawn = rng.normal(size=(12, 3))
        rank = exchangeable_pvalue(drawn[0], drawn[1:], PLAIN).value
        between = exchangeable_pvalue(drawn[0], drawn[1:], PLAIN, is_exact=False).value
        assert round(rank * 12) == pytest.approx(rank * 12)
        assert rank - 1 / 12 <= between <= rank
        if rank < 1.5 / 12 or rank == 1:  # no neighbour on one side
            assert between == rank


def test_p_goes_on_as_the_batch_moves_away():
    """No steps: it falls from 1 to that of the rank, as the batch passes the others one by one."""
    others = np.array([[1.0], [2.0], [4.0], [8.0], [-1.0], [-3.0], [-6.0]])
    metric, places = (Scaled("euclidean", np.ones(1)),), np.linspace(2.01, 30.0, 3000)
    found = np.array(
        [exchangeable_pvalue(np.array([x]), others, metric, is_exact=False).value for x in places]
    )
    assert (np.diff(found) <= 1e-9).all()
    assert -np.diff(found).min() < 0.02
    assert found[-1] == 1 / 8


def test_ties_are_no_step():
    same = np.ones((5, 3))
    assert exchangeable_pvalue(same[0], same[1:], PLAIN, is_exact=False).value == 1.0


@pytest.mark.parametrize("G", [30, 39])
def test_between_the_ranks_the_level_is_attained(G):
    trials = 2000
    found = pvalues(np.random.default_rng(G), G, trials, is_exact=False)
    for level in (0.05, 0.1, 0.25):
        count = int((found <= level).sum())
        assert (
            binomial_bounds.at_least(trials, level)
            <= count
            <= binomial_bounds.at_most(trials, level)
        )
    ranks = pvalues(np.random.default_rng(G), G, trials)
    attainable = int(0.05 * (G + 1)) / (G + 1)
    assert int((ranks <= 0.05).sum()) <= binomial_bounds.at_most(trials, attainable)
