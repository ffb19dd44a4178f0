"""Means that differ by rounding alone: no difference, whatever the numbers of rows are."""

import numpy as np
import pytest
import zoo

import hld
from hld.variation.group_test import group_test
from hld.variation.rounding import without_rounding
from hld.variation.time_test import time_test

CIRCUIT = zoo.circuits()["hclt_like"]
TEST = hld.HLDTest(CIRCUIT, metric=("euclidean", "standardized", "whitened"))


def series_test(rows):
    return time_test(TEST, rows)


def groups_of_ten(rows):
    return group_test(TEST, rows, np.arange(len(rows)) // 10, seed=0)


def test_numbers_that_differ_by_rounding_are_the_same_and_others_stay():
    others = np.array([[0.1 + 0.2, 1.0, 0.0], [0.3, 1.0 + 1e-6, 1e-30]])
    own, found = without_rounding(np.array([0.3, 1.0, 0.0]), others, np.array([0.0, 1.0, 1.0]))
    np.testing.assert_array_equal(own, [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(found, others * [0, 1, 0])


@pytest.mark.parametrize("make", [groups_of_ten, series_test])
@pytest.mark.parametrize("T", [1, 7, 30, 1001])
def test_rows_that_are_all_alike_are_no_shift_from_rows_like_them(make, T):
    row = np.zeros((1, CIRCUIT.num_variables), dtype=int)
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
