"""Metrics that weigh nodes: the paper's, the standardised one, and any positive weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from hld.references.reference import Reference
from hld.vectors.linear_maps import Scaled

LEAST = 1e-6  # share of the largest deviation below which none is taken


def euclidean(reference: Reference, **options: Any) -> Scaled:
    """The paper's metric: every node with weight 1, so that those with the largest likelihoods decide."""
    return Scaled("euclidean", np.ones(len(reference.nodes)))


def standardized(reference: Reference, **options: Any) -> Scaled:
    """Every node with weight 1 / sigma_j: the circuit's deviation, which is not small by chance as that of rows is."""
    stds = np.sqrt(np.maximum(reference.model.diagonal(), 0.0))
    largest = stds.max()
    return Scaled(
        "standardized",
        1.0 / np.maximum(stds, LEAST * largest) if largest > 0 else np.ones(len(stds)),
    )


def weighted(weights: np.ndarray) -> Scaled:
    """Every node with a weight of its own."""
    return Scaled("weights", np.array(weights, dtype=np.float64))
