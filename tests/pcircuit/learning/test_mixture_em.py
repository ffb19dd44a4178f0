"""EM for mixtures where circuits explain few of the rows, or none."""

import numpy as np
import pytest

from pcircuit import Circuit, InputRegion, Mixture, VTree, fit_mixture


def certain(value):
    """A circuit of one variable that has this value, 0 or 1."""
    return Circuit(VTree([-1], [0]), [InputRegion(0, [np.eye(2)[value]])])


@pytest.mark.filterwarnings("error")
def test_where_no_circuit_explains_any_row_all_stays_as_it_is():
    mixture = Mixture([certain(0), certain(0)], [0.25, 0.75])
    fitted, history = fit_mixture(mixture, [[1], [1]], num_epochs=3)
    assert fitted.weights.tolist() == [0.25, 0.75]
    assert fitted.circuits == mixture.circuits
    assert history.tolist() == [-np.inf] * 4


@pytest.mark.filterwarnings("error")
def test_a_circuit_that_no_row_comes_from_keeps_its_parameters_and_has_weight_zero():
    fitted, history = fit_mixture(
        Mixture([certain(0), certain(1)]), [[0], [0]], num_epochs=2, pseudocount=0
    )
    assert fitted.weights.tolist() == [1, 0]
    assert fitted.circuits == (certain(0), certain(1))
    np.testing.assert_allclose(history, [-np.log(2), 0, 0])


@pytest.mark.filterwarnings("error")
def test_impossible_rows_beside_possible_ones_count_for_no_circuit():
    fitted, history = fit_mixture(Mixture([certain(0)]), [[0], [1]], num_epochs=1)
    assert fitted.weights.tolist() == [1]
    assert history[0] == -np.inf


@pytest.mark.parametrize("num_epochs", [0, 1])
def test_a_pseudocount_out_of_range_is_refused_however_few_the_epochs(num_epochs):
    with pytest.raises(ValueError, match="`pseudocount` must be a finite number of at least 0"):
        fit_mixture(Mixture([certain(0)]), [[0]], num_epochs=num_epochs, pseudocount=-1)
