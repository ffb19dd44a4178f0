"""The parts of a detector's verdict that look at one count and at one dependence among many."""

from __future__ import annotations

from typing import Any

from hld.results.largest_count import largest_count
from hld.results.largest_dependence import largest_dependence


def has_largest(detector: Any) -> bool:
    """Whether a detector tests counts and dependences by themselves: by default, where rows were held out."""
    is_default = isinstance(detector.metric, str) and detector.metric in ("auto", "likelihoods")
    return is_default and detector.new_values_ is not None and detector.profile_ is not None


def largest_of(detector: Any, batch: Any) -> dict[str, Any]:
    """The largest count and the largest dependence of a detector's batch."""
    if batch is None or not has_largest(detector):
        return {}
    kept, tolerance = detector.profile_, detector.tolerance
    found: dict[str, Any] = {
        "largest_count": largest_count(kept, batch, detector.encoder_.ordered, tolerance)
    }
    if kept.associations is not None and len(batch.pairs) == len(kept.pairs):
        found["largest_dependence"] = largest_dependence(kept, batch, tolerance)
    return found
