"""Compiled twin of `inference.masses.unit_masses`, and views of the parts of a region in `MomentArrays`."""
from __future__ import annotations

import numpy as np

from pcircuit.compiled.jit import compile_kernel as jit
from pcircuit.moments.compiled.arrays import ARITY, CHILD, COLUMN, DATA, INSIDE, MASS, POINTER, SHOWN, UNIT


@jit
def children_of(arrays, r):
    """(A,) child regions of region r."""
    begin = arrays.region[r, CHILD]
    return arrays.index[begin:begin + arrays.region[r, ARITY]]


@jit
def units_of(arrays, r):
    """(A, P) per child the unit in each product."""
    A, P, begin = arrays.region[r, ARITY], arrays.region[r, INSIDE], arrays.region[r, UNIT]
    return arrays.index[begin:begin + A * P].reshape(A, P)


@jit
def shown_mass(arrays, r):
    """Masses q (K,) of the units that region r shows."""
    begin = arrays.region[r, MASS]
    return arrays.mass[begin:begin + arrays.region[r, SHOWN]]


@jit
def inside_mass(arrays, r):
    """Masses qp (P,) of the products of inner region r."""
    begin = arrays.region[r, MASS] + arrays.region[r, SHOWN]
    return arrays.mass[begin:begin + arrays.region[r, INSIDE]]


@jit
def weights_of(arrays, r):
    """Weights of inner region r as CSR (pointer (K + 1,), column, value), also where they are dense."""
    spec = arrays.region[r]
    K, P, begin = spec[SHOWN], spec[INSIDE], spec[DATA]
    if spec[COLUMN] >= 0:
        pointer = arrays.index[spec[POINTER]:spec[POINTER] + K + 1]
        size = pointer[K]
        return pointer, arrays.index[spec[COLUMN]:spec[COLUMN] + size], arrays.data[begin:begin + size]
    pointer, column = np.empty(K + 1, np.int64), np.empty(K * P, np.int64)
    for k in range(K + 1):
        pointer[k] = k * P
    for e in range(K * P):
        column[e] = e % P
    return pointer, column, arrays.data[begin:begin + K * P]


@jit
def fill_masses(arrays):
    """Write q and qp of every region into `arrays.mass`, which is zero before."""
    arrays.mass[arrays.region[-1, MASS]] = 1.0
    for r in range(len(arrays.region) - 1, -1, -1):
        if arrays.region[r, ARITY] == 0:
            continue
        q, qp = shown_mass(arrays, r), inside_mass(arrays, r)
        units, children = units_of(arrays, r), children_of(arrays, r)
        pointer, column, value = weights_of(arrays, r)
        for k in range(len(q)):
            for e in range(pointer[k], pointer[k + 1]):
                qp[column[e]] += q[k] * value[e]
        total = qp.sum()
        for p in range(len(qp)):  # no rounding errors of the regions above
            qp[p] /= total
        for a in range(len(children)):
            below = shown_mass(arrays, children[a])
            for p in range(len(qp)):
                below[units[a, p]] += qp[p]
