"""Batches among groups: ranks, what is said of natural variation, holes, and p-values of columns and nodes."""

import json
from dataclasses import fields, replace

import binomial_bounds
import numpy as np
import pytest
import zoo
from binomial_bounds import at_most
from dependent_rows import GROUPED as CIRCUIT
from dependent_rows import varied_rows

import hld
import pcircuit
from hld import HLDTest
from hld.nulls.exchangeable import exchangeable_pvalue
from hld.variation.group_test import (
    GroupContext,
    GroupTest,
    group_test,
    nodes_pvalues,
    own_spread,
    parts_pvalues,
    without_rounding,
)
from hld.variation.time_test import time_test
from pcircuit import Circuit, InnerRegion, InputRegion, VTree, sample

TEST = hld.HLDTest(CIRCUIT, metric=("euclidean", "standardized", "whitened"))


def among(rows, seed=0):
    """The test against groups (G, n, V)."""
    G, n, V = rows.shape
    return group_test(TEST, rows.reshape(-1, V), np.repeat(np.arange(G), n), seed=seed)


def test_natural_variation_is_no_shift_and_another_kind_is():
    rows = varied_rows(61, 60, 5)
    test = group_test(TEST, rows[:40].reshape(2400, -1), np.repeat(np.arange(40), 60), seed=0)
    calm = [test(one) for one in rows[40:]]
    plain = hld.HLDTest(
        CIRCUIT,
        metric=TEST.calibration.metrics[0].name,
        reference="training",
        null="auto",
        training_data=rows[:40].reshape(2400, -1),
        rng=0,
    )
    assert sum(one.reject for one in calm) <= binomial_bounds.at_most(21, 2 / 41)
    assert sum(plain(one).reject for one in rows[40:]) > binomial_bounds.at_most(21, 0.05, 1e-2)
    found = test(np.repeat(rows[60][:1], 60, axis=0))
    assert found.pvalue == test.least_pvalue() == 1 / 41
    assert found.context.num_groups == 40
    moved, spread = found.deltas / test.inner.shown_weights, found.stds / test.inner.shown_weights
    squared, between = moved @ moved, spread @ spread / 60
    rows_vary = float(test.inner.stds[: len(moved)] @ test.inner.stds[: len(moved)])
    assert found.context.times == pytest.approx(np.sqrt(squared / between))
    assert found.context.effect == pytest.approx(
        np.sqrt((squared - between * (1 + 1 / 40)) / rows_vary)
    )
    assert found.context.effective_rows == pytest.approx(rows_vary / between)
    assert found.context.effective_rows < 60
    assert f"among 40 groups of this size: {found.context.times:.2g} times" in str(found)
    assert "no p-value is below 0.024" in str(found)
    assert "among 40 groups of at most 60 rows: " in str(test(rows[40:].reshape(1260, -1)))
    assert found.to_dict()["context"]["least_pvalue"] == 1 / 41


def test_what_a_group_is_worth_is_not_told_from_groups_of_one_row():
    rows = varied_rows(120, 20, 8)
    one, many = (
        group_test(TEST, rows[:, :n].reshape(120 * n, -1), np.repeat(np.arange(120), n), seed=0)
        for n in (1, 20)
    )
    assert one.describe().endswith(
        "natural variation: not known, as no group has more than one row"
    )
    assert "natural variation: a group, however large, is worth at most " in many.describe()
    assert "p-values go by rank down to 0.0082 and by a normal law below" in str(many(rows[0]))


def test_holes_of_groups_and_batches_count_alike():
    rows = varied_rows(30, 20, 6).astype(int)
    rows[np.random.default_rng(7).random(rows.shape) < 0.3] = -1
    test = group_test(TEST, rows[:29].reshape(580, -1), np.repeat(np.arange(29), 20), seed=0)
    seen, values = TEST.vectors.seen(rows[29]), TEST.vectors.rows(rows[29])
    expected = np.where(seen, values, pcircuit.unit_means(CIRCUIT)[TEST.nodes]).mean(axis=0)
    np.testing.assert_allclose(test.groups.mean_of(TEST.vectors, rows[29]), expected, atol=1e-14)
    assert test(rows[29]).num_missing == (rows[29] < 0).sum()


