"""What a test answers beside verdicts: each method is the function that it names, and the least p-value is one."""

import naive
import numpy as np
import pytest
import zoo

import hld
from hld.planning.power import detectable, power, sample_size
from hld.summaries.summing import summarize_rows, test_fingerprint
from hld.testing.goodness_of_fit import described
from pcircuit import rat_spn, sample

CIRCUIT = rat_spn([2] * 4, num_units=2, depth=1, rng=0)
ROWS = sample(CIRCUIT, 40, rng=1)
EDIT = hld.Edit(0, 0, 0.2)


@pytest.fixture(scope="module")
def test():
    return hld.HLDTest(CIRCUIT)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (
            lambda test: test.summarize(ROWS),
            lambda test: summarize_rows(test, ROWS),
        ),
        (lambda test: test.power(EDIT, 30, 0.01), lambda test: power(test, EDIT, 30, 0.01)),
        (
            lambda test: test.sample_size(EDIT, 0.7, 0.01),
            lambda test: sample_size(test, EDIT, 0.7, 0.01),
        ),
        (
            lambda test: test.detectable(300, 0.7, 0.01),
            lambda test: detectable(test, 300, 0.7, 0.01),
        ),
        (
            lambda test: test.fingerprint,
            lambda test: test_fingerprint(test.circuit, test.calibration),
        ),
        (lambda test: test.describe(), described),
    ],
    ids=["summarize", "power", "sample_size", "detectable", "fingerprint", "describe"],
)
def test_methods_give_what_the_functions_give(test, asked, expected):
    assert asked(test) == expected(test)


def test_the_number_of_rows_asked_for_has_the_power_asked_for_and_one_row_less_has_not(test):
    T = test.sample_size(EDIT, 0.8)
    assert test.power(EDIT, T) >= 0.8 > test.power(EDIT, T - 1)


def test_the_spectrum_is_that_of_the_likelihoods_and_is_computed_once(test):
    values, vectors = test.effect_spectrum()
    covariance = naive.hlv_moments(CIRCUIT, test.nodes)[1]
    np.testing.assert_allclose(vectors * values @ vectors.T, covariance, atol=1e-12)
    assert test.effect_spectrum()[0] is values


def test_rows_nearer_than_infinitely_far_have_no_smaller_pvalue_than_the_least():
    """Two rows with one, two, ... values that none of k has.  It was 3e-6 against 5,000, where such rows had 8e-8."""
    circuit = zoo.independent([[0.75, 0.25], *[[0.9999, 0.0001]] * 3])
    for k in (60, 500, 5000):
        kept = np.zeros((k, 4), dtype=int)
        kept[::2, 0] = 1
        against = hld.HLDTest(
            circuit, metric="euclidean", null="exact", reference="training", training_data=kept
        )
        for T in (1, 2, 5):
            found = [
                against(np.repeat([[0] * (4 - j) + [1] * j], T, axis=0)).pvalue for j in range(4)
            ]
            assert against.least_pvalue(T) <= min(found) * (1 + 1e-9)
        assert against.least_pvalue(1) == pytest.approx(1 / (k + 1))
        assert against.least_pvalue(2) == pytest.approx(
            2 / ((k + 1) * (k + 2)), rel=0.01
        )  # both farther than all k


def test_the_least_pvalue_falls_with_the_rows_and_is_that_of_the_draws_where_these_judge(test):
    against = hld.HLDTest(
        CIRCUIT, null="auto", reference="training", training_data=ROWS, num_resamples=99, rng=0
    )
    least = [against.least_pvalue(T) for T in (1, 2, 3, 10, 100)]
    assert least[0] == pytest.approx(1 / 41)
    assert least == sorted(least, reverse=True)
    drawn = hld.HLDTest(CIRCUIT, null="monte-carlo", num_resamples=99, rng=0)
    assert drawn.least_pvalue(7) == drawn.calibration.null.least(7) > 0
    assert test.least_pvalue(1) == 1e-300


@pytest.mark.parametrize(
    ("T", "error"), [(0, ValueError), (1.5, TypeError), (True, TypeError), ("2", TypeError)]
)
def test_a_least_pvalue_is_of_a_whole_number_of_rows(test, T, error):
    with pytest.raises(error, match="`T` must be a whole number of at least 1"):
        test.least_pvalue(T)
