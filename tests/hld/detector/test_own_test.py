"""What a user is told as soon as a detector is fitted: the warnings are about the line that called `fit`."""

import re

import numpy as np
import pytest

import hld


def test_the_p_value_of_which_a_warning_speaks_is_that_of_one_row():
    table = np.arange(12).reshape(12, 1) % 2
    with pytest.warns(
        UserWarning, match="12 rows, so the smallest p-value of a single row is"
    ) as found:
        detector = hld.HLDDetector(
            num_latents=2, num_epochs=1, metric="likelihoods", num_resamples=19
        ).fit(table)
    (told,) = re.findall(r"smallest p-value: T = 1: (\S+);", detector.describe())
    assert [one for one in found if f"a single row is {told}:" in str(one.message)]
