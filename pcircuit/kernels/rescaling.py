"""Where the passes rescale, so that no likelihood is lost to underflow.

The passes work with likelihoods, not logarithms, and the likelihood of a large scope is too small for a double.
So at some places of the pass ("rescale points") each row's products are multiplied by the power of two that brings
the largest of them to [1, 2), and the exponent is added up separately.

All limits are named for float64, and have smaller twins for float32 (`Limits`).

Where this is needed is known in advance.  Let the floor of a region be a lower bound on log2 of every positive
value it can show, counted from the last rescaling.  Multiplying a child in lowers it by the child's floor, a
weighted sum by log2 of the smallest positive weight, and a rescale point is put wherever it would pass LOWEST.

Rescaling makes the largest value of a row 1; it cannot lift the others, and what is left below 2**AFTER_RESCALE might
underflow before the next rescale point.  What is done about it depends on the weights above the products.

* Where every sum gives every product a weight of at least 2**LEAST_WEIGHT ("mixing" regions: all of a Hidden Chow-Liu
  tree fitted with a pseudocount), a product that much smaller than the largest adds nothing to any sum.  It is replaced
  by 2**AFTER_RESCALE, which is more than it is, and marked by a minus sign, which multiplying cannot remove.  If it is
  still below 2**NEGLIGIBLE of the largest product when all children are in, it is dropped: every sum keeps 60 bits.  If
  not, the row is suspect.  Where all children are in, and nothing is marked, what is small may stay as it is.
* Elsewhere a row with such a value is suspect at once.

Suspect rows are evaluated again with one logarithm per unit (`inference.log_domain`).  At a "risky" place, where one
factor alone may underflow (a probability below about 1e-220), a zero may be a lost value and is treated like a small
one.  Where even the largest product is below 2**RISKY_TOP there, others may have lost digits, or all of them, although
they are not 2**AFTER_RESCALE times smaller: such a row is suspect.  So no positive contribution that counts is ever
lost unnoticed, and rows that need logarithms are the only ones that pay.
"""

from typing import NamedTuple

import numpy as np

from pcircuit.arguments import Bools, Floats, Ints
from pcircuit.kernels.packed import (
    ARITY,
    FIRST_CHILD,
    IS_LEAF,
    SOURCE,
    SPARSE,
    VARIABLE,
    WEIGHT,
    Packed,
)


class Limits(NamedTuple):
    """Logarithms to base 2 of what decides where numbers of one kind are rescaled."""

    lowest: float  # what must stay representable; normal numbers end at -1022 and -126
    after_rescale: float  # the smallest positive value that a rescaled row may hold
    negligible: float  # LEAST_WEIGHT less the digits that a sum keeps
    least_weight: float  # the smallest weight of a mixing region
    risky_top: int  # from here on what is below normal numbers is below AFTER_RESCALE, too
    exponent_bit: int  # where the exponent begins
    bias: int  # what is added to it


FLOAT64 = Limits(-960.0, -256.0, -164.0, -100.0, -1022 + 256, 52, 1023)
FLOAT32 = Limits(-116.0, -68.0, -54.0, -28.0, -126 + 68, 23, 127)
LEAST_DENSITY = -520.0  # of the tables that densities fill: a product with it is marked as lost
NO_RESCALE, RESCALE_HERE, RESCALE_RISKY, LIFT_HERE, LIFT_RISKY, LAST_HERE = range(6)
MARGIN = 1.25  # floors are planned this much lower than they are, so that learning seldom changes the plan


def limits_of(packed: Packed) -> Limits:
    """The limits of the numbers that its parameters are stored in."""
    return FLOAT32 if packed.weights.dtype == np.float32 else FLOAT64


