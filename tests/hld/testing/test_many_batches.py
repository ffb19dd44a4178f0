"""Many batches: adjusted p-values, and the share of false discoveries."""
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import false_discovery_control

import hld
from pcircuit import rat_spn, sample


def test_shifted_batches_are_found_among_many():
    circuit = rat_spn([2] * 8, num_units=4, depth=2, rng=0)
    test = hld.HLDTest(circuit, null="auto", rng=0)
    batches = [sample(circuit, 60, rng=seed) for seed in range(30)] + [np.zeros((60, 8), dtype=int)] * 3
    found = hld.test_batches(test, batches, alpha=0.05)
    assert found.reject[-3:].all()
    np.testing.assert_array_equal(found.reject, false_discovery_control(found.pvalues) <= 0.05)
    assert len(found.results) == 33
    assert str(found).endswith(f"smallest adjusted p = {found.adjusted.min():.3g}")
    assert (found.adjusted >= found.pvalues).all()


def test_no_batches():
    with pytest.raises(ValueError, match="`batches` is empty"):
        hld.test_batches(lambda batch, alpha: None, [])


@pytest.mark.parametrize("pvalue", [-0.1, 1.5, np.nan])
def test_what_returns_no_p_values_is_no_test(pvalue):
    with pytest.raises(ValueError, match="`test`"):
        hld.test_batches(lambda batch, alpha: SimpleNamespace(pvalue=pvalue), [[[0]]])
