"""A test in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from hld.answers.words import least_text

SHOWN_SIZES = (1, 2, 5, 10, 100, 1000, 10_000)  # whose smallest p-values are listed


def described(test: Any) -> str:
    """What an `HLDTest` does, in a few lines."""
    kinds, counts = np.unique(test.circuit.nodes.kind[test.nodes], return_counts=True)
    m = len(test.nodes)
    lines = [
        f"HLD test against {test.circuit!r}",
        f"nodes: {len(test.nodes)} ({', '.join(f'{n} {k}' for k, n in zip(kinds, counts, strict=True))})",
        f"reference: {test.reference}; total variance tr(S) = {float(test.stds[:m] @ test.stds[:m]):.6g}",
        "null:",
        *test.calibration.null.describe(test.metric_names),
        "estimation error: ignored (no num_train)"
        if test.num_train is None
        else f"estimation error: null scaled by 1 + T / {test.num_train}",
    ]
    lines.append(
        "smallest p-value: "
        + "; ".join(f"T = {T}: {least_text(test.least_pvalue(T))}" for T in SHOWN_SIZES)
    )
    if test.tolerance:
        lines.append(
            f"tolerance: drifts of up to {test.tolerance:g} typical single-row distances are accepted"
        )
    return "\n".join(lines)