def with_plan(packed: Packed) -> Packed:
    """`packed` with rescale points for its parameters."""
    limits = limits_of(packed)
    floors = _floors(packed) * MARGIN
    of_tables, of_weights = np.split(floors, [len(packed.table_start)])
    rescale: list[int] = []
    check_sums: list[bool] = []
    shown: list[float] = []  # floor of each finished region
    leaf, source, variable = (
        packed.child[:, column].tolist() for column in (IS_LEAF, SOURCE, VARIABLE)
    )
    for one, is_mixing, weight in zip(
        packed.region.tolist(), _mixing(packed).tolist(), of_weights.tolist(), strict=True
    ):
        children = range(one[FIRST_CHILD], one[FIRST_CHILD] + one[ARITY])
        steps = [float(of_tables[variable[c]]) if leaf[c] else shown[source[c]] for c in children]
        points, floor = _rescale_points(steps, limits)
        if is_mixing:
            if points[-1] != NO_RESCALE:  # a sum has its share of the largest product
                floor = 0.0
            if points[-1] == sum(points) == RESCALE_HERE:
                points[-1] = LAST_HERE
            else:
                points = [point and point + LIFT_HERE - RESCALE_HERE for point in points]
        rescale += points
        floor += weight
        check_sums.append(floor < limits.lowest)
        shown.append(max(floor, limits.lowest))
    return packed._replace(
        rescale=np.array(rescale, dtype=np.int64),
        check_sums=np.array(check_sums, dtype=bool),
        floors=floors,
        programs={},
    )


def with_plan_for(packed: Packed) -> Packed:
    """`packed` itself where its plan still allows for its parameters, else with a new plan."""
    lifts = packed.rescale >= LIFT_HERE
    owner = np.repeat(np.arange(len(packed.region)), packed.region[:, ARITY])
    still = (_floors(packed) >= packed.floors).all() and _mixing(packed)[owner[lifts]].all()
    return packed if still else with_plan(packed)


def _mixing(packed: Packed) -> Bools:
    """(inner regions,) whether a region is dense with all weights at least 2**LEAST_WEIGHT."""
    smallest = _smallest(packed.weights, packed.region[:, WEIGHT])
    return (packed.region[:, SPARSE] == 0) & (smallest >= 2.0 ** limits_of(packed).least_weight)


def _floors(packed: Packed) -> Floats:
    """(V + inner regions,) log2 of the smallest positive entry of each input table and of each region's weights."""
    of_tables = _log2_smallest(packed.tables, packed.table_start)
    return np.concatenate(
        [
            np.where(packed.categories > 0, of_tables, LEAST_DENSITY),
            _log2_smallest(packed.weights, packed.region[:, WEIGHT]),
        ]
    )


def _rescale_points(steps: list[float], limits: Limits) -> tuple[list[int], float]:
    """What to do after multiplying in each child, given the children's floors; and the floor of the products."""
    rescale, floor, lowest = [NO_RESCALE] * len(steps), 0.0, limits.lowest
    if sum(steps) >= 0.5 * lowest:
        return rescale, sum(steps)
    for a, step in enumerate(steps):
        if a and floor + step < lowest and rescale[a - 1] == NO_RESCALE:
            rescale[a - 1], floor = RESCALE_HERE, limits.after_rescale
        floor += step
        if floor < lowest:  # this factor alone may underflow
            rescale[a], floor = RESCALE_RISKY, limits.after_rescale
    if (
        floor < 0.5 * lowest and rescale[-1] == NO_RESCALE
    ):  # leave room for the siblings in the parent's products
        rescale[-1], floor = RESCALE_HERE, limits.after_rescale
    return rescale, floor


def _log2_smallest(values: Floats, starts: Ints) -> Floats:
    """log2 of the smallest positive value, at most 0, of each slice that begins at `starts`."""
    return np.log2(_smallest(np.where(values > 0, values, 1.0), starts))


def _smallest(values: Floats, starts: Ints) -> Floats:
    """The smallest value, at most 1, of each slice that begins at `starts`; 1 for one without values.

    `reduceat` takes such a slice, that of CSR weights which store nothing, for the first value after it.
    """
    smallest = np.ones(len(starts))
    filled = starts < np.append(starts[1:], len(values))
    if filled.any():
        smallest[filled] = np.minimum(np.minimum.reduceat(values, starts[filled]), 1.0)
    return smallest
