"""Rows under a condition: their law by enumeration of categories, with bins cut by hand."""

import itertools

import binomial_bounds
import naive
import numpy as np
import pytest

from hld.tables.drawing import condition_probability, cut_circuit, draw_rows
from hld.tables.schemas.columns import BinColumn, LevelColumn
from hld.tables.values import ValueTables, grids, value_tables
from pcircuit import Circuit, InnerRegion, InputRegion, VTree

COLUMNS = (
    LevelColumn("k", "categorical", ("a", "b")),
    BinColumn("x", (10.0, 20.0, 30.0), 0.0, 40.0),
    BinColumn("n", (2.0,), 0.0, 3.0),
)
UNIFORM = ValueTables(np.linspace(0, [40, 3], 65, axis=1), np.zeros(2))
X, WHOLE = np.linspace(0, 40, 101) + 0.001 * np.pi, np.array([0.0, 1.0, 1.0, 2.0, 3.0, 3.0])


@pytest.fixture(scope="module")
def circuit():
    """A mixture of two products; the third category of `k` is that of levels that training did not have."""
    return Circuit(
        VTree.from_nested([[0, 1], 2]),
        [
            InputRegion(0, [[0.6, 0.3, 0.1], [0.1, 0.7, 0.2]]),
            InputRegion(1, [[0.5, 0.25, 0.125, 0.125], [0.125, 0.125, 0.25, 0.5]]),
            InnerRegion([[0, 0], [1, 1]], np.eye(2)),
            InputRegion(2, [[0.25, 0.75], [0.5, 0.5]]),
            InnerRegion([[0, 0], [1, 1]], [[0.4, 0.6]]),
        ],
    )


def joint(circuit):
    """The probability of each state, by (k, x, n)."""
    return naive.values(circuit).reshape(circuit.num_categories)


def parts_of(circuit, cuts, v):
    """The cut circuit over the marks of one column, uniform in its bins."""
    return cut_circuit(circuit, COLUMNS, grids(COLUMNS, UNIFORM), {v: cuts})


def test_parts_of_a_bin_have_their_shares_of_its_probability(circuit):
    """Uniform in their bins: [0, 10) is cut into 2, 3 and 5 tenths, [20, 30) into halves, the others not at all."""
    fine = joint(parts_of(circuit, (2.0, 5.0, 25.0, 99.0), 1))
    coarse = joint(circuit)
    assert fine.shape == (3, 7, 2)
    np.testing.assert_allclose(
        fine,
        coarse[:, [0, 0, 0, 1, 2, 2, 3]] * np.array([0.2, 0.3, 0.5, 1, 0.5, 0.5, 1])[:, None],
        rtol=1e-12,
    )


def test_without_a_cut_it_is_the_same_circuit(circuit):
    assert cut_circuit(circuit, COLUMNS, grids(COLUMNS, UNIFORM), {}) is circuit
    outside = parts_of(circuit, (-5.0, 0.0, 10.0, 41.0), 1)
    np.testing.assert_allclose(joint(outside), joint(circuit), rtol=1e-12)


CONDITIONS = [
    ('k == "a"', lambda k, x, n: k == 0),
    ('k != "a"', lambda k, x, n: k > 0),
    ("x < 10", lambda k, x, n: x == 0),
    ('k == "a" and x < 20', lambda k, x, n: k == 0 and x < 2),
    ('k in ("a", "b") and x >= 10', lambda k, x, n: k < 2 and x > 0),
    ("x >= 10 and x < 30 and n < 2", lambda k, x, n: x in (1, 2) and n == 0),
]


@pytest.mark.parametrize(("text", "holds"), CONDITIONS)
def test_probabilities_are_sums_over_states(circuit, text, holds):
    """A level that training did not have is unequal to all that it had."""
    p = joint(circuit)
    expected = sum(
        p[state] for state in itertools.product(range(3), range(4), range(2)) if holds(*state)
    )
    assert condition_probability(circuit, COLUMNS, UNIFORM, text) == pytest.approx(
        expected, rel=1e-12
    )


