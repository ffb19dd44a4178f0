"""The compiled upward pass against its NumPy twin and against Decimals, on circuits that take every branch.

All circuits are small, so that the kernels may also run as plain Python (NUMBA_DISABLE_JIT=1).
"""

import itertools

import numpy as np
import precise
import pytest
from kernel_circuits import CIRCUITS, rows

from pcircuit import (
    Circuit,
    InnerRegion,
    InputRegion,
    VTree,
    expected_flows,
    log_likelihood,
    mean_node_likelihoods,
    node_likelihoods,
)
from pcircuit.inference.likelihood import upward
from pcircuit.kernels.packing import pack
from pcircuit.kernels.programs import evaluation
from pcircuit.kernels.tile import new_work


def assert_right(circuit, found, data):
    """All units, as far as doubles reach: products far behind the best one of their region may be 0."""
    expected = precise.doubles(precise.in_node_order(*precise.unit_values(circuit, data)))
    is_product, regions = circuit.nodes.kind == "product", circuit.nodes.region
    for r in np.unique(regions):
        of_region = regions == r
        best = expected[of_region & is_product].max(axis=0, initial=0.0)
        behind = (is_product & of_region)[:, None] & (expected < 2.0**-160 * best)
        exact = np.where(behind, 0.0, expected)
        lost = np.where(behind, found, 0.0)
        np.testing.assert_allclose(
            np.where(behind, 0.0, found)[of_region], exact[of_region], rtol=1e-11, atol=1e-300
        )
        assert (lost[of_region] <= 2.0**-160 * best).all()


@pytest.mark.parametrize("name", CIRCUITS)
def test_every_unit_is_right_whatever_was_rescaled(name, engine, rng):
    circuit = CIRCUITS[name]
    data = rows(circuit, rng)
    found = node_likelihoods(circuit, data).T
    assert_right(circuit, found, data)
    logs = precise.doubles(precise.logs(precise.unit_values(circuit, data)[0][-1][0]))
    np.testing.assert_allclose(log_likelihood(circuit, data), logs, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(
        mean_node_likelihoods(circuit, data), found.mean(axis=1), rtol=1e-11, atol=1e-300
    )


@pytest.mark.parametrize("name", CIRCUITS)
def test_the_kernel_and_the_numpy_text_find_the_same_suspects(name, rng):
    """Rows that need logarithms: few where weights mix, and the same ones in both engines."""
    circuit = CIRCUITS[name]
    if len(circuit.regions) == 1:
        return
    data = rows(circuit, rng)
    packed = pack(circuit)
    work = new_work(circuit, packed, evaluation(packed))
    work.load(circuit, data, 0, len(data))
    roots, powers, found = work.run(packed, len(data))
    shown, _, exponents, suspect = upward(circuit, data)
    np.testing.assert_array_equal(found, np.flatnonzero(suspect))
    trusted = ~suspect
    np.testing.assert_array_equal(powers[trusted], exponents[-1][trusted])
    np.testing.assert_allclose(roots[trusted], shown[-1][0][trusted], rtol=1e-13)


def test_several_regions_are_rescaled_by_powers_of_their_own():
    """Exponents of different regions differ, row by row: one for all of them would not do."""
    circuit, data = (
        CIRCUITS["chain"],
        np.array([[0, 1, 1, 1, 1, 1], [1, 1, 0, 1, 1, 0], [0, 0, 1, 0, 1, 1]]),
    )
    _, _, exponents, _ = upward(circuit, data)
    inner = [exponents[r] for r in range(len(circuit.regions)) if circuit.vtree.variables[r] < 0]
    assert len({tuple(e.tolist()) for e in inner}) == len(inner) > 3


def test_a_marked_product_that_comes_back_makes_its_row_suspect():
    """The second component falls behind by 2**-300 and recovers: dropping it would lose the answer."""
    eps = 2.0**-150
    tables = [[[1.0, 0.0], [eps, 1 - eps]]] * 2 + [[[2.0**-800, 1 - 2.0**-800], [0.5, 0.5]]]
    regions = [InputRegion(v, table) for v, table in enumerate(tables)]
    for order in itertools.permutations(range(3)):
        some = [InputRegion(i, regions[v].probs) for i, v in enumerate(order)]
        last = InnerRegion([[0, 0, 0], [1, 1, 1]], [[0.5, 0.5]])
        circuit = Circuit(VTree.from_nested([0, 1, 2]), [*some, last])
        expected = np.logaddexp(-800 * np.log(2.0), -301 * np.log(2.0)) + np.log(0.5)
        assert log_likelihood(circuit, [[0, 0, 0]])[0] == pytest.approx(expected, rel=1e-14)


def behind(tables, weights):
    """Variables 0 and 1 under one region, whose unit 0 alone counts where variable 2 is 0."""
    inner = [InputRegion(v, table) for v, table in enumerate(tables)]
    units = np.repeat(np.arange(len(tables[0]))[:, None], 2, axis=1)
    return Circuit(
        VTree.from_nested([[0, 1], 2]),
        [
            *inner,
            InnerRegion(units, weights),
            InputRegion(2, np.eye(2)),
            InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5]]),
        ],
    )


