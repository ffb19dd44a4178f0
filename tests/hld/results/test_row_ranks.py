"""Odd rows: the test is exact, extreme rows are found, and marks and edges are what they say."""

from itertools import combinations

import numpy as np
import pytest
from binomial_bounds import at_most

import hld
import pcircuit
from hld.features.odd_rows import excess, log_typicality, odd_edges
from hld.features.row_scores import BINS
from hld.witnesses.row_ranks import rank_test


def counted(bins):
    return np.bincount(bins, minlength=BINS)


@pytest.mark.parametrize("T", [1, 3, 5])
def test_the_level_is_kept_over_all_ways_to_divide_the_rows(T):
    """Every choice of the batch among eleven rows is as likely as any other; one row does not show the number."""
    bins = np.array([0, 0, 0, 1, 1, 2, 3, 5, 5, 9, BINS - 1])
    found = []
    for some in combinations(range(len(bins)), T):
        inside = np.isin(np.arange(len(bins)), some)
        one = rank_test(counted(bins[~inside]), counted(bins[inside]), 0.1)
        found.append((one.pvalue, float(one.attained(0.2)) if one.share else 0.0))
    pvalues, attained = np.array(found).T
    for level in np.unique(pvalues[pvalues < 1]):
        assert (pvalues <= level).mean() <= level * (1 + 1e-12)
    assert (pvalues <= 0.2).mean() <= attained.max() <= 0.2 * (1 + 1e-5)


def test_one_row_beyond_all_has_the_rank_of_the_largest_and_nothing_is_odd_below():
    kept = counted(np.zeros(99, int))
    far = rank_test(kept, counted(np.array([3])), 0.1)
    assert far.pvalue == pytest.approx(1 / 100)
    assert far.after(1) == 1
    assert rank_test(kept + counted(np.array([3])), counted(np.array([0])), 0.1).pvalue == 1
    assert rank_test(kept, counted(np.full(4, BINS - 1)), 0.1).share == 0  # no row shows it
    several = rank_test(kept, counted(np.array([0] * 7 + [3, 3, 3])), 0.1)
    assert several.counts.j.tolist() == [3]
    assert several.pvalue == pytest.approx(10 * 9 * 8 / (109 * 108 * 107))


def test_edges_halve_the_upper_tail_and_go_on_beyond_it(rng):
    values = rng.normal(size=4096)
    edges = odd_edges(values)
    assert (np.diff(edges) > 0).all()
    assert len(edges) <= BINS - 2
    for k in range(1, 10):
        share = (values > edges[:, None]).mean(axis=1)
        assert np.abs(np.log2(share[share > 0]) + k).min() < 0.25
    assert (edges > values.max()).sum() >= 12
    assert odd_edges(np.zeros(9)).tolist()[:3] == [0.375, 0.75, 1.5]  # rows that do not differ
    assert len(odd_edges(np.full(3, np.nan))) == 0


TABLE = {"price": [float(i) for i in range(400)], "count": [i % 5 for i in range(400)]}


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(num_latents=1, num_epochs=2, rng=0).fit(TABLE)


def test_marks_say_how_far_numbers_lie_beyond_the_range(detector):
    column = detector.encoder_.columns[0]
    low, high, below, above = column.ends
    assert (low, high) == (column.low, column.high)
    cells = [high, high + above / 2, high + 3 * above, low - 100 * below, np.inf, np.nan, low]
    marks = np.zeros((7, 2), np.uint8)
    table = {"price": cells, "count": [4, 5, 4 + 2 * 4 / 6, -40, 4, 4, 2**40]}
    codes, _, _, _ = detector.encoder_.encode_counting(table, marks)
    expected = [[0, 0], [0.5, 2], [4, 2], [128, 64], [2**29, 0], [0, 0], [0, 2**29]]
    assert excess(codes, marks).tolist() == expected
    plain = hld.HLDDetector(num_latents=1, num_epochs=1).fit(np.arange(300).reshape(-1, 3) % 5)
    marks = np.zeros((2, 3), np.uint8)
    codes = plain.encoder_.encode(np.array([[4, 4, 4], [0, 6, 44]]), marks=marks)[0]
    assert excess(codes, marks).tolist() == [[0, 0, 0], [0, 4, 64]]


def test_scores_of_rows_fall_with_the_distance_from_the_range(detector):
    column = detector.encoder_.columns[0]
    inside, near, far = (
        {"price": [x], "count": [2]}
        for x in (column.high, column.high + column.ends[3], column.high + 1000)
    )
    scores = [float(detector.score_samples(one)[0]) for one in (inside, near, far)]
    codes = detector.encoder_.encode(inside)[0]
    assert scores[0] == log_typicality(detector.circuit_, codes)[0]
    assert scores[0] == pcircuit.log_likelihood(detector.circuit_, codes)[0]
    assert scores[1] == pytest.approx(scores[0] - 1)
    assert scores[2] < scores[1] - 5
    assert detector.predict(far)[0] == -1


def test_a_single_gross_error_is_found_in_a_batch_of_one_and_several_in_more():
    rng, false = np.random.default_rng(0), 0
    table = rng.normal(size=(1200, 4))
    detector = hld.HLDDetector(num_latents=2, num_epochs=5, rng=0).fit(table)
    for _ in range(60):
        false += detector.test(rng.normal(size=(20, 4))).reject
    assert false <= at_most(60, 0.05)
    far = rng.normal(size=(20, 4))
    far[:3, 1] = 60.0
    for rows in (far[:1], far):
        found = detector.test(rows)
        assert found.reject
        assert found.witnesses["magnitude"].pvalue < 0.01
        assert "odd by their magnitude" in str(found)
    assert 0 < found.effect_interval[0] < 0.15
    assert detector.test(far[3:]).witnesses["magnitude"].pvalue > 0.05
    parts = hld.judge_chunks(detector, [far[:7], far[7:]])
    assert parts.pvalue == found.pvalue
