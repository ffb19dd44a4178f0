"""Batches among stretches of a series: what their number allows, columns of long memory, and what is said of both."""

import warnings

import binomial_bounds
import numpy as np
import pytest
from binomial_bounds import at_most
from dependent_rows import IN_SERIES as CIRCUIT
from dependent_rows import markov, uneven, variance_ratio

import hld
import pcircuit
from hld.features.row_vectors import column_units
from hld.laws.exchangeable import exchangeable_pvalue, ranked_parts
from hld.references.stretches import stretch_reference
from hld.testing.variation.time_test import INDEPENDENT_ROWS, RISK, time_test

TEST = hld.HLDTest(CIRCUIT, metric=("euclidean", "standardized"))
UNEVEN = np.array([0.98, 0.9, 0.5] + [0.0] * 17)


def test_a_series_is_judged_by_its_stretches_and_a_shift_is_found():
    rows = markov(CIRCUIT, 4000, 0.8, np.random.default_rng(2))[0]
    test = time_test(TEST, rows[:3000])
    calm = test(rows[3500:3600])
    assert calm.context.kind == "time"
    assert calm.context.effective_rows < 40
    assert "of 64 rows, scaled to this size: " in str(calm)
    assert "stretches of time of this size: " in str(test(rows[3500:3564]))
    assert "p-values go by rank down to 0.021 and by a normal law below" in str(calm)
    assert "effective sample sizes: T = 10: " in test.describe()
    assert test(np.repeat(rows[:1], 400, axis=0)).reject


@pytest.fixture(scope="module")
def twenty():
    """A test of twenty columns that are independent of one another."""
    rows = np.random.default_rng(9).integers(0, 3, size=(2000, 20))
    circuit, _ = pcircuit.fit_em(pcircuit.hclt(rows, num_latents=2, rng=0), rows, num_epochs=5)
    return hld.HLDTest(circuit, metric=("euclidean", "standardized", "whitened"))


@pytest.mark.slow
def test_one_slow_column_among_quick_ones_raises_no_alarms(twenty):
    """Three columns of twenty have a memory, of three lengths: the sum of all hides that 64 rows are short for one."""
    rng, trials, found = np.random.default_rng(10), 150, 0
    for _ in range(trials):
        rows = uneven(4500, UNEVEN, rng)
        judge = time_test(twenty, rows[:3000])
        assert judge.law
        found += judge(rows[3500:]).reject
    assert found <= binomial_bounds.at_most(trials, 0.05)


