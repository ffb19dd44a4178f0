"""Batches among groups: ranks, what is said of natural variation, holes, and p-values of columns and nodes."""

from dataclasses import replace

import binomial_bounds
import numpy as np
import pytest
import zoo
from binomial_bounds import at_most
from dependent_rows import GROUPED as CIRCUIT
from dependent_rows import varied_rows
from rare_rows import flags, is_called

import hld
import pcircuit
from hld import HLDTest
from hld.features.row_vectors import column_units
from hld.laws.exchangeable import (
    exchangeable_pvalue,
    leverages,
    normal_tail,
    ranked_parts,
    symmetric_scores,
)
from hld.references.groups import group_reference, mean_of, no_features
from hld.testing.variation.group_test import (
    GroupContext,
    GroupTest,
    group_test,
)
from hld.testing.variation.time_test import time_test
from pcircuit import sample
from pcircuit.moments.means import unit_means

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


def test_holes_of_groups_and_batches_count_alike():
    rows = varied_rows(30, 20, 6).astype(int)
    rows[np.random.default_rng(7).random(rows.shape) < 0.3] = -1
    test = group_test(TEST, rows[:29].reshape(580, -1), np.repeat(np.arange(29), 20), seed=0)
    seen, values = TEST.vectors.seen(rows[29]), TEST.vectors.rows(rows[29])
    expected = np.where(seen, values, unit_means(CIRCUIT)[TEST.nodes]).mean(axis=0)
    found = mean_of(TEST.vectors, rows[29], test.reference.fill, no_features)
    np.testing.assert_allclose(found, expected, atol=1e-14)
    assert test(rows[29]).num_missing == (rows[29] < 0).sum()


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


def test_a_test_from_a_file_gives_the_same():
    rows = varied_rows(12, 9, 4)
    test = among(rows[:11])
    again = GroupTest.from_arrays(TEST, test.to_arrays())
    assert again(rows[11][:7]).to_dict() == test(rows[11][:7]).to_dict()
    assert again.describe() == test.describe()


