"""The page of a batch says where its p-value comes from, in words, and draws what it says."""

import re
from types import SimpleNamespace

import numpy as np

import hld
from hld.answers.pair_shifts import PairShift
from hld.reports.batch_report import MOST_CARDS, NO_CHANGE, _pairs, _verdict, batch_report


def test_a_shift_of_one_column_among_many_is_not_said_to_come_from_the_distances():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 40))
    batch = rng.normal(size=(200, 40))
    batch[:, 5] += 3
    detector = hld.HLDDetector(num_latents=1, num_epochs=2).fit(rows)
    result = detector.test(batch)
    assert result.largest_count.pvalue < 1e-10
    text = batch_report(detector, result)
    assert re.search(
        r"Beside the distances these have tests of their own: single counts \(p (=|&lt;|<) ", text
    )


def test_columns_beyond_those_with_a_picture_are_counted_and_not_said_to_be_calm():
    training = np.random.default_rng(0).integers(2, size=(300, MOST_CARDS + 2))
    detector = hld.HLDDetector(
        num_epochs=1, num_latents=2, metric="likelihoods", num_resamples=19
    ).fit(training)
    text = batch_report(detector, detector.test(training[:100] * 0))
    assert f"<p>{MOST_CARDS + 2} of {MOST_CARDS + 2} columns moved." in text
    assert text.count('class="histogram"') == MOST_CARDS
    assert "<summary>2 other columns</summary>" in text
    assert NO_CHANGE not in text


def test_pairs_beyond_those_with_a_picture_are_counted():
    table, labels = np.full((2, 2), 0.25), (("a", "b"),) * 2
    pairs = tuple(
        PairShift((f"x{i}", f"x{i + 1}"), 0.5, 0.0, 1e-9, 1e-8, labels, table, table, None)
        for i in range(MOST_CARDS + 3)
    )
    few, many = (
        _pairs(SimpleNamespace(pairs=some, columns=(), alpha=0.05, largest_dependence=None))
        for some in (pairs[:2], pairs)
    )
    assert f"{MOST_CARDS + 3} of {MOST_CARDS + 3} changed" in many
    assert f"(Holm). The first {MOST_CARDS} are shown.</p>" in many
    assert many.count("<article") == MOST_CARDS
    assert "2 of 2 changed" in few
    assert "are shown" not in few


def test_the_p_value_on_top_shows_on_which_side_of_the_level_it_is():
    result = SimpleNamespace(
        columns=(), alpha=0.05, pvalue=0.05004, reject=False, num_samples=20, effect=0.0
    )
    assert "<dd>0.05004</dd>" in _verdict(result, "batch", "model")
    assert "<dd>&lt; 1e-300</dd>" in _verdict(
        SimpleNamespace(**vars(result) | {"pvalue": 0.0}), "batch", "model"
    )


def test_a_column_too_many_has_a_line_and_no_empty_table():
    training = {"x": np.arange(100) % 3, "y": np.arange(100) % 2}
    detector = hld.HLDDetector(
        num_epochs=1, num_latents=2, metric="likelihoods", num_resamples=19
    ).fit(training)
    text = batch_report(detector, detector.test({"x": [0], "y": [1], "z": [5]}))
    said = text.partition("<h2>Data quality</h2>")[2].partition("<h2>")[0]
    assert re.sub(r"</?p>", "|", said.strip()) == (
        "|No cell is missing, of an unknown level, or out of the range that training showed.|"
        "|Column &#x27;z&#x27; was not in training: ignored.|"
    )
    assert re.search(r"# hld [^<]*, 1 row<", text)
