"""Memory of tiles: evidence of every type as codes, and spaces that are used again."""

import numpy as np
import pytest
import zoo

from pcircuit.kernels.packing import pack
from pcircuit.kernels.programs import evaluation
from pcircuit.kernels.tile import drop_work, free_work, groups, new_work

CATEGORIES = np.array([2, 3, 255, 4, 2, 2, 7, 5, 300, 2, 2, 6, 3, 2, 2, 2, 3])
COLUMNS = {n: zoo.independent([np.full(C, 1 / C) for C in CATEGORIES[:n]]) for n in (2, 7, 8, 17)}
TYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int64, np.uint32]


def table(rng, columns, dtype):
    """Random evidence, -1 where the dtype has it."""
    low = -1 if np.dtype(dtype).kind == "i" else 0
    limit = np.minimum(CATEGORIES[:columns], np.iinfo(dtype).max)
    return rng.integers(low, limit, size=(700, columns)).astype(dtype)


def loaded(data, start, stop):
    """The codes of some rows, variable by variable."""
    circuit = COLUMNS[data.shape[1]]
    packed = pack(circuit)
    work = new_work(circuit, packed, evaluation(packed))
    work.load(circuit, data, start, stop)
    codes = np.concatenate(list(work.codes[:, :, : work.step]), axis=1)
    return codes[: data.shape[1], : stop - start]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize(("start", "stop"), [(0, 1), (3, 11), (2, 19), (5, 700)])
def test_columns_of_codes(dtype, columns, start, stop, rng):
    data = table(rng, columns, dtype)
    expected = data[start:stop].astype(int)
    expected = np.where(expected == -1, CATEGORIES[:columns], expected).T
    np.testing.assert_array_equal(loaded(data, start, stop), expected)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("row", [3, 9, 18])
@pytest.mark.parametrize("column", [0, 2, 6, 8, 16])
def test_wrong_entries_are_found_inside_the_rows_and_only_there(dtype, row, column, rng):
    """Among them what has the bits of a category, or of a hole, in 16 bits: 65536, 65535 and -65536."""
    data, right = (table(rng, 17, dtype) for _ in range(2))
    least = np.iinfo(dtype).min
    for wrong in {int(CATEGORIES[column]), -2, least, 2**16 - 1, 2**16, -(2**16)} - {0}:
        if not least <= wrong <= np.iinfo(dtype).max or (wrong == 255 and column == 2):
            continue
        data[row, column] = wrong
        with pytest.raises(ValueError, match=f"at row {row}, column {column}"):
            loaded(data, 2, 19)
        loaded(data, 2, row)
        loaded(data, row + 1, 20)
        data[row] = right[row]


def test_work_spaces_are_used_again_by_their_program_until_they_are_dropped():
    circuit = zoo.circuits()["nary"]
    packed, free = pack(circuit), free_work(circuit, "unit_work")
    assert free is free_work(circuit, "unit_work") == []
    data, program = np.zeros((1, circuit.num_variables), dtype=int), evaluation(packed)
    assert program is evaluation(pack(circuit))

    def used(program):
        found = list(groups(circuit, packed, program, data, (0, 1), free))
        return found[0][0]

    first = used(program)
    assert used(program) is first
    assert used(program._replace()) is not first
    drop_work(circuit)
    assert free_work(circuit, "unit_work") == []
    assert len(free) == 1  # of a call that is under way
