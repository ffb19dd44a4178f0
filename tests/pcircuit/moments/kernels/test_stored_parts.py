"""Parts of the covariance in one flat array: where they are, and that the text of whole arrays reads the same there."""

import numpy as np
import pytest
import zoo

from pcircuit.moments import covariance_parts as twin
from pcircuit.moments.kernels import stored_parts as module
from pcircuit.moments.kernels.arrays import moment_arrays
from pcircuit.moments.kernels.masses import fill_masses
from pcircuit.moments.kernels.stored_parts import empty_parts, stored_parts
from pcircuit.moments.kernels.traces import linear_moments
from pcircuit.moments.plan import make_plan

CIRCUITS = zoo.circuits()


def planned(circuit, step=1, kind=None):
    """Plan and arrays of every so manyth unit, or of those of a kind, with weights."""
    nodes = (
        np.arange(0, circuit.num_nodes, step)
        if kind is None
        else np.flatnonzero(circuit.nodes.kind == kind)
    )
    plan = make_plan(circuit, nodes, np.linspace(1.0, 2.0, len(nodes)))
    arrays = moment_arrays(plan)
    fill_masses(arrays)
    return plan, arrays


def assert_same(found, expected):
    np.testing.assert_allclose(
        found, expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max(initial=0.0)
    )


@pytest.mark.parametrize("options", [{}, {"step": 3}, {"kind": "input"}, {"kind": "sum"}], ids=str)
@pytest.mark.parametrize(
    "name", ["irregular_csr", "nary", "unary", "one_region", "mixed_categories"]
)
def test_stored_parts_are_those_of_the_twin(name, options):
    plan, arrays = planned(CIRCUITS[name], **options)
    parts = empty_parts(plan, arrays)
    linear_moments(arrays, False, parts, *np.empty((2, len(arrays.local))))
    found, expected = (
        list(pairs)
        for pairs in (
            stored_parts(plan, arrays, parts),
            twin.covariance_parts(plan, compress=False),
        )
    )
    assert [r for r, _ in found] == [r for r, _ in expected]
    for (r, one), (_, other) in zip(found, expected, strict=True):
        assert_same(one.own.covariance, other.own.covariance)
        assert_same(one.own.d, other.own.d)
        if plan.needed[r]:
            assert_same(one.own.v, other.own.v)
        for field in ("excess", "qp", "sum_rows"):
            assert_same(getattr(one, field), getattr(other, field))
        for field in ("factors", "product_rows"):
            assert len(getattr(one, field)) == len(getattr(other, field))
            for first, second in zip(getattr(one, field), getattr(other, field), strict=True):
                assert_same(first, second)


@pytest.mark.parametrize("name", ["irregular_csr", "nary", "unary"])
def test_every_part_has_room_of_its_own_and_nothing_is_left_over(name):
    plan, arrays = planned(CIRCUITS[name])
    parts, used = empty_parts(plan, arrays), []
    assert not parts.numbers.any()
    for r, region in enumerate(plan.circuit.regions):
        K, n = region.num_units, plan.start[r + 1] - plan.start[r]
        above = (
            plan.circuit.regions[plan.circuit.vtree.parents[r]]
            if r < plan.circuit.vtree.root
            else None
        )
        sizes = {
            module.D: K * n,
            module.V: K * (K + 1) // 2 * plan.needed[r] * n,
            module.COVARIANCE: n * n,
            module.FACTOR: 0 if above is None else above.num_products**2,
        }
        used += [
            np.arange(parts.place[r, part], parts.place[r, part] + size)
            for part, size in sizes.items()
        ]
    assert np.sort(np.concatenate(used)).tolist() == list(range(len(parts.numbers)))


def test_work_arrays_have_a_place_for_each_unit_and_each_pair_of_units_that_is_needed():
    plan, arrays = planned(CIRCUITS["irregular_csr"], kind="input")  # no pairs are needed
    regions = plan.circuit.regions
    units = np.array([region.num_units for region in regions])
    parts = empty_parts(plan, arrays)
    assert parts.work.tolist() == [units.sum(), 0]
    np.testing.assert_array_equal(parts.place[:, module.UNITS], np.cumsum(units) - units)
    whole = empty_parts(*planned(CIRCUITS["irregular_csr"]))
    pairs = units * (units + 1) // 2
    assert whole.work.tolist() == [units.sum(), pairs.sum()]
    np.testing.assert_array_equal(whole.place[:, module.PAIRS], np.cumsum(pairs) - pairs)


def test_parts_are_views_of_the_numbers_and_no_copies():
    plan, arrays = planned(CIRCUITS["nary"])
    parts = empty_parts(plan, arrays)
    for r, found in stored_parts(plan, arrays, parts):
        parts.numbers[:] = r + 1
        assert (found.own.d == r + 1).all()
        assert (found.own.covariance == r + 1).all()
