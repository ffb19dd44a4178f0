"""Parts among exchangeable parts: the definition, the level of all columns together, laws beyond the ranks."""

import binomial_bounds
import numpy as np
import pytest

from hld.gchi2.three_moments import ThreeMoments
from hld.laws.exchangeable import normal_tail, ranked_parts

PARTS = [np.array([0]), np.array([1, 2, 3]), np.array([4, 5]), np.array([6])]


def groups(rng, N):
    """(N, 7) means of groups: columns of different scales, heavy tails, and one cause of them all."""
    cause = rng.standard_t(3, size=(N, 1))
    return (cause + rng.standard_t(4, size=(N, 7))) * np.array([1, 0.1, 0.3, 0.2, 10, 1, 0])


def test_the_p_values_are_the_ranks_that_the_module_defines():
    rng = np.random.default_rng(0)
    together = groups(rng, 13)
    together[0, 4] += 80
    tails = []
    for part in PARTS:
        x = together[:, part] - together[:, part].mean(axis=0)
        values = np.maximum(np.linalg.eigvalsh(x.T @ x / 12), 0)
        law = ThreeMoments(values.sum(), (values**2).sum(), values.max())
        tails.append([float(law.tail(one @ one)) for one in x] if values.any() else [1.0] * 13)
    single = [sum(t <= own[0] * (1 + 1e-9) for t in own) / 13 for own in tails]
    least = [min(own[g] for own in tails) for g in range(13)]
    adjusted = [sum(t <= own[0] * (1 + 1e-9) for t in least) / 13 for own in tails]
    found = ranked_parts(together[0], together[1:], PARTS)
    np.testing.assert_allclose(found, [single, adjusted], rtol=1e-12)
    assert found[:, 2].tolist() == [1 / 13] * 2
    assert found[:, 3].tolist() == [1, 1]  # what does not vary


@pytest.mark.parametrize("G", [5, 19, 99])
def test_unmoved_columns_are_called_at_the_level_whatever_the_others_do(G):
    rng, trials = np.random.default_rng(G), 250
    for away in (0.0, 200.0):
        called, alone, hit = 0, 0, 0
        for _ in range(trials):
            together = groups(rng, G + 1)
            together[0, PARTS[2]] += away
            single, adjusted = ranked_parts(together[0], together[1:], PARTS)
            unmoved = [0, 1, 3] if away else [0, 1, 2, 3]
            called += adjusted[unmoved].min() <= 0.05
            alone += single[0] <= 0.05
            hit += adjusted[2] <= 0.05
        rate = int(0.05 * (G + 1)) / (G + 1)
        assert called <= binomial_bounds.at_most(trials, rate)
        assert (
            binomial_bounds.at_least(trials, rate) <= alone <= binomial_bounds.at_most(trials, rate)
        )
        assert not away or hit >= (0.9 * trials if rate else 0)


def test_beyond_the_ranks_of_many_groups_the_law_of_normal_groups_goes_on():
    rng = np.random.default_rng(1)
    others = rng.normal(size=(150, 7))
    own = np.full(7, 0.1)
    own[1:4] += 6
    found = ranked_parts(own, others, PARTS)
    law = normal_tail(own[1:4], others[:, 1:4])
    np.testing.assert_allclose(
        found[:, 1], [law, 4 * law], rtol=1e-12
    )  # products of other blocks, rounded elsewhere
    assert law < 1e-6
    assert (found[:, [0, 2, 3]] > 0.05).all()
    assert ranked_parts(own, others[:99], PARTS)[:, 1].tolist() == [1 / 100] * 2
