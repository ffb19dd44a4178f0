"""Edited batches: what is missing stays missing, and the change is one of the cells that are there, as in plans."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import hld
from hld.detector.comparing.audit import has_level
from tests.binomial_bounds import at_least, at_most

ROWS = 40_000


@pytest.mark.parametrize("by", [0.2, -0.2])
def test_a_change_is_one_of_the_cells_that_are_there_and_as_many_are_missing(by):
    """It had been one of all rows, and others that lacked the cell had made room for it: twice the change here."""
    table = pd.DataFrame({"sex": ["F"] * 25 + ["M"] * 75 + [None] * 100})
    seen = []

    def detector(batch):
        seen.append(batch["sex"])
        return 0.5

    hld.audit(detector, table, [200], [hld.Edit("sex", "F", by)], num_batches=ROWS // 200)
    cells = pd.concat(seen[-ROWS // 200 :])
    assert len(cells) == ROWS
    there = cells.dropna()
    assert at_least(ROWS, 0.5) <= len(there) <= at_most(ROWS, 0.5)
    assert at_least(len(there), 0.25 + by) <= (there == "F").sum() <= at_most(len(there), 0.25 + by)


def test_a_change_by_too_much_of_the_cells_that_are_there_is_refused():
    table = pd.DataFrame({"sex": ["F", "F", "F", "M", None, None, None, None]})
    with pytest.raises(
        ValueError, match=r"but the level has a share of 0\.75 of the cells in `held_out`"
    ):
        hld.audit(lambda _: 0.5, table, [2], ["sex=F:+0.3"], num_batches=1)
    empty = pd.DataFrame({"sex": np.array([None, None])})
    with pytest.raises(ValueError, match="a share of 0 of the cells"):
        hld.audit(lambda _: 0.5, empty, [2], ["sex=F:+0.3"], num_batches=1)


def test_errors_about_tables_name_the_argument():
    rows = np.random.default_rng(0).integers(0, 2, size=(40, 2))
    detector = hld.HLDDetector(num_latents=2, num_epochs=2)
    for train in (3, [], rows[:1], [[1, 2], [3]]):
        with pytest.raises(ValueError, match=r"^`train` has"):
            hld.audit(detector, rows, [10], num_batches=1, train=train)
    for held_out in ([1, 2, 3], [[1, 2], [3]]):
        with pytest.raises(ValueError, match=r"^`held_out` has"):
            hld.audit(lambda _: 0.5, held_out, [1], num_batches=1, groups=0)


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
