r"""Planned batches with holes, where reference rows have them: as many, in the same places.

Of k reference rows k_j show node j, and k_ij show both i and j.  A batch of T rows with the same shares of holes has
T_j = T k_j / k and T_ij = T k_ij / k, so that the test, which compares each node by the rows that show it
(`hld.references.available`), sees

.. math:: Z_j = g_j (\bar L_j - \mu_j), \qquad g_j^2 = k_j / k, \qquad
          \mathrm{Cov}(Z) = (1/T + 1/k)\, S \circ R, \qquad R_{ij} = g_i g_j \frac{k\, k_{ij}}{k_i k_j},

and judges it by the laws of S o R.  A shift delta moves Z by g delta: the more cells are missing, the less is found.
Cells are taken to be missing as often with the shift as without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hld.nulls.limit_law import limit_law
from hld.references.available import FEWEST
from hld.references.covariances import through


@dataclass(frozen=True, eq=False)
class PlannedHoles:
    """What a test sees of batches of T rows with the holes of its reference rows.

    Shapes: weights (size,), correlations (size, size).
    """

    weights: np.ndarray
    correlations: np.ndarray
    laws: tuple[Any, ...]


def planned_holes(test: Any, T: int) -> PlannedHoles | None:
    """The holes of batches of T rows as a test expects them."""
    parts = test.calibration
    kept = parts.kept
    if kept is None or not kept.has_holes or not len(kept.shared):
        return None
    shown, k = kept.counts / kept.num_rows, kept.num_rows
    g = np.where(_enough(T * shown, T) & _enough(kept.counts, k), np.sqrt(shown), 0.0)
    R = np.outer(g, g) * kept.shared * k
    laws = tuple(
        replace(limit_law(through(metric, kept.covariance * R)), excess=law.excess, _prepared={})
        for metric, law in zip(parts.metrics, parts.null.laws, strict=True)
    )
    return PlannedHoles(g, R, laws)


def _enough(counts: np.ndarray, num_rows: int) -> Any:
    """(size,) whether a node is shown by enough rows to count."""
    return counts >= max(min(num_rows / 2, FEWEST), 1)
