"""The picture of a null law: the p-values of results over edges of bars, with the threshold among these."""

import numpy as np
import pytest
import zoo
from figures import drawn, new_axes
from scipy.stats import chi2

import hld
import pcircuit
from hld import plots
from hld.plots.null_picture import NUM_BARS, null_tail


@pytest.fixture
def ax():
    """Axes of a figure that pyplot does not know."""
    return new_axes()


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
    assert f"p = {result.pvalue:.2g}" in ax.get_legend().get_texts()[0].get_text()
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
    [{}, {"tolerance": 0.05}, {"num_train": 100}, {"null": "auto", "num_resamples": 199, "rng": 0}],
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


@pytest.mark.parametrize("rows", [[[0, 0]] * 3, [[1, 1]] * 3, [[-1, -1]] * 3], ids=str)
def test_a_law_without_variance_is_drawn_all_the_same(rows, ax):
    test = hld.HLDTest(zoo.independent([[1.0, 0.0], [1.0, 0.0]]))
    result = test(rows)
    plots.null_law(test, result, ax)
    assert ax.lines[0].get_xdata()[0] == result.statistic
    assert np.isfinite(ax.get_ylim()).all()
    drawn(ax)


def test_what_is_no_test_and_no_result_is_named(ax):
    test = hld.HLDTest(zoo.circuits()["two_coins"])
    result = test([[0, 1]])
    with pytest.raises(TypeError, match="`test` must be an HLDTest, found int"):
        plots.null_law(3, result, ax)
    with pytest.raises(TypeError, match="`result` must be an HLDResult, found float"):
        plots.null_law(test, 0.5, ax)
    assert not ax.patches


@pytest.mark.parametrize(("rows", "said"), [(1, "a batch of 1 row"), (3, "a batch of 3 rows")])
def test_one_row_is_not_said_to_be_rows(rows, said, ax):
    test = hld.HLDTest(zoo.circuits()["two_coins"])
    assert plots.null_law(test, test([[0, 1]] * rows), ax).get_xlabel().endswith(said)


def test_a_p_value_that_is_a_bound_is_drawn_as_one(ax):
    test = hld.HLDTest(zoo.independent([[0.3, 0.7]]))
    result = test([[0]] * 4000)
    assert result.pvalue == 1e-300
    plots.null_law(test, result, ax)
    assert ax.get_legend().get_texts()[0].get_text() == "this batch: p < 1e-300"


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
    assert said == [f"this batch: p = {result.pvalues[0]:.2g}", "no shift", f"level {level:.3g}"]
    tail = null_tail(detector.test_, result)[1]
    assert tail[NUM_BARS] == pytest.approx(level, rel=0.01)  # of rows without holes
