"""Places of values in a tile: an upward and a downward pass that only note who wrote where find what they look for."""

import itertools

import kernel_circuits
import numpy as np
import pytest
import zoo

from pcircuit import Circuit
from pcircuit.kernels import layouts
from pcircuit.kernels.layouts import (
    BOTH_KEPT,
    PRODUCTS_KEPT,
    SUMS_KEPT,
    full_layout,
    stack_layout,
    sums_layout,
)
from pcircuit.kernels.packed import ARITY, FIRST_CHILD, IS_LEAF, PRODUCTS, SOURCE, SUMS
from pcircuit.kernels.packing import pack

CIRCUITS = {
    **{
        name: kernel_circuits.CIRCUITS[name]
        for name in (
            "chain",
            "hub",
            "irregular_csr",
            "nary",
            "unary",
            "rat_like",
            "deep_chain",
            "one_region",
        )
    },
    "large": zoo.random_circuit(5, num_variables=40, max_units=6, nary=True),
}


def fresh(name):
    """A circuit that keeps no layout yet."""
    return Circuit(CIRCUITS[name].vtree, CIRCUITS[name].regions)


class Passes:
    """A tile whose entries hold the name of what was written there last."""

    def __init__(self, circuit, layout, number=0):
        self.packed, self.layout = pack(circuit), layout
        self.sums, self.flows = layout.tile_sums[number], layout.tile_flows[number]
        self.values, self.flow = np.full(layout.num_values, -1), np.full(layout.num_flows, -1)

    def write(self, array, first, size, name):
        assert first >= 0
        assert first + size <= len(array)
        array[first : first + size] = name

    def assert_there(self, array, first, size, name):
        assert (array[first : first + size] == name).all()
        assert len(array[first : first + size]) == size

    def children(self, r):
        """Inner children of region r."""
        first = self.packed.region[r, FIRST_CHILD]
        rows = self.packed.child[first : first + self.packed.region[r, ARITY]]
        return rows[rows[:, IS_LEAF] == 0, SOURCE].tolist()

    def multiply(self, r):
        """Products of a region from the sums of its children, with room beside them."""
        P = self.packed.region[r, PRODUCTS]
        self.write(self.values, self.layout.spare, P, -1)
        self.write(self.values, self.layout.products[r], P, 2 * r)
        self.assert_there(self.values, self.layout.spare, P, -1)  # beside their place
        for c in self.children(r):
            self.assert_there(self.values, self.sums[c], self.packed.region[c, SUMS], 2 * c + 1)

    def mix(self, r):
        """Sums of a region from its products, which stay."""
        self.write(self.values, self.sums[r], self.packed.region[r, SUMS], 2 * r + 1)
        self.assert_there(
            self.values, self.layout.products[r], self.packed.region[r, PRODUCTS], 2 * r
        )

    def up(self, start, stop, *, again=False):
        for r in range(start, stop):
            self.multiply(r)
            if not (again and self.sums[r] >= self.layout.kept):
                self.mix(r)

    def down(self, start, stop):
        region = self.packed.region
        for r in range(stop - 1, start - 1, -1):
            if self.layout.keeps == SUMS_KEPT:
                self.multiply(r)
            elif self.layout.keeps == PRODUCTS_KEPT:
                self.mix(r)
            for one, (first, size) in enumerate(
                [(self.layout.products[r], region[r, PRODUCTS]), (self.sums[r], region[r, SUMS])]
            ):
                self.assert_there(self.values, first, size, 2 * r + one)
            self.write(self.flow, 0, region[r, PRODUCTS], -1)  # flows of products
            self.assert_there(self.flow, self.flows[r], region[r, SUMS], r)
            for c in self.children(r):
                self.write(self.flow, self.flows[c], region[c, SUMS], c)
                self.assert_there(self.flow, 0, region[r, PRODUCTS], -1)

    def both(self):
        """All blocks upwards, then all but the last once more, and downwards."""
        ends = [0, *self.layout.ends.tolist()]
        for start, stop in itertools.pairwise(ends):
            self.up(start, stop)
        self.write(self.flow, self.flows[-1], 1, len(self.flows) - 1)
        for i in range(len(ends) - 1, 0, -1):
            if i < len(ends) - 1:
                self.up(ends[i - 1], ends[i], again=True)
            self.down(ends[i - 1], ends[i])


