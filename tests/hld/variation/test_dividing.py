"""Which rows are learned from: by chance, by whole groups, or the first half in time; and what is refused."""

import numpy as np
import pytest

from hld.references.groups import split_groups
from hld.tables.cells import read_table
from hld.testing.variation.dividing import FEWEST_ROWS, divide, split_rows


def table(n, **more):
    return read_table({"x": np.arange(n) % 3, **more})


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("reference", ["auto", "held-out", "training", "circuit"])
def test_independent_rows_are_divided_by_chance(reference):
    columns = table(31)
    found, (learned, kept), labels = divide(columns, None, None, reference, rng())
    expected = split_rows(31, reference, rng())
    assert found is columns
    assert labels is None
    assert learned.tolist() == expected[0].tolist()
    assert (kept is None) == (expected[1] is None) == (reference == "circuit")
    assert kept is None or kept.tolist() == expected[1].tolist()


@pytest.mark.parametrize("n", [120, 121])
@pytest.mark.parametrize("reference", ["auto", "held-out"])
def test_in_order_of_time_the_first_half_is_learned_from(n, reference):
    columns = table(n)
    found, (learned, kept), labels = divide(columns, None, "time", reference, rng())
    assert (found, labels) == (columns, None)
    assert learned.tolist() == list(range(60))
    assert kept.tolist() == list(range(60, n))


@pytest.mark.parametrize(
    ("groups", "names"), [("day", ("x", "y")), (1, ("x", "y")), ("labels", ("x", "day", "y"))]
)
def test_groups_are_whole_on_one_side_and_their_column_is_left_out(groups, names):
    day = np.array([f"day {k}" for k in np.random.default_rng(1).permutation(np.arange(60) % 8)])
    columns = table(60, day=day, y=np.arange(60) % 2)
    found, (learned, kept), labels = divide(
        columns, day if groups == "labels" else groups, None, "auto", rng()
    )
    assert found.names == names
    assert [f"day {k}" for k in labels] == day.tolist()
    assert sorted([*learned, *kept]) == list(range(60))
    assert not set(day[learned]) & set(day[kept])
    assert [one.tolist() for one in split_groups(labels, rng())] == [
        learned.tolist(),
        kept.tolist(),
    ]


@pytest.mark.parametrize(
    ("groups", "order", "reference", "said"),
    [
        (None, "month", "auto", r"`order` must be 'time' .* or None, found 'month'"),
        (None, 1, "auto", r"`order` must be 'time' .* or None, found 1"),
        (None, np.arange(200), "auto", r"`order` must be 'time' .* or None, found array"),
        (
            "x",
            "time",
            "auto",
            "`order` and `groups` are two ways to say how rows depend on one another",
        ),
        (None, "time", "training", "use reference='held-out', found reference='training'"),
        ("x", None, "circuit", "use reference='held-out', found reference='circuit'"),
        ("x", None, "training", "use reference='held-out', found reference='training'"),
        ("y", None, "auto", "`groups` names the column 'y', expected one of 'x'"),
        (np.arange(200) % 2, None, "auto", "`groups` names 2 groups, expected at least 3"),
        (
            "x",
            None,
            "auto",
            "`groups` names the only column of `table`: there must be others to learn",
        ),
    ],
)
def test_what_cannot_be_divided_is_refused(groups, order, reference, said):
    with pytest.raises(ValueError, match=said):
        divide(table(200), groups, order, reference, rng())


def test_half_of_too_few_rows_cannot_be_held_out():
    with pytest.raises(ValueError, match="half of them are held out"):
        split_rows(FEWEST_ROWS - 1, "held-out", rng())


def test_half_a_series_must_have_stretches():
    with pytest.raises(
        ValueError, match="`table` has 119 rows, expected at least 120 with order='time'"
    ):
        divide(table(119), None, "time", "auto", rng())
