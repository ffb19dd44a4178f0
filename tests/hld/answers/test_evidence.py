"""Which column comes first: the one that moved, by its frequencies, its range, or its dependence on others."""

from dataclasses import replace

import numpy as np
import pytest
from binomial_bounds import at_most

import hld
from hld.answers.column_shifts import column_shifts
from hld.answers.profile import profile_of
from hld.tables.schemas.counts import compare_new, kept_values
from hld.tables.schemas.learn_schema import fit_encoder


def chain(n, rng):
    """Six columns: three that depend on the first, and two by themselves, one of them of numbers."""
    hub = rng.integers(0, 3, n)
    noisy = [np.where(rng.random(n) < 0.85, hub, rng.integers(0, 3, n)) for _ in range(3)]
    return np.column_stack([hub, *noisy, rng.integers(0, 3, n), rng.normal(size=n).round(3)])


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(categorical=range(5), num_epochs=8, rng=0).fit(
        chain(2000, np.random.default_rng(0))
    )


def names(result):
    """Names of the columns in order, and of the first one by position."""
    return [one.name for one in result.columns]


def test_numbers_beyond_the_range_put_their_column_first(detector):
    batch = chain(300, np.random.default_rng(1))
    top = batch[:, 5] > np.quantile(batch[:, 5], 0.9)
    batch[top, 5] *= 10
    result = detector.test(batch)
    assert result.reject
    first = result.columns[0]
    assert first.name == detector.encoder_.names[5]
    assert first.adjusted < 1e-6
    assert first.beyond[1] > 0.08 > first.beyond[0]
    assert "beyond the training range" in first.describe()
    assert first.to_dict()["beyond_range"] == list(first.beyond)


@pytest.mark.parametrize("seed", range(2))
def test_a_column_that_only_lost_its_dependences_comes_first(detector, seed):
    rng = np.random.default_rng([2, seed])
    batch = chain(300, rng)
    batch[:, 0] = rng.permutation(batch[:, 0])
    result = detector.test(batch)
    assert result.reject
    assert names(result)[0] == detector.encoder_.names[0]
    assert min(one.adjusted for one in result.columns) > result.alpha  # by itself no column moved
    assert sorted(names(result)) == sorted(detector.encoder_.names)


def test_without_an_alarm_and_with_a_moved_column_the_order_is_that_of_pvalues(detector):
    calm = detector.test(chain(300, np.random.default_rng(3)))
    assert not calm.reject
    batch = chain(300, np.random.default_rng(4))
    batch[:150, 4] = 0
    batch[:, 0] = np.random.default_rng(5).permutation(batch[:, 0])
    moved = detector.test(batch)
    assert names(moved)[0] == detector.encoder_.names[4]
    for result in (calm, moved):
        assert [one.pvalue for one in result.columns] == sorted(
            one.pvalue for one in result.columns
        )


def test_pvalues_of_columns_with_two_tests_keep_their_level():
    """Numbers of a heavy tail: reference and batch have some beyond the training range in most of 250 tables."""
    rng, small, tested = np.random.default_rng(8), {0.05: 0, 0.01: 0}, 0
    for _ in range(250):
        encoder = fit_encoder(rng.standard_t(2, size=(100, 1)), continuous=[0])
        (kept, report), (batch, own) = (
            encoder.encode(rng.standard_t(2, size=(n, 1))) for n in (200, 60)
        )
        reference, seen = (profile_of(codes, encoder.num_categories, []) for codes in (kept, batch))
        before, now = kept_values(kept, report), int(own.num_out_of_range[0])
        is_tested = bool(now + before.new[0])
        more = compare_new(before, [60], [now]).pvalues if is_tested else ()
        counts = [(reference.counts[0], seen.counts[0])]
        (shift,) = column_shifts(encoder.columns, counts, None, [(more, None)])
        tested += is_tested
        for level in small:
            small[level] += shift.pvalue <= level
    assert tested > 125
    assert all(count <= at_most(250, level) for level, count in small.items())


