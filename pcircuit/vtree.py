"""V-trees: the hierarchy of variables that a circuit follows.

A circuit explains a row part by part: first single columns, then groups of columns, at last the whole row.  A v-tree
says which groups there are.  It is a rooted tree whose leaves are the variables 0..V-1, the columns of a table; an
inner node has any number of children, rarely only one.  The *scope* of a node is the set of variables below it, so the
scopes of the children of a node are disjoint, and together they are the scope of the node:

    [[0, 2], 1]  is  4             scope {0, 1, 2}
                     |-- 2         scope {0, 2}
                     |   |-- 0     variable 0
                     |   `-- 1     variable 2
                     `-- 3         variable 1

    node        0  1  2  3  4
    parents     2  2  4  4 -1
    variables   0  2 -1  1 -1
    first       0  1  0  3  0

Nodes are numbered in post-order: children before their parent, the subtrees of earlier children before those of later
ones, the root last.  A v-tree is three arrays of which entry r belongs to node r: its parent, its variable (-1 at inner
nodes), and the first node at or below it.

* The nodes at or below node r are exactly ``first[r], ..., r``: "is below" is two comparisons.
* A loop over 0, 1, 2, ... meets every node after everything below it: a bottom-up pass is a plain loop,
  a top-down pass is the same loop backwards, and nothing here recurses, however deep the tree.
* Any two scopes are equal, nested or disjoint, because any two intervals ``first[r]..r`` are (the scope trichotomy of
  the HLD paper, appendix B).

Other ways to write a hierarchy become these arrays at the end of the file: `numbered` lists the nodes
below a start node, parents first, and computes their post-order numbers from depths and subtree sizes;
`numbered_by_cuts` does so for an order of the variables that is cut in two again and again, `numbered_tree` for a tree
whose nodes are the variables themselves.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import (
    Immutable,
    Ints,
    Seed,
    check_generator,
    check_integers,
    check_memory,
    check_whole_number,
    shown,
)

SHOWN_NODES = 20  # of a v-tree that is printed in full
BYTES_PER_VARIABLE = 200  # while a v-tree is built, at least


@dataclass(frozen=True, eq=False, repr=False)
class VTree(Immutable):
    """A rooted tree over the variables 0..V-1, nodes numbered in post-order.

    Parameters
    ----------
    parents : (R,) int array
        Parent of each node, -1 for the root, which is the last node.
    variables : (R,) int array
        Variable of each leaf, -1 for inner nodes; each of 0..V-1 occurs once.

    Attributes
    ----------
    first : (R,) int array
        Smallest node number at or below each node; the subtree of r is ``first[r]..r``.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, or the arrays are not a post-order numbering of such a tree.

    Notes
    -----
    Building and checking cost O(R).  The arrays are read-only copies.

    Examples
    --------
    >>> tree = VTree.from_nested([[0, 2], 1])
    >>> tree.parents
    array([ 2,  2,  4,  4, -1])
    >>> tree.children(4), tree.scope(2)
    (array([2, 3]), array([0, 2]))
    """

    parents: Ints
    variables: Ints
    first: Ints = field(init=False)
    _child_start: Ints = field(init=False)
    _child_list: Ints = field(init=False)
    _leaves: Ints = field(init=False)
    _num_leaves_to: Ints = field(init=False)

    if TYPE_CHECKING:  # what may be given; the fields say what is kept

        def __init__(self, parents: ArrayLike, variables: ArrayLike) -> None: ...

    def __post_init__(self) -> None:
        parents = _int_vector(self.parents, "parents")
        variables = _int_vector(self.variables, "variables")
        if len(parents) != len(variables):
            raise ValueError(
                f"`parents` has {len(parents)} entries and `variables` {len(variables)}: "
                "give one of each per node"
            )
        first = _checked_first(parents, variables)
        counts = np.bincount(parents[:-1], minlength=len(parents))
        derived = {
            "parents": parents,
            "variables": variables,
            "first": first,
            "_child_start": np.concatenate([[0], np.cumsum(counts)]),
            "_child_list": np.argsort(parents, kind="stable")[1:],  # the root's -1 sorts first
            "_leaves": np.flatnonzero(variables >= 0),
            "_num_leaves_to": np.concatenate([[0], np.cumsum(variables >= 0)]),
        }
        for name, value in derived.items():
            value.flags.writeable = False
            object.__setattr__(self, name, value)

    @classmethod
    def from_nested(cls, nested: Any) -> VTree:
        """V-tree written as nested lists of variables, e.g. ``[[0, 2], 1]``; O(R), any depth.

        Parameters
        ----------
        nested : nested lists or tuples of int
            A variable is a leaf, a list an inner node with its entries as children, in this order.

        Returns
        -------
        VTree

        Raises
        ------
        TypeError
            If a leaf is not a whole number.
        ValueError
            If a list is empty or contains itself, or the leaves are not the variables 0..V-1, each once.

        Examples
        --------
        >>> VTree.from_nested([[0, 2], 1]).scope(2)
        array([0, 2])
        """
        check_leaves(nested)
        return cls(
            *numbered(nested, lambda node: node if isinstance(node, (list, tuple)) else None)
        )

    @classmethod
    def from_tree(cls, parent: ArrayLike) -> VTree:
        """V-tree of a rooted tree on the variables themselves: the shape of a Hidden Chow-Liu tree.

        A variable without children becomes a leaf; a variable with children becomes an inner node over the
        nodes of its children, in ascending order, and its own leaf, last.

        Parameters
        ----------
        parent : (V,) int array
            Parent variable of each variable, -1 for the one root; what `chow_liu_tree` returns.

        Returns
        -------
        VTree
            Made in O(V).

        Raises
        ------
        TypeError
            If `parent` does not hold whole numbers.
        ValueError
            If `parent` has no or several roots, an index out of range, or a cycle.

        Examples
        --------
        >>> VTree.from_tree([-1, 0, 0]).variables       # 0 is the parent of 1 and 2
        array([ 1,  2,  0, -1])
        """
        return cls(*numbered_tree(_int_vector(parent, "parent")))

    @classmethod
    def balanced(cls, num_variables: int) -> VTree:
        """Binary v-tree that halves 0..V-1 recursively, the larger half first; ceil(log2 V) levels below the root.

        Of 2 V - 1 nodes.  TypeError or ValueError unless `num_variables` is a whole number of at least 1, MemoryError
        if so large a v-tree would not fit into memory.

        Examples
        --------
        >>> VTree.balanced(5)
        VTree.from_nested([[[0, 1], 2], [3, 4]])
        """
        return cls(
            *numbered_by_cuts(np.arange(_checked_size(num_variables)), lambda n: (n + 1) // 2)
        )

    @classmethod
    def right_linear(cls, num_variables: int) -> VTree:
        """Binary v-tree ``[0, [1, [2, ...]]]``: every inner node splits off one variable; V - 1 levels below the root.

        Arguments and errors as for `balanced`.

        Examples
        --------
        >>> VTree.right_linear(4)
        VTree.from_nested([0, [1, [2, 3]]])
        """
        return cls(*numbered_by_cuts(np.arange(_checked_size(num_variables)), lambda n: 1))

    @classmethod
    def random(cls, num_variables: int, *, rng: Seed = None) -> VTree:
        """Binary v-tree over a random order of the variables, cut at uniformly random places.

        `rng` is a seed or a numpy.random.Generator, by default a new seed at every call; else as for `balanced`.

        Examples
        --------
        >>> VTree.random(5, rng=0) == VTree.random(5, rng=0)
        True
        """
        rng = check_generator(rng)
        order = rng.permutation(_checked_size(num_variables))
        return cls(*numbered_by_cuts(order, lambda n: int(rng.integers(1, n))))

    @property
    def num_nodes(self) -> int:
        """R, the number of nodes: V leaves and all inner nodes (int, at least 1).

        2 V - 1 where every inner node has two children, as in `balanced`.  The "nodes" of a circuit are its units, many
        to each node of its v-tree: for one name with one meaning in both, see `num_regions`.
        """
        return len(self.parents)

    @property
    def num_regions(self) -> int:
        """R, the same as `num_nodes`: a circuit on this v-tree has one region per node (int)."""
        return len(self.parents)

    @property
    def num_variables(self) -> int:
        """V, the number of leaves, one per variable (int, at least 1)."""
        return len(self._leaves)

    @property
    def root(self) -> int:
        """The node without a parent, R - 1 (int); its scope is all variables."""
        return len(self.parents) - 1

    def children(self, r: int) -> Ints:
        """Children of node r, ascending: the nodes s with ``parents[s] == r``; (A,) int64 array, a read-only view.

        The order is that of the columns of `InnerRegion.products`; a leaf has none.  IndexError if there is no such
        node (negative numbers do not count from the end), TypeError if `r` is not a whole number.  O(1).

        Examples
        --------
        >>> from pcircuit import VTree
        >>> tree = VTree.from_nested([[0, 2], 1])       # nodes: 0 and 1 are leaves, 2 is [0, 2], 3 a leaf, 4 the root
        >>> tree.children(4), tree.children(3)
        (array([2, 3]), array([], dtype=int64))
        """
        r = self._checked(r)
        return self._child_list[self._child_start[r] : self._child_start[r + 1]]

    def child_lists(self) -> list[list[int]]:
        """Children of every node, for loops: entry r is ``children(r)`` as a list, new at every call; O(R).

        Examples
        --------
        >>> from pcircuit import VTree
        >>> VTree.from_nested([[0, 2], 1]).child_lists()
        [[], [], [0, 1], [], [2, 3]]
        """
        ends, children = self._child_start.tolist(), self._child_list.tolist()
        return [children[start:end] for start, end in pairwise(ends)]

    def parent(self, r: int) -> int:
        """Parent of node r, ``parents[r]`` as an int: larger than r, -1 for the root; errors as for `children`."""
        return int(self.parents[self._checked(r)])

    def scope(self, r: int) -> Ints:
        """Variables at the leaves at or below node r, ascending: (n,) int64 array, n at least 1, new at every call.

        These are ``variables[s]`` of the leaves s in first[r], ..., r.  Errors as for `children`.  O(n log n).

        Examples
        --------
        >>> from pcircuit import VTree
        >>> tree = VTree.from_nested([[3, 0], [2, 1]])
        >>> [tree.scope(int(child)).tolist() for child in tree.children(tree.root)]
        [[0, 3], [1, 2]]
        """
        r = self._checked(r)
        lo, hi = self._num_leaves_to[self.first[r]], self._num_leaves_to[r + 1]
        return np.sort(self.variables[self._leaves[lo:hi]])

    def scope_sizes(self) -> Ints:
        """Number of variables at or below each node: (R,) int64 array, 1 at the leaves, V at the root; O(R).

        Examples
        --------
        >>> from pcircuit import VTree
        >>> VTree.from_nested([[0, 2], 1]).scope_sizes()
        array([1, 1, 2, 1, 3])
        """
        return self._num_leaves_to[1:] - self._num_leaves_to[self.first]

    def leaf_of(self) -> Ints:
        """Leaf of each variable, ``variables[leaf_of()[v]] == v``: (V,) int64 array, new at every call; O(V).

        Examples
        --------
        >>> from pcircuit import VTree
        >>> VTree.from_nested([[0, 2], 1]).leaf_of()
        array([0, 3, 1])
        """
        leaf = np.empty(self.num_variables, dtype=np.int64)
        leaf[self.variables[self._leaves]] = self._leaves
        return leaf

    def is_ancestor(self, r: int, s: int) -> bool:
        """Whether node r is at or above node s: ``first[r] <= s <= r`` (bool); each node is at or above itself.

        Then, and only then, s is in the subtree of r; so scope(r) contains scope(s).  The converse holds too but for an
        inner node with one child, which has the scope of that child.  Errors as for `children`.  O(1).

        Examples
        --------
        >>> from pcircuit import VTree
        >>> tree = VTree.from_nested([[0, 2], 1])
        >>> tree.is_ancestor(2, 1), tree.is_ancestor(2, 3), tree.is_ancestor(1, 2)
        (True, False, False)
        """
        r, s = self._checked(r), self._checked(s)
        return bool(self.first[r] <= s <= r)

    def lowest_common_ancestor(self, r: int, s: int) -> int:
        """The lowest node at or above both r and s (int), which has the smallest scope of all that hold both scopes.

        One of the two if it is at or above the other.  Errors as for `children`.  One step for each level climbed.

        Examples
        --------
        >>> from pcircuit import VTree
        >>> tree = VTree.from_nested([[0, 2], 1])
        >>> tree.lowest_common_ancestor(0, 1), tree.lowest_common_ancestor(3, 0), tree.lowest_common_ancestor(2, 1)
        (2, 4, 2)
        """
        r, s = self._checked(r), self._checked(s)
        while not self.first[r] <= s <= r:
            r = int(self.parents[r])
        return r

    def to_nested(self) -> Any:
        """The v-tree as nested lists of variables, the inverse of `from_nested`; an int for a single leaf.

        New at every call.  O(R), any depth; but Python itself prints lists to a depth of some hundred only.

        Examples
        --------
        >>> from pcircuit import VTree
        >>> VTree.right_linear(4).to_nested()
        [0, [1, [2, 3]]]
        """
        built: list[Any] = []
        for r, v in enumerate(self.variables.tolist()):
            built.append(v if v >= 0 else [built[c] for c in self.children(r)])
        return built[-1]

    def _checked(self, r: int) -> int:
        """`r` as an int, refused unless it is a node (negative numbers do not wrap around)."""
        r = check_whole_number(r, "r")
        if not 0 <= r < len(self.parents):
            raise IndexError(
                f"v-tree node {r} does not exist: nodes are 0..{len(self.parents) - 1}"
            )
        return r

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VTree):
            return NotImplemented
        return np.array_equal(self.parents, other.parents) and np.array_equal(
            self.variables, other.variables
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if self.num_nodes <= SHOWN_NODES:
            return f"VTree.from_nested({self.to_nested()})"
        digest = zlib.crc32(self.variables.tobytes(), zlib.crc32(self.parents.tobytes()))
        return (
            f"VTree({self.num_variables} variables, {self.num_nodes} nodes, checksum {digest:08x})"
        )


def check_vtree(vtree: object) -> None:
    """Raise unless `vtree` is a VTree."""
    if not isinstance(vtree, VTree):
        raise TypeError(
            f"`vtree` must be a pcircuit.VTree, found {type(vtree).__name__}: a circuit has it as `.vtree`"
        )


def _int_vector(values: ArrayLike, name: str) -> Ints:
    """`values` as a fresh 1-D int64 array with at least one entry."""
    expected = "a non-empty one-dimensional array of integers"
    array = check_integers(values, name, expected)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"`{name}` must be {expected}, found shape {array.shape}")
    return np.asarray(array.copy())


def _checked_first(parents: Ints, variables: Ints) -> Ints:
    """First node at or below each node; raises unless the arrays are a post-order v-tree."""
    R = len(parents)
    if parents[-1] != -1 or (parents[:-1] <= np.arange(R - 1)).any() or parents.max() >= R:
        raise ValueError(
            "`parents` is not a post-order numbering: every node but the last (the root, -1) needs a "
            "parent with a larger number"
        )
    leaf_variables = np.sort(variables[variables >= 0])
    if variables.min() < -1 or not np.array_equal(leaf_variables, np.arange(len(leaf_variables))):
        raise ValueError(
            "`variables` must name each variable 0..V-1 at exactly one leaf and be -1 at inner nodes"
        )
    first = np.empty(R, dtype=np.int64)
    open_subtrees: list[int] = []  # roots of the finished subtrees that still wait for their parent
    for r, (is_leaf, parent_list) in enumerate(
        zip((variables >= 0).tolist(), parents.tolist(), strict=True)
    ):
        arity = 0
        first[r] = r
        while open_subtrees and parents[open_subtrees[-1]] == r:
            first[r] = first[open_subtrees.pop()]
            arity += 1
        if is_leaf == (arity > 0):
            raise ValueError(
                f"`variables` has {variables[r]} at node {r}, which has {arity} children in post-order: "
                "a leaf has a variable and no children, an inner node -1 and at least one"
            )
        if open_subtrees and parents[open_subtrees[-1]] < parent_list != -1:
            raise ValueError(
                f"`parents` is not a post-order numbering: node {open_subtrees[-1]} must be attached "
                f"to its parent {parents[open_subtrees[-1]]} before node {r}"
            )
        open_subtrees.append(r)
    return first


def _checked_size(num_variables: int) -> int:
    """`num_variables` as an int, refused below one and where the v-tree would not fit into memory."""
    num_variables = check_whole_number(num_variables, "num_variables", 1)
    check_memory(
        f"a v-tree of {shown(num_variables)} variables",
        BYTES_PER_VARIABLE * num_variables,
        "give fewer `num_variables`",
    )
    return num_variables


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
            leaves.append(check_whole_number(node, "nested", 0))
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


def numbered(root: Any, expand: Callable[[Any], Sequence[Any] | None]) -> tuple[Ints, Ints]:
    """Parents and variables of the v-tree below a start node.

    `expand(node)` is the list of children of a node, or None where the node is a variable.

    Returns parents (n,), variables (n,).
    """
    found: list[tuple[int, int, int]] = []  # variable or -1, parent and depth, parents first
    waiting: list[Any] = [(root, -1, 0)]
    while waiting:
        node, parent, depth = waiting.pop()
        children = expand(node)
        waiting.extend((child, len(found), depth + 1) for child in reversed(children or ()))
        found.append((int(node) if children is None else -1, parent, depth))
    sizes = [1] * len(found)
    for i in range(len(found) - 1, 0, -1):
        sizes[found[i][1]] += sizes[i]
    leaf, above, depths = map(np.array, zip(*found, strict=True))
    # found before a node: its ancestors (depth of them) and all subtrees to its left.  In post-order those subtrees
    # come before it, too, but its ancestors do not, and its size - 1 descendants do
    number = np.arange(len(found)) + sizes - 1 - depths
    parents, variables = np.full((2, len(found)), -1)
    parents[number[1:]] = number[above[1:]]
    variables[number] = leaf
    return parents, variables


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
    reached, stack = 0, [root]
    while stack:
        reached += 1
        stack.extend(children[stack.pop()])
    if reached != len(children):
        raise ValueError(
            f"`parent` has a cycle: {len(children) - reached} of {len(children)} variables are not "
            "connected to the root"
        )

    def expand(
        node: Any,
    ) -> list[Any] | None:  # (v,) is the inner node of variable v, v itself its leaf
        if isinstance(node, Integral):
            return None
        return [(c,) if children[c] else c for c in children[node[0]]] + [node[0]]

    return numbered((root,) if children[root] else root, expand)
