"""What is known of a tile of rows, and which units draws given that use, against enumeration."""

import kernel_circuits
import naive
import numpy as np
import pytest
from engines import door

from pcircuit import Circuit, InnerRegion, InputRegion, VTree
from pcircuit.moments.compiled.expectation_arrays import (
    TILE,
    as_free,
    expectation_arrays,
    new_scratch,
)
from pcircuit.moments.compiled.posteriors import (
    KNOWN,
    follow,
    look,
)

CIRCUITS = {
    name: circuit for name, circuit in kernel_circuits.CIRCUITS.items() if circuit.is_normalized
}
NAMES = ("hclt_like", "irregular_csr", "nary", "zero_rows", "unary", "chain", "hub, zero weights")


def looked_at(circuit, rows, given):
    """The tile after both passes; the rows, 16 of them."""
    arrays = expectation_arrays(circuit)
    work = new_scratch(arrays, circuit.num_variables)
    work.codes[:] = rows.T.ravel()
    door(look)(arrays, work, as_free(given))
    door(follow)(arrays, work)
    return work


def case(name, rng):
    """A circuit, sixteen rows with holes, of which variable 0 is never shown, and what is given: about half."""
    circuit = CIRCUITS[name]
    rows = kernel_circuits.rows(circuit, rng)[8 : 8 + TILE]
    rows[:, 0] = -1
    given = np.arange(circuit.num_variables) % 2 == 1
    return circuit, rows, given


def tile_of(array, r, circuit):
    """Values of all units of a region, row by row, from an array by units."""
    first, last = circuit.offsets[r], circuit.offsets[r + 1]
    return array.reshape(-1, TILE)[first:last].T


@pytest.mark.parametrize("name", NAMES)
def test_draws_given_what_is_known_use_a_unit_as_often_as_completions_do(name, rng):
    circuit, rows, given = case(name, rng)
    work, shown = looked_at(circuit, rows, given), np.where(given, rows, -1)
    possible = naive.likelihood(circuit, shown) > 0
    assert possible.any()
    for b in np.flatnonzero(possible).tolist():
        flows = naive.flows(circuit, shown[b : b + 1])
        for r, region in enumerate(circuit.regions):
            parent = circuit.vtree.parents[r]
            if r < circuit.vtree.root and work.state[parent] == KNOWN:  # not followed further down
                continue
            found = tile_of(work.flow, r, circuit)[b]
            of_sums = flows[r].sum(axis=1)
            np.testing.assert_allclose(found[-region.num_units :], of_sums, rtol=1e-10, atol=1e-14)
            if not isinstance(region, InputRegion) and work.state[r] != KNOWN:
                np.testing.assert_allclose(
                    found[: region.num_products], flows[r].sum(axis=0), rtol=1e-10, atol=1e-14
                )


def test_likelihoods_far_below_the_range_of_doubles_keep_their_exponents():
    """Thirty coins under each of two units, the one 1e-20 as probable as the other each time: 1e-600 in all."""
    circuit = kernel_circuits.chain(31, 1e-20)
    rows = np.zeros((TILE, 31), dtype=int)
    work = looked_at(circuit, rows, np.ones(31, dtype=bool))
    mantissa, exponent = (array.reshape(-1, TILE)[-1] for array in (work.mantissa, work.exponent))
    logs = circuit.log_likelihood(rows)
    np.testing.assert_allclose(np.log(mantissa) + exponent * np.log(2.0), logs, rtol=1e-12)
    leaf = work.mantissa.reshape(-1, TILE)[0] * 2.0 ** work.exponent.reshape(-1, TILE)[0]
    assert leaf == pytest.approx(np.full(TILE, 1e-20))


def test_a_sum_of_products_that_are_tiny_beside_others_keeps_all_of_them():
    """Of three products the first two are 1e-400 and 16e-400, and one sum has only these."""
    rare = 1e-100
    inputs = [
        InputRegion(v, [[rare, 1 - rare], [2 * rare, 1 - 2 * rare], [1.0, 0.0]]) for v in range(4)
    ]
    circuit = Circuit(
        VTree.from_nested([list(range(4)), 4]),
        [
            *inputs,
            InnerRegion([[0] * 4, [1] * 4, [2] * 4], [[0.25, 0.75, 0.0], [0.0, 0.0, 1.0]]),
            InputRegion(4, [[0.5, 0.5], [0.5, 0.5]]),
            InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5]]),
        ],
    )
    work = looked_at(circuit, np.zeros((TILE, 5), dtype=int), np.ones(5, dtype=bool))
    first = circuit.offsets[4] + 3  # the sum
    mantissa, exponent = (
        array.reshape(-1, TILE)[first] for array in (work.mantissa, work.exponent)
    )
    np.testing.assert_allclose(
        np.log(mantissa) + exponent * np.log(2.0), np.log(12.25) + 4 * np.log(rare), rtol=1e-14
    )
    omega = work.omega.reshape(-1, TILE)[:3].T
    np.testing.assert_allclose(
        omega, np.tile([0.25 / 12.25, 12 / 12.25, 0.0], (TILE, 1)), rtol=1e-13
    )
