"""Colours of pages: all that are named are there, and have the contrast that the module promises."""

import re

import pytest

from hld.reports.style import STYLE

TEXTS = [
    ("ink", "paper"),
    ("ink", "card"),
    ("soft", "paper"),
    ("soft", "card"),
    ("shift", "shift-soft"),
    ("calm", "calm-soft"),
    ("ink", "shift-soft"),
    ("ink", "calm-soft"),
    ("soft", "shift-soft"),
    ("soft", "calm-soft"),
    ("shift", "paper"),
    ("shift", "card"),
]
BARS = [(bar, ground) for bar in ("expected", "observed", "shift") for ground in ("card", "paper")]


def colours():
    """The colours of the three media by name; what a medium does not say is as on a light screen."""
    blocks = [
        dict(re.findall(r"--([\w-]+): ([^;]+);", block))
        for block in re.findall(r":root \{(.*?)\}", STYLE, re.S)
    ]
    assert len(blocks) == 3
    return dict(
        zip(
            ("light", "dark", "print"),
            [blocks[0], blocks[0] | blocks[1], blocks[0] | blocks[2]],
            strict=True,
        )
    )


def contrast(one, other):
    """That of two colours, by WCAG 2.2."""

    def luminance(colour):
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_contrasts_are_those_of_black_and_white():
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#fff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("medium", ["light", "dark", "print"])
def test_texts_and_bars_can_be_told_from_what_lies_behind_them(medium):
    named = colours()[medium]
    assert {pair for pair in TEXTS if contrast(*(named[name] for name in pair)) < 4.5} == set()
    assert {pair for pair in BARS if contrast(*(named[name] for name in pair)) < 3} == set()


def test_every_colour_is_named_in_all_media_and_nothing_is_fetched():
    light, dark, printed = (set(found) for found in colours().values())
    assert set(re.findall(r"var\(--([\w-]+)\)", STYLE)) <= light == dark == printed
    own = [
        set(re.findall(r"--([\w-]+):", block))
        for block in re.findall(r":root \{(.*?)\}", STYLE, re.S)
    ]
    assert own[0] == own[1] == own[2]  # no colour of a light screen is left over on a dark one
    assert not re.search(r"url\(|@import|</style", STYLE)


def test_braces_are_closed():
    depth = 0
    for letter in STYLE:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        assert depth in (0, 1, 2)
    assert depth == 0
