"""Fingerprints: equal for equal models, whoever holds their numbers, and others for everything that sums depend on."""

from dataclasses import replace

import numpy as np
import pytest
import zoo

import hld
from hld.summaries.summing import detector_fingerprint, test_fingerprint
from pcircuit import select_nodes

CIRCUIT = zoo.circuits()["two_coins"]
CALIBRATION = hld.HLDTest(CIRCUIT, metric=("euclidean", "standardized")).calibration


def test_equal_models_have_equal_fingerprints_of_64_digits():
    found = test_fingerprint(CIRCUIT, CALIBRATION)
    assert len(found) == 64
    assert set(found) <= set("0123456789abcdef")
    again = hld.HLDTest(
        CIRCUIT, metric=("euclidean", "standardized"), null="auto", rng=5, num_resamples=99
    ).calibration
    again = replace(
        again, mean=CALIBRATION.mean.copy(), metrics=CALIBRATION.metrics
    )  # its own may differ in rounding
    assert (
        test_fingerprint(zoo.two_coins(), again) == found
    )  # the law of the distance has no part in sums


def test_it_is_the_numbers_that_count_and_not_how_they_lie_in_memory():
    def stored(array):
        return np.repeat(array, 2).astype(array.dtype.newbyteorder(">"))[::2]

    other = replace(CALIBRATION, nodes=stored(CALIBRATION.nodes), mean=stored(CALIBRATION.mean))
    assert not other.mean.flags.c_contiguous
    assert test_fingerprint(CIRCUIT, other) == test_fingerprint(CIRCUIT, CALIBRATION)


@pytest.mark.parametrize(
    "change",
    [
        {"mean": np.nextafter(CALIBRATION.mean, 1)},
        {"nodes": CALIBRATION.nodes[::-1].copy()},
        {"metrics": CALIBRATION.metrics[::-1]},
        {"metrics": CALIBRATION.metrics[:1]},
    ],
    ids=["mean", "nodes", "order", "fewer"],
)
def test_what_sums_and_spread_depend_on_changes_it(change):
    assert test_fingerprint(CIRCUIT, replace(CALIBRATION, **change)) != test_fingerprint(
        CIRCUIT, CALIBRATION
    )


def test_each_metric_counts_by_its_own_numbers():
    plain, other = (
        replace(CALIBRATION.metrics[0], weights=np.full(len(CALIBRATION.nodes), one))
        for one in (1.0, 2.0)
    )
    pairs = [(plain, plain), (other, plain), (plain, other), (other, other)]
    assert (
        len({test_fingerprint(CIRCUIT, replace(CALIBRATION, metrics=pair)) for pair in pairs}) == 4
    )


def test_another_circuit_of_the_same_shape_has_another():
    other = zoo.mixture_of_two([[0.9, 0.1], [0.7, 0.3]], [[0.2, 0.8], [0.4, 0.6]])
    moved = zoo.mixture_of_two([[0.9, 0.1], [0.7, 0.3]], [[0.2, 0.8], [0.4, np.nextafter(0.6, 1)]])
    assert select_nodes(other).tolist() == select_nodes(moved).tolist()
    assert test_fingerprint(other, CALIBRATION) != test_fingerprint(moved, CALIBRATION)


def test_a_detector_has_that_of_its_test_and_of_how_it_reads_tables():
    table = {"a": [0, 1] * 20, "b": ["u", "v", "v", "u"] * 10}
    schema = hld.learn_schema(table)
    found = detector_fingerprint("0" * 64, schema)
    assert found == detector_fingerprint("0" * 64, hld.TableSchema.from_dict(schema.to_dict()))
    assert found not in ("0" * 64, detector_fingerprint("1" * 64, schema))
    renamed = hld.learn_schema({"a": table["a"], "c": table["b"]})
    other_levels = hld.learn_schema(table | {"b": ["u", "w", "w", "u"] * 10})
    assert (
        len({found, *(detector_fingerprint("0" * 64, one) for one in (renamed, other_levels))}) == 3
    )