def test_without_units_of_single_columns_none_are_told():
    nodes = np.flatnonzero(CIRCUIT.nodes.kind == "sum")
    test = hld.HLDTest(CIRCUIT, nodes=nodes, metric="euclidean")
    rows = varied_rows(25, 8, 9)
    found = group_test(test, rows[:20].reshape(160, -1), np.repeat(np.arange(20), 8), seed=0)(
        rows[20]
    )
    assert found.column_pvalues is None
    assert found.columns == ()


def test_the_p_value_is_that_of_the_batch_among_the_means_of_the_groups():
    rows = varied_rows(31, 16, 1)
    means = np.array([TEST.vectors.mean(one) for one in rows])
    for odd in (rows[30], np.repeat(rows[30][:1], 16, axis=0)):
        own = TEST.vectors.mean(odd)
        found = among(rows[:30])(odd)
        expected = exchangeable_pvalue(own, means[:30], TEST.calibration.metrics)
        assert found.pvalue == pytest.approx(expected.value)
        assert found.pvalues == pytest.approx(expected.each)
        np.testing.assert_allclose(
            found.deltas, (own - means[:30].mean(axis=0)) * TEST.shown_weights, atol=1e-12
        )
        np.testing.assert_allclose(
            found.stds, np.sqrt(16 * means[:30].var(axis=0, ddof=1)), atol=1e-9
        )


def test_a_batch_that_is_one_of_the_groups_is_never_the_oddest():
    rows = varied_rows(20, 16, 2)
    test = among(rows)
    assert min(test(one).pvalue for one in rows) >= 2 / 21 - 1e-12


def test_labels_are_numbered_by_those_that_occur():
    rows = varied_rows(12, 8, 3)
    flat, labels = rows.reshape(96, -1), np.repeat(np.arange(12), 8)
    batch = rows[0][::-1]
    one, other = (group_test(TEST, flat, found, seed=0) for found in (labels, 5 * labels + 2))
    assert other.num_groups == 12
    assert other(batch).to_dict() == one(batch).to_dict()


def test_a_test_from_a_file_gives_the_same():
    rows = varied_rows(12, 9, 4)
    test = among(rows[:11])
    again = GroupTest.from_arrays(TEST, test.to_arrays())
    assert again(rows[11][:7]).to_dict() == test(rows[11][:7]).to_dict()
    assert again.describe() == test.describe()


@pytest.mark.parametrize(("G", "has_law"), [(2, False), (99, False), (100, True)])
def test_what_the_number_of_groups_allows(G, has_law):
    rows = varied_rows(G, 3, 5)
    test = among(rows)
    assert (test.num_groups, test.longest, test.has_law) == (G, 3, has_law)
    assert test.least_pvalue(1) == test.least_pvalue(50) == 1 / (G + 1)
    assert f"groups: {G} of 3 to 3 rows" in test.describe()
    found = test(np.repeat(rows[:1, 0], 3, axis=0)).context
    assert (found.kind, found.num_groups, found.least_pvalue, found.has_law) == (
        "groups",
        G,
        1 / (G + 1),
        has_law,
    )
    assert found.most_rows is None
    assert test(np.repeat(rows[:1, 0], 4, axis=0)).context.most_rows == 3


def test_a_group_is_worth_the_variance_within_groups_over_that_between_them():
    rows = varied_rows(30, 16, 9)
    values = TEST.vectors.rows(rows.reshape(480, -1)).reshape(30, 16, -1)
    within = values.var(axis=1, ddof=1).mean(axis=0).sum()
    between = values.mean(axis=1).var(axis=0, ddof=1).sum() - within / 16
    assert between > 0
    assert (
        among(rows).describe().endswith(f"is worth at most {within / between:.3g} independent rows")
    )


def test_groups_that_are_all_alike_leave_no_effect_to_speak_of():
    rows = np.zeros((5, 4, CIRCUIT.num_variables), dtype=int)
    found = among(rows)(rows[0])
    assert (found.pvalue, found.reject) == (1.0, False)
    assert (found.context.times, found.context.effect, found.context.effective_rows) == (
        0.0,
        0.0,
        4.0,
    )


