"""Columns of a body that no answer needs: what their cells are does not matter."""

from __future__ import annotations

from typing import Any


def is_needed(encoder: Any, name: str) -> bool:
    """Whether a model looks at a column of this name."""
    known = {*encoder.table_names, *encoder.names, *(one.source for one in encoder.derived)}
    return not encoder.by_name or name in known