@pytest.mark.parametrize("policy", ["keep", "missing"])
def test_values_that_count_as_missing_are_new_as_well(policy):
    table = chain(600, np.random.default_rng(9))
    schema = (
        hld.learn_schema(table, categorical=range(5))
        .replace("x5", policy=policy)
        .replace("x4", policy=policy)
    )
    detector = hld.HLDDetector(schema=schema, num_epochs=5, rng=0).fit(table)
    batch = chain(100, np.random.default_rng(10))
    batch[:90, 5], batch[:80, 4] = 1e6, 17
    found = {one.name: one for one in detector.test(batch).columns}
    number, level = (found[detector.encoder_.names[v]] for v in (5, 4))
    assert number.beyond[1] == 0.9
    assert level.beyond is None
    assert max(number.adjusted, level.adjusted) < 1e-20


@pytest.mark.parametrize("reference", ["training", "held-out"])
def test_dependences_that_the_same_rows_have_chosen_are_called_no_more_often_than_they_may(
    reference,
):
    """Twenty independent columns: the edges of the tree are those that happen to be dependent in the training rows."""
    trials, called = 15, 0
    for seed in range(trials):
        rng = np.random.default_rng([11, seed])
        rows = rng.integers(0, 3, size=(400, 20))
        detector = hld.HLDDetector(
            num_latents=1, num_epochs=1, metric="euclidean", null="exact", reference=reference
        )
        result = detector.fit(rows[:200]).test(rows[200:])
        called += min(one.adjusted for one in result.pairs) <= 0.05
    assert called <= at_most(trials, 0.05)


def twins(n, rng):
    """A hundred columns, of which the second of each pair copies the first but for one row in a hundred."""
    rows = np.repeat(rng.integers(0, 4, size=(n, 50)), 2, axis=1)
    return np.where(rng.random((n, 100)) < 0.01, rng.integers(0, 4, size=(n, 100)), rows)


def test_a_dependence_with_too_few_rows_for_tables_of_pairs_puts_its_columns_first(monkeypatch):
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")  # which compiles nothing
    detector = hld.HLDDetector(categorical=range(100), num_epochs=20, num_resamples=99, rng=0)
    detector.fit(twins(60, np.random.default_rng(0)))
    for seed in (1, 2, 3):
        rng = np.random.default_rng([1, seed])
        batch = twins(40, rng)
        batch[:, 7] = rng.permutation(batch[:, 7])
        result = detector.test(batch)
        assert result.reject
        assert not result.pairs
        assert result.largest_dependence.columns == (6, 7)
        assert set(names(result)[:2]) == {"x6", "x7"}
        assert sorted(names(result)) == sorted(detector.encoder_.names)


def with_holes(n, share, rng):
    """Five columns of numbers, of which the last has missing cells."""
    rows = rng.normal(size=(n, 5))
    rows[rng.random(n) < share, 4] = np.nan
    return rows


def test_a_column_with_more_missing_cells_is_called_whatever_its_bins_do():
    """Among eight bins a tenth of the cells is lost; by itself the share of missing cells is not."""
    detector = hld.HLDDetector(num_epochs=5, num_resamples=99, rng=0)
    detector.fit(with_holes(300, 0.0, np.random.default_rng(0)))
    for seed in (1, 2, 3):
        result = detector.test(with_holes(300, 0.1, np.random.default_rng(seed)))
        assert result.columns[0].name == "x4"
        assert result.columns[0].adjusted <= 1e-4
    assert [len(result.evidence.beside(v)[0]) for v in range(5)] == [1, 1, 1, 1, 2]
    hidden = replace(result.evidence, hidden=(0, 2, 3))
    assert [one.name for one in hidden.columns] == ["x4", "x1"]


def test_numbers_beyond_the_range_are_a_share_of_rows_as_those_of_bins_are():
    """They had been a share of the cells that are there: 30 % of rows were shown as 63 % beside a bin with 32 %."""
    rng = np.random.default_rng(11)
    table = chain(1000, rng)
    table[rng.random(1000) < 0.4, 5] = np.nan
    detector = hld.HLDDetector(categorical=range(5), num_epochs=3, rng=0).fit(table)
    batch = table[:300].copy()
    batch[:90, 5], batch[90:250, 5] = 1e6, np.nan
    found = next(
        one for one in detector.test(batch).columns if one.name == detector.encoder_.names[5]
    )
    assert found.beyond == (
        detector.new_values_.new[5] / detector.profile_.counts[5].sum(),
        90 / 300,
    )
    assert found.beyond[1] <= found.observed[-2]  # the last bin
