"""The least p-value of a test: none is smaller, and it falls with the rows."""

import numpy as np
import pytest
import zoo

import hld
from pcircuit import rat_spn, sample

CIRCUIT = rat_spn([2] * 4, num_units=2, depth=1, rng=0)
ROWS = sample(CIRCUIT, 40, rng=1)


@pytest.fixture(scope="module")
def test():
    return hld.HLDTest(CIRCUIT)


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
