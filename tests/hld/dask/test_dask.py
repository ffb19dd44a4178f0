"""Tables on a cluster: the same models and verdicts as here, also where a worker dies."""
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

import pcircuit
from hld import HLDDetector

pytest.importorskip("dask.dataframe")
import dask
import dask.array
import dask.dataframe
import pandas as pd

import hld.dask
from hld.dask.fitting import fit_flows
from hld.testing import row_sums

pytestmark = pytest.mark.thorough
OPTIONS = {"num_latents": 2, "num_epochs": 6, "num_resamples": 99}


@pytest.fixture(scope="module")
def table():
    """600 rows with categories, numbers and missing values."""
    rng = np.random.default_rng(3)
    group = rng.integers(2, size=600)
    frame = pd.DataFrame({"kind": np.array(["a", "b", "c"])[(group + (rng.random(600) < 0.2)) % 3],
                          "size": rng.normal(size=600) + 2 * group, "count": rng.poisson(3 + 4 * group)})
    frame.loc[rng.random(600) < 0.05, "size"] = np.nan
    return frame


def equal_circuits(first, second, rtol):
    """Raise unless two circuits have one structure, and parameters that agree."""
    assert first.vtree == second.vtree
    for own, other in zip(first.regions, second.regions, strict=True):
        name = "probs" if isinstance(own, pcircuit.InputRegion) else "weights"
        np.testing.assert_allclose(getattr(own, name), getattr(other, name), rtol=rtol, atol=1e-12)


def test_a_fit_on_partitions_is_the_local_fit(table):
    local = HLDDetector(**OPTIONS).fit(table)
    spread = hld.dask.fit(dask.dataframe.from_pandas(table, npartitions=5), HLDDetector(**OPTIONS))
    equal_circuits(local.circuit_, spread.circuit_, 1e-9)
    np.testing.assert_allclose(local.history_, spread.history_, rtol=1e-12)
    batch = table.iloc[:60]
    assert spread.test(batch).pvalue == pytest.approx(local.test(batch).pvalue, rel=1e-6)
    assert spread.num_train_ == local.num_train_ == 600


@pytest.mark.parametrize("num_parts", [9, 70])
def test_each_of_many_pieces_counts_once(num_parts):
    rows = np.random.default_rng(1).integers(3, size=(140, 3))
    start = pcircuit.hclt(rows, 2)
    fitted, history = fit_flows(start, [dask.delayed(part) for part in np.array_split(rows, num_parts)], num_epochs=2,
                                pseudocount=1.0)
    expected, likelihoods = pcircuit.fit_em(start, rows, num_epochs=2, pseudocount=1.0)
    equal_circuits(fitted, expected, 1e-9)
    np.testing.assert_allclose(history, likelihoods, rtol=1e-12)


def test_steps_of_some_partitions_average_their_flows():
    rows = np.random.default_rng(1).integers(3, size=(140, 3))
    sizes = [0, 30, 50, 20, 40]
    parts = np.split(rows, np.cumsum(sizes)[:-1])
    start = pcircuit.hclt(rows, 2)
    pieces = [dask.delayed(part) for part in parts]
    fitted, history = fit_flows(start, pieces, num_epochs=2, pseudocount=1.0, per_step=1, rng=np.random.default_rng(4))
    rng, expected, number = np.random.default_rng(4), start, 0
    average = 140 * pcircuit.expected_flows(start, [[-1] * 3])
    for _ in range(2):
        for i in rng.permutation(5).tolist():
            if sizes[i]:
                flows = pcircuit.expected_flows(expected, parts[i]) * (140 / sizes[i])
                weight = (number + 2) ** -0.6
                average = (1 - weight) * average + weight * flows
                expected, number = pcircuit.maximize(expected, average, pseudocount=1.0), number + 1
    equal_circuits(fitted, expected, 1e-9)
    assert len(history) == 3
    assert history[-1] == pytest.approx(pcircuit.log_likelihood(expected, rows).mean(), rel=1e-9)


def test_as_many_passes_reach_more_in_steps_of_partitions(table):
    frame = dask.dataframe.from_pandas(table, npartitions=20)
    steps, whole = (hld.dask.fit(frame, HLDDetector(**{**OPTIONS, "num_epochs": 3}), sample_rows=100,
                                 partitions_per_step=number) for number in (2, None))
    assert steps.history_[-1] > whole.history_[-1]


