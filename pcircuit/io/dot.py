"""Circuits as DOT files, the language of Graphviz, to be drawn by Graphviz or any program that reads DOT."""

import os
from typing import Any

import numpy as np

from pcircuit.arguments import check_whole_number
from pcircuit.circuit import Circuit, check_circuit
from pcircuit.io.whole_file import checked_path, write_text

MOST_UNITS = 20_000
MOST_DIGITS = 17  # as many as tell all numbers apart


def write_dot(circuit: Circuit, path: str | os.PathLike[str], *, digits: int = 3) -> None:
    """Write a circuit as a directed graph in the DOT language, whole or not at all.

    Sums are circles with a plus, products circles with a cross, inputs boxes with their table; each region is a
    cluster, and edges of sums carry their weights.

    Parameters
    ----------
    circuit : Circuit
        With at most 20,000 units: larger pictures are unreadable.
    path : str or os.PathLike
    digits : int, default 3
        Significant digits of the numbers, at most 17.

    Raises
    ------
    TypeError
        If `circuit` is not a circuit, or `path` not a path.
    ValueError
        If the circuit has more units, or `digits` is out of range.
    OSError
        If the folder does not exist or cannot be written.

    Notes
    -----
    O(size).  Edges of weight zero are left out.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pcircuit import InputRegion, VTree
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_dot(Circuit(VTree([-1], [0]), [InputRegion(0, [[0.25, 0.75]])]), f"{folder}/a.dot")
    ...     print(pathlib.Path(folder, "a.dot").read_text())
    digraph circuit {
      subgraph cluster_0 { label="{0}";
        n0 [shape=box, label="x0: 0.25 0.75"];
      }
    }
    <BLANKLINE>
    """
    check_circuit(circuit)
    path = checked_path(path)
    digits = check_whole_number(digits, "digits", 1, MOST_DIGITS)
    if circuit.num_nodes > MOST_UNITS:
        raise ValueError(
            f"`circuit` has {circuit.num_nodes} units: a picture can hold at most {MOST_UNITS}"
        )
    lines, edges = ["digraph circuit {"], []
    first = np.asarray(circuit.offsets)
    for r, region in enumerate(circuit.regions):
        scope = ",".join(map(str, circuit.vtree.scope(r).tolist()))
        lines.append(f'  subgraph cluster_{r} {{ label="{{{scope}}}";')
        n = int(first[r])
        if region.is_input:
            for k in range(region.num_units):
                table = region.leaves.said(k)
                if region.num_categories:
                    table = " ".join(f"{p:.{digits}g}" for p in region.probs[k].tolist())
                lines.append(f'    n{n + k} [shape=box, label="x{region.variable}: {table}"];')
        else:
            P = region.num_products
            lines += [f'    n{n + p} [shape=circle, label="\u00d7"];' for p in range(P)]
            lines += [
                f'    n{n + P + k} [shape=circle, label="+"];' for k in range(region.num_units)
            ]
            edges += _edges(circuit, r, n, first, digits)
        lines.append("  }")
    write_text(path, "\n".join([*lines, *edges, "}"]) + "\n")


def _edges(circuit: Circuit, r: int, n: int, first: np.ndarray, digits: int) -> list[Any]:
    """Lines of the edges from the sums and products of region r."""
    region: Any = circuit.regions[r]
    lines: list[str] = []
    children = circuit.vtree.children(r).tolist()
    shown = [
        int(first[c]) + circuit.regions[c].num_nodes - circuit.regions[c].num_units
        for c in children
    ]
    for k in range(region.num_units):
        for p, w in zip(*(part.tolist() for part in region.row(k)), strict=True):
            lines.append(f'  n{n + region.num_products + k} -> n{n + p} [label="{w:.{digits}g}"];')
    for p, units in enumerate(region.products.tolist()):
        lines += [f"  n{n + p} -> n{shown[a] + u};" for a, u in enumerate(units)]
    return lines
