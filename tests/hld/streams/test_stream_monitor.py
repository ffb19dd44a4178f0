"""The stream monitor: false alarms, alarms, cutting, groups, refusals."""

import copy
import dataclasses
import pickle

import binomial_bounds
import numpy as np
import pytest
from streams import noisy_copies as rows

import hld
from pcircuit.engine import engine_is_numpy

NUM = 150  # rows of a quiet stream


def test_quiet_streams_seldom_alarm_whatever_the_circuit(detector):
    """Rows that do not follow the circuit at all: reference and stream are alike, which is all that counts."""
    rng, alpha = np.random.default_rng(2), 0.2
    streams = 12 if engine_is_numpy() else 60
    alarms = sum(
        hld.StreamMonitor(detector, rows(120, rng, 0.4), alpha, seed=seed)
        .update(rows(NUM, rng, 0.4))
        .alarm
        for seed in range(streams)
    )
    assert alarms <= binomial_bounds.at_most(streams, alpha)


def test_a_shift_is_found_and_the_guarantee_is_told(monitor):
    rng = np.random.default_rng(3)
    quiet = monitor.update(rows(100, rng))
    assert (quiet.alarm, quiet.num_rows, quiet.alarm_row) == (False, 100, None)
    found = monitor.update(np.tile([0, 1, 0, 1, 0], (200, 1)))
    assert found.alarm
    assert 100 < found.alarm_row < 150
    assert found.pvalue <= 0.05
    assert str(found).startswith(f"alarm at row {found.alarm_row}")
    assert found.to_dict()["alarm_row"] == found.alarm_row
    monitor.reset()
    assert monitor.update(rows(0, rng).reshape(0, 5)).num_rows == 0


@pytest.mark.parametrize("change", [("kind", "new"), ("kind", None), ("half", None)])
def test_what_no_reference_row_showed_is_found(change):
    """A column of one value, all of which are another or missing; missing cells of a column of two values."""
    rng, (name, cell) = np.random.default_rng(5), change

    def table(n):
        return {
            "kind": np.full(n, "old", dtype=object),
            "half": rng.choice(["x", "y"], size=n).astype(object),
        }

    fitted = hld.HLDDetector(num_latents=2, num_epochs=5, num_resamples=99, rng=0).fit(table(400))
    monitor, changed = hld.StreamMonitor(fitted, table(300)), table(100)
    changed[name][rng.random(100) < (1 if name == "kind" else 0.3)] = cell
    assert not monitor.update(table(50)).alarm
    assert monitor.update(changed).alarm


def test_a_table_without_any_variation_is_watched():
    """There was no race, an evidence of minus infinity, and no alarm whatever came."""
    constant = {"a": ["x"] * 200, "b": [3] * 200}
    fitted = hld.HLDDetector(num_latents=2, num_epochs=5, num_resamples=99, rng=0).fit(constant)
    monitor = hld.StreamMonitor(fitted, constant)
    quiet = monitor.update({"a": ["x"] * 5, "b": [3] * 5})
    assert not quiet.alarm
    assert np.isfinite(quiet.log_e_value)
    found = monitor.update({"a": ["y"] * 40, "b": [3] * 40})
    assert (found.alarm, found.columns) == (True, ("a",))


def test_cutting_and_files_change_nothing(monitor, detector, tmp_path):
    stream = rows(150, np.random.default_rng(4), 0.3)
    whole = monitor.update(stream).log_e_values
    monitor.reset()
    parts = [monitor.update(stream[:1]).log_e_values, monitor.update(stream[1:70]).log_e_values]
    monitor.save(tmp_path / "stream.hld")
    again = hld.StreamMonitor.load(tmp_path / "stream.hld", detector)
    parts.append(again.update(stream[70:]).log_e_values)
    if engine_is_numpy():
        np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-9)
    else:
        assert np.array_equal(np.concatenate(parts), whole)
    other = hld.HLDDetector(num_latents=2, num_epochs=5, null="exact").fit(
        rows(300, np.random.default_rng(9))
    )
    with pytest.raises(ValueError, match="the monitor is of another detector"):
        hld.StreamMonitor.load(tmp_path / "stream.hld", other)


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_go_their_own_way(monitor, copied):
    stream = rows(200, np.random.default_rng(4), 0.3)
    monitor.update(stream[:100])
    first, second = copied(monitor), copied(monitor)
    other = first.update(stream[:100])
    expected = monitor.update(stream[100:])
    found = second.update(stream[100:])
    assert np.array_equal(found.log_e_values, expected.log_e_values)
    assert found.to_dict() == expected.to_dict() != other.to_dict()


def test_groups_are_units(detector):
    rng = np.random.default_rng(6)
    table = np.concatenate([rows(20, rng, f) for f in rng.beta(4, 12, size=60)])
    monitor = hld.StreamMonitor(detector, table, groups=np.repeat(np.arange(60), 20))
    for f in rng.beta(4, 12, size=10):
        result = monitor.update(rows(20, rng, f))
    assert (result.num_rows, result.alarm) == (10, False)
    assert str(result).endswith("alpha = 0.05, 10 batches")
    for _ in range(60):
        result = monitor.update(np.tile([0, 1, 0, 1, 0], (20, 1)))
    assert result.alarm
    assert str(result).startswith(f"alarm at batch {result.alarm_row} (")


