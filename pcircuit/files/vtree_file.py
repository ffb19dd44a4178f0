"""V-trees as ``.vtree`` files, the format of the SDD library and of everything built on it.

    vtree COUNT              number of nodes
    L ID VARIABLE            a leaf; variables count from 1, variable v is column v - 1 of the data
    I ID LEFT RIGHT          an inner node of two children, which come before it

Lines that begin with "c" are comments.  Ids are any distinct numbers; writers count from 0 in post-order, as we do.
"""
from __future__ import annotations

import os
from typing import Any

import numpy as np

from pcircuit.files.text import Ids, lines_of, write_text
from pcircuit.vtree import VTree


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
    return read_vtree_ids(path)[0]


def read_vtree_ids(path: str | os.PathLike[str]) -> tuple[VTree, dict[int, int]]:
    """As `read_vtree`, and the node of the v-tree that each id of the file stands for.

    Parameters
    ----------
    path : str or os.PathLike

    Returns
    -------
    VTree
    dict of int to int
    """
    ids = Ids()
    children: list[tuple[int, ...]] = []
    variables: list[int] = []
    parents: list[int] = []
    declared, line = None, None
    for line in lines_of(path):
        kind = line.tokens[0]
        if kind == "vtree" and declared is None:
            declared = line.integer(1, "number of nodes")
            continue
        if declared is None:
            raise line.fail(f"expected a first line 'vtree COUNT', found {kind[:40]!r}")
        position = len(children)
        if kind == "L":
            line.expect(3, "a leaf")
            children.append(())
            variables.append(line.variable(2) - 1)
        elif kind == "I":
            line.expect(4, "an inner node")
            below = ids.find(line, 2), ids.find(line, 3)
            for c in below:
                if parents[c] >= 0 or below[0] == below[1]:
                    raise line.fail("a node of a v-tree has one parent, but this child has two")
                parents[c] = position
            children.append(below)
            variables.append(-1)
        else:
            raise line.fail(f"a node is an L or an I line, found {kind[:40]!r}")
        ids.define(line, 1, position)
        parents.append(-1)
    if line is None or not children or declared != len(children):
        raise ValueError(f"cannot read {os.fspath(path)!r}: its first line promises "
                         f"{declared or 0} nodes, found {len(children)}")
    order = _post_order(children, len(children) - 1)
    if len(order) < len(children):
        raise ValueError(f"cannot read {os.fspath(path)!r}: {len(children) - len(order)} of its nodes are not below "
                         "the last one, the root")
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    try:
        tree = VTree([-1 if parents[i] < 0 else number[parents[i]] for i in order], [variables[i] for i in order])
    except ValueError as error:
        raise ValueError(f"cannot read {os.fspath(path)!r}: {error}") from None
    return tree, {name: int(number[i]) for name, i in ids.positions.items()}


def write_vtree(vtree: VTree, path: str | os.PathLike[str]) -> None:
    """Write a v-tree as a ``.vtree`` file, whole or not at all.

    Parameters
    ----------
    vtree : VTree
        With two children at every inner node: the format knows no others.
    path : str or os.PathLike

    Raises
    ------
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
    write_text(path, vtree_text(vtree))


def vtree_text(vtree: VTree) -> str:
    """What `write_vtree` writes.

    Parameters
    ----------
    vtree : VTree

    Returns
    -------
    str
    """
    lines = ["c nodes in post-order, children before parents; variables count from 1", f"vtree {vtree.num_nodes}"]
    for r, v in enumerate(vtree.variables.tolist()):
        below = vtree.children(r).tolist()
        if v < 0 and len(below) != 2:
            raise ValueError(f"`vtree` has a node with {len(below)} child{'ren' if len(below) > 1 else ''}: the format "
                             ".vtree has inner nodes of two children only")
        lines.append(f"L {r} {v + 1}" if v >= 0 else f"I {r} {below[0]} {below[1]}")
    return "\n".join(lines) + "\n"


def _post_order(children: list[Any], root: int) -> list[Any]:
    """Nodes below the root, children before parents, first children first."""
    backwards, waiting = [], [root]
    while waiting:
        i = waiting.pop()
        backwards.append(i)
        waiting.extend(children[i])
    return backwards[::-1]
