"""Planning for tables: names of columns and levels, tables as alternatives, and the plan in words."""

import json
import warnings

import binomial_bounds as bounds
import numpy as np
import pytest

import hld
from hld.testing.planning.alternatives import Edit
from hld.testing.planning.of_tables import Plan, coded_edit, plan
from hld.testing.planning.power import Detectable

METRICS = ("euclidean", "marginals")  # quick ones


@pytest.fixture(scope="module")
def detector():
    rng = np.random.default_rng(0)
    sex, age = rng.choice(["F", "M"], size=600), rng.normal(40, 10, size=600)
    table = {"sex": sex, "age": age, "shop": rng.integers(0, 3, 600)}
    return hld.HLDDetector(num_latents=2, num_epochs=10, metric=METRICS).fit(table)


def test_columns_of_an_alternative_that_training_did_not_have_are_ignored(detector):
    rng = np.random.default_rng(4)
    rows = {
        "sex": rng.choice(["F", "M"], size=200),
        "age": rng.normal(60, 10, size=200),
        "shop": np.zeros(200, int),
    }
    wider = {"tags": [[1]] * 200, **rows}
    assert detector.power(wider, 20) == detector.power(rows, 20)
    assert detector.sample_size(wider) == detector.sample_size(rows)


def test_as_many_rows_as_can_be_asked_about_and_no_more():
    """Of more rows the exact tests of counts have no digits left."""
    rng = np.random.default_rng(1)
    table = {"sex": rng.choice(["F", "M"], size=300), "shop": rng.integers(0, 3, 300)}
    detector = hld.HLDDetector(num_latents=2, num_epochs=3).fit(table)
    few, many = (detector.power(Edit("sex", "F", 0.1), T) for T in (10**9, 10**12))
    assert abs(few - many) < 0.06  # both by 2,000 draws
    with pytest.raises(
        ValueError, match="`T` must be a whole number of at least 1 and at most 1000000000000"
    ):
        detector.power(Edit("sex", "F", 0.1), 10**15)


