"""Label frequencies: the maximum of the likelihood by another route, intervals that cover, refusals."""

import binomial_bounds
import numpy as np
import pytest
from scipy.optimize import minimize

import hld
from hld.conditional.label_shift import LabelShift, estimate


def draws(T, q, seed):
    """(T, 3) log P(x_t | c) of rows from three overlapping normal classes in proportions q."""
    rng = np.random.default_rng(seed)
    x = rng.normal(np.array([0.0, 1.5, 3.0])[rng.choice(3, T, p=q)])
    return -0.5 * (x[:, None] - np.array([0.0, 1.5, 3.0])) ** 2


def test_the_estimate_maximises_the_likelihood_and_the_interval_is_its_curvature():
    log_given = draws(300, [0.2, 0.5, 0.3], 0)
    q, lower, upper, _ = estimate(log_given, np.array([0.6, 0.2, 0.2]), 0.95)

    def loss(free):
        return -np.log(np.exp(log_given) @ [free[0], free[1], 1 - free[0] - free[1]]).sum()

    best = minimize(loss, [0.3, 0.3], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-9})
    np.testing.assert_allclose(q[:2], best.x, atol=1e-4)
    h, eye = 1e-4, np.eye(2)
    hessian = [
        [
            (
                loss(q[:2] + h * (a + b))
                - loss(q[:2] + h * (a - b))
                - loss(q[:2] + h * (b - a))
                + loss(q[:2] - h * (a + b))
            )
            / (4 * h * h)
            for a in eye
        ]
        for b in eye
    ]
    half = 1.959964 * np.sqrt(np.linalg.inv(hessian).diagonal())
    np.testing.assert_allclose(((upper - lower) / 2)[:2], half, rtol=1e-3)


def test_intervals_cover_and_the_test_keeps_its_level():
    q, trials = np.array([0.2, 0.5, 0.3]), 300
    found = [estimate(draws(250, q, seed), q, 0.9) for seed in range(trials)]
    covered = sum(low[1] <= q[1] <= high[1] for _, low, high, _ in found)
    assert binomial_bounds.at_least(trials, 0.9) <= covered <= binomial_bounds.at_most(trials, 0.9)
    rejected = sum(pvalue <= 0.1 for *_, pvalue in found)
    assert binomial_bounds.at_least(trials, 0.1) <= rejected <= binomial_bounds.at_most(trials, 0.1)


def test_labels_that_rows_cannot_tell_apart_have_no_narrow_interval():
    apart, q = draws(300, [0.2, 0.5, 0.3], 0), np.array([0.2, 0.5, 0.3])
    whole = estimate(apart, q, 0.95)
    twins = estimate(
        apart[:, [0, 1, 1, 2]], np.array([0.2, 0.25, 0.25, 0.3]), 0.95
    )  # the second label is two
    for one, other in zip(whole[:3], twins[:3], strict=True):
        np.testing.assert_allclose(other[[0, 3]], one[[0, 2]], atol=1e-6)
    np.testing.assert_array_equal([twins[1][1:3], twins[2][1:3]], [[0, 0], [1, 1]])
    for T in (
        1_000,
        100_000,
    ):  # also where one row makes a rare label, and with it much information
        given = np.full((T, 4), [0.9, 0.1, 0.1, 1e-12])
        given[::2], given[0] = [0.1, 0.9, 0.9, 1e-12], [1e-12, 1e-12, 1e-12, 1]
        _, low, high, _ = estimate(np.log(given), np.array([0.5, 0.2, 0.2, 0.1]), 0.95)
        np.testing.assert_array_equal([low[1:3], high[1:3]], [[0, 0], [1, 1]])
        assert 1 / T < high[3] < 4 / T
    nothing = estimate(np.zeros((50, 3)), q, 0.95)
    np.testing.assert_array_equal([nothing[1], nothing[2]], [[0] * 3, [1] * 3])


@pytest.fixture(scope="module")
def detector():
    rng = np.random.default_rng(0)
    ill = rng.random(4000) < 0.3
    table = {
        "ill": np.where(ill, "yes", "no"),
        **{f"sign {i}": (rng.random(4000) < 0.15 + 0.5 * ill).astype(int) for i in range(4)},
    }
    return hld.HLDDetector(num_epochs=20).fit(table), {
        name: cells[ill] for name, cells in table.items()
    }