def test_a_column_that_moves_by_itself_is_the_one_with_the_smallest_p_value():
    rng = np.random.default_rng(6)
    circuit = pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0)
    inner = hld.HLDTest(circuit, metric="euclidean")
    means = rng.normal(size=(40, len(inner.nodes)))
    own = means.mean(axis=0)
    of_column = np.array(
        [np.atleast_1d(circuit.scope(int(node))).tolist() == [2] for node in inner.nodes]
    )
    own[of_column] += 30
    single, adjusted = parts_pvalues(inner, own, means, 100, None)
    assert single.shape == adjusted.shape == (4,)
    assert (single.argmin(), single[2], adjusted[2]) == (2, 1 / 41, pytest.approx(1 / 41))
    assert (adjusted >= single).all()
    nodes = nodes_pvalues(inner, own, means, 100, None)
    assert nodes.shape == (len(inner.nodes),)
    assert (nodes <= 0.05).tolist() == of_column.tolist()


@pytest.mark.parametrize("alpha", [0, 1, "5%"])
def test_bad_arguments_are_named(alpha):
    test = among(varied_rows(3, 2, 7))
    with pytest.raises((TypeError, ValueError), match="`alpha` must be"):
        test(np.zeros((2, CIRCUIT.num_variables), dtype=int), alpha)
    with pytest.raises(ValueError, match="`batch` has no rows"):
        test(np.zeros((0, CIRCUIT.num_variables), dtype=int))


GROUPS = GroupContext("groups", 40, 1 / 41, 1.234, 0.5, 12.3456)
TIME = replace(GROUPS, kind="time")


@pytest.mark.parametrize(
    ("context", "others"),
    [
        (GROUPS, "groups of this size"),
        (replace(GROUPS, most_rows=20), "groups of at most 20 rows"),
        (TIME, "stretches of time of this size"),
        (replace(TIME, most_rows=64), "stretches of time of 64 rows, scaled to this size"),
    ],
)
def test_it_says_what_the_batch_was_compared_with(context, others):
    assert context.lines() == [
        f"among 40 {others}: 1.2 times their typical distance; the rows are worth 12.3 "
        "independent ones; no p-value is below 0.024"
    ]


def test_it_says_whether_a_law_goes_below_the_ranks():
    (line,) = replace(TIME, has_law=True).lines()
    assert line.endswith("p-values go by rank down to 0.024 and by a normal law below")


def test_it_says_where_adjusted_p_values_come_from():
    assert GROUPS.procedure == "ranks among groups"
    assert TIME.procedure == "ranks among stretches of time"


def test_it_is_ready_for_json_with_all_of_its_fields():
    saved = json.loads(json.dumps(replace(GROUPS, most_rows=20).to_dict(), allow_nan=False))
    assert saved.keys() == {one.name for one in fields(GroupContext)}
    assert GroupContext(**saved) == replace(GROUPS, most_rows=20)


RARE = (0.002, 0.005, 0.01, 0.02, 0.03, 0.3, 0.5)


def flags(shares):
    """Independent columns that are 1 in so many rows, each with a unit that likes the 1 and one that likes the 0."""
    V = len(shares)
    leaves = [InputRegion(v, [[1 - p, p], [p, 1 - p]]) for v, p in enumerate(shares)]
    return Circuit(
        VTree([V] * V + [-1], [*range(V), -1]), [*leaves, InnerRegion([[0] * V], [[1.0]])]
    )


FLAGS = HLDTest(flags(RARE), metric=("euclidean", "standardized", "whitened"))


def rows_of(num_rows, seed):
    return sample(FLAGS.circuit, num_rows, rng=seed)


def groups_of_flags(G, T, seed):
    return group_test(FLAGS, rows_of(G * T, seed), np.repeat(np.arange(G), T), seed=seed)


def is_called(result):
    return min(node.pvalue for node in result.localize(top=None).nodes) <= 0.05


def test_few_rare_rows_do_not_go_far_below_the_ranks():
    small = []
    for seed in range(30):
        test = groups_of_flags(100, 20, seed)
        small += [
            test(batch).pvalue <= 1e-4 for batch in rows_of(2000, 100 + seed).reshape(100, 20, -1)
        ]
    assert sum(small) <= at_most(len(small), 1e-4)


@pytest.mark.parametrize("T", [2, 3])
def test_two_or_three_rows_do_not_go_far_below_the_ranks(T):
    small = []
    for seed in range(20):
        test = groups_of_flags(150, 16, seed)
        found = [test(batch) for batch in rows_of(100 * T, 100 + seed).reshape(100, T, -1)]
        small += [min(one.pvalue, one.column_pvalues[1].min()) <= 1e-4 for one in found]
    assert sum(small) <= at_most(len(small), 2e-4)  # of the batch and of columns


