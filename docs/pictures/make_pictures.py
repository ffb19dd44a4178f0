"""Draw the pictures of the pages: ``python docs/pictures/make_pictures.py`` (pip install '.[demo]')."""

from __future__ import annotations

import pathlib
import sys

import numpy as np
from sklearn.datasets import load_breast_cancer

import hld
import pcircuit

FOLDER = pathlib.Path(__file__).parent
SIZE, SIZES = (4.2, 3.2), {"circuit": (6.4, 3.4), "way": (8.6, 3.8)}  # inches
BOXES = {  # of the way from a table to a verdict: column, row, whether the model file has it
    "training table": (0, 2.6, False),
    "half of the rows\n(n, V) categories": (1.1, 3, False),
    "other half\n(k, V) categories": (1.1, 2.2, False),
    "circuit": (2.2, 3, True),
    "mean, covariance,\ncounts": (2.2, 2.2, True),
    "laws of distances\nwithout a shift": (3.3, 2.2, True),
    "batch": (0, 0.7, False),
    "(T, V) categories": (1.1, 0.7, False),
    "mean likelihoods (m,)": (2.2, 1.1, False),
    "counts, odd rows": (2.2, 0.3, False),
    "distances": (3.3, 1.1, False),
    "witnesses": (3.3, 0.3, False),
    "p-value": (4.2, 1.1, False),
    "words, columns,\npictures": (4.2, 0.3, False),
}
ARROWS = (  # from, to, the room that does it
    ("training table", "half of the rows\n(n, V) categories", "tables"),
    ("training table", "other half\n(k, V) categories", ""),
    ("half of the rows\n(n, V) categories", "circuit", "learning"),
    ("other half\n(k, V) categories", "mean, covariance,\ncounts", "references"),
    ("circuit", "mean, covariance,\ncounts", ""),
    ("mean, covariance,\ncounts", "laws of distances\nwithout a shift", "laws"),
    ("batch", "(T, V) categories", "tables"),
    ("(T, V) categories", "mean likelihoods (m,)", "inference"),
    ("(T, V) categories", "counts, odd rows", ""),
    ("mean likelihoods (m,)", "distances", "witnesses"),
    ("mean, covariance,\ncounts", "distances", ""),
    ("counts, odd rows", "witnesses", "witnesses"),
    ("laws of distances\nwithout a shift", "p-value", ""),
    ("distances", "p-value", "testing"),
    ("witnesses", "p-value", ""),
    ("p-value", "words, columns,\npictures", "answers"),
)


def pictures():
    """Names of pictures, and functions that draw them into axes."""
    data = load_breast_cancer()
    names = [str(name) for name in data.feature_names]
    chosen = [0, 1, 4, 7, 20, 27]
    rows = (data.data[:, chosen] > np.median(data.data[:, chosen], axis=0)).astype(int)
    steps = [pcircuit.hclt(rows, num_latents=3)]
    for _ in range(25):
        steps.append(steps[-1].fit_em(rows, num_epochs=1)[0])
    small = pcircuit.hclt(rows[:, :4], num_latents=2).fit_em(rows[:, :4], num_epochs=20)[0]
    yield "circuit", lambda ax: small.plot(rows[0, :4], names=[names[v] for v in chosen[:4]], ax=ax)
    yield "learning", lambda ax: pcircuit.plot_learning(steps, rows, ax=ax)
    yield "moments", lambda ax: pcircuit.plot_covariance(steps[-1].exact_moments(), ax=ax)

    healthy, sick = rows[data.target == 1], rows[data.target == 0]
    test = hld.HLDTest(pcircuit.hclt(healthy, num_latents=3).fit_em(healthy, num_epochs=25)[0])
    result = test(np.vstack([healthy[:32], sick[:8]]))
    yield "null_law", lambda ax: hld.plots.null_law(test, result, ax)
    yield "way", way


def way(ax):
    """The way from a table to a verdict: boxes, and arrows with the rooms that go there."""
    ax.set(xlim=(-0.5, 4.7), ylim=(0, 3.3))
    ax.axis("off")
    drawn = {}
    for text, (x, y, is_kept) in BOXES.items():
        style = {
            "boxstyle": "round",
            "facecolor": "#fde3c8" if is_kept else "white",
            "edgecolor": "grey",
        }
        drawn[text] = ax.text(x, y, text, ha="center", va="center", fontsize=8, bbox=style)
    ax.figure.canvas.draw()  # arrows end at boxes whose size is known
    for start, end, room in ARROWS:
        (x, y, _), (u, v, _) = BOXES[start], BOXES[end]
        ends = {"patchA": drawn[start].get_bbox_patch(), "patchB": drawn[end].get_bbox_patch()}
        ax.annotate("", (u, v), (x, y), arrowprops={"arrowstyle": "->", "color": "grey", **ends})
        ax.text((x + u) / 2, (y + v) / 2 + 0.07, room, ha="center", fontsize=7, style="italic")


def main(folder: pathlib.Path = FOLDER) -> None:
    """Write them all."""
    for name, draw in pictures():
        figure = hld.plots.new_figure(SIZES.get(name, SIZE))
        draw(figure.add_subplot())
        figure.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
