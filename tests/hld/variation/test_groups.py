"""Batches among groups: exchangeable scores, equal covariances, the level for few and many groups, files."""

import warnings

import binomial_bounds
import numpy as np
import pytest
from dependent_rows import GROUPED as CIRCUIT
from dependent_rows import varied_rows

import hld
import pcircuit
from hld.answers.column_shifts import column_shifts
from hld.nulls.exchangeable import exchangeable_pvalue, leverages, normal_pvalue, symmetric_scores
from hld.nulls.ranked_parts import ranked_parts
from hld.references.groups import group_reference
from hld.vectors.linear_maps import DenseRows, Scaled
from hld.vectors.row_vectors import column_units

TEST = hld.HLDTest(CIRCUIT, metric=("euclidean", "standardized", "whitened"))


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
    one = (Scaled("euclidean", np.ones(1)),)
    for away in (3.0, 5.0):
        exact = f.sf((away * others.std(ddof=1)) ** 2 / others.var(ddof=1) / (1 + 1 / 120), 1, 119)
        found = normal_pvalue(others.mean(axis=0) + away * others.std(ddof=1), others, one)
        assert exact <= found <= 1.15 * exact  # never smaller


def test_the_law_beyond_the_ranks_is_not_smaller_than_drawn():
    """100 normal groups with a spectrum that falls, levels that ranks of 100 do not reach."""
    rng, metric = np.random.default_rng(4), (DenseRows("plain", np.diag(0.7 ** np.arange(8))),)
    found = np.array(
        [normal_pvalue(draw[0], draw[1:], metric) for draw in rng.normal(size=(600, 101, 8))]
    )
    for alpha in (0.05, 0.005):
        assert (found <= alpha).sum() <= binomial_bounds.at_most(len(found), alpha)


# -- detectors ---------------------------------------------------------------------------------------------------


def table(G, n, seed):
    rng = np.random.default_rng(seed)
    shift = rng.normal(size=(G, 1, 2))
    values = rng.normal(size=(G, n, 2)) + shift > 0
    return np.concatenate([values, values[..., :1] ^ (rng.random((G, n, 1)) < 0.2)], axis=2).astype(
        int
    )


@pytest.fixture(scope="module")
def fitted():
    rows = table(45, 40, 0)
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
    batches = [frame(one) for one in table(200, 40, 1)]
    assert sum(detector.test(one).reject for one in batches) <= binomial_bounds.drawn(
        200, 0.05, 23
    ).isf(1e-6)
    assert sum(detector.test_(detector.encoder_.encode(one)[0]).reject for one in batches) > 100
    broken = table(1, 40, 2)[0]
    broken[:, 2] = 1 - broken[:, 2]
    assert detector.test(frame(broken)).pvalue == 1 / 24


def test_files_keep_the_groups(fitted, tmp_path):
    rows, detector = fitted
    detector.save(tmp_path / "model.hld")
    again = hld.load(tmp_path / "model.hld")
    assert again.test(frame(rows[0])).to_dict() == detector.test(frame(rows[0])).to_dict()
    assert again.describe() == detector.describe()
    parts = [frame(rows[0][:7]), frame(rows[0][7:])]
    assert hld.judge_chunks(again, parts).pvalue == detector.test(frame(rows[0])).pvalue


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ("month", "`groups` names the column 'month', expected one of 'a', 'b'"),
        ([1, 2, 3], r"`groups` has shape \(3,\), expected a column, or 40 labels"),
        (np.zeros(40), "`groups` names 1 group, expected at least 3"),
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


def test_a_group_may_be_called_missing():
    rows, labels = (
        np.random.default_rng(0).integers(0, 2, size=(120, 2)),
        ["(missing)", *map(str, range(39))] * 3,
    )
    detector = hld.HLDDetector(num_epochs=1).fit(rows, groups=labels)
    assert detector.judge_.num_groups == 20
    assert hld.Monitor(detector, reference=rows, groups=labels).num_rows == 0


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
    table = {name: rng.normal(mood, size=(60, 50)).ravel() for name in ("visits", "sales")}
    detector = hld.HLDDetector(num_epochs=3, num_latents=3).fit(
        table, groups=np.repeat(np.arange(60), 50)
    )

    def day(mood, away=0.0):
        return {"visits": rng.normal(mood, size=50), "sales": rng.normal(mood + away, size=50)}

    calm = [detector.test(day(rng.normal())) for _ in range(40)]
    called = [min(one.adjusted for one in result.columns) <= 0.05 for result in calm]
    assert sum(called) <= binomial_bounds.at_most(40, 0.05)
    rows = [
        column_shifts(one.evidence.fitted, one.evidence.reference, one.evidence.batch, 0)
        for one in calm
    ]
    assert sum(one[0].adjusted <= 0.05 for one in rows) > binomial_bounds.at_most(40, 0.05)
    odd = day(0.2, away=-7)
    found = detector.test(odd)
    assert [one.name for one in found.columns if one.adjusted <= 0.05] == ["sales"]
    assert found.columns[0].adjusted == 1 / 31
    assert found.pairs == ()
    assert "1 of 2 columns moved (p-values adjusted, ranks among groups; share" in str(found)
    assert hld.judge_chunks(detector, [odd]).columns[0].pvalue == found.columns[0].pvalue
    segments = detector.test_by(
        {name: np.concatenate([odd[name], day(0.0)[name]]) for name in odd},
        np.repeat(["odd", "like"], 50),
        0.1,
    )
    assert segments.results[1].columns[0].adjusted == 1 / 31
    assert segments.results[0].columns == ()  # not called


