"""Options of EM: the size of steps, which rows they use, when EM stops, and how options are given."""

import io

import numpy as np
import pytest
import zoo

from pcircuit import EMSteps, EMWatch, fit_em


def test_full_batches_replace_all_that_was_known_and_shares_of_mini_batches_shrink():
    assert EMSteps().is_full
    assert [EMSteps().share(k) for k in (0, 7)] == [1.0, 1.0]
    assert (
        EMSteps(step_size=0.25).share(7) == EMSteps(step_size=0.25, batch_size=5).share(0) == 0.25
    )
    small = EMSteps(batch_size=5)
    assert not small.is_full
    assert small.share(0) == pytest.approx(2**-0.6, rel=1e-15)
    assert small.share(30) == pytest.approx(1 / 8, rel=1e-15)


@pytest.mark.parametrize(
    ("batch_size", "sizes"), [(4, [4, 4, 3]), (11, [11]), (12, [11]), (1, [1] * 11)]
)
def test_each_row_is_in_exactly_one_mini_batch_in_an_order_of_chance(batch_size, sizes):
    first, second = (
        np.concatenate(batches)
        for batches in (
            list(EMSteps(batch_size=batch_size).batches(11, np.random.default_rng(seed)))
            for seed in (0, 1)
        )
    )
    assert [
        len(rows) for rows in EMSteps(batch_size=batch_size).batches(11, np.random.default_rng(0))
    ] == sizes
    assert sorted(first.tolist()) == sorted(second.tolist()) == list(range(11))
    assert first.tolist() != second.tolist() != list(range(11))


def test_all_rows_are_one_slice_and_leave_the_generator_as_it_is(rng):
    state = rng.bit_generator.state
    assert list(EMSteps(step_size=0.5).batches(7, rng)) == [slice(None)]
    assert rng.bit_generator.state == state


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int16])
def test_numbers_of_any_integer_type_cut_the_same_batches(kind):
    """Sums of small integers of NumPy overflow: the last batches begin beyond 255."""
    sizes = [
        len(rows) for rows in EMSteps(batch_size=kind(100)).batches(350, np.random.default_rng(0))
    ]
    assert sizes == [100, 100, 100, 50]


def test_em_stops_when_a_gain_is_below_the_tolerance_or_the_callback_says_so():
    watch = EMWatch(tolerance=0.5)
    assert [
        watch.stops(history)
        for history in ([-9.0], [-9.0, -8.5], [-9.0, -8.51], [-9.0, -9.0], [-9.0, -8.5, -8.5])
    ] == [False, False, True, True, True]
    assert not EMWatch().stops([-9.0, -9.0, -10.0])  # tolerance 0 never stops
    seen = []
    watch = EMWatch(callback=lambda epoch, value: seen.append((epoch, value)), tolerance=0.5)
    assert [watch.stops([-3.0]), watch.stops([-3.0, -2.0]), watch.stops([-3.0, -2.0, -1.9])] == [
        False,
        False,
        True,
    ]
    assert seen == [(0, -3.0), (1, -2.0)]  # not asked where EM has converged


def test_what_a_callback_returns_is_one_truth_value():
    with pytest.raises(
        TypeError, match="`callback` must return what is true, to stop, or false, found ndarray"
    ):
        fit_em(
            zoo.circuits()["two_coins"], [[0, 0], [1, 1]], callback=lambda epoch, value: np.zeros(2)
        )


def test_progress_is_silent_where_nobody_looks(capfd):
    fit_em(zoo.circuits()["two_coins"], [[0, 0]], num_epochs=2, progress=True)
    assert capfd.readouterr() == ("", "")


def test_progress_is_silent_in_programs_without_a_console(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    _, history = fit_em(zoo.circuits()["two_coins"], [[0, 0]], num_epochs=2, progress=True)
    assert len(history) == 3


def test_em_with_a_tolerance_and_an_impossible_row_goes_on_and_warns_of_nothing():
    """NumPy would warn of the difference of two infinities."""
    circuit = zoo.circuits()["two_coins"]
    certain = fit_em(circuit, [[0, 0]], num_epochs=1, pseudocount=0)[0]
    for options in ({}, {"batch_size": 1, "rng": 0}):
        _, history = fit_em(
            certain, [[0, 0], [1, 1]], num_epochs=3, pseudocount=0, tolerance=1e-3, **options
        )
        assert history.tolist() == [-np.inf] * 4


def test_progress_shows_the_log_likelihood_on_a_terminal(monkeypatch):
    pytest.importorskip("rich")
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    _, history = fit_em(
        zoo.circuits()["two_coins"], [[0, 0], [1, 1], [0, 1]], num_epochs=2, progress=True
    )
    assert f"EM, log-likelihood {history[-2]:.4f}" in terminal.getvalue()


def test_options_that_are_not_there_or_given_twice_are_refused():
    circuit, rows = zoo.circuits()["two_coins"], [[0, 0], [1, 1]]
    with pytest.raises(
        TypeError, match=r"`fit_em` has no argument `epochs`, expected one of .*tolerance"
    ):
        fit_em(circuit, rows, epochs=3)
    with pytest.raises(
        TypeError, match="`watch` is given and so is `tolerance`, which is a part of it"
    ):
        fit_em(circuit, rows, watch=EMWatch(), tolerance=0.1)
    with pytest.raises(
        TypeError, match=r"`steps` must be a pcircuit.EMSteps, or None, found EMWatch"
    ):
        fit_em(circuit, rows, steps=EMWatch())


def test_options_as_an_object_and_by_their_names_are_the_same():
    circuit, rows = zoo.circuits()["two_coins"], [[0, 0], [1, 1], [0, 1]]
    _, named = fit_em(circuit, rows, batch_size=2, rng=5, tolerance=1e-3)
    _, grouped = fit_em(
        circuit, rows, steps=EMSteps(batch_size=2, rng=5), watch=EMWatch(tolerance=1e-3)
    )
    np.testing.assert_array_equal(named, grouped)


@pytest.mark.parametrize(
    ("kind", "option", "error"),
    [
        (EMSteps, {"batch_size": 0}, ValueError),
        (EMSteps, {"batch_size": 2.0}, TypeError),
        (EMSteps, {"step_size": 0}, ValueError),
        (EMSteps, {"step_size": 1.01}, ValueError),
        (EMWatch, {"tolerance": -1e-9}, ValueError),
        (EMWatch, {"tolerance": np.nan}, ValueError),
        (EMWatch, {"progress": 1}, TypeError),
        (EMWatch, {"callback": "print"}, TypeError),
    ],
)
def test_each_bad_option_names_itself(kind, option, error):
    with pytest.raises(error, match=f"`{next(iter(option))}` must be"):
        kind(**option)
