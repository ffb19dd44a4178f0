"""The references by the names that `reference=` takes: add one by writing a class and a line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pcircuit
from hld.references.circuit import CircuitReference
from hld.references.reference import Reference
from hld.references.rows import row_reference


def _of_circuit(
    circuit: pcircuit.Circuit, nodes: np.ndarray, rows: Any, features: Any = None
) -> CircuitReference:
    """The circuit's own; features have no exact moments."""
    if features is not None:
        raise ValueError(
            "`metric` 'score' compares rows with rows: use reference='training' with `training_data`"
        )
    return CircuitReference(circuit, nodes)


# name -> function of circuit, nodes, training rows (None where there are none), and features of the score, if any
REFERENCES: dict[str, Callable[..., Reference]] = {
    "circuit": _of_circuit,
    "training": row_reference,  # type: ignore[dict-item]
}
FROM_ROWS = ("training",)  # those that need rows
