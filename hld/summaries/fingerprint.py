"""Which model a summary is for: a hash of everything that its sums depend on.

Sums of likelihoods mean something only with the circuit and the nodes that they were made with; with another model
they would silently give a wrong p-value.  The fingerprint is the SHA-256 of the circuit, the nodes, the reference
mean and the metrics (by which the spread is measured), so it is the same in every process that read the same file.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

import pcircuit
from pcircuit.files.circuit_file import to_arrays


def test_fingerprint(circuit: pcircuit.Circuit, calibration: Any) -> str:
    """The fingerprint of a test."""
    digest = hashlib.sha256(b"hld.summary 1")
    arrays = to_arrays(circuit) | {"nodes": calibration.nodes, "mean": calibration.mean}
    for i, metric in enumerate(calibration.metrics):
        scalars, own = metric.to_parts()
        digest.update(json.dumps(scalars, sort_keys=True).encode())
        arrays |= {f"metric.{i}.{name}": array for name, array in own.items()}
    for name, array in sorted(arrays.items()):
        array = np.ascontiguousarray(array)
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


test_fingerprint.__test__ = False  # type: ignore[attr-defined]  # its name must not make a test runner collect it


def detector_fingerprint(test: str, schema: Any) -> str:
    """The fingerprint of a detector: of its test, and of how it reads tables."""
    form = json.dumps(schema.to_dict(), sort_keys=True)
    return hashlib.sha256(f"{test} {form}".encode()).hexdigest()
