"""Batches among groups: ranks, what is said of natural variation, holes, and p-values of columns and nodes."""

import binomial_bounds
import numpy as np
import pytest
from dependent_rows import GROUPED as CIRCUIT
from dependent_rows import varied_rows

import hld
import pcircuit
from hld.nulls.exchangeable import exchangeable_pvalue
from hld.variation.group_test import GroupTest, group_test, nodes_pvalues, parts_pvalues

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