@pytest.mark.parametrize("name", CIRCUITS)
def test_evaluation_finds_the_sums_of_children_on_the_stack(name):
    circuit = fresh(name)
    layout = stack_layout(circuit)
    assert layout.num_flows == 0
    Passes(circuit, layout).up(0, len(pack(circuit).region))
    assert layout.num_values <= sums_layout(circuit).num_values


@pytest.mark.parametrize("kept", ["sums", "products", "either"])
@pytest.mark.parametrize("name", [name for name in CIRCUITS if name != "one_region"])
def test_both_passes_find_what_is_kept(name, kept, monkeypatch):
    if kept != "either":
        monkeypatch.setattr(layouts, "_keeps_products", lambda packed: kept == "products")
    circuit = fresh(name)
    for layout in (full_layout(circuit), sums_layout(circuit)):
        assert len(layout.ends) == 1
        Passes(circuit, layout).both()
    assert sums_layout(circuit).keeps == SUMS_KEPT
    assert (
        kept == "either"
        or full_layout(circuit).keeps == {"sums": SUMS_KEPT, "products": PRODUCTS_KEPT}[kept]
    )


@pytest.mark.parametrize("block_bytes", [0, 60_000, 200_000])
@pytest.mark.parametrize("name", [name for name in CIRCUITS if name != "one_region"])
def test_both_passes_find_what_outlives_a_block_whatever_its_size(name, block_bytes, monkeypatch):
    monkeypatch.setattr(layouts, "MOST_KEPT", -1)
    monkeypatch.setattr(layouts, "BLOCK_BYTES", block_bytes)
    circuit = fresh(name)
    layout, num_regions = full_layout(circuit), len(pack(circuit).region)
    assert layout.keeps == BOTH_KEPT
    assert layout.ends[-1] == num_regions
    if block_bytes == 0:
        assert layout.ends.tolist() == list(range(1, num_regions + 1))
    for number in range(len(layout.tile_sums)):
        Passes(circuit, layout, number).both()


def test_tiles_that_go_through_blocks_together_keep_their_sums_in_places_of_their_own(monkeypatch):
    monkeypatch.setattr(layouts, "MOST_KEPT", -1)
    monkeypatch.setattr(layouts, "BLOCK_BYTES", 60_000)
    circuit = fresh("large")
    layout, sizes = full_layout(circuit), pack(circuit).region[:, SUMS]
    is_kept = layout.tile_sums[0] >= layout.kept
    assert len(layout.tile_sums) > 1
    assert is_kept.any()
    assert not is_kept.all()
    for places in (layout.tile_sums, layout.tile_flows):
        assert (places[:, ~is_kept] == places[0, ~is_kept]).all()
        used = np.concatenate(
            [
                np.arange(first, first + size)
                for tile in places
                for first, size in zip(tile[is_kept], sizes[is_kept], strict=True)
            ]
        )
        assert len(set(used.tolist())) == len(used)


def test_evaluation_keeps_no_more_sums_than_wait_for_their_parent():
    """Along a chain these are those of one region: two sums, beside twice the room of two products."""
    assert stack_layout(fresh("deep_chain")).num_values == 6
    assert sums_layout(fresh("deep_chain")).num_values == 4 + 6 * 2 + 1


def test_layouts_are_made_once_for_a_circuit():
    circuit = fresh("nary")
    for make in (stack_layout, full_layout, sums_layout):
        assert make(circuit) is make(circuit)
