"""Reading the values of single units from a tile, compiled: into a table of rows, or summed over the rows.

`readers` (units, 5) say which units are wanted, input units first, then inner units region by region:

    variable or -1,  inner region or -1,  number of the unit among its kind in the region,  is it a sum,  column j

With `kernels.readers.Wanted` the values of a unit go to ``table[:, j]``, or else their sum over the rows that are not
skipped is added to ``totals[j]``.
"""

from __future__ import annotations

import numpy as np

from pcircuit.kernels.jit import inlined, inner
from pcircuit.kernels.mix import ONE

VARIABLE, REGION, UNIT, IS_SUM, COLUMN = range(5)
LARGEST = 1000  # 2**LARGEST and its inverse are doubles


@inner
def read_inputs(packed, tile, rows, wanted, row):
    """Read all input units; returns the first reader of an inner unit."""
    readers, table, totals = wanted.readers, wanted.table, wanted.totals
    codes, skip, counts = tile.codes, tile.skip, tile.counts
    reader, counted = 0, -1
    while reader < len(readers) and readers[reader, VARIABLE] >= 0:
        variable, unit, j = (
            readers[reader, VARIABLE],
            readers[reader, UNIT],
            readers[reader, COLUMN],
        )
        C = packed.categories[variable]
        start = packed.table_start[variable] + unit * (C + 1)
        if len(totals):  # a sum over categories instead of rows
            if counted != variable:
                _count(codes, variable, rows, skip, C, counts)
                counted = variable
            total = 0.0  # added up in memory, its rounding would depend on whether `totals` lies near other arrays
            for c in range(C + 1):
                total += counts[c] * packed.tables[start + c]
            totals[j] += total
        else:
            for b in range(rows):
                table[row + b, j] = packed.tables[start + codes[variable, b]]
        reader += 1
    return reader


@inner
def read_region(layout, tile, rows, wanted, row, reader):
    """Read the wanted units of the inner region of `reader`; returns the first reader of another."""
    readers, table, totals = wanted.readers, wanted.table, wanted.totals
    values, skip, scales = tile.values, tile.skip, tile.scratch
    region = readers[reader, REGION]
    products, sums = layout.products[region], layout.sums[region]
    e = region if len(tile.exponent) > 1 else 0
    scaled = _powers_of_two(tile.exponent, e, rows, tile.bits)
    while reader < len(readers) and readers[reader, REGION] == region:
        j, place = (
            readers[reader, COLUMN],
            (sums if readers[reader, IS_SUM] else products) + readers[reader, UNIT],
        )
        if len(totals):
            totals[j] += _total(values, place, rows, skip, scales, scaled)
        else:
            start = np.uintp(place) * ONE
            for b in range(np.uintp(rows)):
                x = values[start + b]
                table[row + b, j] = (
                    x if not scaled else x * scales[0, b] * scales[1, b] * scales[2, b]
                )
        reader += 1
    return reader


@inlined
def _total(values, place, rows, skip, scales, scaled):
    """Sum of a unit over the rows that are not skipped, times the powers of two."""
    total, start = 0.0, np.uintp(place) * ONE
    for b in range(np.uintp(rows)):
        x = values[start + b]
        if scaled:
            x = x * scales[0, b] * scales[1, b] * scales[2, b]  # their product may underflow
        total += 0.0 if skip[b] else x
    return total


@inlined
def _count(codes, v, rows, skip, C, counts):
    """counts[c] = rows with category c that are not skipped."""
    for c in range(C + 1):
        counts[c] = 0.0
    for b in range(rows):
        counts[codes[v, b]] += 0.0 if skip[b] else 1.0


@inlined
def _powers_of_two(exponent, e, rows, bits):
    """2**exponent[e] as a product of three doubles, `bits` (3, B); false, with nothing done, if all are one.

    One double reaches 2**+-1000 only; beyond three of them every product is 0 or infinite anyway.
    """
    needed = False
    for b in range(rows):
        needed |= exponent[e, b] != 0
    if needed:
        for b in range(rows):
            power = exponent[e, b]
            for i in range(3):
                part = max(-LARGEST, min(LARGEST, power))
                bits[i, b] = (1023 + part) << 52
                power -= part
    return needed
