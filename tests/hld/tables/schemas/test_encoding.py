"""Codes of a table in every form, and what the encoder met in its parts: as if each had been encoded alone."""

import math

import numpy as np
import pandas as pd
import pytest

import hld
from hld.tables.schemas.columns import BinColumn, LevelColumn
from hld.tables.schemas.encoding import (
    LARGEST,
    level_lookup,
    look_up,
    reports_of_parts,
    step_codes,
    step_tables,
)
from hld.tables.schemas.learn_schema import fit_encoder
from hld.tables.schemas.rare_levels import digests_of


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
    found = reports_of_parts(encoder.columns, codes, marks, starts)
    for report, start, stop in zip(found, starts, [*starts[1:], 60], strict=True):
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


def found(column, *cells, **options):
    """Categories and positions of odd cells."""
    values = np.empty(len(cells), dtype=object)
    values[:] = cells
    codes, odd = look_up(column, level_lookup(column), values, **options)
    assert codes.dtype == np.int32
    return codes.tolist(), odd


WORDS = LevelColumn("word", "categorical", ("", "a", "b"), rare=digests_of(["c"]))
NUMBERS = LevelColumn("number", "integer", (0, 1, 5))


def test_texts_among_numbers_are_odd_or_refused():
    assert found(NUMBERS, 5, "5", "x", 5, "x", is_strict=False) == ([2, 3, 3, 2, 3], [1, 2, 4])
    with pytest.raises(
        TypeError, match=r"`table` column 'number' holds text \('x'\).*, expected numbers"
    ):
        found(NUMBERS, 5, "x")
    for cell in ([1], {"a": 1}, (1, 2)):
        for is_strict in (True, False):
            with pytest.raises(
                TypeError, match=f"`table` column 'word' holds a {type(cell).__name__}"
            ):
                found(WORDS, "a", cell, is_strict=is_strict)


def test_cells_that_stand_for_no_row_are_not_looked_at():
    """Categories of a frame that none of its rows has may be anything."""
    assert found(NUMBERS, "text", 5, "more", used=np.array([0, 3, 0]))[0][1] == 2
    with pytest.raises(TypeError, match="'number' holds text"):
        found(NUMBERS, "text", 5, used=np.array([1, 3]))


STEPPED = (
    BinColumn("bins", (1.0, 2.5), 0.0, 4.0),
    LevelColumn("levels", "integer", (-2, 0, 3)),
    LevelColumn("halves", "categorical", (0.5, 1.5, 7)),
)
CELLS = np.array(
    [-math.inf, -2.0, -0.5, -0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 4.5, 7.0, math.inf, math.nan]
)


def by_definition(column, x):
    """Category, and whether the value is beyond the training range."""
    if math.isnan(x):
        return -1, False
    if isinstance(column, BinColumn):
        return sum(edge <= x for edge in column.edges), not column.low <= x <= column.high
    return column.levels.index(x) if x in column.levels else len(column.levels), False


def stepped(which, values, num_rows):
    """Codes and flags of some of `STEPPED`, 9 in the others, and the numbers of values beyond."""
    codes, beyond = np.full((num_rows, len(STEPPED)), 9), np.full((num_rows, len(STEPPED)), 9)
    counts = step_codes(step_tables(STEPPED), which, values, codes, beyond)
    return codes, beyond, counts


@pytest.mark.parametrize("which", [[0, 1, 2], [2, 0, 1], [1], [2, 0]])
@pytest.mark.parametrize("num_rows", [0, 1, 40_000])
def test_codes_are_those_of_the_definition(which, num_rows):
    """All of the columns in another order had been written as if they were in the order of the table."""
    rng = np.random.default_rng(num_rows)
    values = [rng.choice(CELLS, num_rows) for _ in which]
    codes, beyond, counts = stepped(which, values, num_rows)
    for v, column in zip(which, values, strict=True):
        expected = {x: by_definition(STEPPED[v], x) for x in CELLS[:-1].tolist()}
        pairs = np.array([expected.get(x, (-1, False)) for x in column.tolist()]).reshape(-1, 2)
        np.testing.assert_array_equal(codes[:, v], pairs[:, 0])
        np.testing.assert_array_equal(beyond[:, v], pairs[:, 1])
        assert counts[which.index(v)] == pairs[:, 1].sum()
    others = [v for v in range(len(STEPPED)) if v not in which]
    assert (codes[:, others] == 9).all()
    assert (beyond[:, others] == 9).all()


def test_a_break_belongs_to_the_value_and_not_to_its_neighbours():
    """Between a level, or the end of a range, and the next double there is nothing."""
    columns = BinColumn("b", (1.0,), 0.0, 2.0), LevelColumn("v", "integer", (1, 2))
    tables, near = (
        step_tables(columns),
        [math.nextafter(x, x + sign) for x in (0.0, 1.0, 2.0) for sign in (-1, 0, 1)],
    )
    codes = np.empty((9, 2), dtype=int)
    flags = np.empty((9, 2), dtype=int)
    step_codes(tables, [0, 1], [np.array(near)] * 2, codes, flags)
    assert codes.T.tolist() == [[0, 0, 0, 0, 1, 1, 1, 1, 1], [2, 2, 2, 2, 0, 2, 2, 1, 2]]
    assert flags[:, 0].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("levels", [("a", 1), (1, LARGEST), (-LARGEST, 0), (math.inf,)])
def test_levels_that_doubles_cannot_tell_apart_have_no_steps(levels):
    ordered = tuple(sorted(levels, key=lambda level: (type(level).__name__, level)))
    tables = step_tables((LevelColumn("odd", "categorical", ordered), STEPPED[0]))
    assert tables.breaks[0] is None
    codes = np.full((3, 2), 9)
    assert step_codes(tables, [1], [np.array([0.5, 3.0, 9.0])], codes).tolist() == [1]
    assert codes.tolist() == [[9, 0], [9, 2], [9, 2]]
    assert step_tables((LevelColumn("a", "integer", (LARGEST - 1,)),)).breaks[0] is not None
