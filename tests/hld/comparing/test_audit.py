"""The audit finds who keeps the level and who does not, what drifts, and what is found."""

import json
import types

import binomial_bounds as bounds
import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import hld
from hld.answers.reports import audit_report
from hld.detector.audit import AuditResult, AuditRow, column_of, pvalue_of
from hld.tables.cells import read_table


class Fitted:
    """A detector with predict, in the style of others."""

    def __init__(self, table):
        self.mean = np.mean(table, axis=0)

    def predict(self, batch):
        """One p-value for each column."""
        z = np.abs(np.mean(batch, axis=0) - self.mean) * np.sqrt(12 * len(batch))
        return {"data": {"p_val": np.exp(-z * z / 2)}}


def liberal(batch):
    """Alarms half of the time."""
    return 0.01 if float(np.sum(batch) * 1e6) % 2 < 1 else 0.9


def test_who_keeps_the_level_is_told_from_who_does_not():
    table = np.random.default_rng(0).random((6000, 2))
    found = hld.audit(
        {"fitted": Fitted(table[:3000]), "liberal": liberal},
        table[3000:],
        sizes=[20, 100],
        num_batches=60,
    )
    assert found.keeps_level == {"fitted": True, "liberal": False}
    assert [row.is_reused for row in found.rows if row.situation == "random rows"] == [
        False,
        False,
        True,
        True,
    ]
    assert json.loads(json.dumps(found.to_dict()))["num_held_out"] == 3000
    assert "liberal: alarms too often" in str(found)
    page = audit_report(found, table_name="<rows>", commands=["hld audit"])
    assert "Too many alarms" in page
    assert "&lt;rows&gt;" in page


def test_drift_and_power_are_found():
    rng = np.random.default_rng(1)
    drifting = (rng.random(3000) < np.linspace(0.3, 0.7, 3000)).astype(int)[:, None]

    def half(batch):
        z = abs(np.sum(batch) - len(batch) / 2) / np.sqrt(len(batch) / 4)
        return min(1.0, 2 * float(np.exp(-z * z / 2)))

    found = hld.audit(half, drifting, [100], [hld.Edit(0, 1, 0.2)], num_batches=30)
    rates = {row.situation: row.rate for row in found.rows}
    assert rates["random rows"] < rates["in order"]
    assert rates["0 = 1: +20 % of cells"] > 0.8


@pytest.mark.parametrize("first", [0, 6, 12, 18])
def test_rows_in_order_are_taken_from_all_times_of_a_cycle(first):
    """Of 4,786 hourly rows 200 batches of 10 at equal distances would all begin at the same hour."""
    hours = (first + np.arange(24 * 199 + 10)) % 24
    found = hld.audit(
        lambda batch: float(np.mean(batch) < 0.9), (hours < 12).astype(int)[:, None], [10]
    )
    shares = {row.situation: row.rate for row in found.rows}
    assert shares["in order"] == pytest.approx(
        5 / 24, abs=0.12
    )  # of the batches that begin at 23 to 3


def test_random_rows_are_not_said_to_tell_the_level_of_dependent_rows():
    rng = np.random.default_rng(3)
    coins = rng.integers(0, 2, size=(800, 2))
    plain, group, time = (
        hld.HLDDetector(num_latents=2, num_epochs=2).fit(coins, **fitting)
        for fitting in ({}, {"groups": np.arange(800) // 20}, {"order": "time"})
    )
    found = hld.audit(
        {"plain": plain, "group": group, "time": time}, coins[:400], sizes=[20], num_batches=20
    )
    assert list(found.notes) == list(found.to_dict()["notes"]) == ["group", "time"]
    assert (
        "group: its level is not told by random rows\n  fitted with groups: random rows come from many"
        in str(found)
    )
    assert "random rows vary less than successive ones" in audit_report(found)
    runs = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]] * 5, 20, axis=0)  # alarms in order only
    rows = hld.audit({"plain": plain, "time": time}, runs, sizes=[20], num_batches=20)
    assert [row.low > 0.05 for row in rows.rows] == [False, False, True, True]
    assert rows.keeps_level == {"plain": True, "time": False}


def test_verdicts_without_pvalues_are_alarms_or_none():
    """True and 1 are alarms, False and 0 none, wherever they stand; a p-value beside them goes first."""
    drift = {"data": {"is_drift": np.int64(1)}}
    for alarm in (True, np.True_, {"is_drift": 1}, drift, types.SimpleNamespace(drift=True)):
        assert pvalue_of(alarm) == 0.0
    for none in (False, np.False_, {"is_drift": 0}, types.SimpleNamespace(reject=False)):
        assert pvalue_of(none) == 1.0
    assert pvalue_of({"data": {"is_drift": 1, "p_val": 0.2}}) == 0.2
    coins = np.random.default_rng(0).integers(0, 2, size=(2000, 1))
    found = hld.audit(lambda batch: bool(np.mean(batch) > 0.5), coins, [50], num_batches=40)
    assert not found.keeps_level["detector"]


