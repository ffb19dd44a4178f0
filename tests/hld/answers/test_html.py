"""Pieces of HTML: bars as long as the shares they stand for."""

import re
from dataclasses import replace

import numpy as np
import pytest

import hld
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
        0.55,
        0.1,
        0.1,
        0.8,
    )
    picture = html.histogram(column)
    bars = {
        kind: [
            float(width) for width in re.findall(rf'class="{kind}" [^>]*width="([\d.]+)"', picture)
        ]
        for kind in ("expected", "observed")
    }
    reach = html.WIDTH - html.LABEL - 96
    assert bars["observed"][1] == reach
    np.testing.assert_allclose(
        bars["expected"], np.array([0.5, 0.25, 0.25]) / 0.8 * reach, atol=0.051
    )
    assert bars["observed"][0] == pytest.approx(0.2 / 0.8 * reach, abs=0.051)
    assert 0 < bars["observed"][2] < 1  # a share of 0 is still seen


@pytest.mark.parametrize(
    ("label", "shown", "is_squeezed"),
    [
        ("short", "short", False),
        ("a" * 21, "a" * 21, True),
        ("a" * 22, "a" * 20 + "…", True),
        ("価" * 11, "価" * 11, False),
        ("価" * 20, "価" * 12 + "…", True),
        ("2.89e+299 to 6.7e+299", "2.89e+299 to 6.7e+299", True),
    ],
)
def test_names_of_levels_end_before_their_bars(label, shown, is_squeezed):
    half = np.array([0.5, 0.5])
    picture = html.histogram(
        ColumnShift("x", "categorical", (label, "b"), half, half, 0.0, 1.0, 1.0, None)
    )
    attributes, text, title = re.search(
        '<text class="label"([^>]*)>(.*?)<title>(.*?)</title>', picture
    ).groups()
    assert (text, title) == (shown, label)
    assert ("textLength" in attributes) is is_squeezed


def column(expected, observed):
    labels = (*map(str, range(len(expected) - 1)), "(missing)")
    return ColumnShift(
        "x", "categorical", labels, np.array(expected), np.array(observed), 0.1, 0.1, 0.1, 0.8
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


def test_long_names_leave_room_for_the_bars(tmp_path):
    pytest.importorskip("matplotlib")
    from hld.answers.plots import new_figure

    figure = new_figure((3.6, 2.8))
    draw_columns(
        figure, (replace(column([0.5, 0.5, 0.0], [0.2, 0.8, 0.0]), name="größe_$" * 30),), 1
    )
    figure.savefig(tmp_path / "long.png")  # a warning of collapsed axes would be an error here
    assert figure.axes[0].get_position().width > 0.5


@pytest.mark.parametrize("top", [0, -1, 1.5, "3", True])
def test_a_result_draws_a_whole_number_of_columns(top):
    table = np.random.default_rng(0).integers(0, 2, size=(60, 2))
    result = hld.HLDDetector(num_epochs=1).fit(table).test(table[:20])
    with pytest.raises((TypeError, ValueError), match="`top` must be a whole number of at least 1"):
        result.plot(top=top)
