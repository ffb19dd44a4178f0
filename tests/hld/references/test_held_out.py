"""Which rows are held out of learning: half of them at random, each once, in the order of the table."""

import numpy as np
import pytest

from hld.references.held_out import FEWEST_ROWS, split_rows


@pytest.mark.parametrize("num_rows", [FEWEST_ROWS, 7, 100, 101])
@pytest.mark.parametrize("reference", ["auto", "held-out"])
def test_halves_are_ascending_and_have_each_row_once(num_rows, reference):
    learned, kept = split_rows(num_rows, reference, np.random.default_rng(0))
    assert (len(learned), len(kept)) == (num_rows - num_rows // 2, num_rows // 2)
    np.testing.assert_array_equal(np.sort(np.concatenate([learned, kept])), np.arange(num_rows))
    assert (np.diff(learned) > 0).all()
    assert (np.diff(kept) > 0).all()
    if num_rows >= 100:
        assert (kept != split_rows(num_rows, reference, np.random.default_rng(1))[1]).any()


def test_all_rows_are_learned_from_where_none_is_held_out():
    for reference, kept in (("training", np.arange(9)), ("circuit", None)):
        found = split_rows(9, reference, np.random.default_rng(0))
        np.testing.assert_array_equal(found[0], np.arange(9))
        assert (found[1] is None) if kept is None else (found[1] == kept).all()
    with pytest.raises(ValueError, match="half of them are held out"):
        split_rows(FEWEST_ROWS - 1, "held-out", np.random.default_rng(0))
