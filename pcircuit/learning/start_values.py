"""Random start values for EM: all different, none far from the others; and whether their tables fit into memory."""

from __future__ import annotations

import numpy as np

from pcircuit.arguments import shown
from pcircuit.array_types import Floats, Ints
from pcircuit.arrays import check_memory
from pcircuit.vtree import VTree

PERTURBATION = 2.0  # start values of one row differ by factors up to exp(2)


def random_rows(
    rows: int, columns: int, rng: np.random.Generator, expected: Floats | float = 1.0
) -> Floats:
    """(rows, columns) positive numbers, rows sum to one: `expected` (columns,) times exp(-2 U) with U uniform.

    Returns (rows, columns).
    """
    table: Floats = expected * np.exp(-PERTURBATION * rng.random((rows, columns)))
    table /= table.sum(axis=1, keepdims=True)
    return table


def check_tables_fit(vtree: VTree, num_categories: Ints, num_units: int, name: str) -> None:
    """Raise a MemoryError unless a circuit with equally many units in all regions fits into memory.

    Shapes: num_categories (V,).
    """
    inner = vtree.num_nodes - vtree.num_variables
    if not inner:
        numbers = int(num_categories[0])
    else:
        rows = sum(num_categories.tolist()) + vtree.num_nodes - 1 + (inner - 1) * num_units + 1
        numbers = rows * num_units
    check_memory(
        f"a circuit of {vtree.num_variables} variables with `{name}` {shown(num_units)}",
        8 * numbers,
        f"give a smaller `{name}`, or variables of fewer categories",
    )
