"""Where the values of a region go in a tile: on a stack, or kept for the way down."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pcircuit.array_types import Ints
from pcircuit.circuit import Circuit, derived
from pcircuit.compiled.packed import ARITY, CATEGORIES, IS_LEAF, PRODUCTS, SOURCE, SUMS, Packed
from pcircuit.compiled.packing import pack


class Layout(NamedTuple):
    """Where in a tile each inner region keeps its products and its sums, and the flow of its sums."""

    products: Ints
    sums: Ints
    flows: Ints
    spare: int  # room for the products of one region, beside their place
    num_values: int
    num_flows: int
    keeps_products: bool  # of every region, and its sums on a stack; or the other way round


def stack_layout(circuit: Circuit) -> Layout:
    """A layout for evaluation only: sums live on a stack, since a region's values die once its parent is done."""
    return derived(circuit, "stack_layout", lambda: _stack_layout(pack(circuit)))


def full_layout(circuit: Circuit) -> Layout:
    """A layout that keeps the sums, or else the products, of every inner region; the others and flows on stacks."""
    return derived(circuit, "full_layout", lambda: _full_layout(pack(circuit)))


def _stack_layout(packed: Packed) -> Layout:
    """Products in the first rows, shared by all regions; sums where the first inner child's sums were."""
    region = packed.region
    spare = int(region[:, PRODUCTS].max(initial=0))
    scratch = 2 * spare
    leaf, source = packed.child[:, IS_LEAF].tolist(), packed.child[:, SOURCE].tolist()
    sums: list[int] = []
    top = highest = scratch
    for _, num_sums, arity, first, *_ in region.tolist():
        inner = [sums[source[c]] for c in range(first, first + arity) if not leaf[c]]
        sums.append(min(inner, default=top))
        top = sums[-1] + num_sums
        highest = max(highest, top)
    nowhere = np.zeros(len(region), dtype=np.int64)
    return Layout(nowhere, np.array(sums, dtype=np.int64), nowhere, spare, highest, 0, False)


def _full_layout(packed: Packed) -> Layout:
    """What is kept, one after the other; a region's children take the place of its flow, the last child on top."""
    region = packed.region
    leaf, source = packed.child[:, IS_LEAF].tolist(), packed.child[:, SOURCE].tolist()
    spare = int(region[:, PRODUCTS].max(initial=0))
    ends = 2 * spare + np.cumsum(region[:, SUMS])
    flows, highest = np.full(len(region), spare), spare + 1
    for r in range(len(region) - 1, -1, -1):
        _, num_sums, arity, first, *_ = region[r].tolist()
        top = flows[r]
        highest = max(highest, top + num_sums)
        for c in range(first, first + arity):
            if not leaf[c]:
                flows[source[c]] = top
                top += region[source[c], SUMS]
        highest = max(highest, top)
    num_values = int(ends[-1]) if len(ends) else 0
    layout = Layout(np.zeros(len(region), dtype=np.int64), ends - region[:, SUMS], flows, spare, num_values,
                    int(highest), False)
    if not len(region) or not _keeps_products(packed):
        return layout
    stack = _stack_layout(packed)
    ends = stack.num_values + np.cumsum(region[:, PRODUCTS])
    return layout._replace(products=ends - region[:, PRODUCTS], sums=stack.sums, num_values=int(ends[-1]),
                           keeps_products=True)


def _keeps_products(packed: Packed) -> bool:
    """Whether products are kept and sums computed again on the way down, or sums kept and products multiplied again.

    Counted in multiplications of a matrix product; a look-up, which is scalar, costs 16, a multiplication of what is
    not in registers 4.  With 256 categories keeping products saves a fifth of an epoch at V = 784 and K = 16.
    """
    num_products, num_sums = packed.region[:, PRODUCTS], packed.region[:, SUMS]
    factors = np.where(packed.child[:, CATEGORIES] > 2, 16, 4)
    again = int(factors @ np.repeat(num_products, packed.region[:, ARITY]))
    return len(packed.weights) <= again and num_products.sum() <= 2 * num_sums.sum()
