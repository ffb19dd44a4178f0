"""Values beyond the range: the count's p-value by enumeration, its level, and what the detector makes of it."""
import itertools
from fractions import Fraction

import numpy as np
import pytest

import hld
from hld.references.outside import WEIGHT, OutsideCounts


@pytest.mark.parametrize(("h", "h0", "T", "k"), [(1, 0, 2, 4), (2, 1, 3, 4), (3, 0, 3, 3), (2, 2, 2, 5)])
def test_the_pvalue_counts_the_ways_to_divide_the_rows(h, h0, T, k):
    outside = [True] * (h + h0) + [False] * (T + k - h - h0)
    ways = [sum(outside[i] for i in batch) >= h for batch in itertools.combinations(range(T + k), T)]
    kept = OutsideCounts(np.array([1]), np.array([h0]), np.array([k]))
    assert kept.pvalue(np.array([9, h]), np.array([9, T])) == pytest.approx(float(Fraction(sum(ways), len(ways))))


def test_the_level_holds_for_any_law_and_several_columns():
    rng, found = np.random.default_rng(0), []
    for _ in range(2000):
        rows = rng.standard_cauchy((90, 3)).round(1)                      # 40 learned from, 30 kept, 20 of a batch
        low, high = rows[:40].min(axis=0), rows[:40].max(axis=0)
        beyond = (rows < low) | (rows > high)
        kept = OutsideCounts(np.arange(3), beyond[40:70].sum(axis=0), np.full(3, 30))
        found.append(kept.pvalue(beyond[70:].sum(axis=0), np.full(3, 20)))
    for alpha in (0.05, 0.2):
        assert np.mean(np.array(found) <= alpha) <= alpha + 3.3 * np.sqrt(alpha * (1 - alpha) / 2000)


def test_nothing_outside_costs_a_fiftieth_and_no_continuous_column_nothing():
    kept = OutsideCounts(np.array([0]), np.array([0]), np.array([50]))
    assert kept.joined(0.49, np.array([0]), np.array([10])) == pytest.approx(0.49 / (1 - WEIGHT))
    none = OutsideCounts(*np.zeros((3, 0), np.int64))
    assert none.joined(0.5, np.array([7]), np.array([10])) == 0.5


def test_a_top_decile_a_million_times_too_large_is_found_and_files_know(tmp_path):
    rng = np.random.default_rng(1)
    table = rng.lognormal(size=(900, 2))
    detector = hld.HLDDetector(num_epochs=3, num_latents=2, num_resamples=99).fit(table[:800])
    calm, wild = table[800:860], table[800:860].copy()
    wild[wild[:, 0] > np.quantile(table[:, 0], 0.9), 0] *= 1e6
    assert detector.test(calm).pvalue > 0.01
    assert detector.test(wild).pvalue < 0.001
    detector.save(tmp_path / "model.hld")
    assert hld.load(tmp_path / "model.hld").test(wild).pvalue == detector.test(wild).pvalue


def test_counts_of_a_file_must_fit_columns_and_rows():
    columns = hld.fit_encoder(np.random.default_rng(0).normal(size=(20, 2))).columns
    kept = OutsideCounts(np.array([0, 1]), np.array([1, 0]), np.array([9, 9]))
    assert OutsideCounts.from_arrays(kept.to_arrays(), columns, 9).to_arrays().keys() == kept.to_arrays().keys()
    for name, wrong in (("columns", [1, 0]), ("outside", [10, 0]), ("outside", [-1, 0]), ("shown", [9, 10]),
                        ("shown", [9]), ("outside", [1.0, 0.0])):
        with pytest.raises(ValueError, match="whole numbers, one for each continuous column"):
            OutsideCounts.from_arrays(kept.to_arrays() | {name: np.array(wrong)}, columns, 9)
