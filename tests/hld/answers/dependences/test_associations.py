"""Mean associations along edges: p-values without a shift, and the noncentrality of what is lost."""

import numpy as np
import pytest
from binomial_bounds import at_least, at_most

from hld.answers.dependences.associations import (
    are_opposed,
    associations_in,
    changes_of_associations,
)
from hld.answers.profile import Profile

SHARES = np.array([[0.3, 0.05, 0.05], [0.02, 0.2, 0.08], [0.05, 0.05, 0.2]])
ASSOCIATION = np.log(SHARES / np.outer(SHARES.sum(axis=1), SHARES.sum(axis=0)))


def profile(counts, kept=False):
    """A profile of one edge."""
    own = tuple(np.append(counts.sum(axis=axis), 0) for axis in (1, 0))
    return Profile(
        int(counts.sum()),
        own,
        np.array([[0, 1]]),
        (counts,),
        associations=(ASSOCIATION,) if kept else None,
    )


def drawn(n, shares, rng):
    """Counts of n rows."""
    return rng.multinomial(n, shares.ravel()).reshape(shares.shape)


def test_the_differences_are_those_of_single_rows(rng):
    r, b = drawn(200, SHARES, rng), drawn(40, SHARES, rng)
    rows, batch = (np.repeat(ASSOCIATION.ravel(), counts.ravel()) for counts in (r + b, b))
    found = associations_in(profile(r, True), profile(b))
    assert found.difference == pytest.approx(batch.mean() - rows.mean())
    assert found.deviation == pytest.approx(rows.std())
    assert found.varies.all()


@pytest.mark.parametrize("T", [10, 60, 400])
def test_p_values_are_small_as_often_as_they_should_and_where_a_dependence_is_lost_as_often_as_said(
    T, rng
):
    """The second by the power of a normal statistic with the mean noncentrality, within a tenth of the batches."""
    from scipy.special import chndtr

    trials, n, small, lost, said = 400, 500, 0, 0, []
    alone = np.outer(SHARES.sum(axis=1), SHARES.sum(axis=0))
    for _ in range(trials):
        kept = profile(drawn(n, SHARES, rng), True)
        small += changes_of_associations(kept, profile(drawn(T, SHARES, rng)))[0][1] <= 0.05
        _, pvalue, noncentrality = changes_of_associations(kept, profile(drawn(T, alone, rng)))[0]
        lost += pvalue <= 0.05
        said.append(noncentrality)
    assert small <= at_most(trials, 0.07)  # at the smallest T the law is not yet normal
    power = 1 - float(chndtr(3.8415, 1, float(np.mean(said))))
    assert at_least(trials, max(power - 0.1, 0.0)) <= lost <= at_most(trials, min(power + 0.1, 1.0))


def test_independent_values_are_hardly_ever_said_to_be_opposed_and_exchanged_ones_are(rng):
    """The values of the first column were exchanged for one another."""
    trials, alone = 400, np.outer(SHARES.sum(axis=1), SHARES.sum(axis=0))
    for T in (15, 100):
        assert sum(
            are_opposed(ASSOCIATION, drawn(T, alone, rng)) for _ in range(trials)
        ) <= at_most(trials, 0.01)
        assert sum(are_opposed(ASSOCIATION, drawn(T, SHARES, rng)) for _ in range(trials)) == 0
    other = np.roll(SHARES, 1, axis=0)
    assert sum(are_opposed(ASSOCIATION, drawn(100, other, rng)) for _ in range(trials)) >= at_least(
        trials, 0.99
    )
    assert not are_opposed(ASSOCIATION, np.zeros((3, 3), dtype=int))
    assert not are_opposed(np.zeros((3, 3)), drawn(20, SHARES, rng))


def test_what_cannot_be_compared_is_left_out():
    none, some = np.zeros((3, 3), dtype=int), np.full((3, 3), 5)
    assert changes_of_associations(profile(some, True), profile(none)) == []
    assert changes_of_associations(profile(some), profile(some)) == []
    single = np.diag([20, 0, 0])
    assert changes_of_associations(profile(single, True), profile(single)) == []
