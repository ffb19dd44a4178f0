"""Circuits drawn: units and weights, the flow of a row, and interactive pages for a lecture.

V-trees drawn: the hierarchy of scopes that a circuit follows.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from pcircuit.arguments import Evidence, check_choice, is_listing
from pcircuit.circuit import Circuit, check_circuit
from pcircuit.evidence import check_row
from pcircuit.io.whole_file import write_text
from pcircuit.pictures.canvas import draw
from pcircuit.pictures.scene import BLUE, INK, PAPER, Box, Curve, Disc, Scene, Shape, Text, arrange
from pcircuit.pictures.svg import page, svg
from pcircuit.pictures.units import regions_scene, units_scene
from pcircuit.vtree import VTree, check_vtree

MOST_UNITS = 300  # that are drawn one by one, unless asked for
MOST_DRAWN = 4000  # however much one asks
MOST_REGIONS = 400


def plot_circuit(
    circuit: Circuit,
    row: ArrayLike | None = None,
    *,
    names: Sequence[str] | None = None,
    detail: str = "auto",
    ax: Any = None,
) -> Any:
    """Draw a circuit: regions, units, weights, and the flow of a row.

    Sums are circles, products squares, inputs small bars; the thickness of a line is its weight.  With a row, it is
    the row's expected flow through the line, and observed categories are marked.

    Parameters
    ----------
    circuit : Circuit
        With at most 400 regions.
    row : (V,) int array_like, optional
        Evidence, -1 or NaN where missing.
    names : sequence of V str, optional
        Names of the variables; by default their numbers.
    detail : "auto", "units" or "regions"
        Whether all units are drawn, or one box for each region; "auto" draws up to 300 units, and with a row all.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is missing.
    TypeError, ValueError
        If an argument is of the wrong kind, the circuit is too large to be seen, the row is not evidence, or there is
        not one name for each variable.

    Notes
    -----
    `write_html` makes the same picture as an interactive page; ``circuit.describe()`` describes circuits that are too
    large for any picture in words.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from pcircuit import InnerRegion, InputRegion, VTree
    >>> circuit = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[0.9, 0.1], [0.2, 0.8]]), InputRegion(1, [[0.7, 0.3], [0.4, 0.6]]),
    ...     InnerRegion([[0, 0], [1, 1]], [[0.25, 0.75]])])
    >>> ax = plot_circuit(circuit, [0, -1], names=["rain", "wind"], ax=Figure().add_subplot())
    >>> [text.get_text() for text in ax.texts]
    ['rain', 'wind', '×', '×', '+']
    """
    return draw(circuit_scene(circuit, row, names, detail), ax)


def write_html(
    circuit: Circuit,
    path: str | os.PathLike[str],
    row: ArrayLike | None = None,
    *,
    names: Sequence[str] | None = None,
    detail: str = "auto",
) -> None:
    """Write a picture of a circuit as a self-contained page, or as SVG.

    Pointing at a unit, tapping it, or reaching it with the Tab key shows its scope, its table, and its likelihood for
    the row; lines to and from it light up.

    Parameters
    ----------
    circuit : Circuit
        With at most 400 regions.
    path : str or path
        A path that ends in ``.svg`` gives the bare picture, any other a page of HTML.
    row : (V,) int array_like, optional
        Evidence, whose flow is drawn.
    names : sequence of V str, optional
        Names of the variables; by default their numbers.
    detail : "auto", "units" or "regions"
        As in `plot_circuit`.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, the circuit is too large to be seen, the row is not evidence, or there is
        not one name for each variable.
    OSError
        If the file cannot be written.

    Notes
    -----
    The page holds its style and script, and loads nothing from elsewhere.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pcircuit import InputRegion, VTree
    >>> coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.25, 0.75]])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_html(coin, pathlib.Path(folder, "coin.html"))
    ...     pathlib.Path(folder, "coin.html").read_text().count("<svg")
    1
    """
    scene = circuit_scene(circuit, row, names, detail)
    if str(path).endswith(".svg"):
        write_text(path, svg(scene) + "\n")
        return
    text = "Circles are sums, squares products, bars the tables of inputs. "
    text += (
        "The stronger a line, the larger its weight."
        if row is None
        else "The stronger an orange line, the more of the row flows through it."
    )
    write_text(path, page([scene], [""], scene.title, text))


def circuit_scene(
    circuit: Circuit, row: ArrayLike | None, names: Sequence[str] | None, detail: str
) -> Scene:
    """The picture of a circuit, with units or without.

    Shapes: row (V,).
    """
    check_circuit(circuit)
    check_choice(detail, "detail", ("auto", "units", "regions"))
    if circuit.num_regions > MOST_REGIONS:
        raise ValueError(
            f"`circuit` has {circuit.num_regions} regions, and a picture shows at most {MOST_REGIONS}: "
            "`circuit.describe()` puts it into words, and `pcircuit.marginalize` takes a part of it"
        )
    labels = variable_names(circuit.num_variables, names)
    evidence: Evidence | None = None if row is None else check_row(circuit, row)
    if detail == "regions" and evidence is not None:
        raise ValueError(
            "`row` flows through units, and `detail` is 'regions': ask for 'units', or leave the row out"
        )
    if detail == "regions" or (
        detail == "auto" and evidence is None and circuit.num_units > MOST_UNITS
    ):
        return regions_scene(circuit, labels)
    if circuit.num_units > MOST_DRAWN:
        raise ValueError(
            f"`circuit` has {circuit.num_units} units, and at most {MOST_DRAWN} are drawn one by one: "
            "`pcircuit.plot_circuit(circuit, detail='regions')` draws a box for each region"
        )
    return units_scene(circuit, evidence, labels)


MOST_NODES = 400  # that a page can show
LETTER = 7.2  # pixels of a letter
LEAF_HEIGHT, KNOT = 28.0, 7.0


def plot_vtree(vtree: VTree, *, names: Sequence[str] | None = None, ax: Any = None) -> Any:
    """Draw a v-tree: inner regions as dots, leaves with their variables.

    Parameters
    ----------
    vtree : VTree
        With at most 400 regions.
    names : sequence of V str, optional
        Names of the variables; by default their numbers.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is missing.
    TypeError, ValueError
        If an argument is of the wrong kind, the v-tree is too large to be seen, or there is not one name for each
        variable.

    Notes
    -----
    The root is at the top; regions of one depth have one height.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_vtree(VTree.balanced(3), names=["age", "sex", "income"], ax=Figure().add_subplot())
    >>> [text.get_text() for text in ax.texts]
    ['age', 'sex', 'income']
    """
    return draw(vtree_scene(vtree, names), ax)


def vtree_scene(vtree: VTree, names: Sequence[str] | None = None) -> Scene:
    """The picture of a v-tree."""
    check_vtree(vtree)
    if vtree.num_nodes > MOST_NODES:
        raise ValueError(
            f"`vtree` has {vtree.num_nodes} nodes, and a picture shows at most {MOST_NODES}: "
            "`vtree.to_nested()` gives it as nested lists, and `pcircuit.write_vtree` writes it as text"
        )
    labels = variable_names(vtree.num_variables, names)
    leaf = [labels[v] if v >= 0 else None for v in vtree.variables.tolist()]
    widths = [2 * KNOT if text is None else max(28.0, LETTER * len(text) + 14) for text in leaf]
    heights = [2 * KNOT if text is None else LEAF_HEIGHT for text in leaf]
    x, y, width, height = arrange(vtree, widths, heights, between=10, below=26)
    lines: list[Shape] = []
    nodes: list[Shape] = []
    for r, text in enumerate(leaf):
        middle, parent = x[r] + widths[r] / 2, vtree.parent(r)
        if parent >= 0:
            lines.append(
                Curve(
                    x[parent] + widths[parent] / 2, y[parent] + KNOT, middle, y[r] + heights[r] / 2
                )
            )
        if text is not None:
            nodes += [
                Box(
                    x[r],
                    y[r],
                    widths[r],
                    heights[r],
                    tip=f"region {r}: the leaf of variable {text}",
                ),
                Text(middle, y[r] + LEAF_HEIGHT / 2, text, 12, INK),
            ]
            continue
        scope = ", ".join(labels[v] for v in vtree.scope(r))
        nodes.append(
            Disc(middle, y[r] + KNOT, KNOT, PAPER, BLUE, tip=f"region {r}, scope: {scope}")
        )
    return Scene(
        width, height, tuple(lines + nodes), f"A v-tree of {vtree.num_variables} variables"
    )


def variable_names(num_variables: int, names: Sequence[str] | None) -> list[str]:
    """One name for each variable: the given ones, cut to 24 letters, or numbers."""
    if names is None:
        return [str(v) for v in range(num_variables)]
    if isinstance(names, (str, set, frozenset)) or not is_listing(names):
        raise TypeError(
            f"`names` must be a sequence of names, one for each variable, found {names!r}"
        )
    given = [str(name) for name in names]
    if len(given) != num_variables:
        raise ValueError(
            f"`names` must hold one name for each of the {num_variables} variables, found {len(given)}"
        )
    return [name if len(name) <= 24 else name[:23] + "…" for name in given]
