"""Batches compared with rows: which small p-values are checked by the batch's own rows."""
import numpy as np
import pytest

import hld
from hld.nulls.null import PValue
from hld.testing.row_batches import RowBatch


@pytest.fixture(scope="module")
def fitted():
    """A test against 300 held-out rows, and its codes."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, size=(600, 5)) * rng.integers(0, 2, size=(600, 1))
    return hld.HLDDetector(categorical=range(5), num_epochs=5).fit(rows).test_, rows


@pytest.mark.parametrize("holes", [False, True])
def test_a_single_row_needs_no_check_only_if_it_was_ranked(fitted, holes):
    """One without holes has been ranked among the reference rows; the laws of one with holes know nothing of ranks."""
    test, rows = fitted
    row = rows[:1].copy()
    row[0, 1] = -1 if holes else row[0, 1]
    batch = RowBatch(test.vectors, test.calibration, row)
    q = len(test.calibration.metrics)
    found = PValue(1e-9, (1e-9,) * q, None, "drawn", 999)
    difference, _, factors, _ = batch.difference()
    assert (factors is not None) == holes
    squared = np.array([float((metric.apply(difference) ** 2).sum()) for metric in test.calibration.metrics])
    value = batch.confirmed(found, squared, factors).value
    assert value > 1 / (test.calibration.kept.num_rows + 1) if holes else value == 1e-9
