"""Pictures for Graphviz."""

from format_files import binary_circuit

import pcircuit


def test_dot_is_what_graphviz_expects(tmp_path):
    circuit = binary_circuit(1, num_variables=3)
    pcircuit.write_dot(circuit, tmp_path / "a.dot")
    text = (tmp_path / "a.dot").read_text()
    assert text.count("[shape=") == circuit.num_nodes
    assert text.count("{") == text.count("}")
    assert text.count("subgraph") == len(circuit.regions)
