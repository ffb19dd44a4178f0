"""Where the passes rescale: no value that is not rescaled in time can leave the range of doubles."""

import numpy as np
import pytest
import scipy.sparse
from kernel_circuits import CIRCUITS, chain

from pcircuit import Circuit, InnerRegion
from pcircuit.kernels import rescaling
from pcircuit.kernels.packed import ARITY, FIRST_CHILD, IS_LEAF, SOURCE, SPARSE, VARIABLE, WEIGHT
from pcircuit.kernels.packing import pack
from pcircuit.kernels.rescaling import (
    FLOAT64,
    LAST_HERE,
    LIFT_HERE,
    LIFT_RISKY,
    MARGIN,
    NO_RESCALE,
    RESCALE_RISKY,
    with_plan,
    with_plan_for,
)

INNER = [name for name, circuit in CIRCUITS.items() if circuit.num_regions > 1]


def log2_smallest(values):
    """log2 of the smallest positive value, at most 0."""
    return float(np.log2(np.min(values[values > 0], initial=1.0)))


def weights_of(packed, r):
    """Stored weights of an inner region."""
    ends = np.append(packed.region[:, WEIGHT], len(packed.weights))
    return packed.weights[ends[r] : ends[r + 1]]


@pytest.mark.parametrize("bits", [0, 300, 900])
@pytest.mark.parametrize("name", INNER)
def test_lower_bounds_of_all_values_stay_above_the_lowest_between_rescale_points(name, bits, rng):
    """Unless one factor alone is below: that place is risky, and no other.  Weights are as small as 2**-bits."""
    packed, shown = pack(CIRCUITS[name]), []
    packed = with_plan(
        packed._replace(weights=packed.weights * 2.0 ** -(bits * rng.random(len(packed.weights))))
    )
    ends = np.append(packed.table_start, len(packed.tables))
    leaves = [
        MARGIN * log2_smallest(packed.tables[ends[v] : ends[v + 1]]) for v in range(len(ends) - 1)
    ]
    for r, row in enumerate(packed.region.tolist()):
        floor = 0.0
        for c in range(row[FIRST_CHILD], row[FIRST_CHILD] + row[ARITY]):
            child = packed.child[c]
            step = leaves[child[VARIABLE]] if child[IS_LEAF] else shown[child[SOURCE]]
            floor += step
            how = packed.rescale[c]
            assert (floor < FLOAT64.lowest) == (how in (RESCALE_RISKY, LIFT_RISKY))
            if how != NO_RESCALE:
                floor = FLOAT64.after_rescale
        if how >= LIFT_HERE:  # the largest product is at least 1, and each sum has a share of it
            floor = 0.0
        floor += MARGIN * log2_smallest(weights_of(packed, r))
        assert packed.check_sums[r] == (floor < FLOAT64.lowest)
        shown.append(max(floor, FLOAT64.lowest))


@pytest.mark.parametrize("name", INNER)
def test_small_products_are_lifted_only_where_all_weights_are_large_enough(name):
    packed = pack(CIRCUITS[name])
    for r, row in enumerate(packed.region.tolist()):
        is_mixing = not row[SPARSE] and (weights_of(packed, r) >= 2.0**-100).all()
        points = packed.rescale[row[FIRST_CHILD] :][: row[ARITY]]
        assert ((points >= LIFT_HERE) == (is_mixing & (points != NO_RESCALE))).all()
        assert not (points[:-1] == LAST_HERE).any()
        assert not (points[:-1].any() and points[-1] == LAST_HERE)


def test_all_kinds_of_rescale_points_occur():
    kinds = {name: set(pack(circuit).rescale.tolist()) for name, circuit in CIRCUITS.items()}
    assert rescaling.LIFT_HERE in kinds["hub"]
    assert rescaling.LAST_HERE in kinds["chain"]
    assert (
        rescaling.RESCALE_HERE
        in kinds["chain, zero weights"] & kinds["hub, zero weights"] & kinds["hub, sparse"]
    )
    assert rescaling.LIFT_RISKY in kinds["chain, risky"] & kinds["hub, risky"]
    assert (
        rescaling.RESCALE_RISKY
        in kinds["chain, risky, zero weights"] & kinds["hub, risky, zero weights"]
    )


def test_a_plan_stays_while_parameters_are_within_its_margin():
    packed = pack(chain(6, 1e-30))
    assert with_plan_for(packed) is packed
    smaller = packed._replace(
        tables=np.where(packed.tables < 1e-29, packed.tables**1.2, packed.tables)
    )
    assert with_plan_for(smaller) is smaller
    beyond = packed._replace(
        tables=np.where(packed.tables < 1e-29, packed.tables**10, packed.tables)
    )
    found, expected = with_plan_for(beyond), with_plan(beyond)
    assert found is not beyond
    for name in ("rescale", "check_sums", "floors"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.rescale.tolist() != packed.rescale.tolist()


def test_a_plan_that_lifts_does_not_stay_where_a_weight_vanishes():
    packed = pack(CIRCUITS["chain"])
    assert (packed.rescale >= LIFT_HERE).any()
    weights = packed.weights.copy()
    weights[:4:3] = 0.0
    found = with_plan_for(packed._replace(weights=weights))
    first = packed.rescale >= LIFT_HERE
    assert (found.rescale < packed.rescale)[first].any()


def test_weights_that_store_nothing_have_floor_zero():
    circuit = chain(6, 1e-200, sparse=True)
    second = [r for r, region in enumerate(circuit.regions) if isinstance(region, InnerRegion)][1]
    regions = [
        InnerRegion(region.products, scipy.sparse.csr_array(region.weights.shape))
        if r == second
        else region
        for r, region in enumerate(circuit.regions)
    ]
    for plan in (pack(circuit), pack(Circuit(circuit.vtree, regions))):
        floors = plan.floors[len(plan.table_start) :]
        expected = [MARGIN * log2_smallest(weights_of(plan, r)) for r in range(len(plan.region))]
        np.testing.assert_allclose(floors, expected, rtol=1e-15)
