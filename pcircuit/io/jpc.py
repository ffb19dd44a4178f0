"""Probabilistic circuits as the text ``.jpc`` files of Juice (ProbabilisticCircuits.jl).

    jpc COUNT                             number of nodes; a file with fewer has lost its end
    L ID VTREE LITERAL                    x_v = 1 (literal v) or x_v = 0 (literal -v); variables count from 1
    I ID VTREE VARIABLE VALUE             x_v = VALUE; values count from 0
    B ID VTREE VARIABLE N LOGP            binomial on 0..N
    C ID VTREE VARIABLE LOGPROB ...       categorical; the first number is that of value 0
    P ID VTREE N CHILD ...                product
    S ID VTREE N (CHILD LOGPROB) ...      sum

Children come before parents and the last node is the root.  Lines that begin with "c" are comments.  The ids of v-tree
nodes are not used: the v-tree is that of the scopes, or the one given.  PyJuice gives its pickles the same ending;
they are not read here: `examples/adapters/pyjuice_to_jpc.py` turns them into this text.
"""

import math
import os
from typing import Any

import numpy as np

from pcircuit.circuit import Circuit, check_circuit
from pcircuit.io.graph import Graph, circuit_of_graph
from pcircuit.io.text import (
    MOST_CATEGORIES,
    Ids,
    Line,
    NumberedLines,
    name_units,
    named_in_errors,
    read_nodes,
)
from pcircuit.io.vtree_file import read_vtree, with_two_children
from pcircuit.io.whole_file import checked_path, write_text


def read_jpc(path: str | os.PathLike[str], vtree: str | os.PathLike[str] | None = None) -> Circuit:
    """Read a ``.jpc`` text file of Juice as a circuit.

    Parameters
    ----------
    path : str or os.PathLike
    vtree : str or os.PathLike, optional
        A ``.vtree`` file that the circuit follows.  Without it the v-tree is inferred from the scopes of the nodes.

    Returns
    -------
    Circuit
        Variable 1 of the text is column 0.  Weights are kept as they are, also where they do not sum to one.

    Raises
    ------
    TypeError
        If a file is not given by its path.
    ValueError
        If the file is damaged, or has units that are not discrete: file, line and what is wrong.
    StructureError
        If the circuit is not smooth and structured-decomposable, does not follow the v-tree, or its tables are too
        large.
    OSError
        If there is no such file or it cannot be opened.

    Notes
    -----
    O(size of the file), and of the tables of input units: entries that the file does not write out, such as the zeros
    of an indicator among many categories, may be 16 for each byte of the file, and 2^23 more.

    References
    ----------
    Dang, Khosravi, Liang, Vergari and Van den Broeck (2021), Juice: A Julia package for logic and probabilistic
    circuits, AAAI; its file `src/io/jpc_io.jl` defines the text.

    Examples
    --------
    >>> import tempfile
    >>> from pcircuit import rat_spn
    >>> circuit = rat_spn([2, 3, 2], num_units=2, depth=1, rng=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_jpc(circuit, f"{folder}/a.jpc")
    ...     read_jpc(f"{folder}/a.jpc").num_categories
    (2, 3, 2)
    """
    path = checked_path(path)
    tree = None if vtree is None else read_vtree(checked_path(vtree, "vtree"))
    graph = Graph(os.path.getsize(path))
    with named_in_errors(path):
        root, *_ = read_nodes(path, "jpc", lambda line, ids: _read_node(line, graph, ids))
        return circuit_of_graph(graph, root, tree)


def write_jpc(circuit: Circuit, path: str | os.PathLike[str]) -> None:
    """Write a circuit as a ``.jpc`` text file, whole or not at all.

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
    O(size).  Products of more than two units are written as chains of products of two, as Juice has them; v-tree ids
    are the regions' numbers after that.  Numbers are written with all their digits: what is read again differs by
    rounding of logarithms only.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pcircuit import InputRegion, VTree
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_jpc(Circuit(VTree([-1], [0]), [InputRegion(0, [[1.0, 0.0]])]), f"{folder}/a.jpc")
    ...     print(pathlib.Path(folder, "a.jpc").read_text())
    c variables count from 1, values from 0; children come before parents
    jpc 1
    L 0 0 -1
    <BLANKLINE>
    """
    check_circuit(circuit)
    circuit, path = with_two_children(circuit), checked_path(path)
    lines = NumberedLines()
    name_units(
        circuit,
        lambda r, variable, row: lines.put(*_input(r, variable + 1, row)),
        lambda r, factors: lines.put("P", r, len(factors), *factors),
        lambda r, terms: lines.put("S", r, len(terms), *terms),
    )
    comment = "c variables count from 1, values from 0; children come before parents"
    write_text(path, "\n".join([comment, f"jpc {len(lines)}", *lines]) + "\n")


def binomial_probs(n: int, p: float, rest: float) -> np.ndarray:
    """(n + 1,) probabilities of a binomial distribution; the smaller of p and `rest` = 1 - p keeps its digits."""
    from scipy.stats import binom

    k = np.arange(n + 1)
    return np.asarray(binom.pmf(k, n, p) if p < rest else binom.pmf(n - k, n, rest))


def _read_node(line: Line, graph: Graph, ids: Ids) -> int:
    """Add the unit of one line to the graph; its position."""
    kind, label = line.tokens[0], line.label
    if kind == "P":
        return graph.add_product(label, line.children(ids))
    if kind == "S":
        children = line.children(ids, step=2)
        return graph.add_sum(
            label, children, [line.probability(i) for i in range(5, len(line.tokens), 2)]
        )
    if kind == "L":
        return graph.add_indicator(label, *line.literal(), 2)
    if kind not in ("I", "B", "C"):
        raise line.fail(
            f"a node is an L, I, B, C, P or S line, found {kind[:40]!r}: continuous inputs are not read"
        )
    variable = line.variable(3) - 1
    if kind == "C":
        probs = np.array([line.probability(i) for i in range(4, len(line.tokens))])
        if not len(probs):
            raise line.fail("a categorical input needs at least one log-probability")
        return graph.add_input(label, variable, probs)
    largest = line.integer(4, "value" if kind == "I" else "number of trials", most=MOST_CATEGORIES)
    line.expect(5 if kind == "I" else 6, "an indicator" if kind == "I" else "a binomial input")
    if kind == "I":
        return graph.add_indicator(label, variable, largest, largest + 1)
    graph.spend(largest + 1)
    p = line.at_most_one(5)
    rest = max(0.0, -math.expm1(float(line.tokens[5])))
    return graph.add_input(label, variable, binomial_probs(largest, p, rest))


def _input(r: int, variable: int, row: np.ndarray) -> tuple[Any, ...]:
    """The line of an input unit, without its id: an indicator where one value is certain."""
    value = int(row.argmax())
    if row[value] == 1.0 and np.count_nonzero(row) == 1:
        if len(row) == 2:
            return "L", r, variable if value else -variable
        if value == len(row) - 1:  # else the reader could not know the number of categories
            return "I", r, variable, value
    with np.errstate(divide="ignore"):
        return "C", r, variable, *map(repr, np.log(row).tolist())
