"""Levels that edits name, among cells of one type or of several."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import hld
from hld.auditing.levels import has_level


@pytest.mark.parametrize(
    ("cells", "level", "found"),
    [
        (["1", "1.0", "2"], "1", [True, False, False]),
        (["1", "1.0", "2"], "1.0", [False, True, False]),
        (["1.0", "2"], 1, [True, False]),
        (["01", "1"], "01", [True, False]),
        (["01", "2"], "1", [False, False]),
        ([1, "1", True, 1.0], 1, [True, False, False, True]),
        ([1, "1", True], "1", [False, True, False]),
        ([1, "1", True], True, [False, False, True]),
        ([True, "true", "True"], "true", [False, True, False]),
        ([1e16, 2.0], "10000000000000000", [True, False]),
        ([2.5, 3], "2.50", [True, False]),
        ([0.1, 1], "1e-1", [True, False]),
        (["1e3", "1000"], "1000", [False, True]),
        (["1e3"], "1000", [False]),
        ([Decimal("1.50")], 1.5, [True]),
        ([np.float32(0.5), None], "0.5", [True, False]),
        ([None, "None"], "None", [False, True]),
        ([None, "a"], "None", [False, False]),
        ([float("nan"), 1.0], "nan", [False, False]),  # missing cells are no level
        ([pd.NA, None], None, [False, False]),
        ([2**53 + 1, 2**53 + 2], str(2**53), [False, False]),
        ([2**53 + 1], 2.0**53, [False]),
        ([Decimal(2**53 + 1)], 2**53, [False]),
        ([2.0**53], str(2**53), [True]),
        ([1e23], "1" + "0" * 23, [True]),
        (
            [datetime.datetime(2026, 1, 2), datetime.datetime(2026, 1, 2, 1)],
            "2026-01-02",
            [True, False],
        ),
        ([], "a", []),
    ],
)
def test_a_level_is_what_equals_it_else_what_is_written_alike_else_what_means_the_same(
    cells, level, found
):
    assert has_level(cells, level).tolist() == found


def test_versions_that_are_equal_as_numbers_are_two_levels_of_an_edit():
    """Both had been drawn as the one, and so the shift that was looked for was another one."""
    table = pd.DataFrame({"version": ["1", "1.0", "2", "2.0"] * 25})
    seen = []

    def detector(batch):
        seen.append(batch["version"].tolist())
        return 0.5

    hld.audit(detector, table, [80], ["version=1:+0.5"], num_batches=1)
    assert set(seen[-1]) == {"1", "1.0", "2", "2.0"}
    assert seen[-1].count("1") > 50 > 15 > seen[-1].count("1.0")
