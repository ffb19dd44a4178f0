"""Writing the values of all units of a tile to the rows of a table, compiled."""
from __future__ import annotations

import numpy as np

from ._compile import jit


@jit
def write_units(packed, order, codes, buffer, exponent, result):
    """result[b, j] = value of unit j in row b of the tile.

    `order` (units, 3): variable and input unit of an input unit; or -1, its row of `buffer` and the inner region
    whose exponent applies.
    """
    for b in range(len(result)):
        for j in range(len(order)):
            variable, index, region = order[j, 0], order[j, 1], order[j, 2]
            if variable >= 0:
                C = packed.categories[variable]
                result[b, j] = packed.tables[packed.table_start[variable] + index * (C + 1) + codes[variable, b]]
            elif exponent[region, b] == 0:
                result[b, j] = buffer[index, b]
            else:
                result[b, j] = _times_power_of_two(buffer[index, b], exponent[region, b])


@jit
def _times_power_of_two(value, power):
    """Value * 2**power, gradually to zero where the product underflows."""
    while power < -1000:
        if value == 0.0 or power < -4000:
            return 0.0
        value *= 2.0 ** -1000
        power += 1000
    while power > 1000:
        value *= 2.0 ** 1000
        power -= 1000
    return value * 2.0 ** np.float64(power)