def test_groups_are_a_column_of_rows_without_names_by_its_place(detector):
    """The first column was taken for x0 of the detector, and stayed: 6 columns for 5."""
    table = rows(800, np.random.default_rng(9))
    labels = np.arange(800) // 20
    found = [
        hld.StreamMonitor(detector, one, groups=groups).update(table[:20])
        for one, groups in ((table, labels), (np.column_stack([labels, table]), 0))
    ]
    assert found[0].to_dict() == found[1].to_dict()
    assert str(found[0]).endswith("1 batch")


def test_a_line_does_not_name_four_of_more_columns_as_if_they_were_all(monitor):
    """The race of a direction is one of all columns."""
    found = monitor.update(np.tile([0, 1, 0, 1, 0], (200, 1)))
    assert found.alarm
    five = dataclasses.replace(found, columns=("x0", "x1", "x2", "x3", "x4"))
    assert "(x0, x1, x2, x3 and 1 more): anytime" in str(five)
    assert "anytime-valid p < 1e-300, alpha" in str(dataclasses.replace(found, pvalue=0.0))
    assert "(x0, x\\n1): anytime" in str(dataclasses.replace(found, columns=("x0", "x\n1")))


def test_absent_and_unknown_columns_are_named_as_in_a_test_of_a_batch():
    rng = np.random.default_rng(8)
    table = dict(zip("abcde", rows(900, rng).T, strict=True))
    part = {name: column[:300] for name, column in table.items()}
    wrong = {name.replace("b", "B"): column[300:] for name, column in table.items()}
    detector = hld.HLDDetector(num_latents=2, num_epochs=5, null="exact").fit(table)
    monitor, quality = hld.StreamMonitor(detector, part), detector.test(wrong).data_quality
    found = monitor.update(wrong)
    assert (found.absent, found.extra) == (quality.absent, quality.extra) == (("b",), ("B",))
    assert (found.to_dict()["absent"], found.to_dict()["extra"]) == (["b"], ["B"])
    assert str(found).splitlines()[1:] == [
        "column 'b' is not there: all of its cells count as missing",
        "column 'B' was not in training: ignored",
    ]
    right = monitor.update(part)
    assert (right.absent, right.extra, "\n" in str(right)) == ((), (), False)
    with pytest.warns(
        UserWarning,
        match="`reference`: column 'b' is not there: all of its cells count as missing; ",
    ):
        hld.StreamMonitor(detector, wrong)


def test_holes_need_no_filling(detector):
    rng = np.random.default_rng(7)
    table = rows(500, rng).astype(float)
    table[rng.random(table.shape) < 0.2] = np.nan
    result = hld.StreamMonitor(detector, table[:300]).update(table[300:])
    assert (result.alarm, result.num_missing) == (False, int(np.isnan(table[300:]).sum()))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda d: hld.StreamMonitor(None, [[0, 1]]),
            "`detector` must be a fitted HLDDetector, found NoneType",
        ),
        (
            lambda d: hld.StreamMonitor(hld.HLDDetector(), [[0, 1]]),
            "`detector` must be a fitted HLDDetector, found HLDDetector: fit",
        ),
        (
            lambda d: hld.StreamMonitor(d, rows(5, np.random.default_rng(0))),
            "`reference` has 5 rows, expected at least 40",
        ),
        (lambda d: hld.StreamMonitor(d, None), "`reference`"),
        (lambda d: hld.StreamMonitor(d, rows(50, np.random.default_rng(0)), 2), "`alpha` must be"),
        (
            lambda d: hld.StreamMonitor(d, rows(50, np.random.default_rng(0)), seed=2**53 + 1),
            "`seed` must be a whole",
        ),
        (
            lambda d: hld.StreamMonitor(
                d, rows(50, np.random.default_rng(0)), groups=np.arange(50) % 3
            ),
            "`groups` names 3 groups, expected at least 40",
        ),
        (
            lambda d: hld.StreamMonitor(
                d, rows(99, np.random.default_rng(0)), groups=[None, *range(50), *[None] * 48]
            ),
            "`groups` has 49 rows without a group: leave them out, or give them one",
        ),
        (
            lambda d: hld.StreamMonitor(d, rows(0, np.random.default_rng(0)), groups=[]),
            "names 0 groups, expected at",
        ),
    ],
)
def test_bad_input_is_refused(detector, make, said):
    with pytest.raises((TypeError, ValueError), match=said):
        make(detector)


@pytest.mark.parametrize(
    ("options", "fitting", "said"),
    [
        (
            {},
            {"groups": np.arange(600) // 10},
            "fitted with `groups`, whose rows resemble one another: give `groups`",
        ),
        ({}, {"order": "time"}, "false alarms are not bounded"),
        ({"covariates": [0]}, {}, "fitted with `covariates`, which may move"),
    ],
)
def test_rows_one_by_one_are_not_what_such_detectors_judge(options, fitting, said):
    coins = np.random.default_rng(0).integers(0, 2, (600, 3))
    fitted = hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=99, **options).fit(
        coins, **fitting
    )
    with pytest.warns(UserWarning, match=said):
        hld.StreamMonitor(fitted, coins)
    if options:
        with pytest.warns(
            UserWarning, match="which may move, but a monitor raises its alarm when they do"
        ):
            hld.monitor_of(fitted)
