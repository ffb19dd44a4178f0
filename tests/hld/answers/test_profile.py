"""Profiles: counts by a loop, sums of parts, and files that do not fit."""

import numpy as np
import pandas as pd
import pytest

from hld.answers.profile import Profile, cells_by_name, profile_of
from hld.tables.cells import read_table
from hld.tables.schemas.learn_schema import fit_encoder

SIZES, EDGES = (3, 2, 4), [[0, 1], [0, 2]]


@pytest.fixture
def codes(rng):
    table = np.column_stack([rng.integers(-1, C, 200) for C in SIZES])
    return table.astype(np.int16)


def test_counts_are_those_of_a_loop(codes):
    found = profile_of(codes, SIZES, EDGES)
    for v, C in enumerate(SIZES):
        expected = [sum(row[v] == c for row in codes.tolist()) for c in [*range(C), -1]]
        assert found.counts[v].tolist() == expected
    for (u, v), table in zip(EDGES, found.pairs, strict=True):
        for (i, j), count in np.ndenumerate(table):
            assert count == sum(row[u] == i and row[v] == j for row in codes.tolist())


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("counts", lambda a: a[:-1]),
        ("counts", lambda a: a.astype(float)),
        ("counts", lambda a: a - 1000),
        ("counts", lambda a: a + np.eye(1, len(a), dtype=np.int64)[0]),
        ("edges", lambda a: a + 2),
        ("edges", lambda a: a * 0),
        ("edges", lambda a: np.repeat(a, 2, axis=0)),
        ("pairs", lambda a: a + 1000),
        ("pairs", lambda a: a[1:]),
        ("counts", lambda a: a * 0),
    ],
)
def test_arrays_that_do_not_fit_are_refused(codes, name, change):
    arrays = profile_of(codes, SIZES, EDGES).to_arrays()
    with pytest.raises(ValueError, match=f"profile|array {name!r}"):
        Profile.from_arrays(arrays | {name: change(arrays[name])}, SIZES)


@pytest.mark.parametrize("huge", [2**63 - 1, 2**62])
def test_counts_of_a_file_whose_sum_leaves_64_bits_are_refused(huge):
    arrays = profile_of(np.array([[0, 1], [1, 1]]), (2, 2), [[0, 1]]).to_arrays()
    for name in ("pairs", "counts"):
        changed = arrays[name].copy()
        changed[:3] = huge
        with pytest.raises(ValueError, match="of the same rows in every column"):
            Profile.from_arrays(arrays | {name: changed}, (2, 2))


def test_tables_without_names_are_read_by_place():
    encoder = fit_encoder(np.array([[0, 5], [1, 6], [0, 7]]))
    for table in (np.array([[1, 8], [2, 9]]), pd.DataFrame({"y": [1, 2], "x": [8, 9]})):
        cells = cells_by_name(encoder, read_table(table))
        assert [cells[name].tolist() for name in encoder.names] == [[1, 2], [8, 9]]
