"""Averages of vectors in files: none is larger than the numbers that it is an average of can be.

Likelihoods are at most 1, and features of the score at most the sum of their factors (`RowVectors.bounds`), so what is
larger was written by nobody, and would leave the range of doubles where its square, or the square of that, is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pcircuit.files.contents import finite_array

SLACK = 1e-3  # roundings of any kind


def bounded_array(
    arrays: Mapping[str, Any], name: str, shape: tuple[Any, ...], bounds: Any
) -> np.ndarray:
    """A float array of a file whose entries are averages of numbers with bounds.

    Parameters
    ----------
    arrays : mapping of str to array
    name : str
    shape : tuple of int or None
        None stands for any length.
    bounds : float or float array
        What the numbers do not exceed in absolute value.

    Returns
    -------
    float array

    Raises
    ------
    ValueError
        If it is missing, of another shape or type, not finite or beyond the bounds.

    Examples
    --------
    >>> bounded_array({"mean": np.array([0.5, 1e300])}, "mean", (2,), np.ones(2))
    Traceback (most recent call last):
    ValueError: array 'mean' holds 1e+300, more than the 1 that its numbers can be
    """
    array = finite_array(arrays, name, shape)
    beyond = np.abs(array) > bounds * (1 + SLACK)
    if beyond.any():
        most = np.broadcast_to(bounds, array.shape)[beyond][0]
        raise ValueError(
            f"array {name!r} holds {array[beyond][0]:g}, more than the {most:g} that its numbers can be"
        )
    return array
