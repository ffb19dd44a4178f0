"""Pictures: what is drawn is what was given, and nothing else is touched."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import zoo
from figures import drawn, new_axes
from scipy.stats import chi2

import hld
import pcircuit
from hld import plots
from hld.answers.plots import (
    NUM_BARS,
    SMALLEST,
    VERMILLION,
    draw_segments,
    null_tail,
)
from hld.answers.words import p_text
from hld.witnesses.localization import Localization


@pytest.fixture
def ax():
    """Axes of a figure that pyplot does not know."""
    return new_axes()


def found(*scores):
    """A localisation with these scores."""
    return Localization((), np.array(scores, dtype=float))


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


def test_what_is_no_picture_is_refused(ax):
    for shape, message in (
        ((2, 3), "`shape` is 2 x 3, but there are 5 variables"),
        ((0, 6), "`shape` must be a whole number of at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            plots.images(np.zeros((2, 5)), shape, ax)
        with pytest.raises(ValueError, match=message):
            plots.localisation_map(found(1, 2, 3, 4, 5), shape, ax)
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


def test_variable_shares_are_ordered_from_the_top(ax):
    """The longest bar is first, and first is above."""
    plots.variable_shares(found(1, 6, 3), ["a", "b$_x$", "c" * 50], ax, top=2)
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([0.6, 0.3], rel=1e-12)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b$_x$", "c" * 31 + "…"]
    assert ax.yaxis_inverted()
    drawn(ax)


def test_missing_matplotlib_is_explained(monkeypatch):
    """One sentence, with the command."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'hld\[plot\]'"):
        plots.new_figure((1, 1))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'hld\[plot\]'"):
        plots.images([[0.0]], (1, 1))


@pytest.mark.parametrize("called", [[True, False, False, True], [False] * 4, [True] * 4])
def test_p_values_of_segments_stand_in_order_shifts_as_triangles(called):
    pvalues, is_shift = np.array([0.0, 0.5, 1.0, 1e-3]), np.array(called)
    found = SimpleNamespace(
        adjusted=pvalues, reject=is_shift, alpha=0.05, by="$day", labels=("$0-$10", "b", "c", "$^$")
    )
    ax = new_axes()
    assert draw_segments(found, ax) is ax
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
    assert ax.get_xlabel() == "segment of $day, $0-$10 to $^$"
    drawn(ax)  # dollars are no formula


@pytest.mark.parametrize("null", ["exact", "normal", "monte-carlo", "auto"])
def test_the_null_law_is_drawn_from_p_values(null, ax):
    """The bars have area 1, those above the threshold the area alpha, and the line stands at the statistic."""
    circuit = pcircuit.rat_spn([3] * 6, num_units=2, depth=1, rng=0)
    test = hld.HLDTest(circuit, null=null, rng=0, num_resamples=199)
    result = test(pcircuit.sample(circuit, 20, rng=1))
    plots.null_law(test, result, ax)
    area = sum(bar.get_width() * bar.get_height() for bar in ax.patches)
    tail = sum(
        bar.get_width() * bar.get_height()
        for bar in ax.patches
        if bar.get_x() >= result.threshold * (1 - 1e-9)
    )
    above_zero = (
        1.0 if null != "normal" else test.calibration.null.pvalue(np.zeros(1), 20).value
    )  # of squares
    assert area == pytest.approx(above_zero, abs=0.02)
    assert tail == pytest.approx(result.alpha, abs=0.015)
    assert ax.lines[0].get_xdata()[0] == result.statistic
    assert p_text(result.pvalue) in ax.get_legend().get_texts()[0].get_text()
    drawn(ax)


def test_a_far_statistic_is_on_the_page_and_several_metrics_are_refused(ax):
    """However far away; the law of several metrics is not one law."""
    circuit = pcircuit.rat_spn([3] * 6, num_units=2, depth=1, rng=0)
    test = hld.HLDTest(circuit)
    result = test([[0] * 6] * 500)
    plots.null_law(test, result, ax)
    assert ax.get_xlim()[1] > result.statistic
    assert len(ax.patches) < 200
    drawn(ax)
    several = hld.HLDTest(circuit, metric=("euclidean", "standardized"))
    with pytest.raises(ValueError, match="draw the law of a test with one of them"):
        plots.null_law(several, several([[0] * 6]), ax)


@pytest.mark.parametrize(
    "options",
    [{}, {"num_train": 100}, {"null": "auto", "num_resamples": 199, "rng": 0}],
    ids=str,
)
@pytest.mark.parametrize("shifted", [False, True])
def test_the_tail_is_the_p_value_of_a_batch_with_that_distance(options, shifted):
    circuit = zoo.circuits()["rat_like"]
    test = hld.HLDTest(circuit, **options)
    rows = (
        np.zeros((30, circuit.num_variables), dtype=int)
        if shifted
        else pcircuit.sample(circuit, 30, rng=0)
    )
    result = test(rows)
    edges, tail = null_tail(test, result)
    assert (np.diff(edges) > 0).all()
    assert edges[0] == 0
    assert edges[-1] > result.statistic
    assert edges[NUM_BARS] == pytest.approx(result.threshold, rel=1e-12)
    assert tail[NUM_BARS - 1] >= result.alpha >= tail[NUM_BARS + 1]
    assert (tail[0], tail[-1] < 0.05) == (pytest.approx(1), True)
    assert (np.diff(tail) <= 1e-12).all()
    place = np.searchsorted(edges, result.statistic)
    drawn_at_least = 1 / 200 if "num_resamples" in options else 0.0  # where results go on by a law
    assert tail[place - 1] + 1e-9 >= result.pvalue >= tail[place] - drawn_at_least - 1e-9


def test_one_coin_has_the_tail_of_one_chi_square():
    """d = |mean - p| (1 - 2 p) of one node; (d / s)^2 T is chi-square with one degree of freedom."""
    circuit = zoo.independent([[0.3, 0.7]])
    test = hld.HLDTest(circuit)
    edges, tail = null_tail(test, test([[1]] * 40))
    s = 0.4 * np.sqrt(0.21 / 40)
    np.testing.assert_allclose(tail, chi2.sf((edges / s) ** 2, 1), rtol=1e-9)


def test_p_value_and_level_are_those_of_the_distance_where_others_share_the_level(ax, rng):
    """A detector's p-value of 0.087 stood at a distance beyond which 0.8 of all batches are."""
    table = rng.integers(0, 3, size=(400, 2)).astype(float)
    table[rng.random(table.shape) < 0.1] = np.nan
    detector = hld.HLDDetector(num_latents=2, num_epochs=2, metric="euclidean", null="exact").fit(
        table
    )
    batch = table[:60].copy()
    batch[:20, 0] = np.nan
    result = detector.test(batch)
    share = result.data_quality.missingness.share + result.data_quality.new_values.share
    level = (1 - share) * result.scaled_alpha
    assert result.pvalue < 0.01 < 0.05 * (1 - share) <= level < 0.05 < result.pvalues[0]
    plots.null_law(detector.test_, result, ax)
    said = [text.get_text() for text in ax.get_legend().get_texts()]
    assert said == [f"this batch: {p_text(result.pvalues[0])}", "no shift", f"level {level:.3g}"]
    tail = null_tail(detector.test_, result)[1]
    assert tail[NUM_BARS] == pytest.approx(level, rel=0.01)  # of rows without holes
