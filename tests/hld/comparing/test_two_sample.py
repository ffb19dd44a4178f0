"""Two batches: the level whatever the distribution is, by divisions and by the law; many batches as distances."""

import binomial_bounds as bounds
import numpy as np
import pytest
import zoo

import hld
import pcircuit


@pytest.fixture(scope="module")
def test():
    return hld.HLDTest(zoo.circuits()["hclt_like"], metric=["euclidean", "standardized"])


def foreign(circuit, n, rng):
    """Rows of a distribution that the circuit does not know: the first category twice as frequent, all independent."""
    columns = [
        rng.choice(C, n, p=np.append(2.0, np.ones(C - 1)) / (C + 1)) for C in circuit.num_categories
    ]
    return np.stack(columns, axis=1)


def test_level_by_divisions_is_exact_for_any_distribution(test):
    rng, trials, B = np.random.default_rng(0), 300, 39
    rejected = sum(
        hld.two_sample(
            test,
            foreign(test.circuit, 12, rng),
            foreign(test.circuit, 30, rng),
            num_permutations=B,
            rng=rng,
        ).reject
        for _ in range(trials)
    )
    assert rejected <= bounds.at_most(trials, 0.05)
    assert rejected >= bounds.at_least(
        trials, 0.03
    )  # ties of discrete rows make it a little smaller


@pytest.mark.thorough
def test_level_by_summaries():
    test = hld.HLDTest(zoo.circuits()["hclt_like"], metric="standardized")
    rng, trials, rejected = np.random.default_rng(1), 200, 0
    for _ in range(trials):
        one, two = (pcircuit.sample(test.circuit, n, rng=rng) for n in (150, 300))
        rejected += hld.two_sample(test, test.summarize(one), test.summarize(two)).reject
    assert bounds.at_least(trials, 0.05) <= rejected <= bounds.at_most(trials, 0.05)


@pytest.mark.slow
@pytest.mark.thorough
def test_level_by_summaries_of_batches_that_are_not_as_learned():
    """Learned: independent columns; both batches: copies of one column, whose covariance has a single direction."""
    rng = np.random.default_rng(3)
    detector = hld.HLDDetector(num_epochs=3).fit(rng.integers(0, 2, (800, 8)))
    pairs = [
        [detector.summarize(np.repeat(rng.integers(0, 2, (100, 1)), 8, axis=1)) for _ in range(2)]
        for _ in range(150)
    ]
    rejected = sum(hld.two_sample(detector, *pair).reject for pair in pairs)
    assert rejected <= bounds.at_most(150, 0.05)


def test_a_difference_is_found(test):
    rng = np.random.default_rng(2)
    one, two = pcircuit.sample(test.circuit, 200, rng=rng), foreign(test.circuit, 200, rng)
    by_rows, by_sums = (
        hld.two_sample(test, one, two),
        hld.two_sample(test, test.summarize(one), test.summarize(two)),
    )
    assert by_rows.reject
    assert by_sums.reject
    assert by_rows.null == "permutation"
    assert by_rows.pvalue == 0.001
    assert by_rows.effect > 0.2
    assert by_rows.to_dict()["num_rows"] == [200, 200]
    assert str(by_rows).startswith("the batches differ: p = 0.001")
    same = hld.two_sample(test, [[0] * 6] * 5, [[0] * 6] * 4)
    assert str(same) == "no difference: p = 1 at level 0.05, 5 and 4 rows, effect size 0"


def test_columns_that_training_did_not_have_are_ignored_as_in_tests():
    rng = np.random.default_rng(3)
    plain = {"size": rng.integers(0, 3, 400), "kind": rng.choice(["u", "v"], 400)}
    detector = hld.HLDDetector(num_latents=2, num_epochs=3, num_resamples=9).fit(
        {name: cells[:200] for name, cells in plain.items()}
    )

    def some(rows, **more):
        return {**more, **{name: cells[rows] for name, cells in plain.items()}}

    first, second = slice(200, 300), slice(300, 400)
    wider = some(first, number=np.arange(100), tags=[[1]] * 100)
    assert hld.two_sample(detector, wider, some(second)) == hld.two_sample(
        detector, some(first), some(second)
    )
    lacking = {"kind": plain["kind"][first], "number": np.arange(100)}
    with pytest.raises(ValueError, match=r"^`second` has no column 'size'"):
        hld.two_sample(detector, wider, lacking)


def test_the_effect_is_debiased_for_few_rows(test):
    assert hld.two_sample(test, [[0] * 6], [[1] * 6]).effect == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize(
    "metric", ["euclidean", "whitened", ["euclidean", "standardized"]], ids=str
)
@pytest.mark.parametrize("sizes", [(1, 1), (5, 4), (200, 170)], ids=str)
def test_rounding_is_no_difference(metric, sizes, engine):
    """Rows that are all alike have means that differ by rounding at most, in batches of whatever size."""
    circuit = zoo.circuits()["hclt_like"]
    rows = pcircuit.sample(circuit, 80, rng=0)
    test = hld.HLDTest(circuit, metric=metric, reference="training", training_data=rows)
    for row in rows[:3]:
        first, second = np.tile(row, (sizes[0], 1)), np.tile(row, (sizes[1], 1))
        by_rows = hld.two_sample(test, first, second, num_permutations=99)
        by_sums = hld.two_sample(test, test.summarize(first), test.summarize(second))
        assert (by_rows.pvalue, by_rows.effect) == (1.0, 0.0)
        assert (by_sums.pvalue, by_sums.effect) == (1.0, 0.0)