def test_what_most_rows_show_does():
    rows = rows_of(20, 1)
    rows[:16, 1] = 1
    found = groups_of_flags(100, 20, 0)(rows)
    assert found.pvalue < 1e-6
    assert found.column_pvalues[1].argmin() == 1
    assert found.column_pvalues[1, 1] < 1e-6
    assert found.node_pvalues.min() < 1e-6


def test_columns_without_variation_are_not_called_too_often_among_stretches():
    """200 reference rows often show no 1 where a batch of 50 does: its column had a p-value of 0."""
    found = [time_test(FLAGS, rows_of(200, seed))(rows_of(50, 1000 + seed)) for seed in range(200)]
    least = np.array([one.column_pvalues[1].min() for one in found])
    assert (least <= 0.05).sum() <= at_most(len(found), 0.05)
    assert (least <= 0.001).sum() <= at_most(len(found), 0.001)


def test_unshifted_nodes_are_seldom_called_among_groups():
    """By the normal law in a third of the batches."""
    called = [
        is_called(groups_of_flags(19, 20, seed)(rows_of(20, 1000 + seed))) for seed in range(200)
    ]
    assert sum(called) <= at_most(200, 0.05)


@pytest.mark.parametrize("T", [10, 50])
def test_unshifted_nodes_are_seldom_called_among_stretches(T):
    called = [
        is_called(time_test(FLAGS, rows_of(200, seed))(rows_of(T, 1000 + seed)))
        for seed in range(200)
    ]
    assert sum(called) <= at_most(200, 0.05)


@pytest.mark.parametrize("first", [0, 1])
def test_a_long_batch_in_which_two_sorts_of_rows_alternate_varies_as_both_do(first):
    rows, look = rows_of(4_000, 0), FLAGS.vectors
    rows[first::2] = 0
    nothing = np.zeros(look.size)
    found = (own_spread(look, rows, nothing, look.rows(rows).mean(axis=0), len(rows))() ** 2).sum()
    assert found == pytest.approx(look.rows(rows).var(axis=0).sum() / len(rows), rel=0.15)


ZOO_CIRCUIT = zoo.circuits()["hclt_like"]
ZOO_TEST = hld.HLDTest(ZOO_CIRCUIT, metric=("euclidean", "standardized", "whitened"))


def series_test(rows):
    return time_test(ZOO_TEST, rows)


def groups_of_ten(rows):
    return group_test(ZOO_TEST, rows, np.arange(len(rows)) // 10, seed=0)


def test_numbers_that_differ_by_rounding_are_the_same_and_others_stay():
    others = np.array([[0.1 + 0.2, 1.0, 0.0], [0.3, 1.0 + 1e-6, 1e-30]])
    own, found = without_rounding(np.array([0.3, 1.0, 0.0]), others, np.array([0.0, 1.0, 1.0]))
    np.testing.assert_array_equal(own, [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(found, others * [0, 1, 0])


@pytest.mark.parametrize("make", [groups_of_ten, series_test])
@pytest.mark.parametrize("T", [1, 7, 30, 1001])
def test_rows_that_are_all_alike_are_no_shift_from_rows_like_them(make, T):
    row = np.zeros((1, ZOO_CIRCUIT.num_variables), dtype=int)
    found = make(np.repeat(row, 2000, axis=0))(np.repeat(row, T, axis=0))
    assert found.pvalue == 1
    assert found.context.times == 0


@pytest.mark.parametrize("options", [{"groups": np.arange(4000) // 10}, {"order": "time"}])
def test_a_column_of_one_value_has_not_moved_whatever_the_numbers_of_rows(options):
    rng = np.random.default_rng(1)
    table = {"x": rng.normal(size=4000), "same": np.full(4000, "a"), "y": rng.normal(size=4000)}
    detector = hld.HLDDetector(num_latents=2, num_epochs=2).fit(table, **options)
    for T in (3, 7, 13, 30, 100, 1001):
        found = detector.test({name: cells[:T] for name, cells in table.items()})
        np.testing.assert_array_equal(found.column_pvalues[:, 1], 1)
    odd = detector.test(
        {**{name: cells[:30] for name, cells in table.items()}, "same": np.array(["a", "b"] * 15)}
    )
    assert odd.column_pvalues[1, 1] < 0.01
