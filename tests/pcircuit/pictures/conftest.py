"""Axes for the tests of pictures, on no screen."""

import matplotlib
import pytest
from matplotlib.figure import Figure

matplotlib.use("Agg")


@pytest.fixture
def ax():
    return Figure(figsize=(6, 4)).add_subplot()
