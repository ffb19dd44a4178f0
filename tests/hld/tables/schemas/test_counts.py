"""The test of missing values: its tails by enumeration and by SciPy, its level exactly, and what it finds."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

import hld
from hld.tables.schemas.counts import (
    MISSING_SHARE,
    MOST_VALUES,
    NEW_SHARE,
    SLACK,
    KeptValues,
    compare_missing,
    compare_new,
    hypergeometric_tail,
    smallest_law,
)
from hld.witnesses.witnesses import combined


def test_tails_by_counting_all_draws():
    for N, K, T in itertools.product(range(1, 8), range(8), range(8)):
        if K > N or T > N:
            continue
        counts = [sum(ball < K for ball in drawn) for drawn in itertools.combinations(range(N), T)]
        for j in range(-1, T + 2):
            assert hypergeometric_tail(N, K, T, j) == pytest.approx(
                np.mean([c >= j for c in counts]), rel=1e-13
            )


@pytest.mark.parametrize(
    ("N", "K", "T"),
    [
        (1000, 100, 50),
        (10**6, 10**5, 10**4),
        (10**6, 3, 500_000),
        (50_000, 49_000, 30_000),
        (2 * 10**6, 10**6, 10**6),
    ],
)
def test_tails_of_many_rows_are_those_of_scipy(N, K, T):
    mean, std = hypergeom.stats(N, K, T, moments="m")[()], hypergeom.std(N, K, T)
    for z in (-6, -2, 0, 1, 3, 6):
        j = int(mean + z * std)
        assert hypergeometric_tail(N, K, T, j) == pytest.approx(
            hypergeom.sf(j - 1, N, K, T), rel=1e-8
        )


@pytest.mark.parametrize(("n", "T", "K"), [(40, 12, 7), (30, 30, 1), (100, 5, 60), (9, 1, 3)])
def test_the_level_is_kept_exactly_given_the_holes(n, T, K):
    """P(p <= a) = a over the whole law of the holes of a batch, at every level below 1 that there is."""
    js = range(max(0, K - n), min(K, T) + 1)
    chances = [math.comb(K, j) * math.comb(n + T - K, T - j) / math.comb(n + T, T) for j in js]
    pvalues = [compare_missing(n, [K - j], T, [j]).pvalue for j in js]
    assert sum(chances) == pytest.approx(1)
    for level in pvalues:
        total = sum(c for c, p in zip(chances, pvalues, strict=True) if p <= level)
        assert total == pytest.approx(level, rel=1e-9) or level == 1.0


def test_the_combined_level_is_the_sum_of_its_parts():
    found = compare_missing(100, [10, 0, 20], 50, [5, 0, 10])
    assert found.share == MISSING_SHARE
    assert combined(0.9 * 0.04, found) == pytest.approx(0.9 * 0.04 + found.attained(0.1 * 0.04))
    assert 0 < found.attained(0.1 * 0.04) <= 0.1 * 0.04
    assert found.pvalue <= min(1.0, 2 * min(found.pvalues[0], found.pvalues[2])) * (
        1 + 1e-9
    )  # of two columns
    assert found.pvalues[1] == 1.0
    assert combined(0.3, compare_missing(100, [0, 0], 50, [0, 0])) == 0.3
    assert combined(0.9, compare_missing(100, [100], 50, [50])) == 0.9  # all are missing


def test_a_column_that_is_suddenly_missing_is_found_in_either_direction():
    assert combined(0.7, compare_missing(1000, [3], 50, [50])) < 1e-50
    assert combined(0.7, compare_missing(1000, [990], 50, [0])) < 1e-50
    assert combined(0.7, compare_missing(50_000_000, [5_000_000], 50_000_000, [5_000_100])) > 0.1
    assert combined(0.7, compare_missing(50_000_000, [5_000_000], 50_000_000, [5_100_000])) < 1e-50


@pytest.mark.parametrize("count", [7_200, 12_800])
def test_a_share_is_as_usual_where_as_many_rows_as_moved_it_are_others(count):
    found = compare_missing(100_000, [10_000], 100_000, [count])
    assert found.after(0) == found.pvalue < 1e-50
    assert found.after(2_000) < found.after(2_500) < 1
    assert found.after(2_800) == 1.0


def test_one_row_of_many_is_as_usual():
    """Of one row against 9,999, of which one has a hole, no hole is not one: p = 1, not 0.0001."""
    assert compare_missing(9999, [1], 1, [0]).pvalue == 1.0
    assert compare_missing(9999, [9998], 1, [1]).pvalue == 1.0


def kept(shown, new):
    return KeptValues(np.array(shown), np.array(new))


@pytest.mark.parametrize(
    ("k", "T", "totals"), [(40, 12, (3, 0, 9)), (10, 30, (1, 2)), (500, 1, (4, 4, 4))]
)
def test_the_level_is_kept_exactly_given_the_totals(k, T, totals):
    """P(p <= a) <= a over the law of independent columns, at every level that there is."""
    laws = [
        [
            (h, math.comb(K, h) * math.comb(k + T - K, T - h) / math.comb(k + T, T))
            for h in range(max(0, K - k), min(K, T) + 1)
        ]
        for K in totals
    ]
    outcomes = []
    for one in itertools.product(*laws):
        found = compare_new(
            kept([k] * len(totals), [K - h for K, (h, _) in zip(totals, one, strict=True)]),
            [T] * len(totals),
            [h for h, _ in one],
        )
        assert found.share == NEW_SHARE
        outcomes.append((found.pvalue, math.prod(chance for _, chance in one)))
    assert sum(chance for _, chance in outcomes) == pytest.approx(1)
    for level, _ in outcomes:
        assert sum(chance for p, chance in outcomes if p <= level) <= level * (1 + 1e-12)


def test_new_values_are_as_usual_where_as_many_rows_as_have_them_are_others():
    found = compare_new(kept([10_000], [100]), [10_000], [300])
    assert found.after(0) == found.pvalue < 1e-20
    assert found.after(150) < 0.05 < found.after(200) == 1.0


def frame(N, seed):
    """A log-normal amount, a count, and words of which a few are rare."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{i}" for i in range(30)], dtype=object)
    return pd.DataFrame(
        {
            "amount": rng.lognormal(size=N),
            "count": rng.poisson(30, size=N),
            "word": words[np.minimum(rng.geometric(0.2, size=N) - 1, 29)],
        }
    )


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(num_latents=2, num_epochs=5, num_resamples=99).fit(frame(1000, 0))


