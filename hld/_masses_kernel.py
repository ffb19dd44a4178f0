"""Compiled twin of `_moment_plan.unit_masses`: top-down masses of all units."""
from __future__ import annotations

import numpy as np

from ._compile import jit
from ._moment_arrays import ARITY, CHILD, COLUMN, DATA, INSIDE, INSIDE_MASS, MASS, POINTER, SHOWN, UNIT


@jit
def weights_of(arrays, r):
    """Weights of inner region r as CSR (pointer (K + 1,), column, value), also where they are dense."""
    spec = arrays.region[r]
    K, P = spec[SHOWN], spec[INSIDE]
    if spec[COLUMN] >= 0:
        pointer = arrays.pointer[spec[POINTER]:spec[POINTER] + K + 1]
        size = pointer[K]
        return (pointer, arrays.column[spec[COLUMN]:spec[COLUMN] + size], arrays.data[spec[DATA]:spec[DATA] + size])
    column = np.empty(K * P, dtype=np.int64)
    for i in range(K * P):
        column[i] = i % P
    return np.arange(K + 1) * P, column, arrays.data[spec[DATA]:spec[DATA] + K * P]


@jit
def fill_masses(arrays):
    """Write q and qp of every region into `arrays.mass` and `arrays.inside_mass`, which are zero before."""
    region, mass, inside_mass = arrays.region, arrays.mass, arrays.inside_mass
    mass[-1] = 1.0
    for r in range(len(region) - 1, -1, -1):
        spec = region[r]
        if spec[ARITY] == 0:
            continue
        pointer, column, value = weights_of(arrays, r)
        for k in range(spec[SHOWN]):
            for e in range(pointer[k], pointer[k + 1]):
                inside_mass[spec[INSIDE_MASS] + column[e]] += mass[spec[MASS] + k] * value[e]
        for a in range(spec[ARITY]):
            child = arrays.child[spec[CHILD] + a]
            for p in range(spec[INSIDE]):
                unit = arrays.unit[spec[UNIT] + a * spec[INSIDE] + p]
                mass[region[child, MASS] + unit] += inside_mass[spec[INSIDE_MASS] + p]
