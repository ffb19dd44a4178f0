"""Metrics of files of version 1: the maps that are read give the distances that the seven fields stood for."""

import numpy as np
import pytest

from hld.files.calibration_v1 import parts_of_version_1
from hld.vectors.windows import read_map
from pcircuit.files.contents import under_prefix

DIRECTION = np.array([[0.6], [0.8], [0.0]])
NO_ROWS = {"index": np.zeros((0, 0), np.int32), "coefficients": np.zeros((0, 0))}
ROWS = {
    "index": np.array([[0, 1], [1, 2]], np.int32),
    "coefficients": np.array([[2.0, -1.0], [0.5, 3.0]]),
}


def read(base, *, weights=(1.0, 1.0, 1.0), vectors=None, gains=(), rows=NO_ROWS):
    """The map of a test of three nodes with one metric."""
    parts = {
        "weights": np.array(weights),
        "vectors": np.zeros((3, 0)) if vectors is None else vectors,
        "gains": np.array(gains),
        **rows,
    }
    arrays = {
        "nodes": np.arange(3),
        "mean": np.full(3, 0.5),
        "stds": np.full(3, 0.1),
        **{f"metric.0.{name}": part for name, part in parts.items()},
    }
    scalars = {
        "metrics": ["own"],
        "bases": [base],
        "laws": [{"trace": 1.0, "trace_sq": 1.0}],
        "switch": None,
        "draws": None,
    }
    found, arrays = parts_of_version_1(scalars, arrays, 0.0)
    return read_map(found["metrics"][0], under_prefix("metric.0.", arrays), 3)


@pytest.mark.parametrize("gain", [-1.0, -0.25, 0.0, 0.5, 7.0])
def test_distances_along_directions(gain, rng):
    Z = rng.normal(size=(5, 3))
    expected = 1.0 * (Z**2).sum(axis=1) + gain * (Z @ DIRECTION[:, 0]) ** 2
    np.testing.assert_allclose(
        read(1.0, vectors=DIRECTION, gains=[gain]).squared(Z), expected, atol=1e-14
    )


def test_distances_by_node_weights_and_by_rows(rng):
    Z = rng.normal(size=(5, 3))
    weighted = read(2.0, weights=(1.0, 0.5, 3.0)).squared(Z)
    np.testing.assert_allclose(weighted, 2 * ((Z * [1.0, 0.5, 3.0]) ** 2).sum(axis=1), rtol=1e-14)
    of_rows = (2 * Z[:, 0] - Z[:, 1]) ** 2 + (0.5 * Z[:, 1] + 3 * Z[:, 2]) ** 2
    np.testing.assert_allclose(read(0.0, rows=ROWS).squared(Z), of_rows, rtol=1e-14)


@pytest.mark.parametrize(
    ("base", "options"),
    [
        (1.0, {"vectors": DIRECTION, "gains": [-1.5]}),  # negative along the direction
        (0.0, {"vectors": DIRECTION, "gains": [1.0]}),
        (0.0, {}),
        (1.0, {"rows": ROWS}),
        (0.0, {"rows": ROWS, "weights": (1.0, 2.0, 1.0)}),  # two parts at once
        (1.0, {"vectors": DIRECTION, "gains": [1.0], "weights": (1.0, 2.0, 1.0)}),
    ],
)
def test_what_is_no_norm_is_refused(base, options):
    with pytest.raises(ValueError, match="metric 'own' is not a norm"):
        read(base, **options)
