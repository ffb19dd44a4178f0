"""Reading the values of single units off a tile, compiled: as a table of rows, or summed over the rows."""
from __future__ import annotations

from ._compile import jit


@jit
def write_units(packed, order, codes, buffer, exponent, suspect, result):
    """result[b, j] = value of unit j in row b of the tile.

    `order` (units, 3): variable and input unit of an input unit; or -1, its row of `buffer` and the inner region
    whose exponent applies.
    """
    rows = len(suspect)
    for j in range(len(order)):
        variable, index, region = order[j, 0], order[j, 1], order[j, 2]
        if variable >= 0:
            start = packed.table_start[variable] + index * (packed.categories[variable] + 1)
            for b in range(rows):
                result[b, j] = packed.tables[start + codes[variable, b]]
        else:
            for b in range(rows):
                value = buffer[index, b]
                result[b, j] = value if exponent[region, b] == 0 else _times_power_of_two(value, exponent[region, b])


@jit
def add_units(packed, order, codes, buffer, exponent, suspect, total):
    """total[j] += the sum of unit j over the rows of the tile that are not suspect; `order` as in `write_units`."""
    rows = len(suspect)
    for j in range(len(order)):
        variable, index, region = order[j, 0], order[j, 1], order[j, 2]
        subtotal = 0.0
        if variable >= 0:
            start = packed.table_start[variable] + index * (packed.categories[variable] + 1)
            for b in range(rows):
                subtotal += packed.tables[start + codes[variable, b]] if suspect[b] == 0 else 0.0
        else:
            for b in range(rows):
                if suspect[b] == 0:
                    value = buffer[index, b]
                    subtotal += value if exponent[region, b] == 0 else _times_power_of_two(value, exponent[region, b])
        total[j] += subtotal


@jit
def _times_power_of_two(value, power):
    """value * 2**power for any integer power; to zero where the product underflows."""
    while power < -1000:
        if value == 0.0 or power < -4000:
            return 0.0
        value *= 2.0 ** -1000
        power += 1000
    while power > 1000:
        value *= 2.0 ** 1000
        power -= 1000
    return value * 2.0 ** power
