"""Which engines a test can run: both, or NumPy alone where Numba is not installed."""

import importlib.util

import pytest

HAS_NUMBA = importlib.util.find_spec("numba") is not None
ENGINES = ("numpy", "numba") if HAS_NUMBA else ("numpy",)
WITHOUT_NUMBA = "needs Numba, which is not installed here"
needs_numba = pytest.mark.skipif(not HAS_NUMBA, reason=WITHOUT_NUMBA)
