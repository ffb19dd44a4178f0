"""A detector of five noisy copies of a coin, and a monitor of streams of them."""

import numpy as np
import pytest
from streams import noisy_copies

import hld


@pytest.fixture(scope="session")
def detector():
    return hld.HLDDetector(num_latents=2, num_epochs=5, null="exact").fit(
        noisy_copies(400, np.random.default_rng(0))
    )


@pytest.fixture
def monitor(detector):
    return hld.StreamMonitor(detector, noisy_copies(600, np.random.default_rng(1)))
