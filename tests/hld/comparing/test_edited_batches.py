"""Edited batches: what is missing stays missing, and the change is one of the cells that are there, as in plans."""

import datetime

import pandas as pd
import pytest

import hld
from hld.detector.audit import has_level
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
    empty = pd.DataFrame({"sex": [None, None]})
    with pytest.raises(ValueError, match="a share of 0 of the cells"):
        hld.audit(lambda _: 0.5, empty, [2], ["sex=F:+0.3"], num_batches=1)


@pytest.mark.parametrize(
    ("cells", "level", "found"),
    [
        (["1", "1.0", "2"], "1", [True, False, False]),
        (["1", "1.0", "2"], "1.0", [False, True, False]),
        (["01", "1"], "01", [True, False]),
        ([1, 2.0, 1.0], "1", [True, False, True]),
        ([1, 2.5], 2.5, [False, True]),
        ([True, False], "true", [True, False]),
        (["true", "no"], True, [True, False]),
        ([None, "None", float("nan")], "None", [False, True, False]),  # missing cells are no level
        ([pd.NA, None], None, [False, False]),
        (
            [datetime.datetime(2026, 1, 2), datetime.datetime(2026, 1, 2, 1)],
            "2026-01-02",
            [True, False],
        ),
        ([datetime.date(2026, 1, 2)], "2026-01-02", [True]),
        ([], "a", []),
    ],
)
def test_a_level_is_what_is_written_as_it_is(cells, level, found):
    assert has_level(cells, level).tolist() == found
