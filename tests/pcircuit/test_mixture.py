"""Mixtures of circuits on different v-trees: what is exact for them, what they are made of, and what is refused."""

import pickle

import naive
import numpy as np
import pytest
import zoo
from mixtures import mixed

from pcircuit import (
    Circuit,
    InputRegion,
    Mixture,
    VTree,
    chow_liu_circuit,
    log_likelihood,
    rat_spn,
    sample,
)

COINS = zoo.two_coins()


def coin(p, num_categories=2):
    """A circuit of one variable."""
    return Circuit(VTree([-1], [0]), [InputRegion(0, [[p, 1 - p, *[0.0] * (num_categories - 2)]])])


def test_likelihoods_of_a_mixture_are_those_of_enumeration(rng):
    mixture, rows = mixed(rng)
    rows[rng.random(rows.shape) < 0.3] = -1
    expected = sum(
        w * naive.likelihood(c, rows)
        for c, w in zip(mixture.circuits, mixture.weights, strict=True)
    )
    np.testing.assert_allclose(np.exp(log_likelihood(mixture, rows)), expected, rtol=1e-12)
    states = naive.states(mixture.circuits[0])
    assert np.exp(log_likelihood(mixture, states)).sum() == pytest.approx(1, abs=1e-12)


def test_a_mixture_of_weight_zero_and_of_impossible_rows():
    sure = [chow_liu_circuit([[x, x]] * 4, num_categories=2, pseudocount=0) for x in (0, 1)]
    mixture = Mixture(sure, [1, 0])
    assert log_likelihood(mixture, [[0, 0], [1, 1], [0, 1]]).tolist() == [0, -np.inf, -np.inf]
    assert (sample(mixture, 200, rng=0) == 0).all()
    assert sample(mixture, given=[[0, -1]], rng=0).tolist() == [[0, 0]]
    with pytest.raises(ValueError, match="probability zero at row 1"):
        sample(mixture, given=[[0, -1], [1, -1]])


def test_mixtures_are_equal_if_their_circuits_and_weights_are():
    mixture, other = (
        Mixture([COINS, rat_spn([2, 2], rng=1), COINS], [0.1, 0.2, 0.7]),
        rat_spn([2, 2], rng=1),
    )
    assert mixture == Mixture(list(mixture.circuits), mixture.weights)
    assert mixture != Mixture(mixture.circuits, [0.2, 0.1, 0.7])
    assert mixture != Mixture([other, COINS, COINS], mixture.weights)
    assert Mixture([COINS]) not in (COINS, mixture)


@pytest.mark.parametrize("seed", range(20))
def test_weights_of_a_mixture_are_divided_by_their_sum_once(seed):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(rng.integers(2, 40))) * (1 + 5e-10)
    once = Mixture([COINS] * len(weights), weights)
    assert abs(once.weights.sum() - 1) < 1e-14
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(once))))
    np.testing.assert_array_equal(again.weights, once.weights, strict=True)


def test_what_it_is_made_of_can_be_asked():
    circuits = (zoo.hclt_like(), zoo.independent(np.full((6, 3), 1 / 3)))
    both = Mixture(iter(circuits))
    assert both.circuits == circuits
    assert (both.num_variables, both.num_categories) == (6, (3,) * 6)
    assert both.num_parameters == sum(circuit.num_parameters for circuit in circuits)
    assert both.weights.tolist() == [0.5, 0.5]
    assert Mixture([COINS] * 4).weights.tolist() == [0.25] * 4
    assert repr(both) == f"Mixture(2 circuits, 6 variables, {both.num_parameters} parameters)"
    assert repr(Mixture([COINS])) == "Mixture(1 circuit, 2 variables, 10 parameters)"
    with pytest.raises(TypeError, match="unhashable"):
        hash(both)


@pytest.mark.parametrize(
    ("circuits", "weights", "error", "message"),
    [
        ([], None, ValueError, "`circuits` is empty: a mixture needs at least one"),
        (COINS, None, TypeError, "`circuits` must be a sequence of circuits, found Circuit"),
        (3, None, TypeError, "`circuits` must be a sequence of circuits, found int"),
        ([COINS, 1], None, TypeError, "`circuits[1]` must be a pcircuit.Circuit, found int"),
        (
            [Mixture([COINS])],
            None,
            TypeError,
            "`circuits[0]` must be a pcircuit.Circuit, found Mixture",
        ),
        (
            [coin(0.5), COINS],
            None,
            ValueError,
            "`circuits` must have the same variables and numbers of categories, found (2, 2) in number 1 "
            "and (2,) in number 0",
        ),
        (
            [coin(0.5), coin(0.5), coin(0.5, 3)],
            None,
            ValueError,
            "`circuits` must have the same variables and numbers of categories, found (3,) in number 2 "
            "and (2,) in number 0",
        ),
        *(
            (
                [COINS] * 2,
                weights,
                ValueError,
                "`weights` must be 2 finite numbers of at least 0 with sum 1, one for each "
                f"circuit, found {found}",
            )
            for weights, found in (
                ([1.0], "shape (1,)"),
                ([[0.5, 0.5]], "shape (1, 2)"),
                ([1.5, -0.5], "-0.5 at position 1"),
                ([np.nan, 1.0], "nan at position 0"),
                ([np.inf, 0.0], "inf at position 0"),
                ([0.5, 0.6], "the sum 1.1: divide them by it"),
                ([3, 4], "the sum 7: divide them by it"),
                ([0, 0], "the sum 0"),
                ([1e308, 1e308], "the sum inf"),
            )
        ),
    ],
)
def test_what_is_no_mixture_is_refused_in_one_sentence(circuits, weights, error, message):
    with pytest.raises(error) as caught:
        Mixture(circuits, weights)
    assert str(caught.value) == message
