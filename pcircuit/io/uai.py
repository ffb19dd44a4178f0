"""Bayesian networks that are trees, or close to one, as ``.uai`` files.

    BAYES
    V                               number of variables
    C_0 C_1 ...                     their numbers of categories
    V                               number of tables, one for each variable
    1 v   or   2 parent v   or ...  the variables of each table, its own variable last
    SIZE  p p p ...                 each table, the last variable running fastest

A network in which each variable has at most one parent is a circuit without hidden states: for each category of the
parent a sum over the categories of the variable, each multiplied by the units of its own children.  With several
parents there is a sum for each state of the *joined variable* of the parents.  In general variables are summed out one
after the other, those that have no children left first, and the cheapest of these; the units of a variable are for the
states of its parents, and of what the units of its children are joined with (variable elimination).
"""

import heapq
import math
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
MOST_STATES = 2**16  # of a variable and what it is joined with


def read_uai(path: str | os.PathLike[str]) -> Circuit:
    """Read a ``.uai`` Bayesian network, a tree or close to one, as a circuit.

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
        If the file is damaged, is a Markov network, more than 65,536 states of variables have to be joined, or its
        tables are too large.
    OSError
        If there is no such file or it cannot be opened.

    Notes
    -----
    O(size of the file), and of the tables of input units: entries that the file does not write out, such as the zeros
    of an indicator among many categories, may be 16 for each byte of the file, and 2^23 more.

    References
    ----------
    The UAI inference competitions (2006 to 2022), which define the format; Darwiche (2009), Modeling and Reasoning with
    Bayesian Networks, chapter 6 (variable elimination).

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
    for v, above in parents.items():
        shape = [categories[w] for w in (*above, v)]
        entries = math.prod(shape)
        if words.next("size of a table", MOST_WORDS) != entries:
            raise words.fail(f"the table of variable {v} must have {entries} entries")
        tables[v] = np.array([words.entry() for _ in range(entries)]).reshape(shape)
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


def _parents(words: _Words, num_variables: int) -> dict[int, tuple[int, ...]]:
    """Variable -> its parents, in the order of the tables."""
    parents: dict[int, tuple[int, ...]] = {}
    for _ in range(num_variables):
        size = words.next("number of variables of a table", num_variables)
        *above, v = (words.next("variable", num_variables - 1, least=0) for _ in range(size))
        if v in parents or len({v, *above}) < size:
            raise words.fail(f"variable {v} has two tables, or is its own parent")
        parents[v] = tuple(above)
    return parents


def _circuit(words: _Words, parents: dict[int, tuple[int, ...]], tables: dict[int, Any]) -> Circuit:
    """The circuit of a network of conditional tables: variables are summed out, those without children left first."""
    graph, roots = Graph(os.path.getsize(words.path)), []
    size = {v: table.shape[-1] for v, table in tables.items()}
    below = dict.fromkeys(parents, 0)  # children that are left
    for above in parents.values():
        for w in above:
            below[w] += 1
    about: dict[int, dict[int, Any]] = {v: {} for v in parents}  # messages by their own variable
    ready = [(0, v) for v, number in below.items() if not number]
    for _ in parents:
        while True:
            if not ready:
                raise words.fail("the parents of some variables form a cycle")
            cost, v = heapq.heappop(ready)
            own = about.pop(v)
            scope = tuple(
                dict.fromkeys(
                    w
                    for one in (parents[v], *(one for one, _ in own.values()))
                    for w in one
                    if w != v
                )
            )
            states = math.prod(size[w] for w in (*scope, v))
            if states <= cost or not ready:
                break
            about[v] = own
            heapq.heappush(ready, (states, v))
        if states > MOST_STATES:
            raise words.fail(
                f"variable {v} is joined with {len(scope)} others, which have more than {MOST_STATES} "
                "states together: only networks close to a tree are read"
            )
        products: dict[Any, int] = {}
        units = np.zeros([size[w] for w in scope], dtype=np.int64)
        for state in np.ndindex(units.shape):
            known = dict(zip(scope, state, strict=True))
            row = tables[v][tuple(known[w] for w in parents[v])]
            if not own:
                units[state] = graph.add_input(f"variable {v}", v, row)
                continue
            chosen = []
            for c in range(size[v]):
                known[v] = c
                children = [int(found[tuple(known[w] for w in one)]) for one, found in own.values()]
                key = (c, *children)
                if key not in products:
                    indicator = graph.add_indicator(f"variable {v}", v, c, size[v])
                    products[key] = graph.add_product(f"variable {v}", [indicator, *children])
                chosen.append(products[key])
            units[state] = graph.add_sum(f"variable {v}", chosen, row.tolist())
        for w in scope:
            for one in own:
                about[w].pop(one, None)
            about[w][v] = scope, units
        for w in parents[v]:
            below[w] -= 1
            if not below[w]:
                heapq.heappush(ready, (0, w))
        if not scope:
            roots.append(int(units[()]))
    top = roots[0] if len(roots) == 1 else graph.add_product("the roots", roots)
    return circuit_of_graph(graph, top)
