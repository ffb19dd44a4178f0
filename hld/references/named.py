"""The references by the names that `reference=` takes: add one by writing a class and a line here."""
from __future__ import annotations

from collections.abc import Callable

from hld.references.circuit import CircuitReference
from hld.references.reference import Reference
from hld.references.rows import row_reference


def _of_circuit(circuit, nodes, rows):
    """The circuit's own."""
    return CircuitReference(circuit, nodes)


# name -> function of circuit, nodes and training rows (None where there are none)
REFERENCES: dict[str, Callable[..., Reference]] = {
    "circuit": _of_circuit,
    "training": row_reference,
}
FROM_ROWS = ("training",)  # those that need rows
