"""Many batches: adjusted p-values, and the share of false discoveries."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control

import hld
from pcircuit import rat_spn, sample


def test_shifted_batches_are_found_among_many():
    circuit = rat_spn([2] * 8, num_units=4, depth=2, rng=0)
    test = hld.HLDTest(circuit, null="auto", rng=0)
    batches = [sample(circuit, 60, rng=seed) for seed in range(30)] + [
        np.zeros((60, 8), dtype=int)
    ] * 3
    found = hld.test_batches(test, batches, alpha=0.05)
    assert found.reject[-3:].all()
    np.testing.assert_array_equal(found.reject, false_discovery_control(found.pvalues) <= 0.05)
    assert len(found.results) == 33
    assert str(found).endswith(f"smallest adjusted p = {found.adjusted.min():.3g}")
    assert (found.adjusted >= found.pvalues).all()


@pytest.mark.parametrize(
    ("bad", "kind"),
    [([[0, 1, 2]], ValueError), ([["a", "b"]], TypeError), (np.empty((0, 8)), ValueError)],
)
def test_the_batch_that_is_refused_is_named(bad, kind):
    circuit = rat_spn([2] * 8, num_units=4, depth=2, rng=0)
    good = sample(circuit, 60, rng=0)
    with pytest.raises(kind, match=r"^`batches\[2\]` cannot be tested: `") as found:
        hld.test_batches(hld.HLDTest(circuit), [good, good, bad, good])
    assert isinstance(found.value.__cause__, kind)


@pytest.mark.parametrize(
    ("batches", "error", "said"),
    [
        ([], ValueError, "`batches` is empty"),
        ({"monday": [[0]]}, TypeError, "found one dict: give batches"),
        (pd.DataFrame({"a": [1]}), TypeError, "found one DataFrame: give batches"),
        *(([pvalue], ValueError, "`test`") for pvalue in (-0.1, 1.5, np.nan)),
    ],
)
def test_what_is_no_list_of_batches_or_no_p_value_is_refused(batches, error, said):
    with pytest.raises(error, match=said):
        hld.test_batches(lambda batch, alpha: SimpleNamespace(pvalue=batch), batches)
