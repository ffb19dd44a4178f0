"""What is exported, and what is not."""

import numpy as np
import pytest

import hld
from hld.export.plan import plan_of

ROWS = np.random.default_rng(0).integers(0, 3, (600, 3))


@pytest.mark.parametrize(
    ("options", "fitting"),
    [
        ({}, {"groups": np.repeat(np.arange(40), 15)}),
        ({}, {"order": "time"}),
        ({"covariates": [0]}, {}),
    ],
    ids=["groups", "time", "covariates"],
)
def test_only_the_test_of_independent_rows_is_exported(options, fitting):
    detector = hld.HLDDetector(2, 2, metric="likelihoods", num_resamples=99, **options).fit(
        ROWS, **fitting
    )
    with pytest.raises(
        ValueError,
        match="`detector` judges groups, a series, or rows given covariates, but only the "
        "test of independent rows is exported: fit without `groups`",
    ):
        plan_of(detector)