def test_a_detector_finds_new_frequencies_without_labels(detector):
    fitted, ill = detector
    found = hld.label_shift(
        fitted, {name: cells[:600] for name, cells in ill.items() if name != "ill"}, "ill"
    )
    assert found.labels == ("no", "yes")
    assert found.now[1] > 0.9
    assert found.pvalue < 1e-6
    assert found.before[1] == pytest.approx(0.3, abs=0.05)
    assert "yes: " in str(found)
    assert found.to_dict()["labels"][1]["label"] == "yes"


@pytest.mark.thorough
@pytest.mark.parametrize("T", [100, 2_000])
def test_the_level_is_kept_where_the_circuit_learned_from_few_rows(T):
    """Over detectors, each with one batch of the same frequencies: the rows learned from are as uncertain."""
    q, signs = (
        np.array([0.5, 0.3, 0.2]),
        np.array([[0.1, 0.5, 0.9], [0.8, 0.3, 0.4], [0.2, 0.2, 0.7], [0.6, 0.1, 0.3]]),
    )
    options = {"num_epochs": 30, "num_resamples": 9, "metric": "euclidean", "null": "exact"}
    trials, rejected, covered = 120, 0, 0
    for seed in range(trials):
        rng = np.random.default_rng([5, seed])

        def rows(n, rng=rng):
            label = rng.choice(3, n, p=q)
            return {
                "label": np.array(["a", "b", "c"])[label],
                **{f"sign {i}": (rng.random(n) < signs[i, label]).astype(int) for i in range(4)},
            }

        found = hld.label_shift(
            hld.HLDDetector(**options, rng=seed).fit(rows(600)), rows(T), "label"
        )
        rejected, covered = (
            rejected + (found.pvalue <= 0.05),
            covered + (found.lower[1] <= q[1] <= found.upper[1]),
        )
    assert rejected <= binomial_bounds.at_most(trials, 0.05)
    assert covered >= binomial_bounds.at_least(trials, 0.95)


def test_what_was_learned_from_few_rows_widens_the_interval():
    log_given = draws(300, [0.2, 0.5, 0.3], 0)
    now, low, high, known = estimate(log_given, np.full(3, 1 / 3), 0.95)
    again, lower, higher, learned = estimate(log_given, np.full(3, 1 / 3), 0.95, 100)
    np.testing.assert_array_equal(again, now)
    assert known < learned
    assert (higher - lower > high - low).all()
    _, lower, higher, _ = estimate(
        log_given, now, 0.95, 100
    )  # labels as frequent as before: 1 + 300 / 100 at most
    assert (high - low < higher - lower).all()
    assert (higher - lower < 2 * (high - low)).all()


def test_labels_that_rows_tell_apart_need_no_more_rows():
    """Where a row shows its label, P(x | y) is not asked how it was learned: the interval is that of a share."""
    log_given = np.where((np.arange(300) < 240)[:, None] == [True, False], 0.0, -40.0)
    now, low, high, _ = estimate(log_given, np.array([0.1, 0.9]), 0.95, 50)
    np.testing.assert_allclose(now, [0.8, 0.2])
    np.testing.assert_allclose((high - low) / 2, 1.959964 * np.sqrt(0.8 * 0.2 / 300), rtol=1e-4)


def test_intervals_cover_labels_that_were_rare_where_the_others_were_learned():
    """One row in ten has the second label, whose P(x | y) is therefore that of 200 rows, and four in five now."""
    rng, trials, before, now = (
        np.random.default_rng(0),
        250,
        np.array([0.9, 0.1]),
        np.array([0.2, 0.8]),
    )
    given = np.array([[0.3, 0.25, 0.2, 0.15, 0.1], [0.1, 0.15, 0.2, 0.25, 0.3]])
    covered = 0
    for _ in range(trials):
        counts = rng.multinomial(2000, before)
        learned = np.stack(
            [rng.multinomial(count, row) + 0.1 for count, row in zip(counts, given, strict=True)]
        )
        codes = np.repeat(np.arange(5), rng.multinomial(500, now @ given))
        log_given = np.log(learned[:, codes] / learned.sum(axis=1, keepdims=True)).T
        _, low, high, _ = estimate(log_given, counts / 2000, 0.95, 2000)
        covered += bool(low[1] <= now[1] <= high[1])
    assert (
        binomial_bounds.at_least(trials, 0.95) <= covered <= binomial_bounds.at_most(trials, 0.95)
    )


