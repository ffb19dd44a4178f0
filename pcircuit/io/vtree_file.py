"""V-trees as ``.vtree`` files, the format of the SDD library and of everything built on it.

    vtree COUNT              number of nodes
    L ID VARIABLE            a leaf; variables count from 1, variable v is column v - 1 of the data
    I ID LEFT RIGHT          an inner node of two children, which come before it

Lines that begin with "c" are comments.  Ids are any distinct numbers; writers count from 0 in post-order, as we do.
"""

import os
from typing import Any

import numpy as np

from pcircuit.arguments import Ints
from pcircuit.circuit import Circuit
from pcircuit.io.text import Ids, Line, read_nodes
from pcircuit.io.whole_file import checked_path, write_text
from pcircuit.regions import InnerRegion, InputRegion
from pcircuit.vtree import VTree, check_vtree


def read_vtree(path: str | os.PathLike[str]) -> VTree:
    """Read a ``.vtree`` file.

    Parameters
    ----------
    path : str or os.PathLike

    Returns
    -------
    VTree
        Variable 1 of the file is variable 0.

    Raises
    ------
    TypeError
        If `path` is not a path.
    ValueError
        If the file is not a v-tree: file, line and what is wrong.
    OSError
        If there is no such file or it cannot be opened.

    Notes
    -----
    O(number of nodes).

    References
    ----------
    The SDD package, Automated Reasoning Group, UCLA (2018), which defines the format.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_vtree(VTree.from_nested([[0, 2], 1]), f"{folder}/tree.vtree")
    ...     read_vtree(f"{folder}/tree.vtree").to_nested()
    [[0, 2], 1]
    """
    return read_vtree_ids(checked_path(path))[0]


def read_vtree_ids(path: str) -> tuple[VTree, set[int]]:
    """As `read_vtree`, and the ids of the nodes in the file."""
    nodes: list[Any] = []  # a variable, or the list of two nodes
    below: set[int] = set()  # positions of nodes that have a parent

    def read(line: Line, ids: Ids) -> int:
        """Append the node that a line defines; its position."""
        kind = line.tokens[0]
        if kind == "L":
            line.expect(3, "a leaf")
            nodes.append(line.variable(2) - 1)
        elif kind == "I":
            line.expect(4, "an inner node")
            children = [ids.find(line, 2), ids.find(line, 3)]
            if below.intersection(children) or children[0] == children[1]:
                raise line.fail("a node of a v-tree has one parent, but this child has two")
            below.update(children)
            nodes.append([nodes[c] for c in children])
        else:
            raise line.fail(f"a node is an L or an I line, found {kind[:40]!r}")
        return len(nodes) - 1

    _, ids, _ = read_nodes(path, "vtree", read)
    try:
        if len(below) < len(nodes) - 1:
            raise ValueError("some of its nodes are not below the last one, the root")
        return VTree.from_nested(nodes[-1]), set(ids.positions)
    except ValueError as error:
        raise ValueError(f"cannot read {path!r}: {error}") from None


def write_vtree(vtree: VTree, path: str | os.PathLike[str]) -> None:
    """Write a v-tree as a ``.vtree`` file, whole or not at all.

    Parameters
    ----------
    vtree : VTree
        With two children at every inner node: the format allows no others.
    path : str or os.PathLike

    Raises
    ------
    TypeError
        If `vtree` is not a v-tree, or `path` not a path.
    ValueError
        If an inner node does not have two children.
    OSError
        If the folder does not exist or cannot be written.

    Notes
    -----
    O(number of nodes).

    Examples
    --------
    >>> write_vtree(VTree.from_nested([0, 1, 2]), "tree.vtree")
    Traceback (most recent call last):
    ValueError: `vtree` has a node with 3 children: the format .vtree has inner nodes of two children only
    """
    check_vtree(vtree)
    write_text(path, vtree_text(vtree))


def vtree_text(vtree: VTree) -> str:
    """What `write_vtree` writes."""
    lines = [
        "c nodes in post-order, children before parents; variables count from 1",
        f"vtree {vtree.num_nodes}",
    ]
    for r, v in enumerate(vtree.variables.tolist()):
        below = vtree.children(r).tolist()
        if v < 0 and len(below) != 2:
            raise ValueError(
                f"`vtree` has a node with {len(below)} child{'ren' if len(below) > 1 else ''}: the format "
                ".vtree has inner nodes of two children only"
            )
        lines.append(f"L {r} {v + 1}" if v >= 0 else f"I {r} {below[0]} {below[1]}")
    return "\n".join(lines) + "\n"


def with_two_children(circuit: Circuit) -> Circuit:
    """The same distribution on a v-tree whose nodes have two children: those with more become chains of nodes.

    A product of units a, b and c becomes one of (a b) and c, with a unit of its own for each pair that occurs.
    """
    from scipy.sparse import csr_array

    vtree, place = circuit.vtree, np.zeros(circuit.num_regions, dtype=np.int64)
    regions: list[InputRegion | InnerRegion] = []
    parents: list[int] = []

    def add(region: InputRegion | InnerRegion, children: list[int]) -> int:
        for child in children:
            parents[child] = len(regions)
        regions.append(region)
        parents.append(-1)
        return len(parents) - 1

    chains: dict[
        int, tuple[int, Ints]
    ] = {}  # of a node: its chain so far, and its unit in each product
    for r, region in enumerate(circuit.regions):
        children = vtree.children(r).tolist()
        if isinstance(region, InnerRegion) and len(children) > 2:
            left, units = chains[r]
            pairs = np.stack([units, region.products[:, -1]], axis=1)
            place[r] = add(InnerRegion(pairs, region.weights), [left, int(place[children[-1]])])
        else:
            place[r] = add(region, place[children].tolist())
        above = vtree.parent(r) if r < vtree.root else r
        others = vtree.children(above).tolist()
        if len(others) > 2 and r != others[-1] and r != above:
            products = circuit.regions[above].products  # type: ignore[union-attr]  # it has children
            if r == others[0]:
                chains[above] = int(place[r]), products[:, 0]
                continue
            left, units = chains[above]
            pairs = np.stack([units, products[:, others.index(r)]], axis=1)
            pairs, units = np.unique(pairs, axis=0, return_inverse=True)
            identity = csr_array(np.eye(len(pairs)))
            chains[above] = add(InnerRegion(pairs, identity), [left, int(place[r])]), units.ravel()
    variables = [getattr(region, "variable", -1) for region in regions]
    return Circuit(VTree(np.array(parents), np.array(variables)), regions)