def test_a_sum_whose_one_part_underflows_is_found(engine):
    """A weight of 1e-308 times a likelihood of 1e-70 is no double; its logarithm is wanted all the same."""
    table = [[1e-35, 1 - 1e-35], [0.0, 1.0], [0.5, 0.5]]
    circuit = behind([table, table], [[1e-308, 1 - 1e-308, 0.0], [0.0, 0.0, 1.0]])
    expected = np.log(0.5) + np.log(1e-308) + 2 * np.log(1e-35)
    assert log_likelihood(circuit, [[0, 0, 0]])[0] == pytest.approx(expected, rel=1e-14)


def test_a_product_that_underflows_by_one_factor_is_found(engine):
    """2**-250 is kept beside another product of the row, and one factor of 2**-996 more leaves zero of it."""
    tables = [[[2.0**power, 1 - 2.0**power], [0.5, 0.5]] for power in (-250, -996)]
    circuit = behind(tables, np.eye(2))
    expected = (-1 - 250 - 996) * np.log(2.0)
    assert log_likelihood(circuit, [[0, 0, 0]])[0] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("C", [1, 2, 3, 5])
@pytest.mark.parametrize("P", [1, 3, 4, 5, 8, 9])
def test_leaves_of_all_widths(C, P, rng):
    """Two categories are a choice, others are looked up."""
    circuit = Circuit(
        VTree.from_nested([0, 1]),
        [
            InputRegion(0, rng.dirichlet(np.ones(C), size=P)),
            InputRegion(1, rng.dirichlet(np.ones(2), size=P)),
            InnerRegion(
                np.stack([rng.permutation(P), np.arange(P)], axis=1),
                rng.dirichlet(np.ones(P), size=1),
            ),
        ],
    )
    data = np.array(list(itertools.product(range(C), range(2))))
    assert_right(circuit, node_likelihoods(circuit, data).T, data)  # no holes
    data = np.array(list(itertools.product(range(-1, C), range(-1, 2))))
    assert_right(circuit, node_likelihoods(circuit, data).T, data)


@pytest.mark.parametrize(("likely", "weight"), [(1e-290, 1e-25), (1e-290, 1e-40), (1e-295, 1e-25)])
def test_products_that_lose_digits_while_all_are_tiny_are_found(engine, likely, weight):
    """1e-30 times 1e-290 has three digits left, times 1e-295 none, and the larger product, 1e-300, hardly counts."""
    circuit = Circuit(
        VTree.from_nested([0, 1]),
        [
            InputRegion(0, [[1 - 1e-30, 1e-30], [0.0, 1.0]]),
            InputRegion(1, [[1 - likely, likely], [1.0, 1e-300]]),
            InnerRegion([[0, 0], [1, 1]], [[1 - weight, weight]]),
        ],
    )
    expected = np.logaddexp(np.log(1e-30) + np.log(likely), np.log(weight) + np.log(1e-300))
    row = np.array([[1, 1]])
    for data in (row, np.repeat(row, 1000, axis=0)):
        np.testing.assert_allclose(log_likelihood(circuit, data), expected, rtol=1e-14)
    inputs = expected_flows(circuit, row).by_region(circuit)[0]
    np.testing.assert_allclose(
        inputs[:, 1],
        np.exp(
            [np.log(1e-30) + np.log(likely) - expected, np.log(weight) + np.log(1e-300) - expected]
        ),
        rtol=1e-12,
    )
