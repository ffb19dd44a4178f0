"""Juice's ``.jpc`` files."""

import naive
import numpy as np
import pytest
import zoo
from format_files import read_text, same_values
from hypothesis import HealthCheck, given, settings

import pcircuit
from pcircuit import StructureError
from pcircuit.io.jpc import binomial_probs


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(circuit=zoo.circuit_strategy())
def test_random_circuits_survive_jpc(circuit, tmp_path):
    pcircuit.write_jpc(circuit, tmp_path / "a")
    same_values(circuit, pcircuit.read_jpc(tmp_path / "a"))


def test_every_kind_of_jpc_line(tmp_path):
    text = (
        "c a comment\njpc 9\nL 0 0 -1\nL 1 0 1\nI 2 1 2 2\nB 3 1 2 2 -0.6931471805599453\nC 4 1 2 -inf 0.0 -inf\n"
        "P 5 2 2 0 2\nP 6 2 2 1 3\nP 7 2 2 1 4\n"
        f"S 8 2 3 5 {np.log(0.25)} 6 {np.log(0.25)} 7 {np.log(0.5)}\n"
    )
    circuit = read_text(tmp_path, text, pcircuit.read_jpc)
    assert circuit.num_categories == (2, 3)
    found = np.exp(pcircuit.log_likelihood(circuit, naive.states(circuit))).reshape(2, 3)
    np.testing.assert_allclose(found, [[0, 0, 0.25], [0.0625, 0.125 + 0.5, 0.0625]], rtol=1e-14)


@pytest.mark.parametrize("p", [0.0, 1e-300, 0.77, 1.0])
def test_binomials_of_a_million_trials_are_distributions(p):
    """Entry k + 1 is (n - k) / (k + 1) p / (1 - p) times entry k; logarithms of factorials would lose seven digits."""
    for n in (0, 1, 7, 1000, 2**20):
        found, k = binomial_probs(n, p, 1 - p), np.arange(n)
        assert found.sum() == pytest.approx(1, abs=1e-13)
        left, right = (1 - p) * (k + 1) * found[1:], p * (n - k) * found[:-1]
        np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("log_p", [-1e-17, -1e-40, -1e-12, 0.0, 1e-10])
def test_a_binomial_that_is_nearly_certain_keeps_what_is_left(tmp_path, log_p):
    """exp of a logarithm as small as 1e-17 is 1, and all values but the largest would be impossible."""
    circuit = read_text(tmp_path, f"jpc 1\nB 0 0 1 3 {log_p!r}\n", pcircuit.read_jpc)
    rest = max(-np.expm1(log_p), 0)
    expected = [rest**3, 3 * rest**2 * (1 - rest), 3 * rest * (1 - rest) ** 2, (1 - rest) ** 3]
    np.testing.assert_allclose(circuit.regions[0].probs[0], expected, rtol=1e-12)


def test_overlapping_scopes_have_no_v_tree(tmp_path):
    text = (
        "jpc 8\nL 0 0 1\nL 1 0 2\nL 2 0 3\nP 3 0 2 0 1\nP 4 0 2 1 2\nP 5 0 2 3 2\nP 6 0 2 0 4\n"
        "S 7 0 2 5 -0.7 6 -0.7\n"
    )
    with pytest.raises(
        StructureError, match=r"decomposable: the scopes of unit 3 .* and unit 4 .* overlap"
    ):
        read_text(tmp_path, text, pcircuit.read_jpc)
