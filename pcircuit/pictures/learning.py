"""EM while it learns: the log-likelihood, and the circuit after some of the epochs.

EM with all rows in each step has no state but the parameters, so it can be run epoch by epoch,

    steps = [start]
    for epoch in range(10):
        steps.append(pcircuit.fit_em(steps[-1], rows, num_epochs=1)[0])

and the functions here draw these circuits.
"""

import os
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import Floats, is_listing
from pcircuit.circuit import Circuit, check_circuit
from pcircuit.evidence import check_evidence
from pcircuit.inference.likelihood import log_likelihood
from pcircuit.io.whole_file import write_text
from pcircuit.pictures.circuits import circuit_scene
from pcircuit.pictures.scene import axes_or_new, page, plot_two

MOST_STEPS = 200  # of a page with a slider


def plot_learning(circuits: Sequence[Circuit], data: ArrayLike, *, ax: Any = None) -> Any:
    """Draw how EM climbs: the mean log-likelihood of some rows, and how far the parameters still move.

    Parameters
    ----------
    circuits : sequence of Circuit
        Start values, then the circuit after each epoch; all of one structure.
    data : (N, V) int array_like
        Rows to be explained, N at least 1.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes of the log-likelihood; the largest change of a parameter has its own axis on the right.

    Raises
    ------
    ImportError
        If matplotlib is missing.
    TypeError, ValueError
        If an argument is of the wrong kind, there are fewer than two circuits, or their structures differ.

    Notes
    -----
    One evaluation of the rows for each circuit.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import pcircuit
    >>> rows = [[0, 0], [1, 1], [1, 0], [0, 1], [1, 1]]
    >>> steps = [pcircuit.hclt(rows, 2)]
    >>> for epoch in range(3):
    ...     steps.append(pcircuit.fit_em(steps[-1], rows, num_epochs=1)[0])
    >>> ax = plot_learning(steps, rows, ax=Figure().add_subplot())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('epoch', 'log-likelihood (nats per row)')
    """
    steps = _checked_steps(circuits)
    history = _means(steps, data)
    moves = [
        max(float(np.abs(a - b).max()) for a, b in zip(*pair, strict=True))
        for pair in pairwise(map(_parameters, steps))
    ]
    ax = axes_or_new(ax)
    epochs = np.arange(len(steps))
    ax.set_xlabel("epoch")
    other = plot_two(
        ax,
        epochs,
        history,
        "log-likelihood (nats per row)",
        epochs[1:],
        moves,
        "largest change of a parameter",
    )
    other.set_ylim(0, None)
    return ax


def write_learning_html(
    circuits: Sequence[Circuit],
    path: str | os.PathLike[str],
    *,
    data: ArrayLike | None = None,
    row: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> None:
    """Write EM as a page with a slider: the circuit at the start and after each epoch.

    Parameters
    ----------
    circuits : sequence of Circuit
        Start values, then the circuit after each epoch; all of one structure, at most 200 of them.
    path : str or path
        The HTML file.
    data : (N, V) int array_like, optional
        Rows whose mean log-likelihood is shown beside the slider.
    row : (V,) int array_like, optional
        Evidence, whose flow is drawn.
    names : sequence of V str, optional
        Names of the variables; by default their numbers.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, there are fewer than two circuits or too many, their structures differ, or
        one is too large to be seen.
    OSError
        If the file cannot be written.

    Notes
    -----
    Like that of `pcircuit.write_html`, the page is self-contained.

    Examples
    --------
    >>> import pathlib, pcircuit, tempfile
    >>> rows = [[0, 0], [1, 1], [1, 0], [0, 1], [1, 1]]
    >>> steps = [pcircuit.hclt(rows, 2)]
    >>> steps.append(pcircuit.fit_em(steps[0], rows, num_epochs=1)[0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_learning_html(steps, pathlib.Path(folder, "em.html"), data=rows)
    ...     pathlib.Path(folder, "em.html").read_text().count("<svg")
    2
    """
    steps = _checked_steps(circuits)
    if len(steps) > MOST_STEPS:
        raise ValueError(
            f"`circuits` has {len(steps)} steps, and a page shows at most {MOST_STEPS}: give every "
            f"{-(-len(steps) // MOST_STEPS)}th"
        )
    labels = [f"epoch {i}" for i in range(len(steps))]
    if data is not None:
        labels = [
            f"{label}: {mean:.4f} nats per row"
            for label, mean in zip(labels, _means(steps, data), strict=True)
        ]
    scenes = [circuit_scene(circuit, row, names, "units") for circuit in steps]
    text = "The same circuit after each epoch of EM. Move the slider; " + (
        "lines are as strong as their weights."
        if row is None
        else "orange lines are as strong as the row's flow."
    )
    write_text(path, page(scenes, labels, "EM while it learns", text))


def _means(steps: list[Circuit], data: ArrayLike) -> list[float]:
    """Mean log-likelihood of the rows under each circuit."""
    if not len(check_evidence(steps[0], data)):
        raise ValueError("`data` has no rows: their log-likelihood needs at least one")
    return [float(log_likelihood(circuit, data).mean()) for circuit in steps]


def _checked_steps(circuits: Sequence[Circuit]) -> list[Circuit]:
    """Circuits of one structure, at least two."""
    if not is_listing(circuits):
        raise TypeError(
            f"`circuits` must be a sequence of circuits, found {type(circuits).__name__}"
        )
    steps = list(circuits)
    for i, circuit in enumerate(steps):
        check_circuit(circuit, f"circuits[{i}]")
    if len(steps) < 2:
        raise ValueError(
            f"`circuits` must hold the start and at least one step of EM, found {len(steps)}"
        )
    if not all(_same_structure(circuit, steps[0]) for circuit in steps[1:]):
        raise ValueError("`circuits` must be steps of one circuit, found different structures")
    return steps


def _same_structure(circuit: Circuit, other: Circuit) -> bool:
    """Whether the parameters of two circuits are in the same places: equal v-trees, products and shapes of tables."""
    return (
        circuit.vtree == other.vtree
        and all(
            mine.shape == theirs.shape
            for mine, theirs in zip(_parameters(circuit), _parameters(other), strict=True)
        )
        and all(
            mine.is_input or np.array_equal(mine.products, theirs.products)  # type: ignore[union-attr]
            for mine, theirs in zip(circuit.regions, other.regions, strict=True)
        )
    )


def _parameters(circuit: Circuit) -> list[Floats]:
    """The tables of all regions, dense."""
    return [
        region.probs if region.is_input else region.dense_weights() for region in circuit.regions
    ]
