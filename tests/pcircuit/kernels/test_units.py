"""Reading single units from a tile: input units from their tables, inner ones from values and powers of two."""

import naive
import numpy as np
import pytest
import zoo
from engines import door

from pcircuit import Circuit, InnerRegion, InputRegion, VTree
from pcircuit.kernels.layouts import stack_layout
from pcircuit.kernels.packing import pack
from pcircuit.kernels.readers import Wanted, unit_readers
from pcircuit.kernels.tile import STRIDE, new_work
from pcircuit.kernels.units import read_inputs, read_region

CIRCUIT = zoo.circuits()["irregular_csr"]
ROWS = 7
NO_TABLE, NO_TOTALS = np.empty((0, 0)), np.empty(0)


def read(tile, wanted, reader, products, sums):
    """The next reader; the values of all regions begin at the same places."""
    layout = stack_layout(CIRCUIT)
    places = (np.full_like(layout.sums, place) for place in (products, sums))
    layout = layout._replace(**dict(zip(("products", "sums"), places, strict=True)))
    return door(read_region)(layout, tile, ROWS, wanted, 0, reader)


@pytest.fixture
def data(rng):
    return zoo.rows_with_holes(CIRCUIT, rng, ROWS)


@pytest.fixture
def tile(data):
    """A tile with the rows in it, of which the second and the last are skipped."""
    found, _ = new_work(CIRCUIT, stack_layout(CIRCUIT), len(pack(CIRCUIT).region), np.inf)
    found.codes[:, :ROWS] = np.where(data < 0, CIRCUIT.num_categories, data).T
    found.exponent[:] = 0
    found.skip[[1, ROWS - 1]] = True
    return found


@pytest.mark.parametrize("nodes", ["all", "inputs", "inner"])
def test_input_units_are_read_row_by_row_or_summed_over_rows_that_count(nodes, tile, data):
    nodes = {
        "all": np.arange(CIRCUIT.num_nodes),
        "inputs": np.flatnonzero(CIRCUIT.nodes.kind == "input")[::-1],
        "inner": np.flatnonzero(CIRCUIT.nodes.kind != "input"),
    }[nodes]
    readers, is_input = unit_readers(CIRCUIT, nodes), CIRCUIT.nodes.kind[nodes] == "input"
    expected = naive.node_values(CIRCUIT, data)[:, nodes]
    table, totals = np.full((ROWS, len(nodes)), 7.0), np.full(len(nodes), 7.0)
    assert (
        door(read_inputs)(pack(CIRCUIT), tile, ROWS, Wanted(readers, table, NO_TOTALS), 0)
        == is_input.sum()
    )
    np.testing.assert_allclose(table, np.where(is_input, expected, 7.0), rtol=1e-15)
    door(read_inputs)(pack(CIRCUIT), tile, ROWS, Wanted(readers, NO_TABLE, totals), 0)
    counted = expected[~tile.skip[:ROWS]].sum(axis=0)
    np.testing.assert_allclose(
        totals, np.where(is_input, 7.0 + counted, 7.0), rtol=1e-14
    )  # added to what was there


def test_totals_do_not_depend_on_where_they_lie_in_memory(rng):
    """A sum that was added up in place lost its vector lanes, and so was rounded otherwise, beside the tables."""
    C, rows = 40, 200
    circuit = Circuit(
        VTree.from_nested([0, 1]),
        [
            InputRegion(0, rng.dirichlet(np.ones(C), size=1)),
            InputRegion(1, [[0.5, 0.5]]),
            InnerRegion([[0, 0]], [[1.0]]),
        ],
    )
    packed, readers = pack(circuit), unit_readers(circuit, np.array([0]))
    tile, _ = new_work(circuit, stack_layout(circuit), len(packed.region), np.inf)
    tile.codes[:, :rows] = rng.integers(0, [[C], [2]], size=(2, rows))
    memory, found = np.zeros(1000), set()
    memory[: len(packed.tables)] = packed.tables
    for place in [*range(len(packed.tables), len(packed.tables) + 60), 900]:
        memory[place] = 0.0
        nearby = packed._replace(tables=memory[: len(packed.tables)])
        door(read_inputs)(
            nearby, tile, rows, Wanted(readers, NO_TABLE, memory[place : place + 1]), 0
        )
        found.add(float(memory[place]))
    assert len(found) == 1


@pytest.mark.parametrize("exponents", [0, 5, -1500, 1500, "mixed"])
def test_inner_units_are_their_values_times_powers_of_two(exponents, tile, rng):
    """One double reaches 2**-1074 only: a value of 2**1000 times 2**-1500 is one, and the power alone is none."""
    regions = np.flatnonzero(CIRCUIT.vtree.variables < 0)
    index = 1
    nodes = np.flatnonzero(CIRCUIT.nodes.region == regions[index])
    nodes = nodes[[len(nodes) - 1, 0, 2]]  # a sum and two products
    powers = (
        np.array([0, 5, -1500, 1500, -3, 1, 0])
        if exponents == "mixed"
        else np.full(ROWS, exponents)
    )
    tile.exponent[index, :ROWS] = powers
    values = rng.uniform(0.5, 1.0, (12, ROWS)) * 2.0 ** -np.clip(powers, -1000, 1000)
    tile.values.reshape(-1, STRIDE)[:12, :ROWS] = values
    region = CIRCUIT.regions[regions[index]]
    places = [8 + region.num_units - 1, 1, 3]  # products from 1 on, sums from 8 on
    expected = np.ldexp(values[places], powers).T
    readers = unit_readers(CIRCUIT, nodes)
    table, totals = np.full((ROWS, 3), np.nan), np.zeros(3)
    assert read(tile, Wanted(readers, table, NO_TOTALS), 0, 1, 8) == 3
    np.testing.assert_array_equal(table, expected)
    read(tile, Wanted(readers, NO_TABLE, totals), 0, 1, 8)
    np.testing.assert_allclose(totals, expected[~tile.skip[:ROWS]].sum(axis=0), rtol=1e-14)


def test_a_region_reads_its_own_units_only(tile):
    """Readers of two regions, one behind the other: the second begins where the first ends."""
    regions = np.flatnonzero(CIRCUIT.vtree.variables < 0)
    nodes = np.flatnonzero(np.isin(CIRCUIT.nodes.region, regions[:2]))
    readers, first = unit_readers(CIRCUIT, nodes), (CIRCUIT.nodes.region[nodes] == regions[0]).sum()
    tile.values[:] = 0.5
    table = np.full((ROWS, len(nodes)), np.nan)
    assert read(tile, Wanted(readers, table, NO_TOTALS), 0, 0, 8) == first
    assert (table[:, :first] == 0.5).all()
    assert np.isnan(table[:, first:]).all()
    assert read(tile, Wanted(readers, table, NO_TOTALS), first, 0, 8) == len(nodes)
    assert (table == 0.5).all()
