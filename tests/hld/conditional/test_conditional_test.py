"""Given covariates: the level under moved covariates, power against what moves given them, the words, the file."""

import binomial_bounds
import numpy as np
import pytest
from moved_covariates import CIRCUIT, GIVEN, moved

import hld
import pcircuit
from hld.testing.conditional.conditional_test import (
    ConditionalTest,
    build_judge,
    conditional_test,
)
from hld.testing.conditional.residuals import residuals
from hld.testing.variation.group_test import GroupTest, group_test
from hld.testing.variation.time_test import TimeTest, time_test
from pcircuit import rat_spn, sample


@pytest.fixture(scope="module")
def test_given():
    rows = pcircuit.sample(
        CIRCUIT, 20_000, rng=1
    )  # so many that their errors, the same in every trial, are small
    inner = hld.HLDTest(
        CIRCUIT,
        metric=("euclidean", "standardized"),
        null="exact",
        reference="training",
        training_data=rows,
        rng=0,
    )
    return conditional_test(inner, rows, GIVEN, seed=0)


@pytest.mark.thorough
@pytest.mark.parametrize("T", [8, 60, 400])
def test_moved_covariates_keep_the_level(test_given, T):
    rng, trials = np.random.default_rng(T), 100
    found = [_pvalue(test_given, moved(T, rng)) for _ in range(trials)]
    assert sum(p <= 0.05 for p in found) <= binomial_bounds.at_most(trials, 0.05)
    assert sum(p <= 0.3 for p in found) >= binomial_bounds.at_least(
        trials, 0.05
    )  # nor is it no test


def _pvalue(test, rows):
    """The conditional p-value without that of the covariates, which costs most of the time."""
    quick = ConditionalTest(**vars(test))
    object.__setattr__(quick, "covariate_pvalue", lambda batch: 1.0)
    return quick(rows).pvalue


def test_what_moved_is_said(test_given):
    rng = np.random.default_rng(0)
    calm, covariates = pcircuit.sample(CIRCUIT, 300, rng=5), moved(300, rng)
    both = moved(300, rng, changed=True)
    rest = calm.copy()
    rest[rng.random(300) < 0.5, 3] = 0
    for rows, said, words in (
        (calm, "nothing", "neither the covariates nor the rest"),
        (covariates, "covariates", "(covariate shift)"),
        (rest, "conditional", "(concept drift)"),
        (both, "both", "the covariates moved, and the rest given them changed"),
    ):
        found = test_given(rows)
        assert f'"{found.null}" where it was judged given covariates' in hld.HLDResult.__doc__
        assert found.context.moved == said
        assert words in str(found)
        assert found.reject == (said in ("conditional", "both"))
        assert found.to_dict()["context"]["moved"] == said
    assert test_given.inner(covariates).reject


def test_the_regression_takes_off_what_single_covariates_explain(test_given):
    rows = pcircuit.sample(CIRCUIT, 20_000, rng=1)
    functions = test_given.functions(rows)
    assert functions.shape[1] == 1 + 4 + 4 + 16
    rank = np.linalg.matrix_rank(functions)
    assert rank == 9  # all that two covariates of three values can be
    left = residuals(CIRCUIT, test_given.inner.nodes, rows, GIVEN) - functions @ test_given.beta
    np.testing.assert_allclose(functions.T @ left, 0, atol=1e-9)
    found = left.std(axis=0) * np.sqrt(20_000 / (20_000 - rank))
    np.testing.assert_allclose(found, test_given.stds, rtol=1e-9, atol=1e-12)


def test_a_wrong_circuit_is_made_up_for():
    """Rows of another source: the circuit knows neither the covariates nor what depends on each of them."""
    rng = np.random.default_rng(6)

    def rows(n, p):
        x = (rng.random((n, 2)) < p).astype(int)
        y = (rng.random((n, 3)) < 0.2 + 0.5 * x[:, :1] + 0.2 * x[:, 1:]).astype(int)
        return np.concatenate([x, y], axis=1)

    old = rows(1500, 0.5)
    inner = hld.HLDTest(CIRCUIT, null="exact", reference="training", training_data=old, rng=0)
    test, trials = conditional_test(inner, old, GIVEN, seed=0), 100
    found = sum(_pvalue(test, rows(300, [0.2, 0.7])) <= 0.05 for _ in range(trials))
    assert found <= binomial_bounds.at_most(trials, 0.05)


# -- detectors ---------------------------------------------------------------------------------------------------


def table(n, seed, share=0.5, effect=0.6):
    rng = np.random.default_rng(seed)
    age = (rng.random(n) < share).astype(int)
    return {
        "age": age,
        "site": rng.integers(0, 3, n),
        "label": (rng.random(n) < 0.2 + effect * age).astype(int),
    }


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(
        num_latents=2, num_epochs=10, covariates=["age", "site"], null="exact"
    ).fit(table(3000, 0))


