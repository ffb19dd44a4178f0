"""Circuits as ``.spn`` text files, an older format of Juice, like the arithmetic circuits of Libra.

    (2 2 3)                  number of categories of each variable
    v VARIABLE VALUE         x_v = VALUE; both count from 0
    * CHILD ...              product
    + (CHILD LOGPROB) ...    sum
    EOF

Units have no ids: a child is the number of its line, the first unit being 0.  The last unit is the root.
"""

import math
import os
from typing import Any

import numpy as np

from pcircuit.arguments import Floats
from pcircuit.circuit import Circuit, check_circuit
from pcircuit.io.graph import Graph, circuit_of_graph
from pcircuit.io.text import MOST_CATEGORIES, lines_of, name_units, named_in_errors
from pcircuit.io.whole_file import checked_path, write_text


def read_spn(path: str | os.PathLike[str]) -> Circuit:
    """Read a ``.spn`` file as a circuit.

    Parameters
    ----------
    path : str or os.PathLike

    Returns
    -------
    Circuit

    Raises
    ------
    TypeError
        If `path` is not a path.
    ValueError
        If the file is damaged: file, line and what is wrong.
    StructureError
        If the circuit is not smooth and structured-decomposable, or its tables are too large.
    OSError
        If there is no such file or it cannot be opened.

    Notes
    -----
    O(size of the file), and of the tables of input units: entries that the file does not write out, such as the zeros
    of an indicator among many categories, may be 16 for each byte of the file, and 2^23 more.

    References
    ----------
    Juice's file `src/io/spn_io.jl`.

    Examples
    --------
    >>> import tempfile
    >>> from pcircuit import rat_spn
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_spn(rat_spn([2, 3, 2], num_units=2, depth=1, rng=0), f"{folder}/a.spn")
    ...     read_spn(f"{folder}/a.spn").num_categories
    (2, 3, 2)
    """
    path, domains, is_whole = checked_path(path), None, False
    graph = Graph(os.path.getsize(path))
    for line in lines_of(path, comment=None):
        if domains is None:
            domains = _domains(line)
        elif is_whole:
            raise line.fail("nothing may follow the line EOF")
        elif line.tokens == ["EOF"]:
            is_whole = True
        else:
            _read_unit(line, graph, domains)
    if domains is None or not graph.units:
        raise ValueError(f"cannot read {path!r}: it has no units")
    if not is_whole:
        raise ValueError(
            f"cannot read {path!r}: its last line is not EOF, so that it may have lost units"
        )
    with named_in_errors(path):
        circuit = circuit_of_graph(graph, len(graph.units) - 1)
    if circuit.num_variables < len(domains):  # those of the circuit are numbered without gaps
        raise ValueError(
            f"cannot read {path!r}: its first line has {len(domains)} variables, and its root is over the "
            f"first {circuit.num_variables} alone"
        )
    return circuit


def write_spn(circuit: Circuit, path: str | os.PathLike[str]) -> None:
    """Write a circuit as a ``.spn`` file, whole or not at all.

    Parameters
    ----------
    circuit : Circuit
    path : str or os.PathLike

    Raises
    ------
    TypeError
        If `circuit` is not a circuit, or `path` not a path.
    OSError
        If the folder does not exist or cannot be written.

    Notes
    -----
    O(size).  Input units become sums of indicators, which is all that the format has.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pcircuit import InputRegion, VTree
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_spn(Circuit(VTree([-1], [0]), [InputRegion(0, [[1.0, 0.0]])]), f"{folder}/a.spn")
    ...     pathlib.Path(folder, "a.spn").read_text().split()
    ['(2)', 'v', '0', '0', 'v', '0', '1', '+', '0', '0.0', 'EOF']
    """
    check_circuit(circuit)
    path = checked_path(path)
    lines: list[str] = []
    values: dict[int, list[int]] = {}  # the lines of the categories of each variable

    def put(*parts: object) -> int:
        lines.append(" ".join(map(str, parts)))
        return len(lines) - 1

    def put_input(r: int, variable: int, row: Floats) -> int:
        if variable not in values:
            values[variable] = [put("v", variable, c) for c in range(len(row))]
        terms = [f"{values[variable][c]} {math.log(row[c])!r}" for c in np.flatnonzero(row)]
        return put("+", *(terms or [f"{values[variable][0]} -inf"]))

    name_units(
        circuit, put_input, lambda r, factors: put("*", *factors), lambda r, terms: put("+", *terms)
    )
    write_text(
        path, "\n".join([f"({' '.join(map(str, circuit.num_categories))})", *lines, "EOF"]) + "\n"
    )


def _domains(line: Any) -> list[int]:
    """Numbers of categories from the first line."""
    text = " ".join(line.tokens)
    line.tokens = text[1:-1].split()
    if not (text.startswith("(") and text.endswith(")") and line.tokens):
        raise line.fail(
            "expected a first line with the numbers of categories in parentheses, like (2 2 3)"
        )
    return [
        line.integer(i, "number of categories", least=1, most=MOST_CATEGORIES)
        for i in range(len(line.tokens))
    ]


def _read_unit(line: Any, graph: Graph, domains: list[int]) -> None:
    """Add the unit of one line to the graph."""
    kind, label, last = line.tokens[0], f"in line {line.number}", len(graph.units) - 1
    if kind == "v":
        line.expect(3, "a value")
        variable = line.integer(1, "variable", most=len(domains) - 1)
        value = line.integer(2, "value", most=domains[variable] - 1)
        graph.add_indicator(label, variable, value, domains[variable])
    elif kind in ("*", "+") and len(line.tokens) > 1 and (kind == "*" or len(line.tokens) % 2):
        if last < 0:
            raise line.fail(
                "the first unit must be a value 'v VARIABLE VALUE': children come before parents"
            )
        step = 1 if kind == "*" else 2
        children = [
            line.integer(i, "number of a child", most=last)
            for i in range(1, len(line.tokens), step)
        ]
        if kind == "*":
            graph.add_product(label, children)
        else:
            graph.add_sum(
                label, children, [line.probability(i) for i in range(2, len(line.tokens), 2)]
            )
    else:
        raise line.fail(
            f"expected 'v VARIABLE VALUE', '* CHILD ...' or '+ CHILD LOGPROB ...', found {kind[:40]!r} and "
            f"{len(line.tokens) - 1} numbers"
        )
