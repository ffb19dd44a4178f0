"""Pictures: what is drawn is what was given, and nothing else is touched."""

import sys

import numpy as np
import pytest
from figures import drawn, new_axes

from hld import plots
from hld.plots import charts
from hld.results.localization import Localization


@pytest.fixture
def ax():
    """Axes of a figure that pyplot does not know."""
    return new_axes()


@pytest.fixture
def pyplot():
    """The module, all figures closed before, as other tests may have left some, and afterwards."""
    from matplotlib import pyplot

    pyplot.close("all")
    yield pyplot
    pyplot.close("all")


def found(*scores):
    """A localisation with these scores."""
    return Localization((), np.array(scores, dtype=float))


def test_training_curve_starts_at_epoch_zero(ax):
    """History has one entry before the first epoch."""
    (line,) = plots.training_curve([-3.0, -2.5, -2.25], ax).lines
    np.testing.assert_array_equal(line.get_xydata(), [[0, -3.0], [1, -2.5], [2, -2.25]])
    assert drawn(ax).min() < 255


@pytest.mark.parametrize("history", [[], [[1.0, 2.0]], 3.0])
def test_training_curve_refuses_other_shapes(history, ax):
    """The shape is named."""
    with pytest.raises(ValueError, match=r"`history` has shape .*expected \(epochs \+ 1,\)"):
        plots.training_curve(history, ax)


