"""Edits by the names of a column and a level: what they stand for, and what is refused."""

import numpy as np
import pytest

import hld
from hld.planning.alternatives import Edit
from hld.planning.coded_edits import coded_edit


@pytest.fixture(scope="module")
def detector():
    rng = np.random.default_rng(0)
    table = {
        "sex": rng.choice(["F", "M"], size=300),
        "size": rng.integers(0, 3, 300),
        "old": rng.random(300) < 0.3,
    }
    return hld.HLDDetector(num_latents=2, num_epochs=3, num_resamples=99).fit(table)


@pytest.mark.parametrize(
    ("column", "level", "place"),
    [
        ("sex", "M", (0, 1)),
        (0, "F", (0, 0)),
        (np.int64(0), "F", (0, 0)),
        ("size", "2", (1, 2)),
        ("size", 2.0, (1, 2)),
        ("old", "TRUE", (2, 1)),
    ],
)
def test_names_become_variables_and_categories(detector, column, level, place):
    found = coded_edit(detector, Edit(column, level, 0.1))
    assert ((found.column, found.level), found.by) == (place, 0.1)


@pytest.mark.parametrize("column", [np.int64(-1), np.uint8(3), np.bool_(True), True])
def test_what_is_no_column_is_refused(detector, column):
    with pytest.raises(
        ValueError, match="`column` of an edit must be one of 'sex', 'size', 'old', found"
    ):
        coded_edit(detector, Edit(column, "F", 0.1))


@pytest.mark.parametrize("by", [0.9, -0.9])
def test_a_change_by_too_much_is_told_of_the_level_as_it_was_named(detector, by):
    """It had been that of "level 0 of variable 0", which no table has."""
    said = (
        rf"`by` of an edit is {by:g}, but level 'F' of column 'sex' has the share 0\.\d+: expected"
    )
    edit = Edit("sex", "F", by)
    for way in (
        lambda: detector.power(edit, 50),
        lambda: detector.sample_size(edit),
        lambda: hld.plan(detector, 50, [edit]),
    ):
        with pytest.raises(ValueError, match=said):
            way()


def test_levels_are_read_as_numbers_too_where_the_schema_refuses_new_ones():
    """The text "2" is no level of a column of whole numbers, and was refused before it was tried as the number 2."""
    rng = np.random.default_rng(0)
    table = {"size": rng.integers(0, 3, 300), "old": rng.random(300) < 0.3}
    schema = (
        hld.learn_schema(table).replace("size", policy="refuse").replace("old", policy="refuse")
    )
    strict = hld.HLDDetector(num_latents=2, num_epochs=1, num_resamples=99, schema=schema).fit(
        table
    )
    found = [coded_edit(strict, Edit.read(text)) for text in ("size=2:+0.1", "old=true:+0.1")]
    assert [(one.column, one.level) for one in found] == [(0, 2), (1, 1)]
    with pytest.raises(
        ValueError, match=r"`level` of an edit must be one of those of column 'size' \(0, 1, 2, "
    ):
        coded_edit(strict, Edit.read("size=7:+0.1"))


def test_a_position_is_that_in_the_training_table_of_which_columns_are_left_out():
    rng = np.random.default_rng(1)
    table = {
        "id": [f"id {k}" for k in range(300)],
        "sex": rng.choice(["F", "M"], 300),
        "size": rng.integers(0, 3, 300),
    }
    with pytest.warns(UserWarning, match="left out: 'id'"):
        detector = hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=99).fit(table)
    assert coded_edit(detector, Edit(1, "M", 0.1)).column == 0
    assert coded_edit(detector, Edit(2, 2, 0.1)).column == 1
    with pytest.raises(ValueError, match="must be one of 'sex', 'size', found 0"):
        coded_edit(detector, Edit(0, "M", 0.1))
