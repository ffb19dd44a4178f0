"""Detectors fitted on a cluster: the same models as here, also where a worker dies."""

import os
import signal
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

import hld.dask
from hld.dask.fitting import fit_flows

pytestmark = pytest.mark.thorough
OPTIONS = {"num_latents": 2, "num_epochs": 6, "num_resamples": 99}


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
    fitted, history = fit_flows(
        start,
        [dask.delayed(part) for part in np.array_split(rows, num_parts)],
        num_epochs=2,
        pseudocount=1.0,
    )
    expected, likelihoods = pcircuit.fit_em(start, rows, num_epochs=2, pseudocount=1.0)
    equal_circuits(fitted, expected, 1e-9)
    np.testing.assert_allclose(history, likelihoods, rtol=1e-12)


def test_steps_of_some_partitions_average_their_flows():
    rows = np.random.default_rng(1).integers(3, size=(140, 3))
    sizes = [0, 30, 50, 20, 40]
    parts = np.split(rows, np.cumsum(sizes)[:-1])
    start = pcircuit.hclt(rows, 2)
    pieces = [dask.delayed(part) for part in parts]
    fitted, history = fit_flows(
        start, pieces, num_epochs=2, pseudocount=1.0, per_step=1, rng=np.random.default_rng(4)
    )
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
    steps, whole = (
        hld.dask.fit(
            frame,
            HLDDetector(**{**OPTIONS, "num_epochs": 3}),
            sample_rows=100,
            partitions_per_step=number,
        )
        for number in (2, None)
    )
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
    alone, history = pcircuit.fit_em(
        start,
        np.concatenate([codes, others.astype(np.int64)]),
        num_epochs=6,
        pseudocount=spread.pseudocount,
    )
    equal_circuits(spread.circuit_, alone, 1e-9)
    np.testing.assert_allclose(spread.history_, history, rtol=1e-12)


def test_arrays_and_delayed_pieces(table):
    rows = np.random.default_rng(0).integers(3, size=(300, 4))
    local = HLDDetector(**OPTIONS).fit(rows)
    of_array = hld.dask.fit(dask.array.from_array(rows, chunks=(70, 2)), HLDDetector(**OPTIONS))
    of_pieces = hld.dask.fit(
        [dask.delayed(part) for part in np.array_split(rows, 3)], HLDDetector(**OPTIONS)
    )
    equal_circuits(local.circuit_, of_array.circuit_, 1e-9)
    equal_circuits(local.circuit_, of_pieces.circuit_, 1e-9)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: hld.dask.fit([[1, 2]]), TypeError, "`table` must be a dask.dataframe"),
        (lambda: hld.dask.fit([]), ValueError, "no partition"),
        (lambda: hld.dask.fit(dask.array.zeros((3,), chunks=2)), ValueError, "two dimensions"),
        (lambda: hld.dask.fit(dask.array.zeros((0, 3))), ValueError, "no rows"),
        (
            lambda: hld.dask.fit(dask.array.zeros((9, 3)), "auto"),
            TypeError,
            "`detector` must be an HLDDetector",
        ),
        (
            lambda: hld.dask.fit(dask.array.zeros((9, 3)), sample_rows=1),
            ValueError,
            "`sample_rows`",
        ),
        (
            lambda: hld.dask.fit(dask.array.zeros((9, 3)), partitions_per_step=0),
            ValueError,
            "`partitions_per_step`",
        ),
    ],
)
def test_bad_arguments(call, error, match):
    with pytest.raises(error, match=match):
        call()


def flows_of_slow_rows(codes, seconds):
    """Codes that take their time."""
    time.sleep(seconds)
    return codes


def test_a_worker_that_dies_in_an_epoch_changes_nothing():
    distributed = pytest.importorskip("distributed")
    rows = np.random.default_rng(0).integers(3, size=(400, 5))
    start = pcircuit.hclt(rows, 2)
    expected, _ = pcircuit.fit_em(start, rows, num_epochs=30, pseudocount=1.0)
    options = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": ":0",
    }
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        # half a second for the codes, so the first epochs run when the worker dies
        parts = dask.persist(
            *[dask.delayed(flows_of_slow_rows)(part, 0.1) for part in np.array_split(rows, 8)]
        )
        pids = list(client.run(os.getpid).values())
        killer = threading.Timer(0.6, os.kill, (pids[0], signal.SIGKILL))
        killer.start()
        fitted, _ = fit_flows(start, parts, num_epochs=30, pseudocount=1.0)
        killer.join()
        assert pids[0] not in client.run(os.getpid).values()
    equal_circuits(fitted, expected, 1e-9)
