"""Juice's ``.jpc`` files."""
import naive
import numpy as np
import pytest
import zoo
from format_files import read_text, same_values
from hypothesis import HealthCheck, given, settings

import pcircuit
from pcircuit import StructureError


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(circuit=zoo.circuit_strategy())
def test_random_circuits_survive_jpc(circuit, tmp_path):
    pcircuit.write_jpc(circuit, tmp_path / "a")
    same_values(circuit, pcircuit.read_jpc(tmp_path / "a"))


def test_every_kind_of_jpc_line(tmp_path):
    text = ("c a comment\njpc 9\nL 0 0 -1\nL 1 0 1\nI 2 1 2 2\nB 3 1 2 2 -0.6931471805599453\nC 4 1 2 -inf 0.0 -inf\n"
            "P 5 2 2 0 2\nP 6 2 2 1 3\nP 7 2 2 1 4\n"
            f"S 8 2 3 5 {np.log(0.25)} 6 {np.log(0.25)} 7 {np.log(0.5)}\n")
    circuit = read_text(tmp_path, text, pcircuit.read_jpc)
    assert circuit.num_categories == (2, 3)
    found = np.exp(pcircuit.log_likelihood(circuit, naive.states(circuit))).reshape(2, 3)
    np.testing.assert_allclose(found, [[0, 0, 0.25], [0.0625, 0.125 + 0.5, 0.0625]], rtol=1e-14)


def test_overlapping_scopes_have_no_v_tree(tmp_path):
    text = ("jpc 8\nL 0 0 1\nL 1 0 2\nL 2 0 3\nP 3 0 2 0 1\nP 4 0 2 1 2\nP 5 0 2 3 2\nP 6 0 2 0 4\n"
            "S 7 0 2 5 -0.7 6 -0.7\n")
    with pytest.raises(StructureError, match=r"decomposable: the scopes of unit 3 .* and unit 4 .* overlap"):
        read_text(tmp_path, text, pcircuit.read_jpc)