@pytest.mark.parametrize("name", ["word", "count", "amount"])
def test_an_unseen_value_in_a_fifth_of_fifty_rows_is_found_in_every_batch(detector, name):
    for seed in range(5):
        batch = frame(50, 200 + seed).astype({name: object})
        batch.loc[np.random.default_rng(seed).permutation(50)[:10], name] = (
            "other" if name == "word" else 1e9
        )
        result = detector.test(batch)
        assert result.pvalue < 1e-6
        found = next(column for column in result.data_quality.columns if column.name == name)
        assert found.new_pvalue < 1e-8
        assert result.to_dict()["data_quality"]["new_values"]["share_of_level"] == NEW_SHARE


def test_what_is_not_tested():
    table = frame(60, 0)
    batch = frame(30, 1).assign(amount=1e9)
    off = hld.HLDDetector(num_latents=1, num_epochs=1, num_resamples=19, missingness=False).fit(
        table
    )
    assert off.test(batch).data_quality.new_values is None
    learned = hld.HLDDetector(
        num_latents=1, num_epochs=1, num_resamples=19, reference="circuit"
    ).fit(table)
    assert learned.new_values_ is None
    assert learned.test(batch).data_quality.new_values is None


@pytest.mark.parametrize(
    "arrays",
    [
        {"shown": np.array([3, 3]), "new": np.array([4, 0])},
        {"shown": np.array([3.0, 3.0]), "new": np.array([0.0, 0.0])},
        {"shown": np.array([3]), "new": np.array([0])},
        {"shown": np.array([9, 3]), "new": np.array([0, 0])},
        {"shown": np.array([3, 3]), "new": np.array([-1, 0])},
    ],
)
def test_counts_of_a_file_that_do_not_fit_are_refused(arrays):
    with pytest.raises(ValueError, match=r"counts of new values|array 'shown'"):
        KeptValues.from_arrays(arrays, 2, 5)


ROUNDING = 1 + 1e-12


def by_scipy(N, K, T, is_two_sided):
    """Values of the p-value of one test and their probabilities."""
    j = np.arange(max(0, K + T - N), min(K, T) + 1)
    law = hypergeom(N, K, T)
    upper = law.sf(j - 1)
    return (np.minimum(1.0, 2 * np.minimum(upper, law.cdf(j))) if is_two_sided else upper), law.pmf(
        j
    )


