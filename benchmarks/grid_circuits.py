"""Hidden Chow-Liu tree circuits on pixel grids, with random parameters and rows drawn uniformly.

The shape is that of circuits learned from images (neighbouring pixels, a deep tree); speed does not depend on the
values.  Arithmetic per row: a multiplication per product and child, and a multiplication and an addition per weight.
"""
from __future__ import annotations

import numpy as np

from pcircuit import InputRegion

from .bench_sample import grid_circuit


def circuit_and_rows(side: int, num_units: int, num_categories: int, num_rows: int):
    """A circuit over side x side variables, and rows for it in the smallest unsigned dtype."""
    rows = np.random.default_rng(1).integers(0, num_categories, size=(num_rows, side * side), dtype=np.uint8)
    return grid_circuit(side, num_units, num_categories), rows


def flops_per_row(circuit) -> int:
    """Multiplications and additions of one evaluation of one row."""
    inner = [region for region in circuit.regions if not isinstance(region, InputRegion)]
    return sum(2 * region.weights.size + region.products.size for region in inner)
