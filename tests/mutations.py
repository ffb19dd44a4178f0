"""Which bugs can be planted in a source file: small changes of its text, found in its syntax tree.

    comparisons     < and <=, == and !=, in and not in exchanged        arithmetic   + and -, * and /, & and |
    numbers         n becomes n + 1, x becomes 2 x                      logic        and / or, not left out
    statements      a call, an assignment to an entry, a raise: gone    signs        -x becomes x
    conditions      `if` and `while` turned around                      functions    min / max, log1p / log ...

Left alone are docstrings, annotations, messages, decorators, and constants at the top of a module, most of which only
say how much work is done at a time; those that decide something are in the list of `mutants`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

COMPARE = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
ARITHMETIC = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
NAMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "log1p": "log",
    "expm1": "exp",
    "any": "all",
    "all": "any",
    "zeros": "ones",
    "ones": "zeros",
    "argmax": "argmin",
    "argmin": "argmax",
    "floor": "ceil",
    "ceil": "floor",
    "searchsorted": "digitize",
    "cumsum": "cumprod",
    "sqrt": "abs",
    "flatnonzero": "atleast_1d",
    "sort": "asarray",
    "argsort": "asarray",
    "reversed": "list",
    "abs": "float",
}
SKIPPED = {"repr", "print", "warn", "debug", "info"}  # calls whose loss shows in no result


@dataclass(frozen=True)
class Mutation:
    """One planted bug: the text between two offsets becomes another."""

    path: str  # of the file, from the root of the checkout
    function: str  # dotted name of what it is in
    line: str  # the source line it begins in, which names it for good
    change: str  # what is done, in a few words
    start: int
    stop: int
    text: str
    occurrence: int = 0  # among equal changes of equal lines in one function

    @property
    def key(self) -> str:
        """What names the mutation as long as its line is not edited."""
        return (
            f"{self.path} :: {self.function} :: {self.line} :: {self.change} :: {self.occurrence}"
        )

    def apply(self, source: str) -> str:
        """The source with the bug in it."""
        return source[: self.start] + self.text + source[self.stop :]

    def is_syntax(self, source: str) -> bool:
        """Whether the source with the bug in it can be parsed."""
        try:
            ast.parse(self.apply(source))
        except SyntaxError:
            return False
        return True


def mutations(path: str, source: str) -> list[Mutation]:
    """All mutations of a file, in the order of the text; a few may be no syntax."""
    finder = _Finder(path, source)
    finder.visit(ast.parse(source))
    counted: dict = {}
    numbered = []
    for m in sorted(finder.found, key=lambda m: (m.start, m.change)):
        same = (m.function, m.line, m.change)
        counted[same] = counted.get(same, -1) + 1
        numbered.append(
            Mutation(m.path, m.function, m.line, m.change, m.start, m.stop, m.text, counted[same])
        )
    return numbered


class _Finder(ast.NodeVisitor):
    """Collects mutations while walking over a tree."""

    def __init__(self, path, source):
        self.path, self.source, self.lines, self.found, self.scope = (
            path,
            source,
            source.splitlines(True),
            [],
            [],
        )
        self.offsets = [0]
        for line in self.lines:
            self.offsets.append(self.offsets[-1] + len(line))

    def visit_FunctionDef(self, node):
        self.scope.append(node.name)
        body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
        for default in [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]:
            self.visit(default)
        for statement in body:
            self.visit(statement)
        self.scope.pop()

    def visit_ClassDef(self, node):
        self.scope.append(node.name)
        for statement in node.body:
            if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                self.visit(statement)
        self.scope.pop()

    def visit_Module(self, node):
        for statement in node.body:
            if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                self.visit(statement)

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def visit_JoinedStr(self, node):
        """Text for people."""

    def visit_Raise(self, node):
        self._drop(node, "raise left out")

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Call) and _name_of(node.value.func) not in SKIPPED:
            self._drop(node, "call left out")
        self.generic_visit(node)

    def visit_Assign(self, node):
        if all(isinstance(target, ast.Subscript) for target in node.targets):
            self._drop(node, "assignment left out")
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AugAssign(self, node):
        old, new = ARITHMETIC.get(type(node.op), (None, None))
        if old in ("+", "-", "*", "/", "&", "|"):
            self._between(node.target, node.value, old + "=", new + "=", node)
        self._drop(node, "assignment left out")
        self.generic_visit(node)

    def visit_If(self, node):
        self._wrap(node.test, "condition turned around")
        self.generic_visit(node)

    def visit_While(self, node):
        self._wrap(node.test, "condition turned around")
        self.generic_visit(node)

    def visit_IfExp(self, node):
        self._wrap(node.test, "condition turned around")
        self.generic_visit(node)

    def visit_Compare(self, node):
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            self._between(left, right, *COMPARE[type(op)], node)
            left = right
        self.generic_visit(node)

    def visit_BinOp(self, node):
        is_text = any(
            isinstance(side, (ast.JoinedStr, ast.List, ast.Tuple))
            or (isinstance(side, ast.Constant) and isinstance(side.value, str))
            for side in (node.left, node.right)
        )
        if type(node.op) in ARITHMETIC and not is_text:
            self._between(node.left, node.right, *ARITHMETIC[type(node.op)], node)
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between(left, right, old, new, node)
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, (ast.Not, ast.USub)) and not isinstance(node.operand, ast.Constant):
            start, stop = self._place(node)
            inner = self.source[slice(*self._place(node.operand))]
            self._add(
                node,
                "not left out" if isinstance(node.op, ast.Not) else "sign left out",
                start,
                stop,
                f"({inner})",
            )
        self.generic_visit(node)

    def visit_Constant(self, node):
        if isinstance(node.value, bool):
            self._add(
                node, f"{node.value} -> {not node.value}", *self._place(node), str(not node.value)
            )
        elif isinstance(node.value, int):
            self._add(
                node, f"{node.value} -> {node.value + 1}", *self._place(node), str(node.value + 1)
            )
        elif isinstance(node.value, float):
            new = 2 * node.value if node.value else 1.0
            self._add(node, f"{node.value!r} -> {new!r}", *self._place(node), repr(new))

    def visit_Name(self, node):
        self._rename(node, node.id, node)

    def visit_Attribute(self, node):
        self._rename(node, node.attr, node)
        self.visit(node.value)

    def visit_Call(self, node):
        if _name_of(node.func) not in SKIPPED:
            self.generic_visit(node)

    def _rename(self, node, name, place):
        new = NAMES.get(name)
        if new and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            _, stop = self._place(place)
            self._add(node, f"{name} -> {new}", stop - len(name), stop, new)

    def _drop(self, node, change):
        self._add(node, change, *self._place(node), "pass")

    def _wrap(self, test, change):
        start, stop = self._place(test)
        self._add(test, change, start, stop, f"not ({self.source[start:stop]})")

    def _between(self, left, right, old, new, node):
        start, stop = self._place(left)[1], self._place(right)[0]
        at = self.source[start:stop].find(old)
        if at >= 0:
            self._add(node, f"{old} -> {new}", start + at, start + at + len(old), new)

    def _add(self, node, change, start, stop, text):
        line = self.lines[node.lineno - 1].strip()
        self.found.append(
            Mutation(self.path, ".".join(self.scope), line, change, start, stop, text)
        )

    def _place(self, node):
        """Offsets of a node in the text; columns are counted in bytes."""

        def offset(line, column):
            return self.offsets[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

        return offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)


def _name_of(function) -> str:
    """The last part of a called name."""
    return getattr(function, "attr", getattr(function, "id", ""))
