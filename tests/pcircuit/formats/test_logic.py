"""Logic circuits count their models."""

import naive
import numpy as np
import pytest
from format_files import read_text

import pcircuit


def test_logic_counts_models(tmp_path):
    text = "jlc 6\nL 0 0 1\nL 1 0 -1\nL 2 1 2\nL 3 2 3\nA 4 3 3 1 2 3\nO 5 3 2 0 4\n"  # x1 or (not x1 and x2 and x3)
    circuit = read_text(tmp_path, text, pcircuit.read_jlc)
    rows = naive.states(circuit)
    expected = [float(x or (y and z)) for x, y, z in rows.tolist()]
    np.testing.assert_allclose(np.exp(pcircuit.log_likelihood(circuit, rows)), expected, atol=1e-15)
    assert np.exp(pcircuit.log_likelihood(circuit, [[-1, -1, -1]])) == pytest.approx(5)


def test_constants_of_logic_disappear(tmp_path):
    text = (
        "jlc 7\nF 0\nT 1\nL 2 0 1\nL 3 1 2\nA 4 2 3 2 1 3\nA 5 2 2 0 2\nO 6 2 2 4 5\n"  # x1 and x2
    )
    circuit = read_text(tmp_path, text, pcircuit.read_jlc)
    np.testing.assert_allclose(
        np.exp(pcircuit.log_likelihood(circuit, naive.states(circuit))), [0, 0, 0, 1], atol=0
    )


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("jlc 4\nL 0 0 1\nL 1 0 2\nL 2 0 3\nA 3 0 2 0 1\n", lambda x, y, z: x and y),
        ("jlc 4\nL 0 0 1\nL 1 0 2\nL 2 0 3\nA 3 0 2 0 2\n", lambda x, y, z: x and z),
        ("jlc 6\nF 0\nL 1 0 1\nL 2 0 -2\nL 3 0 3\nA 4 0 3 0 2 3\nO 5 0 2 1 4\n", lambda x, y, z: x),
    ],
)
def test_variables_that_the_root_does_not_depend_on_are_free(text, formula, tmp_path):
    """The last ones had been left out without a word, so that x1 and x2 of three had one model in place of two."""
    circuit = read_text(tmp_path, text, pcircuit.read_jlc)
    rows = naive.states(circuit)
    expected = [float(formula(*row)) for row in rows.tolist()]
    np.testing.assert_array_equal(np.exp(pcircuit.log_likelihood(circuit, rows)), expected)
    assert circuit.num_variables == 3


def test_inputs_that_smoothing_adds_are_bounded_by_the_size_of_the_file(monkeypatch, tmp_path):
    V, ors = 100, 50
    lines = [
        "jlc 1",
        *(f"L {v} 0 {v + 1}" for v in range(V)),
        f"A {V} 0 {V} {' '.join(map(str, range(V)))}",
        *(f"O {V + 1 + i} 0 2 0 {V}" for i in range(ors)),
    ]
    assert read_text(tmp_path, "\n".join(lines), pcircuit.read_jlc).num_variables == V
    monkeypatch.setattr("pcircuit.formats.logic.MOST_ADDED", 0)
    monkeypatch.setattr(
        "pcircuit.formats.logic.SPARE_ADDED", 1000
    )  # each "or" adds 99 inputs beside variable 1
    with pytest.raises(
        ValueError, match=r"line 113: children that lack variables would get more than 1000 inputs"
    ):
        read_text(tmp_path, "\n".join(lines), pcircuit.read_jlc)


def test_tables_that_sums_make_are_bounded_by_the_size_of_the_file(monkeypatch, tmp_path):
    """Every "or" of literals makes a table of two entries, in a line of some 15 bytes."""
    ors = 200
    lines = ["jlc 1", "L 0 0 1", "L 1 0 -1", *(f"O {2 + i} 0 2 {1 + i} 0" for i in range(ors))]
    monkeypatch.setattr("pcircuit.formats.unit_graph.SPARE_ENTRIES", 100)
    circuit = read_text(tmp_path, "\n".join(lines), pcircuit.read_jlc)
    np.testing.assert_array_equal(circuit.regions[0].probs, [[1, ors]])
