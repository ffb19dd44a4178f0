"""The `CovarianceParts` of every region in one flat array.

`moments.kernels.traces` fills it, `moments.kernels.operator` reads it; `stored_parts` hands out views of it for the
text in `moments.covariance`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pcircuit.moments.covariance_parts import CovarianceParts, inner_parts
from pcircuit.moments.kernels.arrays import (
    ARITY,
    BELOW,
    INSIDE,
    MASS,
    NEEDED,
    NUM_NODES,
    SHOWN,
    MomentArrays,
)
from pcircuit.moments.overlaps import OwnColumns
from pcircuit.moments.plan import Plan

# columns of `StoredParts.place`: where D, V, the covariance of own units and the sibling factor of a region begin in
# `numbers`, and its parts in work arrays of one number per shown unit and per pair of them
D, V, COVARIANCE, FACTOR, UNITS, PAIRS = range(6)


class StoredParts(NamedTuple):
    """R regions; see the module docstring."""

    place: np.ndarray  # (R, 6) int64
    numbers: np.ndarray  # float64
    exp2: np.ndarray  # (R,) int64
    work: np.ndarray  # (2,) int64 sizes of the work arrays


def empty_parts(plan: Plan, arrays: MomentArrays) -> StoredParts:
    """Room for the parts of all regions of the plan."""
    table = arrays.region
    K, n = table[:, SHOWN], table[:, NUM_NODES]
    parents = plan.circuit.vtree.parents
    pairs = K * (K + 1) // 2 * plan.needed
    sizes = np.stack([K * n, pairs * n, n * n, plan.nested * table[parents, INSIDE] ** 2], axis=1)
    ends = np.cumsum(sizes).reshape(sizes.shape)
    place = np.column_stack([ends - sizes, np.cumsum(K) - K, np.cumsum(pairs) - pairs])
    return StoredParts(
        place,
        np.zeros(ends[-1, -1]),
        np.zeros(len(table), np.int64),
        np.array([K.sum(), pairs.sum()]),
    )


def no_parts(arrays: MomentArrays) -> StoredParts:
    """No room: what is not wanted."""
    table = arrays.region
    return StoredParts(
        table[:0, :6].copy(), np.zeros(0), np.zeros(len(table), np.int64), table[0, :2]
    )


def stored_parts(
    plan: Plan, arrays: MomentArrays, parts: StoredParts
) -> Iterator[tuple[int, CovarianceParts]]:
    """Yield what `covariance_parts(plan, compress=False)` yields, from the stored numbers; means are left out."""
    circuit = plan.circuit
    for r in plan.order.tolist():
        spec = arrays.region[r]
        if not (spec[BELOW] or spec[NEEDED]):
            continue
        K, n = spec[SHOWN], spec[NUM_NODES]
        own = OwnColumns(
            np.zeros(0),
            _part(parts, r, COVARIANCE, n, n),
            _part(parts, r, D, K, n),
            _part(parts, r, V, K * (K + 1) // 2 * spec[NEEDED], n),
        )
        if spec[ARITY] == 0:
            yield r, CovarianceParts(own)
            continue
        P, begin = spec[INSIDE], spec[MASS]
        q, qp = arrays.mass[begin : begin + K], arrays.mass[begin + K : begin + K + P]
        factors = ()
        if spec[NEEDED]:
            factors = tuple(
                _part(parts, c, FACTOR, P, P) for c in circuit.vtree.children(r).tolist()
            )
        yield r, inner_parts(plan, r, q, qp, own, factors, int(parts.exp2[r]))


def _part(parts: StoredParts, r: int, part: int, *shape):
    """View of one part of region r."""
    begin = parts.place[r, part]
    return parts.numbers[begin : begin + shape[0] * shape[1]].reshape(shape)
