r"""Distances of batches drawn from rows.

The mean of a batch drawn with replacement from n centred rows z_i is sum_i w_i z_i, with w_i the row's share of the
batch (`hld.references.rows.distances_of_sums`).
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hld.references.rows import DENSE, SPARSE, costs_of_sums, distances_of_sums, resampled_weights

MULTIPLY = 0.1  # of a multiplication in a matrix product, in additions to a mean
BLOCK_VALUES = 2**22  # numbers of means, or weights of rows, that are held at a time


@dataclass(frozen=True, eq=False)
class ResampledDistances:
    """Squared distances of batches drawn from some rows, see the module; shapes rows (n, m)."""

    metrics: tuple[Any, ...]
    rows: np.ndarray
    known: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __call__(self, T: int, B: int, rng: np.random.Generator) -> np.ndarray:
        """(B, q) squared distances of B batches of T rows."""
        step = max(1, BLOCK_VALUES // max(self.rows.shape))
        blocks = []
        for start in range(0, B, step):
            weights = resampled_weights(len(self.rows), T, min(step, B - start), rng)
            blocks.append(distances_of_sums(self.metrics, self.rows, weights, self.known))
        return np.concatenate(blocks)

    def cost(self, T: int) -> float:
        """About what one batch of T rows costs, in additions."""
        n = len(self.rows)
        drawn = SPARSE * T if n > DENSE * T else n
        return MULTIPLY * min(costs_of_sums(self.metrics, self.rows.shape, drawn))