def test_pvalues_of_many_forms():
    assert pvalue_of(0.5) == 0.5
    assert pvalue_of({"p_value": 0.2}) == 0.2
    assert pvalue_of({"data": {"p_val": [0.1, 0.5]}}) == 0.2
    no_verdict = ({"is_drift": "yes"}, {"is_drift": 2}, types.SimpleNamespace(alarm=len))
    for bad in ("a", {}, None, 2.0, {"pvalue": [-1]}, *no_verdict):
        with pytest.raises(ValueError, match="the detector returned"):
            pvalue_of(bad)
    with pytest.raises(ValueError, match="`edits` has 0 = 5"):
        hld.audit(lambda batch: 1.0, np.zeros((9, 1), int), [3], [hld.Edit(0, 5, 0.1)])


TABLE = pd.DataFrame({"a": [1, 1, 2], "b": ["x", "y", "y"]})


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        {name: TABLE[name].tolist() for name in TABLE},
        TABLE.to_records(index=False),
        TABLE.to_dict("records"),
        pytest.importorskip("pyarrow").Table.from_pandas(TABLE),
    ],
)
def test_columns_are_found_by_name_and_by_position_in_tables_of_any_kind(table):
    for name in ("b", 1):
        assert column_of(read_table(table), name).tolist() == ["x", "y", "y"]
    for name in ("c", 2, -1, True, None):
        with pytest.raises(
            ValueError,
            match=r"`edits` names the column .*, expected one of 'a', 'b', or a position",
        ):
            column_of(read_table(table), name)


def test_sizes_may_be_an_array_and_detectors_must_be_some():
    found = hld.audit(lambda _: 0.5, TABLE, sizes=np.array([1, 2]), num_batches=1)
    assert found.rows == hld.audit(lambda _: 0.5, TABLE, sizes=[1, 2], num_batches=1).rows
    for sizes in (np.array([[1]]), np.array(1)):
        with pytest.raises(TypeError, match="`sizes` must be a sequence of batch sizes"):
            hld.audit(lambda _: 0.5, TABLE, sizes=sizes, num_batches=1)
    with pytest.raises(ValueError, match="`detectors` is empty: give at least one detector"):
        hld.audit({}, TABLE, sizes=[1])


def test_edits_and_detectors_with_line_breaks_stay_in_their_lines():
    found = hld.audit(
        {"a\nb": lambda batch: 0.5},
        {"sex": ["F\nx", "M"] * 20},
        sizes=[9],
        num_batches=2,
        edits=[hld.Edit("sex", "F\nx", 0.1)],
    )
    lines = str(found).splitlines()
    assert lines[1] == r"a\nb: keeps its level"
    assert lines[4].startswith(r"  sex = F\nx: +10 % of cells, 9 rows: 0 of 2")
    assert len(lines) == 5


@pytest.mark.parametrize("num_batches", [20, 100, 200, 1000])
@pytest.mark.parametrize("num_sizes", [1, 3, 8])
def test_several_sizes_together_are_wrong_of_one_good_detector_in_forty(num_batches, num_sizes):
    """The probability is computed: the alarms of disjoint batches are binomial."""

    def kept(count):
        rows = tuple(
            AuditRow("a", "random rows", 1, num_batches, alarms, alarms / num_batches, 0, 1, False)
            for alarms in [count] + [0] * (num_sizes - 1)
        )
        return AuditResult(rows, 0.05, num_batches).keeps_level["a"]

    wrong = binom.pmf(
        [count for count in range(num_batches + 1) if not kept(count)], num_batches, 0.05
    ).sum()
    assert 0 < 1 - (1 - wrong) ** num_sizes <= 0.025


@pytest.mark.parametrize(("num_rows", "T"), [(300, 100), (300, 150)])
def test_batches_that_share_rows_count_as_few(num_rows, T):
    """Tables of independent rows: the alarms of an exact test on batches that share them vary much more."""
    trials, wrong, old = 200, 0, 0
    rng, tails, counts = (
        np.random.default_rng(0),
        binom.sf(range(T + 1), T, 0.5),
        binom.pmf(range(T + 1), T, 0.5),
    )

    def sign_test(batch):
        """Uniform where nothing has shifted: the tail of the count, with a random share of the tie."""
        return float(tails[np.sum(batch)] + rng.random() * counts[np.sum(batch)])

    for seed in range(trials):
        coins = np.random.default_rng([1, seed]).integers(0, 2, size=(num_rows, 1))
        found = hld.audit(sign_test, coins, [T], num_batches=100, rng=seed)
        wrong += not found.keeps_level["detector"]
        old += found.rows[0].low > 0.05
    assert wrong <= bounds.at_most(trials, 0.025)
    assert old > bounds.at_most(
        trials, 0.025
    )  # so it would be if batches were taken as independent
