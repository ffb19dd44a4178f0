"""The upward and downward passes of `moments.kernels.expected_units`: what is known of a row, and what follows.

`look` computes the likelihood of what is known for every unit, and from it the posterior probabilities omega of each
sum's products; `follow` the probability that a draw given what is known uses a unit.  Every likelihood has an exponent
of its own, so that none is lost however small it is beside others.  Entry i of row b is at i * TILE + b, and inner
loops run over b.
"""

from __future__ import annotations

import math

import numpy as np

from pcircuit.kernels.jit import inner
from pcircuit.moments.kernels.expectation_arrays import (
    ARITY,
    CATEGORIES,
    CHILD,
    DATA,
    EDGE,
    NODE,
    PRODUCTS,
    SHOWN,
    TILE,
    UNIT,
    VARIABLE,
)

KNOWN, DRAWN, MIXED = 0, 1, 2
TINY = 1e-100  # a smaller mantissa is brought back to [1/2, 1)
LOWEST = -2000  # of exponents of two that matter
ONE, FULL = (
    np.uintp(TILE),
    np.uintp(TILE),
)  # unsigned: signed indices may count from the end, which costs a comparison


@inner
def look(arrays, work, free):
    """States of the regions, likelihoods of what is known, and omega of those that are not DRAWN."""
    region, state = arrays.region, work.state
    for r in range(len(region)):
        first = region[r, NODE] + region[r, PRODUCTS]
        state[r] = (
            _state_of_leaf(arrays, work, r, free)
            if region[r, ARITY] == 0
            else _state(arrays, state, r)
        )
        if region[r, ARITY] > 0 and state[r] != DRAWN:
            _multiply(arrays, work, r)
            _mix(arrays, work, r)
        elif state[r] == KNOWN:
            _read(arrays, work, r)
        else:  # a leaf of which only some rows are known is a sum over its values in all of them
            for i in range(first * TILE, (first + region[r, SHOWN]) * TILE):
                work.mantissa[i], work.exponent[i] = 1.0, 0


@inner
def _state_of_leaf(arrays, work, r, free):
    """KNOWN, DRAWN, or MIXED if some of the rows have a hole in what is drawn."""
    v, holes = arrays.region[r, VARIABLE], 0
    if not free[v]:
        return KNOWN
    for b in range(TILE):
        holes += work.codes[v * TILE + b] < 0
    return KNOWN if holes == TILE else MIXED if holes > 0 else DRAWN


@inner
def _state(arrays, state, r):
    """KNOWN, DRAWN or MIXED."""
    region = arrays.region
    found = state[arrays.child[region[r, CHILD]]]
    for a in range(1, region[r, ARITY]):
        if state[arrays.child[region[r, CHILD] + a]] != found:
            found = MIXED
    return found


@inner
def _read(arrays, work, r):
    """Likelihoods of the units of a leaf that is KNOWN."""
    region = arrays.region
    C, v, first = region[r, CATEGORIES], region[r, VARIABLE], region[r, NODE]
    for k in range(region[r, SHOWN]):
        entry = region[r, DATA] + k * (C + 1)
        for b in range(TILE):
            code, i = work.codes[v * TILE + b], (first + k) * TILE + b
            x = arrays.tables[entry + (C if code < 0 else code)]
            work.known[i], work.mantissa[i], work.exponent[i] = x, x, 0
            if x < TINY:
                work.mantissa[i], work.exponent[i] = math.frexp(x)


@inner
def _multiply(arrays, work, r):
    """Likelihoods of the products of a region."""
    region, mantissa, exponent = arrays.region, work.mantissa, work.exponent
    P, node = region[r, PRODUCTS], region[r, NODE]
    for p in range(P):
        o = np.uintp(node + p) * ONE
        for b in range(FULL):
            mantissa[o + b], exponent[o + b] = 1.0, 0
        for a in range(region[r, ARITY]):
            c = arrays.child[region[r, CHILD] + a]
            if work.state[c] == DRAWN:
                continue
            s = (
                np.uintp(
                    region[c, NODE] + region[c, PRODUCTS] + arrays.unit[region[r, UNIT] + a * P + p]
                )
                * ONE
            )
            least = 1.0
            for b in range(FULL):
                mantissa[o + b] *= mantissa[s + b]
                exponent[o + b] += exponent[s + b]
                least = min(least, mantissa[o + b])
            if least < TINY:
                for b in range(FULL):
                    mantissa[o + b], more = math.frexp(mantissa[o + b])
                    exponent[o + b] += more
        if work.state[r] == KNOWN:
            for b in range(FULL):
                work.known[o + b] = _as_number(mantissa[o + b], exponent[o + b])


@inner
def _as_number(x, e):
    """x * 2**e."""
    return x if e == 0 else math.ldexp(x, int(max(e, LOWEST)))


