"""What pictures share: axes, labels that are cut, p-values in order."""

import matplotlib
import numpy as np
import pytest
from figures import drawn, new_axes

from hld.plots.figure import (
    SMALLEST,
    VERMILLION,
    axes,
    draw_pvalues,
    matplotlib_module,
    plain_frame,
    shortened,
)


def test_given_axes_are_used_and_what_is_none_is_refused():
    ax = new_axes()
    assert axes(ax) is ax
    for other in (ax.figure, np.array([ax]), "axes", 3):
        with pytest.raises(
            TypeError, match=f"`ax` must be axes of matplotlib, found {type(other).__name__}"
        ):
            axes(other)


def test_without_axes_a_figure_of_pyplot_is_made():
    pyplot = matplotlib_module("pyplot")
    before, ax = set(pyplot.get_fignums()), axes(None)
    assert set(pyplot.get_fignums()) - before == {ax.figure.number}
    pyplot.close(ax.figure)


def test_modules_of_matplotlib_are_found_and_missing_ones_explained():
    assert matplotlib_module("axes").Axes is matplotlib.axes.Axes
    with pytest.raises(
        ImportError, match=r"drawing needs matplotlib, .*: pip install 'hld\[plot\]'"
    ):
        matplotlib_module("no_such_module")


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("", 1, ""), ("ab", 1, "…"), ("ééé", 2, "é…")],
)
def test_long_labels_are_cut_to_so_many_letters(text, most, shown):
    assert shortened(text, most) == shown
    assert len(shown) <= most


@pytest.mark.parametrize("called", [[True, False, False, True], [False] * 4, [True] * 4])
def test_p_values_stand_in_order_shifts_as_triangles(called):
    pvalues, is_shift = np.array([0.0, 0.5, 1.0, 1e-3]), np.array(called)
    ax = new_axes()
    assert draw_pvalues(ax, pvalues, is_shift, 0.05) is ax
    calm, shifts, level = ax.lines
    for line, chosen in ((calm, ~is_shift), (shifts, is_shift)):
        expected = np.stack([np.arange(1, 5), [SMALLEST, 0.5, 1.0, 1e-3]], axis=1)[chosen]
        np.testing.assert_array_equal(line.get_xydata().reshape(-1, 2), expected)
    assert (calm.get_marker(), shifts.get_marker()) == ("o", "v")
    assert shifts.get_color() == VERMILLION
    assert set(level.get_ydata()) == {0.05}
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == [f"no shift ({4 - sum(called)})", f"shift ({sum(called)})", "level 0.05"]
    assert ax.get_yscale() == "log"
    assert ax.get_ylim()[0] < SMALLEST < 1 < ax.get_ylim()[1]
    drawn(ax)


def test_no_p_values_are_an_empty_picture():
    ax = new_axes()
    draw_pvalues(ax, np.zeros(0), np.zeros(0, dtype=bool), 0.01)
    assert ax.get_legend().get_texts()[0].get_text() == "no shift (0)"
    drawn(ax)


def test_a_plain_frame_is_open_above_and_to_the_right():
    ax = plain_frame(new_axes())
    assert {side for side, line in ax.spines.items() if line.get_visible()} == {"left", "bottom"}
