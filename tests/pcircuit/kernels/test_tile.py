"""Work space of tiles: which rows make a group, evidence of every type as codes, and spaces that are used again."""

import numpy as np
import pytest
import zoo

from pcircuit.kernels.layouts import stack_layout
from pcircuit.kernels.packing import pack
from pcircuit.kernels.tile import (
    TILE_ROWS,
    borrow,
    drop_work,
    free_work,
    load_group,
    new_work,
)

CIRCUIT = zoo.circuits()["mixed_categories"]
_, GROUP = new_work(CIRCUIT, stack_layout(CIRCUIT), 1, np.inf)


def test_large_numbers_of_an_unsigned_type_are_no_holes():
    data = np.zeros((3, CIRCUIT.num_variables), dtype=np.uint8)
    data[2, 0] = 255  # as a signed number -1
    with pytest.raises(ValueError, match="at row 2, column 0"):
        load_group(CIRCUIT, pack(CIRCUIT).categories, data, 0, 3, GROUP)


def test_where_memory_is_short_half_a_tile_is_worked_on_and_large_numbers_of_categories_have_wide_codes():
    layout = stack_layout(CIRCUIT)
    bytes_of_a_tile = 8 * layout.num_values * TILE_ROWS
    assert new_work(CIRCUIT, layout, 1, bytes_of_a_tile)[1].step == TILE_ROWS
    assert new_work(CIRCUIT, layout, 1, bytes_of_a_tile - 1)[1].step == TILE_ROWS // 2
    assert GROUP.codes.dtype == np.uint16
    for C, dtype in ((2**16 - 1, np.uint16), (2**16, np.int64)):  # a hole is category C
        many = zoo.independent([np.full(C, 1 / C), np.array([1.0])])
        assert new_work(many, stack_layout(many), 1, np.inf)[1].codes.dtype == dtype


def test_work_spaces_are_used_again_until_they_are_dropped():
    circuit = zoo.two_coins()
    free = free_work(circuit, "unit_work")
    assert free is free_work(circuit, "unit_work") == []
    free.append("used before")
    assert [borrow(free, lambda: "new"), borrow(free, lambda: "new")] == ["used before", "new"]
    free.append("used before")
    drop_work(circuit)
    assert free_work(circuit, "unit_work") == []
    assert free == ["used before"]  # of a call that is under way
