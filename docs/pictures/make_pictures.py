"""Draw the pictures of the README: ``python docs/pictures/make_pictures.py`` (pip install '.[demo]')."""

from __future__ import annotations

import pathlib
import sys

import numpy as np
from sklearn.datasets import load_breast_cancer

import hld
import pcircuit

FOLDER = pathlib.Path(__file__).parent
SIZE, WIDE = (4.2, 3.2), (6.4, 3.4)  # inches


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

    table, benign = load_breast_cancer(return_X_y=True, as_frame=True)
    healthy, sick = table[benign == 1], table[benign == 0]
    detector = hld.HLDDetector(metric="euclidean").fit(healthy[::2])
    batch = np.vstack([healthy[1::2].head(30), sick.head(10)])
    result = detector.test(batch)
    yield "null_law", lambda ax: hld.plots.null_law(detector.test_, result, ax)


def main(folder: pathlib.Path = FOLDER) -> None:
    """Write them all."""
    for name, draw in pictures():
        figure = hld.plots.new_figure(WIDE if name == "circuit" else SIZE)
        draw(figure.add_subplot())
        figure.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
