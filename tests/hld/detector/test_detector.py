"""The detector: tables in, verdicts out, saved and loaded, and robust against odd tables."""

import numpy as np
import pandas as pd
import pytest
from binomial_bounds import at_most
from tables import mixed_table

import hld
from hld import HLDDetector


@pytest.fixture(scope="module")
def detector():
    return HLDDetector(num_epochs=30).fit(mixed_table(2000))


def test_unshifted_passes_and_shifted_is_found(detector):
    assert not detector.test(mixed_table(100, seed=1), alpha=1e-3).reject
    result = detector.test(mixed_table(100, seed=1, shift=True), alpha=1e-3)
    assert result.reject
    assert detector.encoder_.names[result.localize().variable_scores.argmax()] == "rain"
    unseen = mixed_table(60, seed=3).assign(city="Atlantis")
    assert detector.test(unseen, alpha=1e-6).reject
    assert 0 <= detector.test(mixed_table(1)).pvalue <= 1
    empty = mixed_table(10).assign(city=None, heat=np.nan)
    assert detector.test(empty).num_missing >= 20
    for word in ("city", "heat", "unseen", "2000 rows", "missing values"):
        assert word in detector.describe()


def test_arrays_and_frames_are_both_tables_and_equal_seeds_give_equal_detectors():
    rng = np.random.default_rng(0)
    array, batch = rng.integers(0, 3, size=(300, 4)), rng.integers(0, 3, size=(30, 4))
    found = {
        HLDDetector(num_epochs=3).fit(make(array)).test(make(batch)).pvalue
        for make in (np.array, lambda rows: pd.DataFrame(rows, columns=list("abcd")), np.array)
    }
    assert len(found) == 1


def test_estimation_error_is_part_of_the_null_unless_it_is_left_out(detector):
    assert detector.test(mixed_table(100, seed=1)).inflation == pytest.approx(1 + 100 / 1000)
    plain = HLDDetector(num_epochs=2, estimation_error=False, reference="circuit")
    assert plain.fit(mixed_table(200)).test(mixed_table(100, seed=1)).inflation == 1


@pytest.mark.thorough
def test_half_of_the_rows_are_kept_for_the_reference(tmp_path):
    few = HLDDetector(num_epochs=5).fit(mixed_table(90))
    assert few.test_.num_train == 45
    assert few.test(mixed_table(10)).inflation == pytest.approx(1 + 10 / 45)
    assert "reference: 45 of the 90 rows, held out of learning" in few.describe()
    few.save(tmp_path / "few.hld")
    assert hld.load(tmp_path / "few.hld").describe() == few.describe()
    for reference, num_train in (("training", 90), ("held-out", 45), ("circuit", 90)):
        assert (
            HLDDetector(num_epochs=2, reference=reference).fit(mixed_table(90)).test_.num_train
            == num_train
        )
    assert HLDDetector(num_epochs=2).fit(mixed_table(3)).test_.num_train == 3  # too few to keep any


def test_the_metrics_are_those_that_the_nodes_allow():
    four = ("euclidean", "standardized", "marginals", "whitened")
    for kinds, expected in (
        (("input", "sum"), (*four, "whitened_fine", "score")),
        ("input", (*four, "whitened_fine")),
        ("sum", (*four[:2], *four[3:], "whitened_fine")),
    ):
        detector = HLDDetector(num_epochs=2, kinds=kinds).fit(mixed_table(90))
        assert detector.test(mixed_table(10)).metrics == expected
    for options, rows in (
        ({"reference": "training"}, 90),
        ({"reference": "circuit"}, 90),
        ({}, 40),
    ):
        detector = HLDDetector(num_epochs=2, num_resamples=19, **options).fit(mixed_table(rows))
        assert detector.test(mixed_table(10)).metrics == four
    with pytest.raises(ValueError, match="'marginals' compares input units"):
        HLDDetector(num_epochs=2, kinds="sum", metric="marginals").fit(mixed_table(90))


@pytest.mark.thorough
def test_fresh_rows_pass_though_the_circuit_fits_its_own_too_well():
    """150 rows of 30 independent columns, whose circuit has three nodes for each row."""
    trials, rejected = 10, dict.fromkeys(("held-out", "training"), 0)
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        train, fresh = rng.integers(0, 3, size=(150, 30)), rng.integers(0, 3, size=(75, 30))
        for reference in rejected:
            detector = HLDDetector(num_epochs=30, reference=reference, num_resamples=99).fit(train)
            rejected[reference] += detector.test(fresh).reject
    assert rejected["held-out"] <= at_most(trials, 0.05, 1e-6)
    assert rejected["training"] > at_most(trials, 0.05, 1e-6)


def test_columns_are_matched_by_name_and_missing_ones_are_named(detector):
    batch = mixed_table(40, seed=2)
    assert (
        detector.test(batch[["visits", "rain", "heat", "city"]]).pvalue
        == detector.test(batch).pvalue
    )
    result = detector.test(batch.drop(columns="rain"))
    assert "rain" in str(result.data_quality)
    assert result.reject  # a column that was there for all rows is missing for all
    with pytest.raises(ValueError, match="rain"):
        detector.test(pd.DataFrame({"other": [1, 2]}))


def test_one_rare_flag_is_no_shift_where_the_reference_rows_are_all_alike():
    rng = np.random.default_rng(4)
    train, batch = rng.random((60, 3)) < 0.01, rng.random((40, 3)) < 0.01
    assert batch.sum() == 1
    result = HLDDetector(num_latents=2, num_epochs=2, num_resamples=99).fit(train).test(batch)
    assert result.pvalue >= min(result.pvalues)


def test_a_failed_fit_leaves_the_detector_as_it_was(detector):
    fitted = HLDDetector(num_epochs=2).fit(mixed_table(100))
    circuit = fitted.circuit_
    with pytest.raises(ValueError, match="row"):
        fitted.fit(mixed_table(0))
    assert fitted.circuit_ is circuit
    with pytest.raises(ValueError, match="has 3 rows: with reference='held-out'"):
        HLDDetector(reference="held-out").fit(mixed_table(3))


def test_parameters_follow_the_scikit_learn_protocol():
    detector = HLDDetector(num_latents=2, kinds=("sum",))
    assert detector.set_params(num_bins=3).num_bins == 3
    with pytest.raises(ValueError, match="`bins` is not a parameter"):
        detector.set_params(bins=3)
    assert "not fitted" in repr(detector)
