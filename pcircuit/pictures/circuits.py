"""Circuits drawn: units and weights, the flow of a row, and interactive pages for a lecture.

V-trees drawn: the hierarchy of scopes that a circuit follows.
"""

import os
from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from pcircuit.arguments import Evidence, check_choice, is_listing
from pcircuit.circuit import Circuit, check_circuit
from pcircuit.evidence import check_row
from pcircuit.io.whole_file import write_text
from pcircuit.pictures.scene import (
    BLUE,
    FITS,
    INK,
    PANEL_LINE,
    PAPER,
    SKY,
    Box,
    Curve,
    Disc,
    Scene,
    Shape,
    Text,
    arrange,
    draw,
    page,
    svg,
)
from pcircuit.pictures.units import MOST_LISTED, units_scene
from pcircuit.vtree import VTree, check_vtree

MOST_DRAWN = 4000  # units that are drawn one by one, however much one asks
MOST_REGIONS = 2000
LETTER = 7.2  # pixels of a letter
LINE, KNOT = 26.0, 7.0  # height of a line of words, radius of a region without


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
        With at most 2,000 regions.
    row : (V,) int array_like, optional
        Evidence, -1 or NaN where missing.
    names : sequence of V str, optional
        Names of the variables; by default their numbers.
    detail : "auto", "units" or "regions"
        Whether all units are drawn, or the v-tree with the names of variables and the numbers of units; "auto" draws
        units where they fit on a page (1,344 pixels), and with a row always.
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
    the row; lines to and from it light up.  Buttons, or the wheel with Ctrl, zoom; the small circle at a region folds
    what is below it.

    Parameters
    ----------
    circuit : Circuit
        With at most 2,000 regions.
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
    text = (
        "Circles (+) are sums, squares (×) products, bars the tables of inputs (in); a box with numbers "
        "is a region. "
    )
    text += (
        "The stronger a line, the larger its weight."
        if row is None
        else "The stronger an orange line, the more of the row flows through it."
    )
    write_text(path, page([scene], [""], scene.title, text))


def circuit_scene(
    circuit: Circuit, row: ArrayLike | None, names: Sequence[str] | None, detail: str
) -> Scene:
    """The picture of a circuit, with units or without; shapes row (V,)."""
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
    may_be_regions = detail == "regions" or (detail == "auto" and evidence is None)
    if detail != "regions" and circuit.num_units <= MOST_DRAWN:
        scene = units_scene(circuit, evidence, labels)
        if scene.width <= FITS or not may_be_regions:
            return scene
    if not may_be_regions:
        raise ValueError(
            f"`circuit` has {circuit.num_units} units, and at most {MOST_DRAWN} are drawn one by one: "
            "`pcircuit.plot_circuit(circuit, detail='regions')` draws a box for each region"
        )
    return regions_scene(circuit, labels)


def regions_scene(circuit: Circuit, labels: list[str]) -> Scene:
    """The v-tree of a circuit: in each region the numbers of its sums and products, or its variable and inputs."""
    words = [
        f"{labels[region.variable]} · {region.num_units} in"
        if region.is_input
        else f"{region.num_units} + · {region.num_products} ×"
        for region in circuit.regions
    ]
    ends = circuit.offsets
    tips = [
        f"{region!r}\nunit ids {ends[r]}..{ends[r + 1] - 1}"
        for r, region in enumerate(circuit.regions)
    ]
    return tree_scene(circuit.vtree, labels, words, tips, repr(circuit))


def plot_vtree(vtree: VTree, *, names: Sequence[str] | None = None, ax: Any = None) -> Any:
    """Draw a v-tree: inner regions as dots, leaves with their variables.

    Parameters
    ----------
    vtree : VTree
        With at most 2,000 regions.
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
    The root is at the top and regions of one depth have one height; where that is too wide for a page, the root is at
    the left and the leaves stand one below another.

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
    if vtree.num_nodes > MOST_REGIONS:
        raise ValueError(
            f"`vtree` has {vtree.num_nodes} regions, and a picture shows at most {MOST_REGIONS}: "
            "`vtree.to_nested()` gives it as nested lists, and `pcircuit.write_vtree` writes it as text"
        )
    labels = variable_names(vtree.num_variables, names)
    words = [labels[v] if v >= 0 else "" for v in vtree.variables.tolist()]
    tips = ["a leaf" if word else "an inner region" for word in words]
    return tree_scene(vtree, labels, words, tips, f"A v-tree of {vtree.num_variables} variables")


def tree_scene(
    vtree: VTree, labels: list[str], words: list[str], tips: list[str], title: str
) -> Scene:
    """Regions as boxes with words, as dots without: the root at the top if that fits on a page, else at the left."""
    widths = [max(28.0, LETTER * len(text) + 14) if text else 2 * KNOT for text in words]
    heights = [LINE if text else 2 * KNOT for text in words]
    layout = arrange(vtree, widths, heights, between=10, below=26)
    if layout.width > FITS:
        layout = arrange(vtree, widths, heights, between=6, below=30, sideways=True)
    middle = [(x + w / 2, y + h / 2) for _, x, y, w, h in layout.rows]
    lines: list[Shape] = []
    boxes: list[Shape] = []
    for r, (text, tip) in enumerate(zip(words, tips, strict=True)):
        parent, scope = vtree.parent(r), [labels[v] for v in vtree.scope(r).tolist()]
        more = f" and {len(scope) - MOST_LISTED} more" if len(scope) > MOST_LISTED else ""
        said = f"region {r}: {tip}\nscope: {', '.join(scope[:MOST_LISTED])}{more}"
        if parent >= 0:
            lines.append(
                Curve(
                    *middle[parent],
                    *middle[r],
                    width=1.2,
                    key=f"r{r} r{parent}",
                    region=parent,
                    below=r,
                    sideways=layout.sideways,
                )
            )
        if not text:
            boxes.append(Disc(*middle[r], KNOT, PAPER, BLUE, said, f"r{r}", r))
            continue
        is_leaf = vtree.variables[r] >= 0
        place, line = layout.rows[r][1:], SKY if is_leaf else PANEL_LINE
        boxes.append(Box(*place, line=line, tip=said, key=f"r{r}", region=r))
        boxes.append(Text(*middle[r], text, 12, INK if is_leaf else BLUE, region=r))
    return Scene(layout.width, layout.height, (*lines, *boxes), title, layout)


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
