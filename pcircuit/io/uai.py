"""Bayesian networks that are trees, as ``.uai`` files.

    BAYES
    V                               number of variables
    C_0 C_1 ...                     their numbers of categories
    V                               number of tables, one for each variable
    1 v   or   2 parent v           the variables of each table, its own variable last
    SIZE  p p p ...                 each table, the last variable running fastest

A network in which each variable has at most one parent is a circuit without hidden states: for each category of the
parent a sum over the categories of the variable, each multiplied by the units of its own children.
"""

from __future__ import annotations

import os
import pathlib
from math import inf
from typing import Any

import numpy as np

from pcircuit.circuit import Circuit
from pcircuit.io.graph import Graph, circuit_of_graph
from pcircuit.io.text import MOST_CATEGORIES, Line, named_in_errors
from pcircuit.io.whole_file import checked_path

MOST_WORDS = 50_000_000


def read_uai(path: str | os.PathLike[str]) -> Circuit:
    """Read a ``.uai`` Bayesian network of tree width one as a circuit.

    Parameters
    ----------
    path : str or os.PathLike

    Returns
    -------
    Circuit
        Deterministic: each sum has one positive product for each row.

    Raises
    ------
    TypeError
        If `path` is not a path.
    ValueError
        If the file is damaged, is a Markov network, a variable has several parents, or its tables are too large.
    OSError
        If there is no such file or it cannot be opened.

    Notes
    -----
    O(size of the file), and of the tables of input units: entries that the file does not write out, such as the zeros
    of an indicator among many categories, may be 16 for each byte of the file, and 2^23 more.

    References
    ----------
    The UAI inference competitions (2006 to 2022), which define the format.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np, pcircuit
    >>> text = "BAYES 2  2 3  2  1 0  2 0 1   2 0.4 0.6   6 0.2 0.3 0.5  0.1 0.1 0.8"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a.uai").write_text(text)
    ...     circuit = read_uai(f"{folder}/a.uai")
    >>> np.exp(pcircuit.log_likelihood(circuit, [[1, 2], [-1, 0]])).round(12)       # 0.6 * 0.8, 0.4 * 0.2 + 0.6 * 0.1
    array([0.48, 0.14])
    """
    path = checked_path(path)
    try:
        kind, *tokens = pathlib.Path(path).read_text(encoding="utf-8-sig").split() or [""]
    except UnicodeDecodeError:
        raise ValueError(f"cannot read {path!r}: it is not a text file") from None
    words = _Words(path, 1, tokens)
    if kind != "BAYES":
        raise words.fail(
            f"only Bayesian networks are read, expected the word BAYES, found {kind[:40]!r}"
        )
    num_variables = words.next("number of variables")
    categories = [words.next("number of categories") for _ in range(num_variables)]
    if words.next("number of tables") != num_variables:
        raise words.fail("a Bayesian network has one table for each variable")
    parents = _parents(words, num_variables)
    tables = {}
    for v, parent in parents.items():
        shape = (1 if parent < 0 else categories[parent], categories[v])
        if words.next("size of a table", MOST_WORDS) != shape[0] * shape[1]:
            raise words.fail(f"the table of variable {v} must have {shape[0] * shape[1]} entries")
        tables[v] = np.array([words.entry() for _ in range(shape[0] * shape[1])]).reshape(shape)
    if words.place < len(tokens):
        raise words.fail(f"{len(tokens) - words.place} words follow the last table")
    with named_in_errors(path):
        return _circuit(words, parents, tables)


class _Words(Line):
    """The words of a file as one line, read one after the other."""

    place = 0

    def fail(self, what: str) -> ValueError:
        """The error that says what is wrong with the word read last; to be raised."""
        return ValueError(f"cannot read {self.path!r}, word {self.place + 1}: {what}")

    def next(self, name: str, most: int = MOST_CATEGORIES, least: int = 1) -> int:
        """The next word as a whole number in a range."""
        self.place += 1
        return self.integer(self.place - 1, name, least=least, most=most)

    def entry(self) -> float:
        """The next word as an entry of a table."""
        self.place += 1
        value = self.real(self.place - 1, "entry of a table")
        if not 0 <= value < inf:
            raise self.fail(
                f"an entry of a table must be a finite number of at least 0, found {value}"
            )
        return value


def _parents(words: _Words, num_variables: int) -> dict[Any, Any]:
    """Variable -> parent (-1: none), in the order of the tables."""
    parents: dict[int, int] = {}
    for _ in range(num_variables):
        size = words.next("number of variables of a table", num_variables)
        if size > 2:
            raise words.fail(
                f"a variable has {size - 1} parents: only trees are read, where each has at most one"
            )
        scope = [words.next("variable", num_variables - 1, least=0) for _ in range(size)]
        if scope[-1] in parents or (size == 2 and scope[0] == scope[1]):
            raise words.fail(f"variable {scope[-1]} has two tables, or is its own parent")
        parents[scope[-1]] = scope[0] if size == 2 else -1
    return parents


def _circuit(words: _Words, parents: dict[Any, Any], tables: dict[Any, Any]) -> Circuit:
    """The circuit of a tree of conditional tables."""
    children: dict[int, list[Any]] = {v: [] for v in parents}
    for v, parent in parents.items():
        if parent >= 0:
            children[parent].append(v)
    order = [v for v, parent in parents.items() if parent < 0]
    roots = len(order)
    for v in order:
        order.extend(children[v])
    if len(order) < len(parents):
        raise words.fail("the parents of some variables form a cycle")
    graph, units = (
        Graph(os.path.getsize(words.path)),
        {},
    )  # units: variable -> one unit for each category of its parent
    for v in reversed(order):
        table = tables[v]
        if not children[v]:
            units[v] = [graph.add_input(f"variable {v}", v, row) for row in table]
            continue
        products = []
        for c in range(table.shape[1]):
            indicator = graph.add_indicator(f"variable {v}", v, c, table.shape[1])
            products.append(
                graph.add_product(f"variable {v}", [indicator, *(units[w][c] for w in children[v])])
            )
        units[v] = [graph.add_sum(f"variable {v}", products, row.tolist()) for row in table]
    tops = [units[v][0] for v in order[:roots]]
    return circuit_of_graph(graph, tops[0] if roots == 1 else graph.add_product("the roots", tops))
