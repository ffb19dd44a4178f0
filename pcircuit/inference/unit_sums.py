"""Sums over the products that use the same unit: in the downward pass, flows of products become flows of units."""

from __future__ import annotations

import numpy as np

from pcircuit.array_types import Floats, Ints


def by_unit(values: Floats, units: Ints, num_units: int) -> Floats:
    """(units, N) values of products (P, N), summed by the unit that each takes.

    Mostly each product takes a unit of its own, in order; then this is the same array, in a hundredth of the time.

    Shapes: values (P, N), units (P,) -> (num_units, N).
    """
    if len(units) == num_units and (units == np.arange(num_units)).all():
        return values
    result = np.zeros((num_units, values.shape[1]))
    np.add.at(result, units, values)
    return result
