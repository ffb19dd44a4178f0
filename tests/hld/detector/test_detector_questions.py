"""What a fitted detector answers beside a test: each method is the function that it stands for; whose rows it needs."""

import numpy as np
import pytest
from tables import mixed_table

import hld
from hld.tables.drawing import condition_probability, draw_rows

ARGUMENTS = {
    "test_by": ([[1]], [0]),
    "summarize": ([[1]],),
    "power": (hld.Edit("rain", True, 0.1), 50),
    "sample_size": (hld.Edit("rain", True, 0.1),),
    "detectable": (50,),
    "score_samples": ([[1]],),
    "decision_function": ([[1]],),
    "predict": ([[1]],),
    "sample": (3,),
    "probability": ("rain == 1",),
}


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(num_latents=3, num_epochs=5, metric="euclidean", num_resamples=99).fit(
        mixed_table(600)
    )


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_unfitted_detector_answers_no_question(name):
    with pytest.raises(ValueError, match="this HLDDetector is not fitted") as caught:
        getattr(hld.HLDDetector(), name)(*ARGUMENTS[name])
    assert isinstance(
        caught.value, AttributeError
    )  # both ours and that of scikit-learn, where it has been imported
    assert type(caught.value).__name__ == "NotFittedError"


def test_rows_and_probabilities_are_those_of_conditions(detector):
    known = detector.circuit_, detector.encoder_.columns, detector.values_
    where = 'rain == 1 and city == "Oslo"'
    drawn = detector.sample(30, where=where, rng=4)
    np.testing.assert_array_equal(drawn, draw_rows(*known, 30, where=where, rng=4))
    assert set(drawn.iloc[:, 0]) == {"Oslo"}
    with pytest.raises(ValueError, match=r"`batch` has 0 dimension\(s\) \(int\), expected 2"):
        detector.test(3)
    assert detector.probability(where) == condition_probability(*known, where)
    both = detector.probability("rain == 1"), detector.probability("rain != 1")
    assert sum(both) == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("given", [{"groups": "day"}, {"order": "time"}])
def test_groups_and_series_need_their_rows(given):
    rng = np.random.default_rng(0)
    table = {"a": rng.integers(0, 3, 240), "b": rng.integers(0, 2, 240)}
    days = {"day": np.repeat(np.arange(24), 10)} if "groups" in given else {}
    fitted = hld.HLDDetector(
        num_latents=2, num_epochs=2, num_resamples=39, metric="likelihoods"
    ).fit(table | days, **given)
    with pytest.raises(
        ValueError,
        match="`batch` is a summary, which holds what independent rows need: this detector",
    ):
        fitted.test(fitted.summarize({name: column[:30] for name, column in table.items()}))