@pytest.mark.parametrize("kind", ["positions", "calendar by position", "calendar"])
def test_edits_of_tables_whose_columns_are_left_out_or_derived(kind):
    rng = np.random.default_rng(5)
    when = (np.datetime64("2026-01-01T00") + rng.integers(0, 2000, 200)).tolist()
    first = [f"u{i}" for i in range(200)] if kind == "positions" else when
    table = {"when": first, "k": rng.integers(0, 3, 200)}
    source = "when" if kind == "calendar" else "x0"
    schema = None if kind == "positions" else hld.TableSchema(hld.calendar_columns(source))
    if kind != "calendar":
        table = np.array([[*row] for row in zip(*table.values(), strict=True)], dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the column that tells rows apart
        one = hld.HLDDetector(num_latents=2, num_epochs=1, metric=METRICS, schema=schema).fit(table)
    name, level = (
        (one.encoder_.names[-1], 1) if kind == "positions" else (one.encoder_.names[1], "Mon")
    )
    assert 0 <= one.power(Edit(name, level, 0.1), 50) <= 1
    with pytest.raises(ValueError, match="`level` of an edit must be one of those of column"):
        one.power(Edit(name, "no such", 0.1), 50)


@pytest.mark.thorough
def test_power_grows_with_rows_and_shift(detector):
    found = [detector.power(Edit("sex", "F", by), T) for by in (0.05, 0.2) for T in (50, 300)]
    assert found[0] < found[1] < found[3]
    assert found[0] < found[2] < found[3]
    assert detector.sample_size(Edit("sex", "F", 0.35)) < detector.sample_size(
        Edit("sex", "F", 0.25)
    )
    assert (
        detector.sample_size(Edit("sex", "F", 0.02)) is None
    )  # less than what 300 reference rows leave open
    table = {"sex": np.array(["F"] * 100), "age": np.full(100, 40.0), "shop": np.zeros(100, int)}
    assert detector.power(table, 60) > 0.99


def test_a_column_without_values_makes_nothing_easier_to_find():
    """No row shows what depends on it, so that no batch is compared by that: all rows were said to be found."""
    rng, n = np.random.default_rng(3), 800
    sex = rng.choice(["F", "M"], n)
    table = {
        "sex": sex,
        "answer": np.where(rng.random(n) < 0.8, sex, "M"),
        "size": rng.normal(size=n),
    }
    options = {"num_latents": 2, "num_epochs": 5, "num_resamples": 199, "rng": 0}
    without = hld.HLDDetector(**options).fit(table)
    detector = hld.HLDDetector(**options, categorical=["empty"]).fit(
        {**table, "empty": np.full(n, None)}
    )
    edit = Edit("sex", "F", 0.15)
    assert max(detector.power(edit, T) for T in (1, 2, 20)) < 0.3
    assert 0.7 < detector.sample_size(edit) / without.sample_size(edit) < 2
    assert min(one.by for one in detector.detectable(100)) > 0.1


@pytest.mark.thorough
def test_a_plan_in_words_and_numbers(detector):
    found = plan(detector, 100, ["sex=F:+0.2", Edit("shop", 0, -0.1)])
    text, values = str(found), json.loads(json.dumps(found.to_dict()))
    assert "in a batch of 7 days (700 rows):" in text
    assert "sex = F: +20 % of cells: found on" in text
    assert len(values["edits"]) == 2
    assert set(values["detectable_by_days"]) == {"1", "7", "30"}


@pytest.mark.thorough
@pytest.mark.parametrize(("T", "by"), [(5, 0.5), (10, 0.3)])
def test_a_rare_level_that_becomes_frequent_is_not_in_every_small_batch(T, by):
    """Batches varied as little as the reference rows, so that 0.99 and 0.98 were planned for 0.84 and 0.77."""
    trials, planned, found = 50, [], 0

    def table(n, rng, share):
        kind = rng.integers(0, 3, n)
        return {
            "rare": np.where(rng.random(n) < share, "r", np.where(rng.random(n) < 0.02, "s", "u")),
            "kind": np.array(list("abc"))[kind],
            "size": rng.normal(kind),
            "flag": rng.random(n) < 0.2 + 0.2 * kind,
        }

    for seed in range(6):
        rng = np.random.default_rng([seed, 1])
        detector = hld.HLDDetector(num_latents=2, num_epochs=15, num_resamples=199, rng=seed)
        detector.fit(table(2000, rng, 0.01))
        planned.append(detector.power(Edit("rare", "r", by), T))
        found += sum(detector.test(table(T, rng, 0.01 + by)).reject for _ in range(trials))
    trials, expected = trials * len(planned), float(np.mean(planned))
    assert (
        bounds.at_least(trials, expected - 0.02)
        <= found
        <= bounds.at_most(trials, min(expected + 0.02, 1))
    )


@pytest.mark.thorough
@pytest.mark.parametrize("by", [0.001, 0.3])
def test_power_of_single_rows_is_that_of_ranks(by):
    """Rows that take few values: their p-values are ranks with many ties, which no normal law knows."""
    rng, trials = np.random.default_rng(3), 300

    def table(n, share):
        has = rng.random(n) < share
        y = np.where(has, "A", "B")
        return {"y": y, "u": rng.random(n) < np.where(has, 0.8, 0.3), "w": rng.normal(size=n) + has}

    detector = hld.HLDDetector(num_latents=2, num_epochs=15).fit(table(4000, 0.4))
    batch = table(trials, 0.4 + by)
    found = sum(
        detector.test({name: cells[i : i + 1] for name, cells in batch.items()}).reject
        for i in range(trials)
    )
    for planned in (
        detector.power({"column": "y", "level": "A", "by": by}, T=1),
        detector.power(table(2000, 0.4 + by), T=1),
    ):
        assert (
            bounds.at_least(trials, max(planned - 0.02, 0))
            <= found
            <= bounds.at_most(trials, planned + 0.02)
        )


@pytest.mark.parametrize(
    ("options", "fitting"),
    [({}, {"groups": np.arange(200) // 5}), ({}, {"order": "time"}), ({"covariates": ["age"]}, {})],
)
def test_power_of_another_test_than_the_detectors_is_not_given(options, fitting):
    rng = np.random.default_rng(0)
    table = {"sex": rng.choice(["F", "M"], size=200), "age": rng.normal(40, 10, size=200)}
    detector = hld.HLDDetector(num_latents=2, num_epochs=2, metric=METRICS, **options).fit(
        table, **fitting
    )
    for way in (
        lambda d: d.power(Edit("sex", "F", 0.1), 100),
        lambda d: d.sample_size(Edit("sex", "F", 0.1)),
        lambda d: d.detectable(100),
        lambda d: plan(d, 100),
        lambda d: plan(d, 100, ["sex=F:+0.1"]),
    ):
        with pytest.raises(
            ValueError,
            match="`detector` judges groups, a series, or rows given covariates, whose power",
        ):
            way(detector)


@pytest.mark.parametrize(
    ("rows", "words"),
    [(80, "after 1 day (80 rows)"), (81, "after 2 days (81 rows)"), (None, "never")],
)
def test_a_plan_counts_days_in_words(rows, words):
    plan = hld.Plan(80, 0.9, 0.05, {}, ((hld.Edit("sex", "F", 0.05), 0.5, rows),))
    assert f"single days; {words} with probability 0.9" in str(plan)


def test_names_with_line_breaks_stay_in_their_lines():
    several = (Detectable("a\nb", "F\nx", 0.5, 0.1),)
    shown = str(Plan(9, 0.9, 0.05, {1: several}, ((Edit("a\nb", "F\nx", 0.05), 0.5, 30),)))
    assert shown.splitlines()[2:] == [
        r"  a\nb = F\nx: from 50% to 60% of cells",
        r"a\nb = F\nx: +5 % of cells: found on 50% of single days; after 4 days (30 rows) with probability 0.9",
    ]


@pytest.mark.parametrize("T", [1, 5])
def test_the_power_of_a_long_table_does_not_hang_on_the_order_of_its_rows(detector, T):
    """A third of 6,000 rows has levels that no other row has: the first 2,000 would be all of these, or none."""
    rng = np.random.default_rng(4)
    is_new = np.arange(6000) < 2000
    rows = {
        "sex": np.where(is_new, "X", rng.choice(["F", "M"], size=6000)),
        "age": rng.normal(40, 10, 6000),
        "shop": np.where(is_new, 9, rng.integers(0, 3, 6000)),
    }
    found = [
        detector.power({name: cells[order] for name, cells in rows.items()}, T)
        for order in (np.arange(6000), np.arange(6000)[::-1], rng.permutation(6000))
    ]
    assert found == pytest.approx([found[-1]] * 3, abs=0.04)
    assert T > 1 or found[-1] == pytest.approx(1 / 3, abs=0.1)


@pytest.fixture(scope="module")
def edited_detector():
    rng = np.random.default_rng(0)
    table = {
        "sex": rng.choice(["F", "M"], size=300),
        "size": rng.integers(0, 3, 300),
        "old": rng.random(300) < 0.3,
    }
    return hld.HLDDetector(num_latents=2, num_epochs=3, num_resamples=99).fit(table)


@pytest.mark.parametrize(
    ("column", "level", "place"),
    [
        ("sex", "M", (0, 1)),
        (0, "F", (0, 0)),
        (np.int64(0), "F", (0, 0)),
        ("size", "2", (1, 2)),
        ("size", 2.0, (1, 2)),
        ("old", "TRUE", (2, 1)),
        ("old", "false", (2, 0)),
        ("old", True, (2, 1)),
    ],
)
def test_names_become_variables_and_categories(edited_detector, column, level, place):
    found = coded_edit(edited_detector, Edit(column, level, 0.1))
    assert ((found.column, found.level), found.by) == (place, 0.1)


@pytest.mark.parametrize("column", [np.int64(-1), np.uint8(3), np.bool_(True), True])
def test_what_is_no_column_is_refused(edited_detector, column):
    with pytest.raises(
        ValueError, match="`column` of an edit must be one of 'sex', 'size', 'old', found"
    ):
        coded_edit(edited_detector, Edit(column, "F", 0.1))


@pytest.mark.parametrize("by", [0.9, -0.9])
def test_a_change_by_too_much_is_told_of_the_level_as_it_was_named(edited_detector, by):
    """It had been that of "level 0 of variable 0", which no table has."""
    said = (
        rf"`by` of an edit is {by:g}, but level 'F' of column 'sex' has the share 0\.\d+: expected"
    )
    edit = Edit("sex", "F", by)
    for way in (
        lambda: edited_detector.power(edit, 50),
        lambda: edited_detector.sample_size(edit),
        lambda: hld.plan(edited_detector, 50, [edit]),
    ):
        with pytest.raises(ValueError, match=said):
            way()


def test_levels_are_read_as_numbers_too_where_the_schema_refuses_new_ones():
    """The text "2" is no level of a column of whole numbers, and was refused before it was tried as the number 2."""
    rng = np.random.default_rng(0)
    table = {"size": rng.integers(0, 3, 300), "old": rng.random(300) < 0.3}
    schema = (
        hld.learn_schema(table).replace("size", policy="refuse").replace("old", policy="refuse")
    )
    strict = hld.HLDDetector(num_latents=2, num_epochs=1, num_resamples=99, schema=schema).fit(
        table
    )
    found = [coded_edit(strict, Edit.read(text)) for text in ("size=2:+0.1", "old=true:+0.1")]
    assert [(one.column, one.level) for one in found] == [(0, 2), (1, 1)]
    with pytest.raises(
        ValueError, match=r"`level` of an edit must be one of those of column 'size' \(0, 1, 2, "
    ):
        coded_edit(strict, Edit.read("size=7:+0.1"))


def test_a_position_is_that_in_the_training_table_of_which_columns_are_left_out():
    rng = np.random.default_rng(1)
    table = {
        "id": [f"id {k}" for k in range(300)],
        "sex": rng.choice(["F", "M"], 300),
        "size": rng.integers(0, 3, 300),
    }
    with pytest.warns(UserWarning, match="left out: 'id'"):
        edited_detector = hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=99).fit(table)
    assert coded_edit(edited_detector, Edit(1, "M", 0.1)).column == 0
    assert coded_edit(edited_detector, Edit(2, 2, 0.1)).column == 1
    with pytest.raises(ValueError, match="must be one of 'sex', 'size', found 0"):
        coded_edit(edited_detector, Edit(0, "M", 0.1))
