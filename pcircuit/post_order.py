"""Post-order numbers for hierarchies written in other ways: nested lists, trees of variables, orders cut in two.

A v-tree (`pcircuit.vtree`) is two arrays, the parent and the variable of each node, in post-order.  `numbered` walks
down from a start node, asking for the children of each node that it meets, and gives a node its number when it leaves
it for good, which is after everything below.  The walk keeps its own stack, so that no hierarchy is too deep.

    check_leaves        nested lists that a user gives
    numbered            parents and variables from a start node and a rule that gives the children
    numbered_by_cuts    the same for an order of the variables that is cut in two again and again
    numbered_tree       the same for a tree whose nodes are the variables themselves
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from pcircuit.arguments import check_whole_number, shown
from pcircuit.array_types import Ints


def check_leaves(nested: Any) -> None:
    """Raise unless `nested` is made of lists whose leaves are the variables 0..V-1, each once."""
    leaves: list[int] = []
    stack = [(nested, False)]  # what is still to visit or to leave
    above: set[int] = set()  # the lists that are being visited
    while stack:
        node, is_left = stack.pop()
        if is_left:
            above.remove(id(node))
        elif not isinstance(node, (list, tuple)):
            leaves.append(_leaf(node))
        elif not node or id(node) in above:
            raise ValueError(
                f"`nested` holds {'a list that contains itself' if node else 'an empty list'}: an inner "
                "v-tree node needs at least one child"
            )
        else:
            above.add(id(node))
            stack.append((node, True))
            stack.extend((child, False) for child in node)
    missing = sorted(set(range(len(leaves))) - set(leaves))
    if missing:
        raise ValueError(
            f"`nested` has {len(leaves)} leaves: they must be the variables 0..{len(leaves) - 1}, each "
            f"once, but {missing[0]} is not among them"
        )


def _leaf(node: Any) -> int:
    """A variable; anything else is refused."""
    try:
        return check_whole_number(node, "nested", 0)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"`nested` must hold variables, whole numbers of at least 0, found {shown(node)}"
        ) from None


def numbered(root: Any, expand: Callable[[Any], Sequence[Any] | None]) -> tuple[Ints, Ints]:
    """Parents and variables of the v-tree below a start node.

    `expand(node)` is the list of children of a node, or None where the node is a variable.

    Returns parents (n,), variables (n,).
    """
    parents: list[int] = []
    variables: list[int] = []
    stack: list[Any] = [
        (root, None, None)
    ]  # (node, children still to visit, numbers of the finished children)
    while stack:
        node, todo, done = stack[-1]
        if todo is None:
            children = expand(node)
            if children is None:
                stack.pop()
                _append(parents, variables, stack, int(node), ())
                continue
            stack[-1] = (node, list(reversed(children)), [])
        elif todo:
            stack.append((todo.pop(), None, None))
        else:
            stack.pop()
            _append(parents, variables, stack, -1, done)
    return np.array(parents), np.array(variables)


def _append(
    parents: list[int],
    variables: list[int],
    stack: list[Any],
    variable: int,
    children: Sequence[int],
) -> None:
    """Give the finished node the next number, attach its children, report it to the node waiting above."""
    number = len(parents)
    parents.append(-1)
    variables.append(variable)
    for child in children:
        parents[child] = number
    if stack:
        stack[-1][2].append(number)


def numbered_by_cuts(order: Ints, cut: Callable[[int], int]) -> tuple[Ints, Ints]:
    """The same for a binary v-tree over `order`: of n variables `cut(n)`, 1..n-1, go to the first child.

    Shapes: order (V,) -> parents, variables (2 V - 1,).
    """

    def expand(node: Any) -> list[Any] | None:
        if isinstance(node, int):
            return None
        lo, hi = node
        middle = lo + cut(hi - lo)
        return [wrap(lo, middle), wrap(middle, hi)]

    def wrap(lo: int, hi: int) -> Any:
        return int(order[lo]) if hi - lo == 1 else (lo, hi)

    return numbered(wrap(0, len(order)), expand)


def numbered_tree(parent: Ints) -> tuple[Ints, Ints]:
    """The same for a rooted tree on the variables: see `pcircuit.VTree.from_tree`.

    Shapes: parent (V,) -> parents, variables (n,).
    """
    roots = np.flatnonzero(parent == -1)
    if len(roots) != 1 or parent.min() < -1 or parent.max() >= len(parent):
        raise ValueError(
            f"`parent` must hold one -1 (the root) and else variables 0..{len(parent) - 1}, "
            f"found {len(roots)} roots and values {parent.min()}..{parent.max()}"
        )
    root = int(roots[0])
    children: list[list[int]] = [[] for _ in parent]
    for v, p in enumerate(parent.tolist()):
        if p >= 0:
            children[p].append(v)
    _check_acyclic(children, root)

    def expand(
        node: Any,
    ) -> list[Any] | None:  # (v,) is the inner node of variable v, v itself its leaf
        if isinstance(node, Integral):
            return None
        return [(c,) if children[c] else c for c in children[node[0]]] + [node[0]]

    return numbered((root,) if children[root] else root, expand)


def _check_acyclic(children: list[list[int]], root: int) -> None:
    """Raise unless every variable is reached from the root."""
    reached, stack = 0, [root]
    while stack:
        reached += 1
        stack.extend(children[stack.pop()])
    if reached != len(children):
        raise ValueError(
            f"`parent` has a cycle: {len(children) - reached} of {len(children)} variables are not "
            "connected to the root"
        )