@pytest.mark.parametrize(
    ("text", "share"), [("x < 4", 0.4), ("x >= 4 and x < 10", 0.6), ("x >= 4 and x < 5", 0.1)]
)
def test_a_part_of_a_bin_is_a_part_of_its_probability(circuit, text, share):
    expected = share * joint(circuit)[:, 0].sum()
    assert condition_probability(circuit, COLUMNS, UNIFORM, text) == pytest.approx(
        expected, rel=1e-9
    )


def test_a_condition_that_always_holds_has_probability_one_and_no_more():
    """Sums of probabilities are rounded, up to 4e-16 above one."""
    rng, column = np.random.default_rng(0), BinColumn("x", (1.0, 2.0, 3.0, 4.0), 0.0, 5.0)
    found, tables = [], ValueTables(np.linspace(0, 5, 65)[None], np.zeros(1))
    for _ in range(100):
        coin = Circuit(VTree([-1], [0]), [InputRegion(0, rng.dirichlet(np.ones(5), 1))])
        found.append(
            condition_probability(coin, (column,), tables, "x >= 0 and x != 0.7 and x != 3.3")
        )
    assert max(found) <= 1.0
    assert min(found) > 1 - 1e-12


@pytest.fixture(scope="module")
def tables():
    return value_tables(list(COLUMNS[1:]), [X, WHOLE])


@pytest.mark.parametrize(
    "text", [None, "n >= 2", 'k == "b" and x >= 4 and x < 30', "n in (1, 3) and x > 35"]
)
def test_rows_have_the_law_of_the_circuit_given_the_condition(circuit, tables, text):
    """How often a level, a bin and a number come, by the exact conditional probability."""
    num, given = (
        4000,
        1.0 if text is None else condition_probability(circuit, COLUMNS, tables, text),
    )
    rows = draw_rows(circuit, COLUMNS, tables, num, where=text, rng=1)
    assert rows.shape == (num, 3)
    for event, holds in (
        ('k == "b"', lambda row: row[0] == "b"),
        ("x < 10", lambda row: row[1] < 10),
        ("x >= 32.5", lambda row: row[1] >= 32.5),
        ("n == 3", lambda row: row[2] == 3),
    ):
        both = event if text is None else f"{text} and {event}"
        rate = min(condition_probability(circuit, COLUMNS, tables, both) / given, 1.0)
        count = sum(map(holds, rows))
        assert binomial_bounds.at_least(num, rate) <= count <= binomial_bounds.at_most(num, rate), (
            event
        )


def test_cells_are_python_values_none_for_unseen_levels(circuit, tables):
    rows = draw_rows(circuit, COLUMNS, tables, 500, rng=2)
    assert set(rows[:, 0]) == {"a", "b", None}
    assert {type(cell) for cell in rows[:, 1]} == {float}
    assert {(type(cell), cell) for cell in rows[:, 2]} == {(int, 0), (int, 1), (int, 2), (int, 3)}
    assert (
        None not in draw_rows(circuit, COLUMNS, tables, 500, where='k in ("a", "b")', rng=2)[:, 0]
    )


def test_one_seed_gives_the_same_rows_and_none_are_a_table_of_none(circuit, tables):
    one, same, other = (
        draw_rows(circuit, COLUMNS, tables, 20, where="x > 3", rng=seed).tolist()
        for seed in (3, 3, 4)
    )
    assert one == same != other
    for text in (None, "x > 3", "x > 3 and n < 2"):
        assert draw_rows(circuit, COLUMNS, tables, 0, where=text).shape == (0, 3)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        (
            {"where": "x > 99"},
            ValueError,
            "`where` has probability zero under the model, so there are no such rows",
        ),
        ({"where": "x > 99", "num_samples": 0}, ValueError, "`where` has probability zero"),
        ({"where": 3}, TypeError, "`where` is 3"),
        ({"where": "y > 1"}, ValueError, "names the column 'y'"),
        (
            {"num_samples": -1},
            ValueError,
            "`num_samples` must be a whole number of at least 0, found -1",
        ),
        ({"num_samples": 1.5}, TypeError, "`num_samples` must be a whole number"),
    ],
)
def test_what_cannot_be_drawn_is_refused(circuit, options, error, said):
    options = {"num_samples": 3, **options}
    with pytest.raises(error, match=said):
        draw_rows(circuit, COLUMNS, UNIFORM, options.pop("num_samples"), **options)
