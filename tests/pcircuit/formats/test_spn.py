"""The ``.spn`` files of Juice: each kind of line, children by the numbers of their lines, and what is damaged."""

import naive
import numpy as np
import pytest
import zoo
from format_files import read_text, same_values
from hypothesis import HealthCheck, given, settings

import pcircuit
from pcircuit import Circuit, InputRegion, StructureError, VTree


def test_every_kind_of_line(tmp_path):
    """0.25 of (0, 1), and 0.75 of x_0 = 1 with two values of x_1; the last product is not below the root."""
    text = (
        "(2 3)\nv 0 0\nv 0 1\nv 1 1\nv 1 0\nv 1 2\n"
        f"+ 3 {np.log(0.4)} 4 {np.log(0.6)}\n* 0 2\n* 5 1\n* 0 3\n+ 6 {np.log(0.25)} 7 {np.log(0.75)}\nEOF\n"
    )
    circuit = read_text(tmp_path, text, pcircuit.read_spn)
    assert circuit.num_categories == (2, 3)
    np.testing.assert_allclose(
        naive.values(circuit).reshape(2, 3), [[0, 0.25, 0], [0.3, 0, 0.45]], rtol=1e-12
    )


def test_spaces_and_empty_lines_do_not_count(tmp_path):
    circuit = read_text(
        tmp_path, "\n( 2   2 )\n\n v 0 0\nv 1 1  \n\n* 1   0\n  EOF\n\n", pcircuit.read_spn
    )
    np.testing.assert_array_equal(naive.values(circuit), [0, 1, 0, 0])


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(circuit=zoo.circuit_strategy(max_variables=4))
def test_random_circuits_survive(circuit, tmp_path):
    pcircuit.write_spn(circuit, tmp_path / "a.spn")
    same_values(circuit, pcircuit.read_spn(tmp_path / "a.spn"))


def test_categories_that_no_unit_has_are_kept(tmp_path):
    circuit = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.25, 0.0, 0.75, 0.0]])])
    pcircuit.write_spn(circuit, tmp_path / "a.spn")
    assert (tmp_path / "a.spn").read_text().startswith("(4)\nv 0 0\nv 0 1\nv 0 2\nv 0 3\n+ 0 ")
    assert pcircuit.read_spn(tmp_path / "a.spn").num_categories == (4,)
    same_values(circuit, pcircuit.read_spn(tmp_path / "a.spn"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "()\nv 0 0\nEOF\n",
            r"line 1: expected a first line with the numbers of categories in parentheses, like \(2 2 3",
        ),
        (
            "( )\nEOF\n",
            "line 1: expected a first line with the numbers of categories in parentheses",
        ),
        ("(\nEOF\n", "line 1: expected a first line with the numbers of categories in parentheses"),
        (
            "(2 0)\nv 0 0\nEOF\n",
            "line 1: the number of categories must be a whole number from 1 to 1048576, found '0'",
        ),
        (
            "(2 two)\nv 0 0\nEOF\n",
            "line 1: the number of categories must be a whole number from 1 to 1048576, found 'tw",
        ),
        (
            "(2)\n* 0\nEOF\n",
            "line 2: the first unit must be a value 'v VARIABLE VALUE': children come before parents",
        ),
        ("(2)\n+ 0 0.0\nEOF\n", "line 2: the first unit must be a value"),
        (
            "(2)\nv 0 0\n* 1\nEOF\n",
            "line 3: the number of a child must be a whole number from 0 to 0, found '1'",
        ),
        (
            "(2)\nv 0 0\n* -1\nEOF\n",
            "line 3: the number of a child must be a whole number from 0 to 0, found '-1'",
        ),
        ("(2)\nv 0 2\nEOF\n", "line 2: the value must be a whole number from 0 to 1, found '2'"),
        ("(2)\nv 0\nEOF\n", "line 2: a value takes 3 words, found 2"),
        ("(2)\nv 0 0\n+\nEOF\n", r"line 3: expected .* found '\+' and 0 numbers"),
        ("(2)\nv 0 0\n* \nEOF\n", r"line 3: expected .* found '\*' and 0 numbers"),
        ("(2)\nv 0 0\nx 0\nEOF\n", "line 3: expected .* found 'x' and 1 numbers"),
        (
            "(2)\nv 0 0\n+ 0 nan\nEOF\n",
            "line 3: the log-probability must be the logarithm of a finite number, found nan",
        ),
        ("", "it has no units"),
        ("(2)\n", "it has no units"),
    ],
)
def test_damage_is_told_with_its_line(text, message, tmp_path):
    with pytest.raises(ValueError, match=f"^cannot read '.*a'(, |: ){message}"):
        read_text(tmp_path, text, pcircuit.read_spn)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(2 2)\nv 0 0\nv 1 0\n+ 0 -1 1 -1\nEOF\n", "is not smooth"),
        ("(2)\nv 0 0\nv 0 1\n* 0 1\nEOF\n", "decomposable"),
        ("(2 2)\nv 1 0\nEOF\n", "no unit for variable 0"),
    ],
)
def test_circuits_of_another_kind_are_told_with_their_file(text, message, tmp_path):
    with pytest.raises(StructureError, match=f"^cannot read '.*a': .*{message}"):
        read_text(tmp_path, text, pcircuit.read_spn)
