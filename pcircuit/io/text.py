"""The line-based text formats of other programs: tokens, numbers, errors that name file and line; and their writers.

These formats share their habits (those of DIMACS): one unit on each line, numbers for names, children before parents,
lines that begin with "c" are comments.  A file may come from anywhere, so every number is checked where it is read.
"""

from __future__ import annotations

import os
import pathlib
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import exp, isnan, log
from typing import Any

from pcircuit.arguments import Floats
from pcircuit.circuit import Circuit
from pcircuit.regions import StructureError

WHOLE = re.compile("-?[0-9]{1,17}")
PLAIN = re.compile(
    "[-+.0-9a-zA-Z]{1,400}"
)  # Python itself would also take 1_000 and the digits of other scripts
LARGEST_ID = 2**40
MOST_CATEGORIES = 2**20  # of one variable
MOST_LOG = log(sys.float_info.max)  # of a number
LEAST_LINE = 6  # bytes of a line that defines a unit


class Line:
    """One line of a file: its tokens, where it is, and the size of the file."""

    def __init__(self, path: str, number: int, tokens: list[str], size: int = 0):
        self.path, self.number, self.tokens, self.size = path, number, tokens, size

    @property
    def label(self) -> str:
        """What errors of the circuit call the unit of this line: its id and the line."""
        return f"{' '.join(self.tokens[1:2])} (line {self.number})"

    def fail(self, what: str) -> ValueError:
        """The error that says what is wrong with this line; to be raised."""
        return ValueError(f"cannot read {self.path!r}, line {self.number}: {what}")

    def integer(self, i: int, name: str, *, least: int = 0, most: int = LARGEST_ID) -> int:
        """Token i as a whole number in a range."""
        token = self._token(i, name)
        if not WHOLE.fullmatch(token) or not least <= int(token) <= most:
            raise self.fail(
                f"the {name} must be a whole number from {least} to {most}, found {token[:40]!r}"
            )
        return int(token)

    def variable(self, i: int, name: str = "variable", *, signed: bool = False) -> int:
        """Token i as a variable, counted from 1, or minus one.

        Each variable takes a line of its own, so none can have a number larger than the file has room for lines.
        """
        most = self.size // LEAST_LINE + 1
        value = self.integer(i, name, least=-most if signed else 1, most=most)
        if not value:
            raise self.fail(
                f"the {name} must be a variable or minus a variable, counted from 1, found 0"
            )
        return value

    def literal(self) -> tuple[int, int]:
        """Variable, counted from 0, and category of an L line: 1, or 0 where it has a minus."""
        self.expect(4, "a literal")
        literal = self.variable(3, "literal", signed=True)
        return abs(literal) - 1, int(literal > 0)

    def children(self, ids: Ids, step: int = 1) -> list[int]:
        """Positions of the children that an inner node counts and lists, the first of every `step` words."""
        count = self.integer(3, "number of children", least=1)
        self.expect(4 + step * count, f"a node of {count} child{'ren' if count > 1 else ''}")
        return [ids.find(self, i) for i in range(4, len(self.tokens), step)]

    def real(self, i: int, name: str) -> float:
        """Token i as a number, infinite or not."""
        token = self._token(i, name)
        try:
            return float(token if PLAIN.fullmatch(token) else "")
        except ValueError:
            raise self.fail(f"the {name} must be a number, found {token[:40]!r}") from None

    def probability(self, i: int) -> float:
        """Token i, a natural logarithm, as exp of it."""
        value = self.real(i, "log-probability")
        if isnan(value) or value > MOST_LOG:
            raise self.fail(
                f"the log-probability must be the logarithm of a finite number, found {self.tokens[i][:40]}"
            )
        return exp(value)

    def at_most_one(self, i: int) -> float:
        """Token i, a natural logarithm, as exp of it, which is at most one but for rounding."""
        p = self.probability(i)
        if p > 1 + 1e-9:
            raise self.fail(f"the probability must be at most 1, found {p:g}")
        return min(p, 1.0)

    def expect(self, count: int, what: str) -> None:
        """Refuse a line that does not have `count` tokens."""
        if len(self.tokens) != count:
            raise self.fail(f"{what} takes {count} words, found {len(self.tokens)}")

    def _token(self, i: int, name: str) -> str:
        if i >= len(self.tokens):
            raise self.fail(f"the {name} is missing")
        return self.tokens[i]


