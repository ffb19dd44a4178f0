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
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pcircuit.formats.unit_graph import Graph
from pcircuit.formats.unpickled import read_pickle

MOST_UNITS = (
    16  # for each byte of a file: units, of which blocks and tied parameters stand for many, and
)
SPARE_UNITS = 2**20  # so many more
MOST_NUMBERS = 64  # for each byte of a file: parameters, tied ones at each place, and
SPARE_NUMBERS = 2**26  # so many more


def is_pyjuice_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins like a pickle."""
    with pathlib.Path(path).open("rb") as file:
        return file.read(1) == b"\x80"


def read_pyjuice(path: str | os.PathLike[str]) -> tuple[Graph, int]:
    """Units of a file of PyJuice, one by one, and the root among them.

    O(size of the file), and of what blocks and tied parameters stand for: units may be 16 for each byte of the file and
    2^20 more, their parameters 64 and 2^26.
    """
    try:
        contents = pathlib.Path(path).read_bytes()
        entries = read_pickle(contents)
        if not isinstance(entries, list) or not entries:
            raise ValueError("it does not hold a list of units")
        model = _Model(entries, Graph(len(contents)))
        for i, entry in enumerate(entries):
            model.units.append(_add(model, i, entry))
        if len(model.units[-1]) != 1:
            raise ValueError(
                f"its last entry has {len(model.units[-1])} units, a circuit has one root"
            )
        return model.graph, model.units[-1][0]
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError, ValueError) as error:
        what = (
            f"{type(error).__name__}: {error}" if not isinstance(error, ValueError) else str(error)
        )
        raise ValueError(f"cannot read {os.fspath(path)!r} as a file of PyJuice: {what}") from None


@dataclass
class _Model:
    """The entries of a file, and what was made of them so far: the graph, and each entry's units in it."""

    entries: list[Any]
    graph: Graph
    units: list[list[int]] = field(default_factory=list)
    numbers: int = 0

    def array(self, value: Any, i: int) -> np.ndarray:
        """An array of entry i, or lists of numbers as one: never more of them than the file has bytes.

        A list that is named again and again would stand for many.
        """
        if not isinstance(value, np.ndarray):
            waiting, count = [value], 0
            while waiting:
                item = waiting.pop()
                if isinstance(item, (list, tuple)):
                    waiting.extend(item)
                    count += len(item)
                elif not isinstance(item, (int, float)):
                    raise ValueError(f"entry {i} has {_shown(item)} where a number is expected")
                if count > self.graph.num_bytes:
                    raise ValueError(f"entry {i} has lists of more numbers than the file has bytes")
        return np.asarray(value)

    def parameters(self, entry: dict[Any, Any], i: int) -> np.ndarray:
        """The parameters of entry i, its own or those that it shares."""
        source = _index(entry["source_node"], i, len(self.entries)) if "source_node" in entry else i
        values = self.array(_field(self.entries[source], source, "params"), i)
        with np.errstate(invalid="ignore"):  # what is no number is refused where its place is known
            params: np.ndarray = values.astype(np.float64, copy=False)
        self.numbers += params.size
        allowed = MOST_NUMBERS * self.graph.num_bytes + SPARE_NUMBERS
        if self.numbers > allowed:
            raise ValueError(
                f"entries up to number {i} have more than {allowed} parameters, tied ones counted at each "
                "place: such a circuit is not read"
            )
        return params

    def check_room(self, i: int, blocks: Any, size: Any) -> None:
        """Refuse what are no numbers of units, and more units than such a file may stand for."""
        allowed = MOST_UNITS * self.graph.num_bytes + SPARE_UNITS - len(self.graph.units)
        if (
            not (isinstance(blocks, int) and isinstance(size, int))
            or not 0 < blocks * size <= allowed
        ):
            raise ValueError(f"entry {i} has {_shown(blocks)} blocks of {_shown(size)} units")


def _add(model: _Model, i: int, entry: dict[Any, Any]) -> list[Any]:
    """Add the units of one entry; their positions."""
    blocks, size = (
        _field(entry, i, "num_node_blocks", "num_node_groups"),
        _field(entry, i, "block_size", "group_size"),
    )
    model.check_room(i, blocks, size)
    children = [model.units[_index(c, i, i)] for c in _list(entry, i, "chs")]
    kind = _field(entry, i, "type")
    if not isinstance(kind, str) or kind not in ("Input", "Product", "Sum"):
        raise ValueError(f"entry {i} has the unknown type {_shown(kind)}")
    if kind == "Input":
        variables = _list(entry, i, "scope")
        if len(variables) != 1:
            raise ValueError(
                f"entry {i} is an input of {len(variables)} variables, only single ones are read"
            )
        variable = variables[0]
        if not isinstance(variable, int) or variable < 0:
            raise ValueError(
                f"entry {i} is an input of variable {_shown(variable)}: they count from 0"
            )
        return [
            model.graph.add_input(f"{i}.{k}", variable, probs)
            for k, probs in enumerate(_input_probs(model, i, entry, blocks * size))
        ]
    edges = model.array(_field(entry, i, "edge_ids"), i)
    if edges.ndim != 2 or edges.dtype.kind not in "iu" or not edges.size:
        raise ValueError(f"the edges of entry {i} are not a matrix of whole numbers, one at least")
    edges = edges.astype(np.int64, copy=False)  # those beyond 2^63 become negative
    if kind == "Product":
        return _add_products(model.graph, i, edges, children, blocks, size)
    return _add_sums(
        model.graph,
        i,
        edges,
        model.parameters(entry, i),
        [u for child in children for u in child],
        blocks,
        size,
    )


