"""Pieces of HTML: bars as long as the shares they stand for."""

import re

import numpy as np
import pytest
from pages import check_nesting

from hld.answers import reports as html
from hld.answers.column_shifts import ColumnShift
from hld.answers.plots import MOST_LEVELS, draw_columns, shown_levels


def test_the_largest_share_fills_the_width_and_the_others_their_part_of_it():
    column = ColumnShift(
        "x",
        "integer",
        ("0", "1", "(missing)"),
        np.array([0.5, 0.25, 0.25]),
        np.array([0.2, 0.8, 0.0]),
        0.1,
        0.1,
        0.8,
    )
    picture = html.histogram(column)
    bars = {
        kind: list(map(float, re.findall(rf'class="{kind}" style="width:([\d.]+)%"', picture)))
        for kind in ("expected", "observed")
    }
    np.testing.assert_allclose(bars["expected"], np.array([50, 25, 25]) / 0.8, atol=0.051)
    np.testing.assert_allclose(bars["observed"], np.array([20, 80, 0]) / 0.8, atol=0.051)
    assert "min-width: 1px" in html.STYLE  # a share of 0 is still seen


def test_names_of_levels_that_are_cut_are_whole_where_the_pointer_rests():
    picture = html.histogram(column([0.5, 0.5], [0.5, 0.5], ("<" * 50, " ")))
    check_nesting(picture)
    assert re.findall('<b title="(.*?)">(.*?)</b>', picture) == [
        ("&lt;" * 50, "&lt;" * 50),
        ("&#x27; &#x27;", "&#x27; &#x27;"),
    ]
    assert (
        ".histogram b { font-weight: 400; text-align: right; overflow: hidden; text-overflow: ellipsis"
        in html.STYLE
    )


def column(expected, observed, labels=None):
    labels = labels or (*map(str, range(len(expected) - 1)), "(missing)")
    return ColumnShift(
        "x", "categorical", labels, np.array(expected), np.array(observed), 0.1, 0.1, 0.8
    )


def test_levels_without_rows_are_not_shown():
    assert shown_levels(column([0.5, 0.0, 0.5, 0.0], [0.0, 0.0, 0.9, 0.1])) == [0, 2, 3]


def test_of_many_levels_the_largest_changes_are_shown_in_their_order():
    rng = np.random.default_rng(0)
    expected, observed = rng.dirichlet(np.ones(30), 2)
    expected[29] = observed[29] = 0.0
    shown = shown_levels(column(expected, observed))
    changes = np.abs(expected - observed)
    assert len(shown) == MOST_LEVELS
    assert shown == sorted(shown)
    assert changes[shown].min() >= np.delete(changes, shown).max()


@pytest.mark.parametrize(("count", "panels"), [(1, 1), (3, 3), (4, 6), (5, 6)])
def test_panels_without_a_column_are_not_seen(count, panels):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    draw_columns(
        figure, tuple(column([0.5, 0.5, 0.0], [0.2, 0.8, 0.0]) for _ in range(count + 2)), count
    )
    assert len(figure.axes) == panels
    assert [ax.get_visible() for ax in figure.axes] == [True] * count + [False] * (panels - count)