def test_images_keep_their_place_and_their_frames(ax):
    """Picture i stands in line i // columns; one pixel around each picture belongs to none."""
    rows = np.arange(5 * 6).reshape(5, 6)
    grid = plots.images(rows, (2, 3), ax, num_columns=2).get_images()[0].get_array()
    assert grid.shape == (3 * 3 + 1, 2 * 4 + 1)
    for i in range(5):
        top, left = 1 + 3 * (i // 2), 1 + 4 * (i % 2)
        np.testing.assert_array_equal(grid[top : top + 2, left : left + 3], rows[i].reshape(2, 3))
    assert grid.mask[::3].all()
    assert grid.mask[:, ::4].all()
    assert grid.mask[7:, 5:].all()  # the sixth picture, of which there is none
    assert (~grid.mask).sum() == rows.size
    drawn(ax)


@pytest.mark.parametrize(
    ("rows", "shape", "message"),
    [
        (np.zeros((2, 5)), (2, 3), r"`rows` has shape \(2, 5\), expected \(N, 6\)"),
        (np.zeros((0, 6)), (2, 3), r"N of at least 1"),
        (np.zeros(6), (2, 3), r"`rows` has shape \(6,\)"),
        (np.zeros((2, 6)), (6,), r"`shape` is \(6,\), expected height and width"),
        (np.zeros((2, 6)), (0, 6), r"`shape\[0\]` must be a whole number of at least 1"),
    ],
)
def test_images_refuse_what_is_no_picture(rows, shape, message, ax):
    """Rows and shape must agree."""
    with pytest.raises(ValueError, match=message):
        plots.images(rows, shape, ax)


def test_images_refuse_no_columns(ax):
    """A grid has a column."""
    with pytest.raises(ValueError, match="`num_columns` must be a whole number of at least 1"):
        plots.images(np.zeros((1, 4)), (2, 2), ax, num_columns=0)


def test_localisation_map_shows_shares_on_a_scale_from_zero(ax):
    """Shares add up to one; pixels in reading order; the colours have a labelled scale."""
    (picture,) = plots.localisation_map(found(1, 2, 3, 4, 0, 0), (2, 3), ax).get_images()
    np.testing.assert_allclose(picture.get_array(), [[0.1, 0.2, 0.3], [0.4, 0, 0]], rtol=1e-12)
    assert picture.get_clim() == (0, 0.4)
    assert picture.colorbar.ax.get_ylabel() == "share of d²"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("pixel column", "pixel row")
    drawn(ax)


def test_localisation_map_of_no_difference_is_blank(ax):
    """All scores 0: no division."""
    (picture,) = plots.localisation_map(found(0, 0), (1, 2), ax).get_images()
    assert not picture.get_array().any()
    drawn(ax)


def test_localisation_map_refuses_another_number_of_pixels(ax):
    """The shape must have V pixels."""
    with pytest.raises(ValueError, match="`shape` is 2 x 2, but there are 3 variables"):
        plots.localisation_map(found(1, 2, 3), (2, 2), ax)


def test_variable_shares_are_ordered_from_the_top(ax):
    """The longest bar is first, and first is above."""
    plots.variable_shares(found(1, 6, 3), ["a", "b$_x$", "c" * 50], ax, top=2)
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([0.6, 0.3], rel=1e-12)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b$_x$", "c" * 31 + "…"]
    assert ax.yaxis_inverted()
    drawn(ax)


@pytest.mark.parametrize("name", ["$", "$\\frac$", "a_b^c", "%", "\\"])
def test_names_are_no_formulas(name, ax):
    """A dollar sign in a column's name is a dollar sign."""
    plots.variable_shares(found(1, 2), [name, "b"], ax)
    drawn(ax)


def test_variable_shares_refuse_other_names(ax):
    """One name for each variable, at least one bar."""
    with pytest.raises(ValueError, match="`names` has 1 entries, expected 2"):
        plots.variable_shares(found(1, 2), ["a"], ax)
    with pytest.raises(ValueError, match="`top` must be a whole number of at least 1, found 0"):
        plots.variable_shares(found(1, 2), ["a", "b"], ax, top=0)


def test_pvalues_are_split_at_the_level(ax):
    """p = alpha rejects, as in `HLDResult`; p = 0 stays on the logarithmic axis."""
    pvalues = [0.5, 0.05, 0.0, 1.0]
    plots.pvalues_over_time(pvalues, 0.05, ax)
    _, calm, shifted, level = ax.lines
    np.testing.assert_array_equal(calm.get_xydata(), [[1, 0.5], [4, 1.0]])
    np.testing.assert_array_equal(shifted.get_xydata(), [[2, 0.05], [3, charts.SMALLEST]])
    assert set(level.get_ydata()) == {0.05}
    assert calm.get_marker() != shifted.get_marker()  # shape says what colour says
    low, high = ax.get_ylim()
    assert low < charts.SMALLEST
    assert high > 1
    drawn(ax)


@pytest.mark.parametrize(
    ("pvalues", "alpha", "message"),
    [
        ([0.1, 1.1], 0.05, "`pvalues` must be a list of numbers from 0 to 1"),
        ([np.nan], 0.05, "`pvalues` must be a list of numbers from 0 to 1"),
        ([[0.1]], 0.05, r"`pvalues` has shape \(1, 1\)"),
        ([0.1], 0.0, "`alpha` must be a finite number above 0 and below 1"),
    ],
)
def test_pvalues_refuse_what_is_no_probability(pvalues, alpha, message, ax):
    """Both arguments are checked."""
    with pytest.raises(ValueError, match=message):
        plots.pvalues_over_time(pvalues, alpha, ax)


@pytest.mark.parametrize(
    "draw",
    [
        lambda **options: plots.training_curve([-2.0, -1.0], **options),
        lambda **options: plots.images(np.eye(4), (2, 2), **options),
        lambda **options: plots.localisation_map(found(1, 2), (1, 2), **options),
        lambda **options: plots.variable_shares(found(1, 2), ["a", "b"], **options),
        lambda **options: plots.pvalues_over_time([0.5], 0.05, **options),
    ],
    ids=["training_curve", "images", "localisation_map", "variable_shares", "pvalues_over_time"],
)
def test_without_axes_a_figure_of_pyplot_is_made(draw, pyplot, ax):
    """Given axes are used and returned, and no figure is left behind; else a notebook gets a new one."""
    assert draw(ax=ax) is ax
    assert not pyplot.get_fignums()
    own = draw()
    assert own.figure.number in pyplot.get_fignums()
    assert own is not draw()


def test_missing_matplotlib_is_explained(monkeypatch):
    """One sentence, with the command."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'hld\[plot\]'"):
        plots.new_figure((1, 1))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'hld\[plot\]'"):
        plots.training_curve([0.0])