@inner
def _mix(arrays, work, r):
    """Likelihoods of the sums of a region, and the posterior probabilities of their products."""
    region, weights, scaled, line = arrays.region, arrays.weights, work.scaled, work.line
    P, node, data = region[r, PRODUCTS], region[r, NODE], region[r, DATA]
    _scale(work, node, P)
    for k in range(region[r, SHOWN]):
        unit = np.uintp(node + P + k) * ONE
        for b in range(FULL):
            line[b] = 0.0
        for p in range(P):
            w, s = weights[data + k * P + p], np.uintp(p) * ONE
            for b in range(FULL):
                line[b] += w * scaled[s + b]
        for b in range(FULL):
            work.mantissa[unit + b], work.exponent[unit + b] = line[b], work.top[b]
            line[b] = 1.0 / line[b] if line[b] > 0.0 else 0.0
        for p in range(P):
            w, s, o = (
                weights[data + k * P + p],
                np.uintp(p) * ONE,
                np.uintp(region[r, EDGE] + k * P + p) * ONE,
            )
            for b in range(FULL):
                work.omega[o + b] = w * scaled[s + b] * line[b]
        for b in range(FULL):
            if work.mantissa[unit + b] < TINY:
                _mix_by_exponents(arrays, work, r, k, b)
        if work.state[r] == KNOWN:
            for b in range(FULL):
                work.known[unit + b] = _as_number(work.mantissa[unit + b], work.exponent[unit + b])


@inner
def _scale(work, node, P):
    """The products of a region on one scale a row, the exponent `top` of the largest."""
    mantissa, exponent, scaled, top = work.mantissa, work.exponent, work.scaled, work.top
    low = np.int64(-(2**40))
    for b in range(FULL):
        top[b] = low
    for p in range(P):
        s = np.uintp(node + p) * ONE
        for b in range(FULL):
            top[b] = max(top[b], exponent[s + b] if mantissa[s + b] > 0.0 else low)
    for p in range(P):
        s, o = np.uintp(node + p) * ONE, np.uintp(p) * ONE
        differs = False
        for b in range(FULL):
            scaled[o + b] = mantissa[s + b]
            differs |= exponent[s + b] != top[b]
        if differs:
            for b in range(FULL):
                if scaled[o + b] > 0.0:
                    scaled[o + b] = _as_number(scaled[o + b], exponent[s + b] - top[b])


@inner
def _mix_by_exponents(arrays, work, r, k, b):
    """Sum k for one row, to which only products contribute that are tiny beside others, or none."""
    region, mantissa, exponent, omega = arrays.region, work.mantissa, work.exponent, work.omega
    P, node, data = region[r, PRODUCTS], region[r, NODE], region[r, DATA]
    top, some = 0, False
    for p in range(P):
        weight, more = math.frexp(arrays.weights[data + k * P + p])
        x, e = math.frexp(mantissa[(node + p) * TILE + b])
        e += more + exponent[(node + p) * TILE + b]
        if weight * x > 0.0 and (not some or e > top):
            top, some = e, True
    total = 0.0
    for p in range(P):
        weight, more = math.frexp(arrays.weights[data + k * P + p])
        x, e = math.frexp(mantissa[(node + p) * TILE + b])
        e += more + exponent[(node + p) * TILE + b]
        term = _as_number(weight * x, e - top) if weight * x > 0.0 else 0.0
        omega[(region[r, EDGE] + k * P + p) * TILE + b] = term
        total += term
    for p in range(P):
        omega[(region[r, EDGE] + k * P + p) * TILE + b] *= 1.0 / total if some else 0.0
    mantissa[(node + P + k) * TILE + b], exponent[(node + P + k) * TILE + b] = total, top


@inner
def follow(arrays, work):
    """Probabilities that a draw given what is known uses a unit; not below regions that are KNOWN."""
    region, flow = arrays.region, work.flow
    for i in range(len(flow) - TILE, len(flow)):
        flow[i] = 1.0
    for r in range(len(region) - 1, -1, -1):
        if region[r, ARITY] == 0 or work.state[r] == KNOWN:
            continue
        P, node = region[r, PRODUCTS], region[r, NODE]
        for i in range(node * TILE, (node + P) * TILE):
            flow[i] = 0.0
        for k in range(region[r, SHOWN]):
            for p in range(P):
                f, o = np.uintp(node + P + k) * ONE, np.uintp(node + p) * ONE
                if work.state[r] == DRAWN:
                    add_constant(arrays.weights[region[r, DATA] + k * P + p], flow, f, flow, o)
                else:
                    add(work.omega, np.uintp(region[r, EDGE] + k * P + p) * ONE, flow, f, flow, o)
        for a in range(region[r, ARITY]):
            c = arrays.child[region[r, CHILD] + a]
            first = region[c, NODE] + region[c, PRODUCTS]
            for i in range(first * TILE, (first + region[c, SHOWN]) * TILE):
                flow[i] = 0.0
            for p in range(P):
                unit = first + arrays.unit[region[r, UNIT] + a * P + p]
                add_constant(1.0, flow, np.uintp(node + p) * ONE, flow, np.uintp(unit) * ONE)


@inner
def add(one, i, other, j, target, o):
    """target += one * other, for the rows of a tile."""
    for b in range(FULL):
        target[o + b] += one[i + b] * other[j + b]


@inner
def add_constant(weight, source, i, target, o):
    """target += weight * source."""
    for b in range(FULL):
        target[o + b] += weight * source[i + b]