MARGINS = st.integers(2, 60).flatmap(
    lambda N: st.tuples(st.just(N), st.integers(0, N), st.integers(1, N - 1))
)


@given(st.lists(MARGINS, min_size=1, max_size=6), st.booleans())
def test_it_adds_up_what_each_test_attains(margins, is_two_sided):
    law = smallest_law(*zip(*margins, strict=True), is_two_sided=is_two_sided)
    laws = [by_scipy(*one, is_two_sided) for one in margins]
    for q in {round(float(q), 14) for values, _ in laws for q in values if q < 1 - 1e-3}:
        near = sum(float(chances[values <= q * (1 + 2 * SLACK)].sum()) for values, chances in laws)
        expected = sum(float(chances[values <= q * (1 + 1e-9)].sum()) for values, chances in laws)
        assert (
            expected * (1 - 1e-9) <= law.pvalue(q) <= near * (1 + 1e-9)
            or law.pvalue(q) == 1.0 <= expected * 1.001
        )
        assert law.pvalue(q) <= q * len(margins) * (1 + 3 * SLACK)
        reached = law.attained(law.pvalue(q))
        assert reached == pytest.approx(law.pvalue(q), rel=4 * SLACK) or law.pvalue(q) == 1.0


def test_the_level_is_kept_over_all_draws_of_dependent_columns():
    """Twelve rows with five columns that go together, five of them drawn: every p-value that occurs is a level kept."""
    rng = np.random.default_rng(1)
    first = rng.random((12, 1)) < 0.3
    rows = first ^ (rng.random((12, 5)) < 0.2)
    K = rows.sum(axis=0)
    law = smallest_law([12] * 5, K, [5] * 5)
    each = [
        dict(zip(range(max(0, k - 7), min(k, 5) + 1), by_scipy(12, k, 5, True)[0], strict=True))
        for k in K
    ]
    found = []
    for chosen in itertools.combinations(range(12), 5):
        j = rows[list(chosen)].sum(axis=0)
        found.append(law.pvalue(min(values[count] for values, count in zip(each, j, strict=True))))
    found = np.array(found)
    assert len(found) == math.comb(12, 5)
    assert found.min() < 0.5
    for level in set(found.tolist()):
        assert np.mean(found <= level) <= level * ROUNDING
        assert np.mean(found <= level) <= law.attained(level) * ROUNDING or level == 1.0


def test_what_cannot_be_reached_is_not_attained():
    single = smallest_law(
        [31] * 20, [3] * 20, [1] * 20
    )  # one row and thirty others: q is 3 / 31 or more than 1
    assert single.attained(0.5) == 0.0
    assert single.attained(60 / 31 * ROUNDING) == pytest.approx(60 / 31)
    assert single.pvalue(0.09) == 0.0
    assert smallest_law([10], [0], [5]).attained(0.9) == 0.0
    assert smallest_law([10], [0], [5]).pvalue(1.0) == 1.0


def test_tests_with_many_values_reach_every_level():
    law = smallest_law([1000, 1000, 500], [300, 400, 1], [200, 200, 50])
    assert law.num_dense == 2
    assert law.pvalue(0.01) == pytest.approx(0.02)
    assert law.attained(0.02) == pytest.approx(0.02)
    # from q = 2 * 0.1 the third test adds its probability of a tenth: just below it is the most that 0.45 reaches
    assert law.pvalue(0.2) == pytest.approx(2 * 0.2 + 0.1)
    assert law.attained(0.45) == pytest.approx(0.4)
    assert law.attained(0.55) == pytest.approx(0.55)


@pytest.mark.parametrize(
    ("N", "K", "T"),
    [
        (10**9, 40, 5 * 10**8),
        (10**9, 10**9 - 7, 10**3),
        (10**6, 1, 1),
        (10**7, 4 * 10**6, 40),
        (10**7, 9 * 10**6, 10**7 - 12),
    ],
)
def test_large_margins_are_those_of_scipy(N, K, T):
    assert min(K, N - K, T, N - T) <= MOST_VALUES
    values, chances = by_scipy(N, K, T, False)
    law = smallest_law([N], [K], [T], is_two_sided=False)
    for q in values[(values < 1 - 1e-3) & (values > 1e-250)][::3]:
        assert law.pvalue(float(q)) == pytest.approx(
            float(chances[values <= q * ROUNDING].sum()), rel=1e-6
        )