def test_a_slow_column_is_bounded_by_itself_and_quick_ones_are_found(twenty):
    rows = uneven(4000, np.append(0.99, UNEVEN[3:].repeat(2)[:19]), np.random.default_rng(11))
    judge = time_test(twenty, rows[:3000])
    assert list(judge.dependent_columns) == [0]
    assert "in 1 column these are still dependent" in judge.describe()
    slow, quick = rows[3500:].copy(), rows[3500:].copy()
    slow[:, 0], quick[:, 7] = 2, 2
    found = judge(slow)
    assert found.pvalue > 0.05
    assert found.column_pvalues[:, 0].min() >= 1 / (3000 // 500 + 1)
    found = judge(quick)
    assert found.pvalue < 0.002 < 1 / (3000 // 500 + 1)
    assert found.column_pvalues[1].argmin() == 7


def test_quick_columns_are_seldom_said_to_be_dependent(twenty):
    rng = np.random.default_rng(12)
    called = [
        bool(time_test(twenty, uneven(3000, np.zeros(20), rng)).dependent_columns)
        for _ in range(50)
    ]
    assert sum(called) <= binomial_bounds.at_most(50, RISK)


@pytest.fixture(scope="module")
def series():
    rows = markov(CIRCUIT, 3000, 0.5, np.random.default_rng(3))[0].astype(int)
    return rows, time_test(TEST, rows[:2000])


def test_the_p_value_of_a_usual_batch_is_that_among_the_stretches(series):
    rows, test = series
    batch, stretches = rows[2100:2150], test.reference
    own = TEST.vectors.mean(batch) - TEST.vectors.rows(rows[:2000]).mean(axis=0)
    expected = exchangeable_pvalue(
        own, stretches.at(50), TEST.calibration.metrics, many=30, is_exact=False
    )
    found = test(batch)
    assert expected.value > 0.1  # no law and no bound below
    assert (found.pvalue, found.null) == (pytest.approx(expected.value), "time")
    np.testing.assert_allclose(found.deltas, own[: len(TEST.nodes)], atol=1e-12)


@pytest.mark.parametrize("T", [1, 3, 4, 7, 100, 500, 501])
def test_among_rows_that_are_all_alike_the_p_value_goes_by_the_stretches_that_there_are(T):
    """As long as the batch, or as four rows: of 500 rows 125 or fewer, and none for batches that are longer."""
    test = time_test(TEST, np.zeros((500, 3), dtype=int))
    least = 1 / (500 // max(T, INDEPENDENT_ROWS) + 1)
    assert not test.reference.traces()[0] > 0
    assert not test.law
    assert test.least_pvalue(T) == least
    assert test(np.ones((T, 3), dtype=int)).pvalue == pytest.approx(least)
    assert test(np.zeros((T, 3), dtype=int)).pvalue == 1.0
    assert "all rows are alike, so p-values are at least 0.0079" in test.describe()


def test_rows_that_are_worth_fewer_allow_fewer_stretches():
    """Stretches of 128 equal rows: even the shortest batch is compared with those worth four independent ones."""
    rng = np.random.default_rng(4)
    test = time_test(TEST, pcircuit.sample(CIRCUIT, 8, rng=rng).repeat(128, axis=0).astype(int))
    assert test.is_too_short
    assert not test.law
    worth = test.reference.effective_rows(1024)
    assert test.least_pvalue(1) == 1 / (1024 // np.ceil(4 * 1024 / worth) + 1) > 0.1
    assert test.least_pvalue(1024) == 0.5
    assert test.least_pvalue(5000) == 1.0
    assert test(np.ones((600, 3), dtype=int)).pvalue >= test.least_pvalue(600) == 0.5


def test_a_column_that_never_changed_is_known_by_its_number_and_bounded_by_rank():
    circuit = pcircuit.rat_spn([2] * 3, num_units=2, depth=1, rng=0)
    inner = hld.HLDTest(circuit, metric="euclidean")
    rows = pcircuit.sample(circuit, 2000, rng=5).astype(int)
    rows[:, 1] = 0
    test = time_test(inner, rows)
    assert list(test.constant_columns) == [1]
    assert (bool(test.law), test.least_pvalue(), test.least_of_columns()) == (True, 0.0, 0.0)
    one, same = rows[:40].copy(), rows[:40]
    one[7, 1] = 1
    assert test(same).column_pvalues[0, 1] == 1.0
    assert test(one).column_pvalues[0, 1] + 1e-12 >= 1 / (2000 // 40 + 1)
    assert test(one).column_pvalues[0, 1] < 0.05


def group(rng, n):
    """Rows of a group with a mood, and a share of missing cells, of its own."""
    rows = rng.normal(0.3 * rng.normal(), size=(n, 1)) + rng.normal(size=(n, 4))
    rows[rng.random(rows.shape) < rng.random() / 2] = np.nan
    return rows


def groups(rng):
    parts = [group(rng, int(rng.integers(20, 60))) for _ in range(38)]
    return (
        np.concatenate(parts),
        {"groups": np.repeat(np.arange(38), [len(one) for one in parts])},
        group(rng, 40),
    )


def holed_series(rng):
    rows, hides = rng.normal(size=(2100, 4)), rng.normal(size=(2100, 1))
    for t in range(1, len(rows)):
        rows[t] += 0.5 * rows[t - 1]
        hides[t] += 0.5 * hides[t - 1]
    rows[hides + rng.normal(size=rows.shape) > 1.5] = np.nan
    return rows[:1800], {"order": "time"}, rows[2000:]


@pytest.mark.slow
@pytest.mark.parametrize("draw", [groups, holed_series])
def test_missing_cells_keep_the_level_and_columns_are_found(draw):
    trials, rejected, called, found = 30, 0, 0, 0
    for seed in range(trials):
        rows, fitting, batch = draw(np.random.default_rng([9, seed]))
        detector = hld.HLDDetector(num_latents=2, num_epochs=3, num_bins=4, num_resamples=99).fit(
            rows, **fitting
        )
        result = detector.test(batch)
        rejected += result.pvalue <= 0.05
        called += any(one.adjusted <= 0.05 for one in result.columns)
        moved = batch.copy()
        moved[:, 2] += 9
        found += any(
            one.name == "x2" and one.adjusted <= 0.05 for one in detector.test(moved).columns
        )
    assert max(rejected, called) <= at_most(trials, 0.05)
    assert found > at_most(trials, 0.05)  # which a column that has not moved does not explain


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize(("stay", "T"), [(0.9, 100), (0.9, 300), (0.5, 20), (0.0, 50)])
def test_the_level_is_kept_where_rows_hang_together(stay, T):
    """A series and a later stretch of it in every trial: at most 0.07 at level 0.05, within the error of the trials."""
    rng, trials, found, called, plain = np.random.default_rng(T), 200, 0, 0, 0
    parts = column_units(CIRCUIT, TEST.nodes)
    assert T / variance_ratio(T, stay) > 4.9
    for rows in markov(CIRCUIT, 3000 + 300 + T, stay, rng, trials):
        own = stretch_reference(TEST.vectors, rows[:3000], np.zeros(TEST.vectors.size))
        z = TEST.vectors.mean(rows[-T:]) - own.mean
        found += exchangeable_pvalue(z, own.at(T), TEST.calibration.metrics, many=30).value <= 0.05
        called += ranked_parts(z, own.at(T), parts, many=30)[1].min() <= 0.05
        plain += TEST.judge(np.maximum(z + TEST.mean, 0), T).reject
    assert max(found, called) <= binomial_bounds.at_most(trials, 0.07)
    assert found >= binomial_bounds.at_least(trials, 0.03)
    if stay == 0.9:
        assert plain > trials / 4


# -- detectors ---------------------------------------------------------------------------------------------------


def test_a_detector_in_order_of_time(tmp_path):
    rows = markov(CIRCUIT, 2000, 0.8, np.random.default_rng(3))[0].astype(int)
    detector = hld.HLDDetector(num_latents=2, num_epochs=5, null="exact").fit(
        rows[:1600], order="time"
    )
    assert detector.test_.num_train == 800
    said = detector.describe()
    assert "order of time: stretches of up to 16 of 800 rows" in said
    assert (
        0
        < said.index("against independent rows (`test_`), which is not how")
        < said.index("smallest p-value: T =")
    )
    detector.save(tmp_path / "model.hld")
    again = hld.load(tmp_path / "model.hld")
    assert again.test(rows[1700:1800]).to_dict() == detector.test(rows[1700:1800]).to_dict()


def test_a_series_with_a_long_memory_is_said_to_be_too_short():
    rows = markov(CIRCUIT, 3000, 0.99, np.random.default_rng(4))[0].astype(int)
    with pytest.warns(
        UserWarning,
        match="stretches of up to 32 of 1500 rows, which are still dependent, so p-values",
    ):
        detector = hld.HLDDetector(num_latents=2, num_epochs=5, null="exact").fit(
            rows, order="time"
        )
    assert "are still dependent, so p-values are at least 0." in detector.describe()
    for T in (1, 100, 700, 1499):
        least = detector.judge_.least_pvalue(T)
        assert 1 / (1500 // T + 1) <= least <= 0.5
        far = detector.test(np.full((T, rows.shape[1]), int(rows.max())))
        assert far.pvalue >= least
        assert far.column_pvalues is None or np.nanmin(far.column_pvalues) >= least
        assert far.context.least_pvalue == least
        assert f"no p-value is below {least:.2g}" in str(far)
    rows = markov(CIRCUIT, 3000, 0.0, np.random.default_rng(5))[0]
    calm = hld.HLDDetector(num_latents=2, num_epochs=5, null="exact").fit(rows, order="time")
    assert "still dependent" not in calm.describe()
    assert calm.judge_.least_pvalue(1000) == 0.0


def test_a_series_without_any_change_is_not_said_to_be_dependent():
    """Sums of many equal numbers differ by rounding only, which is neither variation nor dependence."""
    for n in (130, 3000, 20_000):
        table = {"a": [1] * n, "b": ["u"] * n}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            detector = hld.HLDDetector(num_latents=2, num_epochs=2).fit(table, order="time")
        assert not detector.judge_.reference.traces().any()
        assert "all rows are alike, so p-values are at least" in detector.describe()
        assert detector.test({"a": [1] * 7, "b": ["u"] * 7}).pvalue == 1.0
        for T in (1, 7, n):
            found = detector.test({"a": [1] * T, "b": ["v"] * T})
            assert found.pvalue == pytest.approx(1 / (n // 2 // max(T, 4) + 1))
            assert (found.null, found.to_dict()["null"]) == ("time", "time")
