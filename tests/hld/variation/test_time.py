"""Series judged by stretches of time: the level where rows are dependent, what is said of long memories, refusals."""

import warnings

import binomial_bounds
import numpy as np
import pytest
from dependent_rows import IN_SERIES as CIRCUIT
from dependent_rows import markov, uneven, variance_ratio

import hld
from hld.nulls.exchangeable import exchangeable_pvalue
from hld.nulls.ranked_parts import ranked_parts
from hld.references.stretches import stretch_reference
from hld.vectors.row_vectors import column_units

TEST = hld.HLDTest(CIRCUIT, metric=("euclidean", "standardized"))


@pytest.mark.thorough
@pytest.mark.parametrize(("stay", "T"), [(0.9, 100), (0.9, 300), (0.5, 20), (0.0, 50)])
def test_the_level_is_kept_where_rows_hang_together(stay, T):
    """A series and a later stretch of it in every trial: at most 0.07 at level 0.05, within the error of the trials."""
    rng, trials, found, plain = np.random.default_rng(T), 200, 0, 0
    assert T / variance_ratio(T, stay) > 4.9
    for rows in markov(CIRCUIT, 3000 + 300 + T, stay, rng, trials):
        own = stretch_reference(TEST.vectors, rows[:3000], np.zeros(TEST.vectors.size))
        z = TEST.vectors.mean(rows[-T:]) - own.mean
        found += exchangeable_pvalue(z, own.at(T), TEST.calibration.metrics, many=30).value <= 0.05
        plain += TEST.judge(np.maximum(z + TEST.mean, 0), T).reject
    assert found <= binomial_bounds.at_most(trials, 0.07)
    assert found >= binomial_bounds.at_least(trials, 0.03)
    if stay == 0.9:
        assert plain > trials / 4


@pytest.mark.thorough
@pytest.mark.parametrize(("stay", "T"), [(0.9, 200), (0.9, 1000), (0.5, 20), (0.0, 50)])
def test_unmoved_columns_are_called_at_the_level_where_rows_hang_together(stay, T):
    """Any of three columns, by its adjusted p-value: at most 0.07 at level 0.05, within the error of the trials."""
    rng, trials, calls = np.random.default_rng(T + 1), 200, 0
    parts = column_units(CIRCUIT, TEST.nodes)
    for rows in markov(CIRCUIT, 3000 + 300 + T, stay, rng, trials):
        own = stretch_reference(TEST.vectors, rows[:3000], np.zeros(TEST.vectors.size))
        z = TEST.vectors.mean(rows[-T:]) - own.mean
        calls += ranked_parts(z, own.at(T), parts, many=30)[1].min() <= 0.05
    assert calls <= binomial_bounds.at_most(trials, 0.07)


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
        assert not detector.judge_.stretches.traces().any()
        assert "all rows are alike, so p-values are at least" in detector.describe()
        assert detector.test({"a": [1] * 7, "b": ["u"] * 7}).pvalue == 1.0
        for T in (1, 7, n):
            found = detector.test({"a": [1] * T, "b": ["v"] * T})
            assert found.pvalue == pytest.approx(1 / (n // 2 // max(T, 4) + 1))
            assert (found.null, found.to_dict()["null"]) == ("time", "time")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"order": "month"},
            r"`order` must be 'time' \(the rows are in order of time, without gaps\) or None",
        ),
        ({"order": "time", "groups": np.arange(200) % 5}, "`order` and `groups` are two ways"),
    ],
)
def test_bad_order_is_refused(options, said):
    rows = np.random.default_rng(0).integers(0, 2, size=(200, 2))
    with pytest.raises(ValueError, match=said):
        hld.HLDDetector(num_epochs=1).fit(rows, **options)
    with pytest.raises(
        ValueError, match="`table` has 100 rows, expected at least 120 with order='time'"
    ):
        hld.HLDDetector(num_epochs=1).fit(rows[:100], order="time")
    with pytest.raises(ValueError, match="`order` and `covariates` answer different questions"):
        hld.HLDDetector(num_epochs=1, covariates=[0]).fit(rows, order="time")
    with pytest.raises(ValueError, match="use reference='held-out', found reference='circuit'"):
        hld.HLDDetector(num_epochs=1, reference="circuit").fit(rows, order="time")


def test_fit_names_the_columns_in_which_stretches_are_dependent():
    rows = uneven(6000, np.append(np.zeros(19), 0.98), np.random.default_rng(13))
    with pytest.warns(
        UserWarning, match="of up to 64 of 3000 rows, which are still dependent in 'x19', whose own"
    ):
        hld.HLDDetector(num_latents=2, num_epochs=5, null="exact").fit(rows, order="time")
