"""Mean associations along edges: p-values without a shift, and the noncentrality of what is lost."""

from types import SimpleNamespace

import numpy as np
import pytest
from binomial_bounds import at_least, at_most

import hld
from hld.answers.dependences import (
    associations_in,
    changes_of_associations,
    likeliest_first,
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


def test_what_cannot_be_compared_is_left_out():
    none, some = np.zeros((3, 3), dtype=int), np.full((3, 3), 5)
    assert changes_of_associations(profile(some, True), profile(none)) == []
    assert changes_of_associations(profile(some), profile(some)) == []
    single = np.diag([20, 0, 0])
    assert changes_of_associations(profile(single, True), profile(single)) == []


TRIALS = 10


def star(n, rng):
    """A hub that four columns depend on, the last of them a little, and a column by itself."""
    hub = rng.integers(0, 3, n)
    leaves = [
        np.where(rng.random(n) < kept, hub, rng.integers(0, 3, n))
        for kept in (0.85, 0.8, 0.75, 0.15)
    ]
    return np.column_stack([hub, *leaves, rng.integers(0, 3, n)])


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(categorical=range(6), num_epochs=8, rng=0).fit(
        star(3000, np.random.default_rng(0))
    )


@pytest.mark.parametrize("moved", [0, 2])
def test_a_permuted_column_comes_before_those_that_it_depended_on(detector, moved):
    """Hub and leaves: of 10 batches the permuted column is first in at least so many as a share of 0.95 gives."""
    rng, first = np.random.default_rng([1, moved]), 0
    for _ in range(TRIALS):
        batch = star(300, rng)
        batch[:, moved] = rng.permutation(batch[:, moved])
        result = detector.test(batch)
        assert result.reject
        first += (
            result.columns[0].name == detector.encoder_.names[moved]
            or result.columns[0].adjusted <= result.alpha
        )
        assert sorted(one.name for one in result.columns) == sorted(detector.encoder_.names)
    assert first >= at_least(TRIALS, 0.95)


def column(name, pvalue):
    """Of a `ColumnShift` what is looked at."""
    return SimpleNamespace(name=name, pvalue=pvalue)


def pair(names, pvalue, strength, shape=(2, 2)):
    """Of a `PairShift` what is looked at."""
    return SimpleNamespace(
        names=names, pvalue=pvalue, expected=strength, expected_table=np.zeros(shape)
    )


def order(columns, pairs, num_rows=(1000, 200)):
    """Names in order."""
    return "".join(one.name for one in likeliest_first(tuple(columns), tuple(pairs), num_rows))


def test_a_strong_dependence_that_stayed_speaks_against_both_of_its_columns():
    columns = [column("a", 0.4), column("b", 0.5), column("c", 0.6)]
    changed = pair(("a", "b"), 1e-6, 0.6)
    assert order(columns, [changed, pair(("a", "c"), 0.7, 0.6)]) == "bac"
    assert (
        order(columns, [changed, pair(("a", "c"), 0.7, 0.0)]) == "abc"
    )  # nobody would see that it is lost
    assert (
        order(columns, [changed, pair(("a", "c"), 0.7, 0.6)], (1000, 2)) == "abc"
    )  # nor in two rows


def test_pairs_that_a_column_has_in_common_add_up():
    columns = [column(name, 0.5) for name in "abc"]
    assert order(columns, [pair(("a", "b"), 1e-4, 0.5), pair(("b", "c"), 1e-5, 0.5)]) == "bca"


def test_without_pairs_the_order_is_that_of_pvalues_and_extremes_are_finite():
    columns = [column("a", 0.0), column("b", 1e-20), column("c", 1.0)]
    assert order(columns, []) == "abc"
    assert order(columns[::-1], [pair(("a", "b"), 0.0, 1.0, (6, 6))], (10**12, 10**12)) == "abc"
    assert order([column("a", 0.3), column("b", 0.3)], [], (0, 1)) == "ab"


def test_a_column_that_moved_by_itself_may_keep_its_dependences():
    """A drift keeps the order of the rows: strong dependences that stayed do not outweigh the column's own p-value."""
    columns = [column("a", 0.2), column("b", 1e-4), column("c", 0.3)]
    assert order(columns, [pair((one, "b"), 0.6, 0.9) for one in "ac"])[0] == "b"


def test_associations_count_where_there_are_no_tables_and_less_beside_them():
    columns = tuple(column(name, p) for name, p in zip("abcd", (0.001, 0.3, 0.4, 0.5), strict=True))

    def names(pairs, pvalue):
        found = likeliest_first(columns, pairs, (300, 400), [(("c", "d"), pvalue, 50.0)])
        return "".join(one.name for one in found)

    stayed, changed = (pair(("d", "c"), 0.9, 0.5),), (pair(("d", "c"), 1e-6, 0.5),)
    assert names((), 1e-6) == names(changed, 1e-6) == names(changed, 0.9) == "cdab"
    assert names(stayed, 1e-6) == "cdab"  # a tenth of what it would count without the table
    assert names((), 1e-4) == "cdab"
    assert names(stayed, 1e-4)[0] == "a"
    assert names((), 0.9) == names(stayed, 0.9) == "abcd"


def test_a_weak_association_that_stayed_says_nothing():
    columns = tuple(column(name, p) for name, p in zip("abc", (0.4, 0.5, 0.6), strict=True))
    for noncentrality, expected in ((0.0, "abc"), (50.0, "bac")):
        found = likeliest_first(
            columns, (), (300, 400), [(("a", "b"), 1e-6, 50.0), (("a", "c"), 0.7, noncentrality)]
        )
        assert "".join(one.name for one in found) == expected