class Ids:
    """Names of units in a file, numbers, and the positions that they stand for."""

    def __init__(self) -> None:
        self.positions: dict[int, int] = {}

    def define(self, line: Line, position: int) -> None:
        """The second token of the line names what stands at `position`."""
        name = line.integer(1, "id")
        if name in self.positions:
            raise line.fail(f"id {name} is defined a second time")
        self.positions[name] = position

    def find(self, line: Line, i: int) -> int:
        """Position of what token i names."""
        name = line.integer(i, "id of a child")
        if name not in self.positions:
            raise line.fail(f"id {name} is used before it is defined: children come before parents")
        return self.positions[name]


def lines_of(path: str | os.PathLike[str], comment: str | None = "c") -> Iterator[Line]:
    """The lines of a text file that are neither empty nor comments."""
    name = os.fspath(path)
    with pathlib.Path(path).open(
        encoding="utf-8-sig", errors="surrogateescape"
    ) as file:  # comments in any encoding
        size = os.fstat(file.fileno()).st_size
        for number, text in enumerate(file, start=1):
            tokens = text.split()
            if tokens and not (comment and tokens[0].startswith(comment)):
                yield Line(name, number, tokens, size)


def read_nodes(
    path: str, word: str, read: Callable[[Line, Ids], int], *, counted: bool = True
) -> tuple[int, Ids, int]:
    """Read all nodes of a file by a function that gives each its position; the last one's, their ids, and their count.

    The count is what the first line 'WORD COUNT' promises.  Where it must be there, fewer nodes are refused: a file cut
    at the end of a line would be a part.  More are fine: writers may count only those that the root reaches.
    """
    promised, root, ids = -1, -1, Ids()
    for line in lines_of(path):
        if promised >= 0:
            root = read(line, ids)
            ids.define(line, root)
        elif line.tokens[0] != word:
            raise line.fail(f"expected a first line '{word} COUNT', found {line.tokens[0][:40]!r}")
        else:
            promised = line.integer(1, "number of nodes") if counted or line.tokens[1:] else 0
    if not ids.positions:
        raise ValueError(f"cannot read {path!r}: it has no nodes")
    if counted and len(ids.positions) < promised:
        raise ValueError(
            f"cannot read {path!r}: its first line promises {promised} nodes, found "
            f"{len(ids.positions)}, so that it may have lost its end"
        )
    return root, ids, promised


@contextmanager
def named_in_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Context in which what a circuit lacks is told with the name of its file."""
    try:
        yield
    except StructureError as error:
        raise StructureError(f"cannot read {os.fspath(path)!r}: {error}") from None


class NumberedLines(list[str]):
    """Lines of a file in which each unit has a kind and the number of its line."""

    def put(self, kind: str, *parts: object) -> int:
        """Append a line; its number."""
        self.append(" ".join(map(str, (kind, len(self), *parts))))
        return len(self) - 1


def name_units(
    circuit: Circuit,
    of_input: Callable[[int, int, Floats], Any],
    of_product: Callable[[int, list[Any]], Any],
    of_sum: Callable[[int, list[str]], Any],
) -> None:
    """Name all units, children before parents, by functions that write them.

    They get the region's number, and: the variable and the probabilities of an input; the names of the factors of a
    product; 'NAME LOGPROB' for each term of a sum, with all digits.
    """
    shown: list[list[Any]] = []  # per region the names of its units
    for r, region in enumerate(circuit.regions):
        if region.is_input:
            shown.append([of_input(r, region.variable, row) for row in region.probs])
            continue
        below = [shown[c] for c in circuit.vtree.children(r).tolist()]
        products = [
            of_product(r, [below[a][u] for a, u in enumerate(units)])
            for units in region.products.tolist()
        ]
        shown.append([])
        for k in range(region.num_units):
            terms = [f"{products[p]} {log(w)!r}" for p, w in zip(*region.row(k), strict=True)]
            shown[r].append(of_sum(r, terms or [f"{products[0]} -inf"]))
