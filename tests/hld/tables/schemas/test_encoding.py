"""Codes of a table in every form, and what the encoder met in its parts: as if each had been encoded alone."""

import math

import numpy as np
import pandas as pd
import pytest

import hld
from hld.tables.schemas.columns import WHOLE, BinColumn, LevelColumn
from hld.tables.schemas.encoder import report_of
from hld.tables.schemas.learn_schema import fit_encoder


def test_parts_are_reported_as_if_encoded_alone():
    rng = np.random.default_rng(0)
    encoder = fit_encoder(
        pd.DataFrame({"name": list("aabbccde") * 5, "size": rng.normal(size=40)}), max_categories=3
    )
    table = pd.DataFrame(
        {
            "name": rng.choice(list("abdxyz"), size=60).astype(object),
            "size": 3 * rng.normal(size=60),
        }
    )
    table.loc[rng.random(60) < 0.2, "name"] = None
    table.loc[rng.random(60) < 0.2, "size"] = np.nan
    table["size"] = table["size"].astype(object)
    table.loc[[3, 30, 31], "size"] = "text"
    marks, starts = np.zeros((60, 2), dtype=np.uint8), np.array([0, 1, 25, 40])
    codes, _, _, _ = encoder.encode_counting(table, marks)
    found = []
    for start, stop in zip(starts, [*starts[1:], 60], strict=True):
        report = report_of(encoder.columns, codes[start:stop], marks[start:stop])
        found.append(report)
        expected = encoder.encode_counting(table.iloc[start:stop])[1]
        assert vars(report).keys() == vars(expected).keys()
        for name, value in vars(expected).items():
            np.testing.assert_array_equal(getattr(report, name), value, err_msg=name)
    assert (
        sum(report.num_unseen for report in found)[0]
        > 0
        < sum(report.num_out_of_range for report in found)[1]
    )


@pytest.mark.parametrize("dtype", [int, np.uint8, object])
def test_whole_numbers_that_training_did_not_show_follow_the_policy_in_arrays_of_every_type(dtype):
    schema, batch = (
        hld.learn_schema([[0, 1], [1, 0], [1, 1]] * 5),
        np.array([[5, 0], [1, 1]], dtype=dtype),
    )
    assert schema.encoder().encode(batch)[0].tolist() == [[2, 0], [1, 1]]
    assert schema.replace("x0", policy="missing").encoder().encode(batch)[0].tolist() == [
        [-1, 0],
        [1, 1],
    ]
    with pytest.raises(
        ValueError,
        match="'x0' holds 1 values that training did not show, the first in row 0, which",
    ):
        schema.replace("x0", policy="refuse").encoder().encode(batch)


def test_a_column_that_refuses_new_levels_has_its_rare_ones_in_training():
    table = [["ann"], ["ann"], ["bob"], ["bob"], ["eve"]]
    schema = hld.learn_schema(
        table, max_categories=2
    )  # keeps ann; bob and eve, whom one row has, are rare
    codes = {
        policy: schema.replace("x0", policy=policy)
        .encoder()
        .encode_training(table)[0]
        .ravel()
        .tolist()
        for policy in ("keep", "missing", "refuse")
    }
    assert codes == {
        "keep": [0, 0, 1, 1, 2],
        "missing": [0, 0, 1, 1, -1],
        "refuse": [0, 0, 1, 1, 1],
    }


STEPPED = (
    BinColumn("bins", (1.0, 2.5), 0.0, 4.0),
    LevelColumn("levels", "integer", (-2, 0, 3)),
    LevelColumn("halves", "categorical", (0.5, 1.5, 7)),
)
CELLS = np.array(
    [-math.inf, -2.0, -0.5, -0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 4.5, 7.0, math.inf, math.nan]
)


def by_definition(column, x):
    """Category, and whether the value is new."""
    if math.isnan(x):
        return -1, False
    if isinstance(column, BinColumn):
        return sum(edge <= x for edge in column.edges), not column.low <= x <= column.high
    is_new = x not in column.levels
    return len(column.levels) if is_new else column.levels.index(x), is_new


@pytest.mark.parametrize("column", STEPPED, ids=lambda column: column.name)
def test_codes_are_those_of_the_definition(column):
    """Between a level, or the end of a range, and the next double there is nothing."""
    steps, ends = column.steps, [0.0, 1.0, 2.5, 4.0, -2.0, 3.0, 7.0]
    near = [math.nextafter(x, x + sign) for x in ends for sign in (-1, 1)]
    cells = np.array([*CELLS, *(near if column.name != "halves" else [])])
    places = steps.breaks.searchsorted(cells, side="right")
    found = zip(steps.codes[places].tolist(), (steps.marks[places] > 0).tolist(), strict=True)
    assert [*found] == [by_definition(column, x) for x in cells.tolist()]


@pytest.mark.parametrize("levels", [("a", 1), (1, WHOLE), (-WHOLE, 0), (math.inf,)])
def test_levels_that_doubles_cannot_tell_apart_have_no_steps(levels):
    assert LevelColumn("odd", "categorical", levels).steps is None
    assert LevelColumn("a", "integer", (WHOLE - 1,)).steps is not None