def test_labels_are_shown_in_one_line():
    found = LabelShift(("a\nb", "\x1b[31mred"), *np.full((4, 2), 0.5), 1.0, 10, 0.95)
    assert [line.partition(": ")[0] for line in str(found).splitlines()[1:]] == [
        "  a\\nb",
        "  \\x1b[31mred",
    ]


def test_bad_input_is_refused(detector):
    fitted, ill = detector
    with pytest.raises(ValueError, match="`label` names the column 'well', expected one of 'ill'"):
        hld.label_shift(fitted, ill, "well")
    with pytest.raises(
        ValueError, match="`confidence` must be a finite number above 0 and below 1"
    ):
        hld.label_shift(fitted, ill, "ill", confidence=1)
    with pytest.raises(
        TypeError, match="`detector` must be a fitted HLDDetector, found HLDDetector"
    ):
        hld.label_shift(hld.HLDDetector(), ill, "ill")


@pytest.mark.parametrize("least", [-800.0, -np.inf])
def test_a_label_that_no_row_can_have_has_no_rows_and_the_others_keep_intervals(least):
    """All ends of intervals had been NaN."""
    apart = draws(300, [0.4, 0.4, 0.2], 0)[:, :2]
    q, lower, upper, pvalue = estimate(
        np.column_stack([apart, np.full(300, least)]), np.array([0.3, 0.3, 0.4]), 0.95
    )
    two = estimate(apart, np.array([0.5, 0.5]), 0.95)
    np.testing.assert_allclose(q[:2], two[0], atol=1e-6)
    assert q[2] == 0
    assert lower[2] == 0
    wider = (upper - lower)[:2] / (two[2] - two[1])  # as the third label might be less than none
    assert ((wider >= 1) & (wider < 2)).all()
    assert pvalue < 1e-6
    everyone = estimate(np.array([[0.0, least]] * 10), np.array([0.5, 0.5]), 0.95, 100)
    assert everyone[0].tolist() == [1.0, 0.0]
    assert everyone[1][0] > 0.2
    assert np.isfinite(everyone[2]).all()


def test_rare_labels_are_one_label_more():
    """They had been left out: labels of half of the rows, so that the others were said to be twice as frequent."""
    rng = np.random.default_rng(1)
    label = np.array(list("abcdefghijklmnopqrst"))[np.minimum(rng.geometric(0.15, 1500) - 1, 19)]
    table = {"label": label, "copy": [cell if cell < "e" else "z" for cell in label]}
    fitted = hld.HLDDetector(num_latents=6, num_epochs=20, max_categories=5, rng=0).fit(table)
    found = hld.label_shift(fitted, {"copy": table["copy"]}, "label")
    assert found.labels[-1] == "(rare)"
    truth = [(label == one).mean() for one in found.labels[:-1]]
    np.testing.assert_allclose(found.before[:-1], truth, atol=0.04)
    np.testing.assert_allclose(found.now[:-1], truth, atol=0.04)


def test_a_label_that_training_did_not_have_has_no_rows():
    """A level of the schema alone, of probability 0 with pseudocount=0, had made all frequencies NaN."""
    rng = np.random.default_rng(0)
    label = rng.choice(["p", "q"], 600)
    table = {"label": label, "copy": np.where(rng.random(600) < 0.9, label, "r")}
    wider = {"label": [*label, "z", "z"], "copy": [*table["copy"], "p", "q"]}
    schema = hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=99).fit(wider).schema_
    fitted = hld.HLDDetector(num_epochs=20, pseudocount=0, num_resamples=99, schema=schema).fit(
        table
    )
    found = hld.label_shift(fitted, {"copy": table["copy"]}, "label")
    assert (found.labels, found.before[2], found.now[2]) == (("p", "q", "z"), 0, 0)
    np.testing.assert_allclose(
        found.now[:2], [(label == "p").mean(), (label == "q").mean()], atol=0.05
    )
    assert found.pvalue > 0.05
