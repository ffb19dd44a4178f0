"""Compiled twin of `inference.masses.unit_masses`, and views of the parts of a region in `MomentArrays`."""

from __future__ import annotations

import numpy as np

from pcircuit.kernels.jit import compile_kernel as jit
from pcircuit.kernels.jit import inner_kernel as inner
from pcircuit.moments.kernels.arrays import ARITY, CHILD, DATA, INSIDE, MASS, POINTER, SHOWN, UNIT


@inner
def children_of(arrays, r):
    """(A,) child regions of region r."""
    begin = arrays.region[r, CHILD]
    return arrays.child[begin : begin + arrays.region[r, ARITY]]


@inner
def units_of(arrays, r):
    """(A, P) per child the unit in each product."""
    A, P, begin = arrays.region[r, ARITY], arrays.region[r, INSIDE], arrays.region[r, UNIT]
    return arrays.unit[begin : begin + A * P].reshape(A, P)


@inner
def probs_of(arrays, r):
    """(K, C) probabilities of input region r; the packed table has a column for a missing value besides."""
    K, C, begin = arrays.region[r, SHOWN], arrays.region[r, INSIDE], arrays.region[r, DATA]
    return np.ascontiguousarray(arrays.tables[begin : begin + K * (C + 1)].reshape(K, C + 1)[:, :C])


@inner
def shown_mass(arrays, r):
    """Masses q (K,) of the units that region r shows."""
    begin = arrays.region[r, MASS]
    return arrays.mass[begin : begin + arrays.region[r, SHOWN]]


@inner
def inside_mass(arrays, r):
    """Masses qp (P,) of the products of inner region r."""
    begin = arrays.region[r, MASS] + arrays.region[r, SHOWN]
    return arrays.mass[begin : begin + arrays.region[r, INSIDE]]


@inner
def weights_of(arrays, r):
    """Weights of inner region r as CSR (pointer (K + 1,), column, value), also where they are dense."""
    K, first, begin = arrays.region[r, SHOWN], arrays.region[r, POINTER], arrays.region[r, DATA]
    pointer = arrays.row_pointer[first : first + K + 1]
    end = begin + pointer[K]
    return pointer, arrays.columns[begin:end], arrays.weights[begin:end]


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
        total = 0.0
        for p in range(len(qp)):
            total += qp[p]
        for p in range(len(qp)):  # no rounding errors of the regions above
            qp[p] /= total
        for a in range(len(children)):
            below = shown_mass(arrays, children[a])
            for p in range(len(qp)):
                below[units[a, p]] += qp[p]
