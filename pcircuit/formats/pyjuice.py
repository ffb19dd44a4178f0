"""PyJuice's ``.jpc`` files: a pickled list of vectors of units, read without running the pickle.

Each entry of the list is a dict: "type" ("Input", "Product", "Sum"), "num_node_blocks" and "block_size" (in older files
"num_node_groups" and "group_size"; the units are blocks times block size), "chs" (entries of its children), and

    Input      "scope" (one variable), "dist" (a pickle of its own, from which only the class name is used),
               "params": probabilities, unit by unit
    Product    "edge_ids" (blocks or units, children): which block, or which unit, of each child
    Sum        "edge_ids" (2, E): pairs of a block of sums and a block of the children's units, counted on through all
               children; "params" (E, block size, block size of the children): their weights

"source_node" names the entry whose parameters an entry shares.  The last entry is the root.
"""
from __future__ import annotations

import os
import pathlib
import pickletools
from typing import Any

import numpy as np

from pcircuit.formats.unit_graph import Graph
from pcircuit.formats.unpickled import read_pickle

MOST_EDGES = 50_000_000


def is_pyjuice_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins like a pickle.

    Parameters
    ----------
    path : str or os.PathLike

    Returns
    -------
    bool
    """
    with pathlib.Path(path).open("rb") as file:
        return file.read(1) == b"\x80"


def read_pyjuice(path: str | os.PathLike[str]) -> tuple[Graph, int]:
    """Units of a file of PyJuice, one by one, and the root among them.

    Parameters
    ----------
    path : str or os.PathLike

    Returns
    -------
    Graph
    int

    Raises
    ------
    ValueError
        If the file is not one of PyJuice's, is damaged, or has inputs that are not discrete.

    Notes
    -----
    O(size of the file).

    References
    ----------
    Liu, Ahmed and Van den Broeck (2024), Scaling tractable probabilistic circuits: a systems perspective, ICML;
    PyJuice's file `src/pyjuice/io/serialization.py`.
    """
    try:
        contents = pathlib.Path(path).read_bytes()
        entries = read_pickle(contents)
        if not isinstance(entries, list) or not entries:
            raise ValueError("it does not hold a list of units")
        graph = Graph(len(contents))
        units: list[Any] = []
        for i, entry in enumerate(entries):
            units.append(_add(graph, i, entry, entries, units))
        if len(units[-1]) != 1:
            raise ValueError(f"its last entry has {len(units[-1])} units, a circuit has one root")
        return graph, units[-1][0]
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError, ValueError) as error:
        what = f"{type(error).__name__}: {error}" if not isinstance(error, ValueError) else str(error)
        raise ValueError(f"cannot read {os.fspath(path)!r} as a file of PyJuice: {what}") from None


def _add(graph: Graph, i: int, entry: dict[Any, Any], entries: list[Any], units: list[Any]) -> list[Any]:
    """Add the units of one entry; their positions."""
    blocks = entry["num_node_blocks"] if "num_node_blocks" in entry else entry["num_node_groups"]
    size = entry["block_size"] if "block_size" in entry else entry["group_size"]
    if not (isinstance(blocks, int) and isinstance(size, int)) or not 0 < blocks * size < MOST_EDGES:
        raise ValueError(f"entry {i} has {blocks!r} blocks of {size!r} units")
    source = entries[entry["source_node"]] if "source_node" in entry else entry
    children = [units[c] for c in entry["chs"]]
    if entry["type"] == "Input":
        variables = entry["scope"]
        if len(variables) != 1:
            raise ValueError(f"entry {i} is an input of {len(variables)} variables, only single ones are read")
        return [graph.add_input(f"{i}.{k}", int(variables[0]), probs)
                for k, probs in enumerate(_input_probs(entry, source, blocks * size))]
    edges = np.asarray(entry["edge_ids"])
    if edges.ndim != 2 or edges.dtype.kind not in "iu":
        raise ValueError(f"the edges of entry {i} are not a matrix of whole numbers")
    if entry["type"] == "Product":
        return _add_products(graph, i, edges, children, blocks, size)
    if entry["type"] != "Sum":
        raise ValueError(f"entry {i} has the unknown type {entry['type']!r}")
    return _add_sums(graph, i, edges, np.asarray(source["params"], dtype=np.float64),
                     [u for child in children for u in child], blocks, size)


def _input_probs(entry: dict[Any, Any], source: dict[Any, Any], count: int) -> np.ndarray:
    """(count, C) probabilities of the units of an input entry."""
    names = [argument.split(" ")[-1] if operation.name == "GLOBAL" else argument
             for operation, argument, _ in pickletools.genops(entry["dist"]) if isinstance(argument, str)]
    params = np.asarray(source["params"], dtype=np.float64).reshape(count, -1) if "params" in source else None
    if "Categorical" in names and params is not None:
        return params
    if "Bernoulli" in names and params is not None and params.shape[1] == 1:
        return np.concatenate([1 - params, params], axis=1)
    raise ValueError(f"its inputs are none of Categorical and Bernoulli: {[n for n in names if n.isidentifier()][:4]}")


def _add_products(graph: Graph, i: int, edges: Any, children: list[Any], blocks: int, size: int) -> list[Any]:
    """Products: unit k of a block multiplies the units k of the children's blocks, or rows name units themselves."""
    if edges.shape[1] != len(children) or len(edges) not in (blocks, blocks * size) or edges.min() < 0:
        raise ValueError(f"the edges of entry {i} have shape {edges.shape}, which does not fit its children")
    if len(edges) == blocks and size > 1:
        edges = (edges[:, None, :] * size + np.arange(size)[:, None]).reshape(-1, len(children))
    return [graph.add_product(f"{i}.{k}", [child[u] for child, u in zip(children, row, strict=True)])
            for k, row in enumerate(edges.tolist())]


def _add_sums(graph: Graph, i: int, edges: Any, params: Any, below: Any, blocks: int, size: int) -> list[Any]:
    """Sums, with the weights of the blocks that belong to them."""
    if params.ndim == 1 and size == 1:
        params = params.reshape(-1, 1, 1)
    if len(edges) != 2 or params.ndim != 3 or params.shape[:2] != (edges.shape[1], size):
        raise ValueError(f"the weights of entry {i} have shape {params.shape}, its edges {edges.shape}")
    if params.min() < 0 or not np.isfinite(params).all() or edges.min() < 0 or edges[0].max() >= blocks:
        raise ValueError(f"the weights or edges of entry {i} are out of range")
    order = np.argsort(edges[0], kind="stable")
    starts = np.searchsorted(edges[0][order], np.arange(blocks + 1))
    width, result = params.shape[2], []
    for block in range(blocks):
        mine = order[starts[block]:starts[block + 1]]
        columns = (edges[1][mine][:, None] * width + np.arange(width)).ravel()
        children = [below[c] for c in columns.tolist()]
        for a in range(size):
            weights = params[mine, a, :].ravel()
            used = np.flatnonzero(weights) if weights.any() else [0]
            result.append(graph.add_sum(f"{i}.{block * size + a}", [children[j] for j in used], weights[used].tolist()))
    return result
