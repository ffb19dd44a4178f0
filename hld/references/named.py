"""The references by the names that `reference=` takes: add one by writing a class and a line here."""
from __future__ import annotations

from collections.abc import Callable

from hld.references.circuit import CircuitReference
from hld.references.reference import Reference
from hld.references.rows import row_reference


def _of_circuit(circuit, nodes, rows, features=None):
    """The circuit's own; features have no exact moments."""
    if features is not None:
        raise ValueError("`metric` 'score' compares rows with rows: use reference='training' with `training_data`")
    return CircuitReference(circuit, nodes)


# name -> function of circuit, nodes, training rows (None where there are none), and features of the score, if any
REFERENCES: dict[str, Callable[..., Reference]] = {
    "circuit": _of_circuit,
    "training": row_reference,
}
FROM_ROWS = ("training",)  # those that need rows
