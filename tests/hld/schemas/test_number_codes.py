"""Numbers to categories by step functions: against the definition of bins and levels, in blocks and in any order."""

import math

import numpy as np
import pytest

from hld.schemas.columns import BinColumn, LevelColumn
from hld.schemas.number_codes import LARGEST, step_codes, step_tables

COLUMNS = (
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


def found(which, values, num_rows):
    """Codes and flags of some of `COLUMNS`, 9 in the others, and the numbers of values beyond."""
    codes, beyond = np.full((num_rows, len(COLUMNS)), 9), np.full((num_rows, len(COLUMNS)), 9)
    counts = step_codes(step_tables(COLUMNS), which, values, codes, beyond)
    return codes, beyond, counts


@pytest.mark.parametrize("which", [[0, 1, 2], [2, 0, 1], [1], [2, 0]])
@pytest.mark.parametrize("num_rows", [0, 1, 40_000])
def test_codes_are_those_of_the_definition(which, num_rows):
    """All of the columns in another order had been written as if they were in the order of the table."""
    rng = np.random.default_rng(num_rows)
    values = [rng.choice(CELLS, num_rows) for _ in which]
    codes, beyond, counts = found(which, values, num_rows)
    for v, column in zip(which, values, strict=True):
        expected = {x: by_definition(COLUMNS[v], x) for x in CELLS[:-1].tolist()}
        pairs = np.array([expected.get(x, (-1, False)) for x in column.tolist()]).reshape(-1, 2)
        np.testing.assert_array_equal(codes[:, v], pairs[:, 0])
        np.testing.assert_array_equal(beyond[:, v], pairs[:, 1])
        assert counts[which.index(v)] == pairs[:, 1].sum()
    others = [v for v in range(len(COLUMNS)) if v not in which]
    assert (codes[:, others] == 9).all()
    assert (beyond[:, others] == 9).all()


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, np.float32])
def test_numbers_of_any_dtype_are_compared_by_value(dtype):
    values = np.array([0, 1, 1, 0], dtype=dtype)
    codes, _, counts = found([0, 1, 2], [values] * 3, 4)
    assert codes.tolist() == [[0, 1, 3], [1, 3, 3], [1, 3, 3], [0, 1, 3]]
    assert counts.tolist() == [0, 0, 0]


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
    tables = step_tables((LevelColumn("odd", "categorical", ordered), COLUMNS[0]))
    assert tables.breaks[0] is None
    codes = np.full((3, 2), 9)
    assert step_codes(tables, [1], [np.array([0.5, 3.0, 9.0])], codes).tolist() == [1]
    assert codes.tolist() == [[9, 0], [9, 2], [9, 2]]
    assert step_tables((LevelColumn("a", "integer", (LARGEST - 1,)),)).breaks[0] is not None
