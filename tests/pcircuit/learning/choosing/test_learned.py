"""What `learn` hands back: the model to use, and a table and a picture of what was tried."""

import numpy as np
import pytest
import zoo

from pcircuit import Mixture
from pcircuit.learning.choosing.learned import Learned, Trial

CIRCUIT = zoo.two_coins()
TRIALS = (
    Trial(
        "size",
        2,
        0.1,
        np.array([10, 20, 30]),
        np.array([-1.5, -1.25, -1.0]),
        np.array([-2.0, -1.75, -1.875]),
    ),
    Trial("size, grown", 4, 1.0, np.array([10]), np.array([-1.0]), np.array([-1.625])),
)


def learned(mixture=None):
    return Learned(CIRCUIT, mixture, -1.625, 0.125, TRIALS)


def test_the_best_of_a_trial_is_its_highest_validation_mean_and_impossible_rows_make_it_infinite():
    assert [trial.best for trial in TRIALS] == [-1.75, -1.625]
    assert Trial("size", 1, 0.0, np.array([10]), np.zeros(1), np.array([-np.inf])).best == -np.inf


def test_the_model_is_the_mixture_where_there_is_one():
    mixture = Mixture([CIRCUIT, CIRCUIT], [0.5, 0.5])
    assert learned().model is CIRCUIT
    assert learned(mixture).model is mixture
    assert learned(mixture).circuit is CIRCUIT


def test_the_table_has_a_line_for_each_trial_as_it_was_at_its_best_look():
    head, first, second, last = str(learned()).splitlines()
    assert head.split() == ["tried", "states", "smoothing", "epochs", "training", "validation"]
    assert first.split() == ["size", "2", "0.1", "20", "-1.2500", "-1.7500"]
    assert second.split() == ["size,", "grown", "4", "1", "10", "-1.0000", "-1.6250"]
    assert last == f"{CIRCUIT}: validation -1.6250 +- 0.1250"
    assert len({len(head), len(first), len(second)}) == 1  # columns stand below one another


def test_the_picture_has_a_curve_for_each_trial():
    pytest.importorskip("matplotlib")
    axes = learned().plot()
    assert learned().plot(ax=axes) is axes
    lines = axes.get_lines()[:2]
    assert [line.get_label() for line in lines] == ["size, 2 states", "size, grown, 4 states"]
    for line, trial in zip(lines, TRIALS, strict=True):
        np.testing.assert_array_equal(
            line.get_xydata(), np.stack([trial.epochs, trial.validation], axis=1)
        )
