"""Results in words, frames, notebooks and pictures."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import hld
from hld.answers.reports import batch_report
from hld.answers.words import (
    least_text,
    p_text,
)


def table(rng, number):
    kind = rng.integers(0, 3, number)
    return pd.DataFrame(
        {
            "<kind>": np.array(list("abc"))[kind],
            "x": rng.normal(2 * kind),
            "n": rng.integers(0, 4, number),
        }
    )


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(num_epochs=8, num_latents=3).fit(table(np.random.default_rng(0), 1500))


@pytest.fixture(scope="module")
def result(detector):
    rng = np.random.default_rng(1)
    batch = table(rng, 400)
    batch["x"] = rng.permutation(batch["x"]) + 3
    return detector.test(batch)


def test_words(result):
    lines = str(result).splitlines()
    assert lines[0].startswith("shift: p ")
    assert "statistic" not in str(result)
    assert "effect size" in lines[0]
    assert lines[1].startswith("1 of 3 columns moved")
    assert lines[2].split()[0] == "x"
    assert " higher, " in lines[2]
    assert lines[3].startswith("dependence changed in 1 of 2 pairs")
    assert "<kind> and x" in lines[4]
    assert " weaker, " in lines[4]
    assert repr(result) == lines[0]


def test_a_moved_column_of_a_batch_without_a_shift_is_told(detector, result):

    assert str(replace(result, reject=False)).splitlines()[0].endswith(", yet:")


def test_a_dependence_that_few_rows_show_is_told():
    rng = np.random.default_rng(5)
    first = rng.integers(0, 4, size=1200)
    rows = pd.DataFrame({"a": first, "b": first, "c": rng.integers(0, 3, size=1200)}).astype(str)
    detector = hld.HLDDetector(num_epochs=8, num_latents=4).fit(rows)
    batch = rows[:12].assign(b=rows["b"][12:24].to_numpy())
    found = detector.test(batch)
    assert found.reject
    assert found.pairs == ()  # twelve rows are too few for a table of two groups by two
    (line,) = [line for line in str(found).splitlines() if "dependence" in line]
    assert line.startswith("the dependence of a and b is not that of the reference: p = ")
    assert (
        f"The dependence of a and b is not that of the reference: {line.split(': ')[1][:8]}"
        in batch_report(detector, found)
    )
    calm = detector.test(rows[24:36])
    assert "dependence" not in str(calm)


def test_frame_notebook_and_picture(result):
    frame = result.to_frame()
    assert frame["name"].tolist()[0] == "x"
    assert frame.loc[0, "direction"] == "higher"
    view = result._repr_html_()
    assert "&lt;kind&gt;" in view or "<kind>" not in view
    assert '<th scope="row" class="day">x</th>' in view
    figure = result.plot(top=2)
    assert len(figure.axes) == 2
    assert "x, adjusted p" in figure.axes[0].get_title(loc="left")


def test_a_notebook_says_that_no_column_moved(detector):
    calm = detector.test(table(np.random.default_rng(8), 200), 1e-9)
    assert calm.columns
    view = calm._repr_html_()
    assert ">No shift found</strong>" in view
    assert "<small>columns moved</small><br>0 of " in view
    assert "<p>No column moved by itself at level 1e-09.</p>" in view


def test_columns_of_unshifted_batches_are_called_as_rarely_as_the_level_says(detector):
    rng = np.random.default_rng(4)
    called = sum(
        any(one.adjusted <= 0.1 for one in detector.test(table(rng, 150)).columns)
        for _ in range(30)
    )
    assert called <= binom.ppf(1 - 1e-4, 30, 0.1)


def test_names_and_levels_of_any_text_stay_in_their_lines():
    rng = np.random.default_rng(0)
    words = np.array(["x\ny", "z", "tab\tq", "w" * 200], dtype=object)
    frame = pd.DataFrame(
        {
            "a\nb": rng.choice(words, 600),
            "n" * 150: rng.choice(["p", "q"], 600),
            "y": rng.normal(size=600),
        }
    )
    detector = hld.HLDDetector(num_epochs=3, rng=0).fit(frame)
    batch = frame[:200].assign(**{"a\nb": rng.choice(["x\ny", "w" * 200], 200), "n" * 150: "p"})
    lines = str(detector.test(batch)).split("\n")
    assert lines[1].startswith("2 of 3 columns moved")
    assert max(map(len, lines[1:])) < 250
    moved = sorted(line.split("  ")[1] for line in lines[2:4])
    assert moved == ["a\\nb", "n" * 56 + " ..."]
    lines = str(detector.schema_).split("\n")
    assert [line.split()[0] for line in lines] == ["column", "a\\nb", "n" * 56, "y"]
    assert max(map(len, lines)) < 200


@pytest.mark.parametrize(
    ("pvalue", "level", "text"),
    [
        (0.05004, 0.05, "p = 0.05004"),
        (0.04996, 0.05, "p = 0.05"),
        (0.05, 0.05, "p = 0.05"),
        (0.0432, 0.05, "p = 0.0432"),
        (0.012346, 0.0123456, "p = 0.01235"),
        (np.nextafter(0.05, 1), 0.05, "p = 0.05000000000000001"),
        (0.0, 0.05, "p < 1e-300"),
        (1e-300, 0.05, "p < 1e-300"),
        (1.01e-300, 0.05, "p = 1.01e-300"),
    ],
)
def test_a_p_value_is_shown_on_its_side_of_the_level(pvalue, level, text):
    """0.05004 was "no shift: p = 0.05 at level 0.05"; all that are smaller than 1e-300 are given as that."""
    assert p_text(pvalue, level) == text


def test_a_bound_from_below_stays_one_in_two_digits():
    """1 / 64 was shown as 0.016, which a p-value of 1 / 64 is below."""
    assert [
        least_text(one) for one in (1 / 64, 1 / 41, 0.05, 0.1, 0.999, 1.0, 1e-300, 3.9999e-7)
    ] == ["0.015", "0.024", "0.05", "0.1", "0.99", "1", "1e-300", "3.9e-07"]
    for k in range(1, 2000):
        assert 0.9 / k < float(least_text(1 / k)) <= 1 / k
