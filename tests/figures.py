"""Figures that pyplot does not know, drawn to pixels."""

import warnings

import matplotlib
import numpy as np

from hld import plots

matplotlib.use("Agg")


def new_axes():
    """Axes of a figure of their own."""
    return plots.new_figure((5, 4)).add_subplot()


def drawn(ax):
    """Pixels (height, width, 4) of the figure; a layout that does not fit is a warning, hence an error."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(ax.figure)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        canvas.draw()
    return np.asarray(canvas.buffer_rgba())
