"""Exact rational arithmetic: moments and overlaps of small circuits, over all states with Python's fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import naive
from wide import Wide

from pcircuit import InputRegion


def exact_moments(circuit, nodes):
    """Mean (m,) and covariance (m, m) as lists of fractions, of the circuit with its rows divided by their sums."""
    tables = []
    for region in circuit.regions:
        table = region.probs if isinstance(region, InputRegion) else region.dense_weights()
        rows = [[Fraction(x) for x in row] for row in table.tolist()]
        tables.append([[x / sum(row) for x in row] for row in rows])
    values = [_values(circuit, tables, state) for state in naive.states(circuit)]
    p = [row[-1] for row in values]
    columns = [[row[j] for row in values] for j in nodes]
    means = [sum(a * b for a, b in zip(p, column, strict=True)) for column in columns]
    centred = [
        [value - mean for value in column] for column, mean in zip(columns, means, strict=True)
    ]
    return means, [
        [sum(a * b * c for a, b, c in zip(p, left, right, strict=True)) for right in centred]
        for left in centred
    ]


def log_overlap(*circuits):
    """Natural logarithm of the sum over all states of the product of circuits; -inf for zero."""
    tables = [
        [
            [
                [Fraction(x) for x in row]
                for row in (
                    region.probs if isinstance(region, InputRegion) else region.dense_weights()
                ).tolist()
            ]
            for region in circuit.regions
        ]
        for circuit in circuits
    ]
    total = sum(
        math.prod(
            _values(circuit, table, state)[-1]
            for circuit, table in zip(circuits, tables, strict=True)
        )
        for state in naive.states(circuits[0])
    )
    if total == 0:
        return -math.inf
    bits = total.numerator.bit_length() - total.denominator.bit_length()
    return math.log(total / Fraction(2) ** bits) + bits * math.log(2)


def fraction(number: Wide) -> Fraction:
    """A single wide number as a fraction."""
    if number.high == 0:
        return Fraction(0)
    return (Fraction(float(number.high)) + Fraction(float(number.low))) * Fraction(2) ** int(
        number.exponent
    )


def _values(circuit, tables, state):
    """Values of all units for one joint state, in node-id order, as fractions."""
    shown, values = [], []
    for r, (region, table) in enumerate(zip(circuit.regions, tables, strict=True)):
        if isinstance(region, InputRegion):
            shown.append([row[state[region.variable]] for row in table])
        else:
            products = []
            for units in region.products:
                value = Fraction(1)
                for child, unit in zip(circuit.vtree.children(r), units, strict=True):
                    value *= shown[child][unit]
                products.append(value)
            values += products
            shown.append(
                [sum(w * value for w, value in zip(row, products, strict=True)) for row in table]
            )
        values += shown[-1]
    return values