@pytest.mark.parametrize(("G", "law"), [(2, ""), (99, ""), (100, "a normal law")])
def test_what_the_number_of_groups_allows(G, law):
    rows = varied_rows(G, 3, 5)
    test = among(rows)
    assert (test.num_groups, test.longest, test.law) == (G, 3, law)
    assert test.least_pvalue(1) == test.least_pvalue(50) == 1 / (G + 1)
    assert f"groups: {G} of 3 to 3 rows" in test.describe()
    found = test(np.repeat(rows[:1, 0], 3, axis=0)).context
    assert (found.kind, found.num_groups, found.least_pvalue, found.law) == (
        "groups",
        G,
        1 / (G + 1),
        law,
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


RARE = (0.002, 0.005, 0.01, 0.02, 0.03, 0.3, 0.5)


FLAGS = HLDTest(flags(RARE), metric=("euclidean", "standardized", "whitened"))


def rows_of(num_rows, seed):
    return sample(FLAGS.circuit, num_rows, rng=seed)


def groups_of_flags(G, T, seed):
    return group_test(FLAGS, rows_of(G * T, seed), np.repeat(np.arange(G), T), seed=seed)


@pytest.mark.slow
def test_few_rare_rows_do_not_go_far_below_the_ranks():
    small = []
    for seed in range(30):
        test = groups_of_flags(100, 20, seed)
        small += [
            test(batch).pvalue <= 1e-4 for batch in rows_of(2000, 100 + seed).reshape(100, 20, -1)
        ]
    assert sum(small) <= at_most(len(small), 1e-4)


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


@pytest.mark.slow
@pytest.mark.parametrize("T", [10, 50])
def test_unshifted_nodes_are_seldom_called_among_stretches(T):
    called = [
        is_called(time_test(FLAGS, rows_of(200, seed))(rows_of(T, 1000 + seed)))
        for seed in range(200)
    ]
    assert sum(called) <= at_most(200, 0.05)


ZOO_CIRCUIT = zoo.circuits()["hclt_like"]
ZOO_TEST = hld.HLDTest(ZOO_CIRCUIT, metric=("euclidean", "standardized", "whitened"))


def series_test(rows):
    return time_test(ZOO_TEST, rows)


def groups_of_ten(rows):
    return group_test(ZOO_TEST, rows, np.arange(len(rows)) // 10, seed=0)


@pytest.mark.parametrize("make", [groups_of_ten, series_test])
@pytest.mark.parametrize("T", [1, 7, 30, 1001])
def test_rows_that_are_all_alike_are_no_shift_from_rows_like_them(make, T):
    row = np.zeros((1, ZOO_CIRCUIT.num_variables), dtype=int)
    found = make(np.repeat(row, 2000, axis=0))(np.repeat(row, T, axis=0))
    assert found.pvalue == 1
    assert found.context.times == 0


def reference_of(rows, seed=0):
    G, n, V = rows.shape
    return group_reference(
        TEST.vectors,
        rows.reshape(-1, V),
        np.repeat(np.arange(G), n),
        np.zeros(TEST.vectors.size),
        np.random.default_rng(seed),
    )


def test_scores_are_symmetric_and_leverages_rank_as_distances_from_the_others():
    rng = np.random.default_rng(1)
    vectors, order = rng.normal(size=(12, TEST.vectors.size)), rng.permutation(12)
    metrics = TEST.calibration.metrics
    scores = symmetric_scores(vectors, metrics)[1]
    np.testing.assert_allclose(
        symmetric_scores(vectors[order], metrics)[1], scores[order], rtol=1e-9
    )
    for width in (3, 30):
        X = rng.normal(size=(12, width)) * np.arange(1, width + 1)
        X -= X.mean(axis=0)
        ridge = (X**2).sum() / 11
        far = [x @ np.linalg.solve(X.T @ X - np.outer(x, x) + ridge * np.eye(width), x) for x in X]
        np.testing.assert_allclose(leverages(X), np.array(far) / (1 + np.array(far)), rtol=1e-9)


@pytest.fixture(scope="module")
def pool():
    """1,500 groups of 16 rows, their vectors, and what is kept of them."""
    rows = varied_rows(1500, 16, 2)
    return (
        rows,
        TEST.vectors.rows(rows.reshape(24_000, -1)).reshape(1500, 16, -1),
        reference_of(rows),
    )


@pytest.mark.thorough
@pytest.mark.parametrize("G", [5, 20, 100, 1000])
@pytest.mark.parametrize("T", [16, 11])
def test_the_level_is_kept_for_few_and_many_groups(G, T, pool):
    """16 rows, a size that is kept, and 11, which is not: groups drawn anew from 1,500 in each trial."""
    rows, vectors, groups = pool
    others, rng = groups.at(T), np.random.default_rng(G + T)
    own = vectors[:, rng.permutation(16)[:T]].mean(axis=1)
    trials = 60 if G == 1000 else 200
    for alpha in (0.05, 0.2):
        found = 0
        for _ in range(trials):
            chosen = rng.permutation(len(rows))[: G + 1]
            found += (
                exchangeable_pvalue(
                    own[chosen[0]], others[chosen[1:]], TEST.calibration.metrics
                ).value
                <= alpha
            )
        rate = int(alpha * (G + 1)) / (G + 1)
        assert (
            binomial_bounds.at_least(trials, rate) <= found <= binomial_bounds.at_most(trials, rate)
        )


@pytest.mark.slow
@pytest.mark.parametrize("T", [2, 3, 5])
def test_the_level_is_kept_for_batches_of_a_few_rows(T):
    """Between two kept sizes, where what is mixed has the covariance of T rows, but not their law."""
    circuit, rng = pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0), np.random.default_rng(78)
    trials, G, n, test, found = 800, 19, 16, hld.HLDTest(circuit), []
    parts, fill, labels = (
        column_units(circuit, test.nodes),
        np.zeros(test.vectors.size),
        np.repeat(np.arange(G), n),
    )
    for _ in range(trials):
        shares = np.clip(0.5 + 0.1 * rng.normal(size=(G + 1, 1, 4)), 0.05, 0.95)
        rows = (rng.random((G + 1, n, 4)) < shares).astype(int)
        others = group_reference(test.vectors, rows[1:].reshape(-1, 4), labels, fill, rng).at(T)
        own = test.vectors.mean(rows[0, :T])
        found.append(
            (
                exchangeable_pvalue(own, others, test.calibration.metrics).value,
                ranked_parts(own, others, parts)[1].min(),
            )
        )
    for alpha in (0.05, 0.2):
        calls = (np.array(found) <= alpha + 1e-12).sum(axis=0)
        assert calls.max() <= binomial_bounds.at_most(trials, alpha)


def test_the_law_beyond_the_ranks_is_the_f_law_for_one_number():
    from scipy.stats import f

    others = np.random.default_rng(3).normal(size=(120, 1))
    for away in (3.0, 5.0):
        exact = f.sf((away * others.std(ddof=1)) ** 2 / others.var(ddof=1) / (1 + 1 / 120), 1, 119)
        found = normal_tail(others.mean(axis=0) + away * others.std(ddof=1), others)
        assert exact <= found <= 1.15 * exact  # never smaller


def test_the_law_beyond_the_ranks_is_not_smaller_than_drawn():
    """100 normal groups with a spectrum that falls, levels that ranks of 100 do not reach."""
    drawn = np.random.default_rng(4).normal(size=(600, 101, 8)) * 0.7 ** np.arange(8)
    found = np.array([normal_tail(draw[0], draw[1:]) for draw in drawn])
    for alpha in (0.05, 0.005):
        assert (found <= alpha).sum() <= binomial_bounds.at_most(len(found), alpha)


# -- detectors ---------------------------------------------------------------------------------------------------


def moods(G, n, seed):
    rng = np.random.default_rng(seed)
    shift = rng.normal(size=(G, 1, 2))
    values = rng.normal(size=(G, n, 2)) + shift > 0
    return np.concatenate([values, values[..., :1] ^ (rng.random((G, n, 1)) < 0.2)], axis=2).astype(
        int
    )


@pytest.fixture(scope="module")
def fitted():
    rows = moods(45, 40, 0)
    labels = np.array([f"day {g}" for g in np.repeat(np.arange(45), 40)])
    return rows, hld.HLDDetector(
        num_latents=2, num_epochs=5, metric="standardized", null="exact"
    ).fit(
        {
            "a": rows[..., 0].ravel(),
            "b": rows[..., 1].ravel(),
            "c": rows[..., 2].ravel(),
            "day": labels,
        },
        groups="day",
    )


def frame(rows):
    return {name: rows[:, v] for v, name in enumerate("abc")}


def test_a_detector_keeps_groups_from_learning_and_does_not_learn_the_column(fitted):
    _, detector = fitted
    assert detector.encoder_.names == ("a", "b", "c") or list(detector.encoder_.names) == [
        "a",
        "b",
        "c",
    ]
    assert detector.judge_.num_groups == 23
    assert detector.test_.num_train == 23 * 40
    assert "groups: 23 of 40 to 40 rows" in detector.describe()
    batches = [frame(one) for one in moods(200, 40, 1)]
    assert sum(detector.test(one).reject for one in batches) <= binomial_bounds.drawn(
        200, 0.05, 23
    ).isf(1e-6)
    assert sum(detector.test_(detector.encoder_.encode(one)[0]).reject for one in batches) > 100
    broken = moods(1, 40, 2)[0]
    broken[:, 2] = 1 - broken[:, 2]
    assert detector.test(frame(broken)).pvalue == 1 / 24


def test_groups_need_rows_kept_from_learning_and_few_are_warned_of():
    rows = np.random.default_rng(0).integers(0, 2, size=(60, 2))
    with pytest.raises(ValueError, match="use reference='held-out', found reference='circuit'"):
        hld.HLDDetector(reference="circuit").fit(rows, groups=np.arange(60) % 6)
    with pytest.warns(
        UserWarning, match="leaves 5 groups to compare with, so p-values are at least 0.16"
    ):
        hld.HLDDetector(num_epochs=1).fit(rows, groups=np.arange(60) % 6)


def test_columns_are_judged_among_groups():
    """A day with a mood like others' moves no column, whatever independent rows would say; a column alone is found."""
    rng = np.random.default_rng(8)
    mood = rng.normal(size=(60, 1))
    moods = {name: rng.normal(mood, size=(60, 50)).ravel() for name in ("visits", "sales")}
    detector = hld.HLDDetector(num_epochs=3, num_latents=3).fit(
        moods, groups=np.repeat(np.arange(60), 50)
    )

    def day(mood, away=0.0):
        return {"visits": rng.normal(mood, size=50), "sales": rng.normal(mood + away, size=50)}

    calm = [detector.test(day(rng.normal())) for _ in range(40)]
    called = [min(one.adjusted for one in result.columns) <= 0.05 for result in calm]
    assert sum(called) <= binomial_bounds.at_most(40, 0.05)
    found = detector.test(day(0.2, away=-7))
    assert [one.name for one in found.columns if one.adjusted <= 0.05] == ["sales"]
    assert found.columns[0].adjusted <= 1 / 31 < found.pairs[0].adjusted
    assert "1 of 2 columns moved (p-values adjusted, ranks among groups; share" in str(found)


@pytest.mark.parametrize("by", ["day", 1, None])
def test_the_column_of_groups_is_known_and_takes_no_part(by, tmp_path):
    """A batch may have it or not; labels given by themselves name no column."""
    rng = np.random.default_rng(5)
    moods = {
        "a": rng.integers(0, 3, 800),
        "day": np.repeat(np.arange(40), 20),
        "b": rng.integers(0, 2, 800),
    }
    given = moods if by is not None else {name: moods[name] for name in "ab"}
    detector = hld.HLDDetector(num_latents=2, num_epochs=2, null="exact").fit(
        given, groups=moods["day"] if by is None else by
    )
    detector.save(tmp_path / "m.hld")
    with_day, without = (
        {name: moods[name][:20] for name in names} for names in (("a", "day", "b"), "ab")
    )
    for one in (detector, hld.load(tmp_path / "m.hld")):
        assert [column.name for column in one.schema_.left_out] == ["day"] * (by is not None)
        assert one.test(with_day).data_quality.extra == ("day",) * (by is None)
        assert one.test(without).data_quality.absent == ()
        assert one.test(with_day).pvalue == one.test(without).pvalue


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ([1, 2, 3], r"`groups` has shape \(3,\), expected a column, or 40 labels"),
        (
            np.where(np.arange(40) < 5, np.nan, np.arange(40) % 4),
            "`groups` has 5 rows without a group",
        ),
        (
            np.ma.masked_array(np.arange(40) % 4, mask=np.arange(40) < 5),
            "`groups` has 5 rows without a group",
        ),
        (["(missing)", "a", None, "b"] * 10, "`groups` has 10 rows without a group"),
    ],
)
def test_bad_groups_are_refused(groups, said):
    rows = {"a": np.arange(40) % 2, "b": np.arange(40) % 3}
    with pytest.raises((TypeError, ValueError), match=said):
        hld.HLDDetector(num_epochs=1).fit(rows, groups=groups)
