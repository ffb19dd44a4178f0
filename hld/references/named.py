"""The references by the names that `reference=` takes: add one by writing a class and a line here."""

from __future__ import annotations

from collections.abc import Callable

from hld.references.circuit import CircuitReference
from hld.references.reference import Reference
from hld.references.rows import row_reference

# name -> function of circuit, nodes, training rows (None where there are none), and features of the score, if any
REFERENCES: dict[str, Callable[..., Reference]] = {
    "circuit": lambda circuit, nodes, *_, **features: CircuitReference(circuit, nodes),
    "training": row_reference,  # type: ignore[dict-item]
}
FROM_ROWS = ("training",)  # those that need rows
