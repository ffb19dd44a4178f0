"""Pieces of HTML: bars as long as the shares they stand for."""

import re

import numpy as np
import pytest

from hld.answers import html
from hld.answers.column_shifts import ColumnShift


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
        ("i" * 23, "i" * 23, False),
        ("W" * 100_000, "W" * 12 + "…", True),
        ("価" * 11, "価" * 11, False),
        ("価" * 20, "価" * 12 + "…", True),
        ("100000000 to 99999999", "100000000 to 99999999", True),
        ("2.89e+299 to 6.7e+299", "2.89e+299 to 6.7e+299", True),
        ("SELF-EMPLOYED, OTHER", "SELF-EMPLOYED, OT…", True),
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


def test_p_values_have_digits_enough_to_show_that_a_calm_column_is_above_the_level():
    half = np.array([0.5, 0.5])
    calm, moved = (
        ColumnShift(name, "categorical", ("a", "b"), half, half, 0.0, p, p, None)
        for name, p in (("calm", 0.05004), ("moved", 0.04996))
    )
    text = html.columns_table([calm, moved], 0.05)
    assert re.findall('<tr class="(\\w+)".*?<td>(.*?)</td>', text) == [
        ("calm", "p = 0.05004"),
        ("moved", "p = 0.05"),
    ]


def test_a_level_of_empty_text_has_a_name():
    half = np.array([0.5, 0.5])
    picture = html.histogram(
        ColumnShift("x", "categorical", ("", "b"), half, half, 0.0, 1.0, 1.0, None)
    )
    assert re.findall('<text class="label"[^>]*>(.*?)<title>(.*?)</title>', picture)[0] == (
        "&#x27;&#x27;",
        "",
    )
