"""Probabilistic sentential decision diagrams as ``.psdd`` and ``.vtree`` files.

    psdd COUNT                               number of nodes: lines, or also about one for each element of a "D" line
    L ID VTREE LITERAL                       x_v = 1 (literal v) or x_v = 0 (literal -v); variables count from 1
    T ID VTREE VARIABLE LOGPROB              P(x_v = 1) = exp(LOGPROB), P(x_v = 0) the rest
    D ID VTREE N  (PRIME SUB LOGPROB) x N    sum of exp(LOGPROB) * prime * sub

Children come before parents and the last node is the root.  A literal and a "T" line are input units over one binary
variable, a "D" line is a sum of products of two units, one of each child of its v-tree node.  In a PSDD the primes of a
node exclude each other, so that at most one product is positive for each row (determinism); nothing here needs that.

A file that was cut at the end of a line looks like a smaller circuit.  It is refused where its last node lacks
variables of the file, and where the count promises more than lines and elements together, or too few more than lines
for elements to be among them.  What is left is told by the v-tree alone.

Units of a PSDD are shared, with any number of them at each v-tree node: they become regions with sparse weights.
"""

import math
import os
from typing import Any

import numpy as np

from pcircuit.circuit import Circuit, check_circuit
from pcircuit.io.graph import Graph, circuit_of_graph
from pcircuit.io.text import Ids, Line, NumberedLines, name_units, named_in_errors, read_nodes
from pcircuit.io.vtree_file import read_vtree_ids, vtree_text, with_two_children
from pcircuit.io.whole_file import checked_path, replace_file
from pcircuit.regions import StructureError


def read_psdd(psdd: str | os.PathLike[str], vtree: str | os.PathLike[str] | None = None) -> Circuit:
    """Read a ``.psdd`` file as a circuit.

    Parameters
    ----------
    psdd : str or os.PathLike
    vtree : str or os.PathLike, optional
        Its ``.vtree`` file.  Without it the v-tree is inferred from the scopes of the nodes, and of files that were cut
        at the end of a line a few are not noticed: those that end with all nodes over some of the variables.

    Returns
    -------
    Circuit
        Variable 1 of the file is column 0; category 1 is "true".

    Raises
    ------
    TypeError
        If a file is not given by its path.
    ValueError
        If a file is damaged: file, line and what is wrong.
    StructureError
        If the nodes do not follow the v-tree, or a sum mixes different variables.
    OSError
        If there is no such file or it cannot be opened.

    Notes
    -----
    O(size of the file).

    References
    ----------
    Kisa, Van den Broeck, Choi and Darwiche (2014), Probabilistic sentential decision diagrams, KR.

    Examples
    --------
    >>> import tempfile
    >>> from pcircuit import InnerRegion, InputRegion, VTree
    >>> circuit = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[0, 1], [1, 0]]), InputRegion(1, [[0.3, 0.7], [1, 0]]),
    ...     InnerRegion([[0, 0], [1, 1]], [[0.25, 0.75]])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_psdd(circuit, f"{folder}/a.psdd", f"{folder}/a.vtree")
    ...     read_psdd(f"{folder}/a.psdd", f"{folder}/a.vtree").regions[2].weights
    array([[0.25, 0.75]])
    """
    psdd = checked_path(psdd, "psdd")
    tree, vtree_ids = (
        (None, None) if vtree is None else read_vtree_ids(checked_path(vtree, "vtree"))
    )
    graph = Graph(os.path.getsize(psdd))

    def read(line: Line, ids: Ids) -> int:
        if vtree_ids is not None and line.integer(2, "id of a v-tree node") not in vtree_ids:
            raise line.fail(f"the v-tree has no node {line.tokens[2]}")
        return _read_node(line, graph, ids)

    root, ids, promised = read_nodes(psdd, "psdd", read, counted=False)
    _check_end(psdd, promised, graph, root, len(ids.positions))
    with named_in_errors(psdd):
        return circuit_of_graph(graph, root, tree)


