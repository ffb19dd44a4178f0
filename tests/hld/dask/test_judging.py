"""Batches on a cluster: sums and verdicts are those of the rows together."""

import numpy as np
import pytest

from hld import HLDDetector

pytest.importorskip("dask.dataframe")
import dask
import dask.dataframe

import hld.dask
from hld.testing.summaries import summing

pytestmark = pytest.mark.thorough
OPTIONS = {"num_latents": 2, "num_epochs": 6, "num_resamples": 99}


def test_sums_on_partitions_are_those_of_the_table(table):
    detector = HLDDetector(**OPTIONS).fit(table)
    summary = hld.dask.summarize(
        detector, dask.dataframe.from_pandas(table.iloc[:90], npartitions=11)
    )
    assert summary.num_rows == 90
    np.testing.assert_allclose(summary.means, detector.summarize(table.iloc[:90]).means, rtol=1e-12)


@pytest.mark.parametrize("shift", [0, 3])
def test_a_verdict_on_partitions_is_that_of_the_rows(table, shift):
    detector = HLDDetector(**OPTIONS).fit(table)
    batch = table.iloc[:90].assign(size=lambda frame: frame["size"] + shift)
    result = hld.dask.judge(detector, dask.dataframe.from_pandas(batch, npartitions=11))
    assert result.to_dict() == detector.test(batch).to_dict()
    assert result.reject == bool(shift)


def test_of_long_batches_sums_are_exact_and_rows_a_sample(table, monkeypatch):
    monkeypatch.setattr(summing, "MOST_PAIRED", 100)
    detector = HLDDetector(**OPTIONS).fit(table)
    whole = detector.test(table)
    with dask.config.set(scheduler="synchronous"):
        result = hld.dask.judge(detector, dask.dataframe.from_pandas(table, npartitions=7))
    assert result.num_samples == 600
    np.testing.assert_allclose(result.deltas, whole.deltas, rtol=1e-9, atol=1e-13)
    assert [one.observed.tolist() for one in result.columns] == [
        one.observed.tolist() for one in whole.columns
    ]


def test_partitions_without_rows_count_nothing(table):
    detector = HLDDetector(**OPTIONS).fit(table)
    result = hld.dask.judge(
        detector, [dask.delayed(part) for part in (table[:0], table[:40], table[:0], table[40:90])]
    )
    assert result.to_dict() == detector.test(table[:90]).to_dict()
    with pytest.raises(ValueError, match="`table` has no rows: at least one is needed"):
        hld.dask.judge(detector, [dask.delayed(table[:0])] * 2)


@pytest.mark.parametrize("function", [hld.dask.judge, hld.dask.summarize])
def test_detectors_are_checked_before_any_work(function):
    with pytest.raises(TypeError, match="`detector` must be an HLDDetector, found str"):
        function("model.hld", None)
    with pytest.raises(ValueError, match="this HLDDetector is not fitted"):
        function(HLDDetector(), None)


def test_groups_need_the_rows_together(table):
    detector = HLDDetector(**OPTIONS).fit(table, groups=np.arange(600) % 60)
    with pytest.raises(
        ValueError, match="`detector` was fitted with `groups`, `order` or `covariates`"
    ):
        hld.dask.judge(detector, dask.dataframe.from_pandas(table, npartitions=2))