def _input_probs(model: _Model, i: int, entry: dict[Any, Any], count: int) -> np.ndarray:
    """(count, C) probabilities of the units of an input entry."""
    dist = _field(entry, i, "dist")
    if not isinstance(dist, bytes):
        raise ValueError(f"entry {i} has {_shown(dist)} as 'dist', expected a pickle in bytes")
    names = [
        argument.split(" ")[-1] if operation.name == "GLOBAL" else argument
        for operation, argument, _ in pickletools.genops(dist)
        if isinstance(argument, str)
    ]
    if "params" in entry or "source_node" in entry:
        params = model.parameters(entry, i)
        if not params.size:
            raise ValueError(f"entry {i} has no parameters")
        if params.size % count:
            raise ValueError(
                f"entry {i} has {params.size} parameters for {count} units, expected as many for each"
            )
        params = params.reshape(count, -1)
        if "Categorical" in names:
            return params
        if "Bernoulli" in names and params.shape[1] == 1:
            return np.concatenate([1 - params, params], axis=1)
    raise ValueError(
        f"its inputs are none of Categorical and Bernoulli: {[n for n in names if n.isidentifier()][:4]}"
    )


def _add_products(
    graph: Graph, i: int, edges: Any, children: list[Any], blocks: int, size: int
) -> list[Any]:
    """Products: unit k of a block multiplies the units k of the children's blocks, or rows name units themselves."""
    if (
        edges.shape[1] != len(children)
        or len(edges) not in (blocks, blocks * size)
        or edges.min() < 0
    ):
        raise ValueError(
            f"the edges of entry {i} have shape {edges.shape}, which does not fit its children"
        )
    step = size if len(edges) == blocks else 1
    if any(
        (most + 1) * step > len(child)
        for most, child in zip(edges.max(axis=0).tolist(), children, strict=True)
    ):
        raise ValueError(f"the edges of entry {i} are beyond the units of its children")
    edges = (edges[:, None, :] * step + np.arange(step)[:, None]).reshape(-1, len(children))
    return [
        graph.add_product(f"{i}.{k}", [child[u] for child, u in zip(children, row, strict=True)])
        for k, row in enumerate(edges.tolist())
    ]


def _add_sums(
    graph: Graph, i: int, edges: Any, params: Any, below: Any, blocks: int, size: int
) -> list[Any]:
    """Sums, with the weights of the blocks that belong to them."""
    if params.ndim == 1 and size == 1:
        params = params.reshape(-1, 1, 1)
    if (
        len(edges) != 2
        or params.ndim != 3
        or params.shape[:2] != (edges.shape[1], size)
        or not params.size
    ):
        raise ValueError(
            f"the weights of entry {i} have shape {params.shape}, its edges {edges.shape}"
        )
    if (
        params.min() < 0
        or not np.isfinite(params).all()
        or edges.min() < 0
        or edges[0].max() >= blocks
    ):
        raise ValueError(f"the weights or edges of entry {i} are out of range")
    order = np.argsort(edges[0], kind="stable")
    starts = np.searchsorted(edges[0][order], np.arange(blocks + 1))
    width, result = params.shape[2], []
    if (int(edges[1].max()) + 1) * width > len(below):
        raise ValueError(f"the edges of entry {i} are beyond the units of its children")
    if not np.diff(starts).all():
        raise ValueError(f"entry {i} has sums without edges")
    for block in range(blocks):
        mine = order[starts[block] : starts[block + 1]]
        columns = (edges[1][mine][:, None] * width + np.arange(width)).ravel()
        children = [below[c] for c in columns.tolist()]
        for a in range(size):
            weights = params[mine, a, :].ravel()
            used = np.flatnonzero(weights) if weights.any() else [0]
            result.append(
                graph.add_sum(
                    f"{i}.{block * size + a}", [children[j] for j in used], weights[used].tolist()
                )
            )
    return result


def _field(entry: Any, i: int, *names: str) -> Any:
    """What entry i holds under the first of these names that it has."""
    if not isinstance(entry, dict):
        raise ValueError(f"entry {i} must be a dictionary, found {_shown(entry)}")
    for name in names:
        if name in entry:
            return entry[name]
    raise ValueError(f"entry {i} has no field {' or '.join(map(repr, names))}")


def _list(entry: Any, i: int, name: str) -> list[Any]:
    """What entry i holds under a name, which must be a list, a tuple or an array."""
    value = _field(entry, i, name)
    if isinstance(value, np.ndarray) and value.ndim:
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"entry {i} has {_shown(value)} as {name!r}, expected a list")
    return list(value)


def _index(place: Any, i: int, count: int) -> int:
    """The place of an entry that entry i names, counted from 0, among the first `count`."""
    if not isinstance(place, int) or not 0 <= place < count:
        raise ValueError(
            f"entry {i} names the entry {_shown(place)}, expected one of the first {count}"
        )
    return place


def _shown(value: Any) -> str:
    """A value of the file in a few words of an error: lists can be deep, arrays have lines."""
    return repr(value)[:40] if isinstance(value, (int, float, str)) else f"<{type(value).__name__}>"