def write_psdd(
    circuit: Circuit, psdd: str | os.PathLike[str], vtree: str | os.PathLike[str]
) -> None:
    """Write a circuit of binary variables as a ``.psdd`` and a ``.vtree`` file, whole or not at all.

    Parameters
    ----------
    circuit : Circuit
        Normalised, over binary variables.  Inner nodes of the v-tree with more than two children, as those of Chow-Liu
        circuits, are written as chains of nodes with two.  Whether the sums are deterministic, as in a PSDD, is not
        checked: programs that rely on it (for most probable states, or for logic) need a deterministic circuit;
        likelihoods and marginals do not.
    psdd, vtree : str or os.PathLike
        The two files.

    Raises
    ------
    TypeError
        If `circuit` is not a circuit, or a file is not given by its path.
    StructureError
        If the circuit is not of this kind.
    ValueError
        If both paths lead to one file.
    OSError
        If a folder does not exist or cannot be written.

    Notes
    -----
    O(size).  Numbers are written with all their digits: what is read again differs by rounding of logarithms only.

    Examples
    --------
    >>> from pcircuit import InputRegion, VTree
    >>> write_psdd(Circuit(VTree([-1], [0]), [InputRegion(0, [[0.2, 0.3, 0.5]])]), "a.psdd", "a.vtree")
    Traceback (most recent call last):
    pcircuit.regions.StructureError: `circuit` has a variable with 3 categories: a .psdd file holds binary ones only
    """
    check_circuit(circuit)
    psdd, vtree = _two_files(psdd, vtree)
    most = max(circuit.num_categories)
    if most != 2 or min(circuit.num_categories) != 2:
        raise StructureError(
            f"`circuit` has a variable with {most if most != 2 else 1} categories: a .psdd file holds "
            "binary ones only"
        )
    if not circuit.is_normalized:
        raise StructureError("`circuit` is not normalised: a .psdd file holds distributions only")
    if any(len(below) == 1 for below in circuit.vtree.child_lists()):
        raise StructureError(
            "`circuit` is on a v-tree that has a node with 1 child: a .psdd file has inner nodes of "
            "two children only"
        )
    circuit = with_two_children(circuit)
    tree = vtree_text(circuit.vtree)
    lines = NumberedLines()
    name_units(
        circuit,
        lambda r, variable, row: lines.put(*_input(r, variable + 1, *row.tolist())),
        lambda r, factors: f"{factors[0]} {factors[1]}",
        lambda r, terms: lines.put("D", r, len(terms), *terms),
    )
    comment = "c ids count from 0, children come before parents; variables count from 1"
    with (
        replace_file(psdd) as file,
        replace_file(vtree) as tree_file,
    ):  # both are open before either is replaced
        tree_file.write(tree.encode("utf-8"))
        file.write(("\n".join([comment, f"psdd {len(lines)}", *lines]) + "\n").encode("utf-8"))


def _read_node(line: Line, graph: Graph, ids: Ids) -> int:
    """Add the unit of one line to the graph; its position."""
    kind, label = line.tokens[0], line.label
    if kind == "L":
        variable, value = line.literal()
        return graph.add_input(label, variable, np.eye(2)[value])
    if kind == "T":
        line.expect(5, "a true node")
        p = line.at_most_one(4)
        return graph.add_input(
            label, line.variable(3) - 1, np.array([max(0.0, -math.expm1(float(line.tokens[4]))), p])
        )
    if kind != "D":
        raise line.fail(f"a node is an L, T or D line, found {kind[:40]!r}")
    count = line.integer(3, "number of elements", least=1)
    line.expect(4 + 3 * count, f"a decision node of {count} element{'s' if count > 1 else ''}")
    products = [
        graph.add_product(label, (ids.find(line, i), ids.find(line, i + 1)))
        for i in range(4, len(line.tokens), 3)
    ]
    return graph.add_sum(
        label, products, [line.probability(i) for i in range(6, len(line.tokens), 3)]
    )


def _check_end(psdd: str, promised: int, graph: Graph, root: int, num_nodes: int) -> None:
    """Refuse a file that has lost lines at its end."""
    elements = len(graph.units) - num_nodes
    beyond = promised - num_nodes
    if 0 < beyond < elements / 2 or beyond > elements:
        raise ValueError(
            f"cannot read {psdd!r}: its first line promises {promised} nodes, found {num_nodes} with "
            f"{elements} elements, so that it may have lost its end: correct that line if it is whole"
        )
    inside = {graph.units[i].variable for i in graph.below(root)}
    lost = next((unit for unit in graph.units if unit.variable not in {*inside, -1}), None)
    if lost is not None:
        raise ValueError(
            f"cannot read {psdd!r}: its last node does not contain variable {lost.variable + 1}, "
            f"which node {lost.label} has, so that it may have lost its end"
        )


def _two_files(psdd: str | os.PathLike[str], vtree: str | os.PathLike[str]) -> tuple[str, str]:
    """Both paths, refused where they lead to one file: the second to be written would replace the first."""
    psdd, vtree = checked_path(psdd, "psdd"), checked_path(vtree, "vtree")
    if os.path.normcase(os.path.realpath(psdd)) == os.path.normcase(os.path.realpath(vtree)):
        raise ValueError(
            f"`psdd` {psdd!r} and `vtree` {vtree!r} are the same file: give each a file of its own"
        )
    return psdd, vtree


def _input(r: int, variable: int, p_false: float, p_true: float) -> tuple[Any, ...]:
    """The line of one input unit, without its id: a literal where the variable is certain."""
    if 0.0 in (p_false, p_true):
        return "L", r, variable if p_true else -variable
    return "T", r, variable, repr(math.log(p_true) if p_true < 0.5 else math.log1p(-p_false))
