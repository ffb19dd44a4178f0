"""What a v-tree answers: who is above and below whom, and which variables a node holds.

`pcircuit.vtree.VTree` is two arrays, ``parents`` and ``variables``, in post-order, and what its constructor derives
from them:

    first[r]                      smallest number at or below node r, so that its subtree is first[r], ..., r
    children                      the nodes sorted by parent; those of node r are one slice
    leaves                        the leaves in ascending order; those below node r are one slice, as the subtree is

So no method walks through a subtree: "is s below r" is two comparisons, a scope is a slice, and the numbers of all
nodes come from differences of running counts.  Only `lowest_common_ancestor` climbs, and `to_nested` visits all.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from pcircuit.arguments import check_whole_number
from pcircuit.array_types import Ints


class VTreeQuestions:
    """The properties and methods of `pcircuit.VTree`; a node is an int from 0 to R - 1, the root R - 1."""

    parents: Ints
    variables: Ints
    first: Ints
    _child_start: Ints
    _child_list: Ints
    _leaves: Ints
    _num_leaves_to: Ints

    @property
    def num_nodes(self) -> int:
        """R, the number of nodes: V leaves and all inner nodes (int, at least 1).

        2 V - 1 where every inner node has two children, as in `balanced`.  The "nodes" of a circuit are its units, many
        to each node of its v-tree: for one name with one meaning in both, see `num_regions`.

        Examples
        --------
        >>> from pcircuit import VTree
        >>> VTree.balanced(4).num_nodes, VTree.from_nested([0, 1, 2, 3]).num_nodes
        (7, 5)
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
        """Children of a node: the nodes s with ``parents[s] == r``.

        Parameters
        ----------
        r : int
            A node.

        Returns
        -------
        (A,) int64 array
            Ascending, which is the order of the columns of `InnerRegion.products`; empty for a leaf.  A read-only view.

        Raises
        ------
        TypeError
            If `r` is not a whole number.
        IndexError
            If there is no such node; negative numbers do not count from the end.

        Notes
        -----
        O(1).

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
        """Children of every node, for loops: entry r is ``children(r)`` as a list.

        Returns
        -------
        list of R lists of int
            New at every call.

        Notes
        -----
        O(R), far less than R calls of `children`.

        Examples
        --------
        >>> from pcircuit import VTree
        >>> VTree.from_nested([[0, 2], 1]).child_lists()
        [[], [], [0, 1], [], [2, 3]]
        """
        ends, children = self._child_start.tolist(), self._child_list.tolist()
        return [children[start:end] for start, end in pairwise(ends)]

    def parent(self, r: int) -> int:
        """Parent of a node, ``parents[r]`` as an int.

        Parameters
        ----------
        r : int
            A node.

        Returns
        -------
        int
            Larger than `r`, as children come before their parents; -1 for the root.

        Raises
        ------
        TypeError, IndexError
            As for `children`.
        """
        return int(self.parents[self._checked(r)])

    def scope(self, r: int) -> Ints:
        """Variables at the leaves below a node: ``variables[s]`` of the leaves s in first[r], ..., r.

        Parameters
        ----------
        r : int
            A node; a leaf is below itself.

        Returns
        -------
        (n,) int64 array
            Ascending, n at least 1; new at every call.

        Raises
        ------
        TypeError, IndexError
            As for `children`.

        Notes
        -----
        O(n log n).

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
        """Number of variables below each node: entry r is ``len(scope(r))``.

        Returns
        -------
        (R,) int64 array
            1 at the leaves, V at the root; new at every call.

        Notes
        -----
        O(R), without making a scope.

        Examples
        --------
        >>> from pcircuit import VTree
        >>> VTree.from_nested([[0, 2], 1]).scope_sizes()
        array([1, 1, 2, 1, 3])
        """
        return self._num_leaves_to[1:] - self._num_leaves_to[self.first]

    def leaf_of(self) -> Ints:
        """Leaf of each variable: the inverse of ``variables`` on the leaves, ``variables[leaf_of()[v]] == v``.

        Returns
        -------
        (V,) int64 array
            New at every call.

        Notes
        -----
        O(V).

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
        """Whether node r is at or above node s: ``first[r] <= s <= r``.

        Then, and only then, s is in the subtree of r; so scope(r) contains scope(s).  The converse holds too but for an
        inner node with one child, which has the scope of that child.

        Parameters
        ----------
        r, s : int
            Nodes; each is at or above itself.

        Returns
        -------
        bool

        Raises
        ------
        TypeError, IndexError
            As for `children`.

        Notes
        -----
        O(1).

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
        """The lowest node at or above both r and s, which has the smallest scope of all that hold both scopes.

        Parameters
        ----------
        r, s : int
            Nodes, in any order.

        Returns
        -------
        int
            One of the two if it is at or above the other.

        Raises
        ------
        TypeError, IndexError
            As for `children`.

        Notes
        -----
        One step for each level climbed from `r`.

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
        """The v-tree as nested lists of variables, the inverse of `from_nested`.

        Returns
        -------
        nested lists of int
            An int for the v-tree of a single leaf.  New at every call.

        Notes
        -----
        O(R), any depth; but Python itself prints and compares lists to a depth of some hundred to some thousand only.

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
