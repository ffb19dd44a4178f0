"""A table for the tests on a cluster."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="module")
def table():
    """600 rows with categories, numbers and missing values."""
    rng = np.random.default_rng(3)
    group = rng.integers(2, size=600)
    frame = pd.DataFrame(
        {
            "kind": np.array(["a", "b", "c"])[(group + (rng.random(600) < 0.2)) % 3],
            "size": rng.normal(size=600) + 2 * group,
            "count": rng.poisson(3 + 4 * group),
        }
    )
    frame.loc[rng.random(600) < 0.05, "size"] = np.nan
    return frame
