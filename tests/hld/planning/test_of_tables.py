"""Planning for tables: names of columns and levels, tables as alternatives, and the plan in words."""

import json

import binomial_bounds as bounds
import numpy as np
import pytest

import hld
from hld.testing.planning.alternatives import Edit, coded_edit
from hld.testing.planning.of_tables import Plan, plan
from hld.testing.planning.power import Detectable

METRICS = ("euclidean", "marginals")  # quick ones


@pytest.fixture(scope="module")
def detector():
    rng = np.random.default_rng(0)
    sex, age = rng.choice(["F", "M"], size=600), rng.normal(40, 10, size=600)
    table = {"sex": sex, "age": age, "shop": rng.integers(0, 3, 600)}
    return hld.HLDDetector(num_latents=2, num_epochs=10, metric=METRICS).fit(table)


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


@pytest.mark.slow
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
        detector.power(Edit("y", "A", by), T=1),
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