@pytest.mark.thorough
@pytest.mark.parametrize(("share", "shift"), [(0.2, 0.0), (0.5, 0.0), (0.5, 0.08)])
def test_summaries_of_a_detector_say_what_its_rows_say(share, shift):
    """The law against divisions; rows that are wider than the reference have the law of their own spread, a bound."""
    rng = np.random.default_rng(5)
    table = (rng.random((600, 4)) < 0.2).astype(int)
    detector = hld.HLDDetector(
        num_latents=2, num_epochs=4, metric="euclidean", reference="training"
    ).fit(table)
    first, second = ((rng.random((500, 4)) < p).astype(int) for p in (share, share + shift))
    by_rows = hld.two_sample(detector, first, second, num_permutations=9999)
    by_sums = hld.two_sample(detector, detector.summarize(first), detector.summarize(second))
    assert (by_sums.null, by_sums.num_rows) == ("exact", (500, 500))
    assert by_sums.effect == pytest.approx(by_rows.effect, rel=0.5, abs=0.02)
    near = pytest.approx(by_rows.pvalue, rel=0.2, abs=4 * bounds_of(by_rows.pvalue, 9999))
    assert by_sums.pvalue == near or (share == 0.5 and by_sums.pvalue > by_rows.pvalue)
    assert by_rows.reject == by_sums.reject == (shift > 0)


def bounds_of(p, B):
    """Standard deviation of a share of B divisions."""
    return (p * (1 - p) / B) ** 0.5 + 1 / B


def test_summaries_of_rows_that_are_all_alike_have_a_pvalue_above_zero():
    """It had been 0, which no p-value is: the two batches show no spread at all."""
    detector = hld.HLDDetector(num_latents=2, num_epochs=3, num_resamples=99).fit(
        np.arange(400).reshape(200, 2) % 3
    )
    batches = [
        detector.summarize([[level, level + 1]] * size) for level, size in ((0, 20), (1, 30))
    ]
    found = hld.two_sample(detector, *batches)
    assert 0 < found.pvalue < 1e-9
    assert min(found.pvalues) > 0


def test_what_cannot_be_compared_is_refused(test, monkeypatch):
    rows, none = pcircuit.sample(test.circuit, 9, rng=0).astype(int), np.zeros((0, 6), dtype=int)
    one, empty = test.summarize(rows), test.summarize(none)
    other = hld.HLDTest(zoo.circuits()["two_coins"]).summarize([[0, 1]])
    against = hld.HLDTest(test.circuit, reference="training", training_data=rows)
    holed = against.summarize(np.where(np.arange(6) == 0, -1, rows))
    for model, first, second, error, said in (
        (test, none, rows, ValueError, "`first` has no rows: at least one is needed"),
        (test, rows, none, ValueError, "`second` has no rows: at least one is needed"),
        (test, one, empty, ValueError, "`second.num_rows` must be a whole number"),
        (test, one, [[0, 1]], TypeError, "`second` must be a BatchSummary"),
        (test, one, other, ValueError, r"`second` is for the model \w{8}, expected \w{8}: a"),
        (
            against,
            holed,
            holed,
            ValueError,
            "`first` is a summary of rows with holes, .*: give",
        ),
        (
            3,
            one,
            one,
            TypeError,
            "`model` must be a circuit, an HLDTest or an HLDDetector, found int",
        ),
        (hld.HLDDetector(), one, one, ValueError, "this HLDDetector is not fitted"),
    ):
        with pytest.raises(error, match=said):
            hld.two_sample(model, first, second)
    monkeypatch.setattr("hld.detector.two_sample.MAX_FULL_SPECTRUM", 5)
    with pytest.raises(ValueError, match="can be compared as summaries for at most 5 nodes"):
        hld.two_sample(test, one, one)


@pytest.mark.parametrize(
    ("options", "fitting", "said"),
    [
        ({}, {"groups": np.arange(300) // 6}, "`groups`"),
        ({}, {"order": "time"}, "`order`='time'"),
        ({"covariates": [0]}, {}, "`covariates`"),
    ],
)
def test_detectors_of_rows_that_are_not_alike_are_warned_of(options, fitting, said):
    rows = np.random.default_rng(0).integers(0, 3, size=(300, 3))
    detector = hld.HLDDetector(num_latents=2, num_epochs=2, **options).fit(rows, **fitting)
    with pytest.warns(UserWarning, match=f"`model` was fitted with {said}, but the two"):
        hld.two_sample(detector, rows[:20], rows[20:40], num_permutations=19)
