"""Fingerprints: equal for equal models, whoever holds their numbers, and others for everything that sums depend on."""

from dataclasses import replace

import numpy as np
import pytest
import zoo

import hld
from hld.testing.summaries.summary import detector_fingerprint, test_fingerprint

CIRCUIT = zoo.circuits()["two_coins"]
CALIBRATION = hld.HLDTest(CIRCUIT, metric=("euclidean", "standardized")).calibration


def stored(array):
    """The same numbers, in another order of bytes and not side by side."""
    return np.repeat(array, 2).astype(array.dtype.newbyteorder(">"))[::2]


def test_equal_models_have_equal_fingerprints_of_64_digits():
    """The law of the distance has no part in sums, nor has the way in which numbers lie in memory."""
    found = test_fingerprint(CIRCUIT, CALIBRATION)
    assert len(found) == 64
    assert set(found) <= set("0123456789abcdef")
    again = hld.HLDTest(CIRCUIT, null="auto", rng=5, num_resamples=99).calibration
    same = {
        "nodes": stored(CALIBRATION.nodes),
        "mean": stored(CALIBRATION.mean),
        "metrics": CALIBRATION.metrics,
    }
    assert test_fingerprint(zoo.two_coins(), replace(again, **same)) == found


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
