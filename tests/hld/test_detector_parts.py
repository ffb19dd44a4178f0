"""A fitted detector judges summaries, says whose rows it needs, and speaks of the batch where a batch is wrong."""

import numpy as np
import pandas as pd
import pytest

import hld
from hld.detector_parts import batch_as_named

OPTIONS = {"num_latents": 2, "num_epochs": 2, "num_resamples": 39, "metric": "likelihoods"}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "a": rng.integers(0, 3, 240),
            "b": rng.integers(0, 2, 240),
            "day": np.repeat(np.arange(24), 10),
        }
    )


@pytest.fixture(scope="module")
def detector(table):
    return hld.HLDDetector(**OPTIONS).fit(table[["a", "b"]])


@pytest.mark.parametrize("given", [{"groups": "day"}, {"order": "time"}])
def test_groups_and_series_need_their_rows(table, given):
    detector = hld.HLDDetector(**OPTIONS).fit(
        table if "groups" in given else table[["a", "b"]], **given
    )
    with pytest.raises(
        ValueError,
        match="`batch` is a summary, which holds what independent rows need: this detector",
    ):
        detector.test(detector.summarize(table[["a", "b"]][:30]))


def test_a_batch_that_cannot_be_read_is_called_batch(detector):
    with pytest.raises(ValueError, match=r"`batch` has 0 dimension\(s\) \(int\), expected 2"):
        detector.test(3)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("`alpha` must be"),
        KeyError("`table`"),
        UnicodeDecodeError("utf-8", b"", 0, 1, "`table`"),
    ],
)
def test_other_errors_are_raised_as_they_are(error):
    with pytest.raises(type(error)) as raised, batch_as_named():
        raise error
    assert raised.value is error
