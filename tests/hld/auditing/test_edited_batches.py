"""Edited batches: what is missing stays missing, and the change is one of the cells that are there, as in plans."""

import numpy as np
import pandas as pd
import pytest

import hld
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


def test_missing_cells_are_no_level_of_an_edit():
    """Of {None, a, a} with None made 0.2 more frequent, 80 % of the rows had been the missing one."""
    with pytest.raises(ValueError, match="a share of 0 of the cells"):
        hld.audit(lambda _: 0.5, {"x": [None, "a", "a"]}, [2], ["x=None:+0.2"], num_batches=1)
