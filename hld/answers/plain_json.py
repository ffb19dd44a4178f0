"""Values in the form that JSON can hold, which has no NaN, no infinities and no NumPy arrays."""
from __future__ import annotations

import math
from typing import Any


def plain_json(value: Any) -> Any:
    """A value in the form that JSON can hold: arrays become lists, NaN and infinities null, other objects their text.

    Examples
    --------
    >>> import numpy as np
    >>> plain_json({"p": np.float64("nan"), "counts": np.arange(3), 1: None})
    {'p': None, 'counts': [0, 1, 2], '1': None}
    """
    if isinstance(value, dict):
        return {str(key): plain_json(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_json(entry) for entry in value]
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        return plain_json(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
