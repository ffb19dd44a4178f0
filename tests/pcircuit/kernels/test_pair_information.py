"""The kernel of mutual information against its twin of whole arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_tables import random_table

from pcircuit import chow_liu_tree
from pcircuit.kernels.engine import NUMBA, NUMPY, engine_set_to
from pcircuit.kernels.pair_information import information_of_pairs
from pcircuit.learning.pair_counts import block_counts, complete_variables, information_of_block

STEP = 2.0**-40


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.1, 4.0]),
    st.sampled_from([0.0, 0.4, 1.0]),
    st.booleans(),
)
def test_the_kernel_is_its_twin(seed, pseudocount, missing, same):
    rng = np.random.default_rng(seed)
    data, categories = random_table(rng, num_variables=5, missing=missing)
    rows = np.array([3, 0, 4])
    columns = rows if same else np.array([2, 1])
    counts = block_counts(data, categories, complete_variables(data), None, rows, columns)
    expected = information_of_block(
        counts, categories[rows], categories[columns], pseudocount, STEP
    )
    found = np.full(expected.shape, np.nan)
    table = np.zeros(int(categories[rows].max() * categories[columns].max()), dtype=np.int32)
    codes = tuple(
        np.ascontiguousarray(data[:, group].T, dtype=np.int32) for group in (rows, columns)
    )
    information_of_pairs(
        codes, (categories[rows], categories[columns]), same, (pseudocount, STEP), table, found
    )
    shown = data >= 0
    together = shown[:, rows].T.astype(float) @ shown[:, columns] + pseudocount
    terms = np.multiply.outer(categories[rows], categories[columns])
    terms = terms + np.add.outer(categories[rows], categories[columns])
    # where a logarithm differs in its last bit, f is rounded to the next step
    bound = terms * STEP / np.where(together > 0, together, 1)
    assert (np.abs(found - expected) <= bound + 1e-14).all()
    assert not table.any()


def test_pairs_that_no_row_shows_share_nothing_however_large_a_step_is():
    codes, categories = np.array([[0, 1, -1], [-1, -1, 2]], dtype=np.int32), np.array([2, 3])
    found, table = np.empty((2, 2)), np.zeros(9, dtype=np.int32)
    information_of_pairs(
        (codes, codes), (categories, categories), True, (1e-9, 2.0**-10), table, found
    )
    assert found[0, 1] == found[1, 0] == 0


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_both_engines_find_the_same_tree_of_many_categories(rng, missing):
    """Few and many categories side by side: pairs by the matrix product, by the kernel, and of both kinds."""
    parents, columns = [-1, 0, 0, 2, 3, 3, 5, 1], [rng.integers(40, size=900)]
    for v, parent in enumerate(parents[1:], start=1):
        copied = np.where(rng.random(900) < 0.6, columns[parent], rng.integers(40, size=900))
        columns.append(copied % 3 if v in (4, 6) else copied)
    data = np.column_stack(columns)
    data[rng.random(data.shape) < missing] = -1
    found = []
    for engine in (NUMPY, NUMBA):
        with engine_set_to(engine):
            found.append(chow_liu_tree(data).tolist())
    assert found[0] == found[1]
