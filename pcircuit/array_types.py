"""Names for the types of arrays in annotations.  Shapes are given in docstrings: NumPy's types do not carry them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Evidence: TypeAlias = NDArray[Any]  # integers of any size, signed or not
Weights: TypeAlias = Any  # Floats, or scipy.sparse.csr_array, which has no type information
Seed: TypeAlias = int | np.random.Generator | None
