"""V-trees drawn: the hierarchy of scopes that a circuit follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pcircuit.arguments import is_listing
from pcircuit.pictures.canvas import draw
from pcircuit.pictures.scene import BLUE, INK, PAPER, Box, Curve, Disc, Scene, Shape, Text, arrange
from pcircuit.vtree import VTree, check_vtree

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
