"""Work space of tiles: which rows make a group, evidence of every type as codes, and spaces that are used again."""

import numpy as np
import pytest
import zoo
from hypothesis import given
from hypothesis import strategies as st

from pcircuit.kernels import tile as module
from pcircuit.kernels.layouts import full_layout, stack_layout
from pcircuit.kernels.packing import pack
from pcircuit.kernels.tile import (
    STRIDE,
    TILE_ROWS,
    borrow,
    drop_work,
    free_work,
    groups_of_rows,
    load_group,
    new_sums,
    new_work,
)

CIRCUIT = zoo.circuits()["mixed_categories"]
_, GROUP = new_work(CIRCUIT, stack_layout(CIRCUIT), 1, np.inf)


@given(
    st.integers(1, 5), st.integers(1, 4), st.integers(1, 30), st.integers(0, 3), st.integers(0, 90)
)
def test_groups_are_whole_chunks_or_parts_of_one_so_that_all_have_the_same_tiles(
    step, tiles, per_chunk, begin, number
):
    most, start, stop = step * tiles, begin * per_chunk, begin * per_chunk + number
    group = GROUP._replace(roots=np.empty(most), step=step)
    groups, seen, starts = list(groups_of_rows(group, start, stop, per_chunk)), start, {}
    for first, rows in groups:
        assert first == seen
        assert 1 <= rows <= most
        seen += rows
        chunks = {row // per_chunk for row in range(first, first + rows)}
        is_whole = first % per_chunk == 0 and (seen % per_chunk == 0 or seen == stop)
        assert len(chunks) == 1 or (is_whole and tiles > 1)
        for chunk in chunks:  # tiles of a chunk begin anew with it
            lo, hi = max(first, chunk * per_chunk), min(seen, (chunk + 1) * per_chunk)
            starts.setdefault(chunk, []).extend(
                row - chunk * per_chunk for row in range(lo, hi, step)
            )
    assert seen == stop
    full = [found for chunk, found in starts.items() if (chunk + 1) * per_chunk <= stop]
    assert all(found == full[0] for found in full)


def evidence():
    """Rows with holes, as arrays of many kinds."""
    rows = zoo.rows_with_holes(CIRCUIT, np.random.default_rng(0), 21).astype(np.int64)
    complete = np.maximum(rows, 0)
    read_only = rows.copy()
    read_only.flags.writeable = False
    return {
        "int64": rows,
        "int8": rows.astype(np.int8),
        "int16": rows.astype(np.int16),
        "big-endian": rows.astype(">i4"),
        "columns": np.asfortranarray(rows),
        "bytes in columns": np.asfortranarray(rows.astype(np.int8)),
        "read-only": read_only,
        "every other": np.repeat(rows, 2, axis=0)[::2],
        "uint8": complete.astype(np.uint8),
        "uint16": complete.astype(np.uint16),
        "backwards": rows[:, ::-1].copy()[:, ::-1],
    }


@pytest.mark.parametrize("kind", evidence())
def test_evidence_of_every_kind_becomes_codes_with_its_number_of_categories_for_a_hole(kind):
    data, categories = evidence()[kind], pack(CIRCUIT).categories
    expected = np.where(np.asarray(data).astype(np.int64) < 0, categories, data).T
    for start, stop in ((0, 21), (3, 20), (5, 6)):
        load_group(CIRCUIT, categories, data, start, stop, GROUP)
        np.testing.assert_array_equal(GROUP.codes[:, : stop - start], expected[:, start:stop])


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8, np.int32])
def test_what_is_no_category_is_found_where_it_is(dtype):
    data = np.zeros((9, CIRCUIT.num_variables), dtype=dtype)
    data[7, 1] = CIRCUIT.num_categories[1]
    load_group(CIRCUIT, pack(CIRCUIT).categories, data, 0, 7, GROUP)
    with pytest.raises(ValueError, match="at row 7, column 1"):
        load_group(CIRCUIT, pack(CIRCUIT).categories, data, 4, 9, GROUP)


def test_large_numbers_of_an_unsigned_type_are_no_holes():
    data = np.zeros((3, CIRCUIT.num_variables), dtype=np.uint8)
    data[2, 0] = 255  # as a signed number -1
    with pytest.raises(ValueError, match="at row 2, column 0"):
        load_group(CIRCUIT, pack(CIRCUIT).categories, data, 0, 3, GROUP)


@pytest.mark.parametrize("make", [stack_layout, full_layout])
def test_a_tile_has_room_for_its_layout_and_begins_at_a_cache_line(make):
    layout = make(CIRCUIT)
    tile, group = new_work(CIRCUIT, layout, 3, np.inf)
    assert len(tile.values) == layout.num_values * STRIDE
    assert len(tile.flow) == layout.num_flows * STRIDE
    for array in (tile.values, tile.flow):
        assert not len(array) or array.ctypes.data % module.LINE == 0
    assert tile.exponent.shape == (3, STRIDE)
    assert np.shares_memory(tile.scratch, tile.bits)
    assert group.step == TILE_ROWS
    assert len(group.roots) % group.step == 0
    assert group.codes.shape[1] >= len(group.roots) > group.step
    assert not group.skip.any()
    assert not tile.skip.any()


def test_where_memory_is_short_half_a_tile_is_worked_on_and_large_numbers_of_categories_have_wide_codes():
    layout = stack_layout(CIRCUIT)
    bytes_of_a_tile = 8 * layout.num_values * TILE_ROWS
    assert new_work(CIRCUIT, layout, 1, bytes_of_a_tile)[1].step == TILE_ROWS
    assert new_work(CIRCUIT, layout, 1, bytes_of_a_tile - 1)[1].step == TILE_ROWS // 2
    assert GROUP.codes.dtype == np.uint16
    for C, dtype in ((2**16 - 1, np.uint16), (2**16, np.int64)):  # a hole is category C
        many = zoo.independent([np.full(C, 1 / C), np.array([1.0])])
        assert new_work(many, stack_layout(many), 1, np.inf)[1].codes.dtype == dtype


def test_a_group_of_one_tile_needs_no_codes_of_its_own():
    wide = zoo.independent([np.array([0.5, 0.5])] * 800)
    tile, group = new_work(wide, stack_layout(wide), 1, np.inf)
    assert len(group.roots) == group.step == TILE_ROWS
    assert group.codes is tile.codes


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


def test_sums_over_no_rows_are_zeros_like_the_parameters():
    packed = pack(CIRCUIT)
    sums = new_sums(packed)
    assert (sums.edges.shape, sums.counts.shape, sums.log.shape) == (
        packed.weights.shape,
        packed.tables.shape,
        (1,),
    )
    assert not any(part.any() for part in sums)