def test_em_sees_all_rows_but_those_of_the_reference(table):
    seen = []

    class Spy(HLDDetector):
        def fit(self, sample, y=None, **more):
            learner = more.pop("learner")

            def spying(start, codes, encoder):
                found = learner(start, codes, encoder)
                seen.append((start, codes, encoder, found, sample))
                return found
            return super().fit(sample, y, learner=spying, **more)

    frame = dask.dataframe.from_pandas(table, npartitions=4)
    spread = hld.dask.fit(frame, Spy(**OPTIONS), sample_rows=200)
    start, codes, encoder, (_, _, num_learned), sample = seen[0]
    assert len(sample) == 200
    assert spread.num_train_ == 600
    assert num_learned == 400 + len(codes)
    others = encoder.encode(table.drop(sample.index))[0]
    alone, history = pcircuit.fit_em(start, np.concatenate([codes, others.astype(np.int64)]), num_epochs=6,
                                     pseudocount=spread.pseudocount)
    equal_circuits(spread.circuit_, alone, 1e-9)
    np.testing.assert_allclose(spread.history_, history, rtol=1e-12)


def test_sums_on_partitions_are_those_of_the_table(table):
    detector = HLDDetector(**OPTIONS).fit(table)
    summary = hld.dask.summarize(detector, dask.dataframe.from_pandas(table.iloc[:90], npartitions=11))
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
    monkeypatch.setattr(row_sums, "MOST_PAIRED", 100)
    detector = HLDDetector(**OPTIONS).fit(table)
    whole = detector.test(table)
    with dask.config.set(scheduler="synchronous"):
        result = hld.dask.judge(detector, dask.dataframe.from_pandas(table, npartitions=7))
    assert result.num_samples == 600
    np.testing.assert_allclose(result.deltas, whole.deltas, rtol=1e-9, atol=1e-13)
    assert [one.observed.tolist() for one in result.columns] == [one.observed.tolist() for one in whole.columns]


def test_partitions_without_rows_count_nothing(table):
    detector = HLDDetector(**OPTIONS).fit(table)
    result = hld.dask.judge(detector, [dask.delayed(part) for part in (table[:0], table[:40], table[:0], table[40:90])])
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
    with pytest.raises(ValueError, match="`detector` was fitted with `groups`, `order` or `covariates`"):
        hld.dask.judge(detector, dask.dataframe.from_pandas(table, npartitions=2))


def test_arrays_and_delayed_pieces(table):
    rows = np.random.default_rng(0).integers(3, size=(300, 4))
    local = HLDDetector(**OPTIONS).fit(rows)
    of_array = hld.dask.fit(dask.array.from_array(rows, chunks=(70, 2)), HLDDetector(**OPTIONS))
    of_pieces = hld.dask.fit([dask.delayed(part) for part in np.array_split(rows, 3)], HLDDetector(**OPTIONS))
    equal_circuits(local.circuit_, of_array.circuit_, 1e-9)
    equal_circuits(local.circuit_, of_pieces.circuit_, 1e-9)


@pytest.mark.parametrize(("call", "error", "match"), [
    (lambda: hld.dask.fit([[1, 2]]), TypeError, "`table` must be a dask.dataframe"),
    (lambda: hld.dask.fit([]), ValueError, "no partition"),
    (lambda: hld.dask.fit(dask.array.zeros((3,), chunks=2)), ValueError, "two dimensions"),
    (lambda: hld.dask.fit(dask.array.zeros((0, 3))), ValueError, "no rows"),
    (lambda: hld.dask.fit(dask.array.zeros((9, 3)), "auto"), TypeError, "`detector` must be an HLDDetector"),
    (lambda: hld.dask.fit(dask.array.zeros((9, 3)), sample_rows=1), ValueError, "`sample_rows`"),
    (lambda: hld.dask.fit(dask.array.zeros((9, 3)), partitions_per_step=0), ValueError, "`partitions_per_step`"),
])
def test_bad_arguments(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r"tables on a cluster need Dask: pip install 'hld\[dask\]'"):
        hld.dask.fit(None)


def flows_of_slow_rows(codes, seconds):
    """Codes that take their time."""
    time.sleep(seconds)
    return codes


def test_a_worker_that_dies_in_an_epoch_changes_nothing():
    distributed = pytest.importorskip("distributed")
    rows = np.random.default_rng(0).integers(3, size=(400, 5))
    start = pcircuit.hclt(rows, 2)
    expected, _ = pcircuit.fit_em(start, rows, num_epochs=30, pseudocount=1.0)
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        # half a second for the codes, so the first epochs run when the worker dies
        parts = dask.persist(*[dask.delayed(flows_of_slow_rows)(part, 0.1) for part in np.array_split(rows, 8)])
        pids = list(client.run(os.getpid).values())
        killer = threading.Timer(0.6, os.kill, (pids[0], signal.SIGKILL))
        killer.start()
        fitted, _ = fit_flows(start, parts, num_epochs=30, pseudocount=1.0)
        killer.join()
        assert pids[0] not in client.run(os.getpid).values()
    equal_circuits(fitted, expected, 1e-9)
