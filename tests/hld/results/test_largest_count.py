"""The largest difference of a single count: by enumeration and SciPy, its level exactly, and what it finds."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from hld.answers.profile import Profile, profile_of
from hld.witnesses.largest_count import SHARE, LargestCount, largest_count

EDGES = np.zeros((0, 2), dtype=np.int64)


def profile(rows, sizes):
    return profile_of(np.asarray(rows), sizes, EDGES)


def by_hand(kept, batch, sizes, ordered):
    """The smallest p-value of all categories and cuts, and the chance that any is as small, at most, by SciPy."""
    found, laws = [], []
    for v in range(len(sizes)):
        a, b = (rows[rows[:, v] >= 0, v] for rows in (kept, batch))
        filled = sorted({*a.tolist(), *b.tolist()})
        cuts = [range(c + 1) for c in filled[:-1]] if v in ordered else []
        singles = [
            [c]
            for c in (filled[1:-1] if v in ordered else filled[:1] if len(filled) == 2 else filled)
        ]
        for counted in (*cuts, *singles):
            before, now = (np.isin(one, counted).sum() for one in (a, b))
            if 0 < before + now < len(a) + len(b) and len(a) and len(b):
                law = hypergeom(len(a) + len(b), before + now, len(b))
                j = np.arange(min(before + now, len(b)) + 1)
                values = np.minimum(1.0, 2 * np.minimum(law.sf(j - 1), law.cdf(j)))
                found.append(values[now])
                laws.append((values, law.pmf(j)))
    return min(found), sum(
        chances[values <= min(found) * (1 + 1e-9)].sum() for values, chances in laws
    )


@pytest.mark.parametrize("seed", range(12))
def test_it_is_the_chance_of_as_small_a_pvalue_anywhere(seed):
    rng = np.random.default_rng(seed)
    sizes, ordered = (2, 5, 3, 4), (1, 3)
    kept, batch = (rng.integers(-1, sizes, size=(count, 4)) for count in (60, 25))
    batch[:, seed % 4] = rng.integers(0, 2, size=25)
    smallest, chance = by_hand(kept, batch, sizes, ordered)
    found = largest_count(profile(kept, sizes), profile(batch, sizes), ordered)
    assert found.pvalue == pytest.approx(min(1.0, chance), rel=1e-9)
    assert smallest < found.pvalue
    assert found.share == SHARE
    assert found.column in ordered or not found.is_cut


@pytest.mark.parametrize("ordered", [(), (0, 1, 2)])
def test_categories_that_no_row_has_change_nothing(ordered):
    rng = np.random.default_rng(3)
    kept, batch = (rng.integers(0, (2, 3, 4), size=(n, 3)) for n in (50, 20))
    found = largest_count(profile(kept, (2, 3, 4)), profile(batch, (2, 3, 4)), ordered)
    for sizes, moved in (
        ((3, 4, 5), 0),
        ((3, 5, 9), 1),
    ):  # at the end, as unseen levels, and before the others
        other = largest_count(profile(kept + moved, sizes), profile(batch + moved, sizes), ordered)
        assert other.pvalue == found.pvalue
        assert (other.column, other.category - moved) == (found.column, found.category)


@pytest.mark.parametrize(
    "T", [4 * 10**9, 5 * 10**9, 10**11]
)  # T times the rows in a category is beyond 2^63
def test_of_billions_of_rows_the_held_out_ones_are_a_sample(T):
    kept, batch = (
        Profile(n, (np.array([k, n - k, 0]),), EDGES, ())
        for n, k in ((10_000, 5_000), (T, T // 20 * 9))
    )
    found = largest_count(kept, batch)
    assert found.pvalue == pytest.approx(
        2 * binom.sf(4_999, 10_000, (5_000 + T // 20 * 9) / (10_000 + T)), rel=1e-3
    )


def test_the_level_is_kept_exactly_over_all_ways_to_divide_the_rows():
    """Three columns that go together; every division of nine rows into five kept and four of a batch is as likely."""
    rows, sizes = np.random.default_rng(0).integers(0, (2, 3, 4), size=(9, 3)), (2, 3, 4)
    pvalues = []
    for chosen in itertools.combinations(range(9), 4):
        is_batch = np.isin(np.arange(9), chosen)
        pvalues.append(
            largest_count(
                profile(rows[~is_batch], sizes), profile(rows[is_batch], sizes), (2,)
            ).pvalue
        )
    assert len(pvalues) == math.comb(9, 4)
    for level in set(pvalues):
        assert np.mean(np.array(pvalues) <= level) <= level * (1 + 1e-9)  # equality is possible


def test_nothing_to_compare():
    same = profile(np.zeros((5, 2), int), (2, 2))
    assert largest_count(same, same) == LargestCount(pvalue=1.0, share=0.0)
    missing = profile(np.full((5, 1), -1), (2,))
    assert largest_count(missing, profile([[0], [1]], (2,))).share == 0.0
