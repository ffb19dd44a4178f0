"""Pictures of a page: the law of a distance, the batch in it, and shares of pairs as tables of colour."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from pages import check_nesting, table_rows

from hld.metrics.named import METRICS
from hld.reports.pictures import BASE, HEIGHT, PLAIN, REACH, WIDTH, heat_tables, null_curve
from hld.testing.null_curves import NullCurve


def test_every_metric_has_a_name_in_words():
    assert set(METRICS) <= set(PLAIN)


def test_the_tail_begins_at_the_curve():
    curve = NullCurve(
        "euclidean",
        np.array([0.0, 0.5, 0.9, 1.1, 1.5]),
        np.array([0.0, 1.0, 0.6, 0.2, 0.0]),
        0.4,
        0.9,
    )
    first, second = re.search(r'class="tail" points="(\S+) (\S+)', null_curve(curve, 0.05)).groups()
    (x, base), (same, top) = (map(float, point.split(",")) for point in (first, second))
    assert same == x
    assert abs((base - top) / 78 - 0.4) < 1e-3  # halfway between 0.6 and 0.2


def curve(x, density, observed=0.5, pvalue=0.3, metric="euclidean"):
    return NullCurve(metric, np.array(x, float), np.array(density, float), observed, pvalue)


def points(text, kind):
    """The corners of a polygon."""
    found = re.search(rf'class="{kind}" points="([^"]*)"', text)
    return (
        None
        if found is None
        else [tuple(map(float, point.split(","))) for point in found[1].split()]
    )


@pytest.mark.parametrize(
    "x", [[0.1, 0.5, 1.5], [0.1, 0.5, 1.5, 3.0, 9.0], [0.5, 2.2], [3.0, 9.0, 20.0], [0.3, 0.7, 5.0]]
)
def test_the_curve_is_cut_where_the_axis_ends(x):
    """A curve that begins beyond the axis was an error; one that went on beyond it ended before the axis did."""
    density = np.linspace(1.0, 0.25, len(x))
    text = null_curve(curve(x, density), 0.05)
    check_nesting(text)
    corners = points(text, "density")
    assert corners[0][1] == corners[-1][1] == BASE
    end = min(x[-1], REACH)
    assert corners[-2] == pytest.approx(
        (end / REACH * (WIDTH - 20) + 10, BASE - 78 * np.interp(end, x, density)), abs=0.051
    )
    assert all(0 <= a <= WIDTH and 0 <= b <= HEIGHT for a, b in corners)
    tail = points(text, "tail")
    assert (tail is None) == (end <= 1)
    if tail is not None:
        critical = (WIDTH - 20) / REACH + 10
        assert tail[0][0] == tail[1][0] == pytest.approx(critical, abs=0.051)
        assert tail[-2:] == corners[-2:]


@pytest.mark.parametrize(
    ("observed", "place", "said"),
    [
        (0.0, "10.0", "this batch"),
        (1.0, "191.8", "this batch"),
        (REACH, "410.0", "this batch"),
        (2.3, None, "this batch, 2.3 times the critical distance"),
        (None, None, "this batch, far beyond"),
    ],
)
def test_the_batch_is_a_line_at_its_distance_or_an_arrow_beyond_the_axis(observed, place, said):
    text = null_curve(curve([0.1, 1, 2], [1, 0.5, 0.1], observed), 0.01)
    mark = re.search(r'class="mark" x1="([^"]*)"', text)[1]
    assert (mark == place) == (place is not None)
    assert ('class="arrow"' in text) == (place is None)
    assert f">{said}</text>" in text
    assert ">level 0.01</text>" in text


def test_a_metric_without_a_name_in_words_is_escaped():
    text = null_curve(curve([0.1, 1, 2], [1, 0.5, 0.1], metric="<own>", pvalue=1e-310), 0.05)
    assert "<h3>&lt;own&gt;</h3>" in text
    assert 'aria-label="&lt;own&gt;: p &lt; 1e-300"' in text


def test_shares_of_pairs_are_two_tables_the_darkest_cell_that_of_most_rows():
    pair = SimpleNamespace(
        labels=(("<a>", "b"), ("u", "v", "w")),
        expected_table=np.array([[0.1, 0.2, 0], [0.3, 0.4, 0]]),
        observed_table=np.array([[0.8, 0.0, 0], [0.0, 0.1, 0.1]]),
    )
    text = heat_tables(pair)
    check_nesting(text)
    assert re.findall("<caption>(.*?)</caption>", text) == ["expected", "observed"]
    assert table_rows(text) == [
        ["", "u", "v", "w"],
        ["<a>", "10%", "20%", "0%"],
        ["b", "30%", "40%", "0%"],
        ["", "u", "v", "w"],
        ["<a>", "80%", "0%", "0%"],
        ["b", "0%", "10%", "10%"],
    ]
    shades = [float(shade) for shade in re.findall(r"var\(--heat\),([\d.]+)", text)]
    shares = np.concatenate([pair.expected_table.ravel(), pair.observed_table.ravel()])
    np.testing.assert_allclose(shades, shares / 0.8 / 2, atol=5.1e-4)


def test_a_pair_without_rows_has_no_shade():
    none = np.zeros((1, 1))
    text = heat_tables(
        SimpleNamespace(labels=(("a",), ("b",)), expected_table=none, observed_table=none)
    )
    assert re.findall(r"var\(--heat\),([\d.]+)", text) == ["0.000", "0.000"]


def test_a_level_of_empty_text_heads_its_cells():
    table = np.full((2, 1), 0.5)
    text = heat_tables(
        SimpleNamespace(labels=(("", "a"), (" ",)), expected_table=table, observed_table=table)
    )
    assert re.findall('<th scope="row">(.*?)</th>', text)[:2] == ["&#x27;&#x27;", "a"]
    assert re.findall('<th scope="col">(.*?)</th>', text)[0] == "&#x27; &#x27;"
