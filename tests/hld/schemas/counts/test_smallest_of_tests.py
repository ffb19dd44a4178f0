"""The smallest p-value of several exact tests: by enumeration of all draws, its level, large margins."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from hld.schemas.counts.smallest_of_tests import MOST_VALUES, SLACK, smallest_law

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
    found = []
    for chosen in itertools.combinations(range(12), 5):
        j = rows[list(chosen)].sum(axis=0)
        each = [
            dict(zip(range(max(0, k - 7), min(k, 5) + 1), by_scipy(12, k, 5, True)[0], strict=True))
            for k in K
        ]
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
    for q in values[(values < 1 - 1e-3) & (values > 1e-250)]:
        assert law.pvalue(float(q)) == pytest.approx(
            float(chances[values <= q * ROUNDING].sum()), rel=1e-6
        )
