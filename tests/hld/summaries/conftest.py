"""A detector of several metrics, and the summary of some of its rows."""

import numpy as np
import pytest

import hld

METRICS = ("euclidean", "standardized", "marginals", "whitened")


@pytest.fixture(scope="session")
def detector():
    rng = np.random.default_rng(3)
    table = rng.integers(0, 3, size=(400, 3))
    table[:, 1] = (table[:, 0] + rng.integers(0, 2, size=400)) % 3
    return hld.HLDDetector(num_latents=4, num_epochs=30, metric=METRICS).fit(table), table


@pytest.fixture
def found(detector):
    return detector[0].summarize(detector[1][:50])
