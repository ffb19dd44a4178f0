"""Parts of pictures: shapes of one kind in a scene, and a row whose flow can be drawn."""

import pcircuit
from pcircuit.pictures.scene import Box, Text


def row_of(circuit):
    """A possible row, every other entry missing."""
    row = pcircuit.sample(circuit, 1, rng=0)[0].astype(int)
    row[1::2] = -1
    return row


def boxes(scene):
    return of_kind(scene, Box)


def of_kind(scene, kind):
    return [shape for shape in scene.shapes if isinstance(shape, kind)]


def texts(scene):
    return [text.text for text in of_kind(scene, Text)]
