"""What a user is told as soon as a detector is fitted: the warnings are about the line that called `fit`."""

import pathlib
import re
import warnings

import numpy as np
import pytest

import hld


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (np.arange(6).reshape(6, 1) % 2, "the smallest p-value of a single row"),
        ([[f"id {i}", i % 2] for i in range(200)], "columns that are left out: 'x0'"),
    ],
)
def test_warnings_point_at_the_call(table, said):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        hld.HLDDetector(num_latents=2, num_epochs=1, metric="likelihoods", num_resamples=19).fit(
            table
        )
    mine = [one for one in found if said in str(one.message)]
    assert [pathlib.Path(one.filename).name for one in mine] == [pathlib.Path(__file__).name]


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
