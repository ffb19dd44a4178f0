"""Logic circuits as ``.jlc`` files of Juice (LogicCircuits.jl), read as circuits with weights of one.

    jlc COUNT                       number of nodes; a file with fewer has lost its end
    F ID                            false
    T ID                            true
    L ID VTREE LITERAL              x_v (literal v) or not x_v (literal -v); variables count from 1
    A ID VTREE N CHILD ...          and
    O ID VTREE N CHILD ...          or

"And" becomes a product and "or" a sum with weights of one.  Where a logic circuit is decomposable and deterministic the
value of the result is 1 for rows that satisfy it and 0 for others, and its sum over all rows counts the models; where
it is not deterministic, the value counts the ways in which a row satisfies it.  Children of an "or" that lack
variables of the others get them as inputs of value one for both categories (smoothing).  So does the root for
variables that the file has literals of, and the formula does not depend on: models are counted over all of them.
"""

import os
from typing import Any

import numpy as np

from pcircuit.circuit import Circuit
from pcircuit.io.graph import Graph, circuit_of_graph, variables_of
from pcircuit.io.text import Ids, Line, named_in_errors, read_nodes
from pcircuit.io.vtree_file import read_vtree
from pcircuit.io.whole_file import checked_path

FALSE, TRUE = -1, -2  # positions of the constants


def read_jlc(path: str | os.PathLike[str], vtree: str | os.PathLike[str] | None = None) -> Circuit:
    r"""Read a ``.jlc`` file as an unnormalised circuit of binary variables.

    Parameters
    ----------
    path : str or os.PathLike
    vtree : str or os.PathLike, optional
        A ``.vtree`` file that the circuit follows.  Without it the v-tree is inferred from the scopes of the nodes.

    Returns
    -------
    Circuit
        Category 1 is "true".

    Raises
    ------
    TypeError
        If a file is not given by its path.
    ValueError
        If the file is damaged, its root is a constant, or smoothing would add too many inputs: file, line and what is
        wrong.
    StructureError
        If the circuit is not structured-decomposable, or does not follow the v-tree.
    OSError
        If there is no such file or it cannot be opened.

    Notes
    -----
    O(size of the file), and one product of at most V factors for each node that has to be smoothed: together at most
    16 factors for each byte of the file, and 2^23 more.

    References
    ----------
    LogicCircuits.jl, file `src/io/jlc_io.jl`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np, pcircuit
    >>> text = "jlc 5\nL 0 0 1\nL 1 0 -1\nL 2 1 2\nA 3 2 2 1 2\nO 4 2 2 0 3\n"       # x1 or (not x1 and x2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a.jlc").write_text(text)
    ...     circuit = read_jlc(f"{folder}/a.jlc")
    >>> np.exp(pcircuit.log_likelihood(circuit, [[1, 0], [0, 1], [0, 0], [-1, -1]])).round(12)   # last: three models
    array([1., 1., 0., 3.])
    """
    path = checked_path(path)
    tree = None if vtree is None else read_vtree(checked_path(vtree, "vtree"))
    reader = _Reader(os.path.getsize(path))
    with named_in_errors(path):
        root, *_ = read_nodes(path, "jlc", reader.read)
        if root < 0:
            raise ValueError(f"cannot read {path!r}: its last node, the root, is a constant")
        root = reader.smooth("the root", root, reader.variables)
        return circuit_of_graph(reader.graph, root, tree)


class _Reader:
    """Graph, last line and scopes (as bits) while a file is read."""

    def __init__(self, size: int) -> None:
        self.graph = Graph(size)
        self.scopes: dict[Any, Any] = {}
        self.variables = 0  # of all literals, as bits
        self.free: dict[int, int] = {}  # variable -> the input of value one

    def read(self, line: Line, ids: Ids) -> int:
        """Position of the unit of one line, or FALSE, TRUE."""
        self.line, kind, label = line, line.tokens[0], line.label
        if kind in ("F", "T"):
            line.expect(2, "a constant")
            return FALSE if kind == "F" else TRUE
        if kind == "L":
            variable, value = line.literal()
            return self._input(label, variable, [1.0 - value, value])
        if kind not in ("A", "O"):
            raise line.fail(f"a node is an F, T, L, A or O line, found {kind[:40]!r}")
        children = line.children(ids)
        return self._and(label, children) if kind == "A" else self._or(label, children)

    def _and(self, label: str, children: list[Any]) -> int:
        if FALSE in children:
            return FALSE
        children = [c for c in children if c != TRUE]
        return self._inner(label, "product", children) if children else TRUE

    def _or(self, label: str, children: list[Any]) -> int:
        children = [c for c in children if c != FALSE]
        if not children:
            return FALSE
        if TRUE in children:
            if len(children) > 1:
                raise self.line.fail(
                    "true beside other children of an 'or' is not deterministic, its variables unknown"
                )
            return TRUE
        scope = 0
        for c in children:
            scope |= self.scopes[c]
        return self._inner(label, "sum", [self.smooth(label, c, scope) for c in children])

    def smooth(self, label: str, child: int, scope: int) -> int:
        """A node times inputs of value one for the variables of the scope that it lacks."""
        lacking = scope & ~self.scopes[child]
        if not lacking:
            return child
        self.graph.spend(lacking.bit_count())
        variables = variables_of(lacking)
        for v in variables:
            if v not in self.free:
                self.free[v] = self._input(f"any value of {v + 1}", v, [1.0, 1.0])
        extra = [self.free[v] for v in variables]
        return self._inner(f"{label}, smoothed", "product", [child, *extra])

    def _input(self, label: str, variable: int, values: list[Any]) -> int:
        position = self.graph.add_input(label, variable, np.array(values))
        self.scopes[position] = 1 << variable
        self.variables |= 1 << variable
        return position

    def _inner(self, label: str, kind: str, children: list[Any]) -> int:
        position = (
            self.graph.add_product(label, children)
            if kind == "product"
            else self.graph.add_sum(label, children, [1.0] * len(children))
        )
        self.scopes[position] = 0
        for c in children:
            self.scopes[position] |= self.scopes[c]
        return position
