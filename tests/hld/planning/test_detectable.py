"""Smallest changes that are found: which levels are looked at, and the power at the change that is named."""

import naive
import numpy as np
import pytest
import zoo

import hld
import pcircuit
from hld.planning.alternatives import Edit
from hld.planning.detectable import (
    LEAST_SHARE,
    MOST_LEVELS,
    Detectable,
    detectable,
    detectable_levels,
)

CIRCUIT = zoo.circuits()["rat_like"]
TEST = hld.HLDTest(CIRCUIT)


def found_at(threshold, test=TEST, power=0.9, per_column=3):
    """What is found if every batch is rejected from one change on; and the ways of drawing that were asked for."""
    asked = []

    def draws(covariance, is_relative, num_draws, rows):
        asked.append((covariance, is_relative, num_draws, rows))

        def shares(slope, inside, p):
            asked.append((slope, inside, p))
            return lambda h: 1.0 if h >= threshold else 0.5

        return shares

    return detectable_levels(test, power, per_column, draws), asked


def test_the_change_is_the_least_with_the_power_to_a_thousandth_of_what_there_is():
    found, _ = found_at(0.23)
    for one in found:
        if one.share + 0.23 > 1:
            assert one.by is None
        else:
            assert 0.23 <= one.by <= 0.23 + (1 - one.share) / 2**10
    known = [one.by for one in found if one.by is not None]
    assert known == sorted(known)
    assert all(
        one.by is not None for one in found[: len(known)]
    )  # those that are never found come last
    assert {one.by for one in found_at(0.23, power=0.4)[0]} <= {
        (1 - one.share) / 2**10 for one in found
    }
    assert {one.by for one in found_at(2.0)[0]} == {None}


@pytest.mark.parametrize("per_column", [1, 2, 9])
def test_levels_are_the_most_frequent_of_each_column_but_none_rare_or_nearly_certain(per_column):
    circuit = zoo.independent([[0.5, 0.3, 0.195, 0.005], [0.995, 0.005], [0.2, 0.8]])
    found, _ = found_at(0.1, hld.HLDTest(circuit), per_column=per_column)
    expected = [(0, 0), (0, 1), (0, 2)][:per_column] + [(2, 1), (2, 0)][:per_column]
    assert sorted((one.column, one.level) for one in found) == sorted(expected)
    for one in found:
        assert one.share == pytest.approx(
            pcircuit.marginal_tables(circuit)[one.column][one.level], rel=1e-12
        )
        assert one.share >= LEAST_SHARE


def test_of_very_many_levels_the_most_frequent_are_looked_at():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(4, 9.0), size=30)
    found, _ = found_at(0.1, hld.HLDTest(zoo.independent(probs)), per_column=4)
    assert len(found) == MOST_LEVELS
    assert min(one.share for one in found) >= np.sort(probs.ravel())[-MOST_LEVELS] - 1e-12


def test_a_slope_is_the_difference_that_the_level_makes_for_each_unit_of_change():
    _, asked = found_at(0.1)
    covariance, is_relative, _, rows = asked[0]
    np.testing.assert_allclose(covariance, naive.hlv_moments(CIRCUIT, TEST.nodes)[1], atol=1e-13)
    assert not is_relative
    for slope, inside, p in asked[1:]:
        given = TEST.vectors.rows(inside).mean(axis=0)
        np.testing.assert_allclose(slope, (given - TEST.mean) / (1 - p), atol=1e-12)
        assert len(inside) >= 400
    assert rows.shape[1] == CIRCUIT.num_variables


def test_of_a_level_that_few_drawn_rows_have_more_are_drawn():
    rare = zoo.independent([[0.985, 0.015], [0.5, 0.5]])
    _, asked = found_at(0.1, hld.HLDTest(rare))
    (_, frequent, _), (_, few, p) = asked[1:3]
    assert (frequent[:, 0] == 0).all()
    assert (few[:, 0] == 1).all()
    assert (len(few), p) == (400, pytest.approx(0.015))


def test_the_power_at_the_change_is_the_one_that_was_asked_for():
    for power in (0.5, 0.9):
        one = min(detectable(TEST, 300, power), key=lambda one: abs(one.share - 0.5))
        assert isinstance(one, Detectable)
        assert abs(TEST.power(Edit(one.column, one.level, one.by), 300) - power) < 0.04


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"T": 0}, "`T`"),
        ({"T": 10**13}, "`T`"),
        ({"power": 1.0}, "`power`"),
        ({"alpha": 0}, "`alpha`"),
        ({"per_column": 0}, "`per_column`"),
    ],
)
def test_wrong_arguments_are_named(options, said):
    with pytest.raises(ValueError, match=f"^{said} must be"):
        detectable(TEST, **{"T": 100, **options})
