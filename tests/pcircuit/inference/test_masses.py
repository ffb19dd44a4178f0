"""Top-down masses: those of enumeration, sums that are one, and sums over paths where nothing is normalised."""

import naive
import numpy as np
import pytest
import scipy.sparse
import zoo

from pcircuit import Circuit, InnerRegion, InputRegion, VTree
from pcircuit.inference.masses import unit_masses

ZOO = zoo.circuits()


def in_node_order(masses):
    """(number of units,) masses: of a region's products, then of its sums."""
    return np.concatenate([part for q, qp in masses for part in (qp, q) if part is not None])


@pytest.mark.parametrize("name", ZOO)
def test_masses_are_those_of_enumeration_and_sum_to_one_in_each_region(name):
    masses = unit_masses(ZOO[name])
    np.testing.assert_allclose(
        in_node_order(masses), naive.topdown_mass(ZOO[name]), rtol=1e-12, atol=1e-15
    )
    for region, (q, qp) in zip(ZOO[name].regions, masses, strict=True):
        assert (qp is None) == isinstance(region, InputRegion)
        for part in (q,) if qp is None else (q, qp):
            assert part.sum() == pytest.approx(1.0, rel=1e-14)


def test_rounding_errors_of_weights_do_not_grow_with_the_depth():
    """Each row sums to 1 + 5e-10, which is normalised; 1,000 levels of it would be 5e-7."""
    vtree = VTree.right_linear(1000)
    circuit = Circuit(
        vtree,
        [
            InputRegion(v, [[0.5, 0.5]]) if v >= 0 else InnerRegion([[0, 0]], [[1 + 5e-10]])
            for v in vtree.variables.tolist()
        ],
    )
    assert unit_masses(circuit)[0][0] == pytest.approx([1.0], rel=1e-14)
    assert all(q == pytest.approx([1.0], rel=1e-14) for q, _ in unit_masses(circuit))


@pytest.mark.parametrize("name", ["dense", "sparse"])
def test_circuits_that_are_not_normalised_have_sums_of_weights_along_paths(name):
    masses = dict(
        zip(
            ["0", "1", "01", "2", "012"],
            unit_masses(zoo.unnormalized_circuits()[name]),
            strict=True,
        )
    )
    third = 1.0 if name == "dense" else 0.0  # the weight of the root on its second product
    assert masses["012"][0].tolist() == [1.0]
    assert masses["012"][1].tolist() == [2.0, third, 0.5]
    assert masses["01"][0].tolist() == [2.0, third, 0.5]
    assert masses["01"][1].tolist() == [
        0.5 * 2.0,
        3.0 * 2.0 + 0.25 * 0.5,
    ]  # rows (0.5, 3), (0, 0) and (0, 0.25)
    assert masses["0"][0].tolist() == [1.0, 6.125]
    assert masses["1"][0].tolist() == [1.0 + 6.125, 0.0]  # no product takes the second unit
    assert masses["2"][0].tolist() == [2.5 + third]


@pytest.mark.parametrize("kind", [np.array, scipy.sparse.csr_array])
def test_masses_beyond_the_doubles_are_infinite_and_others_are_not_touched(kind):
    """Three weights of 1e300 one below another, beside weights of zero, which take nothing from infinity."""
    tables, same = [InputRegion(v, [[0.5, 0.5]] * 3) for v in range(3)], [[0, 0], [1, 1], [2, 2]]
    circuit = Circuit(
        VTree.from_nested([[[0, 1], 2], 3]),
        [
            *tables[:2],
            InnerRegion(same, kind([[1e300, 0.0, 0.0], [0.0, 0.5, 1e300], [0.0, 0.5, 0.0]])),
            tables[2],
            InnerRegion(same, kind([[1e300, 0.0, 2.0], [0.0, 1.0, 0.0]])),
            InputRegion(3, [[1.0]]),
            InnerRegion([[0, 0], [1, 0]], kind([[1e300, 3.0]])),
        ],
    )
    masses = unit_masses(circuit)
    assert masses[4][1].tolist() == masses[2][0].tolist() == [np.inf, 3.0, 2e300]
    assert masses[2][1].tolist() == masses[0][0].tolist() == [np.inf, 1.5 + 1e300, 3e300]
