"""Random start values for EM: all different, none far from the others."""
from __future__ import annotations

import numpy as np

from pcircuit.array_types import Floats

PERTURBATION = 2.0  # start values of one row differ by factors up to exp(2)


def random_rows(rows: int, columns: int, rng: np.random.Generator, expected: Floats | float = 1.0) -> Floats:
    """(rows, columns) positive numbers, rows sum to one: `expected` (columns,) times exp(-2 U) with U uniform.

    Parameters
    ----------
    rows, columns : int
    rng : numpy.random.Generator
    expected : float or (columns,) float array
        What a row is proportional to before it is perturbed.

    Returns
    -------
    (rows, columns) float array
    """
    table: Floats = expected * np.exp(-PERTURBATION * rng.random((rows, columns)))
    table /= table.sum(axis=1, keepdims=True)
    return table
