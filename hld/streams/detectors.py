"""What a stream monitor requires of a detector: that it is fitted, and which one it is."""

from __future__ import annotations

import hashlib
import warnings
from typing import Any

import numpy as np

import pcircuit
from pcircuit.files.circuit_file import to_arrays


def check_fitted_detector(detector: Any) -> None:
    """Raise unless a detector is fitted."""
    if getattr(detector, "test_", None) is None or getattr(detector, "encoder_", None) is None:
        raise TypeError(
            f"`detector` must be a fitted HLDDetector, found {type(detector).__name__}: fit or "
            "load one"
        )


def warn_of_kind(detector: Any, has_groups: bool) -> None:
    """Warn where rows one by one are not what a detector was fitted to judge."""
    kind = getattr(detector.judge_, "kind", None)
    if kind == "covariates" or (kind is not None and not has_groups):
        said = {
            "groups": "`groups`, whose rows resemble one another: give `groups`, and a batch in each update",
            "time": "`order`='time', so its rows resemble their neighbours, and false alarms are not bounded",
            "covariates": "`covariates`, which may move, but the monitor raises its alarm when they do",
        }[kind]
        warnings.warn(f"`detector` was fitted with {said}", UserWarning, stacklevel=3)


def fingerprint(circuit: pcircuit.Circuit) -> str:
    """A digest of a circuit's numbers."""
    digest = hashlib.sha256()
    for name, array in sorted(to_arrays(circuit).items()):
        digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
