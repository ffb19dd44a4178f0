"""Many batches as distances: near 0 for one distribution, those of the tests where cells are missing."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import zoo

import hld
import pcircuit


@pytest.fixture(scope="module")
def test():
    return hld.HLDTest(zoo.circuits()["hclt_like"], metric=["euclidean", "standardized"])


def test_distances_of_tables_with_holes_are_the_effects_of_the_tests():
    """Holes of rows had been filled with what is usual, and a lost column of a summary had been one of zeros."""
    rng = np.random.default_rng(4)

    def rows(number, shift=0):
        cells = (
            rng.integers(0, 3, size=(number, 1)) + rng.integers(0, 2, size=(number, 3)) + shift
        ) % 4.0
        return np.where(rng.random(cells.shape) < 0.3, np.nan, cells)

    detector = hld.HLDDetector(num_latents=2, num_epochs=3).fit(rows(800))
    lost = rows(200)
    lost[:, 2] = np.nan
    batches = {"usual": rows(200), "moved": rows(200, 1), "lost": lost}
    found = hld.distances(detector, batches)
    summed = hld.distances(
        detector, {name: detector.summarize(one) for name, one in batches.items()}
    )
    np.testing.assert_allclose(found.matrix, summed.matrix, rtol=1e-9)
    np.testing.assert_allclose(found.from_reference, summed.from_reference, rtol=1e-9)
    assert found.from_reference[1] == pytest.approx(
        detector.test(batches["moved"]).effect, rel=1e-9
    )
    assert found.matrix[0, 2] < found.matrix[0, 1]
    constant = hld.HLDDetector(num_latents=1, num_epochs=1, num_resamples=19).fit([["x"]] * 60)
    assert not hld.distances(constant, [[["x"]] * 60, [["y"]] * 9]).matrix.any()


@pytest.mark.parametrize(
    ("make", "place"),
    [
        (lambda a, b: [a, b], "batches[1]"),
        (lambda a, b: {"mon": a, "tue": b}, "batches['tue']"),
        (lambda a, b: iter([b, a]), "batches[0]"),
    ],
)
def test_distances_say_which_batch_does_not_fit(test, make, place):
    rows = pcircuit.sample(test.circuit, 9, rng=0)
    other = hld.HLDTest(zoo.circuits()["two_coins"]).summarize([[0, 1]])
    own = test.summarize(rows)
    for wrong, said in (
        (replace(own, sums=own.sums - 1e6), "holds sums that 9 rows cannot have"),
        (rows[:0], "has no rows"),
        (rows[:, 1:], "must have shape"),
        (other, "is a summary of"),
    ):
        with pytest.raises(ValueError, match="^" + re.escape(f"`{place}` {said}")):
            hld.distances(test, make(rows, wrong))


def test_distances_are_those_of_the_distributions(test):
    pytest.importorskip("matplotlib")
    days = [pcircuit.sample(test.circuit, 2000, rng=i) for i in range(3)]
    found = hld.distances(test, days)
    assert found.matrix.max() < 0.1
    assert len(found.plot().axes) == 2
    figure = hld.distances(test, {"$a_$ to $^$": days[0], "b" * 50: days[1]}).plot()
    figure.canvas.draw()  # dollars are no formula
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == [
        "$a_$ to $^$",
        "b" * 31 + "…",
    ]


def by_hand(test, first, second, chance):
    """The effect size of two means: their distance over that of a row, less chance as a share of it."""
    m, total = len(test.nodes), (test.stds[: len(test.nodes)] ** 2).sum()
    return np.sqrt(max(((first[:m] - second[:m]) ** 2).sum() / total - chance, 0.0))


def test_distances_are_debiased_distances_of_means(test):
    """sum_k s_k^2 (1/a + 1/b) is what chance gives for a and b rows; the mean of a circuit is known."""
    rng = np.random.default_rng(1)
    batches = {
        "mon": pcircuit.sample(test.circuit, 300, rng=1),
        "tue": rng.integers(0, 3, (50, 6)),
        3: [[0] * 6],
    }
    found = hld.distances(test, batches)
    means = [
        hld.likelihood_vectors(test.circuit, rows, test.nodes).mean(axis=0)
        for rows in batches.values()
    ]
    for i, (first, a) in enumerate(zip(means, (300, 50, 1), strict=True)):
        assert found.from_reference[i] == pytest.approx(
            by_hand(test, first, test.mean, 1 / a), abs=1e-7
        )
        for j, (second, b) in enumerate(zip(means, (300, 50, 1), strict=True)):
            expected = by_hand(test, first, second, 1 / a + 1 / b) if i != j else 0.0
            assert found.matrix[i, j] == pytest.approx(expected, abs=1e-7)
    assert found.matrix[0, 1] > 0.1
    told = found.to_dict()
    assert json.loads(json.dumps(told)) == told
    assert (told["labels"], told["num_rows"]) == (["mon", "tue", "3"], [300, 50, 1])
    assert told["matrix"] == found.matrix.tolist()


@pytest.mark.parametrize(
    ("batches", "error", "said"),
    [
        (None, TypeError, "`batches` must be a mapping or a sequence of batches, found NoneType"),
        ("ab", TypeError, "found str"),
        ([], ValueError, "`batches` has 0 of them, expected at least two"),
        ([[[0] * 6]], ValueError, "`batches` has 1 of them"),
        (iter([]), ValueError, "`batches` has 0 of them"),
        ([[[0] * 6], [[7] * 6]], ValueError, r"^`batches\[1\]` holds 7"),
        (pd.DataFrame(np.zeros((2, 6), int)), (TypeError, ValueError), r"^`batches\[0\]`"),
    ],
)
def test_what_is_no_set_of_batches_is_refused(test, batches, error, said):
    with pytest.raises(error, match=said):
        hld.distances(test, batches)
