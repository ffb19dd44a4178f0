"""Most probable states, against the largest of all."""

import naive
import numpy as np
import pytest
import zoo

import pcircuit
from pcircuit import Circuit, InputRegion, StructureError, VTree, log_likelihood

ZOO = zoo.circuits()


@pytest.mark.parametrize("name", ZOO)
def test_the_most_probable_state_is_the_largest_of_all(name):
    circuit, rng = ZOO[name], np.random.default_rng(5)
    X, p = naive.states(circuit), naive.values(circuit)
    for _ in range(6):
        row = np.where(
            rng.random(circuit.num_variables) < 0.3, X[rng.choice(len(X), p=p / p.sum())], -1
        )
        agrees = ((row < 0) | (row == X)).all(axis=1)
        found = pcircuit.most_probable_state(circuit, row)
        assert found.is_exact
        assert np.exp(found.log_likelihood) == pytest.approx(p[agrees].max(), rel=1e-11)
        assert ((row < 0) | (found.state == row)).all()
        assert np.exp(naive.log_likelihood(circuit, found.state[None])[0]) == pytest.approx(
            p[agrees].max(), rel=1e-11
        )


def test_an_exact_state_has_its_own_likelihood_and_that_is_the_bound(rng):
    """To the last bit: the bounds of partial rows, and values of the circuit that bounds, are a rounding error away."""
    for _ in range(60):
        circuit = Circuit(
            VTree.from_nested([0, 1, 2]),
            [
                *(InputRegion(v, rng.dirichlet(np.ones(3), size=4)) for v in range(3)),
                pcircuit.InnerRegion(
                    np.repeat(np.arange(4)[:, None], 3, axis=1), rng.dirichlet(np.ones(4), size=1)
                ),
            ],
        )
        found = pcircuit.most_probable_state(circuit)
        assert found.is_exact
        assert (
            found.upper_bound
            == found.log_likelihood
            == log_likelihood(circuit, found.state[None])[0]
        )


@pytest.mark.parametrize("seed", range(5))
def test_deterministic_circuits_need_one_pass(seed):
    circuit = zoo.learned_tree(seed)
    found = pcircuit.most_probable_state(circuit, must_be_exact=True)
    assert found.num_evaluations == 1
    assert found.log_likelihood == pytest.approx(
        naive.log_likelihood(circuit, naive.states(circuit)).max(), rel=1e-12
    )


def test_a_search_that_is_given_up_says_so():
    circuit = pcircuit.rat_spn([3] * 60, num_units=6, depth=4, rng=1)
    found = pcircuit.most_probable_state(circuit, max_evaluations=500)
    assert not found.is_exact
    assert found.upper_bound > found.log_likelihood
    assert 500 - 3 < found.num_evaluations <= 500  # three levels at a time
    with pytest.raises(
        StructureError, match=r"not deterministic \(sum .* share a row\), and 500 evaluations"
    ):
        pcircuit.most_probable_state(circuit, max_evaluations=500, must_be_exact=True)


@pytest.mark.parametrize("limit", [1, 2, 5, 20])
@pytest.mark.parametrize("name", ["rat_like", "hclt_like", "irregular_csr"])
def test_bounds_enclose_the_maximum_wherever_the_search_ends(name, limit):
    circuit = zoo.circuits()[name]
    largest = pcircuit.log_likelihood(circuit, naive.states(circuit)).max()
    found = pcircuit.most_probable_state(circuit, max_evaluations=limit)
    assert found.num_evaluations <= limit
    assert found.log_likelihood == pytest.approx(
        pcircuit.log_likelihood(circuit, found.state[None])[0], rel=1e-12
    )
    assert found.log_likelihood <= largest + 1e-12
    assert found.upper_bound >= largest - 1e-12


def test_a_thousand_variables_stay_in_the_range_of_doubles():
    """Two products with the same best state: its value is the first bound, 1.5^V above what a row sums to."""
    V, rng = 1500, np.random.default_rng(0)
    tables = [np.sort(rng.dirichlet([1.0, 1.0], size=2), axis=1) for _ in range(V)]
    circuit = Circuit(
        VTree.from_nested(list(range(V))),
        [
            *(InputRegion(v, table) for v, table in enumerate(tables)),
            pcircuit.InnerRegion([[0] * V, [1] * V], [[0.5, 0.5]]),
        ],
    )
    found = pcircuit.most_probable_state(circuit, max_evaluations=1)
    assert (found.is_exact, found.state.tolist()) == (True, [1] * V)
    truth = np.logaddexp(*np.log([table[:, 1] for table in tables]).sum(axis=0)) - np.log(2)
    assert found.log_likelihood == pytest.approx(truth, rel=1e-12)


def test_impossible_evidence_has_no_most_probable_completion():
    certain = Circuit(VTree([-1], [0]), [InputRegion(0, [[1.0, 0.0]])])
    with pytest.raises(ValueError, match="`evidence` has probability zero"):
        pcircuit.most_probable_state(certain, [1])