@pytest.mark.thorough
def test_a_detector_with_covariates(detector, tmp_path):
    shift, drift = detector.test(table(500, 1, share=0.8)), detector.test(table(500, 2, effect=0.3))
    assert (shift.reject, shift.context.moved) == (False, "covariates")
    assert (drift.reject, drift.context.moved) == (True, "conditional")
    assert "covariates: 2 of 3 columns, which may move" in detector.describe()
    detector.save(tmp_path / "model.hld")
    again = hld.load(tmp_path / "model.hld")
    assert again.test(table(500, 2)).to_dict() == detector.test(table(500, 2)).to_dict()
    assert list(again.covariates) == ["age", "site"]


@pytest.mark.parametrize(
    ("covariates", "options", "said"),
    [
        (["age", "site", "label"], {}, "names all 3 columns: leave out those that are tested"),
        (
            ["height"],
            {},
            "`covariates` names the column 'height', expected one of 'age', 'site', 'label'",
        ),
        ([], {}, "names no column"),
        (["age"], {"reference": "circuit"}, "use reference='held-out', found reference='circuit'"),
        (["age"], {"metric": "score"}, "has no conditional expectation"),
    ],
)
def test_bad_covariates_are_refused(covariates, options, said):
    with pytest.raises(ValueError, match=said):
        hld.HLDDetector(num_epochs=1, covariates=covariates, **options).fit(table(200, 3))


SMALL = {"num_latents": 2, "num_epochs": 3, "num_resamples": 99}


def visits(n, rng, missing):
    """Two columns that three covariates determine jointly, which a tree of few states does not learn."""
    given = rng.integers(0, 3, (n, 3))
    first = (given[:, 0] + given[:, 1] > 2) ^ (given[:, 2] == 1) ^ (rng.random(n) < 0.1)
    second = (given[:, 0] * given[:, 2] > 1) ^ (rng.random(n) < 0.1)
    rows = np.column_stack([given, first, second]).astype(float)
    rows[:, 3:][rng.random((n, 2)) < missing] = np.nan
    return rows


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("trained", [0.0, 0.3])
def test_missing_cells_keep_the_level(trained):
    """With what the circuit gets wrong taken off rows that do not show it, all but one in twelve were rejected."""
    pvalues = []
    for seed in range(12):
        rng = np.random.default_rng([8, seed])
        detector = hld.HLDDetector(covariates=[0, 1, 2], missingness=False, **SMALL).fit(
            visits(2000, rng, trained)
        )
        pvalues.append([detector.test(visits(1000, rng, missing)).pvalue for missing in (0.7, 1.0)])
    assert ((np.array(pvalues) <= 0.05).sum(axis=0) <= binomial_bounds.at_most(12, 0.05)).all()
    shifted = visits(1000, rng, 0.5)
    shifted[:, 4] = 1 - shifted[:, 4]
    found = detector.test(shifted)
    assert found.reject
    assert [one.name for one in found.columns if one.adjusted <= 0.05] == ["x4"]


@pytest.mark.parametrize(
    ("target", "others"),
    [(lambda a: 0 * a + 1, False), (lambda a: a % 2, False), (lambda a: 0 * a + 1, True)],
)
def test_what_the_covariates_determine_does_not_move(target, others):
    """Residuals of 1e-17 had been compared with one another: p = 1e-25 and an effect size of 6."""
    rng = np.random.default_rng(0)

    def table(n):
        a = rng.integers(0, 3, n)
        return {"a": a, "t": target(a), **({"b": rng.normal(a)} if others else {})}

    detector = hld.HLDDetector(covariates=["a"], **SMALL).fit(table(600))
    for T in (1, 2, 60, 500):
        result = detector.test(table(T))
        assert result.pvalue == pytest.approx(1.0) or others
        assert all(one.pvalue == 1.0 for one in result.columns if one.name == "t")
    moved = table(60)
    moved["t"] = moved["t"] + 1
    result = detector.test(moved)
    assert result.reject
    assert 0 < result.effect < 100


JUDGED = rat_spn([2] * 4, num_units=2, depth=1, rng=0)
ROWS = sample(JUDGED, 80, rng=1).astype(int)
LABELS, JUDGED_GIVEN = np.arange(80) // 10, np.arange(4) < 2
TEST = hld.HLDTest(
    JUDGED, metric="euclidean", null="exact", reference="training", training_data=ROWS, rng=7
)


def same(one, other):
    """Whether two judges hold the same numbers."""
    one, other = one.to_arrays(), other.to_arrays()
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name]) for name in one
    )


@pytest.mark.parametrize(
    ("labels", "given", "order", "kind", "make"),
    [
        (LABELS, None, None, GroupTest, lambda seed: group_test(TEST, ROWS, LABELS, seed=seed)),
        (None, None, "time", TimeTest, lambda seed: time_test(TEST, ROWS)),
        (
            None,
            JUDGED_GIVEN,
            None,
            ConditionalTest,
            lambda seed: conditional_test(TEST, ROWS, JUDGED_GIVEN, seed=seed),
        ),
    ],
)
def test_groups_order_and_covariates_have_judges_of_their_own(labels, given, order, kind, make):
    judge = build_judge(TEST, ROWS, labels, given, order)
    assert type(judge) is kind
    assert judge.inner is TEST
    assert same(judge, make(TEST.settings.seed))
    assert same(judge, make(TEST.settings.seed + 1)) == (kind is TimeTest)  # which draws nothing
