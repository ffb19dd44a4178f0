"""The ways to make members: what options, rows, columns and the work that is left allow."""

import numpy as np
import pytest

from pcircuit import LearnSearch
from pcircuit.learning.choosing.fits import Rows, Size
from pcircuit.learning.choosing.ways import continuous_ways, point_epochs, ways
from pcircuit.learning.choosing.work import Making


def test_what_is_tried_follows_the_options():
    assert [
        tuple(way.size) for way in ways(Size(64, 1.0), LearnSearch(num_parts=()), (9000, 10))
    ] == [(64, 1.0)]
    found = [
        (way.num_parts, way.size)
        for way in ways(Size(1, 1.0), LearnSearch(num_latents=[1]), (639, 10))
    ]
    assert found == [(1, (1, 1.0)), (4, (1, 0.1)), (16, (1, 0.1))]


@pytest.mark.parametrize(
    ("most", "rows", "categories", "expected"),
    [
        (8192, 9000, [2] * 100, 8192),
        (9000, 9000, [2] * 100, 8192),
        (8192, 600, [2, 2], 512),
        (8192, 255, [2, 2], 0),
        (255, 9000, [2, 2], 0),
        (8192, 9000, [2], 0),
        (8192, 9000, [1, 1], 0),
        (8192, 900, [256] * 784, 0),
        (8192, 9000, [2] * 5000, 2048),
    ],
)
def test_points_of_continuous_mixtures_fit_rows_and_memory(most, rows, categories, expected):
    table = np.zeros((rows, len(categories)), dtype=np.int8)
    of_table = Rows(
        table,
        table,
        np.ones(rows),
        table[:10],
        np.array(categories),
        np.arange(-1, len(categories) - 1),
        None,
    )
    found = continuous_ways(of_table, LearnSearch(num_points=most))
    assert [way.num_points for way in found] == [expected] * (expected > 0)


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (1e300, 8192),
        (2 * 8192 * 61, 8192),
        (2 * 8192 * 61 - 1, 4096),
        (2 * 256 * 61, 256),
        (2 * 256 * 61 - 1, 0),
        (1, 0),
    ],
)
def test_two_continuous_mixtures_have_no_more_parameters_than_there_may_be(most, expected):
    """Twenty columns of three categories: 60 probabilities and a weight for each point."""
    table = np.zeros((9000, 20), dtype=np.int8)
    rows = Rows(table, table, np.ones(9000), table[:10], np.full(20, 3), np.arange(-1, 19), None)
    found = continuous_ways(rows, LearnSearch(max_parameters=most))
    assert [way.num_points for way in found] == [expected] * (expected > 0)


@pytest.mark.parametrize(
    ("epochs_left", "expected"), [(160, 40), (159, 40), (79, 39), (16, 8), (15.9, 0)]
)
def test_a_continuous_mixture_takes_half_of_what_is_left_if_that_is_enough(epochs_left, expected):
    """50 rows of 2 columns at 3 states: 50 x 3 x 12 = 1,800 for each epoch, of which all 40 are a quarter of 160."""
    table = np.zeros((50, 2), dtype=np.int8)
    rows = Rows(table, table, np.ones(50), table[:10], np.array([2, 2]), np.array([-1, 0]), None)
    making = Making(
        rows, LearnSearch(max_work=1800 * epochs_left), np.random.default_rng(0), [], None
    )
    assert point_epochs(3, making) == expected
