"""What a stream monitor requires of a detector: that it is fitted, and which one it is."""
from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

import pcircuit


def check_fitted_detector(detector: Any) -> None:
    """Raise unless a detector is fitted."""
    if getattr(detector, "test_", None) is None or getattr(detector, "encoder_", None) is None:
        raise TypeError(f"`detector` must be a fitted HLDDetector, found {type(detector).__name__}")


def fingerprint(circuit: pcircuit.Circuit) -> str:
    """A digest of a circuit's numbers."""
    digest = hashlib.sha256()
    for name, array in sorted(pcircuit.to_arrays(circuit).items()):
        digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
