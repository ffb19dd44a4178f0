"""The detector as an estimator: scikit-learn's own checks, and the same methods without scikit-learn."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from engines import ENGINES
from scipy.stats import binom

import hld
from hld.detector.estimator import NotFittedError
from hld.detector.learning import row_offset
from pcircuit import fit_em, hclt, log_likelihood

SMALL = {"num_latents": 2, "num_epochs": 1, "num_resamples": 19}


@pytest.mark.slow
def test_all_checks_of_scikit_learn_pass(monkeypatch):
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows, and classes that inherit nothing
        found = checks.check_estimator(hld.HLDDetector(**SMALL), on_fail=None, on_skip=None)
    assert {
        one["check_name"]: str(one["exception"]) for one in found if one["status"] == "failed"
    } == {}
    assert sum(one["status"] == "passed" for one in found) >= 40


def test_rows_are_predicted_and_scored_by_the_columns_of_training():
    rng = np.random.default_rng(0)
    rows, fresh = (
        pd.DataFrame(rng.integers(0, 4, size=(400, 3)), columns=list("abc")) for _ in range(2)
    )
    detector = hld.HLDDetector(**SMALL).fit(rows)
    expected = log_likelihood(detector.circuit_, detector.encoder_.encode(fresh)[0])
    for table in (fresh, fresh.assign(number=range(400))[["number", "c", "b", "a"]]):
        np.testing.assert_array_equal(detector.score_samples(table), expected)
        np.testing.assert_array_equal(
            detector.decision_function(table), expected - detector.offset_
        )
        np.testing.assert_array_equal(
            detector.predict(table), np.where(expected < detector.offset_, -1, 1)
        )
    assert (detector.predict(fresh) == -1).sum() <= binom.isf(1e-6, 400, 0.05)
    assert (detector.predict(fresh + 10) == -1).all()
    with pytest.raises(
        ValueError, match=r"^`table` has no column 'b', expected every fitted column"
    ):
        detector.score_samples(fresh.drop(columns="b"))
    assert (detector.feature_names_in_.tolist(), detector.n_features_in_) == (["a", "b", "c"], 3)
    assert not hasattr(detector.fit(rows.to_numpy()), "feature_names_in_")


def test_the_offset_has_the_share_that_it_promises():
    """Over all orders of k + 1 exchangeable scores the last one is below it in at most a twentieth."""
    for k in (18, 19, 38, 39, 100):
        scores = -np.arange(k + 1.0)
        below = [scores[i] < row_offset(np.delete(scores, i)) for i in range(k + 1)]
        assert np.mean(below) <= 0.05
        assert any(below) == (k >= 19)


def test_rounding_puts_no_row_below_the_offset(monkeypatch):
    """NumPy and kernels differ in the last digits, and of few columns many rows are as likely as that at the offset."""
    likely = []
    for seed in (42, 117):
        rng = np.random.default_rng(seed)
        share = rng.uniform(0.1, 0.5, int(rng.integers(3, 7)))
        rows = (rng.random((200, len(share))) < share).astype(int)
        rows[:, 1] = np.where(rng.random(200) < 0.8, rows[:, 0], rows[:, 1])
        circuit, _ = fit_em(
            hclt(rows[:100], num_latents=int(rng.integers(2, 12)), rng=seed),
            rows[:100],
            num_epochs=3,
        )
        scores = []
        for engine in ENGINES:
            monkeypatch.setenv("PCIRCUIT_ENGINE", engine)
            scores.append(log_likelihood(circuit, rows))
        for own in scores:
            offset = row_offset(own[100:])
            likely.append(
                [(other < offset).mean() for other in (*scores, np.nextafter(own, -np.inf))]
            )
            assert (own[100:] < offset).mean() <= 0.05
    assert all(len(set(found)) == 1 for found in likely)


def test_a_wrong_number_of_columns_is_told_in_scikit_learns_words_too():
    detector = hld.HLDDetector(**SMALL).fit([[0, 1], [1, 0]] * 20)
    with pytest.raises(
        ValueError,
        match=r"`table` has 3 columns.*X has 3 features, but HLDDetector is expecting 2 fe",
    ):
        detector.score_samples([[0, 1, 1]])
    with pytest.raises(ValueError, match="`table` has 1 dimension") as caught:
        detector.score_samples([0, 1])
    assert "features" not in str(caught.value)


def test_tags_and_errors_are_scikit_learns():
    utils, exceptions = map(pytest.importorskip, ("sklearn.utils", "sklearn.exceptions"))
    tags = utils.get_tags(hld.HLDDetector())
    assert tags.estimator_type == "outlier_detector"
    assert tags.input_tags.allow_nan
    assert tags.input_tags.string
    with pytest.raises(exceptions.NotFittedError, match="this HLDDetector is not fitted"):
        hld.HLDDetector().predict([[1]])
    assert NotFittedError.__bases__ == (ValueError, AttributeError)


def test_nothing_needs_scikit_learn():
    program = (
        "import sys; sys.modules['sklearn'] = None\nimport hld\n"
        "d = hld.HLDDetector(num_latents=2, num_epochs=1, num_resamples=9)\n"
        "try: d.predict([[1]])\nexcept ValueError as error: print(type(error).__module__)\n"
        "d.fit([[0, 1], [1, 0], [1, 1], [0, 0]] * 5); print(d.predict([[0, 1]]).shape)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PCIRCUIT_ENGINE": "numpy"},
    )
    assert done.stdout.split() == ["hld.detector.estimator", "(1,)"], done.stderr
