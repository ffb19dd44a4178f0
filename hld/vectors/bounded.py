"""Averages of vectors in files: none is larger than the numbers that it is an average of can be.

Likelihoods are at most 1, and features of the score at most the sum of their factors (`RowVectors.bounds`), so what is
larger was written by nobody, and would leave the range of doubles where its square, or the square of that, is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pcircuit.files.archive import finite_array

SLACK = 1e-3  # roundings of any kind


def bounded_array(
    arrays: Mapping[str, Any], name: str, shape: tuple[Any, ...], bounds: Any
) -> np.ndarray:
    """A float array of a file whose entries are averages of numbers with bounds."""
    array = finite_array(arrays, name, shape)
    beyond = np.abs(array) > bounds * (1 + SLACK)
    if beyond.any():
        most = np.broadcast_to(bounds, array.shape)[beyond][0]
        raise ValueError(
            f"array {name!r} holds {array[beyond][0]:g}, more than the {most:g} that its numbers can be"
        )
    return array