@pytest.mark.parametrize("by", ["day", 1, None])
def test_the_column_of_groups_is_known_and_takes_no_part(by, tmp_path):
    """A batch may have it or not; labels given by themselves name no column."""
    rng = np.random.default_rng(5)
    table = {
        "a": rng.integers(0, 3, 800),
        "day": np.repeat(np.arange(40), 20),
        "b": rng.integers(0, 2, 800),
    }
    given = table if by is not None else {name: table[name] for name in "ab"}
    detector = hld.HLDDetector(num_latents=2, num_epochs=2, null="exact").fit(
        given, groups=table["day"] if by is None else by
    )
    detector.save(tmp_path / "m.hld")
    again = hld.load(tmp_path / "m.hld")
    for one in (detector, again):
        assert [column.name for column in one.schema_.left_out] == (
            ["day"] if by is not None else []
        )
        with_day, without = (
            {name: table[name][:20] for name in names} for names in (("a", "day", "b"), "ab")
        )
        assert one.test(with_day).data_quality.extra == (() if by is not None else ("day",))
        assert one.test(without).data_quality.absent == ()
        assert one.test(with_day).pvalue == one.test(without).pvalue
        assert "day" not in str(one.test(with_day)) or by is None
        in_order = np.column_stack(
            [table["a"][:20], table["b"][:20]]
        )  # without names, as the columns learned stand
        assert one.test(in_order).pvalue == one.test(without).pvalue
        assert one.n_features_in_ == 2


def test_a_batch_of_several_groups_is_warned_of_wherever_it_is_tested():
    """In whole and in chunks; not one group, nor those that `test_by` takes apart, nor rows that do not say theirs."""
    rng = np.random.default_rng(6)
    table = {"a": rng.integers(0, 3, 800), "day": np.repeat([f"day {i}" for i in range(40)], 20)}
    detector = hld.HLDDetector(num_latents=2, num_epochs=2, null="exact").fit(table, groups="day")
    several, *parts = (
        {name: cells[rows] for name, cells in table.items()}
        for rows in (slice(20, 80), slice(20, 40), slice(40, 80))
    )
    for test in (lambda: detector.test(several), lambda: hld.judge_chunks(detector, parts)):
        with pytest.warns(
            UserWarning,
            match=r"rows of 3 groups \('day 1', 'day 2', 'day 3'\), and is tested as one",
        ):
            test()
    arrow = pytest.importorskip("pyarrow")
    with pytest.warns(UserWarning, match="rows of 3 groups"):  # of a stream, which can be read once
        assert detector.test(arrow.table(several).to_reader()).data_quality.num_rows == 60
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            hld.judge_chunks(detector, [arrow.table(parts[0]).to_reader()]).data_quality.num_rows
            == 20
        )
        detector.test({**parts[0], "day": [[1]] * 20})  # takes no part, whatever it holds
        detector.test(parts[0])
        detector.test({"a": several["a"]})
        assert len(detector.test_by(several, "day").results) == 3


def test_a_given_schema_may_know_the_column_of_groups():
    rng = np.random.default_rng(0)
    table = {
        "a": rng.integers(0, 3, 600),
        "b": rng.integers(0, 2, 600),
        "day": np.arange(600) // 15,
    }
    options = {"num_latents": 2, "num_epochs": 1}
    first = hld.HLDDetector(**options).fit(table, groups="day")
    for schema in (hld.learn_schema(table), first.schema_):
        again = hld.HLDDetector(schema=schema, **options).fit(table, groups="day")
        assert [(one.name, one.kind) for one in again.schema_.columns] == [
            (one.name, one.kind) for one in first.schema_.columns
        ]
